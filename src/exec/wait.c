/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for an event, with the caller's thread at work: it takes the seats of the exec's own cpu
 * 0 lanes and drives them, and of no other exec's (a caller that holds a lock must not run a
 * stranger's task that wants it). A seat is given back before the caller parks. */
#include "src/exec/exec.h"

#include "compile/run/lane.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/spin.h"
#include "src/machine/worker.h"

enum { PARK_NS = 100000000, PARK_AFTER_NS = 50000 };

struct waiter {
    struct rd_source *source;
    uint64_t id, count;
    int64_t deadline, park_after_ns;
    int64_t idle_since; /* 0: progressed since the last look at the clock */
    int drain;          /* drive on while the lane has work, also when the event is complete */
    int clean;          /* complete, and no replay of the exec up to then had failed */
};

static int is_over(const struct waiter *w) { return rd_source_reached(w->source, w->id, w->count); }

/* A lane of processor 0 whose seat was free and is taken now; NULL if there is none. `turn` goes
 * round. */
static struct rd_lane *take_lane(struct waiter *w, uint32_t *turn)
{
    struct rd_lane *taken = NULL;
    uint32_t which = rd_load_relaxed(&w->source->track), tracks, lanes;
    struct rd_exec *x;
    struct rd_track *t;
    rd_rcu_read_lock();
    x = rd_id_find(rd_load_relaxed(&w->source->exec), RD_ID_EXEC);
    if (x && !rd_source_is_old(w->source, w->id)) {
        struct rd_series *s = x->series;
        struct rd_core *c = rd_load_acquire(&s->live[RD_WORD_CORE(rd_load_acquire(&s->word))]);
        t = !c ? NULL : which == RD_SOURCE_ALL ? c->track : &c->track[which];
        tracks = which == RD_SOURCE_ALL ? x->tracks : 1;
        lanes = c ? t->processor0_lanes * tracks : 0;
        w->park_after_ns = x->rt->park_after_ns;
        for (uint32_t i = 0; i < lanes && !taken; i++) {
            uint32_t at = (*turn)++ % lanes;
            struct rd_lane *l = &t[at % tracks].lane[at / tracks];
            if (rd_seat_take(l))
                taken = l;
        }
    }
    rd_rcu_read_unlock();
    return taken;
}

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
        rd_worker_poke(&x->rt->workers[x->processor[0]]);
    w->clean =
        over && !rd_load_relaxed(&x->series->failures.bad); /* the event's end was acquired */
    rd_rcu_read_unlock();
}

/* Whether the caller has looked for work long enough to sleep: at once where threads outnumber
 * CPUs. (To yield instead costs a whole time slice of whoever else wants the CPU.) */
static int is_idle_long(struct waiter *w)
{
    int64_t now;
    if (!rd_spin_polls())
        return 1;
    now = rd_os.now_ns();
    if (!w->idle_since)
        w->idle_since = now;
    return now - w->idle_since >= w->park_after_ns;
}

static int is_late(const struct waiter *w)
{
    return w->deadline >= 0 && rd_os.now_ns() >= w->deadline;
}

/* Drives a lane whose seat the caller holds until the event is complete or the lane has nothing to
 * do. */
static void drive(struct waiter *w, struct rd_lane *l)
{
    enum rd_advance state;
    int over;
    rd_task_depth++;
    for (;;) {
        state = rd_lane_advance(l, rd_spin_polls());
        over = is_over(w);
        if (over && !w->drain)
            break;
        if (l->owed) {
            rd_fence(); /* as in give_back */
            rd_lane_pay(l, l->owed);
            l->owed = RD_OWES_NOTHING;
        }
        if (state == RD_PROGRESSED)
            w->idle_since = 0;
        else if (state != RD_BLOCKED || is_idle_long(w))
            break;
        if (w->deadline >= 0 && is_late(w))
            break;
    }
    rd_task_depth--;
    give_back(w, l, over);
}

/* cpu 0's worker may be dozing, because callers drove the lane so far: this one stops. */
static void hand_over(struct waiter *w)
{
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(rd_load_relaxed(&w->source->exec), RD_ID_EXEC);
    if (x && !rd_source_is_old(w->source, w->id))
        rd_worker_poke(&x->rt->workers[x->processor[0]]);
    rd_rcu_read_unlock();
}

static void park(struct waiter *w)
{
    uint32_t prepared = rd_park_prepare();
    int64_t most = PARK_NS, left;
    rd_park_register(&w->source->wake);
    rd_fence(); /* orders the registration with the look; partner: rd_lane_end's, between done and
                   wake */
    if (is_over(w))
        return;
    if (w->deadline >= 0) {
        left = w->deadline - rd_os.now_ns();
        if (left <= 0)
            return;
        most = left < most ? left : most;
    }
    hand_over(w);
    rd_park_sleep(prepared, most);
    w->idle_since = 0;
}

/* Notes that callers wait for the count, so that cpu 0's worker leaves the lane to them. */
static void note_waited(struct rd_source *s, uint64_t count)
{
    if (rd_load_relaxed(&s->waited) < count)
        rd_store_relaxed(&s->waited, count); /* a hint: a lost update costs a wake-up */
}

rondo_status rd_wait(struct rd_source *s, uint64_t id, uint64_t count, int64_t deadline,
                     struct rd_lane *lane, int *clean)
{
    struct waiter w = { s, id, count, deadline, PARK_AFTER_NS, 0, !clean, 0 };
    uint32_t turn = 0;
    for (;;) {
        w.clean = 0;
        if (!lane) {
            note_waited(s, count);
            lane = take_lane(&w, &turn);
        }
        if (lane)
            drive(&w, lane);
        if (is_over(&w)) {
            if (clean)
                *clean = w.clean;
            return RONDO_OK;
        }
        if (is_late(&w))
            return rd_error(RONDO_ERR_AGAIN, "event {0x%llx, %llu} is not complete in time",
                            (unsigned long long)id, (unsigned long long)count);
        if (is_idle_long(&w))
            park(&w);
        else if (!lane)
            rd_spin_pause();
        lane = NULL;
    }
}
