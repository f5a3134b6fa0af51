/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that may block: whatever runs in their time, they hold back only what depends on them;
 * helpers take only what is bound to them. */
#include "tests/compile/play.h"

#include <stdio.h>

struct subject {
    struct maker m;
    uint8_t external[PLAY_NODES];
    uint16_t bound[PLAY_NODES];
    struct rd_compile_input in;
};

static struct subject *draw(uint64_t *seed, uint32_t nodes, uint32_t externals, uint32_t distance,
                            int varied)
{
    struct subject *s = calloc(1, sizeof *s);
    uint32_t processors = 1 + below(seed, 4), helpers = below(seed, 3);
    make_random(&s->m, nodes, 1 + below(seed, 3), distance, (int)below(seed, 2), seed);
    if (varied)
        make_variants(&s->m, 3, 2, seed);
    while (externals--)
        s->external[below(seed, nodes)] = 1;
    for (uint32_t v = 0; v < nodes; v++)
        s->bound[v] = (uint16_t)(below(seed, 2) ? below(seed, processors) : RD_PLACE_ANY);
    for (uint32_t v = 0; v < nodes && helpers; v++) /* each blocking task has its own */
        if (s->external[v])
            s->bound[v] = (uint16_t)(processors + below(seed, helpers));
    s->in = (struct rd_compile_input){ .graph = &s->m.g,
                                       .external = s->external,
                                       .bound = below(seed, 2) ? s->bound : NULL,
                                       .processors = processors + helpers,
                                       .helpers = helpers,
                                       .handover_ns = 20,
                                       .unknown_cost_ns = 500,
                                       .check = 1 };
    return s;
}

static void drop(struct subject *s, struct rd_plan *plan)
{
    rd_plan_free(rd_allocator_system(), plan);
    maker_free(&s->m);
    free(s);
}

/* The external nodes before a node in one variant, itself included, along every path: bit k is the
 * k-th of them. */
static uint64_t upstream(const struct subject *s, const uint32_t *first, const struct rd_edge *pred,
                         uint32_t v)
{
    uint64_t all = s->external[v];
    for (uint32_t u = 0; u < v; u++)
        all <<= s->external[v] & s->external[u];
    for (uint32_t e = first[v]; e < first[v + 1]; e++)
        if (!pred[e].distance)
            all |= upstream(s, first, pred, pred[e].from);
    return all;
}

static uint32_t sets_of(const struct subject *s)
{
    const struct rd_graph *g = &s->m.g;
    uint64_t key[PLAY_NODES][2] = { { 0 } };
    uint32_t sets = 0;
    for (uint32_t v = 0; v < g->nodes; v++) {
        uint32_t u = 0;
        for (uint32_t i = 0; i < 2 && i < g->variants; i++)
            key[v][i] = upstream(s, g->variant[i].first, g->variant[i].pred, v);
        if (!g->variants)
            key[v][0] = upstream(s, g->first, g->pred, v);
        while (u < v && memcmp(key[u], key[v], sizeof key[v]))
            u++;
        sets += u == v;
    }
    return sets;
}

/* Whether it could be compiled. */
static int one(uint64_t *seed, uint32_t nodes, uint32_t externals, uint32_t distance, int varied,
               uint32_t *stalls)
{
    struct subject *s = draw(seed, nodes, externals, distance, varied);
    struct rd_plan *plan = NULL;
    rondo_status status = rd_compile(rd_allocator_system(), &s->in, &plan);
    uint32_t sets = sets_of(s);
    cr_assert_eq(status, sets <= 16 ? RONDO_OK : RONDO_ERR_INVALID, "%u sets: %s", sets,
                 rd_error_text());
    if (status) {
        cr_assert(strstr(rd_error_text(), "node "), "%s", rd_error_text());
        s->in.interpret_only = 1;
        cr_assert_eq(rd_compile(rd_allocator_system(), &s->in, &plan), RONDO_OK);
        cr_assert_leq(plan->lanes, s->in.processors);
        drop(s, plan);
        return 0;
    }
    for (uint32_t window = 1; window <= 3; window++) {
        struct play *x = calloc(1, sizeof *x);
        *x = (struct play){ .graph = &s->m.g,
                            .plan = plan,
                            .external = s->external,
                            .window = window,
                            .replays = distance + 7,
                            .seed = next_random(seed) };
        play(x);
        *stalls += x->stalls;
        free(x);
    }
    drop(s, plan);
    return 1;
}

Test(external, holds_back_what_depends)
{
    uint64_t seed = 31;
    uint32_t compiled = 0, refused = 0, stalls = 0;
    for (uint32_t i = 0; i < 800; i++) {
        uint32_t nodes = 2 + below(&seed, 40), externals = below(&seed, i % 3 ? 4 : 40);
        uint32_t ok =
            (uint32_t)one(&seed, nodes, externals, i % 4 == 3 ? 2 : i % 2, i % 5 == 0, &stalls);
        compiled += ok;
        refused += !ok;
    }
    printf("external: %u compiled, %u refused, %u stalls\n", compiled, refused, stalls);
    cr_assert(compiled > 300 && refused > 50 && stalls > 3000);
}

static struct rd_plan *compile(const struct rd_compile_input *in)
{
    struct rd_plan *plan = NULL;
    cr_assert_eq(rd_compile(rd_allocator_system(), in, &plan), RONDO_OK, "%s", rd_error_text());
    return plan;
}

/* One processor: a chain whose middle may block, beside a chain that goes on. */
static void beside(void)
{
    struct maker m = { 0 };
    uint8_t external[20] = { [8] = 1 };
    struct rd_compile_input in = {
        .graph = &m.g, .external = external, .processors = 1, .unknown_cost_ns = 100, .check = 1
    };
    struct rd_plan *p;
    for (uint32_t v = 0; v < 20; v++) { /* even nodes: the chain that blocks */
        maker_node(&m);
        if (v > 1)
            maker_edge(&m, v - 2, 0);
    }
    p = compile(&in);
    cr_assert(p->lanes == 2 && p->lane[0].processor == 0 && p->lane[1].processor == 0);
    cr_assert(p->lane[0].length == 14 && p->lane[1].length == 6);
    cr_assert(p->op[14].node == 8 && p->op[14].wait && p->wait_count == 1);
    rd_plan_free(rd_allocator_system(), p);
    maker_free(&m);
}

/* 16 sets fit, in 16 lanes; the 17th does not. */
static void sixteen(void)
{
    struct maker m = { 0 };
    uint8_t external[17];
    struct rd_compile_input in = {
        .graph = &m.g, .external = external, .processors = 3, .unknown_cost_ns = 100, .check = 1
    };
    struct rd_plan *p = NULL;
    memset(external, 1, sizeof external);
    for (uint32_t v = 0; v < 16; v++)
        maker_node(&m);
    p = compile(&in);
    cr_assert_eq(p->lanes, 16);
    for (uint32_t l = 1; l < p->lanes; l++)
        cr_assert(p->lane[l].processor >= p->lane[l - 1].processor);
    rd_plan_free(rd_allocator_system(), p);
    maker_node(&m);
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_ERR_INVALID);
    cr_assert(strstr(rd_error_text(), "node 16: ") && strstr(rd_error_text(), "16"), "%s",
              rd_error_text());
    external[16] = 0; /* a set of its own still: the empty one */
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_ERR_INVALID);
    external[15] = 0;
    p = compile(&in);
    cr_assert_leq(p->lanes, 18);
    rd_plan_free(rd_allocator_system(), p);
    maker_free(&m);
}

/* plan_check finds a lane that mixes what depends with what does not. */
static void mixed(void)
{
    struct maker m = { 0 };
    uint8_t external[4] = { 0 };
    char why[256];
    struct rd_compile_input in = {
        .graph = &m.g, .external = external, .processors = 1, .unknown_cost_ns = 100, .check = 1
    };
    struct rd_plan *p;
    for (uint32_t v = 0; v < 4; v++)
        maker_node(&m);
    p = compile(&in);
    external[1] = 1;
    cr_assert_eq(rd_plan_check(rd_allocator_system(), &in, p, why, sizeof why), RONDO_OK);
    cr_assert(strstr(why, "depends on external node 1"), "%s", why);
    rd_plan_free(rd_allocator_system(), p);
    maker_free(&m);
}

Test(external, cases)
{
    beside();
    sixteen();
    mixed();
}

Test(external, helpers)
{
    uint64_t seed = 12;
    for (uint32_t i = 0; i < 300; i++) {
        struct maker m = { 0 };
        uint32_t nodes = 1 + below(&seed, 200);
        uint32_t processors = 1 + below(&seed, 4), helpers = below(&seed, 4);
        uint16_t bound[PLAY_NODES];
        uint32_t cost[PLAY_NODES];
        struct rd_compile_input in = { .graph = &m.g,
                                       .bound = bound,
                                       .cost_ns = i % 2 ? cost : NULL,
                                       .processors = processors + helpers,
                                       .helpers = helpers,
                                       .handover_ns = 10,
                                       .unknown_cost_ns = 5000,
                                       .check = 1 };
        struct rd_plan *p;
        make_random(&m, nodes, 2, i % 2, i % 3 == 0, &seed);
        for (uint32_t v = 0; v < nodes; v++) {
            bound[v] = RD_PLACE_ANY;
            cost[v] = below(&seed, 3000);
        }
        for (uint32_t h = 0; h < helpers; h++)
            bound[below(&seed, nodes)] = (uint16_t)(processors + h);
        p = compile(&in);
        for (uint32_t v = 0; v < nodes; v++) {
            uint32_t on = p->lane[rd_plan_lane_of_op(p, p->op_of_node[v])].processor;
            cr_assert(bound[v] == RD_PLACE_ANY ? on < processors : on == bound[v]);
        }
        in.helpers = in.processors;
        cr_assert_eq(rd_compile(rd_allocator_system(), &in, &p), RONDO_ERR_INVALID);
        rd_plan_free(rd_allocator_system(), p);
        maker_free(&m);
    }
}
