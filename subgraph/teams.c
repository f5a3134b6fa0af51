/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of teams in the graph: the edges of rank 0, doubled for the others. Edges by hand were
 * doubled when the recording was expanded. */
#include "subgraph/walk.h"

/* The ranks of a node's team but the first: lists through `next`, node + 1; 0 ends them. */
struct ranks {
    uint32_t *first, *next;
};

static int add_doubles(struct rd_walk *w, const struct ranks *r, struct rd_edges *list)
{
    size_t i, count = list->count;
    uint32_t from, to, f, t;
    for (i = 0; i < count; i++) {
        struct rd_edge e = rd_edge_of_key(list->key[i]);
        from = e.from;
        to = list->to[i];
        if (!r->first[from] && !r->first[to])
            continue;
        for (t = to + 1; t; t = t == to + 1 ? r->first[to] : r->next[t - 1])
            for (f = from + 1; f; f = f == from + 1 ? r->first[from] : r->next[f - 1])
                if ((f != from + 1 || t != to + 1) &&
                    !rd_edges_add(
                        w->alloc, list, t - 1,
                        rd_edge_key(f - 1, e.distance, (enum rd_edge_source)e.source, e.slot)))
                    return 0;
    }
    return 1;
}

static void link_ranks(const struct rd_subgraph *g, struct ranks *r)
{
    uint32_t v;
    for (v = (uint32_t)g->nodes.count; v-- > 0;)
        if (g->nodes.item[v].kind == RD_NODE_RANK) {
            uint32_t main = rd_node_extra(g, v)->main;
            r->next[v] = r->first[main];
            r->first[main] = v + 1;
        }
}

static int has_ranks(const struct rd_subgraph *g)
{
    size_t v;
    for (v = 0; v < g->nodes.count; v++)
        if (g->nodes.item[v].kind == RD_NODE_RANK)
            return 1;
    return 0;
}

rondo_status rd_team_edges(struct rd_walk *w)
{
    const struct rd_subgraph *g = w->g;
    size_t n = g->nodes.count;
    struct ranks r;
    uint32_t p;
    int ok;
    if (!g->sequence || !has_ranks(g))
        return RONDO_OK;
    r.first = rd_zalloc_array(w->alloc, n, sizeof *r.first);
    r.next = rd_zalloc_array(w->alloc, n, sizeof *r.next);
    ok = r.first && r.next;
    if (ok)
        link_ranks(g, &r);
    for (p = 0; ok && p < w->phases; p++)
        ok = add_doubles(w, &r, &w->list[p]);
    rd_free_array(w->alloc, r.first, n, sizeof *r.first);
    rd_free_array(w->alloc, r.next, n, sizeof *r.next);
    return ok ? RONDO_OK
              : rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to order its teams", g->name);
}
