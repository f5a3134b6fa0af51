/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a plan is well-formed, without asking what it means. */
#include "compile/check.h"

#include <string.h>

static void check_lanes(struct rd_check *c)
{
    const struct rd_plan *p = c->plan;
    uint64_t first = 0, waits = 0, bit = 0;
    uint32_t sinks = 0;
    for (uint32_t l = 0; l < p->lanes; l++) {
        const struct rd_plan_lane *lane = &p->lane[l];
        if (lane->first != first || lane->length < 1)
            rd_check_say(c, "lane %u: ops [%u, +%u), %llu before it", l, lane->first, lane->length,
                         (unsigned long long)first);
        if (lane->wait_count && lane->wait_first != waits)
            rd_check_say(c, "lane %u: further waits from %u, %llu before it", l, lane->wait_first,
                         (unsigned long long)waits);
        if (lane->bit_first % 512 || lane->bit_first < bit)
            rd_check_say(c, "lane %u: bad bits from %u, %llu before it", l, lane->bit_first,
                         (unsigned long long)bit);
        if (lane->processor >= c->in->processors ||
            (l && (lane->processor < p->lane[l - 1].processor ||
                   (!c->in->external && lane->processor == p->lane[l - 1].processor))))
            rd_check_say(c, "lane %u: processor %u", l, lane->processor);
        first += lane->length;
        waits += lane->wait_count;
        bit = (uint64_t)lane->bit_first + lane->length;
        sinks += lane->sink != 0;
    }
    if (first != p->nodes || waits != p->further_waits || bit > p->bits || p->bits % 512)
        rd_check_say(c, "%llu ops of %u, %llu further waits of %llu, %llu bits of %u",
                     (unsigned long long)first, p->nodes, (unsigned long long)waits,
                     (unsigned long long)p->further_waits, (unsigned long long)bit, p->bits);
    if (sinks != p->sinks || (p->nodes && !sinks))
        rd_check_say(c, "%u sink lanes, said to be %u", sinks, p->sinks);
}

static void check_nodes(struct rd_check *c)
{
    const struct rd_plan *p = c->plan;
    uint32_t places = c->in->processors - c->in->helpers;
    for (uint32_t v = 0; v < p->nodes; v++) {
        uint32_t op = p->op_of_node[v], bound, on;
        for (uint32_t i = 0; i < c->variants; i++)
            if (op >= p->nodes || c->variant[i].op[op].node != v) {
                rd_check_say(c, "node %u: op %u is not its", v, op);
                return;
            }
        bound = c->in->bound ? c->in->bound[v] : RD_PLACE_ANY;
        on = p->lane[c->lane[op]].processor;
        if (bound != RD_PLACE_ANY && on != bound)
            rd_check_say(c, "node %u: on processor %u, bound to %u", v, on, bound);
        if (bound == RD_PLACE_ANY && on >= places)
            rd_check_say(c, "node %u: on helper %u, bound to none", v, on);
    }
}

static void check_preds(struct rd_check *c, const uint32_t *graph_first,
                        const struct rd_edge *graph_pred, const uint32_t *first,
                        const uint32_t *pred)
{
    const struct rd_plan *p = c->plan;
    uint32_t at = 0;
    for (uint32_t v = 0; v < p->nodes && !c->why[0]; v++) {
        if (first[v] != at)
            rd_check_say(c, "node %u: predecessors from %u instead of %u", v, first[v], at);
        for (uint32_t e = graph_first[v]; e < graph_first[v + 1] && !c->why[0]; e++) {
            uint32_t op = p->op_of_node[graph_pred[e].from];
            const struct rd_plan_lane *l = &p->lane[c->lane[op]];
            if (!graph_pred[e].distance && pred[at++] != l->bit_first + (op - l->first))
                rd_check_say(c, "node %u: bad bit %u for predecessor %u", v, pred[at - 1],
                             graph_pred[e].from);
        }
    }
    if (first[p->nodes] != at)
        rd_check_say(c, "%u predecessors, said to be %u", at, first[p->nodes]);
}

/* Which variant a phase is of, and the variants' own predecessors. */
static void check_variants(struct rd_check *c)
{
    const struct rd_plan *p = c->plan;
    for (uint32_t i = 0; i < p->phases && p->phases > 1; i++)
        if (p->variant_of_phase[i] != c->graph->variant_of_phase[i])
            rd_check_say(c, "phase %u: variant %u instead of %u", i, p->variant_of_phase[i],
                         c->graph->variant_of_phase[i]);
    for (uint32_t i = 0; i < c->variants && c->variants > 1 && !c->why[0]; i++)
        check_preds(c, c->variant[i].first, c->variant[i].pred, p->own[i].first, p->own[i].pred);
}

/* The waits of one op; marks what they name. */
static void check_waits_of(struct rd_check *c, const struct rd_check_variant *v, uint32_t op,
                           uint32_t *seen, uint8_t *named)
{
    const struct rd_plan *p = c->plan;
    if (!v->op[op].wait && v->op[op].more)
        rd_check_say(c, "op %u: further waits behind none", op);
    for (uint32_t k = 0; k < rd_check_waits(v, op) && !c->why[0]; k++) {
        struct rd_wait w = rd_check_wait(v, op, k);
        if (w.peer >= p->lanes || w.peer == c->lane[op] || !w.wait ||
            w.wait > p->lane[w.peer].length || w.dist > p->distance || seen[w.peer] == op + 1) {
            rd_check_say(c, "op %u: wait %u for %u of lane %u, %u back", op, k, w.wait, w.peer,
                         w.dist);
            return;
        }
        seen[w.peer] = op + 1;
        named[p->lane[w.peer].first + w.wait - 1] = 1;
    }
}

/* Every variant's flags are those of all variants' waits together. */
static void check_publishes(struct rd_check *c, const uint8_t *named)
{
    for (uint32_t i = 0; i < c->variants; i++)
        for (uint32_t op = 0; op < c->plan->nodes && !c->why[0]; op++) {
            const struct rd_plan_lane *l = &c->plan->lane[c->lane[op]];
            uint32_t at = op - l->first + 1, want = named[op] && at < l->length ? at : 0;
            if (c->variant[i].op[op].publish != want)
                rd_check_say(c, "op %u: publishes %u instead of %u in variant %u", op,
                             c->variant[i].op[op].publish, want, i);
        }
}

static rondo_status check_waits(struct rd_check *c)
{
    const struct rd_plan *p = c->plan;
    uint8_t *named = rd_scratch_zeroed(&c->scratch, p->nodes, 1);
    uint32_t *seen = rd_scratch_array(&c->scratch, p->lanes, sizeof *seen);
    if (!named || !seen)
        return rd_pass_memory();
    for (uint32_t i = 0; i < c->variants && !c->why[0]; i++) {
        uint64_t waits = 0;
        memset(seen, 0, p->lanes * sizeof *seen);
        for (uint32_t op = 0; op < p->nodes && !c->why[0]; op++) {
            check_waits_of(c, &c->variant[i], op, seen, named);
            waits += rd_check_waits(&c->variant[i], op);
        }
        if (!c->why[0] && !i && waits != p->wait_count)
            rd_check_say(c, "%llu waits, said to be %llu", (unsigned long long)waits,
                         (unsigned long long)p->wait_count);
    }
    check_publishes(c, named);
    return RONDO_OK;
}

/* lane[] and further[], and that each lane's further waits are as many as it says. */
static void index_ops(struct rd_check *c, uint32_t variant)
{
    const struct rd_plan *p = c->plan;
    struct rd_check_variant *v = &c->variant[variant];
    const struct rd_plan_variant *pv = variant ? &p->variant[variant - 1] : NULL;
    uint64_t all = pv ? pv->further_waits : p->further_waits;
    for (uint32_t l = 0; l < p->lanes; l++) {
        const struct rd_plan_lane *lane = &p->lane[l];
        uint32_t further = pv ? pv->wait_first[l] : lane->wait_first;
        uint64_t end = l + 1 == p->lanes ? all
                       : pv              ? pv->wait_first[l + 1]
                                         : further + (uint64_t)lane->wait_count;
        for (uint32_t op = lane->first; op < lane->first + lane->length; op++) {
            c->lane[op] = (uint16_t)l;
            v->further[op] = further;
            further += v->op[op].more;
        }
        if (further != end)
            rd_check_say(c, "lane %u: further waits end at %u, said to at %llu", l, further,
                         (unsigned long long)end);
    }
}

rondo_status rd_check_form(struct rd_check *c)
{
    const struct rd_plan *p = c->plan;
    if (p->nodes != c->graph->nodes) {
        rd_check_say(c, "%u nodes of %u", p->nodes, c->graph->nodes);
        return RONDO_OK;
    }
    c->lane = rd_scratch_array(&c->scratch, p->nodes, sizeof *c->lane);
    c->run = rd_scratch_array(&c->scratch, p->nodes, sizeof *c->run);
    c->when = rd_scratch_array(&c->scratch, p->nodes, sizeof *c->when);
    if (!c->lane || !c->run || !c->when)
        return rd_pass_memory();
    check_lanes(c);
    for (uint32_t i = 0; i < c->variants && !c->why[0]; i++)
        index_ops(c, i);
    if (!c->why[0])
        check_nodes(c);
    if (!c->why[0])
        check_preds(c, c->graph->first, c->graph->pred, p->pred_first, p->pred);
    if (!c->why[0])
        check_variants(c);
    return c->why[0] ? RONDO_OK : check_waits(c);
}
