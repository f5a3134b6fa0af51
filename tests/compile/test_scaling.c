/* SPDX-License-Identifier: BSD-3-Clause */
/* Time and memory per node of each kind of graph, small and large, all nodes bound to two
 * processors and none bound. Prints the table; fails where memory or growth is far off. */
#include "compile/passes.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#ifndef LARGE
#define LARGE 200000
#endif
enum { SMALL = 10000, KINDS = 8 };

static const char *const kind_name[KINDS] = { "chain",    "stencil", "stencil carried", "fft",
                                              "random 3", "fan",     "cholesky",        "tree" };

static void make(struct maker *m, int kind, uint32_t nodes)
{
    uint32_t x = 1;
    switch (kind) {
    case 0: make_chain(m, nodes); break;
    case 1: make_stencil(m, 8, nodes / 8, 0); break;
    case 2: make_stencil(m, 8, nodes / 8, 1); break;
    case 3: make_fft(m, 8, nodes / 8); break;
    case 4: make_random3(m, 8, nodes / 8, 7); break;
    case 5: make_fan(m, 1000, (nodes + 500) / 1001); break;
    case 6:
        while ((x + 1) * (x + 2) * (x + 3) / 6 <= nodes)
            x++;
        make_cholesky(m, x);
        break;
    default:
        while ((4u << x) - 1 <= nodes)
            x++;
        make_tree(m, x);
    }
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Where a program would put them: halves of columns, of fans, of a tree's levels, rows in turn. */
static void bind(uint16_t *bound, int kind, const struct maker *m)
{
    uint32_t n = m->g.nodes;
    for (uint32_t v = 0; v < n; v++) {
        if (kind == 0)
            bound[v] = (uint16_t)(v >= n / 2);
        else if (kind < 5)
            bound[v] = (uint16_t)(v % 8 / 4);
        else if (kind == 5)
            bound[v] = (uint16_t)(v % 1001 > 500);
        else
            bound[v] = (uint16_t)(m->g.first[v] == m->g.first[v + 1]
                                      ? v >= n / 4
                                      : bound[m->g.pred[m->g.first[v + 1] - 1].from]);
    }
}

struct row {
    double ns, bytes, waits;
    uint32_t lanes;
    double speed_up;
};

static struct row measure(const struct maker *m, const uint16_t *bound)
{
    struct rd_compile_input in = { .graph = &m->g,
                                   .bound = bound,
                                   .processors = 2,
                                   .handover_ns = 250,
                                   .unknown_cost_ns = 10000 };
    struct row r = { 1e30, 0, 0, 0, 0 };
    for (int i = 0; i < (m->g.nodes > SMALL ? 3 : 20); i++) {
        struct rd_plan *plan;
        double t = cpu_ns();
        cr_assert(rd_compile(rd_allocator_system(), &in, &plan) == RONDO_OK, "%s", rd_error_text());
        t = (cpu_ns() - t) / m->g.nodes;
        if (t < r.ns)
            r.ns = t;
        r.bytes = (double)plan->bytes / m->g.nodes;
        r.waits = (double)plan->wait_count / (double)(plan->edges + plan->carried_edges);
        r.lanes = plan->lanes;
        r.speed_up = (double)plan->work_ns / (double)plan->makespan_ns;
        rd_plan_free(rd_allocator_system(), plan);
    }
    return r;
}

Test(scaling, kinds)
{
    printf("%-16s %-5s %9s %8s %9s %6s %6s %6s %5s\n", "graph", "place", "nodes", "ns/node",
           "of small", "bytes", "waits%", "lanes", "speed");
    for (int kind = 0; kind < KINDS; kind++)
        for (int free_nodes = 0; free_nodes < 2; free_nodes++) {
            double small = 0;
            for (int large = 0; large < 2; large++) {
                struct maker m = { 0 };
                uint16_t *bound;
                struct row r;
                make(&m, kind, large ? LARGE : SMALL);
                bound = malloc(m.g.nodes * sizeof *bound);
                bind(bound, kind, &m);
                r = measure(&m, free_nodes ? NULL : bound);
                if (!large)
                    small = r.ns;
                printf("%-16s %-5s %9u %8.0f %9.2f %6.1f %6.2f %6u %5.2f\n", kind_name[kind],
                       free_nodes ? "free" : "bound", m.g.nodes, r.ns, r.ns / small, r.bytes,
                       100 * r.waits, r.lanes, r.speed_up);
                cr_assert(r.bytes <= 72);
                cr_assert(r.ns <= 6 * small, "%s: %.0f ns per node, %.0f small", kind_name[kind],
                          r.ns, small); /* far from linear: noise alone is less */
                free(bound);
                maker_free(&m);
            }
        }
}
