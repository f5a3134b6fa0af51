/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/check/regions.h"

#include <string.h>

static void *copy(struct rd_allocator *a, const void *from, size_t count, size_t size)
{
    void *to = rd_alloc_array(a, count, size);
    if (to && count)
        memcpy(to, from, count * size);
    return to;
}

static void fill_node(struct rd_regions *r, const struct rd_subgraph *g, uint32_t v, uint32_t *at)
{
    const struct rd_node *n = &g->nodes.item[v];
    r->node[v] = (struct rd_node_touches){ *at, n->access_count, n->everything != 0,
                                           n->everything && !g->edges_explicit,
                                           n->kind != RD_NODE_TASK && n->kind != RD_NODE_RANK };
    for (uint32_t i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &g->accesses.item[n->access + i];
        /* The first box is the hull: it is exact only where no others follow. */
        r->touch[(*at)++] = (struct rd_touch){ a->slot, a->box_count ? a->box + 1 : a->box,
                                               a->box_count ? a->box_count : 1, a->mode };
    }
}

static void fill_slot(struct rd_regions *r, const struct rd_subgraph *g, uint32_t s)
{
    const struct rd_slot *slot = &g->slots.item[s];
    r->shape[s] = slot->shape;
    r->bytes[s] = slot->bytes;
    r->name[s] = slot->name;
}

int rd_regions_init(struct rd_regions *r, struct rd_allocator *a, const struct rd_subgraph *g)
{
    uint32_t at = 0;
    memset(r, 0, sizeof *r);
    r->alloc = a;
    r->nodes = (uint32_t)g->nodes.count;
    r->slots = (uint32_t)g->slots.count;
    r->boxes = g->boxes.count;
    r->names_bytes = g->names.count;
    for (uint32_t v = 0; v < r->nodes; v++)
        r->touches += g->nodes.item[v].access_count;
    r->node = rd_alloc_array(a, r->nodes, sizeof *r->node);
    r->touch = rd_alloc_array(a, r->touches, sizeof *r->touch);
    r->box = copy(a, g->boxes.item, r->boxes, sizeof *r->box);
    r->shape = rd_alloc_array(a, r->slots, sizeof *r->shape);
    r->bytes = rd_alloc_array(a, r->slots, sizeof *r->bytes);
    r->name = rd_alloc_array(a, r->slots, sizeof *r->name);
    r->names = copy(a, g->names.item, r->names_bytes, 1);
    r->sequence = rd_alloc_array(a, r->nodes, sizeof *r->sequence);
    if (!r->sequence || !r->node || !r->touch || !r->box || !r->shape || !r->bytes || !r->name ||
        !r->names) {
        rd_regions_end(r);
        return 0;
    }
    for (uint32_t v = 0; v < r->nodes; v++)
        fill_node(r, g, v, &at);
    for (uint32_t v = 0; v < r->nodes; v++)
        r->sequence[v] = g->sequence ? g->sequence[v] : v;
    for (uint32_t s = 0; s < r->slots; s++)
        fill_slot(r, g, s);
    return 1;
}

void rd_regions_end(struct rd_regions *r)
{
    struct rd_allocator *a = r->alloc;
    rd_free_array(a, r->node, r->nodes, sizeof *r->node);
    rd_free_array(a, r->touch, r->touches, sizeof *r->touch);
    rd_free_array(a, r->box, r->boxes, sizeof *r->box);
    rd_free_array(a, r->shape, r->slots, sizeof *r->shape);
    rd_free_array(a, r->bytes, r->slots, sizeof *r->bytes);
    rd_free_array(a, r->name, r->slots, sizeof *r->name);
    rd_free_array(a, r->names, r->names_bytes, 1);
    rd_free_array(a, r->sequence, r->nodes, sizeof *r->sequence);
    memset(r, 0, sizeof *r);
}

int rd_regions_element(const rondo_shape *shape, const void *base, const void *address,
                       int64_t element[3])
{
    size_t at = (size_t)((const char *)address - (const char *)base), row = shape->pitch_bytes[0],
           plane = shape->pitch_bytes[1];
    element[2] = (int64_t)(at / plane);
    at -= (size_t)element[2] * plane;
    element[1] = (int64_t)(at / row);
    at -= (size_t)element[1] * row;
    element[0] = (int64_t)(at / shape->elem_bytes);
    return element[0] < shape->extent[0] && element[1] < shape->extent[1] &&
           element[2] < shape->extent[2];
}

static int is_in(const rd_box *b, const int64_t e[3])
{
    for (int d = 0; d < 3; d++)
        if (e[d] < b->first[d] || e[d] >= b->first[d] + b->count[d])
            return 0;
    return 1;
}

unsigned rd_regions_mode(const struct rd_regions *r, uint32_t node, uint32_t slot,
                         const int64_t element[3])
{
    const struct rd_node_touches *n = &r->node[node];
    unsigned mode = 0;
    for (uint32_t i = n->first; i < n->first + n->count; i++) {
        const struct rd_touch *t = &r->touch[i];
        for (uint32_t k = 0; t->slot == slot && k < t->box_count; k++)
            if (is_in(&r->box[t->box + k], element))
                mode |= t->mode;
    }
    return mode & RONDO_READ_WRITE;
}
