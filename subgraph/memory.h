/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes slots stand for: memories, and boxes in their coordinates.
 *
 * Buffers whose address ranges overlap are one memory; a slot bound per replay is one by itself. A
 * view is a slot with one of its buffers. Coordinates are bytes, rows and planes, where all views
 * of a memory have the same pitches and none crosses the end of a row; else bytes alone, and a box
 * is its rows. */
#ifndef RD_SUBGRAPH_MEMORY_H
#define RD_SUBGRAPH_MEMORY_H

#include "subgraph/interval.h"
#include "subgraph/subgraph.h"

enum { RD_PHASES_MAX = 64 };
enum { RD_COMMUTES = RONDO_COMMUTE & ~RONDO_READ_WRITE }; /* of an access's mode */

struct rd_view {
    uint32_t memory;
    uint64_t at[3]; /* the first element's coordinates */
};

struct rd_memory {
    uint8_t written;
    uint8_t bound;       /* another one at each replay, or new: nothing is carried */
    uint8_t commuting;   /* some accesses to it commute */
    uint8_t bytes_alone; /* coordinates are bytes alone */
    uint32_t phases;     /* replays after which the views, and which nodes run, recur; edges into so
                            many copies differ */
    struct rd_map map;
};

/* How a slot's views go by. */
struct rd_view_list {
    uint32_t first, count, ring_first, ring_stride;
    uint8_t mode;         /* of all accesses together; 0: not used */
    uint8_t apart;        /* its memory is its own, because rings meet in too many ways */
    uint32_t alias_class; /* slots of one number may share bytes; the least slot's index */
};

struct rd_memories {
    const struct rd_subgraph *g;
    struct rd_view_list *slot;
    struct rd_view *view;
    struct rd_memory *memory;
    uint32_t views, count, capacity;
    uint32_t period; /* replays after which the slowest ring to memory written recurs, and which
                        nodes run */
    uint32_t period_slot;
    uint32_t phases; /* the most of a memory */
    uint32_t every;  /* as given */
    int serial;      /* rings meet in more than RD_PHASES_MAX ways */
    uint64_t cells;
};

/* Memories of all slots in use, and the maps of those written. Which nodes run recurs every `every`
 * replays. */
rondo_status rd_memories_make(struct rd_allocator *a, const struct rd_subgraph *g, uint32_t every,
                              struct rd_memories *m);
void rd_memories_free(struct rd_allocator *a, struct rd_memories *m);
/* memory_map.c: makes the maps and counts the cells; 0: no memory. */
int rd_memories_map(struct rd_allocator *a, struct rd_memories *m);

static inline const struct rd_view *rd_view_at(const struct rd_memories *m, uint32_t slot,
                                               uint64_t replay)
{
    const struct rd_view_list *l = &m->slot[slot];
    if (l->count == 1)
        return &m->view[l->first];
    return &m->view[l->first + (l->ring_first + replay * l->ring_stride) % l->count];
}

/* The exact boxes of an access. */
static inline const rd_box *rd_access_boxes(const struct rd_subgraph *g, const struct rd_access *a,
                                            uint32_t *count)
{
    *count = a->box_count ? a->box_count : 1;
    return g->boxes.item + a->box + (a->box_count != 0);
}

static inline struct rd_extent rd_extent_of(const struct rd_view *v, const rondo_shape *s,
                                            const rd_box *b)
{
    struct rd_extent e;
    e.lo[0] = v->at[0] + (uint64_t)b->first[0] * s->elem_bytes;
    e.hi[0] = e.lo[0] + (uint64_t)b->count[0] * s->elem_bytes;
    e.lo[1] = v->at[1] + (uint64_t)b->first[1];
    e.hi[1] = e.lo[1] + (uint64_t)b->count[1];
    e.lo[2] = v->at[2] + (uint64_t)b->first[2];
    e.hi[2] = e.lo[2] + (uint64_t)b->count[2];
    return e;
}

/* A box in coordinates of bytes alone: rows of bytes, those that touch taken together. */
struct rd_rows {
    uint64_t at, row, pitch[2], count[2];
};
static inline struct rd_rows rd_rows_of(const struct rd_view *v, const rondo_shape *s,
                                        const rd_box *b)
{
    struct rd_rows r;
    r.at = v->at[0] + (uint64_t)b->first[0] * s->elem_bytes +
           (uint64_t)b->first[1] * s->pitch_bytes[0] + (uint64_t)b->first[2] * s->pitch_bytes[1];
    r.row = (uint64_t)b->count[0] * s->elem_bytes;
    r.pitch[0] = s->pitch_bytes[0];
    r.pitch[1] = s->pitch_bytes[1];
    r.count[0] = (uint64_t)b->count[1];
    r.count[1] = (uint64_t)b->count[2];
    if (r.count[0] == 1 || r.row == r.pitch[0]) {
        r.row *= r.count[0];
        r.count[0] = 1;
        if (r.count[1] == 1 || r.row == r.pitch[1]) {
            r.row *= r.count[1];
            r.count[1] = 1;
        }
    }
    return r;
}
static inline struct rd_extent rd_row_at(const struct rd_rows *r, uint64_t y, uint64_t z)
{
    struct rd_extent e = { { 0, 0, 0 }, { 0, 1, 1 } };
    e.lo[0] = r->at + y * r->pitch[0] + z * r->pitch[1];
    e.hi[0] = e.lo[0] + r->row;
    return e;
}

#endif
