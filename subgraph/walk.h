/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk over the recording, appended to itself, that finds what must come before what.
 *
 * A time is {copy + 1 : 32, position : 32}: the copy of the recording and the node's place in it.
 */
#ifndef RD_SUBGRAPH_WALK_H
#define RD_SUBGRAPH_WALK_H

#include "subgraph/cells.h"
#include "subgraph/edges.h"
#include "subgraph/memory.h"

struct rd_reach;
struct rd_alias;
struct rd_fences;

struct rd_walk {
    const struct rd_subgraph *g;
    struct rd_allocator *alloc;
    const uint32_t *order; /* the node at a position; NULL: nodes in recording order */
    struct rd_memories *memories;
    struct rd_cells cells;
    struct rd_alias *alias;   /* NULL: no slots in use are declared as aliases */
    struct rd_fences *fences; /* NULL: no node touches everything */
    struct rd_reach *reach; /* NULL: edges are found; else they are looked for among those given */
    struct rd_edges *found;
    int touching;          /* accesses are followed; else fences alone */
    int carried;           /* histories go on from copy to copy */
    uint32_t warm, copies; /* edges into the copies before `warm` do not count */
    /* the present node */
    uint32_t copy, node;
    uint64_t now;
    uint64_t begin; /* of its copy */
    uint64_t base;  /* what is before was ordered by a node that touches everything, or is not
                       carried */
    /* the present access */
    uint64_t floor; /* as base, for its memory */
    int keep;       /* edges found count */
    uint32_t slot;
    uint64_t *mark;      /* by node: {time, distance} of the edge found last, folded */
    rondo_status status; /* of the first thing that went wrong; its message is set */
};

static inline uint32_t rd_walk_node(const struct rd_walk *w, uint64_t time)
{
    return w->order ? w->order[(uint32_t)time] : (uint32_t)time;
}

/* The access at `time` comes before the present one. */
void rd_walk_before(struct rd_walk *w, uint64_t time);
static inline void rd_walk_conflict(struct rd_walk *w, uint64_t time)
{
    if (time >= w->floor && time != w->now)
        rd_walk_before(w, time);
}
/* An edge from a node of an earlier copy or position to the present node. */
void rd_walk_edge(struct rd_walk *w, uint32_t from, uint32_t distance, enum rd_edge_source source,
                  uint32_t slot);

/* alias.c: slots declared as aliases conflict whatever their regions. */
rondo_status rd_alias_make(struct rd_walk *w);
void rd_alias_free(struct rd_walk *w);
int rd_alias_touch(struct rd_walk *w, uint32_t slot, uint32_t mode); /* 0: no memory */

/* fence.c: nodes that touch everything. */
rondo_status rd_fences_make(struct rd_walk *w);
void rd_fences_free(struct rd_walk *w);
void rd_fences_begin(struct rd_walk *w); /* of a copy whose past does not count */
void rd_fences_pass(struct rd_walk *w,
                    uint64_t before);   /* `before` comes before the present node */
void rd_fences_node(struct rd_walk *w); /* after its accesses */

/* explicit.c: refuses a conflict that the edges given do not order. */
rondo_status rd_explicit_check(struct rd_walk *w, uint32_t from, uint32_t distance);

#endif
