/* SPDX-License-Identifier: BSD-3-Clause */
/* Safety. Jobs are pushed on a stack by any thread and taken whole, then turned round: first in,
 * first out. `attention` grows with every push; the host reads it before it takes, and before it
 * sleeps it fences and looks again: of a push and a look that race, one sees the other. A job may
 * be gone as soon as its `run` has told so: it is not touched afterwards. */
#include "src/machine/host.h"

#include "src/base/error.h"
#include "src/base/os.h"
#include "src/base/park.h"
#include "src/machine/spin.h"
#include "src/machine/thread.h"
#include "src/machine/topology.h"

#include <string.h>

enum { SPIN_NS = 50000 };

struct rd_host {
    RD_ALIGNED rd_atomic(struct rd_host_job *) inbox;
    rd_atomic64 attention;
    rd_atomic32 spot; /* of its thread, + 1 */
    rd_atomic32 stop;
    RD_ALIGNED struct rd_thread thread;
    uint32_t *mask; /* it is bound to; room for the runtime's processors */
    uint32_t mask_count, mask_room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of making one */

static struct rd_host_job *take(struct rd_host *h)
{
    /* Acquire: pairs with rd_host_run, the jobs' fields. */
    struct rd_host_job *job = rd_exchange_acq_rel(&h->inbox, NULL), *first = NULL, *next;
    for (; job; job = next) {
        next = rd_load_relaxed(&job->next);
        rd_store_relaxed(&job->next, first); /* this thread's alone now */
        first = job;
    }
    return first;
}

/* Threads that a job starts inherit the mask. */
static void bind(struct rd_host *h, const uint32_t *cpu, uint32_t count)
{
    if (count == h->mask_count && !memcmp(cpu, h->mask, count * sizeof *cpu))
        return;
    h->mask_count = 0;
    if (rd_thread_bind(cpu, count) || count > h->mask_room) /* best effort, as for workers */
        return;
    memcpy(h->mask, cpu, count * sizeof *cpu);
    h->mask_count = count;
}

static void work_off(struct rd_host *h, struct rd_host_job *job)
{
    struct rd_host_job *next;
    for (; job; job = next) {
        next = rd_load_relaxed(&job->next);
        bind(h, job->cpu, job->count);
        job->run(job);
    }
}

/* Looks on for as long as a worker would, where a CPU is left for it. */
static int spin(const struct rd_runtime *rt, int64_t *idle_since)
{
    int64_t now;
    if (rt->park_after_ns == INT64_MAX) {
        if (rd_load_relaxed(&rd_spin.spare))
            rd_spin_pause();
        else
            rd_os.yield();
        return 1;
    }
    if (!rd_load_relaxed(&rd_spin.spare))
        return 0;
    now = rd_os.now_ns();
    if (!*idle_since)
        *idle_since = now;
    rd_spin_pause();
    return now - *idle_since < SPIN_NS;
}

static void host_run(void *argument)
{
    struct rd_host *h = argument;
    int64_t idle_since = 0;
    rd_store_relaxed(&h->spot, rd_park_spot() + 1);
    for (;;) {
        /* Before the inbox: who reads the new value sees what was pushed. */
        uint64_t attention = rd_load_acquire(&h->attention);
        struct rd_host_job *job;
        uint32_t prepared;
        if (rd_load_relaxed(&h->stop))
            return;
        if (rd_load_relaxed(&h->inbox) && (job = take(h)) != NULL) {
            work_off(h, job);
            idle_since = 0;
            continue;
        }
        if (spin(h->thread.rt, &idle_since))
            continue;
        prepared = rd_park_prepare();
        rd_fence(); /* partner: poke's, between `attention` and the spot */
        if (rd_load_acquire(&h->attention) == attention)
            rd_park_sleep(prepared, -1);
        idle_since = 0;
    }
}

static void poke(struct rd_host *h)
{
    uint32_t spot;
    rd_add_acq_rel(&h->attention, 1); /* release: the push */
    rd_fence();                       /* partner: the host's before it sleeps */
    spot = rd_load_relaxed(&h->spot); /* 0: it has not looked yet, so it has not slept either */
    if (spot)
        rd_park_wake_spot(spot - 1);
}

void rd_host_run(struct rd_runtime *rt, const uint32_t *cpu, uint32_t count,
                 struct rd_host_job *job)
{
    struct rd_host *h = rd_load_acquire(&rt->host); /* pairs with rd_host_need */
    struct rd_host_job *head = rd_load_relaxed(&h->inbox);
    job->cpu = cpu;
    job->count = count;
    do
        rd_store_relaxed(&job->next, head);
    while (!rd_cas_acq_rel(&h->inbox, &head, job)); /* release: the job's fields */
    poke(h);
}

static void free_host(struct rd_host *h)
{
    rd_free_array(rd_allocator_system(), h->mask, h->mask_room, sizeof *h->mask);
    rd_free(rd_allocator_system(), h, sizeof *h);
}

/* Under the lock. Like the runtime itself it is not counted by the runtime's allocator. */
static rondo_status make(struct rd_runtime *rt)
{
    struct rd_host *h = rd_zalloc(rd_allocator_system(), sizeof *h, RD_LINE);
    rondo_status status = RONDO_OK;
    if (!h)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for its host thread");
    h->mask_room = rt->processors;
    h->mask = rd_alloc_array(rd_allocator_system(), h->mask_room, sizeof *h->mask);
    if (!h->mask)
        status = rd_error(RONDO_ERR_MEMORY, "runtime: no memory for its host thread");
    h->thread = (struct rd_thread){ .rt = rt,
                                    .what = "host thread",
                                    .cpu = rt->anywhere.cpu,
                                    .cpu_count = rt->anywhere.count,
                                    .processor = RONDO_ANY_CPU,
                                    .run = host_run,
                                    .argument = h };
    if (!status)
        status = rd_thread_create(&h->thread);
    if (!status)
        status = rd_thread_await(&h->thread);
    if (status) {
        free_host(h);
        return status;
    }
    rd_store_release(&rt->host, h); /* pairs with rd_host_run */
    return RONDO_OK;
}

rondo_status rd_host_need(struct rd_runtime *rt)
{
    rondo_status status = RONDO_OK;
    pthread_mutex_lock(&lock);
    if (!rd_load_relaxed(&rt->host)) /* written under the lock */
        status = make(rt);
    pthread_mutex_unlock(&lock);
    return status;
}

void rd_host_stop(struct rd_runtime *rt)
{
    struct rd_host *h = rd_load_relaxed(&rt->host); /* nobody needs it any more */
    if (!h)
        return;
    rd_store_release(&h->stop, 1);
    poke(h);
    rd_thread_join(&h->thread);
    free_host(h);
    rd_store_relaxed(&rt->host, NULL);
}
