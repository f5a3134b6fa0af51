/* SPDX-License-Identifier: BSD-3-Clause */
/* Drives lanes: the start of a replay, the fast loop over its ops, its end.
 *
 * Safety.
 * - Order. An op starts when the counters it waits for have reached their values; counters only
 * grow, so a value once seen (`seen`) stays true, and a replay resets nothing. Edges inside the
 * lane are its order.
 * - No deadlock. All lanes are restrictions of one linear order of the subgraph: of all unexecuted
 * ops the least in (replay, position in that order) waits only for smaller ones.
 * - Frames. A lane starts replay r when frame r's seq says r + 1 (acquire: all the filler wrote).
 * If the boundary before r is serial, it waits until all replays before have ended. The class of
 * the replay before is kept in the lane, since that frame's slot may have been filled again.
 * - Pending ops. An op that returned RD_PENDING is come to again, its waits performed again; what
 * the lane passed before it is published.
 * - Completion. The lanes that count take `left` down with acq_rel, so the last one has seen all of
 * them, and done grows by one replay at a time: every lane that counts for r + 1 has counted for r
 * before. After `done` the exec may be destroyed, but its memory stays until this lane's seat is
 * given back.
 * - Wake-ups. A publish is a release store and a plain look at `at`: a parker that registers
 * between the two is missed. It parks with a timeout, and this lane looks again behind a fence when
 * it blocks and at the end of the replay. */
#include "compile/run/lane.h"

#include "compile/run/begin.h"
#include "compile/run/flow.h"
#include "compile/run/step.h"
#include "src/frame/op.h"
#include "src/machine/spin.h"

RD_NOINLINE int rd_lane_spin(struct rd_lane *l, uint32_t peer, uint64_t need, uint32_t polls)
{
    struct rd_peer *p = &l->peer[peer];
    struct rd_source *c = l->track->counter[peer];
    while (polls--) {
        rd_spin_pause();
        p->seen = rd_load_acquire(p->value); /* as in rd_lane_wait */
        if (p->seen >= need)
            return 1;
    }
    l->unmet = (struct rd_unmet){ &c->done, need, &c->wake, &c->at, 0 };
    return 0;
}

RD_NOINLINE void rd_lane_wake(struct rd_lane *l)
{
    struct rd_source *c = l->counter;
    /* "None" before the bits are taken: see rd_unmet_register. */
    rd_store_relaxed(&c->at, (uint64_t)RD_AT_NONE);
    rd_park_wake(&c->wake);
}

/* Behind a fence: whoever registered before it is seen here. */
static void look_at_waiters(struct rd_lane *l)
{
    if (rd_load_relaxed(&l->counter->done) >= rd_load_relaxed(&l->counter->at))
        rd_lane_wake(l);
}

RD_NOINLINE enum rd_advance rd_lane_block(struct rd_lane *l, const struct rd_op *e)
{
    rd_atomic64 *done = &l->counter->done;
    uint64_t reached;
    l->position = (uint32_t)(e - l->op);
    /* All ops before this one are over, those that nobody was known to wait for too. Release: as in
     * rd_lane_publish. */
    reached = l->peer[l->number].base + l->position;
    if (rd_load_relaxed(done) < reached)
        rd_store_release(done, reached);
    rd_fence(); /* orders this lane's publishes with the look; partner: the parkers' fence */
    look_at_waiters(l);
    return RD_BLOCKED;
}

/* The lane comes to this op again, and performs its waits again. */
static enum rd_advance block_before(struct rd_lane *l, const struct rd_op *e)
{
    l->wait_at -= e->more;
    return rd_lane_block(l, e);
}

void rd_lane_pay(struct rd_lane *l, enum rd_owed owed)
{
    struct rd_track *t = l->track;
    look_at_waiters(l);
    if (owed != RD_OWES_END)
        return;
    if (RD_UNLIKELY(rd_load_relaxed(&t->source->wake) != 0))
        rd_park_wake(&t->source->wake);
    if (RD_UNLIKELY(rd_load_relaxed(&t->watched)))
        t->ended(t);
}

RD_INLINE enum rd_advance end_replay(struct rd_lane *l, struct rd_frame *f)
{
    struct rd_track *t = l->track;
    const struct rd_peer *mine = &l->peer[l->number];
    const int all = f->interpreted;
    const uint32_t count = all ? t->lanes : t->sinks;
    l->replay++;
    l->position = 0;
    l->wait_at = 0;
    l->begun = 0;
    l->owed = RD_OWES_COUNTER;
    /* Release: the last op's publish. A lane that does not count leaves the frame here. */
    rd_store_release(&l->counter->done, mine->base + mine->length);
    /* acq_rel: the last lane has seen what all others did in this replay. */
    if ((l->sink || all) && (count == 1 || rd_sub_acq_rel(&f->left, 1) == 1)) {
        rd_frame_end(t, f);
        l->owed = RD_OWES_END;
    }
    return RD_PROGRESSED;
}

enum rd_advance rd_lane_end(struct rd_lane *l, struct rd_frame *f) { return end_replay(l, f); }

/* The ops of the frame's phase: the same at the same positions, with other waits. The interpreter
 * does without. */
static RD_NOINLINE void take_variant(struct rd_lane *l, const struct rd_frame *f)
{
    const struct rd_plan *plan = l->track->plan;
    const struct rd_plan_lane *lane = &plan->lane[l->number];
    if (f->interpreted || !f->variant) {
        l->op = l->track->op + lane->first;
        l->wait = lane->wait_count ? l->track->wait + lane->wait_first : NULL;
    } else {
        const struct rd_plan_variant *v = &plan->variant[f->variant - 1];
        l->op = rd_track_ops(l->track, f->variant) + lane->first;
        l->wait = v->wait ? v->wait + v->wait_first[l->number] : NULL;
    }
}

/* What has to be true before the first op of a replay; RD_PROGRESSED once it is. */
static enum rd_advance begin(struct rd_lane *l, struct rd_frame *f)
{
    struct rd_track *t = l->track;
    const uint64_t r = l->replay;
    /* No fence before IDLE: nothing was published since the one at the end of the last replay. */
    enum rd_advance state = rd_frame_begin(t, f, r, l->class, &l->unmet);
    uint64_t class;
    if (state != RD_PROGRESSED)
        return state;
    class = rd_frame_class(f);
    if (l->number == 0 && r && !t->serial && (((class | l->class) & 1) || class != l->class))
        rd_store_relaxed(&t->boundaries, rd_load_relaxed(&t->boundaries) + 1); /* lane 0's */
    l->class = class;
    l->begun = 1;
    l->self.frame = f;
    l->self.view.base = f->base;
    l->self.view.params = f->params;
    l->self.view.replay = f->replay;
    for (uint32_t p = 0; p < t->lanes; p++)
        l->peer[p].base = (r + t->distance) * l->peer[p].length;
    if (RD_UNLIKELY(f->special & RD_SPECIAL_VARIANT))
        take_variant(l, f);
    if (RD_UNLIKELY(rd_load_relaxed(&t->to_wake) != 0)) /* a submit wakes two, each wakes two */
        rd_park_wake_some(&t->to_wake, rd_park_some());
    return RD_PROGRESSED;
}

/* An op of the fast loop that returned something: it pends, or the slow walk goes on behind it. */
static RD_NOINLINE enum rd_advance returned(struct rd_lane *l, struct rd_frame *f,
                                            const struct rd_op *e, int code, uint32_t polls)
{
    uint32_t publish;
    if (!rd_op_returned(l, f, e, l->bit_first + (uint32_t)(e - l->op), code))
        return block_before(l, e);
    publish = rd_load_shared(&e->publish);
    if (publish)
        rd_lane_publish(l, publish);
    l->position = (uint32_t)(e - l->op) + 1;
    return rd_lane_walk(l, f, polls);
}

/* The fast loop. Leaves it for the slow walk as soon as a failure or a stop concerns this replay.
 */
static enum rd_advance run(struct rd_lane *l, struct rd_frame *f, uint32_t polls)
{
    struct rd_track *const t = l->track;
    struct rd_self *const self = &l->self;
    const struct rd_op *e = l->op + l->position, *const end = l->op + l->length;
    const struct rd_op *const stop = end - e > RD_OPS_MAX ? e + RD_OPS_MAX : end;
    /* Ops that neither wait nor publish fall through without a taken branch: they are the cheapest,
     * so a jump shows most there. */
    for (; e < stop; e++) {
        if (RD_UNLIKELY(e->wait)) {
            int acquired = 0, code = rd_lane_waits(l, e, polls, &acquired);
            if (RD_UNLIKELY(!code))
                return rd_lane_block(l, e);
            if (acquired && RD_UNLIKELY(rd_badness(t, f))) {
                l->wait_at -= e->more; /* the walk performs this op's waits again */
                l->position = (uint32_t)(e - l->op);
                return rd_lane_walk(l, f, polls);
            }
        }
        self->view.node = &e->node;
        {
            int code = e->fn(&self->view, e->arg);
            uint32_t publish;
            if (RD_UNLIKELY(code))
                return returned(l, f, e, code, polls);
            publish = rd_load_shared(&e->publish);
            if (RD_UNLIKELY(publish))
                rd_lane_publish(l, publish);
        }
    }
    if (e == end)
        return end_replay(l, f);
    l->position = (uint32_t)(e - l->op);
    return RD_PROGRESSED;
}

enum rd_advance rd_lane_advance(struct rd_lane *l, uint32_t polls)
{
    struct rd_frame *f = rd_track_frame(l->track, l->replay);
    enum rd_advance state;
    if (RD_UNLIKELY(l->track->flow != NULL))
        return rd_flow_advance(l, polls);
    if (!l->begun && (state = begin(l, f)) != RD_PROGRESSED)
        return state;
    if (RD_UNLIKELY(f->interpreted | f->slow)) {
        if (!f->interpreted)
            return rd_lane_walk(l, f, polls);
        state = l->track->interpret(l, f, polls);
        return state == RD_DONE ? rd_lane_end(l, f) : state;
    }
    if (RD_UNLIKELY(rd_badness(l->track, f)))
        return rd_lane_walk(l, f, polls);
    return run(l, f, polls);
}

enum rd_advance rd_lane_work(struct rd_work *work, struct rd_unmet *unmet)
{
    struct rd_lane *l = rd_lane_of_work(work);
    enum rd_advance state;
    enum rd_owed owed;
    if (RD_UNLIKELY(rd_load_acquire(&l->track->detach)))
        return RD_DONE;
    if (!rd_seat_take(l))
        return RD_BUSY;
    state = rd_lane_advance(l, rd_spin_polls());
    *unmet = l->unmet; /* copied before the seat is another's */
    owed = l->owed;
    l->owed = RD_OWES_NOTHING;
    if (!owed) {
        rd_seat_give(l);
        return state;
    }
    /* The fence orders the counter and done with the looks; partners: the fences of parked lanes,
     * of callers that wait for done, and of a call that has more replays to publish
     * (src/exec/batch.c). */
    rd_seat_give_fence(l);
    rd_lane_pay(l, owed);
    return state;
}
