/* SPDX-License-Identifier: BSD-3-Clause */
/* Which boxes an access covers: counts of 0, halos that clip, wrap or have no corners, chunks.
 * Written from the interface's words alone, so that it can disagree with the library. */
#include "tests/engine/random_graph.h"

#include <stdlib.h>
#include <string.h>

int rg_dims(const rondo_shape *shape)
{
    int dims = 1;
    for (int d = 1; d < 3; d++)
        if (shape->extent[d] > 0)
            dims = d + 1;
    return dims;
}

rondo_shape rg_shape_complete(rondo_shape shape)
{
    for (int d = 1; d < 3; d++)
        if (shape.extent[d] == 0)
            shape.extent[d] = 1;
    if (shape.pitch_bytes[0] == 0)
        shape.pitch_bytes[0] = (size_t)shape.extent[0] * shape.elem_bytes;
    if (shape.pitch_bytes[1] == 0)
        shape.pitch_bytes[1] = (size_t)shape.extent[1] * shape.pitch_bytes[0];
    return shape;
}

size_t rg_shape_span(const rondo_shape *shape)
{
    return (size_t)(shape->extent[2] - 1) * shape->pitch_bytes[1] +
           (size_t)(shape->extent[1] - 1) * shape->pitch_bytes[0] +
           (size_t)shape->extent[0] * shape->elem_bytes;
}

rondo_region rg_chunk_of(const rondo_region *span, const uint32_t chunks[3], uint32_t index)
{
    rondo_region chunk = *span;
    for (int d = 0; d < 3; d++) {
        int64_t parts = chunks[d] ? chunks[d] : 1, part = index % parts;
        index = (uint32_t)(index / parts);
        if (span->count[d] == 0)
            continue;
        int64_t each = span->count[d] / parts, longer = span->count[d] % parts;
        chunk.first[d] += part * each + (part < longer ? part : longer);
        chunk.count[d] = each + (part < longer);
    }
    return chunk;
}

static void append(struct rg_program *p, const rondo_region *box)
{
    for (int d = 0; d < 3; d++)
        if (box->count[d] <= 0)
            return;
    if (p->box_count == p->box_capacity) {
        p->box_capacity = p->box_capacity ? 2 * p->box_capacity : 256;
        p->box = realloc(p->box, p->box_capacity * sizeof *p->box);
        if (!p->box)
            abort();
    }
    p->box[p->box_count++] = *box;
}

static rondo_region clipped(rondo_region box, const rondo_shape *shape)
{
    for (int d = 0; d < 3; d++) {
        int64_t end = box.first[d] + box.count[d];
        box.first[d] = box.first[d] < 0 ? 0 : box.first[d];
        end = end > shape->extent[d] ? shape->extent[d] : end;
        box.count[d] = end - box.first[d];
    }
    return box;
}

/* The box's pieces inside the slot, what sticks out coming in at the other side. */
static void append_wrapped(struct rg_program *p, rondo_region box, const rondo_shape *shape, int d)
{
    if (d == 3) {
        append(p, &box);
        return;
    }
    int64_t extent = shape->extent[d], first = box.first[d], end = first + box.count[d];
    for (int64_t shift = -extent; shift <= extent; shift += extent) {
        int64_t low = first + shift < 0 ? 0 : first + shift;
        int64_t high = end + shift > extent ? extent : end + shift;
        rondo_region piece = box;
        piece.first[d] = low;
        piece.count[d] = high - low;
        if (piece.count[d] > 0)
            append_wrapped(p, piece, shape, d + 1);
    }
}

static void append_flagged(struct rg_program *p, const rondo_region *box, const rondo_shape *shape,
                           uint32_t flags)
{
    rondo_region inside = clipped(*box, shape);
    if (flags & RONDO_WRAP)
        append_wrapped(p, *box, shape, 0);
    else
        append(p, &inside);
}

void rg_boxes_of(struct rg_program *p, const struct rg_access *access, const rondo_region *chunk,
                 struct rg_boxes *boxes)
{
    const rondo_shape *shape = &p->slot[access->slot].shape;
    rondo_region own = access->flags & RONDO_CHUNK ? *chunk : access->region, wide;
    for (int d = 0; d < 3; d++)
        if (own.count[d] == 0)
            own.count[d] = shape->extent[d] - own.first[d];
    wide = own;
    for (int d = 0; d < 3; d++) {
        wide.first[d] -= access->halo[d];
        wide.count[d] += 2 * access->halo[d];
    }
    boxes->first = p->box_count;
    boxes->hull = clipped(wide, shape);
    if (access->flags & RONDO_STAR) {
        append(p, &own);
        for (int d = 0; d < 3; d++) {
            rondo_region side = own;
            side.count[d] = access->halo[d];
            side.first[d] = own.first[d] - access->halo[d];
            append_flagged(p, &side, shape, access->flags);
            side.first[d] = own.first[d] + own.count[d];
            append_flagged(p, &side, shape, access->flags);
        }
    } else {
        append_flagged(p, &wide, shape, access->flags);
    }
    boxes->count = p->box_count - boxes->first;
}
