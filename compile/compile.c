/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the passes in their order. */
#include "compile/passes.h"

#include <stdio.h>

rondo_status rd_compile_check_input(const struct rd_compile_input *in)
{
    const uint16_t *bound = in->bound;
    if (in->processors < 1 || in->processors > RD_LANES_MAX)
        return rd_error(RONDO_ERR_INVALID, "%u processors: from 1 to %d can have lanes",
                        in->processors, RD_LANES_MAX);
    if (in->graph->nodes > RD_POSITION_MAX)
        return rd_error(RONDO_ERR_INVALID, "%u nodes: a plan holds at most %d", in->graph->nodes,
                        RD_POSITION_MAX);
    if (in->helpers >= in->processors)
        return rd_error(RONDO_ERR_INVALID, "%u helpers among %u processors: one at least is none",
                        in->helpers, in->processors);
    for (uint32_t v = 0; v < in->graph->nodes && bound; v++)
        if (bound[v] != RD_PLACE_ANY && bound[v] >= in->processors)
            return rd_error(RONDO_ERR_INVALID, "node %u: bound to processor %u of %u", v, bound[v],
                            in->processors);
    return RONDO_OK;
}

static uint64_t bytes_of_variants(const struct rd_plan *plan)
{
    uint64_t n = plan->nodes, bytes = 0;
    for (uint32_t i = 0; plan->own && i < plan->variants; i++)
        bytes += sizeof *plan->own + (n + 1) * sizeof *plan->own->first +
                 plan->own[i].first[n] * (uint64_t)sizeof *plan->own->pred;
    for (uint32_t i = 0; i + 1 < plan->variants; i++)
        bytes += sizeof *plan->variant + n * sizeof *plan->op +
                 plan->variant[i].further_waits * sizeof *plan->wait +
                 plan->lanes * (uint64_t)sizeof *plan->variant->wait_first;
    if (plan->variant_of_phase)
        bytes += plan->phases * (uint64_t)sizeof *plan->variant_of_phase;
    return bytes;
}

static uint64_t bytes_of(const struct rd_plan *plan)
{
    uint64_t n = plan->nodes;
    return sizeof *plan + plan->lanes * (uint64_t)sizeof *plan->lane + n * sizeof *plan->op +
           n * sizeof *plan->op_of_node + (n + 1) * sizeof *plan->pred_first +
           plan->pred_first[n] * (uint64_t)sizeof *plan->pred +
           plan->further_waits * sizeof *plan->wait + bytes_of_variants(plan);
}

static rondo_status check_plan(struct rd_allocator *a, const struct rd_compile_input *in,
                               const struct rd_plan *plan)
{
    char why[RD_MESSAGE_BYTES];
    rondo_status s = rd_plan_check(a, in, plan, why, sizeof why);
    if (!s && why[0])
        rd_assert_failed(why, __FILE__, __LINE__);
    return s;
}

static rondo_status run_passes(struct rd_pass *p, struct rd_plan **plan)
{
    struct rd_placement placement;
    uint16_t *lane_of_node;
    rondo_status s = rd_order(p);
    if (!s)
        s = rd_place(p, &placement);
    if (!s && p->in->team)
        s = rd_together(p, &placement);
    if (!s)
        s = rd_lanes(p, &placement, plan, &lane_of_node);
    if (!s)
        s = rd_variants(p, lane_of_node, *plan);
    if (!s && p->in->interpret_only)
        rd_waits_all_sinks(*plan);
    else if (!s)
        s = rd_waits(p, placement.ids ? NULL : placement.order, lane_of_node, *plan);
    return s;
}

rondo_status rd_compile(struct rd_allocator *a, const struct rd_compile_input *input,
                        struct rd_plan **plan)
{
    struct rd_pass p = { .in = input,
                         .graph = input->graph,
                         .scratch = { .a = a },
                         .nodes = input->graph->nodes,
                         .handover_ns = input->handover_ns };
    struct rd_plan *made = NULL;
    rondo_status s = rd_compile_check_input(input);
    if (s)
        return s;
    s = run_passes(&p, &made);
    rd_scratch_free(&p.scratch);
    if (s)
        goto free_plan;
    made->bytes = bytes_of(made);
    if (input->check && !input->interpret_only && (s = check_plan(a, input, made)))
        goto free_plan;
    *plan = made;
    return RONDO_OK;
free_plan:
    rd_plan_free(a, made);
    return s;
}
