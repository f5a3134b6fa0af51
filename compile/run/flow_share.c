/* SPDX-License-Identifier: BSD-3-Clause */
/* How ops of a flow move from lane to lane, and how lanes that sleep are called to them. The safety
 * argument is in flow.c and deque.h. */
#include "compile/run/flow_share.h"

#include "src/base/os.h"

/* For work of less than RD_FLOW_STEAL_NS a lane is not stolen from while it gets on: it does not if
 * it has not moved for PATIENCE looks. A stretch that is timed has at least TIME_LEAST ops. */
enum { STEAL_MOST = 16, PATIENCE = 8, TIME_LEAST = 4 };

/* ---- how long ops take */

RD_NOINLINE void rd_flow_begin_stretch(struct rd_flow_lane *fl)
{
    fl->since_ns = rd_os.now_ns();
    fl->since_budget = fl->budget;
}

RD_NOINLINE void rd_flow_end_stretch(struct rd_flow *w, struct rd_flow_lane *fl)
{
    const int32_t ran = fl->since_budget - fl->budget;
    const uint64_t before = rd_load_relaxed(&w->op_ns);
    uint64_t took = (uint64_t)(rd_os.now_ns() - fl->since_ns);
    fl->since_ns = ran < TIME_LEAST ? RD_FLOW_WANTED : 0;
    if (ran < TIME_LEAST)
        return;
    took = took / (uint32_t)ran + 1;
    took = before ? (3 * before + took) / 4 : took;
    rd_store_relaxed(&w->op_ns, took < INT32_MAX ? (uint32_t)took : INT32_MAX); /* a hint */
}

/* ---- sending and calling */

/* Wakes the lane's worker. The caller fenced since its change. */
static RD_NOINLINE void call_lane(struct rd_flow_lane *fl)
{
    rd_add_acq_rel(&fl->calls, 1); /* who sees it sees what it is about */
    rd_fence();                    /* partner: the parker's fence */
    rd_park_wake(&fl->wake);
}

RD_NOINLINE void rd_flow_send(const struct rd_flow *w, uint32_t lane, uint64_t item)
{
    struct rd_flow_lane *to = &w->lane[lane];
    uint64_t head = rd_load_relaxed(&to->inbox);
    do
        *rd_flow_link(w, item) = head;
    while (!rd_cas_acq_rel(&to->inbox, &head, item)); /* pairs with rd_flow_drain */
    rd_fence(); /* orders the inbox with the look; partner: rd_flow_parks */
    if (rd_load_relaxed(&to->wake))
        call_lane(to);
}

RD_NOINLINE void rd_flow_call_one(const struct rd_flow *w, uint32_t word)
{
    rd_atomic64 *hungry = &w->hungry[word];
    uint64_t bits = rd_load_relaxed(hungry);
    for (; bits; bits &= bits - 1)
        if (rd_and_acq_rel(hungry, ~(bits & -bits)) & bits & -bits) {
            call_lane(&w->lane[word * 64 + (uint32_t)__builtin_ctzll(bits)]);
            return;
        }
}

RD_NOINLINE void rd_flow_stop_asking(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    if (!(rd_load_relaxed(&fl->wake) & rd_park_bit()))
        return; /* another thread parks for this lane */
    rd_and_acq_rel(&fl->wake, ~rd_park_bit());
    rd_and_acq_rel(&w->hungry[fl->number / 64], ~(1ull << fl->number % 64));
}

/* ---- taking */

RD_NOINLINE void rd_flow_give_up_batch(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    while (fl->batch_count)
        rd_flow_keep(w, fl, fl->batch[--fl->batch_count], 0);
}

RD_NOINLINE void rd_flow_drain(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    /* Acquire: the items and what came before them; pairs with rd_flow_send. */
    uint64_t item = rd_exchange_acq_rel(&fl->inbox, RD_FLOW_NO_ITEM), next;
    fl->array = UINT32_MAX;
    for (; item != RD_FLOW_NO_ITEM; item = next) {
        next = *rd_flow_link(w, item);
        rd_flow_keep(w, fl, item, 0);
    }
}

static inline uint32_t next_random(struct rd_flow_lane *fl, uint32_t limit)
{
    uint64_t x = fl->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    fl->random = x;
    return (uint32_t)((x >> 32) * limit >> 32);
}

/* Whether a lane that has less than is worth stealing should be stolen from all the same: it does
 * not get on. One lane is watched at a time. */
static int is_stuck(const struct rd_flow *w, struct rd_flow_lane *fl, uint32_t victim)
{
    const uint64_t mark = rd_deque_mark(&w->lane[victim].deque);
    if (victim != fl->watched)
        return 0;
    if (fl->looks && mark == fl->mark)
        return ++fl->looks >= PATIENCE;
    fl->looks = !fl->looks; /* the first look, or it gets on */
    fl->mark = mark;
    return 0;
}

/* Another lane is watched if the one so far gets on or has nothing. */
static void watch_next(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    if (fl->looks && rd_deque_size(&w->lane[fl->watched].deque))
        return;
    fl->watched = fl->watched + 1 < w->workers ? fl->watched + 1 : 0;
    if (fl->watched == fl->number)
        fl->watched = fl->watched + 1 < w->workers ? fl->watched + 1 : 0;
}

RD_NOINLINE uint64_t rd_flow_steal(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    const uint64_t least = rd_flow_worth(w);
    uint32_t victim = next_random(fl, w->workers);
    for (uint32_t i = 0; i < w->workers; i++, victim = victim + 1 == w->workers ? 0 : victim + 1) {
        struct rd_deque *d = &w->lane[victim].deque;
        uint64_t size, item, more;
        if (victim == fl->number || !(size = rd_deque_size(d)))
            continue;
        if ((size < least && !is_stuck(w, fl, victim)) || !rd_deque_steal(d, &item))
            continue;
        fl->looks = 0;
        fl->array = UINT32_MAX;
        /* One by one they are run in the order in which they became ready: best where they take
         * long. */
        size = least == 1 ? 1 : size / 2 < STEAL_MOST ? size / 2 : STEAL_MOST;
        while (size-- > 1 && rd_deque_steal(d, &more))
            rd_flow_keep(w, fl, more, RD_FLOW_FREE);
        return item;
    }
    watch_next(w, fl);
    return RD_FLOW_NO_ITEM;
}

/* ---- parking */

/* Whether a lane that is about to park would find something. */
static int sees_work(const struct rd_flow *w, const struct rd_flow_lane *fl)
{
    if (rd_load_acquire(&fl->inbox) != RD_FLOW_NO_ITEM)
        return 1;
    for (uint32_t i = 0; i < w->workers && !fl->helper; i++)
        if (rd_deque_size(&w->lane[i].deque) >= rd_flow_worth(w))
            return 1;
    return 0;
}

/* What only the lane's driver may look at. */
static int register_own(struct rd_lane *l, const struct rd_flow *w, const struct rd_flow_lane *fl)
{
    struct rd_track *t = l->track;
    const uint64_t r = l->replay;
    int met = 0;
    for (uint32_t i = 0; i < fl->pending_count; i++)
        rd_unmet_register(&fl->pending[i].unmet);
    if (fl->awaits_frame)
        rd_park_register(&t->submit_wake);
    rd_fence(); /* partners: those who meet what was registered for */
    for (uint32_t i = 0; i < fl->pending_count; i++)
        met |= rd_unmet_is_met(&fl->pending[i].unmet);
    if (fl->awaits_frame)
        met |=
            rd_load_relaxed(&w->next) >> 1 != r || rd_load_acquire(&rd_track_frame(t, r)->seq) > r;
    return met;
}

int rd_flow_parks(struct rd_work *work)
{
    struct rd_lane *l = rd_lane_of_work(work);
    struct rd_flow *w = l->track->flow;
    struct rd_flow_lane *fl = &w->lane[l->number];
    int met = 0;
    rd_park_register(&fl->wake);
    if (!fl->helper)
        rd_or_acq_rel(&w->hungry[l->number / 64], 1ull << l->number % 64);
    rd_fence(); /* orders the registration with the looks; partners: rd_flow_send's, and a push's
                 publication */
    if (sees_work(w, fl))
        return 1;
    if (rd_seat_take(l)) { /* else another drives the lane, and tells when it leaves */
        met = register_own(l, w, fl);
        rd_seat_give_fence(l);
    }
    return met;
}
