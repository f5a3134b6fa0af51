/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for an event, with the caller's thread at work: it takes the seats of the exec's own cpu
 * 0 lanes, those of its devices among them, and drives them, and of no other exec's (a caller that
 * holds a lock must not run a stranger's task that wants it). A seat is given back before the
 * caller parks.
 *
 * A lane that is given back in the middle of a replay is *left*: somebody has to look after it. The
 * caller does while it only looks around; before it drives another lane, or when it goes away, it
 * pokes the worker.
 *
 * Who sleeps registers with the event, whose completion wakes it. At first it also registers in
 * what its lanes wait for, if it knows that of all of them, and drives on when one is met: one
 * thread less is woken on the way. If that takes longer the lanes are the worker's again, which is
 * poked; if cpu 0 is adopted, perhaps nobody is there: then the caller goes on like that, and
 * sleeps at most 1 ms at a time. */
#include "src/exec/exec.h"

#include "compile/run/lane.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/spin.h"
#include "src/machine/watch.h"
#include "src/machine/where.h"
#include "src/machine/worker.h"

#include <stdio.h>

enum { PARK_NS = 100000000, PARK_AFTER_NS = 50000, PARK_MIN_NS = 50000, PARK_MAX_NS = 1000000 };
/* How long a caller sleeps that keeps its lanes. */
enum { KEEP_NS = 2000000 };
/* How long a caller looks on whose lanes a worker drives, where workers have all the CPUs: it looks
 * on where one of them would work. */
enum { ONLOOKER_NS = 5000 };
/* EARLY_NS: as in src/machine/agenda.c. NOTES: lanes whose waits a caller remembers. */
enum { EARLY_NS = 60000, NOTES = 8 };

struct waiter {
    struct rd_source *source;
    uint64_t id, count;
    int64_t deadline;
    int64_t idle_since; /* 0: progressed since the last look at the clock */
    int drain;          /* drive on while the lane has work, also when the event is complete */
    int clean;          /* complete, and no replay of the exec up to then had failed */
    uint32_t lanes;     /* of the exec's cpu 0 and devices, at the last look */
    uint32_t notes;     /* lanes looked at in vain since the last progress or sleep */
    uint32_t noted;     /* entries of `note` */
    int stray;          /* a lane is left of which there is no note */
    int kept;           /* it has slept with its lanes since the last progress */
    int prepared;       /* what follows is filled */
    uint32_t turn;      /* goes round the lanes */
    int adopted;        /* the exec's cpu 0 is */
    int64_t park_after_ns, stall_ns, timeout;
    struct rd_watch watch;
    /* What lanes waited for when they were given back since the last progress. A lane may be gone
     * by now, with its core, and another one be there. */
    struct note {
        struct rd_lane *lane;
        uint64_t core; /* its serial */
        struct rd_unmet unmet;
        int left;
    } note[NOTES];
};

/* Fills the second part, for who is not through at once. */
static inline void prepare(struct waiter *w)
{
    if (w->prepared)
        return;
    w->prepared = 1;
    w->turn = 0;
    w->adopted = 0;
    w->park_after_ns = PARK_AFTER_NS;
    w->stall_ns = 0;
    w->timeout = PARK_MIN_NS;
    w->watch = (struct rd_watch){ 0, 0 };
}

static int is_over(const struct waiter *w) { return rd_source_reached(w->source, w->id, w->count); }

/* ---- finding lanes */

/* The exec that the event belongs to; NULL if it is gone. Inside a read section. */
static struct rd_exec *exec_of(const struct waiter *w)
{
    struct rd_exec *x = rd_exec_of_source(w->source);
    return x && !rd_source_is_old(w->source, w->id) ? x : NULL;
}

/* The tracks of a core that the event tells of. */
static struct rd_track *tracks_of(const struct waiter *w, const struct rd_core *c, uint32_t *count)
{
    uint32_t which = rd_load_relaxed(&w->source->track);
    *count = which == RD_SOURCE_ALL ? c->tracks : 1;
    return which == RD_SOURCE_ALL ? c->track : &c->track[which];
}

static uint32_t lanes_of(const struct waiter *w, const struct rd_core *c)
{
    uint32_t tracks;
    struct rd_track *t = tracks_of(w, c, &tracks);
    return (t->processor0_lanes + t->device_lanes) * tracks;
}

/* Of the lanes a caller drives those of processor 0 come first, then those of devices. */
static struct rd_lane *lane_at(struct rd_track *t, uint32_t at)
{
    return &t->lane[at < t->processor0_lanes
                        ? at
                        : t->lanes - t->device_lanes - t->processor0_lanes + at];
}

/* One of the core's lanes, the one at `at` or one behind it. */
static struct rd_lane *take_of(const struct waiter *w, const struct rd_core *c, uint32_t at,
                               uint32_t lanes)
{
    uint32_t tracks;
    struct rd_track *t = tracks_of(w, c, &tracks);
    for (; at < lanes; at++) {
        struct rd_lane *l = lane_at(&t[at % tracks], at / tracks);
        if (rd_seat_take(l))
            return l;
    }
    return NULL;
}

/* The core of the replays submitted last: most often the only one that has any in flight. */
static struct rd_lane *take_of_current(struct waiter *w, const struct rd_exec *x)
{
    struct rd_core *c = rd_series_live(x->series);
    struct rd_lane *taken;
    uint32_t at;
    w->lanes = c ? lanes_of(w, c) : 0;
    if (!w->lanes)
        return NULL;
    at = w->turn++ % w->lanes;
    taken = take_of(w, c, at, w->lanes);
    return taken || !at ? taken : take_of(w, c, 0, at);
}

/* Of any core: nobody else may be driving those that ran before. */
static struct rd_lane *take_of_any(struct waiter *w, const struct rd_exec *x)
{
    struct rd_lane *taken = NULL;
    uint32_t first, before = 0, lanes = 0;
    struct rd_core *c;
    for (int i = 0; i < RD_CORES_MAX; i++) {
        c = rd_load_acquire(&x->series->live[i]);
        lanes += c ? lanes_of(w, c) : 0;
    }
    first = lanes ? w->turn++ % lanes : 0;
    for (int i = 0; i < RD_CORES_MAX && before < lanes && !taken; i++) {
        uint32_t count;
        c = rd_load_acquire(&x->series->live[i]);
        if (!c)
            continue;
        count = lanes_of(w, c);
        if (first < before + count)
            taken = take_of(w, c, first > before ? first - before : 0, count);
        before += count;
    }
    w->lanes = lanes;
    return taken;
}

/* A lane of processor 0 whose seat was free and is taken now; NULL if there is none. */
static struct rd_lane *take_lane(struct waiter *w)
{
    struct rd_lane *taken = NULL;
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = exec_of(w);
    if (x) {
        w->park_after_ns = x->rt->park_after_ns;
        w->stall_ns = x->rt->stall_ns;
        w->adopted = x->processor[0] < x->rt->adopted;
        taken = RD_UNLIKELY(w->adopted) ? take_of_any(w, x) : take_of_current(w, x);
    }
    rd_rcu_read_unlock();
    return taken;
}

/* ---- lanes that are left */

/* The caller has the lane's seat, or is in the read section in which it gave it back. */
static struct note *note_of(struct waiter *w, const struct rd_lane *l)
{
    for (uint32_t i = 0; i < w->noted; i++)
        if (w->note[i].lane == l && w->note[i].core == l->track->core->serial)
            return &w->note[i];
    return NULL;
}

static void note(struct waiter *w, struct rd_lane *l)
{
    struct note *n = note_of(w, l);
    w->notes++;
    if (!n && w->noted < NOTES)
        n = &w->note[w->noted++];
    if (n)
        *n = (struct note){ l, l->track->core->serial, l->unmet, 0 };
}

static int any_left(const struct waiter *w)
{
    int any = w->stray;
    for (uint32_t i = 0; i < w->noted; i++)
        any |= w->note[i].left;
    return any;
}

static void leave(struct waiter *w, const struct rd_lane *l)
{
    struct note *n = note_of(w, l);
    if (n)
        n->left = 1;
    else
        w->stray = 1;
}

/* They are looked at anew. */
static void forget_notes(struct waiter *w)
{
    w->stray = any_left(w);
    w->notes = w->noted = 0;
}

/* The lanes that were left are the worker's. It may be dozing, because callers drove them so far:
 * this one stops. Inside a read section. */
static void poke(struct waiter *w, struct rd_exec *x)
{
    rd_worker_poke(&x->rt->workers[x->processor[0]]);
    w->stray = 0;
    for (uint32_t i = 0; i < w->noted; i++)
        w->note[i].left = 0;
}

/* An exec that is found no more is being destroyed: the worker dozes and looks by itself. */
static void hand_over(struct waiter *w)
{
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = exec_of(w);
    if (x)
        poke(w, x);
    rd_rcu_read_unlock();
}

static void hand_over_left(struct waiter *w)
{
    if (RD_UNLIKELY(any_left(w)))
        hand_over(w);
}

/* The caller is about to drive the lane: if that may take long, others are not kept waiting. */
static void begin_lane(struct waiter *w, struct rd_lane *l)
{
    struct note *n = note_of(w, l);
    if (n)
        n->left = 0;
    if (!n || rd_unmet_is_met(&l->unmet))
        hand_over_left(w);
}

static void note_progress(struct waiter *w)
{
    w->idle_since = 0;
    w->timeout = PARK_MIN_NS;
    hand_over_left(w);
    w->notes = w->noted = 0;
    w->kept = 0;
}

/* ---- driving */

/* `over`: the event was seen complete before. */
static void give_back(struct waiter *w, struct rd_lane *l, int over)
{
    struct rd_track *t = l->track;
    struct rd_exec *x = t->exec;
    uint64_t replay = l->replay;
    int begun = l->begun;
    enum rd_owed owed = l->owed;
    l->owed = RD_OWES_NOTHING;
    rd_rcu_read_lock(); /* the exec may be freed once the seat is given back */
    /* Orders the seat with the look at seq, and the end of a replay with the looks at who waits for
     * it. Partners: a submitter's fence between seq and its look, and those of rd_lane_pay. */
    rd_seat_give_fence(l);
    if (owed)
        rd_lane_pay(l, owed);
    if (RD_UNLIKELY(rd_lane_left_work(t, replay, begun)))
        leave(w, l);
    if (over && any_left(w)) /* the caller goes away, and may not find the exec later */
        poke(w, x);
    w->clean =
        over && !rd_load_relaxed(&x->series->failures.bad); /* the event's end was acquired */
    rd_rcu_read_unlock();
}

/* Whether the caller has looked for work long enough to sleep: at once where threads outnumber
 * CPUs. (To yield instead costs a whole time slice of whoever else wants the CPU.) `onlooker`: a
 * worker has the caller's lanes. */
static int is_idle_long(struct waiter *w, int onlooker)
{
    int64_t now, most = w->park_after_ns;
    if (rd_load_relaxed(&w->source->awake))
        return 0;
    if (!rd_spin_polls())
        return 1;
    now = rd_os.now_ns();
    if (!w->idle_since)
        w->idle_since = now;
    if (onlooker && most > ONLOOKER_NS && !rd_load_relaxed(&rd_spin.spare))
        most = ONLOOKER_NS;
    return now - w->idle_since >= most;
}

static int is_late(const struct waiter *w)
{
    return w->deadline >= 0 && rd_os.now_ns() >= w->deadline;
}

/* Looks on; who never sleeps leaves the CPU to others where threads outnumber CPUs. */
static void look_on(void)
{
    if (rd_spin_polls())
        rd_spin_pause();
    else
        rd_os.yield();
}

/* Where workers have all the CPUs, the caller is on the CPU of one of them. Unless that is the one
 * whose lane it drives, the two share a CPU while another is idle, and each waits for the other's
 * lane; the kernel takes milliseconds to see that. */
static void take_place(const struct rd_lane *l)
{
    const struct rd_exec *x = l->track->exec;
    if (l->track->lanes - l->track->device_lanes > 1 && rd_spin_polls() &&
        !rd_load_relaxed(&rd_spin.spare) && x->processor[0] >= x->rt->adopted)
        rd_thread_go(x->rt->workers[x->processor[0]].cpu);
}

/* Drives a lane whose seat the caller holds until the event is complete or the lane has nothing to
 * do; of several lanes, also while one waits for something. */
static void drive(struct waiter *w, struct rd_lane *l)
{
    struct rd_where_caller *me = rd_where_me();
    enum rd_advance state;
    int over;
    take_place(l);
    if (w->noted || w->stray)
        begin_lane(w, l);
    rd_task_depth++;
    rd_store_relaxed(&me->work, &l->work);
    for (;;) {
        state = rd_lane_advance(l, rd_spin_polls());
        over = is_over(w);
        if (over && !w->drain)
            break;
        prepare(w);
        if (l->owed) {
            rd_fence(); /* as in give_back */
            rd_lane_pay(l, l->owed);
            l->owed = RD_OWES_NOTHING;
        }
        if (state == RD_PROGRESSED) {
            note_progress(w);
        } else if (state != RD_BLOCKED || w->lanes > 1 || is_idle_long(w, 0)) {
            note(w, l);
            break;
        } else if (RD_UNLIKELY(!rd_spin_polls())) {
            look_on();
        }
        if (w->deadline >= 0 && is_late(w))
            break;
    }
    rd_store_relaxed(&me->work, NULL);
    rd_task_depth--;
    give_back(w, l, over);
}

/* ---- sleeping */

/* The time at which a lane has something to do, or the caller; 0: none. */
static int64_t time_of(const struct waiter *w)
{
    int64_t time = w->deadline >= 0 ? w->deadline : 0;
    for (uint32_t i = 0; i < w->noted; i++) {
        int64_t until = w->note[i].unmet.until_ns;
        if (until && (!time || until < time))
            time = until;
    }
    return time;
}

/* Whether the lane is still there. Inside a read section. */
static int is_there(const struct rd_exec *x, const struct note *n)
{
    for (int k = 0; k < RD_CORES_MAX; k++) {
        struct rd_core *c = rd_load_acquire(&x->series->live[k]);
        for (uint32_t t = 0; c && c->serial == n->core && t < c->tracks; t++)
            if (n->lane >= c->track[t].lane && n->lane < c->track[t].lane + c->track[t].lanes)
                return 1;
    }
    return 0;
}

/* Registers in what the lanes wait for. Whether all of them are there, and nothing of it is met. */
static int register_notes(const struct waiter *w)
{
    struct rd_exec *x;
    int unmet = 1;
    rd_rcu_read_lock();
    x = exec_of(w);
    for (uint32_t i = 0; i < w->noted && unmet; i++) {
        unmet = x && is_there(x, &w->note[i]);
        if (unmet)
            rd_unmet_register(&w->note[i].unmet);
    }
    rd_fence(); /* orders the registration with the look; partners: those of the lanes' wakers */
    for (uint32_t i = 0; i < w->noted && unmet; i++)
        unmet = !rd_unmet_is_met(&w->note[i].unmet);
    rd_rcu_read_unlock();
    return unmet;
}

/* Whether the caller sleeps with its lanes: where nobody else may be there, and else once. */
static int keeps_lanes(const struct waiter *w)
{
    return w->adopted || (!w->kept && w->noted && w->noted == w->lanes);
}

/* How long to sleep at most. */
static int64_t rest_of(struct waiter *w, int keeps)
{
    int64_t most = w->timeout;
    if (!keeps)
        return PARK_NS;
    if (!w->adopted)
        return KEEP_NS;
    if (w->timeout < PARK_MAX_NS)
        w->timeout *= 2;
    return most;
}

static void park(struct waiter *w)
{
    const struct rd_unmet event = { &w->source->done, w->count, &w->source->wake, &w->source->at,
                                    0 };
    uint32_t prepared = rd_park_prepare();
    int keeps = keeps_lanes(w);
    int64_t time = time_of(w), most, left;
    rd_unmet_register(&event);
    if (keeps && !register_notes(w)) {
        forget_notes(w);
        return;
    }
    rd_fence(); /* orders the registration with the look; partner: rd_lane_end's, between done and
                   wake */
    if (is_over(w))
        return;
    most = rest_of(w, keeps);
    if (time) {
        left = time - rd_os.now_ns() - (rd_spin_polls() ? EARLY_NS : 0);
        if (left <= 0)
            return;
        most = left < most ? left : most;
    }
    if (!keeps)
        hand_over(w);
    rd_park_sleep(prepared, most);
    w->idle_since = 0;
    w->notes = 0;
    if (!keeps)
        w->noted = 0;
    w->kept = keeps;
}

/* Notes that callers wait for the count, so that cpu 0's worker leaves the lane to them. */
static void note_waited(struct rd_source *s, uint64_t count)
{
    if (rd_load_relaxed(&s->waited) < count)
        rd_store_relaxed(&s->waited, count); /* a hint: a lost update costs a wake-up */
}

/* ---- the watchdog */

/* All that moves when the exec gets on. Inside a read section. */
static uint64_t progress_of(const struct waiter *w, const struct rd_exec *x)
{
    uint64_t sum = rd_load_relaxed(&w->source->done);
    for (int i = 0; i < RD_CORES_MAX; i++) {
        struct rd_core *c = rd_load_acquire(&x->series->live[i]);
        for (uint32_t t = 0; c && t < c->tracks; t++)
            for (uint32_t k = 0; k < c->track[t].lanes; k++)
                sum += rd_load_relaxed(&c->track[t].counter[k]->done);
    }
    return sum;
}

/* Whether a lane that was driven is still there, and what it waited for is not a submit. */
static int may_explain(const struct waiter *w, const struct rd_exec *x, uint32_t i)
{
    const struct note *n = &w->note[i];
    return is_there(x, n) && n->unmet.wake != &n->lane->track->submit_wake;
}

/* What one of the caller's lanes waits for; "" if it is not known. Inside a read section. */
static void explain(const struct waiter *w, const struct rd_exec *x, char *text, size_t bytes)
{
    text[0] = 0;
    for (uint32_t i = 0; i < w->noted; i++)
        if (may_explain(w, x, i)) {
            struct rd_work *work = &w->note[i].lane->work;
            size_t used = (size_t)snprintf(text, bytes, "; ");
            work->explain(work, &w->note[i].unmet, text + used, bytes - used);
            return;
        }
}

/* Looks whether the caller has waited for long without any progress, and says so once. */
static RD_NOINLINE void watch(struct waiter *w)
{
    char text[256], name[64];
    struct rd_runtime *rt = NULL;
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = exec_of(w);
    if (x && rd_watch_look(&w->watch, w->stall_ns, 1, progress_of(w, x), rd_os.now_ns())) {
        explain(w, x, text, sizeof text);
        snprintf(name, sizeof name, "%s", x->program.exec_name);
        rt = x->rt;
        rd_runtime_ref(rt); /* the exec's own keeps it until then */
    }
    rd_rcu_read_unlock();
    if (!rt)
        return;
    rd_log(&rt->log, RONDO_LOG_WARNING,
           "stalled for %lld s: a caller waits for %s exec '%s': %llu replays have ended, needs "
           "%llu%s",
           (long long)(w->stall_ns / 1000000000), w->drain ? "room in the window of" : "replays of",
           name, (unsigned long long)rd_load_relaxed(&w->source->done),
           (unsigned long long)w->count, text);
    rd_runtime_unref(rt);
}

/* ---- */

rondo_status rd_wait(struct rd_source *s, uint64_t id, uint64_t count, int64_t deadline,
                     struct rd_lane *lane, int *clean)
{
    struct waiter w; /* its second part is not filled yet */
    w.source = s;
    w.id = id;
    w.count = count;
    w.deadline = deadline;
    w.idle_since = 0;
    w.drain = !clean;
    w.lanes = w.notes = w.noted = 0;
    w.stray = w.kept = w.prepared = 0;
    for (;;) {
        w.clean = 0;
        if (!lane) {
            prepare(&w);
            note_waited(s, count);
            lane = take_lane(&w);
        }
        if (lane)
            drive(&w, lane);
        if (is_over(&w)) {
            hand_over_left(&w);
            if (clean)
                *clean = w.clean;
            return RONDO_OK;
        }
        if (is_late(&w)) {
            hand_over_left(&w);
            return rd_error(RONDO_ERR_AGAIN, "event {0x%llx, %llu} is not complete in time",
                            (unsigned long long)id, (unsigned long long)count);
        }
        if (!lane || w.notes >= w.lanes || w.notes >= NOTES) { /* else another has work perhaps */
            if (RD_UNLIKELY(w.stall_ns))
                watch(&w);
            if (is_idle_long(&w, !lane && !w.adopted))
                park(&w);
            else if (!lane || rd_load_relaxed(&s->awake))
                look_on();
        }
        lane = NULL;
    }
}
