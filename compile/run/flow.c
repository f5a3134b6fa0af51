/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph by counts: each op counts into its successors; one whose count is full is ready and
 * goes to the deque of the lane that filled it, or to the one lane it is bound to.
 *
 * Safety.
 * - Counts. Replay r uses array r % arrays of them, of which there are as many as replays can be in
 * flight and D more, D the largest carried distance. An op of replay r has `deps` inputs: its
 * predecessors, carried ones included, and, if none is of its own replay, the start of its replay.
 * So it runs after its replay has started. Counts grow only: that of the array's n-th use is full
 * at deps * n (modulo 2^32, equality alone is asked). Nothing else counts into it in between: who
 * counts for the next use is of replay r + arrays, or of one up to D before that and so at least a
 * window after r; it has started, so r has ended, all inputs of r's ops having come before. (With a
 * window of arrays alone an op of replay r + window would count into r's.) Inputs from replays
 * before the first are counted when the flow is built. A change of epoch or of the exec's core
 * needs no such count: the ops of a cancelled replay count too, and replays before it have ended.
 * - Order. Whoever fills a count (acq_rel) has seen all its predecessors, and is the only one to
 * give the op to anyone: so it runs once. If all inputs but those that a lane brings are there, no
 * other will write the count: a plain store does. An op with one input needs no count.
 * - Fans. A lane may keep inputs of one op to itself while it runs other predecessors of the same
 * op (which is not ready anyhow), and counts them before it does anything else.
 * - Starting. next's lock bit (acquire, release) is taken by who has seen frame `next` published;
 * it looks whether the replay may begin, fills `use`, and only then gives first ops to anyone:
 * whoever gets an op of the replay has seen `use`.  Who finds the lock taken and nothing else to do
 * does not sleep, since the frame it would sleep for is published.
 * - What a lane remembers of `use` is forgotten when an op comes from another lane: the array may
 * have been used again meanwhile. Ops made ready by the lane itself are of replays that it entered
 * later, or that have not ended.
 * - Ending. END, which the sinks precede, is counted like an op, so who fills it has seen all ops
 * of the replay. `done` and `ended` are raised over consecutive ended replays, by the holder of
 * `ending`: an ender flags its replay, fences, and tries the lock; the holder gives it back,
 * fences, and looks for a flag: one of the two sees the other. In serial order one replay is in
 * flight, and no lock needed. After `done` the exec may be destroyed, but its memory stays until
 * this lane's seat is given back.
 * - Wake-ups. A worker that is about to park registers in its lane's `wake` and in `hungry`,
 * fences, and looks for work once more (rd_flow_parks). Who puts an op into an inbox fences and
 * looks at `wake`: none of these is missed. Who pushes an op that anyone may run looks at `hungry`
 * without a fence: one that is missed costs parallelism until the next push, or until the time-out
 * of a park with work in flight. So does one that is not called because there is too little to do.
 */
#include "compile/run/flow.h"

#include "compile/run/begin.h"
#include "compile/run/flow_share.h"
#include "src/base/os.h"
#include "src/frame/op.h"
#include "src/frame/slow.h"
#include "src/machine/spin.h"

/* One drive in TIME_EVERY is timed. A lane without ops sleeps no sooner than GO_ON_NS, while
 * replays are in flight. */
enum { GO_ON_NS = 200000 };
enum { NODES_MAX = 4096, TIME_EVERY = 16, REST_MOST = 6 };

/* ---- counts */

/* Brings `inputs` inputs of an op; whether it has all now. */
RD_INLINE int count(rd_atomic32 *c, uint32_t full, uint32_t inputs, int how)
{
    /* Acquire: all that the others, who counted before, have done; pairs with their releases. */
    uint32_t before = rd_load_acquire(c);
    if (before == full - inputs || (how & RD_FLOW_ALONE)) {
        rd_store_relaxed(c,
                         before + inputs); /* nobody else writes it until this replay has ended */
        return before + inputs == full;
    }
    return rd_add_acq_rel(c, inputs) + inputs == full;
}

/* ---- the end of a replay */

static RD_NOINLINE void end_in_order(struct rd_lane *l, struct rd_flow *w, struct rd_flow_use *use)
{
    uint64_t ended;
    uint32_t unlocked;
    /* Release: the whole replay; pairs with the acquires below. */
    rd_store_release(&use->ended, use->replay + 1);
    do {
        unlocked = 0;
        rd_fence(); /* orders the flag with the lock, or the lock with the flag; partner: the same
                     */
        ended = rd_load_relaxed(&w->ended);
        if (rd_load_acquire(&w->use[ended % w->arrays].ended) != ended + 1 ||
            !rd_cas_acquire(&w->ending, &unlocked, 1))
            return;
        for (ended = rd_load_relaxed(&w->ended);; ended++) {
            use = &w->use[ended % w->arrays];
            if (rd_load_acquire(&use->ended) != ended + 1)
                break;
            rd_frame_end(l->track, use->frame);
            rd_store_release(&w->ended, ended + 1); /* pairs with is_in_flight */
            l->owed = RD_OWES_END;
        }
        rd_store_release(&w->ending, 0); /* pairs with the CAS */
    } while (1);
}

static inline void end_replay(struct rd_lane *l, struct rd_flow *w, uint32_t array)
{
    struct rd_flow_use *use = &w->use[array];
    const uint64_t ended = use->replay + 1;
    if (!w->serial) {
        end_in_order(l, w, use);
        return;
    }
    rd_frame_end(l->track, use->frame);
    rd_store_release(&w->ended, ended); /* pairs with is_in_flight */
    l->owed = RD_OWES_END;
}

/* Counts the inputs summed up. An op that has all now is kept. */
RD_INLINE void flush_fan(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl, int how)
{
    const uint64_t fan = fl->fan;
    const uint32_t array = rd_flow_array(fan), op = (uint32_t)fan, inputs = fl->fan_count;
    const uint32_t deps = op == w->nodes ? w->end_deps : w->deps[op];
    fl->fan_count = 0;
    /* The replay has not ended, so `use` is its own. */
    if (!count(&w->count[array * w->stride + op], deps * w->use[array].times, inputs, how))
        return;
    if (op == w->nodes)
        end_replay(l, w, array);
    else if ((how & RD_FLOW_FREE) || rd_flow_lane_for(w, fl, op) == fl->number)
        rd_flow_keep(w, fl, fan, how);
    else
        rd_flow_send(w, rd_flow_lane_for(w, fl, op), fan);
}

/* Before an op that is no predecessor of the fan's. */
static RD_NOINLINE void flush_between(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl)
{
    flush_fan(l, w, fl, 0);
    if (l->owed) {  /* nobody who waits for the end waits for the op */
        rd_fence(); /* as in rd_lane_work */
        rd_lane_pay(l, l->owed);
        l->owed = RD_OWES_NOTHING;
        fl->budget = 1; /* but the driver has a look then */
    }
}

/* ---- one op */

static RD_NOINLINE void enter(struct rd_lane *l, const struct rd_flow *w, struct rd_flow_lane *fl,
                              uint32_t array)
{
    const struct rd_flow_use *use = &w->use[array];
    struct rd_frame *f = use->frame;
    fl->array = array;
    fl->times = use->times;
    fl->count = &w->count[array * w->stride];
    fl->frame = f;
    l->self.frame = f;
    l->self.view.base = f->base;
    l->self.view.params = f->params;
    l->self.view.replay = f->replay;
}

static RD_NOINLINE void pend(struct rd_lane *l, struct rd_flow_lane *fl, uint64_t item)
{
    fl->pending[fl->pending_count++] = (struct rd_flow_pending){ item, l->unmet };
}

static RD_NOINLINE uint64_t count_carried(const struct rd_flow *w, struct rd_flow_lane *fl,
                                          uint32_t op, uint64_t next, int how)
{
    const struct rd_flow_carried *e = &w->carried[w->carried_first[op]];
    const struct rd_flow_carried *end = &w->carried[w->carried_first[op + 1]];
    for (; e < end; e++) {
        uint32_t array = fl->array + e->distance, times = fl->times;
        if (array >= w->arrays) {
            array -= w->arrays;
            times++;
        }
        if (count(&w->count[array * w->stride + e->op], e->deps * times, 1, how))
            next = rd_flow_ready(w, fl, next, rd_flow_item(array, e->op), how);
    }
    return next;
}

/* The op has ended: counts into its successors. Comes back with the one to run next. */
RD_INLINE uint64_t finish(const struct rd_flow *w, struct rd_flow_lane *fl, uint64_t item, int how)
{
    const struct rd_flow_node *n = &w->node[(uint32_t)item];
    const struct rd_flow_edge *e = &w->succ[n->succ], *end = &w->succ[n[1].succ];
    const uint64_t tag = item & ~0xffffffffull;
    const uint32_t times = fl->times;
    rd_atomic32 *const counts = fl->count;
    uint64_t next = RD_FLOW_NO_ITEM;
    for (; e < end; e++)
        if (e->deps == 1 || count(&counts[e->op], e->deps * times, 1, how))
            next = rd_flow_ready(w, fl, next, tag | e->op, how);
    if (n->fan != RD_FLOW_NO_FAN) {
        fl->fan = tag | n->fan;
        fl->fan_count++;
    }
    if (RD_UNLIKELY(n->carries))
        next = count_carried(w, fl, (uint32_t)item, next, how);
    return next;
}

/* Runs an op. Comes back with the one to run next. */
RD_INLINE uint64_t step(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl,
                        uint64_t item, int how)
{
    const struct rd_flow_node *n = &w->node[(uint32_t)item];
    if (fl->fan_count && RD_UNLIKELY(fl->fan != ((item & ~0xffffffffull) | n->fan)))
        flush_between(l, w, fl);
    if (RD_UNLIKELY(rd_flow_array(item) != fl->array))
        enter(l, w, fl, rd_flow_array(item));
    fl->budget--;
    if (RD_UNLIKELY(!rd_op_run(l, fl->frame, &l->track->op[(uint32_t)item], n->bit))) {
        pend(l, fl, item);
        return RD_FLOW_NO_ITEM;
    }
    return finish(w, fl, item, how);
}

/* ---- pending ops */

/* Calls pending ops again: those whose waits are met, or that a failure may call off; whether any
 * has ended. */
static RD_NOINLINE int retry_pending(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl)
{
    int ended = 0;
    for (uint32_t i = fl->pending_count; i-- > 0;) {
        const struct rd_flow_pending p = fl->pending[i];
        const struct rd_frame *f = w->use[rd_flow_array(p.item)].frame; /* it has not ended */
        uint32_t others = fl->pending_count - 1;
        uint64_t next;
        if (!rd_unmet_is_met(&p.unmet) && !rd_badness(l->track, f))
            continue;
        fl->pending[i] = fl->pending[others];
        fl->pending_count = others;
        next = step(l, w, fl, p.item, 0);
        ended |= fl->pending_count == others;
        if (next != RD_FLOW_NO_ITEM)
            rd_flow_keep(w, fl, next, 0);
    }
    return ended;
}

/* ---- the start of a replay */

/* Gives the first ops of a replay that this lane has entered. */
static RD_NOINLINE uint64_t give_first(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    uint64_t next = RD_FLOW_NO_ITEM;
    for (uint32_t i = 0; i < w->root_count; i++) {
        const struct rd_flow_edge *e = &w->root[i];
        if (e->deps == 1 || count(&fl->count[e->op], e->deps * fl->times, 1, 0))
            next = rd_flow_ready(w, fl, next, rd_flow_item(fl->array, e->op), 0);
    }
    return next;
}

static void note_boundary(struct rd_lane *l, const struct rd_flow *w, uint64_t class, uint64_t r)
{
    struct rd_track *t = l->track;
    if (r && !t->serial && (((class | w->class) & 1) || class != w->class))
        rd_store_relaxed(&t->boundaries, rd_load_relaxed(&t->boundaries) + 1); /* the lock's */
}

/* Starts the next replay, if it may begin: PROGRESSED, and *item is what to run next, if anything.
 * Else IDLE or BLOCKED with l->unmet. */
static RD_NOINLINE enum rd_advance start(struct rd_lane *l, struct rd_flow *w,
                                         struct rd_flow_lane *fl, uint64_t *item)
{
    struct rd_track *t = l->track;
    uint64_t next = rd_load_relaxed(&w->next) & ~1ull, r = next >> 1;
    struct rd_frame *f = rd_track_frame(t, r);
    struct rd_flow_use *use;
    enum rd_advance state;
    l->unmet = (struct rd_unmet){ &f->seq, r + 1, &t->submit_wake, NULL, 0 };
    if (rd_load_acquire(&f->seq) != r + 1) /* all that the filler wrote */
        return RD_IDLE;
    if (!rd_cas_acquire(&w->next, &next, next | 1)) /* pairs with the releases of the lock */
        return RD_BLOCKED;
    state = rd_frame_begin(t, f, r, w->class, &l->unmet);
    if (state != RD_PROGRESSED) {
        rd_store_release(&w->next, r << 1);
        return state;
    }
    note_boundary(l, w, rd_frame_class(f), r);
    w->class = rd_frame_class(f);
    use = &w->use[w->next_array];
    use->replay = r;
    use->frame = f;
    use->times++;
    enter(l, w, fl, w->next_array);
    w->next_array = w->next_array + 1 == w->arrays ? 0 : w->next_array + 1;
    rd_store_release(&w->next, (r + 1) << 1);
    *item = give_first(w, fl);
    return RD_PROGRESSED;
}

/* Acquire, `ended` first: a replay that it does not cover was not started, or is in flight. */
static inline int is_in_flight(const struct rd_flow *w)
{
    uint64_t ended = rd_load_acquire(&w->ended);
    return rd_load_acquire(&w->next) >> 1 != ended;
}

/* ---- the loop */

/* Nothing is ready here and nobody else has anything: says what for the lane waits. */
static enum rd_advance nothing(struct rd_lane *l, struct rd_flow_lane *fl, enum rd_advance state,
                               uint64_t calls, int in_flight)
{
    fl->awaits_frame = state == RD_IDLE && !fl->helper;
    if (fl->pending_count) {
        l->unmet = fl->pending[0].unmet;
        return RD_BLOCKED;
    }
    if (!in_flight && !fl->helper)
        return state; /* the frame, or what keeps it from beginning */
    l->unmet = (struct rd_unmet){ &fl->calls, calls + 1, &fl->wake, NULL, 0 };
    return fl->helper ? RD_IDLE : RD_BLOCKED;
}

/* Pauses, for longer each time: looks cost the lane that is looked at, and whatever shares the
 * core. Comes back with how many polls it took. */
static uint32_t rest(struct rd_flow_lane *fl)
{
    fl->rest = fl->rest ? 2 * fl->rest : 1;
    if (fl->rest > REST_MOST)
        fl->rest = REST_MOST;
    for (uint32_t i = fl->rest; i; i--)
        rd_spin_pause();
    return fl->rest;
}

/* Looks for an op beyond the lane's own, for `polls` polls while replays are in flight. PROGRESSED:
 * *item is one, or it is among the lane's own now. */
static RD_NOINLINE enum rd_advance look(struct rd_lane *l, struct rd_flow *w,
                                        struct rd_flow_lane *fl, uint32_t polls, uint64_t *item)
{
    rd_slow_waited(l);
    if (fl->since_ns > 0)
        rd_flow_end_stretch(w, fl);
    for (;;) {
        const uint64_t calls = rd_load_acquire(&fl->calls); /* before all looks */
        const int in_flight = is_in_flight(w);
        enum rd_advance state = RD_IDLE;
        *item = RD_FLOW_NO_ITEM;
        if (w->bounded && rd_load_relaxed(&fl->inbox) != RD_FLOW_NO_ITEM) {
            rd_flow_drain(w, fl);
            return RD_PROGRESSED;
        }
        if (fl->pending_count && retry_pending(l, w, fl))
            return RD_PROGRESSED;
        if (!fl->helper) {
            if (in_flight && w->workers > 1 && (*item = rd_flow_steal(w, fl)) != RD_FLOW_NO_ITEM)
                return RD_PROGRESSED;
            if ((state = start(l, w, fl, item)) == RD_PROGRESSED)
                return RD_PROGRESSED;
        }
        if (!in_flight || fl->helper || !polls)
            return nothing(l, fl, state, calls, in_flight);
        polls = polls > rest(fl) ? polls - fl->rest : 0;
    }
}

/* Whether a lane that has nothing is to be driven on at once: while others are at the replay, sleep
 * would keep them waiting, and wake-ups would cost them. */
static int goes_on(const struct rd_lane *l, struct rd_flow_lane *fl)
{
    int64_t now;
    if (l->unmet.word != &fl->calls || fl->helper)
        return 0;
    now = rd_os.now_ns();
    if (!fl->dry_since_ns)
        fl->dry_since_ns = now;
    return now - fl->dry_since_ns < GO_ON_NS;
}

/* The driver leaves the lane: others are to see what it summed up, and what it leaves behind. */
static enum rd_advance leave(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl,
                             enum rd_advance state)
{
    if (fl->fan_count)
        flush_fan(l, w, fl, 0);
    if (fl->batch_count)
        rd_flow_give_up_batch(w, fl);
    if (fl->since_ns > 0)
        rd_flow_end_stretch(w, fl);
    l->replay = rd_load_relaxed(&w->next) >> 1;
    l->begun = rd_load_relaxed(&w->ended) != l->replay;
    return l->owed ? RD_PROGRESSED : state;
}

RD_INLINE enum rd_advance drive(struct rd_lane *l, struct rd_flow *w, struct rd_flow_lane *fl,
                                uint32_t polls, int how)
{
    enum rd_advance state;
    fl->budget = NODES_MAX;
    if (!(how & RD_FLOW_ALONE) && RD_UNLIKELY(fl->drives++ % TIME_EVERY == 0))
        fl->since_ns = RD_FLOW_WANTED;
    if (fl->pending_count)
        retry_pending(l, w, fl);
    for (;;) {
        uint64_t item = rd_flow_own_item(w, fl, how);
        if (item == RD_FLOW_NO_ITEM && fl->fan_count) {
            flush_fan(l, w, fl, how);
            if (l->owed)
                return leave(l, w, fl, RD_PROGRESSED);
            continue;
        }
        if (item == RD_FLOW_NO_ITEM) {
            state = look(l, w, fl, polls, &item);
            if (state != RD_PROGRESSED)
                return leave(l, w, fl, polls && goes_on(l, fl) ? RD_PROGRESSED : state);
            fl->rest = 0;
            fl->dry_since_ns = 0;
            if (!(how & RD_FLOW_ALONE) && fl->since_ns < 0)
                rd_flow_begin_stretch(fl);
        }
        while (item != RD_FLOW_NO_ITEM && fl->budget > 0)
            item = step(l, w, fl, item, how);
        if (fl->budget <= 0) {
            if (item != RD_FLOW_NO_ITEM)
                rd_flow_keep(w, fl, item, how);
            return leave(l, w, fl, RD_PROGRESSED);
        }
    }
}

enum rd_advance rd_flow_advance(struct rd_lane *l, uint32_t polls)
{
    struct rd_flow *w = l->track->flow;
    struct rd_flow_lane *fl = &w->lane[l->number];
    if (RD_UNLIKELY(rd_load_relaxed(&fl->wake) != 0))
        rd_flow_stop_asking(w, fl);
    if (w->bounded)
        return drive(l, w, fl, polls, 0);
    if (w->lanes == 1)
        return drive(l, w, fl, polls, RD_FLOW_ALONE | RD_FLOW_FREE);
    return drive(l, w, fl, polls, RD_FLOW_FREE);
}
