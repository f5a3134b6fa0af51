/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of workers, and what other threads do to them.
 *
 * Safety. An agenda belongs to the worker's thread. Of an adopted worker it belongs to who holds
 * `wheel`: a driver (the user's thread, for as long as it drives), or a sweeper, who only takes
 * detached sources off. Who pokes an adopted worker and finds the wheel free sweeps, so that an
 * exec can end though nobody drives any more; if it is held, the holder looks at `attention` once
 * more after giving it back: of a poke and a give-back that race, one sees the other (both fence).
 */
#include "src/machine/worker.h"

#include "src/base/error.h"
#include "src/base/os.h"
#include "src/machine/agenda.h"

#include <stdio.h>

enum { WHEEL_FREE, WHEEL_DRIVEN, WHEEL_SWEPT };

static void worker_run(void *argument)
{
    struct rd_worker *w = argument;
    if (w->kind == RD_WORKER_HELPER)
        rd_task_depth = 0; /* its tasks may wait */
    rd_store_relaxed(&w->spot, rd_park_spot() + 1);
    rd_agenda_run(w, NULL);
}

static void init(struct rd_worker *w, struct rd_runtime *rt, enum rd_worker_kind kind,
                 uint32_t number, const char *what)
{
    w->rt = rt;
    w->kind = kind;
    w->thread.rt = rt;
    w->thread.run = worker_run;
    w->thread.argument = w;
    snprintf(w->thread.what, sizeof w->thread.what, "%s %u", what, number);
}

rondo_status rd_worker_start(struct rd_worker *w, struct rd_runtime *rt, uint32_t processor,
                             uint32_t cpu, int adopted)
{
    init(w, rt, adopted ? RD_WORKER_ADOPTED : RD_WORKER_PINNED, processor, "worker");
    w->processor = processor;
    w->cpu = cpu;
    if (adopted)
        return RONDO_OK;
    w->thread.cpu = &w->cpu;
    w->thread.cpu_count = 1;
    w->thread.processor = RONDO_CPU(processor);
    w->thread.scheduled = 1;
    return rd_thread_create(&w->thread);
}

rondo_status rd_worker_await(struct rd_worker *w)
{
    return w->kind == RD_WORKER_ADOPTED ? RONDO_OK : rd_thread_await(&w->thread);
}

rondo_status rd_worker_start_helper(struct rd_worker *w, struct rd_runtime *rt, uint32_t number)
{
    rondo_status status;
    init(w, rt, RD_WORKER_HELPER, number, "helper");
    w->processor = rt->processors + number;
    w->thread.cpu = rt->anywhere.cpu;
    w->thread.cpu_count = rt->anywhere.count;
    w->thread.processor = RONDO_ANY_CPU;
    status = rd_thread_create(&w->thread);
    if (!status)
        status = rd_thread_await(&w->thread);
    if (!status)
        rd_runtime_add_helper(rt, w);
    return status;
}

/* ---- adopted workers */

static int take(struct rd_worker *w)
{
    uint32_t seen;
    do {
        seen = WHEEL_FREE;
        if (rd_cas_acquire(&w->wheel, &seen, WHEEL_DRIVEN)) /* pairs with give */
            return 1;
        if (seen == WHEEL_SWEPT)
            rd_os.yield(); /* for as long as it takes to look at each source */
    } while (seen == WHEEL_SWEPT);
    return 0;
}

int rd_worker_take(struct rd_worker *w)
{
    if (!take(w))
        return 0;
    rd_add_relaxed(&w->rt->drivers, 1); /* closing waits for the read section first */
    return 1;
}

void rd_worker_drivers_left(struct rd_runtime *rt)
{
    while (rd_load_acquire(&rt->drivers)) /* pairs with their last touch */
        rd_os.yield();
}

/* Takes detached sources off an agenda that nobody drives. */
static void sweep(struct rd_worker *w)
{
    uint64_t attention;
    uint32_t seen;
    do {
        seen = WHEEL_FREE;
        if (!rd_cas_acquire(&w->wheel, &seen, WHEEL_SWEPT)) /* pairs with the release below */
            return;
        attention = rd_load_acquire(&w->attention); /* as in rd_agenda_run */
        rd_agenda_sweep(w);
        rd_store_release(&w->wheel, WHEEL_FREE);
        rd_fence(); /* partner: rd_worker_poke's */
    } while (rd_load_relaxed(&w->attention) != attention);
}

static void give(struct rd_worker *w)
{
    rd_store_release(&w->wheel, WHEEL_FREE);
    rd_fence(); /* partner: the fence of a poke that found the wheel held */
    sweep(w);
}

rondo_status rd_worker_drive(struct rd_worker *w, const struct rd_until *until)
{
    struct rd_runtime *rt = w->rt;
    rondo_status status;
    rd_store_relaxed(&w->spot, rd_park_spot() + 1);
    rd_store_relaxed(&w->driver, rd_thread_tid());
    rd_task_depth++;
    status = rd_agenda_run(w, until);
    rd_task_depth--;
    rd_store_relaxed(&w->driver, 0);
    rd_store_relaxed(&w->spot, 0);
    give(w);
    /* acq_rel, and the last touch: pairs with rd_worker_drivers_left. */
    rd_sub_acq_rel(&rt->drivers, 1);
    return status;
}

int rd_worker_help(struct rd_runtime *rt)
{
    int helped = 0;
    rd_task_depth++;
    for (uint32_t i = 0; i < rt->adopted; i++) {
        struct rd_worker *w = &rt->workers[i];
        if (!take(w))
            continue;
        helped |= rd_agenda_look(w);
        give(w);
    }
    rd_task_depth--;
    return helped;
}

void rd_worker_stop(struct rd_worker *w)
{
    rd_store_release(&w->stop, 1);
    rd_worker_poke(w);
    if (w->kind == RD_WORKER_HELPER)
        rd_runtime_remove_helper(w->rt, w);
    if (w->kind != RD_WORKER_ADOPTED)
        rd_thread_join(&w->thread);
    else /* A driver runs no task any more, and was poked. */
        while (!take(w))
            rd_os.yield();
}

/* ---- other threads */

void rd_worker_poke(struct rd_worker *w)
{
    uint32_t spot;
    /* acq_rel: the change the poke tells of is seen by who sees the new value. As a locked
     * operation it is also the fence between the change and the look; partner: the worker's fence
     * in park. */
    rd_add_acq_rel(&w->attention, 1);
    rd_fence();
    spot = rd_load_relaxed(&w->spot); /* 0: no thread runs it, so none sleeps either */
    if (spot)
        rd_park_wake_spot(spot - 1);
    if (w->kind == RD_WORKER_ADOPTED)
        sweep(w);
}

void rd_worker_push(struct rd_worker *w, struct rd_work *work)
{
    struct rd_work *head = rd_load_relaxed(&w->inbox);
    do
        rd_store_relaxed(&work->next, head);
    while (!rd_cas_acq_rel(&w->inbox, &head, work)); /* release: the source's fields */
    rd_worker_poke(w);
}
