/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the edges of a graph lead from one node to another. */
#ifndef RD_SUBGRAPH_REACH_H
#define RD_SUBGRAPH_REACH_H

#include "subgraph/subgraph.h"

enum { RD_CLOSURE_MAX = 4096 };

struct rd_reach {
    const struct rd_graph *graph;
    struct rd_allocator *alloc;
    uint32_t
        *order; /* nodes, each behind its predecessors; in recording order where that does it */
    uint32_t *level;   /* by node: the longest path to it */
    uint64_t *closure; /* up to RD_CLOSURE_MAX nodes: a row of bits per node, its ancestors within a
                          replay; else NULL */
    size_t row;        /* words of a row */
    /* the search from `target`: states are {node, replays back}, seen if stamped with its number;
     * those in the heap have not been left yet */
    uint32_t *stamp;
    struct rd_reach_state *heap;
    size_t stamps, heap_count, heap_capacity;
    uint32_t search, target; /* target UINT32_MAX: none */
};

/* The graph is acyclic within a replay and stays where it is. */
rondo_status rd_reach_make(struct rd_allocator *a, const struct rd_graph *graph,
                           struct rd_reach *reach);
void rd_reach_free(struct rd_reach *reach);
/* Whether `from` of a replay always comes before `to` of the replay `distance` later: 1, 0, or -1
 * without memory. */
int rd_reach_from(struct rd_reach *reach, uint32_t from, uint32_t to, uint32_t distance);

#endif
