/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of an op that the fast loop and the slow walk share: waiting, publishing, ending a
 * replay. */
#ifndef RD_COMPILE_RUN_STEP_H
#define RD_COMPILE_RUN_STEP_H

#include "compile/run/lane.h"

#define RD_INLINE static inline __attribute__((always_inline))

/* Polls until the peer's counter has reached `need`. 0: it has not, and lane->unmet says so. */
int rd_lane_spin(struct rd_lane *l, uint32_t peer, uint64_t need, uint32_t polls);
/* Wakes who waits for this lane's counter. */
void rd_lane_wake(struct rd_lane *l);
/* Saves the position and publishes it; a fence and a look at the wake word, since publishes did
 * without. Returns BLOCKED. */
enum rd_advance rd_lane_block(struct rd_lane *l, const struct rd_op *e);
/* The end of a replay in this lane, whichever executor drove it. */
enum rd_advance rd_lane_end(struct rd_lane *l, struct rd_frame *f);
/* The slow walk: every wait performed, each op looked at before it is called. */
enum rd_advance rd_lane_walk(struct rd_lane *l, struct rd_frame *f, uint32_t polls);

/* One wait. A satisfied one touches no shared line. *acquired is set if a counter was read. */
RD_INLINE int rd_lane_wait(struct rd_lane *l, uint32_t peer, uint32_t wait, uint32_t dist,
                           uint32_t polls, int *acquired)
{
    struct rd_peer *p = &l->peer[peer];
    uint64_t need = p->base + wait - dist * p->length;
    if (p->seen < need) {
        /* Acquire: pairs with the release in rd_lane_publish or rd_lane_end; the peer's op before
         * ours. */
        uint64_t value = rd_load_acquire(p->value);
        p->seen = value;
        if (value < need && !rd_lane_spin(l, peer, need, polls))
            return 0;
        *acquired = 1;
    }
    return 1;
}

/* All waits of an op. */
RD_INLINE int rd_lane_waits(struct rd_lane *l, const struct rd_op *e, uint32_t polls, int *acquired)
{
    if (!rd_lane_wait(l, e->peer, e->wait, e->dist, polls, acquired))
        return 0;
    if (RD_UNLIKELY(e->more)) {
        const struct rd_wait *w = l->wait + l->wait_at, *end = w + e->more;
        for (; w < end; w++)
            if (!rd_lane_wait(l, w->peer, w->wait, w->dist, polls, acquired))
                return 0;
        l->wait_at += e->more;
    }
    return 1;
}

/* `publish`: the op's, loaded once: rondo_event_at sets it in ops that may be running. */
RD_INLINE void rd_lane_publish(struct rd_lane *l, uint32_t publish)
{
    struct rd_source *c = l->counter;
    uint64_t value = l->peer[l->number].base + publish;
    /* Release: the op, and all it has seen, before its number; pairs with the acquires of waits. */
    rd_store_release(&c->done, value);
    /* No fence: a waiter that this look misses parks with a timeout; see rd_lane_block,
     * rd_lane_end. */
    if (RD_UNLIKELY(value >= rd_load_relaxed(&c->at)))
        rd_lane_wake(l);
}

#endif
