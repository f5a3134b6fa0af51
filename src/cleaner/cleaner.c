/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread per runtime. It takes what was handed to it in batches, with one grace period per
 * batch:
 *
 *   retired --grace--> closing --(ticket ended, detached, seats closed)--> closed --grace--> freed
 *
 * Safety. The first grace period ends every submit that had looked the exec up before its id was
 * retired, so that no ticket is taken after it; the second ends every caller that had taken or was
 * giving back a seat. Queues into the cleaner are pushed by any thread and taken whole. A tenant is
 * on the sweep list at most once (`queued`), and leaves it before it is freed, because only this
 * thread does both. Drain: retirements and garbage are numbered in the order of their push under
 * `lock`; `freed_below` is the least number not yet freed, written by this thread alone. */
#include "src/cleaner/cleaner.h"

#include "src/base/error.h"
#include "src/base/os.h"
#include "src/base/rcu.h"
#include "src/machine/thread.h"
#include "src/machine/topology.h"
#include "src/machine/worker.h"

#include <pthread.h>
#include <string.h>

enum { ASK_AGAIN_NS = 1000000, PARK_NS = 100000000 };

struct rd_cleaner {
    struct rd_runtime *rt;
    pthread_t thread;
    struct rd_cpus cpus;
    rd_atomic64 attention;
    rd_atomic32 spot; /* + 1 */
    rd_atomic32 stop;
    rd_atomic(struct rd_tenant *) to_sweep;
    pthread_mutex_t lock;
    struct rd_tenant *retired;  /* under the lock */
    struct rd_garbage *garbage; /* under the lock */
    uint64_t numbers;           /* under the lock; given so far */
    rd_atomic64 freed_below;    /* every number below was freed */
    rd_atomic64 drain_wake;
    /* The thread's own. */
    struct rd_tenant *sweeping, *fresh, *closing, *closed;
    struct rd_garbage *discarded;
};

void rd_cleaner_poke(struct rd_runtime *rt)
{
    struct rd_cleaner *c = rt->cleaner;
    uint32_t spot;
    rd_add_acq_rel(&c->attention, 1); /* and the fence before the look; partner: park */
    rd_fence();
    spot = rd_load_relaxed(&c->spot);
    if (spot)
        rd_park_wake_spot(spot - 1);
}

void rd_cleaner_sweep(struct rd_runtime *rt, struct rd_tenant *tenant)
{
    struct rd_cleaner *c = rt->cleaner;
    struct rd_tenant *head = rd_load_relaxed(&c->to_sweep);
    do
        rd_store_relaxed(&tenant->next_sweep, head);
    while (!rd_cas_acq_rel(&c->to_sweep, &head, tenant)); /* release: what the frame holds */
    rd_cleaner_poke(rt);
}

void rd_cleaner_retire(struct rd_runtime *rt, struct rd_tenant *tenant)
{
    struct rd_cleaner *c = rt->cleaner;
    pthread_mutex_lock(&c->lock);
    tenant->number = c->numbers++;
    rd_store_relaxed(&tenant->next_retired, c->retired); /* under the lock */
    c->retired = tenant;
    pthread_mutex_unlock(&c->lock);
    rd_cleaner_poke(rt);
}

void rd_cleaner_discard(struct rd_runtime *rt, struct rd_garbage *garbage)
{
    struct rd_cleaner *c = rt->cleaner;
    pthread_mutex_lock(&c->lock);
    garbage->next = c->garbage;
    c->garbage = garbage;
    pthread_mutex_unlock(&c->lock);
    rd_cleaner_poke(rt);
}

/* Takes what came in; returns the number that the next retirement gets. */
static uint64_t take(struct rd_cleaner *c)
{
    struct rd_tenant *t, *next;
    uint64_t numbers;
    t = rd_exchange_acq_rel(&c->to_sweep, NULL); /* pairs with rd_cleaner_sweep */
    for (; t; t = next) {
        next = rd_load_relaxed(&t->next_sweep);
        rd_store_relaxed(&t->next_sweep, c->sweeping);
        c->sweeping = t;
    }
    pthread_mutex_lock(&c->lock);
    c->fresh = c->retired;
    c->retired = NULL;
    c->discarded = c->garbage;
    c->garbage = NULL;
    numbers = c->numbers;
    pthread_mutex_unlock(&c->lock);
    return numbers;
}

/* Sweeps every tenant on the list. Whoever holds nothing more leaves it: `queued` is cleared first
 * and the sweep repeated once, so that a frame filled meanwhile is either seen here or queued anew.
 */
static void sweep(struct rd_cleaner *c)
{
    struct rd_tenant *list = c->sweeping, *t, *next;
    c->sweeping = NULL;
    for (t = list; t; t = next) {
        next = rd_load_relaxed(&t->next_sweep);
        if (!t->sweep(t, &t->waits)) {
            rd_store_relaxed(&t->queued, 0);
            rd_fence(); /* partner: the submitter's between holding and its look at `queued` */
            if (!t->sweep(t, &t->waits) || rd_exchange_acq_rel(&t->queued, 1))
                continue; /* holds nothing, or was queued again by its submitter */
        }
        rd_store_relaxed(&t->next_sweep, c->sweeping);
        c->sweeping = t;
    }
}

static int is_sweeping(struct rd_cleaner *c, struct rd_tenant *tenant)
{
    return rd_load_acquire(&tenant->queued) != 0 || c->sweeping == tenant;
}

static void push(struct rd_tenant **list, struct rd_tenant *t)
{
    rd_store_relaxed(&t->next_retired, *list); /* this thread's own list */
    *list = t;
}

/* Moves the tenants that came to rest from closing to closed. */
static int close_some(struct rd_cleaner *c)
{
    struct rd_tenant *list = c->closing, *t, *next;
    int moved = 0;
    c->closing = NULL;
    for (t = list; t; t = next) {
        next = rd_load_relaxed(&t->next_retired);
        t->waits.word = NULL;
        t->waits.until_ns = 0;
        if (t->closed(t, &t->waits) && !is_sweeping(c, t)) {
            push(&c->closed, t);
            moved = 1;
        } else {
            push(&c->closing, t);
        }
    }
    return moved;
}

static uint64_t least_number(const struct rd_tenant *list, uint64_t least)
{
    for (; list; list = rd_load_relaxed(&((struct rd_tenant *)(uintptr_t)list)->next_retired))
        if (list->number < least)
            least = list->number;
    return least;
}

static void free_garbage(struct rd_garbage *g)
{
    struct rd_garbage *next;
    for (; g; g = next) {
        next = g->next;
        g->free(g);
    }
}

/* One grace period for all that waits for one. */
static void grace(struct rd_cleaner *c)
{
    struct rd_tenant *fresh = c->fresh, *closed = c->closed, *next;
    struct rd_garbage *discarded = c->discarded;
    c->fresh = c->closed = NULL;
    c->discarded = NULL;
    if (!fresh && !closed && !discarded)
        return;
    rd_rcu_synchronize();
    for (; fresh; fresh = next) {
        next = rd_load_relaxed(&fresh->next_retired);
        push(&c->closing, fresh);
    }
    for (; closed; closed = next) {
        next = rd_load_relaxed(&closed->next_retired);
        closed->free(closed);
    }
    free_garbage(discarded);
}

static void announce(struct rd_cleaner *c, uint64_t numbers)
{
    uint64_t low = least_number(c->closed, least_number(c->closing, numbers));
    if (low == rd_load_relaxed(&c->freed_below)) /* only this thread writes it */
        return;
    rd_store_release(&c->freed_below, low); /* pairs with drain: what freeing did */
    rd_fence();                             /* partner: drain's, between registering and its look */
    if (rd_load_relaxed(&c->drain_wake))
        rd_park_wake(&c->drain_wake);
}

static void park(struct rd_cleaner *c, uint64_t attention)
{
    uint32_t prepared = rd_park_prepare();
    int64_t most = -1, until = 0, left;
    int met = 0;
    struct rd_tenant *lists[2] = { c->sweeping, c->closing }, *t;
    for (int pass = 0; pass < 2; pass++) { /* register, fence, look */
        for (int i = 0; i < 2; i++)
            for (t = lists[i]; t;
                 t = i ? rd_load_relaxed(&t->next_retired) : rd_load_relaxed(&t->next_sweep)) {
                if (pass)
                    met |= rd_unmet_is_met(&t->waits);
                else
                    rd_unmet_register(&t->waits);
                if (!t->waits.word && !t->waits.until_ns)
                    most = ASK_AGAIN_NS;
                if (t->waits.until_ns && (!until || t->waits.until_ns < until))
                    until = t->waits.until_ns;
            }
        rd_fence(); /* partner: every waker's between its change and its look */
    }
    if ((c->sweeping || c->closing) && most < 0)
        most = PARK_NS;
    if (until) {
        left = until - rd_os.now_ns();
        left = left > 0 ? left : 0;
        most = left < most ? left : most;
    }
    if (!met && rd_load_acquire(&c->attention) == attention)
        rd_park_sleep(prepared, most);
}

static void *cleaner_main(void *argument)
{
    struct rd_cleaner *c = argument;
    if (c->cpus.count)
        rd_thread_bind(c->cpus.cpu, c->cpus.count); /* best effort */
    rd_store_relaxed(&c->spot, rd_park_spot() + 1);
    for (;;) {
        /* Before all that the poke may be about: who reads the new value sees what was poked for.
         */
        uint64_t attention = rd_load_acquire(&c->attention), numbers;
        if (rd_load_relaxed(&c->stop))
            return NULL;
        numbers = take(c);
        sweep(c);
        close_some(c);
        grace(c);
        announce(c, numbers);
        if (!c->closed && !close_some(c))
            park(c, attention);
    }
}

rondo_status rd_cleaner_start(struct rd_runtime *rt, const uint32_t *cpu, uint32_t cpu_count)
{
    struct rd_cleaner *c = rd_zalloc(&rt->alloc, sizeof *c, RD_LINE);
    int error;
    if (!c)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for the cleaner");
    c->rt = rt;
    c->cpus.count = cpu_count;
    if (cpu_count && !(c->cpus.cpu = rd_alloc_array(&rt->alloc, cpu_count, sizeof *cpu))) {
        rd_free(&rt->alloc, c, sizeof *c);
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for the cleaner");
    }
    if (cpu_count)
        memcpy(c->cpus.cpu, cpu, cpu_count * sizeof *cpu);
    pthread_mutex_init(&c->lock, NULL);
    rt->cleaner = c;
    error = rd_thread_begin(&c->thread, cleaner_main, c);
    if (!error)
        return RONDO_OK;
    rt->cleaner = NULL;
    rd_free_array(&rt->alloc, c->cpus.cpu, cpu_count, sizeof *cpu);
    rd_free(&rt->alloc, c, sizeof *c);
    return rd_error(RONDO_ERR_SYSTEM, "runtime: the cleaner's pthread_create failed with error %d",
                    error);
}

void rd_cleaner_stop(struct rd_runtime *rt)
{
    struct rd_cleaner *c = rt->cleaner;
    rd_store_release(&c->stop, 1);
    rd_cleaner_poke(rt);
    pthread_join(c->thread, NULL);
    pthread_mutex_destroy(&c->lock);
    free_garbage(c->garbage); /* discarded after the last drain, and nobody can read it any more */
    rd_free_array(&rt->alloc, c->cpus.cpu, c->cpus.count, sizeof *c->cpus.cpu);
    rd_free(&rt->alloc, c, sizeof *c);
    rt->cleaner = NULL;
}

/* A tenant that only marks a place in the order of retirements. */
static int mark_closed(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    (void)tenant;
    (void)unmet;
    return 1;
}

struct mark {
    struct rd_tenant tenant;
    rd_atomic32 freed;
};

static void mark_free(struct rd_tenant *tenant)
{
    rd_store_release(&((struct mark *)tenant)->freed, 1); /* its last touch; pairs with drain */
}

void rd_cleaner_drain(struct rd_runtime *rt)
{
    struct rd_cleaner *c = rt->cleaner;
    struct mark mark; /* its own grace periods cover the garbage discarded before it */
    uint64_t number;
    uint32_t prepared;
    memset(&mark, 0, sizeof mark);
    mark.tenant.closed = mark_closed;
    mark.tenant.free = mark_free;
    rd_cleaner_retire(rt, &mark.tenant);
    number = mark.tenant.number;
    for (;;) {
        prepared = rd_park_prepare();
        rd_park_register(&c->drain_wake);
        rd_fence(); /* partner: announce */
        if (rd_load_acquire(&c->freed_below) > number && rd_load_acquire(&mark.freed))
            return;
        if (!rt->adopted)
            rd_park_sleep(prepared, -1);
        else if (!rd_worker_help(rt))
            rd_park_sleep(prepared, ASK_AGAIN_NS);
    }
}
