/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a graph of edges found in any order: sorted, and each {from, distance} once per node. */
#include "subgraph/edges.h"

#include "src/base/error.h"
#include "subgraph/sort.h"

#include <string.h>

void rd_graph_free(struct rd_allocator *a, struct rd_graph *g)
{
    rd_free_array(a, g->first, (size_t)g->nodes + 1, sizeof *g->first);
    rd_free_array(a, g->pred, g->pred_capacity, sizeof *g->pred);
    for (uint32_t v = 0; g->variant && v < g->variants; v++) {
        rd_free_array(a, g->variant[v].first, (size_t)g->nodes + 1, sizeof *g->variant[v].first);
        rd_free_array(a, g->variant[v].pred, g->variant[v].pred_capacity,
                      sizeof *g->variant[v].pred);
    }
    rd_free_array(a, g->variant, g->variants, sizeof *g->variant);
    rd_free_array(a, g->variant_of_phase, g->phases, sizeof *g->variant_of_phase);
    memset(g, 0, sizeof *g);
}

void rd_edges_free(struct rd_allocator *a, struct rd_edges *e)
{
    rd_free_array(a, e->to, e->to_capacity, sizeof *e->to);
    rd_free_array(a, e->key, e->key_capacity, sizeof *e->key);
    memset(e, 0, sizeof *e);
}

int rd_edges_room(struct rd_allocator *a, struct rd_edges *e)
{
    return rd_grow(a, (void **)&e->to, &e->to_capacity, e->count, 1, sizeof *e->to) &&
           rd_grow(a, (void **)&e->key, &e->key_capacity, e->count, 1, sizeof *e->key);
}

static uint64_t hand_key(const struct rd_hand_edge *h)
{
    return rd_edge_key(h->from, h->distance, RD_EDGE_EXPLICIT, 0);
}

/* first[v] becomes the place of the first edge into v, first[nodes] their number. */
static void count_edges(const struct rd_edge_lists *l, uint32_t nodes, uint32_t *first)
{
    uint32_t v, total = 0;
    size_t i;
    for (i = 0; i < l->hand_count; i++)
        if (l->hand[i].distance <= l->distance_limit)
            first[l->hand[i].to + 1]++;
    for (i = 0; i < l->found->count; i++)
        first[l->found->to[i] + 1]++;
    for (v = 0; v <= nodes; v++)
        first[v] = total += first[v];
}

/* Puts each edge's key behind those of its node; first[v] becomes the end of v's. */
static void place_edges(const struct rd_edge_lists *l, uint32_t *first, uint64_t *key)
{
    size_t i;
    for (i = 0; i < l->hand_count; i++)
        if (l->hand[i].distance <= l->distance_limit)
            key[first[l->hand[i].to]++] = hand_key(&l->hand[i]);
    for (i = 0; i < l->found->count; i++)
        key[first[l->found->to[i]]++] = l->found->key[i];
}

/* Sorts the keys of each node and keeps one of each {from, distance}: by hand before inferred. */
static int settle_keys(struct rd_allocator *a, uint32_t nodes, uint32_t *first, uint64_t *key)
{
    size_t begin = 0, end, i, kept = 0, from, longest = 0;
    uint64_t *scratch;
    uint32_t v;
    for (v = 0; v < nodes; begin = first[v++])
        if (first[v] - begin > longest)
            longest = first[v] - begin;
    scratch = rd_alloc_array(a, longest, sizeof *scratch);
    if (!scratch)
        return 0;
    for (v = 0, begin = 0; v < nodes; v++, begin = end) {
        end = first[v];
        first[v] = (uint32_t)kept;
        rd_sort(key + begin, end - begin, scratch);
        for (from = kept, i = begin; i < end; i++)
            if (kept == from || !rd_edge_same(key[kept - 1], key[i]))
                key[kept++] = key[i];
    }
    first[nodes] = (uint32_t)kept;
    rd_free_array(a, scratch, longest, sizeof *scratch);
    return 1;
}

rondo_status rd_graph_build(struct rd_allocator *a, const struct rd_edge_lists *l, uint32_t nodes,
                            struct rd_graph *graph)
{
    struct rd_graph g = { .nodes = nodes };
    uint64_t *key = NULL;
    size_t total = l->hand_count + l->found->count, i;
    if (total > UINT32_MAX)
        return rd_error(RONDO_ERR_MEMORY, "no room for %zu edges", total);
    g.first = rd_zalloc_array(a, (size_t)nodes + 1, sizeof *g.first);
    key = rd_alloc_array(a, total, sizeof *key);
    if (!g.first || !key)
        goto free_both;
    count_edges(l, nodes, g.first);
    place_edges(l, g.first, key);
    if (!settle_keys(a, nodes, g.first, key))
        goto free_both;
    g.pred_capacity = g.first[nodes];
    g.pred = rd_alloc_array(a, g.pred_capacity, sizeof *g.pred);
    if (!g.pred)
        goto free_both;
    for (i = 0; i < g.pred_capacity; i++) {
        g.pred[i] = rd_edge_of_key(key[i]);
        if (g.pred[i].distance > g.distance)
            g.distance = g.pred[i].distance;
    }
    rd_free_array(a, key, total, sizeof *key);
    *graph = g;
    return RONDO_OK;
free_both:
    rd_free_array(a, g.first, (size_t)nodes + 1, sizeof *g.first);
    rd_free_array(a, key, total, sizeof *key);
    return rd_error(RONDO_ERR_MEMORY, "no memory for the graph of %u nodes and %zu edges", nodes,
                    total);
}
