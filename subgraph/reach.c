/* SPDX-License-Identifier: BSD-3-Clause */
/* Reachability: a closure in bits for small graphs; else a search backwards that leaves out what
 * lies above the level of the node sought. */
#include "subgraph/reach.h"

#include "src/base/error.h"

#include <string.h>

static int in_recording_order(const struct rd_graph *g)
{
    uint32_t v, i;
    for (v = 0; v < g->nodes; v++)
        for (i = g->first[v]; i < g->first[v + 1]; i++)
            if (!g->pred[i].distance && g->pred[i].from >= v)
                return 0;
    return 1;
}

/* Depth first along predecessors with a stack of its own: `at` is a node's next predecessor to look
 * at. */
static int sort_nodes(struct rd_reach *r)
{
    const struct rd_graph *g = r->graph;
    size_t n = g->nodes;
    uint32_t *at = rd_alloc_array(r->alloc, n, sizeof *at), v, depth, ready = 0;
    uint8_t *seen = rd_zalloc_array(r->alloc, n, 1);
    uint32_t *stack = rd_alloc_array(r->alloc, n, sizeof *stack);
    int ok = at && seen && stack;
    for (v = 0; ok && v < n; v++) {
        if (seen[v])
            continue;
        stack[0] = v;
        depth = 1;
        seen[v] = 1;
        at[v] = g->first[v];
        while (depth) {
            uint32_t u = stack[depth - 1], p;
            if (at[u] == g->first[u + 1]) {
                r->order[ready++] = u;
                depth--;
                continue;
            }
            p = g->pred[at[u]].from;
            if (!g->pred[at[u]++].distance && !seen[p]) {
                seen[p] = 1;
                at[p] = g->first[p];
                stack[depth++] = p;
            }
        }
    }
    rd_free_array(r->alloc, at, n, sizeof *at);
    rd_free_array(r->alloc, seen, n, 1);
    rd_free_array(r->alloc, stack, n, sizeof *stack);
    return ok;
}

static void set_levels(struct rd_reach *r)
{
    const struct rd_graph *g = r->graph;
    uint32_t i, k;
    for (k = 0; k < g->nodes; k++) {
        uint32_t v = r->order[k], level = 0;
        for (i = g->first[v]; i < g->first[v + 1]; i++)
            if (!g->pred[i].distance && r->level[g->pred[i].from] >= level)
                level = r->level[g->pred[i].from] + 1;
        r->level[v] = level;
    }
}

static void close(struct rd_reach *r)
{
    const struct rd_graph *g = r->graph;
    uint32_t i, k;
    size_t word;
    for (k = 0; k < g->nodes; k++) {
        uint64_t *mine = r->closure + r->order[k] * r->row, *theirs;
        for (i = g->first[r->order[k]]; i < g->first[r->order[k] + 1]; i++) {
            uint32_t p = g->pred[i].from;
            if (g->pred[i].distance)
                continue;
            theirs = r->closure + p * r->row;
            for (word = 0; word < r->row; word++)
                mine[word] |= theirs[word];
            mine[p / 64] |= 1ull << p % 64;
        }
    }
}

rondo_status rd_reach_make(struct rd_allocator *a, const struct rd_graph *graph,
                           struct rd_reach *reach)
{
    size_t n = graph->nodes;
    uint32_t v;
    memset(reach, 0, sizeof *reach);
    reach->alloc = a;
    reach->graph = graph;
    reach->order = rd_alloc_array(a, n, sizeof *reach->order);
    reach->level = rd_alloc_array(a, n, sizeof *reach->level);
    if (!reach->order || !reach->level)
        goto no_memory;
    if (in_recording_order(graph))
        for (v = 0; v < n; v++)
            reach->order[v] = v;
    else if (!sort_nodes(reach))
        goto no_memory;
    set_levels(reach);
    if (n <= RD_CLOSURE_MAX) {
        reach->row = (n + 63) / 64;
        reach->closure = rd_zalloc_array(a, n * reach->row, sizeof *reach->closure);
        if (!reach->closure)
            goto no_memory;
        close(reach);
    }
    return RONDO_OK;
no_memory:
    rd_reach_free(reach);
    return rd_error(RONDO_ERR_MEMORY, "no memory to order %zu nodes", n);
}

void rd_reach_free(struct rd_reach *r)
{
    size_t n = r->graph->nodes;
    rd_free_array(r->alloc, r->order, n, sizeof *r->order);
    rd_free_array(r->alloc, r->level, n, sizeof *r->level);
    rd_free_array(r->alloc, r->closure, n * r->row, sizeof *r->closure);
    rd_free_array(r->alloc, r->stamp, r->stamps, sizeof *r->stamp);
    rd_free_array(r->alloc, r->stack, r->stack_capacity, sizeof *r->stack);
}

/* Room for the stamps of so many replays, and a new search. */
static int begin_search(struct rd_reach *r, uint32_t distance)
{
    size_t want = (size_t)r->graph->nodes * (distance + 1);
    if (want > r->stamps || r->search == UINT32_MAX) {
        rd_free_array(r->alloc, r->stamp, r->stamps, sizeof *r->stamp);
        r->stamps = want > r->stamps ? want : r->stamps;
        r->stamp = rd_zalloc_array(r->alloc, r->stamps, sizeof *r->stamp);
        r->search = 0;
        if (!r->stamp) {
            r->stamps = 0;
            return 0;
        }
    }
    r->search++;
    r->stacks = 0;
    return 1;
}

static int push(struct rd_reach *r, uint32_t node, uint32_t back)
{
    uint32_t *stamp = &r->stamp[(size_t)back * r->graph->nodes + node];
    if (*stamp == r->search)
        return 1;
    *stamp = r->search;
    if (!rd_grow(r->alloc, (void **)&r->stack, &r->stack_capacity, r->stacks, 2, sizeof *r->stack))
        return 0;
    r->stack[r->stacks++] = node;
    r->stack[r->stacks++] = back;
    return 1;
}

/* Whether a state that is `back` replays behind the target can still come from `from`. */
static int useful(const struct rd_reach *r, uint32_t from, uint32_t node, uint32_t back,
                  uint32_t distance)
{
    return back < distance || (back == distance && r->level[node] > r->level[from]);
}

static int search(struct rd_reach *r, uint32_t from, uint32_t to, uint32_t distance)
{
    const struct rd_graph *g = r->graph;
    uint32_t i;
    if (!begin_search(r, distance) || !push(r, to, 0))
        return -1;
    while (r->stacks) {
        uint32_t back = r->stack[--r->stacks], node = r->stack[--r->stacks];
        for (i = g->first[node]; i < g->first[node + 1]; i++) {
            const struct rd_edge *e = &g->pred[i];
            uint32_t then = back + e->distance;
            if (e->from == from && then == distance)
                return 1;
            if (useful(r, from, e->from, then, distance) && !push(r, e->from, then))
                return -1;
        }
    }
    return 0;
}

int rd_reach_from(struct rd_reach *r, uint32_t from, uint32_t to, uint32_t distance)
{
    if (!distance && r->closure)
        return (int)(r->closure[to * r->row + from / 64] >> from % 64 & 1);
    return search(r, from, to, distance);
}
