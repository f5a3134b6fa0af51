/* SPDX-License-Identifier: BSD-3-Clause */
/* plan_check finds what is wrong: right plans are broken in one place each, everything that merely
 * follows from the plan (publish flags, positions, bad bits, counts) being repaired. */
#include "compile/passes.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct subject {
    struct maker m;
    uint16_t *bound;
    struct rd_compile_input in;
    struct rd_plan *plan;
};

static const char *checked(const struct subject *s)
{
    static char why[256];
    cr_assert_eq(rd_plan_check(rd_allocator_system(), &s->in, s->plan, why, sizeof why), RONDO_OK);
    return why;
}

static void compile(struct subject *s, uint32_t processors)
{
    s->in = (struct rd_compile_input){ .graph = &s->m.g,
                                       .bound = s->bound,
                                       .processors = processors,
                                       .handover_ns = 250,
                                       .unknown_cost_ns = 1000 };
    cr_assert_eq(rd_compile(rd_allocator_system(), &s->in, &s->plan), RONDO_OK, "%s",
                 rd_error_text());
    cr_assert_str_eq(checked(s), "");
}

static void drop(struct subject *s)
{
    rd_plan_free(rd_allocator_system(), s->plan);
    maker_free(&s->m);
    free(s->bound);
    memset(s, 0, sizeof *s);
}

static void publish(struct rd_plan *p, uint32_t peer, uint32_t wait)
{
    if (wait && wait < p->lane[peer].length)
        p->op[p->lane[peer].first + wait - 1].publish = wait;
}

static void repair(struct subject *s)
{
    struct rd_plan *p = s->plan;
    const struct rd_graph *g = &s->m.g;
    uint32_t at = 0;
    p->wait_count = p->further_waits;
    for (uint32_t o = 0; o < p->nodes; o++) {
        p->op[o].publish = 0;
        p->op_of_node[p->op[o].node] = o;
        p->wait_count += p->op[o].wait != 0;
    }
    for (uint32_t o = 0; o < p->nodes; o++)
        publish(p, p->op[o].peer, p->op[o].wait);
    for (uint64_t i = 0; i < p->further_waits; i++)
        publish(p, p->wait[i].peer, p->wait[i].wait);
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t op = p->op_of_node[g->pred[e].from];
            const struct rd_plan_lane *l = &p->lane[rd_plan_lane_of_op(p, op)];
            if (!g->pred[e].distance)
                p->pred[at++] = l->bit_first + (op - l->first);
        }
}

/* Every mutant of `field` values: broken, found, put back. */
#define MUTANT(s, lvalue, value, what)                              \
    do {                                                            \
        __typeof__(lvalue) kept = (lvalue);                         \
        (lvalue) = (__typeof__(lvalue))(value);                     \
        repair(s);                                                  \
        cr_assert(checked(s)[0], "%s of op %u not found", what, o); \
        mutants++;                                                  \
        (lvalue) = kept;                                            \
        repair(s);                                                  \
    } while (0)

static uint32_t mutate_waits(struct subject *s, uint32_t step)
{
    struct rd_plan *p = s->plan;
    uint32_t mutants = 0;
    for (uint32_t o = 0; o < p->nodes; o += step) {
        if (!p->op[o].wait)
            continue;
        if (!p->op[o].more)
            MUTANT(s, p->op[o].wait, 0, "a dropped wait");
        if (p->op[o].wait > 1)
            MUTANT(s, p->op[o].wait, p->op[o].wait - 1, "a weaker wait");
        if (p->op[o].dist < p->distance && p->op[o].dist < 254)
            MUTANT(s, p->op[o].dist, p->op[o].dist + 1, "a wait too far back");
        MUTANT(s, p->op[o].peer, rd_plan_lane_of_op(p, o), "a wait for its own lane");
        MUTANT(s, p->op[o].more, p->op[o].more + 1, "a further wait of another");
    }
    for (uint32_t o = 0; o < p->further_waits; o++) {
        if (p->wait[o].wait > 1)
            MUTANT(s, p->wait[o].wait, p->wait[o].wait - 1, "a weaker further wait");
        MUTANT(s, p->wait[o].wait, p->lane[p->wait[o].peer].length + 1, "a wait past the lane");
    }
    return mutants;
}

static uint32_t mutate_lanes(struct subject *s)
{
    struct rd_plan *p = s->plan;
    const struct rd_graph *g = &s->m.g;
    uint32_t mutants = 0;
    for (uint32_t o = 0; o < p->lanes; o++) {
        if (p->lane[o].sink) {
            p->sinks--;
            MUTANT(s, p->lane[o].sink, 0, "a dropped sink");
            p->sinks++;
        }
        MUTANT(s, p->lane[o].bit_first, p->lane[o].bit_first + 64, "a shared line of bad bits");
    }
    for (uint32_t o = 1; o < p->nodes; o++) {
        uint32_t v = p->op[o].node, u = p->op[o - 1].node, depends = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            depends |= g->pred[e].from == u && !g->pred[e].distance;
        if (!depends || rd_plan_lane_of_op(p, o) != rd_plan_lane_of_op(p, o - 1))
            continue;
        p->op[o - 1].node = v;
        MUTANT(s, p->op[o].node, u, "two ops swapped");
        p->op[o - 1].node = u;
        repair(s);
    }
    return mutants;
}

static uint32_t mutate_flags(struct subject *s)
{
    struct rd_plan *p = s->plan;
    uint32_t mutants = 0;
    for (uint32_t o = 0; o < p->nodes; o++, mutants++) {
        uint32_t kept = p->op[o].publish;
        p->op[o].publish = kept ? 0 : 1;
        cr_assert(checked(s)[0], "publish of op %u", o);
        p->op[o].publish = kept;
        kept = p->op_of_node[o];
        p->op_of_node[o] = (kept + 1) % p->nodes;
        cr_assert(p->nodes == 1 || checked(s)[0], "op of node %u", o);
        p->op_of_node[o] = kept;
    }
    for (uint32_t i = 0; i < p->pred_first[p->nodes]; i++, mutants++) {
        p->pred[i] ^= 1;
        cr_assert(checked(s)[0], "predecessor %u", i);
        p->pred[i] ^= 1;
    }
    cr_assert_str_eq(checked(s), "");
    return mutants;
}

Test(mutants, small)
{
    uint64_t seed = 11;
    uint32_t mutants = 0;
    for (int i = 0; i < 150; i++) {
        struct subject s = { 0 };
        uint32_t nodes = 4 + below(&seed, 30), processors = 2 + below(&seed, 4);
        make_random(&s.m, nodes, 3, below(&seed, 4), i % 2, &seed);
        s.bound = malloc(nodes * sizeof *s.bound);
        for (uint32_t v = 0; v < nodes; v++)
            s.bound[v] = (uint16_t)below(&seed, processors);
        compile(&s, processors);
        mutants += mutate_waits(&s, 1);
        mutants += mutate_lanes(&s);
        mutants += mutate_flags(&s);
        drop(&s);
    }
    printf("mutants: %u found\n", mutants);
    cr_assert(mutants > 5000);
}

/* Beyond what the closure holds: the runs and the search find the same. */
Test(mutants, large)
{
    struct subject s = { 0 };
    uint32_t mutants;
    make_stencil(&s.m, 8, 700, 1);
    compile(&s, 3);
    mutants = mutate_waits(&s, 37);
    printf("mutants of %u nodes: %u found\n", s.plan->nodes, mutants);
    cr_assert(mutants > 30);
    drop(&s);
}

/* Two lanes, each in a topological order of its own, that wait for each other. */
Test(mutants, deadlock)
{
    struct subject s = { 0 };
    struct rd_plan *p;
    /* a: 0, c: 1, b -> c, d -> a: nodes b 0, d 1, c 2, a 3 */
    maker_node(&s.m);
    maker_node(&s.m);
    maker_node(&s.m);
    maker_edge(&s.m, 0, 0);
    maker_node(&s.m);
    maker_edge(&s.m, 1, 0);
    s.bound = malloc(4 * sizeof *s.bound);
    s.bound[0] = s.bound[3] = 0; /* lane 0: b, a */
    s.bound[1] = s.bound[2] = 1; /* lane 1: d, c */
    compile(&s, 2);
    p = s.plan;
    for (uint32_t o = 0; o < 4; o++)
        p->op[o].wait = 0;
    p->op[0] = (struct rd_op){ .node = 3, .wait = 2, .peer = 1 };
    p->op[1] = (struct rd_op){ .node = 0 };
    p->op[2] = (struct rd_op){ .node = 2, .wait = 2, .peer = 0 };
    p->op[3] = (struct rd_op){ .node = 1 };
    p->lane[0].sink = p->lane[1].sink = 1;
    p->sinks = 2;
    repair(&s);
    cr_assert(strstr(checked(&s), "blocks for ever"), "%s", checked(&s));
    drop(&s);
}
