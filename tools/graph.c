/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes recordings apart and measures them. */
#include "tools/graph.h"
#include "tools/cli.h"
#include "tools/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- costs, which the recording itself keeps up to four seconds only */

struct taker {
    const struct file_bodies *bodies;
    double *cost; /* by node; of nodes that are no tasks: 0 */
    size_t cost_room;
    struct graph *graph;
    size_t node_room, edge_room;
    int no_memory;
};

static int grow(void **array, size_t *room, size_t needed, size_t elem_bytes)
{
    if (needed <= *room)
        return 0;
    size_t more = *room * 2 > needed ? *room * 2 : needed + 64;
    char *grown = realloc(*array, more * elem_bytes);
    if (!grown)
        return -1;
    memset(grown + *room * elem_bytes, 0, (more - *room) * elem_bytes);
    *array = grown;
    *room = more;
    return 0;
}

static rondo_status take_cost(void *context, uint32_t number, rondo_task_desc *desc)
{
    struct taker *t = context;
    void *costs = t->cost;
    int failed = grow(&costs, &t->cost_room, (size_t)number + 1, sizeof *t->cost);
    t->cost = costs;
    if (failed)
        return RONDO_ERR_MEMORY;
    t->cost[number] = desc->cost_ns;
    return t->bodies && t->bodies->task ? t->bodies->task(t->bodies->context, number, desc)
                                        : RONDO_OK;
}

/* ---- nodes and edges */

static void take_node(void *context, uint32_t number, const rondo_recorded_node *node)
{
    struct taker *t = context;
    void *nodes = t->graph->node;
    t->no_memory |= grow(&nodes, &t->node_room, (size_t)number + 1, sizeof *t->graph->node);
    t->graph->node = nodes;
    if (t->no_memory)
        return;
    struct graph_node *n = &t->graph->node[number];
    int has_cost = number < t->cost_room && t->cost[number] > 0;
    *n = (struct graph_node){ strdup(node->name),
                              node->tag,
                              has_cost ? t->cost[number] : node->cost_ns,
                              node->kind,
                              node->flags,
                              node->conditional,
                              node->on };
    t->graph->nodes = number + 1;
    t->graph->work_ns += n->cost_ns;
    t->graph->device_ns += graph_on_device(n) ? n->cost_ns : 0;
    t->graph->on_devices += (uint32_t)graph_on_device(n);
    t->no_memory |= !n->name;
}

static void take_edge(void *context, const rondo_recorded_edge *edge)
{
    struct taker *t = context;
    struct graph *g = t->graph;
    void *edges = g->edge;
    t->no_memory |= grow(&edges, &t->edge_room, g->edges + 1, sizeof *g->edge);
    g->edge = edges;
    if (t->no_memory)
        return;
    g->edge[g->edges++] =
        (struct graph_edge){ edge->from, edge->to, edge->distance, edge->by_hand };
    g->carried += edge->distance > 0;
}

/* ---- what follows from them */

static int index_edges(struct graph *g)
{
    size_t at = 0;
    g->first = calloc((size_t)g->nodes + 1, sizeof *g->first);
    if (!g->first)
        return -1;
    for (uint32_t v = 0; v <= g->nodes; v++) {
        while (at < g->edges && g->edge[at].to < v)
            at++;
        g->first[v] = at;
    }
    return 0;
}

/* The edges within a replay, as order.h wants them. */
static struct order_edge *inner_edges(struct graph *g, size_t *count)
{
    struct order_edge *inner = calloc(g->edges + 1, sizeof *inner);
    uint32_t into = 0;
    *count = 0;
    for (size_t i = 0; inner && i < g->edges; i++) {
        if (i && g->edge[i].to != g->edge[i - 1].to)
            into = 0;
        if (g->edge[i].distance)
            continue;
        inner[(*count)++] = (struct order_edge){ g->edge[i].from, g->edge[i].to };
        if (++into > g->inner_most)
            g->inner_most = into;
    }
    return inner;
}

static int find_order(struct graph *g)
{
    size_t count, n = g->nodes ? g->nodes : 1;
    uint32_t length;
    struct order_edge *inner = inner_edges(g, &count);
    uint32_t *first = calloc(n + 1, sizeof *first), *place = calloc(n, sizeof *place),
             *circle = calloc(n, sizeof *circle);
    int found = -1;
    if (inner && first && place && circle) {
        order_index(inner, count, g->nodes, first);
        found = order_find(inner, first, g->nodes, place, circle, &length);
    }
    if (!found) {
        for (uint32_t v = 0; v < g->nodes; v++)
            circle[place[v]] = v;
        g->order = circle;
        circle = NULL;
    }
    free(inner);
    free(first);
    free(place);
    free(circle);
    return found < 0 ? -1 : 0;
}

static int find_critical(struct graph *g)
{
    double *end = calloc(g->nodes ? g->nodes : 1, sizeof *end);
    for (uint32_t k = 0; end && g->order && k < g->nodes; k++) {
        uint32_t v = g->order[k];
        for (size_t i = g->first[v]; i < g->first[v + 1]; i++)
            if (!g->edge[i].distance && end[g->edge[i].from] > end[v])
                end[v] = end[g->edge[i].from];
        end[v] += g->node[v].cost_ns;
        if (end[v] > g->critical_ns)
            g->critical_ns = end[v];
    }
    free(end);
    return end ? 0 : -1;
}

int graph_record(const struct file *file, rondo_runtime runtime, const struct file_options *options,
                 const struct file_bodies *bodies, struct file_graph *file_graph,
                 struct graph *graph)
{
    struct graph made = { 0 };
    struct taker t = { .bodies = bodies, .graph = &made };
    struct file_bodies mine = { take_cost, &t };
    struct file_graph recorded;
    int status = file_record(file, runtime, options, &mine, &recorded);
    if (status)
        goto costs;
    rondo_status visited = rondo_subgraph_visit(recorded.subgraph, take_node, take_edge, &t);
    if (!visited && !t.no_memory && !index_edges(&made) && !find_order(&made) &&
        !find_critical(&made)) {
        *graph = made;
        *file_graph = recorded;
        goto costs;
    }
    fprintf(stderr, "rondo: %s\n", visited ? rondo_error_message() : "out of memory");
    status = visited == RONDO_ERR_INVALID ? EXIT_BAD_INPUT : EXIT_RUN_FAILED;
    (void)rondo_subgraph_destroy(recorded.subgraph);
    graph_free(&made);
costs:
    free(t.cost);
    return status;
}

void graph_free(struct graph *graph)
{
    for (uint32_t v = 0; v < graph->nodes; v++)
        free(graph->node[v].name);
    free(graph->node);
    free(graph->edge);
    free(graph->first);
    free(graph->order);
    *graph = (struct graph){ 0 };
}

/* ---- redundant edges */

/* A node is marked with the node whose predecessors are being looked at, when a path from it to a
 * predecessor of that has been found. */
struct marks {
    uint32_t *mark, *stack;
    const uint32_t *place; /* of each node in the order */
    uint64_t steps;        /* left */
};

/* Marks all from which a path leads to `v`'s predecessor `p`, not further up than the uppermost of
 * v's predecessors. */
static void mark_above(const struct graph *g, struct marks *m, uint32_t p, uint32_t v,
                       uint32_t uppermost)
{
    uint32_t height = 0;
    m->stack[height++] = p;
    while (height && m->steps) {
        uint32_t u = m->stack[--height];
        for (size_t i = g->first[u]; i < g->first[u + 1] && m->steps; i++, m->steps--) {
            uint32_t from = g->edge[i].from;
            if (g->edge[i].distance || m->mark[from] == v || m->place[from] < uppermost)
                continue;
            m->mark[from] = v;
            m->stack[height++] = from;
        }
    }
}

static size_t redundant_into(const struct graph *g, struct marks *m, uint32_t v)
{
    uint32_t uppermost = UINT32_MAX;
    size_t found = 0;
    for (size_t i = g->first[v]; i < g->first[v + 1]; i++)
        if (!g->edge[i].distance && m->place[g->edge[i].from] < uppermost)
            uppermost = m->place[g->edge[i].from];
    for (size_t i = g->first[v]; i < g->first[v + 1]; i++)
        if (!g->edge[i].distance)
            mark_above(g, m, g->edge[i].from, v, uppermost);
    for (size_t i = g->first[v]; i < g->first[v + 1]; i++)
        found += !g->edge[i].distance && m->mark[g->edge[i].from] == v;
    return found;
}

size_t graph_redundant(const struct graph *g)
{
    size_t found = 0, n = g->nodes ? g->nodes : 1;
    uint32_t *place = calloc(n, sizeof *place);
    struct marks m = { calloc(n, sizeof *m.mark), calloc(n, sizeof *m.stack), place, 500000000 };
    if (!m.mark || !m.stack || !place || !g->order)
        m.steps = 0;
    if (m.steps) {
        memset(m.mark, 0xff, n * sizeof *m.mark);
        for (uint32_t k = 0; k < g->nodes; k++)
            place[g->order[k]] = k;
    }
    for (uint32_t v = 0; v < g->nodes && m.steps; v++)
        found += redundant_into(g, &m, v);
    free(m.mark);
    free(m.stack);
    free(place);
    return m.steps ? found : SIZE_MAX;
}
