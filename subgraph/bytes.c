/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes as bytes: whether two share any. A box is rows of bytes at two pitches, none overlapping
 * another, so the rows that may touch an interval are found by division. */
#include "subgraph/bytes.h"

enum { REPLAYS_MAX = 4096 }; /* of two rings, how many replays are looked at */

/* A box of bytes: `count[0]` rows in each of `count[1]` planes. */
struct rows {
    uint64_t base;
    size_t row, pitch[2], count[2];
};

static struct rows rows_of(uint64_t base, const rondo_shape *s, const rd_box *b)
{
    struct rows r;
    r.base = base + (size_t)b->first[0] * s->elem_bytes + (size_t)b->first[1] * s->pitch_bytes[0] +
             (size_t)b->first[2] * s->pitch_bytes[1];
    r.row = (size_t)b->count[0] * s->elem_bytes;
    r.pitch[0] = s->pitch_bytes[0];
    r.pitch[1] = s->pitch_bytes[1];
    r.count[0] = (size_t)b->count[1];
    r.count[1] = (size_t)b->count[2];
    return r;
}

static size_t plane_span(const struct rows *r) { return (r->count[0] - 1) * r->pitch[0] + r->row; }

/* Which of `count` blocks of `block` bytes, `pitch` apart from 0 on, touch [from, to): the first,
 * and one behind the last. */
static void blocks_in(size_t block, size_t pitch, size_t count, size_t from, size_t to,
                      size_t *first, size_t *end)
{
    *first = from < block ? 0 : (from - block) / pitch + 1;
    *end = to ? (to - 1) / pitch + 1 : 0;
    if (*end > count)
        *end = count;
}

static int interval_touches(const struct rows *r, uint64_t from, uint64_t to)
{
    size_t plane, plane_end, row, row_end, lo, hi;
    if (to <= r->base)
        return 0;
    lo = from > r->base ? from - r->base : 0;
    hi = to - r->base;
    blocks_in(plane_span(r), r->pitch[1], r->count[1], lo, hi, &plane, &plane_end);
    for (; plane < plane_end; plane++) {
        size_t at = plane * r->pitch[1];
        blocks_in(r->row, r->pitch[0], r->count[0], lo > at ? lo - at : 0, hi > at ? hi - at : 0,
                  &row, &row_end);
        if (row < row_end)
            return 1;
    }
    return 0;
}

int rd_bytes_overlap(uint64_t a_base, const rondo_shape *a_shape, const rd_box *a, uint64_t b_base,
                     const rondo_shape *b_shape, const rd_box *b)
{
    struct rows x = rows_of(a_base, a_shape, a), y = rows_of(b_base, b_shape, b);
    uint64_t x_end = x.base + (x.count[1] - 1) * x.pitch[1] + plane_span(&x);
    uint64_t y_end = y.base + (y.count[1] - 1) * y.pitch[1] + plane_span(&y);
    size_t i, k;
    if (x_end <= y.base || y_end <= x.base)
        return 0;
    for (k = 0; k < x.count[1]; k++)
        for (i = 0; i < x.count[0]; i++) {
            uint64_t row = x.base + k * x.pitch[1] + i * x.pitch[0];
            if (interval_touches(&y, row, row + x.row))
                return 1;
        }
    return 0;
}

static int boxes_meet(const rd_box *a, const rd_box *b)
{
    int d;
    for (d = 0; d < 3; d++)
        if (a->first[d] + a->count[d] <= b->first[d] || b->first[d] + b->count[d] <= a->first[d])
            return 0;
    return 1;
}

static const struct rd_buffer *buffer_at(const struct rd_slot *s, uint64_t replay)
{
    return s->buffers[(s->ring_first + replay * s->ring_stride) % s->count];
}

int rd_slots_overlap(const struct rd_subgraph *g, uint32_t a_slot, const rd_box *a, uint32_t b_slot,
                     const rd_box *b)
{
    const struct rd_slot *x = &g->slots.item[a_slot], *y = &g->slots.item[b_slot];
    uint64_t replay, replays;
    if (a_slot == b_slot)
        return boxes_meet(a, b);
    if (!x->count || !y->count)
        return 0;
    replays = (uint64_t)x->count * y->count;
    if (replays > REPLAYS_MAX)
        replays = REPLAYS_MAX;
    for (replay = 0; replay < replays; replay++)
        if (rd_bytes_overlap(rd_buffer_address_of(buffer_at(x, replay)), &x->shape, a,
                             rd_buffer_address_of(buffer_at(y, replay)), &y->shape, b))
            return 1;
    return 0;
}
