/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits pass: which dependences between lanes become waits, and how they lie in the plan. An
 * edge within a lane costs nothing, carried or not: the lane's order is the dependence. */
#include "compile/waits.h"

#include <string.h>

rondo_status rd_waits_keep(struct rd_waits *w, uint32_t op, const struct rd_need *need)
{
    const struct rd_edge *edge = &w->pred[need->edge];
    struct rd_op *o = &w->op[op];
    uint32_t wait = rd_waits_position(w, edge->from) + 1;
    w->wait_count++;
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

/* Further waits, lane after lane; within a lane they were found in op order. first[l] is where
 * lane l's begin. */
static rondo_status lay_out(struct rd_waits *w, struct rd_wait **wait, uint32_t *first)
{
    const struct rd_plan *plan = w->plan;
    uint32_t *next, at = 0;
    memset(first, 0, plan->lanes * sizeof *first);
    if (!w->further_count)
        return RONDO_OK;
    next = rd_scratch_array(&w->p->scratch, plan->lanes, sizeof *next);
    *wait = rd_alloc_array(w->p->scratch.a, w->further_count, sizeof **wait);
    if (!*wait || !next)
        return rd_pass_memory();
    for (size_t i = 0; i < w->further_count; i++)
        first[w->lane_of_node[w->op[w->further[i].op].node]]++;
    for (uint32_t l = 0; l < plan->lanes; l++) {
        uint32_t count = first[l];
        first[l] = next[l] = at;
        at += count;
    }
    for (size_t i = 0; i < w->further_count; i++)
        (*wait)[next[w->lane_of_node[w->op[w->further[i].op].node]]++] = w->further[i].wait;
    return RONDO_OK;
}

static void publish(struct rd_plan *plan, uint32_t peer, uint32_t wait)
{
    if (wait < plan->lane[peer].length) /* the lane's end publishes its last */
        plan->op[plan->lane[peer].first + wait - 1].publish = wait;
}

/* In the plan's ops, those of variant 0, what the waits of one variant ask for. */
static void set_publish(struct rd_plan *plan, const struct rd_op *op, const struct rd_wait *wait,
                        uint64_t further_waits)
{
    for (uint32_t i = 0; i < plan->nodes; i++)
        if (op[i].wait)
            publish(plan, op[i].peer, op[i].wait);
    for (uint64_t i = 0; i < further_waits; i++)
        publish(plan, wait[i].peer, wait[i].wait);
}

void rd_waits_all_sinks(struct rd_plan *plan)
{
    for (uint32_t l = 0; l < plan->lanes; l++)
        plan->lane[l].sink = 1;
    plan->sinks = plan->lanes;
}

/* The waits of w->op; *wait gets what lies behind the ops' own. */
static rondo_status find(struct rd_waits *w, struct rd_wait **wait, uint64_t *further_waits,
                         uint32_t *first)
{
    rondo_status s = RONDO_OK;
    if (!w->position && w->plan->lanes > 2)
        s = set_positions(w);
    w->further_count = 0;
    w->wait_count = 0;
    if (!s)
        s = w->plan->lanes <= RD_CLOCK_LANES ? rd_waits_by_clocks(w) : rd_waits_by_covers(w);
    if (!s)
        s = lay_out(w, wait, first);
    if (!s)
        *further_waits = w->further_count;
    return s;
}

static rondo_status find_plain(struct rd_waits *w, uint32_t *first)
{
    struct rd_plan *plan = w->plan;
    rondo_status s = find(w, &plan->wait, &plan->further_waits, first);
    if (s)
        return s;
    for (uint32_t l = 0; l < plan->lanes; l++) {
        uint64_t end = l + 1 < plan->lanes ? first[l + 1] : plan->further_waits;
        plan->lane[l].wait_first = first[l];
        plan->lane[l].wait_count = (uint32_t)(end - first[l]);
    }
    plan->wait_count = w->wait_count;
    set_publish(plan, plan->op, plan->wait, plan->further_waits);
    return RONDO_OK;
}

/* Counts by producer what crosses between lanes in this variant. */
static void count_crossing(struct rd_waits *w)
{
    uint32_t *out = w->p->crossing_out;
    memset(out, 0, w->p->nodes * sizeof *out);
    for (uint32_t v = 0; v < w->p->nodes; v++)
        for (uint32_t e = w->first[v]; e < w->first[v + 1]; e++)
            out[w->pred[e].from] += w->lane_of_node[w->pred[e].from] != w->lane_of_node[v];
}

/* Every variant's waits, and publish flags for all of them. A lane that is a sink in one variant
 * may be none in another; all lanes count, which is right for each. */
static rondo_status find_variants(struct rd_waits *w, uint32_t *first)
{
    const struct rd_graph *g = w->p->graph;
    struct rd_plan *plan = w->plan;
    rondo_status s = RONDO_OK;
    for (uint32_t i = 0; i < plan->variants && !s; i++) {
        struct rd_plan_variant *v = i ? &plan->variant[i - 1] : NULL;
        w->first = g->variant[i].first;
        w->pred = g->variant[i].pred;
        w->op = v ? v->op : plan->op;
        count_crossing(w);
        s = v ? find(w, &v->wait, &v->further_waits, v->wait_first) : find_plain(w, first);
        if (!s && v)
            set_publish(plan, v->op, v->wait, v->further_waits);
    }
    for (uint32_t i = 1; i < plan->variants && !s; i++)
        for (uint32_t op = 0; op < plan->nodes; op++)
            plan->variant[i - 1].op[op].publish = plan->op[op].publish;
    rd_waits_all_sinks(plan);
    return s;
}

rondo_status rd_waits(struct rd_pass *p, const uint32_t *order, const uint16_t *lane_of_node,
                      struct rd_plan *plan)
{
    struct rd_waits w = { .p = p,
                          .plan = plan,
                          .op = plan->op,
                          .first = p->graph->first,
                          .pred = p->graph->pred,
                          .varies = plan->variants > 1,
                          .order = order,
                          .lane_of_node = lane_of_node };
    uint32_t *first;
    rondo_status s = RONDO_OK;
    if (!p->crossing || plan->lanes > RD_CLOCK_LANES)
        rd_waits_all_sinks(plan);
    if (!p->crossing)
        return RONDO_OK;
    first = rd_scratch_array(&p->scratch, plan->lanes, sizeof *first);
    if (!first)
        return rd_pass_memory();
    s = w.varies ? find_variants(&w, first) : find_plain(&w, first);
    rd_free_array(p->scratch.a, w.further, w.further_capacity, sizeof *w.further);
    return s;
}
