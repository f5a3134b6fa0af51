/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers that share bytes: which elements of the one are bytes of the other's. */
#include "src/machine/keeper_inner.h"

static int ranges_meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static uint64_t at(const struct rd_buffer *b, uint32_t memory)
{
    const struct rd_keep *k = rd_load_relaxed(&((struct rd_buffer *)(uintptr_t)b)->keep);
    if (!memory)
        return (uintptr_t)rd_buffer_base(b);
    return k ? (uintptr_t)rd_keep_address(k, memory) : 0;
}

int rd_keep_home(const struct rd_buffer *b, const struct rd_keep *k)
{
    const uint32_t memories = b->rt->keeper->memories;
    if (b == k->buffer)
        return -1;
    for (uint32_t m = 0; m < memories; m++) {
        uint64_t x = at(b, m), y = at(k->buffer, m);
        if (x && y && ranges_meet(x, b->bytes, y, k->buffer->bytes))
            return (int)m;
    }
    return -1;
}

/* ---- boxes of one grid of rows and planes */

/* `inner` begins `bytes` behind element (0,0,0) of `outer`, whose pitches it has: *shift, its first
 * element's place there. 0: its rows are not parts of the other's rows. */
static int place_in(const rondo_shape *outer, const rondo_shape *inner, uint64_t bytes,
                    int64_t shift[3])
{
    const uint64_t elem = outer->elem_bytes, row = outer->pitch_bytes[0],
                   plane = outer->pitch_bytes[1];
    if (elem != inner->elem_bytes || row != inner->pitch_bytes[0] ||
        plane != inner->pitch_bytes[1] || row % elem || plane % row)
        return 0;
    shift[2] = (int64_t)(bytes / plane);
    shift[1] = (int64_t)(bytes % plane / row);
    shift[0] = (int64_t)(bytes % row / elem);
    return bytes % row % elem == 0 && shift[0] + inner->extent[0] <= (int64_t)(row / elem) &&
           shift[1] + inner->extent[1] <= (int64_t)(plane / row);
}

static int shifted(struct rd_allocator *a, const struct rd_boxes *boxes, const int64_t shift[3],
                   int sign, const rondo_region *whole, struct rd_boxes *meet)
{
    for (uint32_t i = 0; i < boxes->count; i++) {
        rondo_region box = boxes->item[i], both;
        for (int d = 0; d < 3; d++)
            box.first[d] += sign * shift[d];
        if (rd_box_meet(&box, whole, &both) && rd_boxes_add(a, meet, &both))
            return -1;
    }
    return 0;
}

/* ---- any two shapes, row by row */

/* The blocks of `block` bytes, `pitch` apart from 0 on, of `count`, that touch [from, to). */
static void blocks_in(uint64_t block, uint64_t pitch, int64_t count, uint64_t from, uint64_t to,
                      int64_t *first, int64_t *end)
{
    *first = from < block ? 0 : (int64_t)((from - block) / pitch + 1);
    *end = to ? (int64_t)((to - 1) / pitch + 1) : 0;
    if (*end > count)
        *end = count;
}

static uint64_t behind(uint64_t x, uint64_t less) { return x > less ? x - less : 0; }

/* Adds the elements of a shape that touch bytes [from, to) behind its first one. */
static int add_bytes(struct rd_allocator *a, const rondo_shape *s, uint64_t from, uint64_t to,
                     struct rd_boxes *meet)
{
    const uint64_t row = (uint64_t)s->extent[0] * s->elem_bytes;
    const uint64_t plane = (uint64_t)(s->extent[1] - 1) * s->pitch_bytes[0] + row;
    int64_t z, z_end, y, y_end, x, x_end;
    blocks_in(plane, s->pitch_bytes[1], s->extent[2], from, to, &z, &z_end);
    for (; z < z_end; z++) {
        uint64_t skip = (uint64_t)z * s->pitch_bytes[1];
        uint64_t lo = behind(from, skip), hi = behind(to, skip);
        blocks_in(row, s->pitch_bytes[0], s->extent[1], lo, hi, &y, &y_end);
        for (; y < y_end; y++) {
            uint64_t over = (uint64_t)y * s->pitch_bytes[0];
            rondo_region box;
            blocks_in(s->elem_bytes, s->elem_bytes, s->extent[0], behind(lo, over),
                      behind(hi, over), &x, &x_end);
            box = (rondo_region){ { x, y, z }, { x_end - x, 1, 1 } };
            if (x < x_end && rd_boxes_add(a, meet, &box))
                return -1;
        }
    }
    return 0;
}

static int row_by_row(struct rd_allocator *a, const struct rd_keep *k, uint64_t k_at,
                      const struct rd_buffer *b, uint64_t b_at, const struct rd_boxes *boxes,
                      struct rd_boxes *meet)
{
    const rondo_shape *s = &b->shape;
    for (uint32_t i = 0; i < boxes->count; i++) {
        const rondo_region *box = &boxes->item[i];
        for (int64_t z = 0; z < box->count[2]; z++)
            for (int64_t y = 0; y < box->count[1]; y++) {
                uint64_t from = b_at + (uint64_t)box->first[0] * s->elem_bytes +
                                (uint64_t)(box->first[1] + y) * s->pitch_bytes[0] +
                                (uint64_t)(box->first[2] + z) * s->pitch_bytes[1];
                uint64_t to = from + (uint64_t)box->count[0] * s->elem_bytes;
                if (to > k_at &&
                    add_bytes(a, &k->buffer->shape, behind(from, k_at), to - k_at, meet))
                    return -1;
            }
    }
    return 0;
}

int rd_keep_meet(const struct rd_keep *k, const struct rd_buffer *b, const struct rd_boxes *boxes,
                 uint32_t home, struct rd_boxes *meet)
{
    struct rd_allocator *a = &b->rt->alloc;
    const rondo_region whole = rd_keep_whole(k->buffer);
    const uint64_t b_at = at(b, home), k_at = at(k->buffer, home);
    int64_t shift[3];
    if (b_at >= k_at && place_in(&k->buffer->shape, &b->shape, b_at - k_at, shift))
        return shifted(a, boxes, shift, 1, &whole, meet);
    if (b_at < k_at && place_in(&b->shape, &k->buffer->shape, k_at - b_at, shift))
        return shifted(a, boxes, shift, -1, &whole, meet);
    return row_by_row(a, k, k_at, b, b_at, boxes, meet);
}
