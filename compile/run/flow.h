/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataflow executor: nodes go to whichever lane is free as they become ready. One lane per
 * processor, each without ops of its own, drives the nodes of all. */
#ifndef RD_COMPILE_RUN_FLOW_H
#define RD_COMPILE_RUN_FLOW_H

#include "compile/compile.h"
#include "src/frame/frame.h"

struct rd_flow_input {
    const struct rd_graph *graph;
    const struct rd_plan *plan; /* of the same graph: where each node's op and bad bit are */
    /* By node; each may be NULL. */
    const uint16_t *bound; /* processor, or RD_PLACE_ANY */
    const uint16_t *home;  /* where `place` puts the node: who gets what a helper makes ready */
    const int32_t *priority;
    const uint32_t *cost_ns;
    const uint8_t *alone; /* 1: not to run in two replays at once, though no edge orders it so */
    uint32_t processors;  /* lanes: 0 to processors - 1 */
    uint32_t helpers;     /* the last so many of them take only nodes that are bound to them */
    uint32_t window;
    int serial;         /* every boundary is serial: one replay at a time */
    uint32_t pend_most; /* nodes that may pend */
};

/* MEMORY, or INVALID for a cycle. The track's op, ring and source are there before the first
 * replay; its lanes' numbers are those of their processors. One flow per track. */
rondo_status rd_flow_new(struct rd_allocator *a, const struct rd_flow_input *in,
                         struct rd_flow **flow);
void rd_flow_free(struct rd_allocator *a, struct rd_flow *flow); /* may be NULL */

/* rd_lane_advance of a lane whose track has a flow. */
enum rd_advance rd_flow_advance(struct rd_lane *l, uint32_t polls);
/* rd_work.parks of such a lane. */
int rd_flow_parks(struct rd_work *work);

#endif
