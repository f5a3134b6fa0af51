/* SPDX-License-Identifier: BSD-3-Clause */
/* Edges while they are being found, and the graph made of them. */
#ifndef RD_SUBGRAPH_EDGES_H
#define RD_SUBGRAPH_EDGES_H

#include "subgraph/subgraph.h"

/* An edge as a number that sorts by distance, then predecessor, then source, then slot. */
static inline uint64_t rd_edge_key(uint32_t from, uint32_t distance, enum rd_edge_source source,
                                   uint32_t slot)
{
    return (uint64_t)distance << 56 | (uint64_t)from << 24 | (uint64_t)source << 16 |
           (slot < 65535 ? slot : 65535);
}
static inline int rd_edge_same(uint64_t a, uint64_t b) { return a >> 24 == b >> 24; }
static inline struct rd_edge rd_edge_of_key(uint64_t key)
{
    struct rd_edge e;
    e.from = (uint32_t)(key >> 24);
    e.distance = (uint8_t)(key >> 56);
    e.source = (uint8_t)(key >> 16);
    e.slot = (uint16_t)key;
    return e;
}

/* Found edges, in any order. */
struct rd_edges {
    uint32_t *to;
    uint64_t *key;
    size_t count, to_capacity, key_capacity;
};
void rd_edges_free(struct rd_allocator *a, struct rd_edges *e);
int rd_edges_room(struct rd_allocator *a, struct rd_edges *e); /* for one more; 0: no memory */
static inline int rd_edges_add(struct rd_allocator *a, struct rd_edges *e, uint32_t to,
                               uint64_t key)
{
    if ((e->count == e->to_capacity || e->count == e->key_capacity) && !rd_edges_room(a, e))
        return 0;
    e->to[e->count] = to;
    e->key[e->count++] = key;
    return 1;
}

struct rd_edge_lists {
    const struct rd_hand_edge *hand;
    size_t hand_count;
    uint32_t distance_limit; /* edges by hand of a greater distance are left out */
    const struct rd_edges *found;
};
/* MEMORY, and then *graph is untouched. */
rondo_status rd_graph_build(struct rd_allocator *a, const struct rd_edge_lists *lists,
                            uint32_t nodes, struct rd_graph *graph);

#endif
