/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph in Graphviz's DOT: edges by hand solid, inferred ones labelled with their slot, carried
 * ones dashed with how many replays they reach over; nodes with what they run under. */
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

/* A line of a node's label each: the flags of its task. */
static void put_traits(const struct out *o, const struct rd_extra *e)
{
    static const struct {
        uint8_t flag;
        const char *text;
    } traits[] = { { RONDO_DETACHED, "\\ndetached" },
                   { RONDO_MAY_STOP, "\\nmay stop" },
                   { RONDO_MAY_BLOCK, "\\nmay block" } };
    char text[48];
    size_t i;
    if (e->flags & (RONDO_HOSTED | RONDO_SPMD)) {
        snprintf(text, sizeof text, e->team ? "\\n%s, team of %u" : "\\n%s, team of all",
                 e->flags & RONDO_SPMD ? "spmd" : "hosted", e->team);
        o->write(o->context, text);
    }
    for (i = 0; i < sizeof traits / sizeof *traits; i++)
        if (e->flags & traits[i].flag)
            o->write(o->context, traits[i].text);
}

static void put_name(const struct out *o, const char *before, const char *name)
{
    o->write(o->context, before);
    put_quoted(o, name);
}

/* The condition of a node, and what it waits for or sets. */
static void put_conditions(const struct out *o, const struct rd_subgraph *g,
                           const struct rd_extra *e)
{
    char text[96];
    uint32_t i;
    for (i = 0; i < e->when_count; i++) {
        const struct rd_when *w = &g->whens.item[e->when + i];
        if (w->param)
            put_name(o, "\\nif parameter ", rd_subgraph_text(g, g->params.item[w->param - 1].name));
        if (w->flag)
            put_name(o, "\\nif flag ", rd_subgraph_text(g, g->slots.item[w->flag - 1].name));
        if (w->every) {
            snprintf(text, sizeof text, "\\nif n %% %u = %u", w->every, w->phase);
            o->write(o->context, text);
        }
    }
    if (e->sync && g->syncs.item[e->sync - 1].counter) {
        snprintf(text, sizeof text, "\\n%llu + %llu n",
                 (unsigned long long)g->syncs.item[e->sync - 1].first,
                 (unsigned long long)g->syncs.item[e->sync - 1].step);
        o->write(o->context, text);
    } else if (e->sync) {
        put_name(o, "\\nevent ",
                 rd_subgraph_text(g, g->params.item[g->syncs.item[e->sync - 1].event].name));
    }
}

static void put_node(const struct out *o, const struct rd_subgraph *g, uint32_t v)
{
    static const char *const shapes[] = {
        [RD_NODE_TASK] = "box",         [RD_NODE_CALL] = "ellipse",
        [RD_NODE_COPY] = "cds",         [RD_NODE_FILL] = "cds",
        [RD_NODE_ALLREDUCE] = "cds",    [RD_NODE_WAIT] = "octagon",
        [RD_NODE_SIGNAL] = "octagon",   [RD_NODE_COMBINE] = "invtrapezium",
        [RD_NODE_RANK] = "box",         [RD_NODE_KERNEL] = "box3d",
        [RD_NODE_LAUNCH] = "component",
    };
    const struct rd_extra *e = rd_node_extra(g, v);
    char text[64];
    snprintf(text, sizeof text, "  n%u [label=\"", v);
    o->write(o->context, text);
    put_quoted(o, rd_subgraph_text(g, g->nodes.item[v].name));
    if (g->nodes.item[v].kind != RD_NODE_CALL) /* whose shape says it */
        put_traits(o, e);
    put_conditions(o, g, e);
    snprintf(text, sizeof text, "\", shape=%s%s];\n", shapes[g->nodes.item[v].kind],
             e->when_count ? ", style=dashed" : "");
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
