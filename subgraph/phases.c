/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases: which nodes run in which replays by `when every`, and the graph's variants for them. */
#include "subgraph/walk.h"

#include <string.h>

uint32_t rd_every(const struct rd_subgraph *g)
{
    uint64_t every = 1, a, b, rest;
    size_t i;
    for (i = 0; i < g->whens.count; i++) {
        if (g->whens.item[i].every < 2)
            continue;
        for (a = every, b = g->whens.item[i].every; b; a = b, b = rest)
            rest = a % b;
        every = every / a * g->whens.item[i].every;
        if (every > RD_PHASES_MAX)
            return 0;
    }
    return (uint32_t)every;
}

uint64_t *rd_active(struct rd_allocator *a, const struct rd_subgraph *g, uint32_t phases)
{
    uint64_t *active = rd_alloc_array(a, g->nodes.count, sizeof *active);
    uint32_t v, p, i;
    for (v = 0; active && v < g->nodes.count; v++) {
        const struct rd_extra *x = rd_node_extra(g, v);
        active[v] = UINT64_MAX;
        for (i = 0; i < x->when_count; i++) {
            const struct rd_when *when = &g->whens.item[x->when + i];
            for (p = 0; when->every > 1 && p < phases; p++)
                if (p % when->every != when->phase)
                    active[v] &= ~(1ull << p);
        }
    }
    return active;
}

/* ---- the graph */

static rondo_status build(const struct rd_walk *w, int carried, const struct rd_edges *found,
                          struct rd_graph *graph)
{
    struct rd_edge_lists lists = { w->g->edges.item, w->g->edges.count,
                                   carried ? RD_DISTANCE_MAX : 0, found };
    return rd_graph_build(w->alloc, &lists, (uint32_t)w->g->nodes.count, graph);
}

/* The same edges, wherever they come from. */
static int same_edges(const struct rd_graph *g, const struct rd_variant *v)
{
    uint32_t i;
    if (memcmp(g->first, v->first, ((size_t)g->nodes + 1) * sizeof *g->first) != 0)
        return 0;
    for (i = 0; i < g->first[g->nodes]; i++)
        if (g->pred[i].from != v->pred[i].from || g->pred[i].distance != v->pred[i].distance)
            return 0;
    return 1;
}

/* Files the graph of a phase under the variant it is, a new one if need be. */
static void file_variant(struct rd_allocator *a, struct rd_graph *graph, uint32_t phase,
                         struct rd_graph *one)
{
    uint32_t i;
    for (i = 0; i < graph->variants && !same_edges(one, &graph->variant[i]); i++) {}
    graph->variant_of_phase[phase] = (uint16_t)i;
    if (i < graph->variants) {
        rd_graph_free(a, one);
        return;
    }
    graph->variant[i].first = one->first;
    graph->variant[i].pred = one->pred;
    graph->variant[i].pred_capacity = one->pred_capacity;
    graph->variants++;
}

static rondo_status add_variants(const struct rd_walk *w, int carried, struct rd_graph *graph)
{
    struct rd_variant *variant =
        rd_zalloc_array(w->alloc, w->phases, sizeof *variant); /* the most there can be */
    struct rd_graph one;
    rondo_status status = RONDO_OK;
    uint32_t p;
    graph->variant_of_phase = rd_zalloc_array(w->alloc, w->phases, sizeof *graph->variant_of_phase);
    graph->phases = w->phases;
    graph->variant = variant;
    if (!variant || !graph->variant_of_phase)
        status = rd_error(RONDO_ERR_MEMORY, "no memory for a graph of %u phases", w->phases);
    for (p = 0; p < w->phases && !status; p++) {
        status = build(w, carried, &w->list[p], &one);
        if (!status)
            file_variant(w->alloc, graph, p, &one);
    }
    /* As many as there are. */
    if (!status) {
        graph->variant = rd_alloc_array(w->alloc, graph->variants, sizeof *variant);
        if (graph->variant)
            memcpy(graph->variant, variant, graph->variants * sizeof *variant);
        else
            status = rd_error(RONDO_ERR_MEMORY, "no memory for a graph of %u phases", w->phases);
    }
    if (status && variant)
        for (p = 0; p < graph->variants; p++) {
            rd_free_array(w->alloc, variant[p].first, (size_t)graph->nodes + 1,
                          sizeof *variant[p].first);
            rd_free_array(w->alloc, variant[p].pred, variant[p].pred_capacity,
                          sizeof *variant[p].pred);
        }
    rd_free_array(w->alloc, variant, w->phases, sizeof *variant);
    if (status)
        graph->variant = NULL;
    return status;
}

/* All phases' edges together. */
static rondo_status build_union(const struct rd_walk *w, int carried, struct rd_graph *graph)
{
    struct rd_edges all = { NULL, NULL, 0, 0, 0 };
    rondo_status status = RONDO_OK;
    uint32_t p;
    size_t i;
    for (p = 0; p < w->phases && !status; p++)
        for (i = 0; i < w->list[p].count && !status; i++)
            if (!rd_edges_add(w->alloc, &all, w->list[p].to[i], w->list[p].key[i]))
                status = rd_error(RONDO_ERR_MEMORY, "no memory for %zu edges", all.count);
    if (!status)
        status = build(w, carried, &all, graph);
    rd_edges_free(w->alloc, &all);
    return status;
}

/* The same edges in all phases: then they are the union's. */
static void drop_variants(struct rd_allocator *a, struct rd_graph *graph)
{
    struct rd_variant *v = &graph->variant[0];
    rd_free_array(a, v->first, (size_t)graph->nodes + 1, sizeof *v->first);
    rd_free_array(a, v->pred, v->pred_capacity, sizeof *v->pred);
    rd_free_array(a, v, graph->variants, sizeof *v);
    rd_free_array(a, graph->variant_of_phase, graph->phases, sizeof *graph->variant_of_phase);
    graph->variant = NULL;
    graph->variant_of_phase = NULL;
    graph->phases = 1;
    graph->variants = 0;
}

rondo_status rd_phases_build(const struct rd_walk *w, int carried, struct rd_graph *graph)
{
    rondo_status status =
        w->phases == 1 ? build(w, carried, &w->list[0], graph) : build_union(w, carried, graph);
    if (status)
        return status;
    graph->phases = 1;
    graph->serial_boundaries = carried && w->memories->serial;
    if (w->phases > 1)
        status = add_variants(w, carried, graph);
    if (status)
        rd_graph_free(w->alloc, graph);
    else if (graph->variants == 1)
        drop_variants(w->alloc, graph);
    return status;
}
