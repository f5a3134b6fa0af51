/* SPDX-License-Identifier: BSD-3-Clause */
/* What instantiation adds to a recording: nodes that zero temporaries, the ranks of teams, and
 * (reduce.c) shares. The recording stays as it is; a copy is made where there is something to add.
 */
#include "subgraph/expand.h"
#include "subgraph/edges.h"
#include "subgraph/reach.h"

#include <stdio.h>
#include <string.h>

enum { TEAM = RONDO_HOSTED | RONDO_SPMD };

/* ---- adding */

rondo_status rd_expansion_add(struct rd_expansion *x, const struct rd_node *node,
                              struct rd_beside *beside, uint32_t *index)
{
    uint32_t at = (uint32_t)x->to->nodes.count - x->nodes;
    if (!rd_grow(&x->to->rt->alloc, (void **)&x->next, &x->next_capacity, at, 1, sizeof *x->next))
        return rd_no_memory(x->to);
    if (rd_node_add(x->to, node, index))
        return rd_no_memory(x->to);
    x->next[at] = 0;
    if (beside->last)
        x->next[beside->last - 1 - x->nodes] = *index + 1;
    else
        beside->first = *index + 1;
    beside->last = *index + 1;
    return RONDO_OK;
}

rondo_status rd_expansion_edge(struct rd_expansion *x, uint32_t from, uint32_t to,
                               uint32_t distance)
{
    struct rd_hand_edge *e;
    if (x->to->edges.count >= UINT32_MAX || !RD_ROOM(x->to, edges, 1))
        return rd_no_memory(x->to);
    e = &x->to->edges.item[x->to->edges.count++];
    e->from = from;
    e->to = to;
    e->distance = distance;
    return RONDO_OK;
}

rondo_status rd_expansion_name(struct rd_expansion *x, const char *what, uint32_t of,
                               uint32_t *name)
{
    char text[96];
    snprintf(text, sizeof text, "%s '%.70s'", what, rd_subgraph_text(x->to, of));
    return rd_name_add(x->to, text, name);
}

rondo_status rd_expansion_fill(struct rd_expansion *x, uint32_t slot, uint32_t box,
                               const void *value, size_t value_bytes, struct rd_node *node)
{
    struct rd_subgraph *to = x->to;
    const struct rd_slot *s = &to->slots.item[slot];
    const rd_box *b = &to->boxes.item[box];
    struct rd_move move;
    struct rd_access *a;
    memset(&move, 0, sizeof move);
    move.elem_bytes = s->shape.elem_bytes;
    memcpy(move.count, b->count, sizeof move.count);
    memcpy(move.to_pitch, s->shape.pitch_bytes, sizeof move.to_pitch);
    move.to = rd_box_offset(&s->shape, b);
    move.value_bytes = (uint32_t)value_bytes;
    node->fn = rd_move_fill;
    node->kind = RD_NODE_FILL;
    node->access = (uint32_t)to->accesses.count;
    node->access_count = 1;
    node->arg_bytes = (uint32_t)(sizeof move + value_bytes);
    if (to->accesses.count >= UINT32_MAX || !RD_ROOM(to, accesses, 1) ||
        rd_take_arg(to, &move, sizeof move, &node->arg) || !RD_ROOM(to, args, value_bytes))
        return rd_no_memory(to);
    memcpy(to->args.item + to->args.count, value, value_bytes);
    to->args.count += value_bytes;
    a = &to->accesses.item[to->accesses.count++];
    memset(a, 0, sizeof *a);
    a->slot = slot;
    a->mode = RONDO_WRITE;
    a->box = box;
    return RONDO_OK;
}

/* ---- zeroed temporaries */

static rondo_status add_zeros(struct rd_expansion *x, uint32_t slot, uint32_t user, uint32_t *fill)
{
    struct rd_subgraph *to = x->to;
    const struct rd_slot *s = &to->slots.item[slot];
    size_t value_bytes = s->shape.elem_bytes;
    struct rd_node node;
    rd_box box;
    void *zeros;
    rondo_status status;
    memset(&node, 0, sizeof node);
    memset(&box, 0, sizeof box);
    memcpy(box.count, s->shape.extent, sizeof box.count);
    node.bound = RD_PROCESSOR_ANY;
    node.cost_ns = s->bytes / 8 < UINT32_MAX ? (uint32_t)(s->bytes / 8) + 1 : UINT32_MAX;
    node.priority = to->nodes.item[user].priority;
    zeros = rd_zalloc_array(&to->rt->alloc, value_bytes, 1);
    if (!zeros || to->boxes.count >= UINT32_MAX || !RD_ROOM(to, boxes, 1)) {
        rd_free_array(&to->rt->alloc, zeros, value_bytes, 1);
        return rd_no_memory(to);
    }
    to->boxes.item[to->boxes.count++] = box;
    status = rd_expansion_fill(x, slot, (uint32_t)to->boxes.count - 1, zeros, value_bytes, &node);
    rd_free_array(&to->rt->alloc, zeros, value_bytes, 1);
    if (!status)
        status = rd_expansion_name(x, "zero", s->name, &node.name);
    return status ? status : rd_expansion_add(x, &node, &x->before[user], fill);
}

/* Each before the first node that uses the slot; where edges are explicit it precedes all. */
static rondo_status expand_zeroed(struct rd_expansion *x)
{
    const struct rd_subgraph *g = x->g;
    uint32_t *fill = rd_zalloc_array(&g->rt->alloc, g->slots.count, sizeof *fill); /* node + 1 */
    rondo_status status = fill ? RONDO_OK : rd_no_memory(g);
    uint32_t p, i, v, made;
    for (p = 0; p < x->nodes && !status; p++) {
        v = rd_expansion_node(x, p);
        for (i = 0; i < g->nodes.item[v].access_count && !status; i++) {
            uint32_t slot = g->accesses.item[g->nodes.item[v].access + i].slot;
            if (g->slots.item[slot].kind != RD_SLOT_TEMPORARY || !g->slots.item[slot].zeroed)
                continue;
            if (!fill[slot]) {
                status = add_zeros(x, slot, v, &made);
                fill[slot] = made + 1;
            }
            if (!status && g->edges_explicit)
                status = rd_expansion_edge(x, fill[slot] - 1, v, 0);
        }
    }
    rd_free_array(&g->rt->alloc, fill, g->slots.count, sizeof *fill);
    return status;
}

/* ---- teams */

static uint32_t ranks_of(const struct rd_expansion *x, uint32_t team)
{
    return team && team < x->processors ? team : x->processors;
}

static rondo_status add_rank(struct rd_expansion *x, uint32_t main, uint32_t rank)
{
    struct rd_subgraph *to = x->to;
    struct rd_node node = to->nodes.item[main];
    struct rd_extra extra;
    uint32_t index;
    memcpy(&extra, rd_node_extra(to, main), sizeof extra);
    extra.main = main;
    extra.rank = rank;
    if (to->extras.count >= UINT32_MAX || !RD_ROOM(to, extras, 1))
        return rd_no_memory(to);
    to->extras.item[to->extras.count++] = extra;
    node.extra = (uint32_t)to->extras.count;
    node.kind = RD_NODE_RANK;
    node.everything = 0;
    node.bound = (uint16_t)((node.bound + rank) % x->processors);
    return rd_expansion_add(x, &node, &x->after[main], &index);
}

static rondo_status add_ranks(struct rd_expansion *x, uint32_t main)
{
    struct rd_node *n = &x->to->nodes.item[main];
    const struct rd_extra *extra = rd_node_extra(x->to, main);
    uint32_t rank, ranks = extra->team;
    rondo_status status = RONDO_OK;
    if (!(extra->flags & TEAM) || ranks < 2)
        return RONDO_OK;
    if (n->bound == RD_PROCESSOR_ANY)
        n->bound = 0;
    for (rank = 1; rank < ranks && !status; rank++)
        status = add_rank(x, main, rank);
    return status;
}

/* Edges by hand of a team's node are those of all its ranks. */
static rondo_status double_edges(struct rd_expansion *x, const uint32_t *rank_of)
{
    size_t i, count = x->to->edges.count;
    rondo_status status = RONDO_OK;
    for (i = 0; i < count; i++) {
        struct rd_hand_edge e = x->to->edges.item[i];
        uint32_t f_first = e.from < x->nodes ? rank_of[e.from] : 0,
                 t_first = e.to < x->nodes ? rank_of[e.to] : 0;
        uint32_t f_count = f_first ? rd_node_extra(x->to, e.from)->team : 1,
                 t_count = t_first ? rd_node_extra(x->to, e.to)->team : 1, f, t;
        for (t = 0; t < t_count; t++)
            for (f = 0; f < f_count && !status; f++)
                if (f || t)
                    status = rd_expansion_edge(x, f ? f_first + f - 1 : e.from,
                                               t ? t_first + t - 1 : e.to, e.distance);
        if (status)
            return status;
    }
    return RONDO_OK;
}

static rondo_status expand_teams(struct rd_expansion *x)
{
    struct rd_subgraph *to = x->to;
    uint32_t *rank_of = rd_zalloc_array(&to->rt->alloc, x->nodes, sizeof *rank_of), v, first;
    rondo_status status = rank_of ? RONDO_OK : rd_no_memory(to);
    size_t i;
    for (i = 0; i < to->extras.count; i++)
        if (to->extras.item[i].flags & TEAM)
            to->extras.item[i].team = ranks_of(x, to->extras.item[i].team);
    for (v = 0; v < x->nodes && !status; v++) {
        first = (uint32_t)to->nodes.count;
        status = add_ranks(x, v);
        if (!status && to->nodes.count > first)
            rank_of[v] = first; /* of rank 1; the others are behind it */
    }
    if (!status)
        status = double_edges(x, rank_of);
    rd_free_array(&to->rt->alloc, rank_of, x->nodes, sizeof *rank_of);
    return status;
}

/* ---- the whole */

static int has_anything(const struct rd_subgraph *g)
{
    size_t i;
    for (i = 0; i < g->extras.count; i++)
        if (g->extras.item[i].flags & TEAM)
            return 1;
    for (i = 0; i < g->slots.count; i++)
        if (g->slots.item[i].zeroed)
            return 1;
    for (i = 0; i < g->accesses.count; i++)
        if (g->accesses.item[i].mode == RONDO_REDUCE)
            return 1;
    return 0;
}

/* Where edges are explicit what comes before what is theirs to say, not the recording's. *cyclic:
 * no order obeys them. */
static rondo_status explicit_order(struct rd_expansion *x, struct rd_reach *reach,
                                   struct rd_graph *graph, int *cyclic)
{
    struct rd_edges none = { NULL, NULL, 0, 0, 0 };
    struct rd_edge_lists lists = { x->g->edges.item, x->g->edges.count, 0, &none };
    rondo_status status = rd_graph_build(&x->g->rt->alloc, &lists, x->nodes, graph);
    if (status)
        return status;
    status = rd_subgraph_check(x->g, graph);
    *cyclic = status == RONDO_ERR_INVALID;
    if (!status)
        status = rd_reach_make(&x->g->rt->alloc, graph, reach);
    if (status) {
        rd_graph_free(&x->g->rt->alloc, graph);
        return status;
    }
    x->order = reach->order;
    return RONDO_OK;
}

static rondo_status make_sequence(struct rd_expansion *x)
{
    struct rd_subgraph *to = x->to;
    uint32_t p, v, i, n = 0;
    to->sequence = rd_alloc_array(&to->rt->alloc, to->nodes.count, sizeof *to->sequence);
    if (!to->sequence)
        return rd_no_memory(to);
    for (p = 0; p < x->nodes; p++) {
        v = rd_expansion_node(x, p);
        for (i = x->before[v].first; i; i = x->next[i - 1 - x->nodes])
            to->sequence[n++] = i - 1;
        to->sequence[n++] = v;
        for (i = x->after[v].first; i; i = x->next[i - 1 - x->nodes])
            to->sequence[n++] = i - 1;
    }
    return RONDO_OK;
}

static rondo_status expand(struct rd_expansion *x)
{
    struct rd_allocator *a = &x->g->rt->alloc;
    size_t n = x->nodes;
    uint32_t p;
    rondo_status status = RONDO_OK;
    x->position = rd_alloc_array(a, n, sizeof *x->position);
    x->before = rd_zalloc_array(a, n, sizeof *x->before);
    x->after = rd_zalloc_array(a, n, sizeof *x->after);
    x->to = rd_subgraph_copy(x->g);
    if (!x->position || !x->before || !x->after || !x->to)
        status = rd_no_memory(x->g);
    for (p = 0; p < n && !status; p++)
        x->position[rd_expansion_node(x, p)] = p;
    if (!status)
        status = expand_zeroed(x);
    if (!status)
        status = rd_expand_reductions(x);
    if (!status)
        status = expand_teams(x);
    if (!status)
        status = make_sequence(x);
    rd_free_array(a, x->position, n, sizeof *x->position);
    rd_free_array(a, x->before, n, sizeof *x->before);
    rd_free_array(a, x->after, n, sizeof *x->after);
    rd_free_array(a, x->next, x->next_capacity, sizeof *x->next);
    if (status && x->to)
        rd_subgraph_unref(x->to);
    return status;
}

rondo_status rd_subgraph_expand(struct rd_subgraph *g, uint32_t processors,
                                struct rd_subgraph **expanded)
{
    struct rd_expansion x;
    struct rd_reach reach;
    struct rd_graph graph;
    rondo_status status;
    int ordered = g->edges_explicit && has_anything(g), cyclic = 0;
    memset(&x, 0, sizeof x);
    x.g = g;
    x.processors = processors;
    x.nodes = (uint32_t)g->nodes.count;
    x.edges = g->edges.count;
    status = ordered ? explicit_order(&x, &reach, &graph, &cyclic) : RONDO_OK;
    if (cyclic || !has_anything(g)) { /* the analysis refuses a circle */
        rd_add_relaxed(&g->refs, 1);  /* the caller has a reference */
        *expanded = g;
        return RONDO_OK;
    }
    if (status)
        return status;
    status = expand(&x);
    if (ordered) {
        rd_reach_free(&reach);
        rd_graph_free(&g->rt->alloc, &graph);
    }
    if (!status)
        *expanded = x.to;
    return status;
}
