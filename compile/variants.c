/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan has for each variant of a graph beside its waits: ops at the same positions, and
 * predecessors. The order, the places and the lanes are those of the union of all variants. */
#include "compile/passes.h"

#include <string.h>

static rondo_status copy_phases(struct rd_pass *p, struct rd_plan *plan)
{
    const struct rd_graph *g = p->graph;
    struct rd_allocator *a = p->scratch.a;
    uint16_t *phases = rd_alloc_array(a, g->phases, sizeof *phases);
    if (!phases)
        return rd_pass_memory();
    memcpy(phases, g->variant_of_phase, g->phases * sizeof *phases);
    plan->phases = g->phases;
    plan->variant_of_phase = phases;
    if (g->variants < 2)
        return RONDO_OK;
    plan->variants = g->variants;
    plan->own = rd_zalloc_array(a, g->variants, sizeof *plan->own);
    plan->variant = rd_zalloc_array(a, g->variants - 1, sizeof *plan->variant);
    return plan->own && plan->variant ? RONDO_OK : rd_pass_memory();
}

static rondo_status copy_ops(struct rd_pass *p, struct rd_plan *plan, struct rd_plan_variant *v)
{
    struct rd_allocator *a = p->scratch.a;
    v->op = rd_alloc(a, (size_t)plan->nodes * sizeof *v->op, 64);
    v->wait_first = rd_zalloc_array(a, plan->lanes, sizeof *v->wait_first);
    if (!v->op || !v->wait_first)
        return rd_pass_memory();
    memcpy(v->op, plan->op, (size_t)plan->nodes * sizeof *v->op);
    return RONDO_OK;
}

static rondo_status list_preds(struct rd_pass *p, const struct rd_variant *from,
                               const uint16_t *lane_of_node, const struct rd_plan *plan,
                               struct rd_plan_preds *to)
{
    uint32_t count = 0;
    to->first = rd_alloc_array(p->scratch.a, (size_t)p->nodes + 1, sizeof *to->first);
    if (!to->first)
        return rd_pass_memory();
    for (uint32_t v = 0; v < p->nodes; v++) {
        to->first[v] = count;
        for (uint32_t e = from->first[v]; e < from->first[v + 1]; e++)
            count += !from->pred[e].distance;
    }
    to->first[p->nodes] = count;
    to->pred = rd_alloc_array(p->scratch.a, count, sizeof *to->pred);
    if (!to->pred)
        return rd_pass_memory();
    count = 0;
    for (uint32_t e = 0; e < from->first[p->nodes]; e++) {
        uint32_t u = from->pred[e].from;
        const struct rd_plan_lane *l = &plan->lane[lane_of_node[u]];
        if (!from->pred[e].distance)
            to->pred[count++] = l->bit_first + (plan->op_of_node[u] - l->first);
    }
    return RONDO_OK;
}

rondo_status rd_variants(struct rd_pass *p, const uint16_t *lane_of_node, struct rd_plan *plan)
{
    rondo_status s;
    if (p->graph->phases < 2)
        return RONDO_OK;
    s = copy_phases(p, plan);
    for (uint32_t i = 0; i < plan->variants && plan->own && !s; i++) {
        s = list_preds(p, &p->graph->variant[i], lane_of_node, plan, &plan->own[i]);
        if (!s && i)
            s = copy_ops(p, plan, &plan->variant[i - 1]);
    }
    return s;
}
