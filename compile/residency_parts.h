/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the residency pass share.
 *
 * A body is cut into lines: what of it is one run of elements at one place in a replay. A regular
 * body has one line, or, if it is of rings, one for each position in use; slots of one line are the
 * same elements. Of other bodies each slot is a line of its own, and an access through one line
 * first brings the others' bytes home.
 *
 * A line's elements are in stores: the host's, an instance in a device's memory, or a place there.
 * What is current in a store is a list of boxes; an element that is defined is current in some
 * store at any time. */
#ifndef RD_COMPILE_RESIDENCY_PARTS_H
#define RD_COMPILE_RESIDENCY_PARTS_H

#include "compile/residency.h"
#include "subgraph/expand.h"
#include "subgraph/memory.h"
#include "subgraph/reach.h"

#define RD_NOWHERE UINT32_MAX
enum { RD_UNDECIDED = 255, RD_ZONES_MOST = 1024, RD_BUCKETS = 1024 };

/* An access to a line, in the order of the walk. */
struct rd_visit {
    uint32_t position;
    uint8_t memory; /* RD_UNDECIDED: of a copy or fill that may run anywhere */
    uint8_t mode;   /* RONDO_READ, _WRITE */
    rondo_region hull;
};

struct rd_body {
    uint32_t line, lines;
    uint8_t regular; /* one geometry, buffers of its own: instances are possible */
    uint8_t coarse;  /* it is not the buffers', which are told of as a whole */
    uint8_t ring;
    uint8_t mixed;     /* several lines over the same bytes */
    uint8_t temporary; /* nothing is current when a replay begins */
    uint8_t home;      /* copied home at the end of every replay; 2: relied upon nowhere else */
    uint8_t wide;      /* what is written is no longer told exactly: all that is held is needed */
    uint32_t count, stride; /* of a ring */
};

struct rd_line {
    uint32_t body;
    uint32_t slot;     /* one of its slots */
    uint32_t position; /* in its ring */
    uint32_t visit, visits;
    rondo_region whole;
    const rondo_shape *shape;
    uint32_t place;  /* index + 1 of the first of its places; 0: none */
    uint32_t twin;   /* index + 1 of the latest of its twins in arenas */
    uint32_t at_end; /* bits: memories where it is to be current at the end */
    uint8_t away;    /* listed: something of it may be current in a device's memory */
};

/* A part of an arena while it holds a part of a line. */
struct rd_resid_place {
    uint32_t line, memory, twin, next;
    uint32_t pinned; /* position + 1 of the node that uses it */
    uint32_t used;   /* the position where it is used next, as far as that was looked for */
    uint64_t offset, bytes;
    rondo_region box;
    struct rd_boxes current;
};

struct rd_arena {
    uint64_t budget;        /* UINT64_MAX: no limit */
    uint64_t top;           /* the end of the highest place so far */
    RD_POOL(uint32_t) live; /* places by offset */
};

/* What is chosen of a copy or fill. */
struct rd_choice {
    uint16_t bound;
    uint8_t side[2]; /* memory of each access */
    uint8_t made;
};

struct rd_resid {
    struct rd_allocator *alloc;
    const struct rd_residency_input *in;
    const struct rd_subgraph *g;
    uint32_t memories, slots, nodes;
    int failed; /* no memory: nothing that was found since counts */
    /* the order (residency_bodies.c) */
    const uint32_t *order; /* by position; NULL: by index */
    uint32_t *own_order;
    RD_POOL(uint32_t) fences; /* positions of nodes that touch everything */
    /* what is walked */
    uint32_t *line_of; /* by slot; RD_NOWHERE: the host's alone */
    struct rd_body *body;
    uint32_t bodies;
    struct rd_line *line;
    uint32_t line_room;
    uint32_t lines;
    struct rd_visit *visit;
    uint32_t visits;
    uint8_t *instance;        /* by line and memory: it has an instance there */
    struct rd_boxes *zone;    /* by line and memory: boxes of places */
    struct rd_boxes *keep;    /* by body and memory: current there between replays */
    struct rd_choice *choice; /* by node */
    /* the walk under way */
    uint32_t walk, position;
    struct rd_boxes *current; /* by line and memory, of the host and of instances */
    uint32_t *twin_of;        /* by line and memory: index + 1 of an instance's twin */
    RD_POOL(struct rd_resid_place) places;
    RD_POOL(uint32_t) away; /* lines */
    struct rd_arena arena[RD_MEMORIES_MAX];
    RD_POOL(struct rd_twin) twins;
    RD_POOL(uint32_t) twin_before;    /* by twin: index + 1 of the bucket's one before */
    uint32_t twin_bucket[RD_BUCKETS]; /* index + 1 of the latest one in an arena */
    RD_POOL(struct rd_route) routes;
    RD_POOL(struct rd_turn) turns;
    uint32_t *slot_of_access;
    uint32_t *place_of; /* by access: index + 1; 0: none */
    uint8_t *memory_of; /* by access: of the node under way */
    int tight;          /* places are as small as can be */
    uint16_t *bound;
    /* by body and memory: what is accessed there, what is read before it is written; by body: what
     * is written */
    struct rd_boxes *touched, *need, *written;
    uint64_t moved[RD_MEMORIES_MAX][RD_MEMORIES_MAX];
    uint32_t evictions;
};

/* Where elements of a line are. */
struct rd_store {
    uint32_t memory;
    uint32_t place; /* index + 1; 0: the host's, or an instance */
};

static inline uint32_t rd_resid_node(const struct rd_resid *w, uint32_t position)
{
    return w->order ? w->order[position] : position;
}
static inline struct rd_boxes *rd_resid_current(const struct rd_resid *w, uint32_t line,
                                                struct rd_store s)
{
    return s.place ? &w->places.item[s.place - 1].current
                   : &w->current[(size_t)line * w->memories + s.memory];
}
static inline int rd_resid_peers(const struct rd_resid *w, uint32_t to, uint32_t from)
{
    return w->in->peers && w->in->peers[(size_t)(to - 1) * w->in->devices + from - 1];
}
static inline uint64_t rd_resid_bytes(const struct rd_line *l, const rondo_region *box)
{
    return (uint64_t)box->count[0] * (uint64_t)box->count[1] * (uint64_t)box->count[2] *
           l->shape->elem_bytes;
}
/* Whether a node's writes may leave some of their regions as they were. */
static inline int rd_resid_partial(const struct rd_subgraph *g, uint32_t node)
{
    const struct rd_node *n = &g->nodes.item[node];
    return rd_node_extra(g, node)->when_count ||
           ((n->kind == RD_NODE_COPY || n->kind == RD_NODE_FILL) && n->param_count);
}
static inline rondo_region rd_region_hull(const rondo_region *x, const rondo_region *y)
{
    rondo_region pair[2] = { *x, *y }, hull;
    struct rd_boxes both = { pair, 2, 2 };
    rd_boxes_hull(&both, &hull);
    return hull;
}
/* All that an access covers, its view's box with it. */
rondo_region rd_resid_hull(const struct rd_subgraph *g, const struct rd_access *a);

/* ---- residency_bodies.c: the order, bodies, lines and visits; and what a walk needs. */
rondo_status rd_resid_order(struct rd_resid *w);
rondo_status rd_resid_bodies(struct rd_resid *w);
void rd_resid_bodies_free(struct rd_resid *w);

/* ---- residency_refuse.c: a node on a device that writes the same bytes in two geometries. */
rondo_status rd_resid_refuse(const struct rd_resid *w);

/* ---- residency_next.c: the next visits of a line, from the present position on. */
/* The first one from a position on, in the same replay, that meets `box` and is of
 * `memory` (RD_UNDECIDED: of any), and reads if `reads`. NULL: none. Copies that may run anywhere
 * are passed over where a memory is asked for. */
const struct rd_visit *rd_resid_next(const struct rd_resid *w, uint32_t line,
                                     const rondo_region *box, uint32_t memory, int reads,
                                     uint32_t position);
/* Whether `box` is read in a memory again, after the present node and before anything writes it. */
int rd_resid_read_again(const struct rd_resid *w, uint32_t line, const rondo_region *box,
                        uint32_t memory);
/* The memory in which `box` is read next, as far as that is known; RD_NOWHERE: it is not. */
uint32_t rd_resid_next_reader(const struct rd_resid *w, uint32_t line, const rondo_region *box);

/* ---- residency_store.c: what is current where. These note a lack of memory in w->failed. */
void rd_resid_add(struct rd_resid *w, struct rd_boxes *to, const rondo_region *box);
void rd_resid_subtract(struct rd_resid *w, struct rd_boxes *from, const rondo_region *box);
/* All of `box` is current in the store. */
int rd_resid_covers(struct rd_resid *w, uint32_t line, struct rd_store s, const rondo_region *box);
/* Makes `box` current in the store, by routes from where it is; reads it there. */
void rd_resid_fetch(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box);
/* The same without a reader. */
void rd_resid_bring(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box);
/* `box` was written in the store. */
void rd_resid_write(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box);
/* Lists of too many boxes become one. */
void rd_resid_consolidate(struct rd_resid *w, uint32_t line);
/* What is in places alone goes to the host. */
void rd_resid_flush(struct rd_resid *w, uint32_t line);
void rd_resid_away(struct rd_resid *w, uint32_t line);
/* The slot of a store: recorded, or behind the recorded ones. */
uint32_t rd_resid_slot(struct rd_resid *w, uint32_t line, struct rd_store s);

/* ---- residency_arena.c: places. */
/* Which boxes are taken together where there is room. */
void rd_resid_zones(struct rd_resid *w);
/* The place of `box` in a memory, pinned by the present node: index + 1. 0: it does not fit beside
 * what is pinned. */
uint32_t rd_resid_place(struct rd_resid *w, uint32_t line, uint32_t memory,
                        const rondo_region *box);
/* Gives up all places of a memory, those pinned too. */
void rd_resid_vacate(struct rd_resid *w, uint32_t memory);
/* Frees what of a line's places is of no more use, now that the present node has been. */
void rd_resid_tidy(struct rd_resid *w, uint32_t line);
/* Nothing of the line's places is current any more; those not pinned are freed. */
void rd_resid_drop_places(struct rd_resid *w, uint32_t line);
uint64_t rd_resid_place_bytes(const struct rd_line *l, const rondo_region *box);

/* ---- residency_choose.c: where copies and fills run, and where their sides are. */
void rd_resid_choose(struct rd_resid *w, uint32_t node, struct rd_choice *c);

/* ---- residency_walk.c: one walk through a replay. */
void rd_resid_walk(struct rd_resid *w);
/* All accesses of the node that meet this one, in the same line and memory, directly or through
 * others, are in one place: *hull. Returns whether this is the first of them. */
int rd_resid_cluster(const struct rd_resid *w, const struct rd_node *n, uint32_t access,
                     rondo_region *hull);
/* Whether an access, in the memory that w->memory_of says, is in a place. */
int rd_resid_needs_place(const struct rd_resid *w, uint32_t access);
void rd_resid_walk_free(struct rd_resid *w);

/* ---- residency_limits.c: which lines have instances where. */
/* All that can have one. INVALID: a device that there is not. */
rondo_status rd_resid_instances(struct rd_resid *w);
/* As many as leave room for what each node needs in arenas. */
rondo_status rd_resid_limit(struct rd_resid *w);
/* Whether the last walk fits the devices. */
int rd_resid_fits(const struct rd_resid *w);
/* The bytes of instances in the last walk: `all`, or those alone that there were not before. */
uint64_t rd_resid_instance_bytes(const struct rd_resid *w, uint32_t memory, int all);

/* ---- residency_stay.c: what the keeper is told. */
rondo_status rd_resid_stays(struct rd_resid *w, struct rd_residency *r);

#endif
