/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as the compile passes read it: for each node its predecessors. Plain data. */
#ifndef RD_SUBGRAPH_GRAPH_H
#define RD_SUBGRAPH_GRAPH_H

#include "src/base/alloc.h"

enum { RD_DISTANCE_MAX = 255 };

/* Where an edge comes from. */
enum rd_edge_source {
    RD_EDGE_EXPLICIT, /* given by hand; carried if distance > 0 */
    RD_EDGE_ACCESS,   /* inferred from accesses to `slot` */
    RD_EDGE_ORDER,    /* from or to a node that touches everything */
};

struct rd_edge {
    uint32_t from;
    uint8_t distance; /* replays later; 0 within a replay */
    uint8_t source;   /* enum rd_edge_source */
    uint16_t slot;    /* of RD_EDGE_ACCESS: the slot's index, saturated at 65535 */
};

struct rd_graph {
    uint32_t nodes;
    uint32_t distance; /* the largest of any edge */
    /* Predecessors of node v: pred[first[v] .. first[v + 1]); no two with the same {from,
     * distance}. */
    uint32_t *first;
    struct rd_edge *pred;
    /* More than 64 phases of rings: the carried edges are not complete, every boundary is serial.
     */
    int serial_boundaries;
    size_t pred_capacity; /* allocated length of pred */
    /* `when every`: replay n (of those executed) is in phase n % phases, and which nodes run and
     * which edges there are depends on the phase. `first` and `pred` above are the union over all
     * phases; variant[variant_of_phase[phase]] has the edges into a replay of that phase, subsets
     * of the union. phases 1: no variants, both pointers NULL. */
    uint32_t phases, variants;
    uint16_t *variant_of_phase;
    struct rd_variant *variant;
};

struct rd_variant {
    uint32_t *first; /* as rd_graph's */
    struct rd_edge *pred;
    size_t pred_capacity;
};

void rd_graph_free(struct rd_allocator *a, struct rd_graph *g); /* frees the arrays, not g */

#endif
