/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulations: near the bounds on graphs of others, never better than the best of all schedules,
 * and the time of a placement is what going through it step by step gives. */
#include "compile/passes.h"
#include "compile/simulate.h"
#include "tests/compile/graphs.h"
#include "tools/stg.h"

#include <criterion/criterion.h>
#include <stdio.h>

static rondo_simulation simulate(const struct rd_compile_input *in)
{
    rondo_simulation s;
    cr_assert_eq(rd_simulate(rd_allocator_system(), in, &s), RONDO_OK, "%s", rd_error_text());
    return s;
}

static void check_numbers(const struct rd_compile_input *in, const rondo_simulation *s)
{
    cr_assert(s->processors <= in->processors && s->lanes >= s->processors);
    cr_assert_geq(s->makespan_ns * s->processors, s->work_ns);
    cr_assert_geq(s->makespan_ns, s->critical_path_ns);
    cr_assert(s->processors > 1 || s->handovers == 0);
}

/* ---- graphs of others, where they are there */

static int read_stg(const char *name, struct maker *m, uint32_t **cost)
{
    const char *root = getenv("RONDO_SOURCE_DIR");
    char path[1024];
    struct stg_graph g;
    struct stg_error error;
    FILE *file;
    snprintf(path, sizeof path, "%s/../shared/data/stg/%s", root ? root : ".", name);
    file = fopen(path, "r");
    if (!file)
        return 0;
    cr_assert_eq(stg_read(file, &g, &error), STG_OK, "%s", error.reason);
    fclose(file);
    *cost = malloc(g.task_count * sizeof **cost);
    for (uint32_t v = 0; v < g.task_count; v++) {
        maker_node(m);
        (*cost)[v] = g.tasks[v].time ? g.tasks[v].time * 1000 : 1; /* dummies: next to nothing */
        for (uint32_t i = 0; i < g.tasks[v].count; i++)
            maker_edge(m, g.predecessors[g.tasks[v].first + i], 0);
    }
    stg_free(&g);
    return 1;
}

/* Within 3 % of what no schedule can undercut, for the simulation and for the plan. */
static void near_bound(const char *name)
{
    struct maker m = { 0 };
    uint32_t *cost;
    struct rd_compile_input in = { .graph = &m.g, .unknown_cost_ns = 1, .check = 1 };
    if (!read_stg(name, &m, &cost)) {
        printf("simulate: %s is not there\n", name);
        return;
    }
    in.cost_ns = cost;
    for (in.processors = 2; in.processors <= 16; in.processors *= 2) {
        rondo_simulation s = simulate(&in);
        struct rd_plan *plan;
        uint64_t bound = s.work_ns / in.processors;
        if (s.critical_path_ns > bound)
            bound = s.critical_path_ns;
        cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plan), RONDO_OK);
        printf("simulate: %s on %2u processors: %llu ns, in a plan %llu, bound %llu\n", name,
               in.processors, (unsigned long long)s.makespan_ns,
               (unsigned long long)plan->makespan_ns, (unsigned long long)bound);
        check_numbers(&in, &s);
        cr_assert_leq(s.makespan_ns, bound + bound * 3 / 100);
        cr_assert_leq(plan->makespan_ns, bound + bound * 3 / 100);
        cr_assert_leq(s.makespan_ns, plan->makespan_ns);
        rd_plan_free(rd_allocator_system(), plan);
    }
    maker_free(&m);
    free(cost);
}

Test(simulate, near_the_bound)
{
    near_bound("proto000.stg");
    near_bound("rand0000.stg");
}

/* ---- against all schedules */

struct search {
    const struct rd_graph *g;
    const uint32_t *cost;
    uint32_t processors;
    uint64_t end[8], free[4], best;
    uint8_t done[8];
};

/* Every order, each node on every processor, as early as it can. */
static void search(struct search *x, uint32_t placed, uint64_t makespan)
{
    if (makespan >= x->best)
        return;
    if (placed == x->g->nodes) {
        x->best = makespan;
        return;
    }
    for (uint32_t v = 0; v < x->g->nodes; v++) {
        uint64_t there = 0;
        int ready = !x->done[v];
        for (uint32_t e = x->g->first[v]; e < x->g->first[v + 1]; e++) {
            uint32_t u = x->g->pred[e].from;
            ready &= x->done[u];
            there = x->end[u] > there ? x->end[u] : there;
        }
        for (uint32_t q = 0; q < x->processors && ready; q++) {
            uint64_t kept = x->free[q], start = there > kept ? there : kept;
            x->done[v] = 1;
            x->end[v] = x->free[q] = start + x->cost[v];
            search(x, placed + 1, x->free[q] > makespan ? x->free[q] : makespan);
            x->free[q] = kept;
            x->done[v] = 0;
            if (!kept)
                break; /* the other idle ones are like it */
        }
    }
}

Test(simulate, all_schedules)
{
    uint64_t seed = 51;
    uint32_t best = 0, all = 0;
    for (uint32_t i = 0; i < 300; i++) {
        struct maker m = { 0 };
        uint32_t cost[8], processors = 2 + i % 2;
        struct rd_compile_input in = {
            .graph = &m.g, .cost_ns = cost, .processors = processors, .unknown_cost_ns = 1
        };
        struct search x = { .g = &m.g, .cost = cost, .processors = processors, .best = ~0ull };
        rondo_simulation s;
        make_random(&m, 2 + below(&seed, 6), 2, 0, i % 3 == 0, &seed);
        for (uint32_t v = 0; v < m.g.nodes; v++)
            cost[v] = 1 + below(&seed, 100);
        search(&x, 0, 0);
        s = simulate(&in);
        check_numbers(&in, &s);
        cr_assert_geq(s.makespan_ns, x.best);
        cr_assert_leq(s.makespan_ns, x.best + x.best / 4);
        best += s.makespan_ns == x.best;
        all++;
        maker_free(&m);
    }
    printf("simulate: %u of %u small graphs as fast as can be\n", best, all);
    cr_assert_geq(best, all * 85 / 100);
}

/* ---- step by step */

/* Lanes in the order given, each node as early as its inputs are there. */
static uint64_t go_through(const struct rd_pass *p, const struct rd_placement *x)
{
    const struct rd_graph *g = p->graph;
    uint64_t end[64], free[8], last = 0;
    uint8_t done[64] = { 0 };
    for (uint32_t q = 0; q < 8; q++)
        free[q] = q ? p->handover_ns : 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = x->ids ? i : x->order[i], q = x->processor[v];
        uint64_t at = free[q], back;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from;
            uint64_t there = end[u] + (x->processor[u] == q ? 0 : p->handover_ns);
            cr_assert(done[u], "node %u before node %u", v, u);
            at = there > at ? there : at;
        }
        done[v] = 1;
        end[v] = free[q] = at + rd_pass_cost(p, v);
        back = end[v] + (q ? p->handover_ns : 0);
        last = back > last ? back : last;
    }
    return last;
}

static void check_placement(const struct rd_pass *p, const struct rd_placement *x)
{
    const struct rd_compile_input *in = p->in;
    for (uint32_t v = 0; v < p->nodes; v++) {
        uint32_t bound = in->bound ? in->bound[v] : (uint32_t)RD_PLACE_ANY;
        cr_assert(bound == RD_PLACE_ANY ? x->processor[v] < in->processors - in->helpers
                                        : x->processor[v] == bound);
    }
    cr_assert_eq(go_through(p, x), x->time_ns);
}

Test(simulate, step_by_step)
{
    uint64_t seed = 52;
    for (uint32_t i = 0; i < 500; i++) {
        struct maker m = { 0 };
        uint32_t cost[64], order[64], sorted[64], processors = 2 + below(&seed, 6);
        uint16_t bound[64], on[64];
        struct rd_compile_input in = { .graph = &m.g,
                                       .cost_ns = cost,
                                       .bound = i % 3 ? NULL : bound,
                                       .processors = processors,
                                       .helpers = i % 3 ? 0 : below(&seed, processors - 1),
                                       .handover_ns = i % 2 ? below(&seed, 400) : 0,
                                       .unknown_cost_ns = 70 };
        struct rd_placement x = { .processor = on, .order = order };
        struct rd_pass p = { .in = &in,
                             .graph = &m.g,
                             .scratch = { .a = rd_allocator_system() },
                             .handover_ns = in.handover_ns,
                             .fastest = i % 5 != 0 };
        make_random(&m, 2 + below(&seed, 60), 4, 0, i % 4 == 0, &seed);
        p.nodes = m.g.nodes;
        for (uint32_t v = 0; v < m.g.nodes; v++) {
            uint32_t j = below(&seed, v + 1);
            cost[v] = below(&seed, 300);
            bound[v] = (uint16_t)(below(&seed, 3) ? RD_PLACE_ANY : below(&seed, processors));
            sorted[v] = sorted[j];
            sorted[j] = v;
        }
        cr_assert_eq(rd_order(&p), RONDO_OK);
        cr_assert_eq(rd_list_schedule(&p, sorted, processors - in.helpers, &x), RONDO_OK);
        check_placement(&p, &x);
        cr_assert_eq(rd_place(&p, &x), RONDO_OK);
        check_placement(&p, &x);
        rd_scratch_free(&p.scratch);
        maker_free(&m);
    }
}

/* ---- many processors, limits */

static void large(void)
{
    struct maker m = { 0 };
    struct rd_compile_input in = {
        .graph = &m.g, .processors = 1024, .handover_ns = 100, .unknown_cost_ns = 10000
    };
    rondo_simulation s;
    make_stencil(&m, 2000, 50, 0);
    s = simulate(&in);
    check_numbers(&in, &s);
    cr_assert_leq(s.makespan_ns, 2 * s.critical_path_ns + 50 * 400); /* 2000 on 1,024: two rounds */
    in.processors = 1;
    s = simulate(&in);
    cr_assert(s.makespan_ns == s.work_ns && s.lanes == 1 && s.handovers == 0);
    in.processors = 1025;
    s.lanes = 77;
    cr_assert_eq(rd_simulate(rd_allocator_system(), &in, &s), RONDO_ERR_INVALID);
    cr_assert(strstr(rd_error_text(), "1025 processors") && s.lanes == 77);
    maker_free(&m);
}

static void external_lanes(void)
{
    struct maker m = { 0 };
    uint8_t external[40] = { 0 };
    struct rd_compile_input in = {
        .graph = &m.g, .external = external, .processors = 1, .unknown_cost_ns = 100
    };
    rondo_simulation s;
    for (uint32_t v = 0; v < 40; v++)
        maker_node(&m);
    external[3] = external[5] = 1;
    s = simulate(&in);
    cr_assert(s.lanes == 3 && s.processors == 1);
    memset(external, 1, 40); /* too many to tell apart: interpreted */
    s = simulate(&in);
    cr_assert(s.lanes == 1 && s.processors == 1);
    maker_free(&m);
}

Test(simulate, limits)
{
    large();
    external_lanes();
}

/* ---- overheads */

struct predicted {
    uint32_t lanes;
    uint64_t makespan_ns;
};

static struct predicted predict(struct maker *m, uint32_t cost_ns, uint32_t handover_ns,
                                uint32_t op_ns)
{
    struct rd_compile_input in = { .graph = &m->g,
                                   .processors = 2,
                                   .handover_ns = handover_ns,
                                   .unknown_cost_ns = cost_ns,
                                   .op_ns = op_ns,
                                   .check = 1 };
    struct rd_plan *plan;
    struct predicted x;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plan), RONDO_OK);
    cr_assert_eq(plan->work_ns, (uint64_t)m->g.nodes * (cost_ns + op_ns));
    x = (struct predicted){ plan->lanes, plan->makespan_ns };
    rd_plan_free(rd_allocator_system(), plan);
    return x;
}

/* Looks at other processors' results, and the way to them and back, count where overheads do. */
Test(simulate, overheads)
{
    struct maker m = { 0 };
    struct predicted with, without;
    make_fan(&m, 1000, 1);
    cr_assert_eq(predict(&m, 2, 900, 2).lanes, 1); /* 4 us of work, 3.6 us there and back */
    cr_assert_eq(predict(&m, 20, 900, 2).lanes, 2);
    maker_free(&m);
    maker_node(&m);
    maker_node(&m);
    cr_assert_eq(predict(&m, 5000, 300, 0).makespan_ns, 5600);
    cr_assert_eq(predict(&m, 4999, 300, 1).makespan_ns, 6200);
    maker_free(&m);
    make_cholesky(&m, 8);
    cr_assert_eq(predict(&m, 2, 100, 2).lanes, 1);
    cr_assert_eq(predict(&m, 2000, 100, 2).lanes, 2);
    maker_free(&m);
    make_stencil(&m, 8, 200, 0);
    cr_assert_eq(predict(&m, 32, 250, 2).lanes, 1);
    cr_assert_eq(predict(&m, 1000, 250, 2).lanes, 2);
    without = predict(&m, 1000, 250, 0);
    with = predict(&m, 999, 250, 1);
    cr_assert_geq(with.makespan_ns, without.makespan_ns + 199 * 125, "a look in each step");
    cr_assert_leq(with.makespan_ns, without.makespan_ns + 200 * 250);
    maker_free(&m);
    make_stencil(&m, 8, 1, 1); /* pipelined: the look at the replay before */
    without = predict(&m, 1000, 250, 0);
    with = predict(&m, 999, 250, 1);
    cr_assert_eq(with.makespan_ns, without.makespan_ns + 125);
    maker_free(&m);
}
