/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes pass: cuts the global linear order into lanes, one for each processor and set of
 * external nodes upstream (external.c), and lays out ops and bad bits. */
#include "compile/passes.h"

enum { BIT_ALIGN = 512 };

static rondo_status allocate(struct rd_pass *p, uint32_t lanes, struct rd_plan **out)
{
    struct rd_allocator *a = p->scratch.a;
    struct rd_plan *plan = rd_zalloc(a, sizeof *plan, _Alignof(struct rd_plan));
    if (!plan)
        return rd_pass_memory();
    plan->nodes = p->nodes;
    plan->lanes = lanes;
    plan->edges = p->edges;
    plan->carried_edges = p->carried_edges;
    plan->distance = p->graph->distance;
    plan->phases = plan->variants = 1;
    plan->work_ns = p->work_ns;
    *out = plan;
    plan->lane = rd_zalloc_array(a, lanes, sizeof *plan->lane);
    plan->op = rd_alloc(a, (size_t)p->nodes * sizeof *plan->op, 64);
    plan->op_of_node = rd_alloc_array(a, p->nodes, sizeof *plan->op_of_node);
    plan->pred_first = rd_alloc_array(a, (size_t)p->nodes + 1, sizeof *plan->pred_first);
    if (!plan->lane || !plan->op || !plan->op_of_node || !plan->pred_first)
        return rd_pass_memory();
    plan->pred_first[p->nodes] = p->edges; /* what rd_plan_free needs */
    plan->pred = rd_alloc_array(a, p->edges, sizeof *plan->pred);
    return plan->pred ? RONDO_OK : rd_pass_memory();
}

/* What a lane is of: a processor, and a set of external nodes upstream; numbered by
 * processor * sets + set. */
struct parts {
    const uint16_t *processor; /* by node */
    const uint8_t *set;        /* by node; NULL: all in set 0 */
    uint32_t sets, count;
    uint32_t *length;  /* by part */
    uint16_t *lane_of; /* by part, if it has nodes */
};

static uint32_t part_of(const struct parts *x, uint32_t v)
{
    return x->set ? x->processor[v] * x->sets + x->set[v] : x->processor[v];
}

/* Lanes by ascending part. */
static rondo_status number_lanes(const struct rd_pass *p, struct parts *x, uint32_t *lanes)
{
    *lanes = 0;
    for (uint32_t v = 0; v < p->nodes; v++)
        x->length[part_of(x, v)]++;
    for (uint32_t i = 0; i < x->count; i++) {
        if (!x->length[i])
            continue;
        if (*lanes == RD_LANES_MAX)
            return rd_error(RONDO_ERR_INVALID,
                            "%u processors and %u sets of nodes that may block make more than %d "
                            "lanes",
                            p->in->processors, x->sets, RD_LANES_MAX);
        x->lane_of[i] = (uint16_t)(*lanes)++;
    }
    return RONDO_OK;
}

static rondo_status lay_out(const struct rd_pass *p, const struct parts *x, struct rd_plan *plan)
{
    uint64_t bits = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        struct rd_plan_lane *l = &plan->lane[x->lane_of[i]];
        uint32_t length = x->length[i];
        if (!length)
            continue;
        l->processor = i / x->sets;
        l->first = first;
        l->length = length;
        l->bit_first = (uint32_t)bits;
        first += length;
        bits += (length + (uint64_t)BIT_ALIGN - 1) / BIT_ALIGN * BIT_ALIGN;
        if (bits > UINT32_MAX)
            return rd_error(RONDO_ERR_INVALID, "%u nodes on %u processors exceed %u bad bits",
                            p->nodes, p->in->processors, UINT32_MAX);
    }
    plan->bits = (uint32_t)bits;
    return RONDO_OK;
}

static void fill(const struct rd_pass *p, const struct rd_placement *placement,
                 const uint16_t *lane_of_node, uint32_t *next, struct rd_plan *plan)
{
    for (uint32_t i = 0; i < plan->lanes; i++)
        next[i] = plan->lane[i].first;
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = placement->ids ? i : placement->order[i];
        uint32_t op = next[lane_of_node[v]]++;
        plan->op[op] = (struct rd_op){ .node = v };
        plan->op_of_node[v] = op;
    }
}

/* The predecessors' bad bits, and what crosses between lanes. */
static void look_at_edges(struct rd_pass *p, const uint16_t *lane_of_node, struct rd_plan *plan)
{
    const struct rd_graph *g = p->graph;
    uint32_t at = 0;
    for (uint32_t v = 0; v < p->nodes; v++) {
        uint32_t lane = lane_of_node[v], preds = g->first[v + 1] - g->first[v];
        plan->pred_first[v] = at;
        p->most_preds = preds > p->most_preds ? preds : p->most_preds;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from, crosses = lane_of_node[u] != lane;
            const struct rd_plan_lane *l = &plan->lane[lane_of_node[u]];
            if (!g->pred[e].distance)
                plan->pred[at++] = l->bit_first + (plan->op_of_node[u] - l->first);
            if (!p->crossing_out)
                continue;
            p->crossing_out[u] += crosses; /* no branch: it would go either way half of the time */
            p->crossing += crosses;
            if (crosses * g->pred[e].distance > p->crossing_distance)
                p->crossing_distance = g->pred[e].distance;
        }
    }
    plan->pred_first[p->nodes] = at;
}

static rondo_status divide(struct rd_pass *p, const struct rd_placement *placement, struct parts *x)
{
    struct rd_scratch *s = &p->scratch;
    uint8_t *set;
    rondo_status status = rd_external_sets(p, &set, &x->sets);
    if (status)
        return status;
    x->processor = placement->processor;
    x->set = set;
    x->count = p->in->processors * x->sets;
    x->length = rd_scratch_zeroed(s, x->count, sizeof *x->length);
    x->lane_of = rd_scratch_zeroed(s, x->count, sizeof *x->lane_of);
    return x->length && x->lane_of ? RONDO_OK : rd_pass_memory();
}

rondo_status rd_lanes(struct rd_pass *p, const struct rd_placement *placement,
                      struct rd_plan **plan, uint16_t **lane_of_node)
{
    struct rd_scratch *s = &p->scratch;
    uint16_t *of_node = rd_scratch_array(s, p->nodes, sizeof *of_node);
    struct rd_plan *made = NULL;
    struct parts x = { 0 };
    uint32_t lanes;
    rondo_status status = of_node ? divide(p, placement, &x) : rd_pass_memory();
    if (!status)
        status = number_lanes(p, &x, &lanes);
    if (status)
        return status;
    if (lanes > 1) {
        p->crossing_out = rd_scratch_zeroed(s, p->nodes, sizeof *p->crossing_out);
        if (!p->crossing_out)
            return rd_pass_memory();
    }
    for (uint32_t v = 0; v < p->nodes; v++)
        of_node[v] = x.lane_of[part_of(&x, v)];
    status = allocate(p, lanes, &made);
    if (!status)
        status = lay_out(p, &x, made);
    if (status)
        goto free_plan;
    fill(p, placement, of_node, x.length, made);
    look_at_edges(p, of_node, made);
    made->makespan_ns = placement->time_ns;
    *plan = made;
    *lane_of_node = of_node;
    return RONDO_OK;
free_plan:
    rd_plan_free(p->scratch.a, made);
    return status;
}
