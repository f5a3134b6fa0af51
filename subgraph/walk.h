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
struct rd_commute;

struct rd_walk {
    const struct rd_subgraph *g;
    struct rd_allocator *alloc;
    const uint32_t *order; /* the node at a position; NULL: nodes in recording order */
    struct rd_memories *memories;
    struct rd_cells cells;
    struct rd_alias *alias;     /* NULL: no slots in use are declared as aliases */
    struct rd_fences *fences;   /* NULL: no node touches everything */
    struct rd_commute *commute; /* NULL: no accesses commute */
    struct rd_reach *reach; /* NULL: edges are found; else they are looked for among those given */
    struct rd_edges *found; /* of the present copy's phase */
    struct rd_edges *list;  /* by phase; NULL: edges are not kept */
    uint32_t phases;        /* a copy is in phase copy % phases */
    const uint64_t *active; /* by node: bits, the phases in which it runs; NULL: in all */
    int touching;           /* accesses are followed; else fences alone */
    int carried;            /* histories go on from copy to copy */
    uint32_t warm, copies;  /* edges into the copies before `warm` do not count */
    /* the present node */
    uint32_t copy, node;
    uint32_t to;         /* what edges lead to: the node, or its class (commute.c) */
    uint64_t now, stamp; /* stamp: tells `mark` of different `to` and times apart */
    uint64_t begin;      /* of its copy */
    uint64_t base;       /* what is before was ordered by a node that touches everything, or is not
                            carried */
    /* the present access */
    uint64_t floor; /* as base, for its memory */
    int keep;       /* edges found count */
    uint32_t slot;
    uint64_t *mark;      /* by node: {stamp, distance} of the edge found last, folded */
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
/* `from`, a node or class that the walk was at before, comes before; *mark is its own. */
void rd_walk_follow(struct rd_walk *w, uint32_t from, uint32_t distance, uint64_t *mark);
/* An edge from a node of an earlier copy or position to w->to. */
void rd_walk_edge(struct rd_walk *w, uint32_t from, uint32_t distance, enum rd_edge_source source,
                  uint32_t slot);

/* depend.c: how an access touches cells. Where none commute, READ and WRITE are all there is. */
enum rd_touch {
    RD_TOUCH_READ,
    RD_TOUCH_WRITE,
    RD_TOUCH_MIXED_READ,
    RD_TOUCH_MIXED_WRITE,
    RD_TOUCH_COMMUTE
};
int rd_walk_boxes(struct rd_walk *w, const struct rd_access *a, enum rd_touch how);

/* alias.c: slots declared as aliases conflict whatever their regions. */
rondo_status rd_alias_make(struct rd_walk *w);
void rd_alias_free(struct rd_walk *w);
int rd_alias_touch(struct rd_walk *w, uint32_t slot, uint32_t mode); /* 0: no memory */

/* fence.c: nodes that touch everything. */
rondo_status rd_fences_make(struct rd_walk *w);
void rd_fences_free(struct rd_walk *w);
void rd_fences_begin(struct rd_walk *w); /* of a copy whose past does not count */
void rd_fences_pass(struct rd_walk *w,
                    uint64_t before); /* `before` comes before the present node */
/* Whether the present node follows one of its section; returns what was known. */
int rd_fences_follows(struct rd_walk *w, int follows);
void rd_fences_node(struct rd_walk *w); /* after its accesses */

/* commute.c: accesses that commute. Those with one slot and region, with nothing else to the
 * region's elements between them, are a class: its members are ordered among themselves once all
 * else is known, and until then what comes before or after them comes before or after the class. In
 * found edges class k is node g->nodes.count + k. */
rondo_status rd_commute_make(struct rd_walk *w);
void rd_commute_free(struct rd_walk *w);
void rd_commute_begin(struct rd_walk *w);                           /* of a walk */
int rd_commute_touch(struct rd_walk *w, const struct rd_access *a); /* 0: no memory */
/* The present access meets class k in a cell. follow: it comes after it; returns 0 if that lies
 * before all that counts. pair: it is of class w->to, and they exclude each other; 0: no memory. */
int rd_commute_follow(struct rd_walk *w, uint32_t k);
int rd_commute_pair(struct rd_walk *w, uint32_t k);
int rd_commute_now(const struct rd_walk *w, uint32_t k); /* it is of the present copy */
/* Orders the members of classes: by their level in the graph without these edges, then by number.
 * Replaces classes by their first and last members in w->list. */
rondo_status rd_commute_resolve(struct rd_walk *w);

/* stop.c: edges from nodes that may stop to all that must not run after. */
rondo_status rd_stop_edges(struct rd_walk *w);

/* teams.c: the ranks of teams come after what rank 0 comes after, and before what it comes before.
 */
rondo_status rd_team_edges(struct rd_walk *w);

/* phases.c: which nodes run when. */
uint32_t rd_every(const struct rd_subgraph *g); /* after how many replays that recurs; at most
                                                   RD_PHASES_MAX, more: 0 */
uint64_t *rd_active(struct rd_allocator *a, const struct rd_subgraph *g, uint32_t phases);
/* The graph and its variants of the edges in w->list. */
rondo_status rd_phases_build(const struct rd_walk *w, int carried, struct rd_graph *graph);

/* explicit.c: refuses a conflict that the edges given do not order. */
rondo_status rd_explicit_check(struct rd_walk *w, uint32_t from, uint32_t distance);

#endif
