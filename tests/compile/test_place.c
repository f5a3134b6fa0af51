/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nodes go and in which order lanes run them, in the cases people have. */
#include "compile/passes.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>

static struct rd_plan *compile(const struct rd_graph *g, uint32_t processors, uint32_t cost_ns,
                               const uint32_t *costs)
{
    struct rd_compile_input in = { .graph = g,
                                   .cost_ns = costs,
                                   .processors = processors,
                                   .handover_ns = 250,
                                   .unknown_cost_ns = cost_ns,
                                   .check = 1 };
    struct rd_plan *plan = NULL;
    cr_assert(rd_compile(rd_allocator_system(), &in, &plan) == RONDO_OK, "%s", rd_error_text());
    return plan;
}

static uint32_t processor_of(const struct rd_plan *p, uint32_t node)
{
    return p->lane[rd_plan_lane_of_op(p, p->op_of_node[node])].processor;
}

static void release(struct rd_plan *plan, struct maker *m)
{
    rd_plan_free(rd_allocator_system(), plan);
    maker_free(m);
}

static void stencil_halves(int carried)
{
    struct maker m = { 0 };
    struct rd_plan *p;
    make_stencil(&m, 8, 1000, carried);
    p = compile(&m.g, 2, 10000, NULL);
    cr_assert_eq(p->lanes, 2);
    for (uint32_t v = 0; v < p->nodes; v++)
        cr_assert_eq(processor_of(p, v), v % 8 / 4, "node %u", v);
    /* Only the two columns at the boundary exchange; from the second step on they go first. */
    cr_assert_leq(p->wait_count, 2 * 1000);
    for (uint32_t l = 0; l < 2; l++)
        for (uint32_t t = 1; t < 999; t++) {
            uint32_t first = p->op[p->lane[l].first + 4 * t].node;
            cr_assert_eq(first, 8 * t + 3 + l, "step %u begins with node %u", t, first);
        }
    cr_assert_leq(p->makespan_ns, p->work_ns / 2 * 102 / 100);
    release(p, &m);
}

static void one_step(uint32_t cost_ns, uint32_t lanes)
{
    struct maker m = { 0 };
    struct rd_plan *p;
    make_stencil(&m, 8, 1, 1);
    p = compile(&m.g, 2, cost_ns, NULL);
    cr_assert_eq(p->lanes, lanes);
    for (uint32_t v = 0; v < 8 && lanes == 2; v++)
        cr_assert_eq(processor_of(p, v), v / 4, "node %u", v);
    if (lanes == 2) {
        cr_assert_eq(p->op[0].node, 3, "the boundary goes first");
        cr_assert_eq(p->op[4].node, 4);
        cr_assert_eq(p->wait_count, 2);
    } else {
        cr_assert_eq(p->wait_count, 0);
    }
    release(p, &m);
}

static void independent(uint32_t nodes, uint32_t processors)
{
    struct maker m = { 0 };
    struct rd_plan *p;
    for (uint32_t v = 0; v < nodes; v++)
        maker_node(&m);
    p = compile(&m.g, processors, 100000, NULL);
    for (uint32_t v = 0; v < nodes; v++)
        cr_assert_eq(processor_of(p, v), v * processors / nodes, "node %u", v);
    cr_assert_eq(p->wait_count, 0);
    cr_assert_eq(p->sinks, processors);
    release(p, &m);
}

/* Nine columns on two processors: all but the middle one stay, and the work is even. */
static void uneven_columns(void)
{
    struct maker m = { 0 };
    struct rd_plan *p;
    make_stencil(&m, 9, 500, 0);
    p = compile(&m.g, 2, 10000, NULL);
    for (uint32_t v = 0; v < p->nodes; v++)
        if (v % 9 != 4)
            cr_assert_eq(processor_of(p, v), v % 9 > 4, "node %u", v);
    cr_assert_leq(p->makespan_ns, p->work_ns / 2 * 103 / 100);
    release(p, &m);
}

static void loops(void)
{
    struct maker m = { 0 };
    struct rd_plan *p;
    make_fan(&m, 32, 50);
    p = compile(&m.g, 4, 20000, NULL);
    cr_assert_eq(p->lanes, 4);
    for (uint32_t v = 0; v < p->nodes; v++)
        cr_assert_eq(processor_of(p, v), v % 33 ? (v % 33 - 1) / 8 : 0, "node %u", v);
    release(p, &m);
}

Test(place, blocks)
{
    stencil_halves(0);
    stencil_halves(1);
    one_step(10000, 2);
    one_step(50, 2); /* 200 ns of work each and 300 for the exchange, against 400 */
    one_step(30, 1); /* 280 against 240 */
    independent(16, 2);
    independent(64, 8);
    independent(9, 3);
    loops();
    uneven_columns();
}

static void lanes_of(struct maker *m, uint32_t processors, uint32_t cost_ns, uint32_t lanes)
{
    struct rd_plan *p = compile(&m->g, processors, cost_ns, NULL);
    cr_assert_eq(p->lanes, lanes, "%u lanes for %u nodes of %u ns", p->lanes, p->nodes, cost_ns);
    for (uint32_t l = 0; l < lanes; l++)
        cr_assert_eq(p->lane[l].processor, l);
    release(p, m);
}

static void chains(struct maker *m, uint32_t count, uint32_t length)
{
    for (uint32_t i = 0; i < count * length; i++) {
        maker_node(m);
        if (i >= count)
            maker_edge(m, i - count, 0);
    }
}

Test(place, as_many_as_pay)
{
    struct maker m = { 0 };
    make_chain(&m, 1000);
    lanes_of(&m, 8, 100000, 1);
    make_stencil(&m, 8, 1000, 0);
    lanes_of(&m, 2, 20, 1);
    make_stencil(&m, 8, 1000, 0);
    lanes_of(&m, 8, 1, 1);
    chains(&m, 2, 100);
    lanes_of(&m, 16, 10000, 2);
    chains(&m, 4, 100);
    lanes_of(&m, 16, 10000, 4);
    maker_node(&m);
    maker_node(&m);
    lanes_of(&m, 2, 100, 1); /* there and back costs 500 ns */
    maker_node(&m);
    lanes_of(&m, 4, 100, 1);
    lanes_of(&m, 4, 100, 0); /* no nodes at all */
}

static void balance(struct maker *m, uint32_t processors, const uint32_t *costs, double percent)
{
    struct rd_plan *p = compile(&m->g, processors, 10000, costs);
    double share = (double)p->work_ns / processors;
    cr_assert_leq((double)p->makespan_ns, share * (1 + percent / 100), "%u nodes: %.2f of %u",
                  p->nodes, (double)p->work_ns / (double)p->makespan_ns, processors);
    release(p, m);
}

Test(place, balance)
{
    struct maker m = { 0 };
    uint32_t costs[4096];
    uint64_t seed = 3;
    for (uint32_t v = 0; v < 4096; v++)
        costs[v] = below(&seed, 10) ? 1000 : 100000;
    for (uint32_t v = 0; v < 1024; v++)
        maker_node(&m);
    balance(&m, 2, costs, 3);
    make_random3(&m, 64, 64, 5);
    balance(&m, 4, costs, 12);
    chains(&m, 3, 300);
    balance(&m, 2, NULL, 6);
    chains(&m, 7, 300);
    balance(&m, 4, NULL, 12);
    make_cholesky(&m, 20);
    balance(&m, 2, NULL, 6);
    make_cholesky(&m, 20);
    balance(&m, 4, NULL, 20);
    make_tree(&m, 10);
    balance(&m, 4, NULL, 6);
    make_fft(&m, 8, 256);
    balance(&m, 4, NULL, 6);
}

Test(place, order_and_binding)
{
    enum { N = 60 };
    struct maker m = { 0 };
    int32_t priority[N] = { 0 };
    uint16_t bound[N];
    struct rd_compile_input in = {
        .graph = &m.g, .processors = 1, .handover_ns = 250, .unknown_cost_ns = 1000, .check = 1
    };
    struct rd_plan *p;
    for (uint32_t v = 0; v < N; v++)
        maker_node(&m);
    /* One processor, nothing to choose by: the order of recording. */
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_OK);
    for (uint32_t i = 0; i < N; i++)
        cr_assert_eq(p->op[i].node, i);
    cr_assert_eq(p->lane[0].sink, 1);
    rd_plan_free(rd_allocator_system(), p);
    /* Priorities, on one processor and on two. */
    for (uint32_t v = 0; v < N; v++)
        priority[v] = (int32_t)(v * 7 % 5) - 2;
    in.priority = priority;
    for (in.processors = 1; in.processors <= 2; in.processors++) {
        in.bound = in.processors == 2 ? bound : NULL;
        for (uint32_t v = 0; v < N; v++)
            bound[v] = v % 2;
        cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_OK);
        cr_assert_eq(p->lanes, in.processors);
        for (uint32_t i = 1; i < N; i++) {
            uint32_t a = p->op[i - 1].node, b = p->op[i].node;
            if (rd_plan_lane_of_op(p, i) == rd_plan_lane_of_op(p, i - 1))
                cr_assert(priority[a] > priority[b] || (priority[a] == priority[b] && a < b));
        }
        rd_plan_free(rd_allocator_system(), p);
    }
    /* Lanes are the processors with nodes, whatever their numbers. */
    for (uint32_t v = 0; v < N; v++)
        bound[v] = v % 3 ? 7 : 4;
    in.processors = 9;
    in.bound = bound;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_OK);
    cr_assert(p->lanes == 2 && p->lane[0].processor == 4 && p->lane[1].processor == 7);
    rd_plan_free(rd_allocator_system(), p);
    /* The others balance what is bound. */
    for (uint32_t v = 0; v < N; v++)
        bound[v] = v < 20 ? 0 : RD_PLACE_ANY;
    in.processors = 2;
    in.priority = NULL;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_OK);
    cr_assert(p->lanes == 2 && p->lane[0].length == 30);
    rd_plan_free(rd_allocator_system(), p);
    maker_free(&m);
}
