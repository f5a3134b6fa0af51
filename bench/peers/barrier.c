/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads and a barrier after each level of the graph: the POSIX threads library's, and one
 * that spins. */
#include "bench/peers/peer.h"

#include "bench/machine.h"
#include "bench/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct call {
    rondo_task_fn *fn;
    const void *arg;
};

struct program {
    struct call *call[2];
    uint32_t *level_first[2], levels; /* a thread's calls of level l */
    uint64_t count;                   /* of the next run */
    int spins;
    pthread_barrier_t barrier;
    _Alignas(BENCH_LINE) _Atomic uint32_t arrived;
    _Alignas(BENCH_LINE) _Atomic uint32_t round;
};

static void spin_barrier(struct program *p)
{
    uint32_t round = atomic_load_explicit(&p->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) == 1) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&p->round, round + 1, memory_order_release);
    } else {
        while (atomic_load_explicit(&p->round, memory_order_acquire) == round)
            bench_pause();
    }
}

static void work(void *context, unsigned me)
{
    struct program *p = context;
    for (uint64_t r = 0; r < p->count; r++)
        for (uint32_t l = 0; l < p->levels; l++) {
            const struct call *c = p->call[me] + p->level_first[me][l];
            for (const struct call *end = p->call[me] + p->level_first[me][l + 1]; c < end; c++)
                c->fn(NULL, c->arg);
            if (p->spins)
                spin_barrier(p);
            else
                pthread_barrier_wait(&p->barrier);
        }
}

static double run(void *built, uint64_t count)
{
    struct program *p = built;
    p->count = count;
    return machine_pair(work, p);
}

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    (void)setup;
    return graph->workers > 2 ? "it has two threads" : NULL;
}

static struct program *build(const struct graph *g, const struct setup *setup, int spins)
{
    struct program *p = bench_alloc_lines(1, sizeof *p);
    p->spins = spins;
    p->levels = g->levels;
    pthread_barrier_init(&p->barrier, NULL, 2);
    for (unsigned me = 0; me < 2; me++) {
        uint32_t calls = 0;
        p->call[me] = bench_alloc_lines(g->nodes, sizeof *p->call[me]);
        p->level_first[me] = bench_alloc(g->levels + 1, sizeof *p->level_first[me]);
        for (uint32_t l = 0; l < g->levels; l++) {
            for (uint32_t k = g->level_first[l]; k < g->level_first[l + 1]; k++) {
                uint32_t v = g->level_node[k];
                if (g->owner[v] == me)
                    p->call[me][calls++] = (struct call){ setup->body, &g->id[v] };
            }
            p->level_first[me][l + 1] = calls;
        }
    }
    return p;
}

static void *build_posix(const struct graph *g, const struct setup *setup)
{
    return build(g, setup, 0);
}

static void *build_spinning(const struct graph *g, const struct setup *setup)
{
    return build(g, setup, 1);
}

static void release(void *built)
{
    struct program *p = built;
    pthread_barrier_destroy(&p->barrier);
    for (unsigned me = 0; me < 2; me++) {
        free(p->call[me]);
        free(p->level_first[me]);
    }
    free(p);
}

const struct peer peer_barrier = {
    .name = "barrier",
    .what = "two threads, a POSIX barrier per step",
    .refusal = refusal,
    .build = build_posix,
    .run = run,
    .free = release,
};

const struct peer peer_spin_barrier = {
    .name = "spin-barrier",
    .what = "two threads, a spinning barrier per step",
    .refusal = refusal,
    .build = build_spinning,
    .run = run,
    .free = release,
};
