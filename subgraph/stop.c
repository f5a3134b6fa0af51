/* SPDX-License-Identifier: BSD-3-Clause */
/* Edges from nodes that may stop: what they decide in a replay must be known before anything that
 * is to be seen from outside of a replay happens in the first one that may not run. */
#include "subgraph/walk.h"

/* Whether a node can leave a trace outside of its replay. What touches nothing that is known may do
 * anything; where edges are explicit, that is a task without accesses too. */
static int leaves_trace(const struct rd_subgraph *g, uint32_t node)
{
    const struct rd_node *n = &g->nodes.item[node];
    const struct rd_extra *x = rd_node_extra(g, node);
    uint32_t i, flags = 0;
    if (n->everything || n->kind == RD_NODE_SIGNAL)
        return 1;
    if (n->kind == RD_NODE_WAIT || n->kind == RD_NODE_RANK)
        return 0;
    for (i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &g->accesses.item[n->access + i];
        if (a->mode & RONDO_WRITE && g->slots.item[a->slot].kind != RD_SLOT_TEMPORARY)
            return 1;
    }
    for (i = 0; i < x->when_count; i++)
        flags += g->whens.item[x->when + i].flag != 0;
    return n->access_count == flags; /* it has none but those of its conditions */
}

static int runs_in(const struct rd_walk *w, uint32_t node, uint32_t phase)
{
    return !w->active || w->active[node] >> phase & 1;
}

static rondo_status add_edges(struct rd_walk *w, uint32_t from, uint32_t distance)
{
    const struct rd_subgraph *g = w->g;
    uint64_t key = rd_edge_key(from, distance, RD_EDGE_ORDER, 0);
    uint32_t v, p;
    for (v = 0; v < g->nodes.count; v++) {
        if (!leaves_trace(g, v))
            continue;
        for (p = 0; p < w->phases; p++) {
            uint32_t before = (p + w->phases * RD_DISTANCE_MAX - distance) % w->phases;
            if (runs_in(w, v, p) && runs_in(w, from, before) &&
                !rd_edges_add(w->alloc, &w->list[p], v, key))
                return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for %zu edges", g->name,
                                w->list[p].count);
        }
    }
    return RONDO_OK;
}

rondo_status rd_stop_edges(struct rd_walk *w)
{
    const struct rd_subgraph *g = w->g;
    rondo_status status = RONDO_OK;
    uint32_t v;
    for (v = 0; v < g->nodes.count && !status; v++) {
        const struct rd_extra *x = rd_node_extra(g, v);
        if (!(x->flags & RONDO_MAY_STOP) || g->nodes.item[v].kind == RD_NODE_RANK)
            continue;
        if (x->stop_lag >= RD_DISTANCE_MAX)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': stop_lag %u: replays in pipelined order may reach over %d",
                            rd_subgraph_text(g, g->nodes.item[v].name), x->stop_lag,
                            RD_DISTANCE_MAX - 1);
        status = add_edges(w, v, 1 + x->stop_lag);
    }
    return status;
}
