/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes pass: cuts the global linear order into lanes and lays out ops and bad bits. */
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

/* Lanes by ascending processor; lane_of[] for the processors that have nodes. */
static uint32_t number_lanes(const struct rd_pass *p, const uint16_t *processor, uint32_t *length,
                             uint16_t *lane_of)
{
    uint32_t lanes = 0;
    for (uint32_t v = 0; v < p->nodes; v++)
        length[processor[v]]++;
    for (uint32_t i = 0; i < p->in->processors; i++)
        if (length[i])
            lane_of[i] = (uint16_t)lanes++;
    return lanes;
}

static rondo_status lay_out(const struct rd_pass *p, const uint32_t *length,
                            const uint16_t *lane_of, struct rd_plan *plan)
{
    uint64_t bits = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < p->in->processors; i++) {
        struct rd_plan_lane *l = &plan->lane[lane_of[i]];
        if (!length[i])
            continue;
        l->processor = i;
        l->first = first;
        l->length = length[i];
        l->bit_first = (uint32_t)bits;
        first += length[i];
        bits += (length[i] + (uint64_t)BIT_ALIGN - 1) / BIT_ALIGN * BIT_ALIGN;
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

rondo_status rd_lanes(struct rd_pass *p, const struct rd_placement *placement,
                      struct rd_plan **plan, uint16_t **lane_of_node)
{
    struct rd_scratch *s = &p->scratch;
    uint32_t *length = rd_scratch_zeroed(s, p->in->processors, sizeof *length), lanes;
    uint16_t *lane_of = rd_scratch_zeroed(s, p->in->processors, sizeof *lane_of);
    uint16_t *of_node = rd_scratch_array(s, p->nodes, sizeof *of_node);
    struct rd_plan *made = NULL;
    rondo_status status;
    if (!length || !lane_of || !of_node)
        return rd_pass_memory();
    lanes = number_lanes(p, placement->processor, length, lane_of);
    if (lanes > 1) {
        p->crossing_out = rd_scratch_zeroed(s, p->nodes, sizeof *p->crossing_out);
        if (!p->crossing_out)
            return rd_pass_memory();
    }
    for (uint32_t v = 0; v < p->nodes; v++)
        of_node[v] = lane_of[placement->processor[v]];
    status = allocate(p, lanes, &made);
    if (!status)
        status = lay_out(p, length, lane_of, made);
    if (status)
        goto free_plan;
    fill(p, placement, of_node, length, made);
    look_at_edges(p, of_node, made);
    made->makespan_ns = placement->time_ns;
    *plan = made;
    *lane_of_node = of_node;
    return RONDO_OK;
free_plan:
    rd_plan_free(p->scratch.a, made);
    return status;
}
