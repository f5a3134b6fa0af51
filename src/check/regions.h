/* SPDX-License-Identifier: BSD-3-Clause */
/* What each node of a recording touches, kept for the checks: slots, modes and exact boxes, and the
 * rows of bytes they are in memory. */
#ifndef RD_CHECK_REGIONS_H
#define RD_CHECK_REGIONS_H

#include "subgraph/subgraph.h"

/* One access. */
struct rd_touch {
    uint32_t slot;
    uint32_t box, box_count; /* its exact boxes */
    uint8_t mode;
};

struct rd_node_touches {
    uint32_t first, count; /* in touch */
    uint8_t everything;    /* touches whatever it likes */
    uint8_t ordered;       /* ... and is ordered with all that touches anything */
    uint8_t own;           /* 1: a copy, a fill and such, which Rondo itself runs */
};

struct rd_regions {
    struct rd_allocator *alloc;
    uint32_t nodes, slots;
    size_t touches, boxes, names_bytes;
    struct rd_node_touches *node;
    struct rd_touch *touch;
    rd_box *box;
    rondo_shape *shape; /* by slot */
    size_t *bytes;      /* by slot: its span */
    uint32_t *name;     /* by slot, offset in names */
    char *names;
    uint32_t *sequence; /* the nodes in the order of the recording */
};

/* Copies what it needs. 0: no memory, and nothing is left. */
int rd_regions_init(struct rd_regions *r, struct rd_allocator *a, const struct rd_subgraph *g);
void rd_regions_end(struct rd_regions *r);

static inline const char *rd_regions_slot(const struct rd_regions *r, uint32_t slot)
{
    return r->names + r->name[slot];
}

/* A box as rows of bytes: for (rd_rows_begin(...); rd_rows_next(...);) */
struct rd_rows {
    char *at, *plane;
    size_t bytes, pitch[2]; /* pitch: between rows, between planes */
    int64_t rows, planes, row, plane_number;
};
static inline void rd_rows_begin(struct rd_rows *r, const rondo_shape *shape, const rd_box *box,
                                 void *base)
{
    r->bytes = (size_t)box->count[0] * shape->elem_bytes;
    r->pitch[0] = shape->pitch_bytes[0];
    r->pitch[1] = shape->pitch_bytes[1];
    r->plane = (char *)base + (size_t)box->first[0] * shape->elem_bytes +
               (size_t)box->first[1] * r->pitch[0] + (size_t)box->first[2] * r->pitch[1];
    r->at = r->plane;
    r->rows = box->count[1];
    r->planes = box->count[2];
    if (r->bytes == r->pitch[0]) { /* no gaps: a plane, or all of it, is one row */
        r->bytes *= (size_t)r->rows;
        r->rows = 1;
        if (r->bytes == r->pitch[1]) {
            r->bytes *= (size_t)r->planes;
            r->planes = 1;
        }
    }
    r->row = r->plane_number = 0;
}
static inline int rd_rows_next(struct rd_rows *r, char **row)
{
    if (r->plane_number == r->planes)
        return 0;
    *row = r->at;
    r->at += r->pitch[0];
    if (++r->row == r->rows) {
        r->row = 0;
        r->plane_number++;
        r->at = r->plane += r->pitch[1];
    }
    return 1;
}
static inline rd_box rd_rows_all(const rondo_shape *shape)
{
    rd_box box = { { 0, 0, 0 }, { shape->extent[0], shape->extent[1], shape->extent[2] } };
    return box;
}

/* The element at an address of a slot. 0: none, the address lies between two rows. */
int rd_regions_element(const rondo_shape *shape, const void *base, const void *address,
                       int64_t element[3]);
/* What the node's accesses to the slot say of an element: their modes put together, 0: none. */
unsigned rd_regions_mode(const struct rd_regions *r, uint32_t node, uint32_t slot,
                         const int64_t element[3]);

#endif
