/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker turns to each source of its agenda in turn, those of greater priority first, spins for a
 * while when none has work, then parks on everything the sources wait for.
 *
 * Safety. No wake-up is lost: the worker reads `attention` before it takes its inbox and asks its
 * sources; before it sleeps it registers in the wake word of every unmet wait, fences, and looks
 * again at `attention` and at every wait (src/base/park.h has the argument). Two cases deliberately
 * do not register. (1) A source whose seat a caller holds: the caller pokes the worker when it has
 * given the seat back with work left and no longer looks after it (src/exec/wait.c). (2) A source
 * that callers keep driving (its `waited` moves): asking for the submit's wake would cost each of
 * their submits a system call; the worker dozes instead and asks again after DOZES quiet looks.
 * Both sleep at most DOZE_NS. */
#include "src/machine/agenda.h"

#include "src/base/error.h"
#include "src/base/os.h"
#include "src/machine/spin.h"
#include "src/machine/watch.h"

/* EARLY_NS: a sleep of the kernel's ends so much late; the rest of a time is spun away. */
enum {
    DOZE_NS = 10000000,
    DOZES = 10,
    PARK_MIN_NS = 50000,
    PARK_MAX_NS = 1000000,
    EARLY_NS = 60000
};

/* ---- turning */

/* Before its equals: who comes next is asked in the order of the agenda. */
static void insert(struct rd_worker *w, struct rd_work *work)
{
    struct rd_work **link = &w->agenda;
    if (!w->agenda)
        w->mixed = 0;
    else if (w->agenda->priority != work->priority)
        w->mixed = 1;
    while (*link && (*link)->priority > work->priority)
        link = &(*link)->own.next;
    work->own.next = *link;
    *link = work;
}

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
        insert(w, work);
    }
}

/* Behind those of the same priority, so that they take turns. */
static void rotate(struct rd_work **link)
{
    struct rd_work *work = *link, **end = &work->own.next;
    if (!*end || (*end)->priority != work->priority)
        return;
    *link = work->own.next;
    while (*end && (*end)->priority == work->priority)
        end = &(*end)->own.next;
    work->own.next = *end;
    *end = work;
}

/* Turns to every source once, or, where priorities differ, until one progresses: then those of
 * greater priority are asked again first. Returns whether any progressed, and whether any is
 * blocked by something else than the time, or in the hands of a caller. */
static int turn(struct rd_worker *w, int *blocked, int *busy)
{
    struct rd_work **link = &w->agenda, *work;
    int progressed = 0;
    *blocked = *busy = 0;
    while ((work = *link) != NULL && !(progressed && w->mixed)) {
        rd_store_relaxed(&w->asked, work);
        work->own.last = work->advance(work, &work->own.unmet);
        if (work->own.last == RD_DONE) {
            *link = work->own.next;
            work->detached(work);
            progressed = 1;
            continue;
        }
        *blocked |=
            work->own.last == RD_BLOCKED && (work->own.unmet.word || !work->own.unmet.until_ns);
        *busy |= work->own.last == RD_BUSY;
        if (work->own.last == RD_PROGRESSED) {
            progressed = 1;
            if (RD_UNLIKELY(w->mixed))
                rotate(link);
        }
        link = &work->own.next;
    }
    rd_store_relaxed(&w->asked, NULL);
    return progressed;
}

int rd_agenda_look(struct rd_worker *w)
{
    int blocked, busy;
    take_inbox(w);
    return turn(w, &blocked, &busy);
}

void rd_agenda_sweep(struct rd_worker *w)
{
    struct rd_work **link = &w->agenda, *work;
    take_inbox(w);
    while ((work = *link) != NULL) {
        /* Acquire: as advance would. */
        if (!work->detach || !rd_load_acquire(work->detach)) {
            link = &work->own.next;
            continue;
        }
        *link = work->own.next;
        work->detached(work);
    }
}

/* ---- resting */

/* The sooner of two times to sleep; negative: for ever. */
static int64_t sooner(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

/* The sooner of two times; 0: none. */
static int64_t earlier(int64_t a, int64_t b) { return !a || (b && b < a) ? b : a; }

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

/* Registers in all that is waited for; returns the time to sleep at most (negative: for ever; 0:
 * there is work), and the time that something waits for. A source that is blocked in the hands of
 * this worker is asked to register whoever drove it before. */
static int64_t register_waits(struct rd_worker *w, int64_t most, int64_t *until)
{
    for (struct rd_work *work = w->agenda; work; work = work->own.next) {
        struct rd_unmet *u = &work->own.unmet;
        int driven = work->own.last == RD_BUSY || driven_by_callers(work);
        if (work->own.last == RD_BUSY)
            u->until_ns = 0;
        if (RD_UNLIKELY(work->parks != NULL) && (!driven || work->own.last == RD_BLOCKED) &&
            work->parks(work))
            return 0;
        if (driven) {
            if (work->own.calm < DOZES)
                work->own.calm++;
            if (most < 0)
                most = DOZE_NS;
            u->word = NULL;
        } else {
            rd_unmet_register(u);
        }
        *until = earlier(*until, u->until_ns);
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

static int is_complete(const struct rd_until *until)
{
    return until && until->source && rd_source_reached(until->source, until->id, until->count);
}

static int may_spin(const struct rd_worker *w)
{
    return w->kind != RD_WORKER_HELPER && rd_spin_polls();
}

/* How long to sleep, with a time to be awake at (0: none); 0: not at all. */
static int64_t time_to_sleep(const struct rd_worker *w, int64_t most, int64_t until)
{
    int64_t left;
    if (!until)
        return most;
    left = until - rd_os.now_ns() - (may_spin(w) ? EARLY_NS : 0);
    return left <= 0 ? 0 : sooner(most, left);
}

static void park(struct rd_worker *w, uint64_t attention, int64_t most,
                 const struct rd_until *until)
{
    uint32_t prepared = rd_park_prepare();
    int64_t time = until && until->deadline >= 0 ? until->deadline : 0;
    most = register_waits(w, most, &time);
    if (until && until->source)
        rd_unmet_register(&(struct rd_unmet){ &until->source->done, until->count,
                                              &until->source->wake, &until->source->at, 0 });
    /* Partner: the fence of every waker between its change and its look at the wake word. */
    rd_fence();
    if (!most || rd_load_acquire(&w->attention) != attention || anything_met(w) ||
        is_complete(until))
        return;
    most = time_to_sleep(w, most, time);
    if (most)
        rd_park_sleep(prepared, most);
}

/* Looks on for a while; 0: it is time to sleep. `yields`: a caller does what this worker would, and
 * needs the CPU for it where workers have them all. */
static int spin(const struct rd_worker *w, int64_t idle_ns, int yields)
{
    if (w->rt->park_after_ns != INT64_MAX && (!may_spin(w) || idle_ns >= w->rt->park_after_ns ||
                                              (yields && !rd_load_relaxed(&rd_spin.spare))))
        return 0;
    if (rd_spin_polls())
        rd_spin_pause();
    else
        rd_os.yield(); /* never sleeps, though threads outnumber CPUs */
    return 1;
}

rondo_status rd_agenda_run(struct rd_worker *w, const struct rd_until *until)
{
    int64_t idle_since = 0, timeout = PARK_MIN_NS, now;
    struct rd_watch watch = { 0, 0 };
    int blocked, busy, progressed;
    for (;;) {
        /* Before all that the poke may be about: who reads the new value sees what was poked for.
         */
        uint64_t attention = rd_load_acquire(&w->attention);
        if (rd_load_relaxed(&w->stop))
            return RONDO_ERR_STALE;
        take_inbox(w);
        progressed = turn(w, &blocked, &busy);
        if (is_complete(until))
            return RONDO_OK;
        if (progressed && !until) {
            idle_since = watch.since = 0;
            timeout = PARK_MIN_NS;
            continue;
        }
        now = rd_os.now_ns();
        if (until && (until->once || (until->deadline >= 0 && now >= until->deadline)))
            return RONDO_ERR_AGAIN;
        if (progressed) {
            idle_since = watch.since = 0;
            timeout = PARK_MIN_NS;
            continue;
        }
        if (!idle_since)
            idle_since = now;
        if (RD_UNLIKELY(w->rt->stall_ns))
            rd_watch_worker(&watch, w, blocked, now);
        if (spin(w, now - idle_since, busy && !blocked && !until))
            continue;
        park(w, attention, blocked ? timeout : -1, until);
        if (timeout < PARK_MAX_NS)
            timeout *= 2;
        idle_since = 0;
    }
}
