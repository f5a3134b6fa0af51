/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads on two CPUs raise a counter in turn, each waiting for the other's as a lane does; the
 * least time of several batches counts, since everything else is somebody else's use of the CPUs.
 */
#include "src/machine/handover.h"

#include "src/base/env.h"
#include "src/base/os.h"
#include "src/machine/spin.h"
#include "src/machine/topology.h"
#include "src/machine/worker.h"

#include <pthread.h>

enum { BATCHES = 12, TURNS = 150, PATIENCE_NS = 20000000, TRIES = 3 };

struct side {
    RD_ALIGNED rd_atomic64 value;
};

struct game {
    struct side side[2];
    uint32_t cpu[2];
    rd_atomic32 given_up; /* one of the threads did not come to run in time */
    int64_t best_ns;
};

/* 0: the other side does not answer. */
static int wait_for(struct game *g, int side, uint64_t value)
{
    uint32_t looks = 0;
    int64_t since = 0;
    while (rd_load_acquire(&g->side[side].value) < value) { /* pairs with the release in play */
        rd_spin_pause();
        if (++looks % 4096 == 0) {
            int64_t now = rd_os.now_ns();
            since = since ? since : now;
            if (now - since > PATIENCE_NS || rd_load_relaxed(&g->given_up)) {
                rd_store_relaxed(&g->given_up, 1);
                return 0;
            }
        }
    }
    return 1;
}

static void play(struct game *g, int me)
{
    uint64_t turn = 0;
    rd_thread_bind(&g->cpu[me], 1);
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t begin = rd_os.now_ns(), took;
        for (int i = 0; i < TURNS; i++) {
            turn++;
            if (me && !wait_for(g, 0, turn))
                return;
            rd_store_release(&g->side[me].value, turn); /* pairs with wait_for */
            if (!me && !wait_for(g, 1, turn))
                return;
        }
        took = rd_os.now_ns() - begin;
        if (!me && (!g->best_ns || took < g->best_ns))
            g->best_ns = took;
    }
}

static void *second(void *argument)
{
    play(argument, 1);
    return NULL;
}

static void *first(void *argument)
{
    struct game *g = argument;
    pthread_t other;
    if (pthread_create(&other, NULL, second, g))
        return NULL;
    play(g, 0);
    pthread_join(other, NULL);
    return NULL;
}

static uint32_t rounded(int64_t ns)
{
    static const uint32_t steps[] = { 50, 70, 100, 140, 200, 280, 400, 560, 800 };
    uint32_t i = 0;
    while (i + 1 < sizeof steps / sizeof *steps && ns * 2 > steps[i] + steps[i + 1])
        i++;
    return steps[i];
}

/* Two different CPUs of the runtime; 0: it has one. */
static int two_cpus(const struct rd_runtime *rt, uint32_t *cpu)
{
    cpu[0] = rt->workers[0].cpu;
    for (uint32_t i = 1; i < rt->processors; i++)
        if (rt->workers[i].cpu != cpu[0]) {
            cpu[1] = rt->workers[i].cpu;
            return 1;
        }
    return 0;
}

uint32_t rd_handover_ns(struct rd_runtime *rt, uint32_t otherwise)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t known, tries; /* under the lock; known 0: not measured */
    int64_t given = rd_env_number(RD_ENV_RONDO_HANDOVER_NS, 1, 1000000, 0);
    struct game g = { .best_ns = 0 };
    pthread_t thread;
    uint32_t ns;
    if (given)
        return (uint32_t)given;
    if (!two_cpus(rt, g.cpu))
        return otherwise;
    pthread_mutex_lock(&lock);
    if (!known && tries < TRIES && !pthread_create(&thread, NULL, first, &g)) {
        pthread_join(thread, NULL);
        tries++; /* CPUs that others keep busy do not answer in time */
        if (g.best_ns && !rd_load_relaxed(&g.given_up))
            known = rounded(g.best_ns / (2 * TURNS));
    }
    ns = known ? known : otherwise;
    pthread_mutex_unlock(&lock);
    return ns;
}
