/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph in Graphviz's DOT: edges by hand solid, inferred ones labelled with their slot, carried
 * ones dashed with how many replays they reach over. */
#include "subgraph/subgraph.h"

#include <stdio.h>
#include <string.h>

struct out {
    void (*write)(void *context, const char *text);
    void *context;
};

/* Inside double quotes, whatever the text holds. */
static void put_quoted(const struct out *o, const char *text)
{
    char piece[128];
    size_t used = 0;
    for (; *text; text++) {
        if (used + 3 > sizeof piece) {
            piece[used] = 0;
            o->write(o->context, piece);
            used = 0;
        }
        if (*text == '"' || *text == '\\' || *text == '\n')
            piece[used++] = '\\';
        piece[used++] = *text == '\n' ? 'n' : *text;
    }
    piece[used] = 0;
    if (used)
        o->write(o->context, piece);
}

static void put_node(const struct out *o, const struct rd_subgraph *g, uint32_t v)
{
    static const char *const shapes[] = { "box", "ellipse", "cds", "cds" };
    char text[48];
    snprintf(text, sizeof text, "  n%u [label=\"", v);
    o->write(o->context, text);
    put_quoted(o, rd_subgraph_text(g, g->nodes.item[v].name));
    snprintf(text, sizeof text, "\", shape=%s];\n", shapes[g->nodes.item[v].kind]);
    o->write(o->context, text);
}

static void put_edge(const struct out *o, const struct rd_subgraph *g, uint32_t v,
                     const struct rd_edge *e)
{
    char text[64];
    snprintf(text, sizeof text, "  n%u -> n%u [", e->from, v);
    o->write(o->context, text);
    o->write(o->context, e->distance ? "style=dashed, label=\"" : "style=solid, label=\"");
    if (e->source == RD_EDGE_ACCESS && e->slot < g->slots.count)
        put_quoted(o, rd_subgraph_text(g, g->slots.item[e->slot].name));
    else if (e->source == RD_EDGE_ORDER)
        o->write(o->context, "everything");
    if (e->distance) {
        snprintf(text, sizeof text, "%s+%u", e->source == RD_EDGE_EXPLICIT ? "" : " ", e->distance);
        o->write(o->context, text);
    }
    o->write(o->context, e->source == RD_EDGE_EXPLICIT ? "\"];\n" : "\", color=gray40];\n");
}

rondo_status rd_subgraph_dot(const struct rd_subgraph *g,
                             void (*write)(void *context, const char *text), void *context)
{
    struct out o = { write, context };
    struct rd_graph graph;
    rondo_status status = rd_depend_graph(g, 1, 0, &graph);
    uint32_t v, i;
    if (status)
        return status;
    write(context, "digraph \"");
    put_quoted(&o, g->name);
    write(context, "\" {\n");
    for (v = 0; v < graph.nodes; v++)
        put_node(&o, g, v);
    for (v = 0; v < graph.nodes; v++)
        for (i = graph.first[v]; i < graph.first[v + 1]; i++)
            put_edge(&o, g, v, &graph.pred[i]);
    write(context, "}\n");
    rd_graph_free(&g->rt->alloc, &graph);
    return RONDO_OK;
}
