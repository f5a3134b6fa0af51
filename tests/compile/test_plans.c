/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of random graphs: right by plan_check and by a search of its own, without a wait too many,
 * and the same each time; plan_check finds what is broken in them. */
#include "tests/compile/graphs.h"

#include "compile/passes.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct subject {
    struct maker m;
    uint32_t cost[4096];
    int32_t priority[4096];
    uint16_t bound[4096];
    struct rd_compile_input in;
    struct rd_plan *plan;
};

static void compile(struct subject *s)
{
    rondo_status status = rd_compile(rd_allocator_system(), &s->in, &s->plan);
    cr_assert(status == RONDO_OK, "%s", rd_error_text());
}

static void drop(struct subject *s)
{
    rd_plan_free(rd_allocator_system(), s->plan);
    maker_free(&s->m);
    free(s);
}

/* A random subject. Bound: 0 none, 1 all, 2 some. */
static struct subject *draw(uint64_t *seed, uint32_t nodes, uint32_t processors, uint32_t distance)
{
    struct subject *s = calloc(1, sizeof *s);
    uint32_t how = below(seed, 3), equal = below(seed, 2), flat = below(seed, 2);
    make_random(&s->m, nodes, 1 + below(seed, 5), distance, (int)below(seed, 2), seed);
    for (uint32_t v = 0; v < nodes; v++) {
        s->cost[v] = equal ? 1000 : below(seed, 3000);
        s->priority[v] = flat ? 0 : (int32_t)below(seed, 5) - 2;
        s->bound[v] = (uint16_t)(how == 1 || (how == 2 && below(seed, 2)) ? below(seed, processors)
                                                                          : RD_PLACE_ANY);
    }
    s->in = (struct rd_compile_input){ .graph = &s->m.g,
                                       .cost_ns = s->cost,
                                       .priority = s->priority,
                                       .bound = how ? s->bound : NULL,
                                       .processors = processors,
                                       .handover_ns = below(seed, 2) ? 250 : 0,
                                       .unknown_cost_ns = 500,
                                       .check = 1 };
    return s;
}

/* Marks what is before {copy, op} in the unrolled plan, not following one wait: op `without`'s wait
 * number `which`. */
static void before(const struct rd_plan *p, uint32_t copy, uint32_t op, uint32_t without,
                   uint32_t which, uint8_t *mark, uint32_t *stack)
{
    uint32_t depth = 0, n = p->nodes;
    stack[depth++] = copy * n + op;
    while (depth) {
        uint32_t at = stack[--depth], c = at / n, o = at % n, further;
        uint32_t l = rd_plan_lane_of_op(p, o);
        const struct rd_plan_lane *lane = &p->lane[l];
        uint32_t next[300], count = 0;
        if (o > lane->first)
            next[count++] = at - 1;
        else if (c)
            next[count++] = (c - 1) * n + lane->first + lane->length - 1;
        further = lane->wait_first;
        for (uint32_t i = lane->first; i < o; i++)
            further += p->op[i].more;
        for (uint32_t k = 0; p->op[o].wait && k <= p->op[o].more; k++) {
            struct rd_wait w = { p->op[o].wait, p->op[o].peer, p->op[o].dist, 0 };
            if (k)
                w = p->wait[further + k - 1];
            if (w.dist <= c && !(o == without && k == which))
                next[count++] = (c - w.dist) * n + p->lane[w.peer].first + w.wait - 1;
        }
        for (uint32_t i = 0; i < count; i++)
            if (!mark[next[i]]) {
                mark[next[i]] = 1;
                stack[depth++] = next[i];
            }
    }
}

static void check_edges(const struct subject *s, uint8_t *mark, uint32_t *stack)
{
    const struct rd_plan *p = s->plan;
    const struct rd_graph *g = &s->m.g;
    uint32_t D = g->distance, n = g->nodes;
    for (uint32_t v = 0; v < n; v++) {
        memset(mark, 0, (D + 1) * n);
        before(p, D, p->op_of_node[v], UINT32_MAX, 0, mark, stack);
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from, d = g->pred[e].distance;
            cr_assert(mark[(D - d) * n + p->op_of_node[u]], "%u -> %u, %u back", u, v, d);
        }
    }
}

/* Every wait is needed: nothing else implies it. So is every sink. */
static void check_minimal(const struct subject *s, uint8_t *mark, uint32_t *stack)
{
    const struct rd_plan *p = s->plan;
    uint32_t D = p->distance, n = p->nodes;
    for (uint32_t l = 0, further = 0; l < p->lanes; l++)
        for (uint32_t o = p->lane[l].first; o < p->lane[l].first + p->lane[l].length; o++)
            for (uint32_t k = 0; p->op[o].wait && k <= p->op[o].more; k++) {
                struct rd_wait w = { p->op[o].wait, p->op[o].peer, p->op[o].dist, 0 };
                if (k)
                    w = p->wait[further++];
                memset(mark, 0, (D + 1) * n);
                before(p, D, o, o, k, mark, stack);
                cr_assert(!mark[(D - w.dist) * n + p->lane[w.peer].first + w.wait - 1],
                          "op %u: wait %u is implied", o, k);
            }
}

static void check_sinks(const struct subject *s, uint8_t *mark, uint32_t *stack)
{
    const struct rd_plan *p = s->plan;
    for (uint32_t without = 0; without <= p->lanes; without++) {
        uint32_t missing = 0;
        if (without < p->lanes && !p->lane[without].sink)
            continue;
        memset(mark, 0, p->nodes);
        for (uint32_t l = 0; l < p->lanes; l++)
            if (p->lane[l].sink && l != without) {
                mark[p->lane[l].first + p->lane[l].length - 1] = 1;
                before(p, 0, p->lane[l].first + p->lane[l].length - 1, UINT32_MAX, 0, mark, stack);
            }
        for (uint32_t o = 0; o < p->nodes; o++)
            missing += !mark[o];
        cr_assert((missing > 0) == (without < p->lanes), "without sink %u of %u: %u ops missing",
                  without, p->sinks, missing);
    }
}

static int same(const struct rd_plan *a, const struct rd_plan *b)
{
    return a->lanes == b->lanes && a->further_waits == b->further_waits && a->bits == b->bits &&
           a->sinks == b->sinks && a->makespan_ns == b->makespan_ns &&
           !memcmp(a->lane, b->lane, a->lanes * sizeof *a->lane) &&
           !memcmp(a->op, b->op, a->nodes * sizeof *a->op) &&
           !memcmp(a->wait ? a->wait : (void *)"", b->wait ? b->wait : (void *)"",
                   a->further_waits * sizeof *a->wait) &&
           !memcmp(a->op_of_node, b->op_of_node, a->nodes * sizeof *a->op_of_node) &&
           !memcmp(a->pred, b->pred, a->pred_first[a->nodes] * sizeof *a->pred);
}

Test(plans, random_graphs)
{
    uint64_t seed = 42;
    uint8_t *mark = malloc(1 << 20);
    uint32_t *stack = malloc(sizeof *stack << 20);
    uint64_t waits = 0, crossing = 0, many = 0;
    for (int i = 0; i < 4000; i++) {
        uint32_t nodes = 1 + below(&seed, i % 10 ? 24 : 90);
        struct subject *s = draw(&seed, nodes, 1 + below(&seed, 8), i % 3 ? below(&seed, 4) : 0);
        struct rd_plan *first;
        compile(s);
        check_edges(s, mark, stack);
        check_minimal(s, mark, stack);
        check_sinks(s, mark, stack);
        first = s->plan;
        compile(s);
        cr_assert(same(first, s->plan));
        waits += first->wait_count;
        crossing += first->edges + first->carried_edges;
        many += first->further_waits;
        rd_plan_free(rd_allocator_system(), first);
        drop(s);
    }
    cr_assert(many > 100, "the cases never need a second wait");
    printf("plans: %llu waits of %llu edges\n", (unsigned long long)waits,
           (unsigned long long)crossing);
    free(mark);
    free(stack);
}
