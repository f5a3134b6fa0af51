/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker turns to each source of its agenda in turn, spins for a while when none has work, then
 * parks on everything the sources wait for.
 *
 * Safety. No wake-up is lost: the worker reads `attention` before it takes its inbox and asks its
 * sources; before it sleeps it registers in the wake word of every unmet wait, fences, and looks
 * again at `attention` and at every wait (src/base/park.h has the argument). Two cases deliberately
 * do not register. (1) A source whose seat a caller holds: the caller pokes the worker when it
 * gives the seat back with work left. (2) A source that callers keep driving (its `waited` moves):
 * asking for the submit's wake would cost each of their submits a system call; the worker dozes
 * instead and asks again after DOZES quiet looks. Both sleep at most DOZE_NS. */
#include "src/machine/worker.h"

#include "src/base/error.h"
#include "src/base/os.h"
#include "src/machine/spin.h"
#include "src/machine/topology.h"

#include <signal.h>

enum { DOZE_NS = 10000000, DOZES = 10, PARK_MIN_NS = 50000, PARK_MAX_NS = 1000000 };

_Thread_local int rd_task_depth;

static void take_inbox(struct rd_worker *w)
{
    struct rd_work *work, *next;
    if (!rd_load_relaxed(&w->inbox)) /* `attention` tells of a later one */
        return;
    work =
        rd_exchange_acq_rel(&w->inbox, NULL); /* pairs with rd_worker_push: the source's fields */
    for (; work; work = next) {
        next = rd_load_relaxed(&work->next);
        work->own.waited = work->waited ? rd_load_relaxed(work->waited) : 0;
        work->own.calm = DOZES;
        work->own.next = w->agenda;
        w->agenda = work;
    }
}

/* Turns to every source once; returns whether any progressed, and whether any is blocked mid-work.
 */
static int turn(struct rd_worker *w, int *blocked)
{
    struct rd_work **link = &w->agenda, *work;
    int progressed = 0;
    *blocked = 0;
    while ((work = *link) != NULL) {
        work->own.last = work->advance(work, &work->own.unmet);
        if (work->own.last == RD_DONE) {
            *link = work->own.next;
            work->detached(work);
            progressed = 1;
            continue;
        }
        progressed |= work->own.last == RD_PROGRESSED;
        *blocked |= work->own.last == RD_BLOCKED;
        link = &work->own.next;
    }
    return progressed;
}

/* Whether callers are driving this source, so that its wake need not be asked for. */
static int driven_by_callers(struct rd_work *work)
{
    uint64_t waited;
    if (!work->waited)
        return 0;
    waited = rd_load_relaxed(work->waited); /* a hint */
    if (waited != work->own.waited) {
        work->own.waited = waited;
        work->own.calm = 0;
    }
    return work->own.calm < DOZES;
}

/* Registers in all that is waited for; returns the time to sleep at most (negative: for ever). */
static int64_t register_waits(struct rd_worker *w, int blocked, int64_t timeout)
{
    int64_t most = blocked ? timeout : -1;
    for (struct rd_work *work = w->agenda; work; work = work->own.next) {
        if (work->own.last == RD_BUSY || driven_by_callers(work)) {
            if (work->own.calm < DOZES)
                work->own.calm++;
            if (most < 0)
                most = DOZE_NS;
            work->own.unmet.word = NULL;
            work->own.unmet.until_ns = 0;
        } else {
            rd_unmet_register(&work->own.unmet);
        }
    }
    return most;
}

static int anything_met(struct rd_worker *w)
{
    for (struct rd_work *work = w->agenda; work; work = work->own.next)
        if ((work->own.unmet.word || work->own.unmet.until_ns) && rd_unmet_is_met(&work->own.unmet))
            return 1;
    return 0;
}

static void park(struct rd_worker *w, uint64_t attention, int blocked, int64_t timeout)
{
    uint32_t prepared = rd_park_prepare();
    int64_t most = register_waits(w, blocked, timeout);
    /* Partner: the fence of every waker between its change and its look at the wake word. */
    rd_fence();
    if (rd_load_acquire(&w->attention) != attention || anything_met(w))
        return;
    rd_park_sleep(prepared, most);
}

/* Logs what blocked sources wait for, once per stall. */
static void report_stall(struct rd_worker *w)
{
    char text[256];
    for (struct rd_work *work = w->agenda; work; work = work->own.next) {
        if (work->own.last != RD_BLOCKED || !work->own.unmet.word)
            continue;
        work->explain(work, &work->own.unmet, text, sizeof text);
        rd_log(&w->rt->log, RONDO_LOG_WARNING, "stalled for %lld s: %s",
               (long long)(w->stall_ns / 1000000000), text);
    }
}

/* What the blocked sources wait for, added up: moves when any of it does. */
static uint64_t progress_seen(struct rd_worker *w)
{
    uint64_t sum = 1;
    for (struct rd_work *work = w->agenda; work; work = work->own.next)
        if (work->own.last == RD_BLOCKED && work->own.unmet.word)
            sum += rd_load_relaxed(work->own.unmet.word);
    return sum;
}

/* The watchdog: `since` and `seen` are of the stall under way; since 0: none, negative: reported.
 */
static void watch(struct rd_worker *w, int blocked, int64_t now, int64_t *since, uint64_t *seen)
{
    uint64_t sees = progress_seen(w);
    if (!blocked) {
        *since = 0;
    } else if (!*since || sees != *seen) {
        *since = now;
        *seen = sees;
    } else if (*since > 0 && now - *since >= w->stall_ns) {
        report_stall(w);
        *since = -1;
    }
}

static void run(struct rd_worker *w)
{
    int64_t idle_since = 0, stalled_since = 0, timeout = PARK_MIN_NS, now;
    uint64_t seen = 0;
    int blocked;
    for (;;) {
        /* Before all that the poke may be about: who reads the new value sees what was poked for.
         */
        uint64_t attention = rd_load_acquire(&w->attention);
        if (rd_load_relaxed(&w->stop))
            return;
        take_inbox(w);
        if (turn(w, &blocked)) {
            idle_since = stalled_since = 0;
            timeout = PARK_MIN_NS;
            continue;
        }
        now = rd_os.now_ns();
        if (!idle_since)
            idle_since = now;
        if (rd_spin_polls() && now - idle_since < w->rt->park_after_ns) {
            rd_spin_pause();
            continue;
        }
        if (w->stall_ns)
            watch(w, blocked, now, &stalled_since, &seen);
        park(w, attention, blocked, timeout);
        if (timeout < PARK_MAX_NS)
            timeout *= 2;
        idle_since = 0;
    }
}

static void *worker_main(void *argument)
{
    struct rd_worker *w = argument;
    rd_task_depth = 1; /* all that user code does on this thread, it does inside a task */
    rd_store_relaxed(&w->spot, rd_park_spot() + 1);
    rd_thread_bind(&w->cpu, 1); /* best effort: a CPU may have gone since the options were read */
    run(w);
    return NULL;
}

rondo_status rd_worker_start(struct rd_worker *w, struct rd_runtime *rt, uint32_t processor,
                             uint32_t cpu)
{
    sigset_t all, old;
    int error;
    w->rt = rt;
    w->processor = processor;
    w->cpu = cpu;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        return rd_error(RONDO_ERR_SYSTEM, "runtime: worker %u: pthread_create failed with error %d",
                        processor, error);
    return RONDO_OK;
}

void rd_worker_stop(struct rd_worker *w)
{
    rd_store_release(&w->stop, 1);
    rd_worker_poke(w);
    pthread_join(w->thread, NULL);
}

void rd_worker_poke(struct rd_worker *w)
{
    uint32_t spot;
    /* acq_rel: the change the poke tells of is seen by who sees the new value. As a locked
     * operation it is also the fence between the change and the look; partner: the worker's fence
     * in park. */
    rd_add_acq_rel(&w->attention, 1);
    rd_fence();
    spot = rd_load_relaxed(&w->spot); /* 0: not started yet, so it has not slept either */
    if (spot)
        rd_park_wake_spot(spot - 1);
}

void rd_worker_push(struct rd_worker *w, struct rd_work *work)
{
    struct rd_work *head = rd_load_relaxed(&w->inbox);
    do
        rd_store_relaxed(&work->next, head);
    while (!rd_cas_acq_rel(&w->inbox, &head, work)); /* release: the source's fields */
    rd_worker_poke(w);
}
