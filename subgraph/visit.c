/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recording holds, told node by node and edge by edge to a caller. */
#include "subgraph/subgraph.h"

static void tell_node(const struct rd_subgraph *g, uint32_t v,
                      void (*node)(void *context, uint32_t number, const rondo_recorded_node *node),
                      void *context)
{
    static const uint32_t kinds[] = {
        [RD_NODE_TASK] = RONDO_NODE_TASK,           [RD_NODE_CALL] = RONDO_NODE_CALL,
        [RD_NODE_COPY] = RONDO_NODE_COPY,           [RD_NODE_FILL] = RONDO_NODE_FILL,
        [RD_NODE_ALLREDUCE] = RONDO_NODE_ALLREDUCE, [RD_NODE_WAIT] = RONDO_NODE_WAIT,
        [RD_NODE_SIGNAL] = RONDO_NODE_SIGNAL,
    };
    const struct rd_node *n = &g->nodes.item[v];
    const struct rd_extra *e = rd_node_extra(g, v);
    rondo_recorded_node told = {
        .node = { rd_part_id(g->serial, RD_PART_NODE, v) },
        .name = rd_subgraph_text(g, n->name),
        .tag = n->tag,
        .cost_ns = n->cost_ns,
        .kind = kinds[n->kind],
        .flags = e->flags | (rd_node_no_access(g, v) ? (uint32_t)RONDO_NO_ACCESS : 0),
        .conditional = e->when_count != 0,
        .on = rd_node_on(n),
    };
    node(context, v, &told);
}

static void tell_edges(const struct rd_subgraph *g, const struct rd_graph *graph,
                       void (*edge)(void *context, const rondo_recorded_edge *edge), void *context)
{
    uint32_t v, i;
    for (v = 0; v < graph->nodes; v++)
        for (i = graph->first[v]; i < graph->first[v + 1]; i++) {
            const struct rd_edge *e = &graph->pred[i];
            rondo_recorded_edge told = { e->from, v, e->distance, e->source == RD_EDGE_EXPLICIT,
                                         NULL };
            if (e->source == RD_EDGE_ACCESS && e->slot < g->slots.count)
                told.slot = rd_subgraph_text(g, g->slots.item[e->slot].name);
            edge(context, &told);
        }
}

uint32_t rd_node_own_accesses(const struct rd_subgraph *g, uint32_t node)
{
    const struct rd_extra *e = rd_node_extra(g, node);
    uint32_t i, own = g->nodes.item[node].access_count;
    for (i = 0; i < e->when_count; i++)
        own -= g->whens.item[e->when + i].flag != 0;
    return own;
}

int rd_node_no_access(const struct rd_subgraph *g, uint32_t node)
{
    const struct rd_node *n = &g->nodes.item[node];
    return n->kind == RD_NODE_TASK && !n->everything && !g->edges_explicit &&
           !rd_node_own_accesses(g, node);
}

rondo_status rd_subgraph_visit(const struct rd_subgraph *g,
                               void (*node)(void *context, uint32_t number,
                                            const rondo_recorded_node *node),
                               void (*edge)(void *context, const rondo_recorded_edge *edge),
                               void *context)
{
    struct rd_graph graph;
    rondo_status status = RONDO_OK;
    uint32_t v, nodes = (uint32_t)g->nodes.count;
    /* First of all what may fail, so that a failing call tells nothing. */
    if (edge)
        status = rd_depend_graph(g, 1, 0, &graph);
    if (status)
        return status;
    for (v = 0; node && v < nodes; v++)
        tell_node(g, v, node, context);
    if (edge) {
        tell_edges(g, &graph, edge, context);
        rd_graph_free(&g->rt->alloc, &graph);
    }
    return RONDO_OK;
}

void rd_subgraph_visit_places(
    const struct rd_subgraph *g,
    void (*slot)(void *context, uint32_t number, const rondo_recorded_slot *slot),
    void (*param)(void *context, uint32_t number, const rondo_recorded_param *param), void *context)
{
    static const uint32_t kinds[] = {
        [RD_SLOT_FIXED] = RONDO_SLOT_FIXED,         [RD_SLOT_RING] = RONDO_SLOT_RING,
        [RD_SLOT_BOUND] = RONDO_SLOT_BOUND,         [RD_SLOT_TOKEN] = RONDO_SLOT_TOKEN,
        [RD_SLOT_TEMPORARY] = RONDO_SLOT_TEMPORARY,
    };
    uint32_t i;
    for (i = 0; slot && i < g->slots.count; i++) {
        const struct rd_slot *s = &g->slots.item[i];
        rondo_recorded_slot told = { { rd_part_id(g->serial, RD_PART_SLOT, i) },
                                     rd_subgraph_text(g, s->name),
                                     s->shape,
                                     kinds[s->kind],
                                     s->kind == RD_SLOT_RING ? s->count : 0 };
        if (s->kind == RD_SLOT_TOKEN)
            told.shape.elem_bytes = 0;
        slot(context, i, &told);
    }
    for (i = 0; param && i < g->params.count; i++) {
        const struct rd_param *p = &g->params.item[i];
        rondo_recorded_param told = { { rd_part_id(g->serial, RD_PART_PARAM, i) },
                                      rd_subgraph_text(g, p->name),
                                      p->bytes,
                                      p->has_initial };
        param(context, i, &told);
    }
}
