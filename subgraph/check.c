/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be wrong with a whole recording: that it is empty, or runs in a circle. */
#include "subgraph/subgraph.h"

#include <stdio.h>
#include <string.h>

/* Depth first along predecessors, with a stack of its own. */
struct circle {
    const struct rd_graph *graph;
    uint8_t *state;  /* 0: not seen, 1: on the path, 2: no circle through it */
    uint32_t *at;    /* the next predecessor to look at */
    uint32_t *path;  /* from a node back along predecessors */
    uint32_t length; /* when found: the circle is path[from .. length) */
    uint32_t from;
};

static int circle_through(struct circle *c, uint32_t v)
{
    const struct rd_graph *g = c->graph;
    c->path[0] = v;
    c->length = 1;
    c->state[v] = 1;
    c->at[v] = g->first[v];
    while (c->length) {
        uint32_t u = c->path[c->length - 1], p;
        if (c->at[u] == g->first[u + 1]) {
            c->state[u] = 2;
            c->length--;
            continue;
        }
        p = g->pred[c->at[u]].from;
        if (g->pred[c->at[u]++].distance || c->state[p] == 2)
            continue;
        if (c->state[p] == 1) {
            for (c->from = 0; c->path[c->from] != p; c->from++) {}
            return 1;
        }
        c->state[p] = 1;
        c->at[p] = g->first[p];
        c->path[c->length++] = p;
    }
    return 0;
}

static int all_forward(const struct rd_graph *g)
{
    uint32_t v, i;
    for (v = 0; v < g->nodes; v++)
        for (i = g->first[v]; i < g->first[v + 1]; i++)
            if (!g->pred[i].distance && g->pred[i].from >= v)
                return 0;
    return 1;
}

/* The k-th node of the circle along its edges, begun at its least node. */
static uint32_t circle_node(const struct circle *c, uint32_t k)
{
    uint32_t size = c->length - c->from, least = 0, i;
    for (i = 1; i < size; i++)
        if (c->path[c->from + i] < c->path[c->from + least])
            least = i;
    return c->path[c->from + (least + size - k % size) % size];
}

/* "cycle: a -> b -> c -> a", the middle left out when it does not fit. */
static rondo_status circle_error(const struct rd_subgraph *g, const struct circle *c)
{
    enum { TEXT = RD_MESSAGE_BYTES - 16, END = 150 };
    uint32_t size = c->length - c->from, k;
    char text[TEXT], name[64];
    size_t used = 0, length;
    for (k = 0; k <= size; k++) {
        snprintf(name, sizeof name, "%s%.50s", k ? " -> " : "",
                 rd_subgraph_text(g, g->nodes.item[circle_node(c, k)].name));
        length = strlen(name);
        if (k < size && k + 2 < size && used + length + END > sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, " -> ... (%u more)",
                                     size - 1 - k);
            k = size - 2;
            continue;
        }
        memcpy(text + used, name, length + 1);
        used += length;
    }
    return rd_error(RONDO_ERR_INVALID, "cycle: %s", text);
}

rondo_status rd_subgraph_check(const struct rd_subgraph *g, const struct rd_graph *graph)
{
    struct rd_allocator *a = &g->rt->alloc;
    struct circle c = { graph, NULL, NULL, NULL, 0, 0 };
    size_t n = graph->nodes;
    rondo_status status = RONDO_OK;
    uint32_t v;
    if (!n)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s' has no nodes", g->name);
    if (all_forward(graph))
        return RONDO_OK;
    c.state = rd_zalloc_array(a, n, sizeof *c.state);
    c.at = rd_alloc_array(a, n, sizeof *c.at);
    c.path = rd_alloc_array(a, n, sizeof *c.path);
    if (!c.state || !c.at || !c.path)
        status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to check it", g->name);
    for (v = 0; v < n && !status; v++)
        if (!c.state[v] && circle_through(&c, v))
            status = circle_error(g, &c);
    rd_free_array(a, c.state, n, sizeof *c.state);
    rd_free_array(a, c.at, n, sizeof *c.at);
    rd_free_array(a, c.path, n, sizeof *c.path);
    return status;
}
