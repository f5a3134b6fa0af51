/* SPDX-License-Identifier: BSD-3-Clause */
/* What recordings hold that no builder takes, since builders derive it: the boxes of a halo, the
 * chunk of a rondo_record_for's node, the conditions of recordings around a node. For readers of
 * files. */
#include "subgraph/record.h"

#include <string.h>

enum { BOXES_MAX = 16 }; /* as many as a halo makes, and a few */

static struct rd_node *last(struct rd_subgraph *g) { return &g->nodes.item[g->nodes.count - 1]; }

/* A box inside of the slot, and of the hull where that is one. */
static rondo_status complete_box(const struct rd_subgraph *g, const struct rd_access *a, uint32_t i,
                                 const rondo_region *given, rd_box *box)
{
    const int64_t *extent = g->slots.item[a->slot].shape.extent;
    const rd_box *hull = &g->boxes.item[a->box];
    const char *node = rd_subgraph_text(g, g->nodes.item[g->nodes.count - 1].name);
    int d;
    for (d = 0; d < 3; d++) {
        int64_t first = given->first[d], count = given->count[d];
        if (first < 0 || first >= extent[d] || count < 0 || count > extent[d] - first)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%.100s': boxes[%u]: first %lld, count %lld with extent %lld in "
                            "dimension %d",
                            node, i, (long long)first, (long long)count, (long long)extent[d], d);
        box->first[d] = first;
        box->count[d] = count ? count : extent[d] - first;
        /* A share is one box: memory for the hull. */
        if (a->mode == RONDO_REDUCE &&
            (first < hull->first[d] || first + box->count[d] > hull->first[d] + hull->count[d]))
            return rd_error(RONDO_ERR_INVALID,
                            "node '%.100s': boxes[%u]: outside of the region of a reduction in "
                            "dimension %d",
                            node, i, d);
    }
    return RONDO_OK;
}

rondo_status rd_exact_boxes(struct rd_subgraph *g, uint32_t access, const rondo_region *boxes,
                            uint32_t count)
{
    struct rd_access *a = &g->accesses.item[last(g)->access + access];
    rd_box box[BOXES_MAX + 1];
    rondo_status status = RONDO_OK;
    uint32_t i;
    if (!count || count > BOXES_MAX)
        return rd_error(RONDO_ERR_INVALID, "node '%.100s': %u boxes, not 1 to %d",
                        rd_subgraph_text(g, last(g)->name), count, BOXES_MAX);
    box[0] = g->boxes.item[a->box];
    for (i = 0; i < count && !status; i++)
        status = complete_box(g, a, i, &boxes[i], &box[i + 1]);
    if (status || (count == 1 && !memcmp(&box[0], &box[1], sizeof *box)))
        return status;
    if (g->boxes.count > UINT32_MAX - BOXES_MAX - 1 || !RD_ROOM(g, boxes, count + 1))
        return rd_no_memory(g);
    a->box = (uint32_t)g->boxes.count;
    a->box_count = count;
    memcpy(g->boxes.item + g->boxes.count, box, (count + 1) * sizeof *box);
    g->boxes.count += count + 1;
    return RONDO_OK;
}

rondo_status rd_exact_chunk(struct rd_subgraph *g, const rondo_region *chunk)
{
    int d, absent = 0;
    for (d = 0; d < 3; d++) {
        int64_t first = chunk->first[d], count = chunk->count[d];
        if (first < 0 || count < 0 || first > INT64_MAX - count || (count ? absent : first != 0) ||
            (!count && !d))
            return rd_error(RONDO_ERR_INVALID,
                            "node '%.100s': chunk: first %lld, count %lld in dimension %d%s",
                            rd_subgraph_text(g, last(g)->name), (long long)first, (long long)count,
                            d, count && absent ? " behind an absent one" : "");
        absent |= !count;
    }
    if (g->chunks.count >= UINT32_MAX || !RD_ROOM(g, chunks, 1))
        return rd_no_memory(g);
    last(g)->chunk = (uint32_t)g->chunks.count;
    g->chunks.item[g->chunks.count++] = *chunk;
    return RONDO_OK;
}

rondo_status rd_exact_when(struct rd_subgraph *g, const rondo_when *when)
{
    const uint32_t v = (uint32_t)g->nodes.count - 1;
    struct rd_extra e;
    struct rd_when w;
    rondo_status status = rd_check_when(g, last(g)->name, when, &w);
    uint32_t i;
    if (status || (!w.param && !w.flag && !w.every))
        return status;
    memcpy(&e, rd_node_extra(g, v), sizeof e); /* with its padding */
    if (g->whens.count >= UINT32_MAX - 1 - e.when_count || !RD_ROOM(g, whens, e.when_count + 1))
        return rd_no_memory(g);
    /* The list goes on at the pool's end, where others that share its begin do not look. */
    if (e.when + e.when_count != g->whens.count) {
        for (i = 0; i < e.when_count; i++)
            g->whens.item[g->whens.count + i] = g->whens.item[e.when + i];
        e.when = (uint32_t)g->whens.count;
        g->whens.count += e.when_count;
    }
    g->whens.item[g->whens.count++] = w;
    e.when_count++;
    status = rd_extra_add(g, &e, &last(g)->extra);
    return status || !w.flag ? status : rd_flag_access(g, w.flag - 1, last(g));
}
