/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a blocked external node holds back only what depends on it: from each external node, in
 * each variant, what it reaches within a replay is marked; each lane must be marked as a whole or
 * not at all. As many external nodes as a budget allows. */
#include "compile/check.h"

#include <string.h>

static const uint64_t budget = 1u << 24; /* edges looked at */

/* Edges within a replay go from earlier to later in `run`. */
static void mark(const struct rd_check *c, const struct rd_check_variant *g, uint32_t from,
                 uint8_t *marked)
{
    memset(marked, 0, c->plan->nodes);
    for (uint32_t i = 0; i < c->plan->nodes; i++) {
        uint32_t v = c->plan->op[c->run[i]].node;
        marked[v] = v == from;
        for (uint32_t e = g->first[v]; e < g->first[v + 1] && !marked[v]; e++)
            marked[v] = !g->pred[e].distance && marked[g->pred[e].from];
    }
}

static void compare(struct rd_check *c, uint32_t external, const uint8_t *marked)
{
    const struct rd_plan *p = c->plan;
    for (uint32_t op = 1; op < p->nodes; op++) {
        uint32_t u = p->op[op - 1].node, v = p->op[op].node;
        if (c->lane[op - 1] == c->lane[op] && marked[u] != marked[v])
            rd_check_say(c, "lane %u: of nodes %u and %u only one depends on external node %u",
                         c->lane[op], u, v, external);
    }
}

rondo_status rd_check_sets(struct rd_check *c, uint32_t v)
{
    const struct rd_check_variant *g = &c->variant[v];
    uint64_t looked = 0;
    uint8_t *marked;
    if (!c->in->external)
        return RONDO_OK;
    marked = rd_scratch_array(&c->scratch, c->plan->nodes, 1);
    if (!marked)
        return rd_pass_memory();
    for (uint32_t u = 0; u < c->plan->nodes && looked < budget && !c->why[0]; u++) {
        if (!c->in->external[u])
            continue;
        mark(c, g, u, marked);
        compare(c, u, marked);
        looked += g->first[c->plan->nodes] + c->plan->nodes;
    }
    return RONDO_OK;
}
