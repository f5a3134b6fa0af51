/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a flow: successors, inputs, first counts. A pure function of the graph and the plan but
 * for what its lanes start with. */
#include "compile/passes.h"
#include "compile/run/flow_data.h"

#include <string.h>

struct builder {
    struct rd_allocator *a;
    const struct rd_flow_input *in;
    const struct rd_graph *graph;
    const uint32_t *op_of;
    struct rd_flow *w;
    struct rd_pass pass;    /* for its ranks, and as scratch memory */
    struct rd_keyed *order; /* nodes, the best first */
    uint32_t *intra;        /* predecessors within the replay, by op */
};

static rondo_status no_memory(const struct builder *b)
{
    return rd_error(RONDO_ERR_MEMORY, "no memory for the dataflow of %u nodes in %u replays",
                    b->graph->nodes, b->w->arrays);
}

/* ---- the order in which ready nodes are preferred */

static rondo_status sort_nodes(struct builder *b, const struct rd_compile_input *in)
{
    const uint32_t n = b->graph->nodes;
    struct rd_pass *p = &b->pass;
    struct rd_keyed *key, *spare;
    uint64_t *rank;
    rondo_status s;
    p->in = in;
    p->graph = b->graph;
    p->nodes = n;
    p->scratch.a = b->a;
    s = rd_order(p);
    if (s)
        return s;
    rank = rd_scratch_array(&p->scratch, n, sizeof *rank);
    key = rd_scratch_array(&p->scratch, n, sizeof *key);
    spare = rd_scratch_array(&p->scratch, n, sizeof *spare);
    b->intra = rd_scratch_zeroed(&p->scratch, n, sizeof *b->intra);
    if (!rank || !key || !spare || !b->intra)
        return no_memory(b);
    rd_order_ranks(p, NULL, rank);
    b->order = rd_order_sort(p, rank, key, spare);
    return RONDO_OK;
}

/* ---- inputs */

/* A node that may not meet itself has a carried edge of its own, unless replays do not overlap. */
static int follows_itself(const struct builder *b, uint32_t node)
{
    return !b->in->serial && b->in->alone && b->in->alone[node];
}

static void count_inputs(struct builder *b)
{
    const struct rd_graph *g = b->graph;
    struct rd_flow *w = b->w;
    for (uint32_t v = 0; v < g->nodes; v++) {
        uint32_t op = b->op_of[v];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            b->intra[op] += !g->pred[e].distance;
        w->deps[op] =
            g->first[v + 1] - g->first[v] + !b->intra[op] + (uint32_t)follows_itself(b, v);
        w->root_count += !b->intra[op];
    }
}

/* A node's fan: its successor with the most inputs, if they are many; END for a sink. */
static void choose_fans(struct builder *b)
{
    const struct rd_graph *g = b->graph;
    struct rd_flow *w = b->w;
    for (uint32_t v = 0; v < w->nodes; v++)
        w->node[v].fan = w->nodes;
    for (uint32_t v = 0; v < g->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t op = b->op_of[v];
            uint32_t *fan = &w->node[b->op_of[g->pred[e].from]].fan;
            if (g->pred[e].distance)
                continue;
            if (*fan == w->nodes)
                *fan = RD_FLOW_NO_FAN;
            if (w->deps[op] >= RD_FLOW_FAN_MIN &&
                (*fan == RD_FLOW_NO_FAN || w->deps[op] > w->deps[*fan]))
                *fan = op;
        }
    for (uint32_t v = 0; v < w->nodes; v++)
        w->end_deps += w->node[v].fan == w->nodes;
}

/* ---- successors */

static void sum_up(uint32_t *count, size_t stride, uint32_t n)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i <= n; i++, count += stride) {
        uint32_t here = *count;
        *count = total;
        total += here;
    }
}

/* From counts to places, in node[].succ and carried_first[]. */
static int count_successors(struct builder *b)
{
    const struct rd_graph *g = b->graph;
    struct rd_flow *w = b->w;
    const size_t stride = sizeof *w->node / sizeof w->node->succ;
    for (uint32_t v = 0; v < g->nodes; v++) {
        w->carried_first[b->op_of[v]] += (uint32_t)follows_itself(b, v);
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t from = b->op_of[g->pred[e].from];
            if (g->pred[e].distance)
                w->carried_first[from]++;
            else if (w->node[from].fan != b->op_of[v])
                w->node[from].succ++;
        }
    }
    for (uint32_t v = 0; v < w->nodes; v++)
        w->node[v].carries = w->carried_first[v] != 0;
    sum_up(&w->node[0].succ, stride, w->nodes);
    sum_up(w->carried_first, 1, w->nodes);
    w->succ_room = w->node[w->nodes].succ;
    w->carried_room = w->carried_first[w->nodes];
    w->succ = rd_alloc_array(b->a, w->succ_room, sizeof *w->succ);
    w->carried = rd_alloc_array(b->a, w->carried_room, sizeof *w->carried);
    w->root = rd_alloc_array(b->a, w->root_count, sizeof *w->root);
    return w->succ && w->carried && w->root;
}

/* Going through the nodes from the worst on leaves every list with its best last. */
static rondo_status place_successors(struct builder *b)
{
    const struct rd_graph *g = b->graph;
    struct rd_flow *w = b->w;
    uint32_t root = 0;
    uint32_t *at = rd_scratch_array(&b->pass.scratch, w->nodes, sizeof *at);
    uint32_t *carried_at = rd_scratch_array(&b->pass.scratch, w->nodes, sizeof *carried_at);
    if (!at || !carried_at || !count_successors(b))
        return no_memory(b);
    for (uint32_t v = 0; v < w->nodes; v++) {
        at[v] = w->node[v].succ;
        carried_at[v] = w->carried_first[v];
    }
    for (uint32_t i = w->nodes; i-- > 0;) {
        uint32_t v = b->order[i].node, op = b->op_of[v], deps = w->deps[op];
        if (!b->intra[op])
            w->root[root++] = (struct rd_flow_edge){ op, deps };
        if (follows_itself(b, v))
            w->carried[carried_at[op]++] = (struct rd_flow_carried){ op, deps, 1 };
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t from = b->op_of[g->pred[e].from], distance = g->pred[e].distance;
            if (distance)
                w->carried[carried_at[from]++] = (struct rd_flow_carried){ op, deps, distance };
            else if (w->node[from].fan != op)
                w->succ[at[from]++] = (struct rd_flow_edge){ op, deps };
        }
    }
    return RONDO_OK;
}

/* Inputs from replays before the first. */
static void count_in_advance(struct builder *b)
{
    const struct rd_graph *g = b->graph;
    struct rd_flow *w = b->w;
    for (uint32_t v = 0; v < g->nodes; v++) {
        rd_atomic32 *first = &w->count[b->op_of[v]];
        if (follows_itself(b, v))
            rd_store_relaxed(first, 1); /* relaxed, here and below: nobody runs yet */
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            for (uint32_t r = 0; r < g->pred[e].distance; r++) {
                rd_atomic32 *c = &first[r * w->stride];
                rd_store_relaxed(c, rd_load_relaxed(c) + 1);
            }
    }
}

/* ---- where nodes may run */

static void place_nodes(struct builder *b)
{
    const struct rd_plan *plan = b->in->plan;
    struct rd_flow *w = b->w;
    for (uint32_t l = 0; l < plan->lanes; l++)
        for (uint32_t i = 0; i < plan->lane[l].length; i++)
            w->node[plan->lane[l].first + i].bit = plan->lane[l].bit_first + i;
    for (uint32_t v = 0; v < w->nodes; v++) {
        uint16_t bound = b->in->bound ? b->in->bound[v] : (uint16_t)RD_PLACE_ANY;
        uint16_t home = b->in->home ? b->in->home[v] : (uint16_t)0;
        w->node[b->op_of[v]].bound = bound;
        if (w->home)
            w->home[b->op_of[v]] = (uint16_t)(home < w->workers ? home : v % w->workers);
    }
}

/* ---- memory */

static int make_lane(struct builder *b, uint32_t number)
{
    struct rd_flow_lane *fl = &b->w->lane[number];
    fl->deque.cell = rd_zalloc_array(b->a, b->w->cells, sizeof *fl->deque.cell);
    fl->pending = rd_alloc_array(b->a, b->w->pend_room, sizeof *fl->pending);
    if (!fl->deque.cell || !fl->pending)
        return 0;
    fl->deque.mask = b->w->cells - 1;
    rd_store_relaxed(&fl->inbox, RD_FLOW_NO_ITEM); /* published with the lanes */
    fl->stack = RD_FLOW_NO_ITEM;
    fl->number = number;
    fl->array = UINT32_MAX;
    fl->helper = number >= b->w->workers;
    fl->random = number * 0x9e3779b97f4a7c15ull + 1;
    return 1;
}

static int make_arrays(struct builder *b)
{
    struct rd_allocator *a = b->a;
    struct rd_flow *w = b->w;
    const size_t all = w->arrays * w->stride;
    w->node = rd_zalloc(a, (w->nodes + 1ull) * sizeof *w->node, RD_LINE);
    w->deps = rd_alloc_array(a, w->nodes, sizeof *w->deps);
    w->carried_first = rd_zalloc_array(a, w->nodes + 1ull, sizeof *w->carried_first);
    w->count = rd_zalloc(a, all * sizeof *w->count, RD_LINE);
    w->use = rd_zalloc(a, w->arrays * sizeof *w->use, RD_LINE);
    w->lane = rd_zalloc(a, w->lanes * sizeof *w->lane, RD_LINE);
    w->hungry = rd_zalloc_array(a, w->hungry_words, sizeof *w->hungry);
    if (!w->node || !w->deps || !w->carried_first || !w->count || !w->use || !w->lane || !w->hungry)
        return 0;
    if (w->bounded && !(w->home = rd_alloc_array(a, w->nodes, sizeof *w->home)))
        return 0;
    if ((w->bounded || w->nodes > w->cells / w->arrays) &&
        !(w->link = rd_alloc_array(a, all, sizeof *w->link)))
        return 0;
    for (uint32_t i = 0; i < w->lanes; i++)
        if (!make_lane(b, i))
            return 0;
    return 1;
}

static void set_sizes(struct builder *b)
{
    const struct rd_flow_input *in = b->in;
    struct rd_flow *w = b->w;
    w->nodes = in->graph->nodes;
    w->lanes = in->processors;
    w->workers = in->processors - in->helpers;
    w->serial = in->serial;
    w->arrays = (in->serial ? 1 : in->window) +
                (in->graph->distance ? in->graph->distance : in->alone != NULL);
    w->stride = (w->nodes + 1ull + 31) & ~31ull; /* END; whole lines */
    w->hungry_words = (w->lanes + 63) / 64;
    w->pend_room = in->pend_most * w->arrays;
    w->bounded = in->helpers > 0;
    for (uint32_t v = 0; in->bound && v < w->nodes; v++)
        w->bounded |= in->bound[v] != RD_PLACE_ANY;
    w->cells = 64;
    while (w->cells < RD_FLOW_CELLS_MAX && w->cells < w->nodes * (uint64_t)w->arrays)
        w->cells *= 2;
}

rondo_status rd_flow_new(struct rd_allocator *a, const struct rd_flow_input *in,
                         struct rd_flow **flow)
{
    const struct rd_compile_input ranks = { .graph = in->graph,
                                            .cost_ns = in->cost_ns,
                                            .priority = in->priority,
                                            .processors = 1,
                                            .unknown_cost_ns = 1 };
    struct builder b = { .a = a, .in = in, .graph = in->graph, .op_of = in->plan->op_of_node };
    rondo_status s;
    b.w = rd_zalloc(a, sizeof *b.w, RD_LINE);
    if (!b.w)
        return rd_error(RONDO_ERR_MEMORY, "no memory for a dataflow");
    set_sizes(&b);
    s = sort_nodes(&b, &ranks);
    if (!s && !make_arrays(&b))
        s = no_memory(&b);
    if (!s) {
        count_inputs(&b);
        choose_fans(&b);
        s = place_successors(&b);
    }
    rd_scratch_free(&b.pass.scratch);
    if (s) {
        rd_flow_free(a, b.w);
        return s;
    }
    place_nodes(&b);
    count_in_advance(&b);
    *flow = b.w;
    return RONDO_OK;
}

void rd_flow_free(struct rd_allocator *a, struct rd_flow *w)
{
    const size_t all = w ? w->arrays * w->stride : 0;
    if (!w)
        return;
    for (uint32_t i = 0; w->lane && i < w->lanes; i++) {
        rd_free_array(a, w->lane[i].deque.cell, w->cells, sizeof *w->lane->deque.cell);
        rd_free_array(a, w->lane[i].pending, w->pend_room, sizeof *w->lane->pending);
    }
    rd_free(a, w->node, (w->nodes + 1ull) * sizeof *w->node);
    rd_free_array(a, w->deps, w->nodes, sizeof *w->deps);
    rd_free_array(a, w->carried_first, w->nodes + 1ull, sizeof *w->carried_first);
    rd_free_array(a, w->succ, w->succ_room, sizeof *w->succ);
    rd_free_array(a, w->carried, w->carried_room, sizeof *w->carried);
    rd_free_array(a, w->root, w->root_count, sizeof *w->root);
    rd_free_array(a, w->home, w->nodes, sizeof *w->home);
    rd_free(a, w->count, all * sizeof *w->count);
    rd_free_array(a, w->link, all, sizeof *w->link);
    rd_free(a, w->use, w->arrays * sizeof *w->use);
    rd_free(a, w->lane, w->lanes * sizeof *w->lane);
    rd_free_array(a, w->hungry, w->hungry_words, sizeof *w->hungry);
    rd_free(a, w, sizeof *w);
}
