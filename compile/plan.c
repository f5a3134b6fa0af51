/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan's memory: every array has exactly the length its use needs. */
#include "compile/plan.h"

void rd_plan_free(struct rd_allocator *a, struct rd_plan *plan)
{
    if (!plan)
        return;
    if (plan->pred)
        rd_free_array(a, plan->pred, plan->pred_first[plan->nodes], sizeof *plan->pred);
    rd_free_array(a, plan->pred_first, (size_t)plan->nodes + 1, sizeof *plan->pred_first);
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
