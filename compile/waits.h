/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the two ways to find an exec's waits, clocks.c and covers.c, and waits.c that lays them
 * out. */
#ifndef RD_COMPILE_WAITS_H
#define RD_COMPILE_WAITS_H

#include "compile/passes.h"

enum { RD_CLOCK_LANES = 64, RD_MORE_MAX = 255 };

/* A wait behind an op's first. */
struct rd_further {
    uint32_t op;
    struct rd_wait wait;
};

/* The waits of one variant. */
struct rd_waits {
    struct rd_pass *p;
    struct rd_plan *plan; /* its lanes and positions */
    struct rd_op *op;     /* the variant's */
    /* The variant's edges, as rd_graph's: subsets of the graph's. */
    const uint32_t *first;
    const struct rd_edge *pred;
    /* One of several variants: the replays before this one may have been of any other. Of them only
     * what this replay itself waited for is known. */
    int varies;
    uint64_t wait_count;
    const uint32_t *order; /* NULL: ids */
    const uint16_t *lane_of_node;
    uint32_t *position;         /* in the global order, by node; NULL with two lanes */
    struct rd_further *further; /* in the order found: of one lane in op order */
    size_t further_count, further_capacity;
};

/* A dependence on another lane, in counts of ops since replay -(crossing_distance + 1) ended: the
 * peer must have reached `value`. */
struct rd_need {
    uint64_t value;
    uint32_t edge; /* in the variant's pred */
    uint16_t peer;
};

/* Takes back all waits of an op and gives it one more. INVALID: over RD_MORE_MAX further ones. */
static inline void rd_waits_clear(struct rd_op *op)
{
    op->wait = op->publish = 0;
    op->peer = 0;
    op->dist = op->more = 0;
}
rondo_status rd_waits_keep(struct rd_waits *w, uint32_t op, const struct rd_need *need);

static inline uint32_t rd_waits_position(const struct rd_waits *w, uint32_t node)
{
    const struct rd_plan_lane *lane = &w->plan->lane[w->lane_of_node[node]];
    return w->plan->op_of_node[node] - lane->first;
}
/* The later of two in the unrolled global order. */
static inline int rd_waits_later(const struct rd_waits *w, const struct rd_need *a,
                                 const struct rd_need *b)
{
    const struct rd_edge *x = &w->pred[a->edge], *y = &w->pred[b->edge];
    if (x->distance != y->distance)
        return x->distance < y->distance;
    return w->position ? w->position[x->from] > w->position[y->from] : 0;
}

/* Up to RD_CLOCK_LANES lanes, exact; also sets the sinks, but of variants. */
rondo_status rd_waits_by_clocks(struct rd_waits *w);
/* Any number of lanes. */
rondo_status rd_waits_by_covers(struct rd_waits *w);

#endif
