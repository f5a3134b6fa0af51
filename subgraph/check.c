/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be wrong with a whole recording: that it is empty, runs in a circle, or reads memory of
 * Rondo's own that nothing has written. */
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
    uint32_t *order; /* nodes without a circle, each behind its predecessors; `ordered` of them */
    uint32_t ordered;
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
            c->order[c->ordered++] = u;
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

/* ---- temporaries */

static int is_undefined(const struct rd_slot *s)
{
    return s->kind == RD_SLOT_TEMPORARY && !s->zeroed;
}

/* A share of RONDO_REDUCE begins as the neutral element, and the shares are the slot's value. */
static int reads(const struct rd_node *n, const struct rd_access *a)
{
    return a->mode & RONDO_READ && a->mode != RONDO_REDUCE && n->kind != RD_NODE_COMBINE;
}

static rondo_status check_node(const struct rd_subgraph *g, uint8_t *written, uint32_t v)
{
    const struct rd_node *n = &g->nodes.item[v];
    uint32_t i;
    for (i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &g->accesses.item[n->access + i];
        const struct rd_slot *s = &g->slots.item[a->slot];
        if (is_undefined(s) && !written[a->slot] && reads(n, a))
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': access %u reads slot '%s', which is RONDO_TEMPORARY and "
                            "has not been written before in the replay",
                            rd_subgraph_text(g, n->name), i, rd_subgraph_text(g, s->name));
    }
    for (i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &g->accesses.item[n->access + i];
        if (a->mode & RONDO_WRITE)
            written[a->slot] = 1;
    }
    return RONDO_OK;
}

/* Whether anything has written a temporary when a node reads it. `order`: NULL for recording order.
 * Where edges are explicit it is one that they allow; a write and a read that they do not order are
 * refused as a conflict, so all such orders tell the same. */
static rondo_status check_temporaries(const struct rd_subgraph *g, const uint32_t *order)
{
    size_t slots = g->slots.count, i;
    rondo_status status = RONDO_OK;
    uint8_t *written;
    int any = 0;
    for (i = 0; i < slots; i++)
        any |= is_undefined(&g->slots.item[i]);
    if (!any)
        return RONDO_OK;
    written = rd_zalloc_array(&g->rt->alloc, slots, sizeof *written);
    if (!written)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to check it", g->name);
    for (i = 0; i < g->nodes.count && !status; i++)
        status = check_node(g, written, order ? order[i] : (uint32_t)i);
    rd_free_array(&g->rt->alloc, written, slots, sizeof *written);
    return status;
}

/* ---- the whole */

/* A circle, if there is one; else what depends on the order of nodes. */
static rondo_status check_order(const struct rd_subgraph *g, struct circle *c)
{
    rondo_status status = RONDO_OK;
    uint32_t v;
    for (v = 0; v < c->graph->nodes && !status; v++)
        if (!c->state[v] && circle_through(c, v))
            status = circle_error(g, c);
    return status ? status : check_temporaries(g, g->edges_explicit ? c->order : g->sequence);
}

rondo_status rd_subgraph_check(const struct rd_subgraph *g, const struct rd_graph *graph)
{
    struct rd_allocator *a = &g->rt->alloc;
    struct circle c = { .graph = graph };
    size_t n = graph->nodes;
    rondo_status status;
    if (!n)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s' has no nodes", g->name);
    if (all_forward(graph))
        return check_temporaries(g, g->edges_explicit ? NULL : g->sequence);
    c.state = rd_zalloc_array(a, n, sizeof *c.state);
    c.at = rd_alloc_array(a, n, sizeof *c.at);
    c.path = rd_alloc_array(a, n, sizeof *c.path);
    c.order = rd_alloc_array(a, n, sizeof *c.order);
    if (!c.state || !c.at || !c.path || !c.order)
        status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to check it", g->name);
    else
        status = check_order(g, &c);
    rd_free_array(a, c.state, n, sizeof *c.state);
    rd_free_array(a, c.at, n, sizeof *c.at);
    rd_free_array(a, c.path, n, sizeof *c.path);
    rd_free_array(a, c.order, n, sizeof *c.order);
    return status;
}
