/* SPDX-License-Identifier: BSD-3-Clause */
/* Reachability: a closure in bits for small graphs; else one search backwards per target, as far as
 * the level of the nodes sought. */
#include "subgraph/reach.h"

#include "src/base/error.h"

#include <string.h>

struct rd_reach_state {
    uint64_t key; /* {replays back: 32, UINT32_MAX - level: 32} */
    uint32_t node;
};

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
    rd_free_array(r->alloc, r->heap, r->heap_capacity, sizeof *r->heap);
}

/* ---- the search, backwards from one target: states come out of a heap, fewer replays back first,
 * then greater levels, so that each one asked for is found or ruled out before anything it cannot
 * come from is looked at; the next question about the same target goes on from there. */

static uint64_t key_of(const struct rd_reach *r, uint32_t node, uint32_t back)
{
    return (uint64_t)back << 32 | (UINT32_MAX - r->level[node]);
}

/* Seen so many replays back. */
static int seen(const struct rd_reach *r, uint32_t node, uint32_t back)
{
    return r->stamp[(size_t)back * r->graph->nodes + node] == r->search;
}

static int push(struct rd_reach *r, uint32_t node, uint32_t back)
{
    struct rd_reach_state state = { key_of(r, node, back), node };
    size_t at = r->heap_count;
    if (seen(r, node, back))
        return 1;
    if (!rd_grow(r->alloc, (void **)&r->heap, &r->heap_capacity, at, 1, sizeof *r->heap))
        return 0;
    r->stamp[(size_t)back * r->graph->nodes + node] = r->search;
    r->heap_count++;
    for (; at && r->heap[(at - 1) / 2].key > state.key; at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    r->heap[at] = state;
    return 1;
}

static struct rd_reach_state pop(struct rd_reach *r)
{
    struct rd_reach_state top = r->heap[0], last = r->heap[--r->heap_count];
    size_t at = 0, child = 1;
    for (; child < r->heap_count; child = 2 * at + 1) {
        if (child + 1 < r->heap_count && r->heap[child + 1].key < r->heap[child].key)
            child++;
        if (r->heap[child].key >= last.key)
            break;
        r->heap[at] = r->heap[child];
        at = child;
    }
    r->heap[at] = last;
    return top;
}

/* A new target, or more replays back than there are stamps for. */
static int begin_search(struct rd_reach *r, uint32_t to, uint32_t distance)
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
    r->heap_count = 0;
    r->target = to;
    return push(r, to, 0);
}

static int search(struct rd_reach *r, uint32_t from, uint32_t to, uint32_t distance)
{
    const struct rd_graph *g = r->graph;
    uint32_t i, layers;
    if ((r->target != to || (size_t)g->nodes * (distance + 1) > r->stamps) &&
        !begin_search(r, to, distance))
        goto no_memory;
    layers = (uint32_t)(r->stamps / g->nodes);
    while (!seen(r, from, distance)) {
        struct rd_reach_state state;
        uint32_t back;
        if (!r->heap_count || r->heap[0].key >= key_of(r, from, distance))
            return 0;
        state = pop(r);
        back = (uint32_t)(state.key >> 32);
        for (i = g->first[state.node]; i < g->first[state.node + 1]; i++) {
            const struct rd_edge *e = &g->pred[i];
            if (back + e->distance < layers && !push(r, e->from, back + e->distance))
                goto no_memory;
        }
    }
    return 1;
no_memory:
    r->target = UINT32_MAX; /* what is there is no whole search */
    return -1;
}

int rd_reach_from(struct rd_reach *r, uint32_t from, uint32_t to, uint32_t distance)
{
    if (!distance && r->closure)
        return (int)(r->closure[to * r->row + from / 64] >> from % 64 & 1);
    if (!distance && from == to)
        return 0;
    return search(r, from, to, distance);
}
