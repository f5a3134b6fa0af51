/* SPDX-License-Identifier: BSD-3-Clause */
/* Where edges are explicit: says which two accesses conflict that no edges order. */
#include "subgraph/bytes.h"
#include "subgraph/reach.h"
#include "subgraph/walk.h"

#include <stdio.h>

enum { REGION_BYTES = 160 };

/* What two boxes of a memory share; 0: nothing. */
static int meet(const struct rd_extent *a, const struct rd_extent *b, struct rd_extent *both)
{
    int d;
    for (d = 0; d < 3; d++) {
        both->lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        both->hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
        if (both->lo[d] >= both->hi[d])
            return 0;
    }
    return 1;
}

/* "[0, 8) x [4, 6)" of a slot's elements, as many dimensions as it has. */
static void region_text(const rondo_shape *s, const rd_box *b, char text[REGION_BYTES])
{
    int d, used = 0, dims = s->extent[2] > 1 ? 3 : s->extent[1] > 1 ? 2 : 1;
    for (d = 0; d < dims; d++)
        used +=
            snprintf(text + used, (size_t)(REGION_BYTES - used), "%s[%lld, %lld)", d ? " x " : "",
                     (long long)b->first[d], (long long)(b->first[d] + b->count[d]));
}

static uint64_t base_at(const struct rd_subgraph *g, uint32_t slot, uint64_t replay)
{
    const struct rd_slot *s = &g->slots.item[slot];
    return rd_buffer_address_of(s->buffers[(s->ring_first + replay * s->ring_stride) % s->count]);
}

/* The region of the present access that meets another's, in its own elements. */
static int shared_box(const struct rd_walk *w, const struct rd_access *a, uint64_t a_replay,
                      const struct rd_access *b, uint64_t b_replay, rd_box *shared)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_view *av = rd_view_at(w->memories, a->slot, a_replay),
                         *bv = rd_view_at(w->memories, b->slot, b_replay);
    const rondo_shape *as = &g->slots.item[a->slot].shape, *bs = &g->slots.item[b->slot].shape;
    uint32_t a_count, b_count, i, k;
    const rd_box *a_box = rd_access_boxes(g, a, &a_count), *b_box = rd_access_boxes(g, b, &b_count);
    int d, mixed = w->memories->memory[av->memory].bytes_alone && a->slot != b->slot;
    if (av->memory != bv->memory)
        return 0;
    for (i = 0; i < a_count; i++)
        for (k = 0; k < b_count; k++) {
            struct rd_extent x = rd_extent_of(av, as, &a_box[i]),
                             y = rd_extent_of(bv, bs, &b_box[k]), both;
            if (mixed) {
                if (!rd_bytes_overlap(base_at(g, a->slot, a_replay), as, &a_box[i],
                                      base_at(g, b->slot, b_replay), bs, &b_box[k]))
                    continue;
                *shared = b_box[k]; /* not a box in general: the whole one is named */
                return 1;
            }
            if (!meet(&x, &y, &both))
                continue;
            for (d = 0; d < 3; d++) {
                uint64_t unit = d ? 1 : bs->elem_bytes;
                shared->first[d] = (int64_t)((both.lo[d] - bv->at[d]) / unit);
                shared->count[d] =
                    (int64_t)((both.hi[d] - bv->at[d] + unit - 1) / unit) - shared->first[d];
            }
            return 1;
        }
    return 0;
}

/* The two accesses' slots and region, as far as one pair that conflicts shows them. */
static void conflict_text(const struct rd_walk *w, uint32_t from, uint32_t distance, char *text,
                          size_t text_bytes)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_node *u = &g->nodes.item[from], *v = &g->nodes.item[w->node];
    char region[REGION_BYTES];
    rd_box box;
    uint32_t i, k;
    for (k = 0; k < v->access_count; k++)
        for (i = 0; i < u->access_count; i++) {
            const struct rd_access *a = &g->accesses.item[u->access + i],
                                   *b = &g->accesses.item[v->access + k];
            const struct rd_slot *s = &g->slots.item[b->slot];
            if (!((a->mode | b->mode) & RONDO_WRITE) ||
                (a->mode == RONDO_COMMUTE && b->mode == RONDO_COMMUTE) ||
                !shared_box(w, a, w->copy - distance, b, w->copy, &box))
                continue;
            region_text(&s->shape, &box, region);
            snprintf(text, text_bytes, "slot '%.80s', region %s", rd_subgraph_text(g, s->name),
                     region);
            return;
        }
    snprintf(text, text_bytes, "slot '%.80s' and one that may share its bytes",
             rd_subgraph_text(g, g->slots.item[w->slot].name));
}

rondo_status rd_explicit_check(struct rd_walk *w, uint32_t from, uint32_t distance)
{
    const struct rd_subgraph *g = w->g;
    int reached = rd_reach_from(w->reach, from, w->node, distance);
    const char *a = rd_subgraph_text(g, g->nodes.item[from].name),
               *b = rd_subgraph_text(g, g->nodes.item[w->node].name);
    char what[REGION_BYTES + 128];
    if (reached > 0)
        return RONDO_OK;
    if (reached < 0)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to check its edges", g->name);
    conflict_text(w, from, distance, what, sizeof what);
    if (distance)
        return rd_error(RONDO_ERR_INVALID,
                        "nodes '%.80s' and, %u %s later, '%.80s' are not ordered by edges; "
                        "both access %s, and one writes",
                        a, distance, distance > 1 ? "replays" : "replay", b, what);
    return rd_error(RONDO_ERR_INVALID,
                    "nodes '%.80s' and '%.80s' are not ordered by edges; both access %s, and one "
                    "writes",
                    a, b, what);
}
