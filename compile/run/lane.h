/* SPDX-License-Identifier: BSD-3-Clause */
/* The static executor: drives one lane through its ops, replay after replay. */
#ifndef RD_COMPILE_RUN_LANE_H
#define RD_COMPILE_RUN_LANE_H

#include "src/frame/frame.h"

/* Takes the seat; 0 when another has it, or it is closed. */
static inline int rd_seat_take(struct rd_lane *l)
{
    uint32_t free = RD_SEAT_FREE;
    /* Acquire: all that the last driver did to the lane; pairs with rd_seat_give. */
    return rd_load_relaxed(&l->seat) == RD_SEAT_FREE &&
           rd_cas_acquire(&l->seat, &free, RD_SEAT_HELD);
}
static inline void rd_seat_give(struct rd_lane *l) { rd_store_release(&l->seat, RD_SEAT_FREE); }
/* The same and a fence, for a driver that has something to look at afterwards. */
static inline void rd_seat_give_fence(struct rd_lane *l)
{
    rd_store_fence32(&l->seat, RD_SEAT_FREE);
}

/* Drives the lane for one replay, or RD_OPS_MAX ops. The caller holds its seat. Polls a counter
 * `polls` times before it gives up. On BLOCKED and IDLE lane->unmet says what for. */
enum { RD_OPS_MAX = 4096 };
enum rd_advance rd_lane_advance(struct rd_lane *l, uint32_t polls);

/* Wakes those who wait for what the end of a replay published. Behind a fence; needs no seat. */
void rd_lane_pay(struct rd_lane *l, enum rd_owed owed);

/* rd_work.advance of a lane: takes the seat, drives, gives the seat back. For the lane's worker,
 * which looks at the lane again before it parks. */
enum rd_advance rd_lane_work(struct rd_work *work, struct rd_unmet *unmet);
static inline struct rd_lane *rd_lane_of_work(struct rd_work *work)
{
    return (struct rd_lane *)((char *)work - offsetof(struct rd_lane, work));
}

/* Whether the lane has something to do that its driver leaves behind: it is mid-replay, or its next
 * frame is published. The caller held the seat, gave it back, and fenced. `replay` and `begun` are
 * what the lane said before. */
static inline int rd_lane_left_work(const struct rd_track *t, uint64_t replay, int begun)
{
    return begun || rd_load_acquire(&rd_track_frame(t, replay)->seq) > replay;
}

#endif
