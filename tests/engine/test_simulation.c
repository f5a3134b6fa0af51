/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_simulate: exact figures of small recordings, measured costs, and what it refuses. */
#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WIDTH = 4 };

static int spin(rondo_task *self, const void *arg)
{
    int64_t until = et_now_ns() + *(const int64_t *)arg;
    (void)self;
    while (et_now_ns() < until)
        ;
    return 0;
}

static rondo_node add(rondo_subgraph g, double cost_ns, int64_t spin_ns, rondo_processor on,
                      const rondo_node *after, uint32_t after_count)
{
    rondo_task_desc d = { .name = "step",
                          .fn = spin,
                          .arg = &spin_ns,
                          .arg_bytes = sizeof spin_ns,
                          .after = after,
                          .after_count = after_count,
                          .on = on,
                          .cost_ns = cost_ns,
                          .flags = RONDO_NO_ACCESS };
    return rondo_record_task(g, &d);
}

/* One, four, one. */
static rondo_subgraph fork_join(rondo_runtime rt, double cost_ns, int64_t spin_ns)
{
    rondo_subgraph_desc desc = { .name = "fork and join" };
    rondo_node node[WIDTH], first;
    rondo_subgraph g;
    cr_assert_eq(rondo_subgraph_create(rt, &desc, &g), RONDO_OK);
    first = add(g, cost_ns, spin_ns, RONDO_ANY_CPU, NULL, 0);
    for (int i = 0; i < WIDTH; i++)
        node[i] = add(g, cost_ns, spin_ns, RONDO_ANY_CPU, &first, 1);
    add(g, cost_ns, spin_ns, RONDO_ANY_CPU, node, WIDTH);
    return g;
}

static rondo_simulation simulate(rondo_subgraph g, const rondo_simulate_options *o)
{
    rondo_simulation s;
    cr_assert_eq(rondo_simulate(g, o, &s), RONDO_OK, "%s", rondo_error_message());
    return s;
}

static void refused(rondo_subgraph g, rondo_simulate_options o, const char *why)
{
    rondo_simulation s = { .lanes = 77 };
    cr_assert_eq(rondo_simulate(g, &o, &s), RONDO_ERR_INVALID);
    cr_assert(strstr(rondo_error_message(), why), "%s", rondo_error_message());
    cr_assert_eq(s.lanes, 77);
}

Test(simulation, figures)
{
    rondo_runtime rt = et_runtime(1);
    rondo_subgraph g = fork_join(rt, 1000, 0);
    rondo_simulate_options o = { .processors = 4, .handover_ns = -1 };
    rondo_simulation s = simulate(g, &o);
    cr_assert(s.makespan_ns == 3000 && s.critical_path_ns == 3000 && s.work_ns == 6000);
    cr_assert(s.processors == 4 && s.lanes == 4 && s.handovers == 6);
    o.processors = 2;
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 4000 && s.processors == 2 && s.handovers == 4);
    o.handover_ns = 100;
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 4200, "%llu", (unsigned long long)s.makespan_ns);
    o.processors = 1;
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 6000 && s.lanes == 1 && s.handovers == 0);
    o.handover_ns = 1000000;
    o.processors = 1024;
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 6000 && s.processors == 1, "too far to be worth it");
    rondo_subgraph_destroy(g);
    g = fork_join(rt, 0, 0);
    o = (rondo_simulate_options){ .processors = 1, .unknown_cost_ns = 70 };
    cr_assert_eq(simulate(g, &o).work_ns, 420);
    o.unknown_cost_ns = 0;
    cr_assert_eq(simulate(g, &o).work_ns, 60000);
    refused(g, (rondo_simulate_options){ .processors = 0 }, "0 processors");
    refused(g, (rondo_simulate_options){ .processors = 1025 }, "1025 processors");
    refused(g, (rondo_simulate_options){ .processors = 1, .unknown_cost_ns = -5 }, "-5");
    refused(g, (rondo_simulate_options){ .processors = 1, .handover_ns = 1ll << 40 },
            "1099511627776");
    cr_assert_eq(rondo_simulate(g, &o, NULL), RONDO_ERR_INVALID);
    add(g, 10, 0, RONDO_CPU(0), NULL, 0);
    cr_assert_eq(simulate(g, &o).work_ns, 60010);
    rondo_subgraph_destroy(g);
    cr_assert_null(et_close_clean(rt));
}

/* A node where the simulated machine has no processor; the runtime's own does not matter. */
Test(simulation, bound)
{
    rondo_runtime rt = et_runtime(3);
    rondo_subgraph_desc desc = { .name = "bound" };
    rondo_simulate_options o = { .processors = 3, .handover_ns = -1 };
    rondo_simulation s;
    rondo_subgraph g;
    cr_assert_eq(rondo_subgraph_create(rt, &desc, &g), RONDO_OK);
    add(g, 500, 0, RONDO_CPU(2), NULL, 0);
    add(g, 500, 0, RONDO_CPU(2), NULL, 0);
    add(g, 500, 0, RONDO_ANY_CPU, NULL, 0);
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 1000 && s.processors == 2);
    o.processors = 2;
    refused(g, o, "RONDO_CPU(2)");
    rondo_subgraph_destroy(g);
    cr_assert_null(et_close_clean(rt));
}

static rondo_node add_kernel(rondo_subgraph g, double cost_ns, rondo_processor on,
                             const rondo_node *after)
{
    rondo_kernel_desc d = { .format = RONDO_OPENCL_C,
                            .image = "kernel void k() { }",
                            .image_bytes = 19,
                            .entry = "k",
                            .flags = RONDO_NO_ACCESS,
                            .dimensions = 1,
                            .global = { 1 },
                            .after = after,
                            .after_count = after != NULL,
                            .on = on,
                            .cost_ns = cost_ns };
    return rondo_record_kernel(g, &d);
}

/* Each device is a processor more, whose nodes run one after the other. */
Test(simulation, devices)
{
    rondo_runtime rt = et_runtime(1);
    rondo_subgraph_desc desc = { .name = "devices" };
    rondo_simulate_options o = { .processors = 1, .handover_ns = -1 };
    rondo_simulation s;
    rondo_subgraph g;
    rondo_node last;
    cr_assert_eq(rondo_subgraph_create(rt, &desc, &g), RONDO_OK);
    add(g, 500, 0, RONDO_ANY_CPU, NULL, 0);
    add(g, 500, 0, RONDO_ANY_CPU, NULL, 0);
    add_kernel(g, 600, RONDO_GPU(0), NULL);
    add_kernel(g, 600, RONDO_GPU(0), NULL);
    last = add_kernel(g, 400, RONDO_GPU(15), NULL);
    s = simulate(g, &o);
    cr_assert(s.makespan_ns == 1200 && s.work_ns == 2600, "%llu, %llu",
              (unsigned long long)s.makespan_ns, (unsigned long long)s.work_ns);
    cr_assert_eq(s.processors, 3);
    o.processors = 3; /* they take no others' nodes */
    cr_assert_eq(simulate(g, &o).makespan_ns, 1200);
    o = (rondo_simulate_options){ .processors = 1, .handover_ns = 50 };
    add(g, 1000, 0, RONDO_ANY_CPU, &last, 1);
    s = simulate(g, &o);
    cr_assert_eq(s.makespan_ns, 2000, "%llu", (unsigned long long)s.makespan_ns);
    o.processors = 1023;
    refused(g, o, "1023 processors and 2 more of blocking tasks and devices are more than 1024");
    rondo_subgraph_destroy(g);
    cr_assert_null(et_close_clean(rt));
}

/* The recording says 1 us, the nodes take 200. */
Test(simulation, measured)
{
    rondo_runtime rt = et_runtime(1);
    rondo_subgraph g = fork_join(rt, 1000, 200000), other;
    rondo_simulate_options o = { .processors = 4, .handover_ns = -1 };
    rondo_replay_args args = { .count = 3, .flags = RONDO_TIMED };
    rondo_simulation s;
    cr_assert_eq(rondo_instantiate(g, NULL, &o.exec), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(simulate(g, &o).work_ns, 6000, "nothing is measured yet");
    cr_assert_eq(rondo_replay_and_wait(o.exec, &args, -1, NULL), RONDO_OK, "%s",
                 rondo_error_message());
    s = simulate(g, &o);
    cr_assert_geq(s.work_ns, 6 * 200000);
    cr_assert_geq(s.makespan_ns, 3 * 200000);
    cr_assert_leq(s.makespan_ns, s.work_ns);
    other = fork_join(rt, 1000, 0);
    add(other, 1000, 0, RONDO_ANY_CPU, NULL, 0);
    refused(other, o, "has 6 nodes");
    rondo_subgraph_destroy(other);
    rondo_exec_destroy(o.exec);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_simulate(g, &o, &s), RONDO_ERR_STALE);
    rondo_subgraph_destroy(g);
    cr_assert_null(et_close_clean(rt));
}
