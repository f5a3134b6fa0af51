/* SPDX-License-Identifier: BSD-3-Clause */
/* Where ready ops of a flow are kept and taken from: a lane's own, and what the lanes share. */
#ifndef RD_COMPILE_RUN_FLOW_SHARE_H
#define RD_COMPILE_RUN_FLOW_SHARE_H

#include "compile/run/flow_data.h"
#include "compile/run/step.h"

/* What the flow has no need for, known where it is inlined: counts are the lane's own, nothing is
 * bound. */
enum { RD_FLOW_ALONE = 1, RD_FLOW_FREE = 2 };
/* ..._STEAL_NS: what it costs both sides that an op moves to another lane. ..._SHORT_NS: ops that
 * are shorter may be kept from others, a few at a time. */
enum { RD_FLOW_STEAL_NS = 500, RD_FLOW_SHORT_NS = 250, RD_FLOW_WAKE_NS = 30000 };
enum { RD_FLOW_WANTED = -1 }; /* since_ns: the next stretch of ops is to be timed */

static inline uint64_t rd_flow_item(uint64_t array, uint32_t op) { return array << 32 | op; }
static inline uint32_t rd_flow_array(uint64_t item) { return (uint32_t)(item >> 32); }

/* Puts an item into another lane's inbox. */
void rd_flow_send(const struct rd_flow *w, uint32_t lane, uint64_t item);
/* Calls one lane, among the 64 of the word, whose worker parks. */
void rd_flow_call_one(const struct rd_flow *w, uint32_t word);
/* Takes an item from another lane, and up to half of what that has for later. */
uint64_t rd_flow_steal(const struct rd_flow *w, struct rd_flow_lane *fl);
/* Takes all of the inbox. */
void rd_flow_drain(const struct rd_flow *w, struct rd_flow_lane *fl);
/* Before the driver leaves the lane. */
void rd_flow_give_up_batch(const struct rd_flow *w, struct rd_flow_lane *fl);
/* This thread had registered to be called, and is there. */
void rd_flow_stop_asking(const struct rd_flow *w, struct rd_flow_lane *fl);
/* A stretch of ops without a wait is timed. */
void rd_flow_begin_stretch(struct rd_flow_lane *fl);
void rd_flow_end_stretch(struct rd_flow *w, struct rd_flow_lane *fl);

/* How many ops a lane has at least that one is stolen from: one, or what makes up for the move
 * while that lane goes through them itself. */
static inline uint64_t rd_flow_worth(const struct rd_flow *w)
{
    uint32_t op_ns = rd_load_relaxed(&w->op_ns);
    return op_ns && op_ns < RD_FLOW_STEAL_NS ? RD_FLOW_STEAL_NS / op_ns + 1 : 1;
}

static inline int rd_flow_short(const struct rd_flow *w)
{
    return rd_load_relaxed(&w->op_ns) - 1 < RD_FLOW_SHORT_NS; /* and known */
}

/* ---- stacks */

static inline uint64_t *rd_flow_link(const struct rd_flow *w, uint64_t item)
{
    return &w->link[rd_flow_array(item) * w->stride + (uint32_t)item];
}

static inline void rd_flow_stack(const struct rd_flow *w, struct rd_flow_lane *fl, uint64_t item)
{
    *rd_flow_link(w, item) = fl->stack;
    fl->stack = item;
}

static inline uint64_t rd_flow_unstack(const struct rd_flow *w, struct rd_flow_lane *fl)
{
    uint64_t item = fl->stack;
    if (item != RD_FLOW_NO_ITEM)
        fl->stack = *rd_flow_link(w, item);
    return item;
}

static inline void rd_flow_offer(const struct rd_flow *w, const struct rd_flow_lane *fl)
{
    for (uint32_t i = 0; i < w->hungry_words; i++)
        if (RD_UNLIKELY(rd_load_relaxed(&w->hungry[i]) != 0)) {
            uint32_t op_ns = rd_load_relaxed(&w->op_ns);
            if (!op_ns || rd_deque_size(&fl->deque) * op_ns >= RD_FLOW_WAKE_NS)
                rd_flow_call_one(w, i);
            return;
        }
}

/* ---- ready ops */

/* Keeps an op that this lane may run for later. */
RD_INLINE void rd_flow_keep(const struct rd_flow *w, struct rd_flow_lane *fl, uint64_t item,
                            int how)
{
    if (!(how & RD_FLOW_FREE) && (fl->helper || w->node[(uint32_t)item].bound != RD_PLACE_ANY)) {
        rd_flow_stack(w, fl, item);
        return;
    }
    if (RD_UNLIKELY(!rd_deque_push(&fl->deque, item)))
        rd_flow_stack(w, fl, item);
    if (!(how & RD_FLOW_ALONE))
        rd_flow_offer(w, fl);
}

static inline uint32_t rd_flow_lane_for(const struct rd_flow *w, const struct rd_flow_lane *fl,
                                        uint32_t op)
{
    uint32_t bound = w->node[op].bound;
    return bound != RD_PLACE_ANY ? bound : fl->helper ? w->home[op] : fl->number;
}

/* An op has become ready: the one to run next is this one, or `next` as before. */
RD_INLINE uint64_t rd_flow_ready(const struct rd_flow *w, struct rd_flow_lane *fl, uint64_t next,
                                 uint64_t item, int how)
{
    if (!(how & RD_FLOW_FREE)) {
        uint32_t lane = rd_flow_lane_for(w, fl, (uint32_t)item);
        if (lane != fl->number) {
            rd_flow_send(w, lane, item);
            return next;
        }
    }
    if (next != RD_FLOW_NO_ITEM)
        rd_flow_keep(w, fl, next, how);
    return item;
}

/* The next of what the lane has itself. */
RD_INLINE uint64_t rd_flow_own_item(const struct rd_flow *w, struct rd_flow_lane *fl, int how)
{
    uint64_t item;
    if (fl->batch_count)
        return fl->batch[--fl->batch_count];
    item = rd_flow_unstack(w, fl);
    if (item != RD_FLOW_NO_ITEM)
        return item;
    if (how & RD_FLOW_ALONE)
        return rd_deque_pop_alone(&fl->deque, &item) ? item : RD_FLOW_NO_ITEM;
    if (rd_flow_short(w) && rd_deque_size(&fl->deque) >= 2 * RD_FLOW_BATCH &&
        rd_deque_pop_some(&fl->deque, fl->batch, RD_FLOW_BATCH)) {
        fl->batch_count = RD_FLOW_BATCH - 1;
        return fl->batch[RD_FLOW_BATCH - 1];
    }
    return rd_deque_pop(&fl->deque, &item) ? item : RD_FLOW_NO_ITEM;
}

#endif
