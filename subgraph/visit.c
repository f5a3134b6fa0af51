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
        [RD_NODE_SIGNAL] = RONDO_NODE_SIGNAL,       [RD_NODE_KERNEL] = RONDO_NODE_KERNEL,
        [RD_NODE_LAUNCH] = RONDO_NODE_LAUNCH,
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

/* Edges are those of the expanded recording, told between recorded nodes: instantiation lets the
 * nodes of a reduction run side by side, and what comes after its combining comes after them all.
 */
struct edge_teller {
    const struct rd_subgraph *g;
    const struct rd_graph *graph; /* of the expansion: added nodes behind those of g */
    uint32_t *mark; /* by node: v + 1 once it has been told, or looked through, for v */
    void (*edge)(void *context, const rondo_recorded_edge *edge);
    void *context;
};

static void tell_edge(const struct edge_teller *t, uint32_t v, const struct rd_edge *e,
                      uint32_t distance, uint32_t slot, int by_hand)
{
    rondo_recorded_edge told = { e->from, v, distance, (uint32_t)by_hand, NULL };
    if (slot < t->g->slots.count)
        told.slot = rd_subgraph_text(t->g, t->g->slots.item[slot].name);
    t->edge(t->context, &told);
}

/* The recorded nodes behind an added one. What an added node carries over replays to another is
 * implied by what the recorded ones do. */
static void tell_through(const struct edge_teller *t, uint32_t v, const struct rd_edge *added)
{
    uint32_t u = added->from, i;
    if (t->mark[u] == v + 1)
        return;
    t->mark[u] = v + 1;
    for (i = t->graph->first[u]; i < t->graph->first[u + 1]; i++) {
        struct rd_edge e = t->graph->pred[i];
        uint32_t slot = added->source == RD_EDGE_ACCESS ? added->slot
                        : e.source == RD_EDGE_ACCESS    ? e.slot
                                                        : UINT32_MAX;
        if (e.from < t->g->nodes.count) {
            if (e.from != v || e.distance + added->distance)
                tell_edge(t, v, &e, (uint32_t)e.distance + added->distance, slot, 0);
        } else if (!e.distance) {
            e.distance = added->distance;
            e.source = added->source;
            e.slot = added->slot;
            tell_through(t, v, &e);
        }
    }
}

static void tell_edges(const struct edge_teller *t, uint32_t v)
{
    const struct rd_graph *graph = t->graph;
    uint32_t i, carried;
    for (i = graph->first[v]; i < graph->first[v + 1]; i++) {
        const struct rd_edge *e = &graph->pred[i];
        if (e->from < t->g->nodes.count)
            tell_edge(t, v, e, e->distance, e->source == RD_EDGE_ACCESS ? e->slot : UINT32_MAX,
                      e->source == RD_EDGE_EXPLICIT);
    }
    for (carried = 0; carried < 2; carried++) /* the nearer ones first: they imply the others */
        for (i = graph->first[v]; i < graph->first[v + 1]; i++)
            if (graph->pred[i].from >= t->g->nodes.count && !graph->pred[i].distance == !carried)
                tell_through(t, v, &graph->pred[i]);
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
    if (n->kind == RD_NODE_KERNEL || n->kind == RD_NODE_LAUNCH)
        return !rd_node_own_accesses(g, node);
    return n->kind == RD_NODE_TASK && !n->everything && !g->edges_explicit &&
           !rd_node_own_accesses(g, node);
}

/* What instantiation would see of the recording; where it refuses to look, the recording. */
static rondo_status expanded(struct rd_subgraph *g, struct rd_subgraph **e)
{
    rondo_status status = rd_subgraph_expand(g, 1, e);
    if (status != RONDO_ERR_INVALID)
        return status;
    rd_add_relaxed(&g->refs, 1);
    *e = g;
    return RONDO_OK;
}

static rondo_status prepare(struct edge_teller *t, struct rd_subgraph *g, struct rd_graph *graph)
{
    struct rd_subgraph *e;
    rondo_status status = expanded(g, &e);
    if (status)
        return status;
    status = rd_depend_graph(e, 1, 0, graph);
    if (!status) {
        t->mark = rd_zalloc_array(&g->rt->alloc, graph->nodes, sizeof *t->mark);
        if (!t->mark && graph->nodes) {
            rd_graph_free(&g->rt->alloc, graph);
            status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to visit it", g->name);
        }
    }
    rd_subgraph_unref(e);
    return status;
}

rondo_status rd_subgraph_visit(struct rd_subgraph *g,
                               void (*node)(void *context, uint32_t number,
                                            const rondo_recorded_node *node),
                               void (*edge)(void *context, const rondo_recorded_edge *edge),
                               void *context)
{
    struct rd_graph graph;
    struct edge_teller t = { g, &graph, NULL, edge, context };
    rondo_status status = RONDO_OK;
    uint32_t v, nodes = (uint32_t)g->nodes.count;
    /* First of all what may fail, so that a failing call tells nothing. */
    if (edge)
        status = prepare(&t, g, &graph);
    if (status)
        return status;
    for (v = 0; node && v < nodes; v++)
        tell_node(g, v, node, context);
    for (v = 0; edge && v < nodes; v++)
        tell_edges(&t, v);
    if (edge) {
        rd_free_array(&g->rt->alloc, t.mark, graph.nodes, sizeof *t.mark);
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
