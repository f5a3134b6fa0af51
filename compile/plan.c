/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan's memory: every array has exactly the length its use needs. */
#include "compile/plan.h"

static void free_preds(struct rd_allocator *a, uint32_t nodes, struct rd_plan_preds *p)
{
    if (p->pred)
        rd_free_array(a, p->pred, p->first[nodes], sizeof *p->pred);
    rd_free_array(a, p->first, (size_t)nodes + 1, sizeof *p->first);
}

static void free_variants(struct rd_allocator *a, struct rd_plan *plan)
{
    for (uint32_t i = 0; plan->own && i < plan->variants; i++)
        free_preds(a, plan->nodes, &plan->own[i]);
    rd_free_array(a, plan->own, plan->variants, sizeof *plan->own);
    for (uint32_t i = 0; plan->variant && i + 1 < plan->variants; i++) {
        struct rd_plan_variant *v = &plan->variant[i];
        rd_free_array(a, v->op, plan->nodes, sizeof *v->op);
        rd_free_array(a, v->wait, v->further_waits, sizeof *v->wait);
        rd_free_array(a, v->wait_first, plan->lanes, sizeof *v->wait_first);
    }
    if (plan->variant)
        rd_free_array(a, plan->variant, plan->variants - 1, sizeof *plan->variant);
    rd_free_array(a, plan->variant_of_phase, plan->phases, sizeof *plan->variant_of_phase);
}

void rd_plan_free(struct rd_allocator *a, struct rd_plan *plan)
{
    if (!plan)
        return;
    free_variants(a, plan);
    free_preds(a, plan->nodes, &(struct rd_plan_preds){ plan->pred_first, plan->pred });
    rd_free_array(a, plan->op_of_node, plan->nodes, sizeof *plan->op_of_node);
    rd_free_array(a, plan->wait, plan->further_waits, sizeof *plan->wait);
    rd_free_array(a, plan->op, plan->nodes, sizeof *plan->op);
    rd_free_array(a, plan->lane, plan->lanes, sizeof *plan->lane);
    rd_free(a, plan, sizeof *plan);
}

uint32_t rd_plan_lane_of_op(const struct rd_plan *plan, uint32_t op)
{
    uint32_t low = 0, high = plan->lanes;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->lane[middle].first <= op)
            low = middle;
        else
            high = middle;
    }
    return low;
}
