/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits pass: which dependences between lanes become waits, and how they lie in the plan. An
 * edge within a lane costs nothing, carried or not: the lane's order is the dependence. */
#include "compile/waits.h"

#include <string.h>

rondo_status rd_waits_keep(struct rd_waits *w, uint32_t op, const struct rd_need *need)
{
    const struct rd_edge *edge = &w->p->graph->pred[need->edge];
    struct rd_op *o = &w->plan->op[op];
    uint32_t wait = rd_waits_position(w, edge->from) + 1;
    w->plan->wait_count++;
    if (!o->wait) {
        o->wait = wait;
        o->peer = need->peer;
        o->dist = edge->distance;
        return RONDO_OK;
    }
    if (o->more == RD_MORE_MAX)
        return rd_error(RONDO_ERR_INVALID,
                        "node %u: waits for more than %d other processors, %u processors in use",
                        o->node, RD_MORE_MAX + 1, w->plan->lanes);
    if (!rd_grow(w->p->scratch.a, (void **)&w->further, &w->further_capacity, w->further_count, 1,
                 sizeof *w->further))
        return rd_pass_memory();
    w->further[w->further_count++] =
        (struct rd_further){ op, { wait, need->peer, edge->distance, 0 } };
    o->more++;
    return RONDO_OK;
}

static rondo_status set_positions(struct rd_waits *w)
{
    uint32_t *position = rd_scratch_array(&w->p->scratch, w->p->nodes, sizeof *position);
    if (!position)
        return rd_pass_memory();
    for (uint32_t i = 0; i < w->p->nodes; i++)
        position[w->order ? w->order[i] : i] = i;
    w->position = position;
    return RONDO_OK;
}

/* Further waits, lane after lane; within a lane they were found in op order. */
static rondo_status lay_out(struct rd_waits *w)
{
    struct rd_plan *plan = w->plan;
    uint32_t *next, first = 0;
    if (!w->further_count)
        return RONDO_OK;
    next = rd_scratch_array(&w->p->scratch, plan->lanes, sizeof *next);
    plan->wait = rd_alloc_array(w->p->scratch.a, w->further_count, sizeof *plan->wait);
    if (!plan->wait || !next)
        return rd_pass_memory();
    plan->further_waits = w->further_count;
    for (size_t i = 0; i < w->further_count; i++)
        plan->lane[w->lane_of_node[plan->op[w->further[i].op].node]].wait_count++;
    for (uint32_t l = 0; l < plan->lanes; l++) {
        plan->lane[l].wait_first = next[l] = first;
        first += plan->lane[l].wait_count;
    }
    for (size_t i = 0; i < w->further_count; i++)
        plan->wait[next[w->lane_of_node[plan->op[w->further[i].op].node]]++] = w->further[i].wait;
    return RONDO_OK;
}

static void publish(struct rd_plan *plan, uint32_t peer, uint32_t wait)
{
    if (wait < plan->lane[peer].length) /* the lane's end publishes its last */
        plan->op[plan->lane[peer].first + wait - 1].publish = wait;
}

static void set_publish(struct rd_plan *plan)
{
    for (uint32_t i = 0; i < plan->nodes; i++)
        if (plan->op[i].wait)
            publish(plan, plan->op[i].peer, plan->op[i].wait);
    for (size_t i = 0; i < plan->further_waits; i++)
        publish(plan, plan->wait[i].peer, plan->wait[i].wait);
}

static void all_sinks(struct rd_plan *plan)
{
    for (uint32_t l = 0; l < plan->lanes; l++)
        plan->lane[l].sink = 1;
    plan->sinks = plan->lanes;
}

rondo_status rd_waits(struct rd_pass *p, const uint32_t *order, const uint16_t *lane_of_node,
                      struct rd_plan *plan)
{
    struct rd_waits w = { .p = p, .plan = plan, .order = order, .lane_of_node = lane_of_node };
    rondo_status s = RONDO_OK;
    if (!p->crossing) {
        all_sinks(plan);
        return RONDO_OK;
    }
    if (plan->lanes > 2)
        s = set_positions(&w);
    if (!s && plan->lanes <= RD_CLOCK_LANES) {
        s = rd_waits_by_clocks(&w);
    } else if (!s) {
        s = rd_waits_by_covers(&w);
        all_sinks(plan);
    }
    if (!s)
        s = lay_out(&w);
    if (!s)
        set_publish(plan);
    rd_free_array(p->scratch.a, w.further, w.further_capacity, sizeof *w.further);
    return s;
}
