/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of boxes of elements: unions, kept as disjoint boxes. */
#ifndef RD_BASE_BOXES_H
#define RD_BASE_BOXES_H

#include "src/base/alloc.h"

#include <rondo/buffer.h>

/* Disjoint; counts at least 1 in all dimensions. {NULL, 0, 0} is empty. */
struct rd_boxes {
    rondo_region *item;
    uint32_t count, capacity;
};

/* Those that return int: 0, or -1 when there is no memory; the list is as it was then. */
int rd_boxes_add(struct rd_allocator *a, struct rd_boxes *to, const rondo_region *box);
int rd_boxes_subtract(struct rd_allocator *a, struct rd_boxes *from, const rondo_region *box);
int rd_boxes_add_all(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *more);
int rd_boxes_subtract_all(struct rd_allocator *a, struct rd_boxes *from,
                          const struct rd_boxes *less);
/* to = a copy of from; what was in `to` is freed. */
int rd_boxes_copy(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *from);
/* Keeps in `to` what is in `with` too. */
int rd_boxes_intersect(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *with);
int rd_boxes_intersect_box(struct rd_allocator *a, struct rd_boxes *to, const rondo_region *box);
/* *yes: every element of `box` is in `have`. */
int rd_boxes_cover(struct rd_allocator *a, const struct rd_boxes *have, const rondo_region *box,
                   int *yes);
int rd_boxes_meet_box(const struct rd_boxes *b, const rondo_region *box); /* 1: they share some */
void rd_boxes_hull(const struct rd_boxes *b, rondo_region *hull);         /* count > 0 */
uint64_t rd_boxes_elements(const struct rd_boxes *b);
void rd_boxes_free(struct rd_allocator *a, struct rd_boxes *b);

static inline int rd_box_meets(const rondo_region *x, const rondo_region *y)
{
    for (int d = 0; d < 3; d++)
        if (x->first[d] + x->count[d] <= y->first[d] || y->first[d] + y->count[d] <= x->first[d])
            return 0;
    return 1;
}
static inline int rd_box_holds(const rondo_region *outer, const rondo_region *inner)
{
    for (int d = 0; d < 3; d++)
        if (inner->first[d] < outer->first[d] ||
            inner->first[d] + inner->count[d] > outer->first[d] + outer->count[d])
            return 0;
    return 1;
}
/* *meet: what both share. 0: nothing. */
static inline int rd_box_meet(const rondo_region *x, const rondo_region *y, rondo_region *meet)
{
    for (int d = 0; d < 3; d++) {
        int64_t xe = x->first[d] + x->count[d], ye = y->first[d] + y->count[d];
        meet->first[d] = x->first[d] > y->first[d] ? x->first[d] : y->first[d];
        meet->count[d] = (xe < ye ? xe : ye) - meet->first[d];
        if (meet->count[d] <= 0)
            return 0;
    }
    return 1;
}

#endif
