/* SPDX-License-Identifier: BSD-3-Clause */
/* Unions of boxes. A change is made in a second list that then takes the first one's place, so that
 * a change that finds no memory leaves the list as it was. */
#include "src/base/boxes.h"

#include <string.h>

static int push(struct rd_allocator *a, struct rd_boxes *b, const rondo_region *box)
{
    if (b->count == b->capacity) {
        uint32_t capacity = b->capacity ? 2 * b->capacity : 4;
        rondo_region *item = rd_alloc_array(a, capacity, sizeof *item);
        if (!item)
            return -1;
        if (b->count)
            memcpy(item, b->item, b->count * sizeof *item);
        rd_free_array(a, b->item, b->capacity, sizeof *b->item);
        b->item = item;
        b->capacity = capacity;
    }
    b->item[b->count++] = *box;
    return 0;
}

void rd_boxes_free(struct rd_allocator *a, struct rd_boxes *b)
{
    rd_free_array(a, b->item, b->capacity, sizeof *b->item);
    memset(b, 0, sizeof *b);
}

static int replace(struct rd_allocator *a, struct rd_boxes *b, struct rd_boxes *by, int failed)
{
    if (failed) {
        rd_boxes_free(a, by);
        return -1;
    }
    rd_boxes_free(a, b);
    *b = *by;
    return 0;
}

/* What of `box` is outside of `hole`, at most six boxes: slabs of the slowest dimension first. */
static int cut(struct rd_allocator *a, struct rd_boxes *to, const rondo_region *box,
               const rondo_region *hole)
{
    rondo_region rest = *box, meet, slab;
    if (!rd_box_meet(box, hole, &meet))
        return push(a, to, box);
    for (int d = 2; d >= 0; d--) {
        int64_t below = meet.first[d] - rest.first[d];
        int64_t above = rest.first[d] + rest.count[d] - (meet.first[d] + meet.count[d]);
        slab = rest;
        slab.count[d] = below;
        if (below > 0 && push(a, to, &slab))
            return -1;
        slab = rest;
        slab.first[d] = meet.first[d] + meet.count[d];
        slab.count[d] = above;
        if (above > 0 && push(a, to, &slab))
            return -1;
        rest.first[d] = meet.first[d];
        rest.count[d] = meet.count[d];
    }
    return 0;
}

int rd_boxes_subtract(struct rd_allocator *a, struct rd_boxes *from, const rondo_region *box)
{
    struct rd_boxes left = { NULL, 0, 0 };
    int failed = 0;
    if (!rd_boxes_meet_box(from, box))
        return 0;
    for (uint32_t i = 0; i < from->count && !failed; i++)
        failed = cut(a, &left, &from->item[i], box);
    return replace(a, from, &left, failed);
}

/* Whether two disjoint boxes together are one; then *one. */
static int join(const rondo_region *x, const rondo_region *y, rondo_region *one)
{
    int along = -1;
    for (int d = 0; d < 3; d++) {
        if (x->first[d] == y->first[d] && x->count[d] == y->count[d])
            continue;
        if (along >= 0 ||
            (x->first[d] + x->count[d] != y->first[d] && y->first[d] + y->count[d] != x->first[d]))
            return 0;
        along = d;
    }
    if (along < 0)
        return 0;
    *one = *x;
    one->first[along] = x->first[along] < y->first[along] ? x->first[along] : y->first[along];
    one->count[along] = x->count[along] + y->count[along];
    return 1;
}

/* Joins the last box with any other, and what comes of that again. */
static void settle(struct rd_boxes *b)
{
    rondo_region one;
    for (uint32_t i = 0; i + 1 < b->count;) {
        if (!join(&b->item[i], &b->item[b->count - 1], &one)) {
            i++;
            continue;
        }
        b->item[i] = b->item[b->count - 2];
        b->item[b->count - 2] = one;
        b->count--;
        i = 0;
    }
}

int rd_boxes_add(struct rd_allocator *a, struct rd_boxes *to, const rondo_region *box)
{
    struct rd_boxes left = { NULL, 0, 0 };
    int failed = 0;
    for (uint32_t i = 0; i < to->count; i++)
        if (rd_box_holds(&to->item[i], box))
            return 0;
    for (uint32_t i = 0; i < to->count && !failed; i++)
        failed = cut(a, &left, &to->item[i], box);
    failed = failed || push(a, &left, box);
    if (!failed)
        settle(&left);
    return replace(a, to, &left, failed);
}

int rd_boxes_copy(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *from)
{
    struct rd_boxes copy = { NULL, 0, 0 };
    int failed = 0;
    for (uint32_t i = 0; i < from->count && !failed; i++)
        failed = push(a, &copy, &from->item[i]);
    return replace(a, to, &copy, failed);
}

int rd_boxes_add_all(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *more)
{
    struct rd_boxes sum = { NULL, 0, 0 };
    int failed = rd_boxes_copy(a, &sum, to);
    for (uint32_t i = 0; i < more->count && !failed; i++)
        failed = rd_boxes_add(a, &sum, &more->item[i]);
    return replace(a, to, &sum, failed);
}

int rd_boxes_subtract_all(struct rd_allocator *a, struct rd_boxes *from,
                          const struct rd_boxes *less)
{
    struct rd_boxes rest = { NULL, 0, 0 };
    int failed = rd_boxes_copy(a, &rest, from);
    for (uint32_t i = 0; i < less->count && !failed; i++)
        failed = rd_boxes_subtract(a, &rest, &less->item[i]);
    return replace(a, from, &rest, failed);
}

int rd_boxes_intersect_box(struct rd_allocator *a, struct rd_boxes *to, const rondo_region *box)
{
    struct rd_boxes both = { NULL, 0, 0 };
    rondo_region meet;
    int failed = 0;
    for (uint32_t i = 0; i < to->count && !failed; i++)
        if (rd_box_meet(&to->item[i], box, &meet))
            failed = push(a, &both, &meet);
    return replace(a, to, &both, failed);
}

/* Both lists are disjoint, so the pairs' meets are. */
int rd_boxes_intersect(struct rd_allocator *a, struct rd_boxes *to, const struct rd_boxes *with)
{
    struct rd_boxes both = { NULL, 0, 0 };
    rondo_region meet;
    int failed = 0;
    for (uint32_t i = 0; i < to->count && !failed; i++)
        for (uint32_t k = 0; k < with->count && !failed; k++)
            if (rd_box_meet(&to->item[i], &with->item[k], &meet)) {
                failed = push(a, &both, &meet);
                if (!failed)
                    settle(&both);
            }
    return replace(a, to, &both, failed);
}

int rd_boxes_cover(struct rd_allocator *a, const struct rd_boxes *have, const rondo_region *box,
                   int *yes)
{
    struct rd_boxes left = { NULL, 0, 0 };
    int failed = push(a, &left, box);
    for (uint32_t i = 0; i < have->count && !failed && left.count; i++)
        failed = rd_boxes_subtract(a, &left, &have->item[i]);
    *yes = left.count == 0;
    rd_boxes_free(a, &left);
    return failed ? -1 : 0;
}

int rd_boxes_meet_box(const struct rd_boxes *b, const rondo_region *box)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (rd_box_meets(&b->item[i], box))
            return 1;
    return 0;
}

void rd_boxes_hull(const struct rd_boxes *b, rondo_region *hull)
{
    *hull = b->item[0];
    for (uint32_t i = 1; i < b->count; i++)
        for (int d = 0; d < 3; d++) {
            const rondo_region *x = &b->item[i];
            int64_t end = hull->first[d] + hull->count[d], other = x->first[d] + x->count[d];
            if (x->first[d] < hull->first[d])
                hull->first[d] = x->first[d];
            hull->count[d] = (end > other ? end : other) - hull->first[d];
        }
}

uint64_t rd_boxes_elements(const struct rd_boxes *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->count; i++)
        n += (uint64_t)b->item[i].count[0] * (uint64_t)b->item[i].count[1] *
             (uint64_t)b->item[i].count[2];
    return n;
}
