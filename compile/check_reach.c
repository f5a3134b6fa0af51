/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether lanes and waits imply what they must. Up to 4,096 nodes: a bitset of everything before
 * each op, over as many copies of the replay as the largest distance asks for, looked up for every
 * edge. Above, or if that is too much memory: a search backwards from as many nodes as a budget
 * allows. */
#include "compile/check.h"

#include <string.h>

enum { CLOSURE_NODES = 4096 };
static const uint64_t closure_bytes = 1u << 26;
static const uint64_t search_budget = 1u << 22; /* ops looked at, and lanes per node */

struct reach {
    struct rd_check *c;
    const struct rd_check_variant *v;
    uint32_t copy;     /* the last of copies 0 to copy */
    uint64_t *upto;    /* by lane: ops before, counted over the copies */
    uint64_t *scanned; /* of these, whose waits were followed */
    uint32_t *stack, depth;
    uint8_t *stacked;
    uint64_t looked;
    uint64_t floor; /* ops before this {copy, when} cannot matter */
};

static void raise_to(struct reach *r, uint32_t lane, uint64_t upto)
{
    if (upto <= r->upto[lane])
        return;
    r->upto[lane] = upto;
    if (r->stacked[lane])
        return;
    r->stacked[lane] = 1;
    r->stack[r->depth++] = lane;
}

/* Whether a copy's waits count: any variant may have been before the last. */
static int known(const struct rd_check *c, uint64_t copy, uint64_t last)
{
    return copy == last || c->variants == 1;
}

static void follow(struct reach *r, uint32_t op, uint64_t copy)
{
    for (uint32_t k = 0; known(r->c, copy, r->copy) && k < rd_check_waits(r->v, op); k++) {
        struct rd_wait w = rd_check_wait(r->v, op, k);
        if (w.dist <= copy)
            raise_to(r, w.peer, (copy - w.dist) * r->c->plan->lane[w.peer].length + w.wait);
    }
}

/* Everything before what is in upto[]. */
static void search(struct reach *r)
{
    while (r->depth) {
        uint32_t lane = r->stack[--r->depth];
        const struct rd_plan_lane *l = &r->c->plan->lane[lane];
        uint64_t low = r->scanned[lane], high = r->upto[lane];
        r->stacked[lane] = 0;
        r->scanned[lane] = high;
        for (uint64_t at = high; at-- > low; r->looked++) {
            uint64_t copy = at / l->length;
            uint32_t op = l->first + (uint32_t)(at % l->length);
            if (copy * r->c->plan->nodes + r->c->when[op] < r->floor)
                break;
            follow(r, op, copy);
        }
    }
}

static void forget(struct reach *r)
{
    memset(r->upto, 0, r->c->plan->lanes * sizeof *r->upto);
    memset(r->scanned, 0, r->c->plan->lanes * sizeof *r->scanned);
}

/* All lanes' ends must be before the sinks' ends, in one replay. */
static void check_sinks(struct reach *r)
{
    const struct rd_plan *p = r->c->plan;
    forget(r);
    r->floor = (uint64_t)r->copy * p->nodes;
    for (uint32_t l = 0; l < p->lanes; l++)
        if (p->lane[l].sink)
            raise_to(r, l, (r->copy + 1ull) * p->lane[l].length);
    search(r);
    for (uint32_t l = 0; l < p->lanes; l++)
        if (r->upto[l] < (r->copy + 1ull) * p->lane[l].length)
            rd_check_say(r->c, "lane %u: no sink implies its end", l);
}

static uint64_t count_of(const struct reach *r, uint32_t op, uint32_t distance)
{
    const struct rd_plan_lane *l = &r->c->plan->lane[r->c->lane[op]];
    return (uint64_t)(r->copy - distance) * l->length + (op - l->first) + 1;
}

static void check_node(struct reach *r, uint32_t v)
{
    const struct rd_check_variant *g = r->v;
    const struct rd_plan *p = r->c->plan;
    uint32_t op = p->op_of_node[v];
    forget(r);
    r->floor = ~0ull;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint64_t at = (uint64_t)(r->copy - g->pred[e].distance) * p->nodes +
                      r->c->when[p->op_of_node[g->pred[e].from]];
        if (at < r->floor)
            r->floor = at;
    }
    raise_to(r, r->c->lane[op], count_of(r, op, 0));
    search(r);
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint32_t from = p->op_of_node[g->pred[e].from];
        if (r->upto[r->c->lane[from]] < count_of(r, from, g->pred[e].distance))
            rd_check_say(r->c, "node %u: its dependence on node %u, %u back, is not implied", v,
                         g->pred[e].from, g->pred[e].distance);
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* All nodes, in an order that is spread over the ids, as far as the budget goes. */
static void check_sampled(struct reach *r)
{
    uint64_t n = r->c->plan->nodes, step = n / 2 + n / 9, v = 0;
    while (common_divisor(step, n) != 1)
        step++;
    for (uint64_t i = 0; i < n && r->looked < search_budget && !r->c->why[0]; i++) {
        check_node(r, (uint32_t)v);
        r->looked += r->c->plan->lanes;
        v = (v + step) % n;
    }
}

/* row |= everything before and including that op of that copy */
static void include(uint64_t *rows, uint64_t words, uint64_t row, uint64_t other)
{
    for (uint64_t i = 0; i < words; i++)
        rows[row * words + i] |= rows[other * words + i];
    rows[row * words + other / 64] |= 1ull << other % 64;
}

/* The waits of an op, if they count, and all that is before it in its lane. */
static void close_op(const struct reach *r, uint64_t *rows, uint64_t words, uint64_t copy,
                     uint32_t op)
{
    const struct rd_check *c = r->c;
    const struct rd_plan *p = c->plan;
    const struct rd_plan_lane *l = &p->lane[c->lane[op]];
    uint64_t n = p->nodes, row = copy * n + op;
    if (op > l->first)
        include(rows, words, row, row - 1);
    else if (copy)
        include(rows, words, row, (copy - 1) * n + l->first + l->length - 1);
    for (uint32_t k = 0; known(c, copy, r->copy) && k < rd_check_waits(r->v, op); k++) {
        struct rd_wait w = rd_check_wait(r->v, op, k);
        if (w.dist <= copy)
            include(rows, words, row, (copy - w.dist) * n + p->lane[w.peer].first + w.wait - 1);
    }
}

static void check_closure(const struct reach *r, uint64_t *rows, uint64_t words)
{
    const struct rd_check_variant *g = r->v;
    const struct rd_plan *p = r->c->plan;
    for (uint32_t copy = 0; copy <= r->copy; copy++)
        for (uint32_t i = 0; i < p->nodes; i++)
            close_op(r, rows, words, copy, r->c->run[i]);
    for (uint32_t v = 0; v < p->nodes; v++) {
        const uint64_t *row = rows + ((uint64_t)r->copy * p->nodes + p->op_of_node[v]) * words;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t d = g->pred[e].distance;
            uint64_t bit = (uint64_t)(r->copy - d) * p->nodes + p->op_of_node[g->pred[e].from];
            if (!(row[bit / 64] >> bit % 64 & 1))
                rd_check_say(r->c, "node %u: its dependence on node %u, %u back, is not implied", v,
                             g->pred[e].from, d);
        }
    }
}

rondo_status rd_check_reach(struct rd_check *c, uint32_t v)
{
    struct reach r = { .c = c, .v = &c->variant[v], .copy = c->plan->distance };
    struct rd_scratch scratch = rd_scratch_part(&c->scratch), *s = &scratch;
    uint64_t ops = (c->plan->distance + 1ull) * c->plan->nodes, words = (ops + 63) / 64, *rows;
    uint32_t lanes = c->plan->lanes;
    rondo_status status = RONDO_OK;
    r.upto = rd_scratch_array(s, lanes, sizeof *r.upto);
    r.scanned = rd_scratch_array(s, lanes, sizeof *r.scanned);
    r.stack = rd_scratch_array(s, lanes, sizeof *r.stack);
    r.stacked = rd_scratch_zeroed(s, lanes, 1);
    if (!r.upto || !r.scanned || !r.stack || !r.stacked) {
        status = rd_pass_memory();
        goto free_scratch;
    }
    check_sinks(&r);
    if (c->plan->nodes > CLOSURE_NODES || ops * words * 8 > closure_bytes) {
        check_sampled(&r);
        goto free_scratch;
    }
    rows = rd_scratch_zeroed(s, ops * words, sizeof *rows);
    if (rows)
        check_closure(&r, rows, words);
    else
        status = rd_pass_memory();
free_scratch:
    rd_scratch_free(&scratch);
    return status;
}
