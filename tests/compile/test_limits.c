/* SPDX-License-Identifier: BSD-3-Clause */
/* The edges of the compile passes: no memory, refusals, many lanes, far distances, memory per node.
 */
#include "compile/passes.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct meter {
    uint64_t calls, fail_at, live; /* fail_at 0: never */
};

static void *metered(void *context, size_t bytes, size_t align)
{
    struct meter *m = context;
    void *block;
    if (++m->calls == m->fail_at)
        return NULL;
    m->live++;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, bytes) ? NULL
                                                                                          : block;
}
static void unmetered(void *context, void *block)
{
    struct meter *m = context;
    m->live--;
    free(block);
}

/* Every allocation fails once: MEMORY with a message, nothing kept, nothing written. */
static uint64_t starve(const struct rd_compile_input *in)
{
    for (uint64_t n = 1;; n++) {
        struct meter m = { .fail_at = n };
        struct rd_allocator a;
        struct rd_plan *plan = NULL;
        rondo_status s;
        rd_allocator_init(&a, metered, unmetered, &m);
        s = rd_compile(&a, in, &plan);
        if (m.calls < n) { /* none failed any more */
            cr_assert_eq(s, RONDO_OK);
            cr_assert_eq(rd_load_relaxed(&a.bytes), plan->bytes);
            rd_plan_free(&a, plan);
            cr_assert(m.live == 0 && rd_load_relaxed(&a.bytes) == 0);
            return n - 1;
        }
        cr_assert_eq(s, RONDO_ERR_MEMORY, "allocation %llu", (unsigned long long)n);
        cr_assert(strstr(rd_error_text(), "memory"));
        cr_assert(!plan && m.live == 0 && rd_load_relaxed(&a.bytes) == 0,
                  "allocation %llu: %llu blocks left", (unsigned long long)n,
                  (unsigned long long)m.live);
    }
}

Test(limits, no_memory)
{
    uint64_t seed = 9, failures = 0;
    for (uint32_t i = 0; i < 60; i++) {
        struct maker m = { 0 };
        uint16_t bound[200];
        uint8_t external[200] = { 0 };
        uint32_t cost[200];
        uint32_t processors = i % 6 == 5 ? 80 : 1 + i % 5;
        struct rd_compile_input in = { .graph = &m.g,
                                       .processors = processors,
                                       .handover_ns = 100,
                                       .unknown_cost_ns = 1000,
                                       .bound = i % 2 ? bound : NULL,
                                       .external = i % 5 == 1 ? external : NULL,
                                       .cost_ns = i % 4 == 2 ? cost : NULL,
                                       .op_ns = i % 3 == 0,
                                       .check = i % 4 != 0 };
        make_random(&m, 100 + below(&seed, 100), 3, i % 3, (int)(i % 2), &seed);
        if (i % 6 == 1 || i % 6 == 5)
            make_variants(&m, 4, 3, &seed);
        external[99] = external[98] = 1;
        for (uint32_t v = 0; v < m.g.nodes; v++) {
            bound[v] = (uint16_t)below(&seed, processors);
            cost[v] = below(&seed, 4000);
        }
        failures += starve(&in);
        maker_free(&m);
    }
    printf("limits: %llu failing allocations\n", (unsigned long long)failures);
    cr_assert(failures > 1000);
}

static void refused(const struct rd_compile_input *in, const char *message)
{
    struct meter m = { 0 };
    struct rd_allocator a;
    struct rd_plan *plan = NULL;
    rd_allocator_init(&a, metered, unmetered, &m);
    cr_assert_eq(rd_compile(&a, in, &plan), RONDO_ERR_INVALID);
    cr_assert(!plan && m.live == 0);
    cr_assert(strstr(rd_error_text(), message), "%s", rd_error_text());
}

Test(limits, refusals)
{
    enum { LANES = 300 };
    struct maker m = { 0 };
    uint16_t bound[LANES + 1];
    struct rd_compile_input in = {
        .graph = &m.g, .processors = 2, .unknown_cost_ns = 1000, .bound = bound
    };
    maker_node(&m);
    maker_node(&m);
    bound[0] = 0;
    bound[1] = 2;
    refused(&in, "node 1: bound to processor 2 of 2");
    bound[1] = 1;
    in.processors = 0;
    refused(&in, "0 processors");
    in.processors = 65536;
    refused(&in, "65536 processors");
    in.processors = 2;
    maker_node(&m);
    bound[2] = 0;
    maker_edge(&m, 0, 0);
    maker_edge(&m, 2, 0);
    refused(&in, "node 2: on or behind a cycle");
    maker_free(&m);
    /* A node that needs more waits than an op holds: 257 lanes to wait for. */
    for (uint32_t v = 0; v <= 257; v++) {
        maker_node(&m);
        bound[v] = (uint16_t)v;
    }
    for (uint32_t u = 0; u < 257; u++)
        maker_edge(&m, u, 0);
    in.processors = LANES;
    refused(&in, "node 257: waits for more than 256 other processors");
    maker_free(&m);
}

/* A step where each lane needs its neighbours' and, some, far lanes' results. */
static void wide(uint32_t lanes, uint32_t steps, uint32_t distance)
{
    struct maker m = { 0 };
    uint16_t *bound = malloc(lanes * steps * sizeof *bound);
    struct rd_plan *plan;
    struct rd_compile_input in = {
        .graph = &m.g, .processors = lanes, .unknown_cost_ns = 1000, .handover_ns = 100, .check = 1
    };
    uint64_t seed = lanes;
    make_stencil(&m, lanes, steps, 1);
    for (uint32_t v = 0; v < m.g.nodes; v++)
        bound[v] = (uint16_t)(v % lanes);
    maker_node(&m); /* after all of the last step, in part of a replay long before */
    bound = realloc(bound, m.g.nodes * sizeof *bound);
    bound[m.g.nodes - 1] = 0;
    for (uint32_t i = 0; i < lanes && i < 200; i++)
        maker_edge(&m, lanes * (steps - 1) + i, i % 3 ? 0 : distance);
    for (uint32_t k = 0; k < 20; k++)
        maker_edge(&m, below(&seed, m.g.nodes - 1), distance);
    in.bound = bound;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plan), RONDO_OK, "%s", rd_error_text());
    cr_assert_eq(plan->lanes, lanes);
    cr_assert_eq(plan->distance, distance > 1 ? distance : 1);
    cr_assert_leq(plan->wait_count, plan->edges + plan->carried_edges);
    rd_plan_free(rd_allocator_system(), plan);
    in.bound = NULL;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plan), RONDO_OK, "%s", rd_error_text());
    rd_plan_free(rd_allocator_system(), plan);
    free(bound);
    maker_free(&m);
}

Test(limits, lanes_and_distances)
{
    for (uint32_t lanes = 1; lanes <= 70; lanes++)
        wide(lanes, 6, lanes % 5);
    wide(1000, 10, 2);
    wide(2, 10, 255);
    wide(70, 4, 255);
    wide(64, 4, 17);
}

/* More lanes than clocks: chains that are implied by the lane or a direct predecessor go. */
Test(limits, covered)
{
    enum { LANES = 100, STEPS = 20 };
    struct maker m = { 0 };
    uint16_t bound[LANES * STEPS];
    struct rd_compile_input in = {
        .graph = &m.g, .bound = bound, .processors = LANES, .unknown_cost_ns = 1000, .check = 1
    };
    struct rd_plan *plan;
    for (uint32_t t = 0; t < STEPS; t++)
        for (uint32_t i = 0; i < LANES; i++) {
            uint32_t v = t * LANES + i;
            maker_node(&m);
            bound[v] = (uint16_t)i;
            if (i) {
                maker_edge(&m, v - 1, 0);
                if (i > 1)
                    maker_edge(&m, v - 2, 0); /* the one before waited for it */
                if (t)
                    maker_edge(&m, v - 1 - LANES, 0); /* this lane waited for it */
            }
        }
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plan), RONDO_OK, "%s", rd_error_text());
    cr_assert_eq(plan->wait_count, (LANES - 1) * STEPS);
    rd_plan_free(rd_allocator_system(), plan);
    maker_free(&m);
}
