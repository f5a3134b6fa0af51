/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory, at every allocation of a program that uses a device, once and for good: a refused call
 * says so, changes nothing and succeeds when made again; what is computed is right, and in the end
 * not a byte is left, neither of the host's nor of the device's. */
#include "tests/engine/device_case.h"
#include "tests/engine/short_memory.h"

#include <stdio.h>

enum { CELLS = 8 };

struct program {
    rondo_runtime rt;
    rondo_subgraph g, second;
    rondo_buffer cells, there, sum;
    rondo_slot cell_slot, there_slot, sum_slot, part_slot;
    rondo_param t, n;
    rondo_exec exec, host;
    uint64_t cell[CELLS], total, plain[CELLS], plain_there[CELLS], plain_total;
};

static int add_all(rondo_task *self, const void *arg)
{
    const uint64_t *cells = rondo_task_read(self, 0);
    uint64_t *sum = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < CELLS; i++)
        *sum += cells[i];
    return 0;
}

static void open_all(struct program *p)
{
    char cpu[16];
    et_cpu_list(1, cpu, sizeof cpu);
    rondo_runtime_options o = { .cpus = cpu,
                                .park_after_ns = 1000,
                                .allocate = allocate,
                                .release = release,
                                .context = &hooks,
                                .devices = "opencl:0" };
    TRY_OUT(p->rt, rondo_runtime_open(&o, &p->rt));
    rondo_buffer_desc d = { .name = "cells", .shape = { 8, { CELLS }, { 0 } }, .host = p->cell };
    TRY_OUT(p->cells, rondo_buffer_create(p->rt, &d, &p->cells));
    d = (rondo_buffer_desc){ .name = "sum", .shape = { 8, { 1 }, { 0 } }, .host = &p->total };
    TRY_OUT(p->sum, rondo_buffer_create(p->rt, &d, &p->sum));
    d = (rondo_buffer_desc){ .name = "there",
                             .shape = { 8, { CELLS }, { 0 } },
                             .memory = RONDO_GPU_MEMORY(0) };
    TRY_OUT(p->there, rondo_buffer_create(p->rt, &d, &p->there));
}

static void record_places(struct program *p)
{
    TRY_OUT(p->g, rondo_subgraph_create(p->rt, NULL, &p->g));
    rondo_slot_desc d = { .name = "cells", .buffer = p->cells };
    TRY_HANDLE(p->g, p->cell_slot, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "there", .buffer = p->there };
    TRY_HANDLE(p->g, p->there_slot, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "sum", .buffer = p->sum, .at_end = RONDO_HOST };
    TRY_HANDLE(p->g, p->sum_slot, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "part",
                           .shape = { 8, { CELLS }, { 0 } },
                           .flags = RONDO_TEMPORARY };
    TRY_HANDLE(p->g, p->part_slot, rondo_subgraph_slot(p->g, &d));
    TRY_HANDLE(p->g, p->t, rondo_subgraph_param(p->g, "t", 8, NULL));
    TRY_HANDLE(p->g, p->n, rondo_subgraph_param(p->g, "n", 8, NULL));
}

/* cells *= 2; there[0..n) = cells; there[0] mixed with t; part = there; sum += part, on the host.
 */
static void record_nodes(struct program *p)
{
    struct dc_machine m = { p->rt, p->g };
    rondo_node node;
    rondo_access first = rondo_read_write(p->there_slot, rondo_span(0, 1));
    TRY_HANDLE(p->g, node,
               DC_KERNEL(m, twice, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                         RONDO_ACCESSES(rondo_read_write(p->cell_slot, rondo_whole()))));
    rondo_move_desc some = { .from = rondo_read(p->cell_slot, rondo_whole()),
                             .to = rondo_write(p->there_slot, rondo_whole()),
                             .count = p->n,
                             .on = RONDO_GPU(0) };
    TRY_HANDLE(p->g, node, rondo_record_copy(p->g, &some));
    TRY_HANDLE(p->g, node,
               DC_KERNEL(m, mix_address, 1,
                         RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_param_address(p->t)),
                         RONDO_ACCESSES(first)));
    rondo_move_desc all = { .from = rondo_read(p->there_slot, rondo_whole()),
                            .to = rondo_write(p->part_slot, rondo_whole()),
                            .on = RONDO_GPU(0) };
    TRY_HANDLE(p->g, node, rondo_record_copy(p->g, &all));
    rondo_access sums[2] = { rondo_read(p->part_slot, rondo_whole()),
                             rondo_read_write(p->sum_slot, rondo_whole()) };
    rondo_task_desc add = { .name = "add", .fn = add_all, .accesses = sums, .access_count = 2 };
    TRY_HANDLE(p->g, node, rondo_record_task(p->g, &add));
}

static void plain_all(struct program *p, uint64_t t, int64_t n)
{
    for (int i = 0; i < CELLS; i++)
        p->plain[i] *= 2;
    for (int i = 0; i < n; i++)
        p->plain_there[i] = p->plain[i];
    p->plain_there[0] = p->plain_there[0] * 31 + t;
    for (int i = 0; i < CELLS; i++)
        p->plain_total += p->plain_there[i];
}

static void replay_some(struct program *p, uint64_t count, int wait)
{
    uint64_t t[4] = { 3, 5, 7, 11 };
    int64_t n[4] = { CELLS, 2, 0, 5 };
    rondo_value values[2] = { { p->t, t, 8 }, { p->n, n, 8 } };
    rondo_replay_args args = { .values = values, .value_count = 2, .count = count };
    if (wait)
        TRY(rondo_replay_and_wait(p->exec, &args, -1, NULL));
    else
        TRY(rondo_replay(p->exec, &args, NULL));
    for (uint64_t k = 0; k < count; k++)
        plain_all(p, t[k], n[k]);
}

/* Another exec has the buffers in between, on the host alone. */
static void use_host(struct program *p)
{
    rondo_slot slot[2];
    rondo_node node;
    TRY_OUT(p->second, rondo_subgraph_create(p->rt, NULL, &p->second));
    rondo_slot_desc d = { .name = "there", .buffer = p->there };
    TRY_HANDLE(p->second, slot[0], rondo_subgraph_slot(p->second, &d));
    d = (rondo_slot_desc){ .name = "sum", .buffer = p->sum };
    TRY_HANDLE(p->second, slot[1], rondo_subgraph_slot(p->second, &d));
    rondo_access sums[2] = { rondo_read(slot[0], rondo_whole()),
                             rondo_read_write(slot[1], rondo_whole()) };
    rondo_task_desc add = { .name = "add", .fn = add_all, .accesses = sums, .access_count = 2 };
    TRY_HANDLE(p->second, node, rondo_record_task(p->second, &add));
    TRY_OUT(p->host, rondo_instantiate(p->second, NULL, &p->host));
    TRY(rondo_replay_and_wait(p->host, NULL, -1, NULL));
    for (int i = 0; i < CELLS; i++)
        p->plain_total += p->plain_there[i];
}

static void move_about(struct program *p)
{
    void *host, *address;
    rondo_event event;
    TRY(rondo_buffer_map(p->there, RONDO_READ | RONDO_WRITE, &host));
    ((uint64_t *)host)[1] += 9;
    p->plain_there[1] += 9;
    ET_OK(rondo_buffer_unmap(p->there));
    TRY(rondo_buffer_sync(p->there, RONDO_GPU_MEMORY(0), &event));
    TRY(rondo_event_wait(event, -1));
    TRY(rondo_buffer_sync(p->cells, RONDO_HOST, NULL));
    p->cell[3] += 4;
    p->plain[3] += 4;
    TRY(rondo_buffer_touched(p->cells, RONDO_HOST));
    TRY(rondo_buffer_address(p->sum, RONDO_GPU_MEMORY(0), &address));
}

static void check_all(struct program *p, long long fail_at)
{
    void *host;
    TRY(rondo_buffer_map(p->cells, RONDO_READ, &host));
    cr_assert_arr_eq(p->cell, p->plain, sizeof p->cell, "allocation %lld", fail_at);
    TRY(rondo_buffer_map(p->there, RONDO_READ, &host));
    cr_assert_arr_eq(host, p->plain_there, sizeof p->plain_there, "allocation %lld", fail_at);
    cr_assert_eq(p->total, p->plain_total, "allocation %lld: %llu instead of %llu", fail_at,
                 (unsigned long long)p->total, (unsigned long long)p->plain_total);
    ET_OK(rondo_buffer_unmap(p->there));
    ET_OK(rondo_buffer_unmap(p->cells));
}

/* What ends never needs memory. */
static void end_all(struct program *p)
{
    rondo_runtime_statistics s;
    ET_OK(rondo_exec_destroy(p->exec));
    ET_OK(rondo_exec_destroy(p->host));
    ET_OK(rondo_subgraph_destroy(p->g));
    ET_OK(rondo_subgraph_destroy(p->second));
    ET_OK(rondo_buffer_destroy(p->cells));
    ET_OK(rondo_buffer_destroy(p->sum));
    ET_OK(rondo_buffer_destroy(p->there));
    ET_OK(rondo_runtime_drain(p->rt));
    ET_OK(rondo_runtime_stats(p->rt, &s));
    cr_assert(!s.execs && !s.subgraphs && !s.buffers && !s.frames && !s.sources && !s.held,
              "%llu execs, %llu subgraphs, %llu buffers, %llu frames, %llu sources, %llu held",
              (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
              (unsigned long long)s.buffers, (unsigned long long)s.frames,
              (unsigned long long)s.sources, (unsigned long long)s.held);
    cr_assert_eq(du_used_bytes(p->rt), 0, "%llu bytes of the device are left",
                 (unsigned long long)du_used_bytes(p->rt));
    ET_OK(rondo_runtime_close(p->rt));
}

/* Whether memory was refused at all. */
static int run_all(long long fail_at, int persistent, const struct et_mode *mode)
{
    static struct program p;
    p = (struct program){ .rt = { 0 } };
    for (uint64_t i = 0; i < CELLS; i++)
        p.cell[i] = p.plain[i] = i + 1;
    et_alarm(60, "stuck: allocation %lld fails%s\n", fail_at, persistent ? " for good" : "");
    begin_memory(fail_at, persistent);
    open_all(&p);
    record_places(&p);
    record_nodes(&p);
    rondo_instantiate_options o = { .mode = mode->mode, .order = mode->order, .window = 2 };
    void *host;
    TRY(rondo_buffer_map(p.there, RONDO_WRITE, &host));
    memset(host, 0, sizeof p.plain_there);
    ET_OK(rondo_buffer_unmap(p.there));
    TRY_OUT(p.exec, rondo_instantiate(p.g, &o, &p.exec));
    replay_some(&p, 1, 1);
    replay_some(&p, 4, 0);
    TRY(rondo_exec_wait(p.exec, NULL));
    use_host(&p);
    replay_some(&p, 2, 1);
    move_about(&p);
    replay_some(&p, 3, 1);
    check_all(&p, fail_at);
    end_all(&p);
    cr_assert_eq(atomic_load(&hooks.live), 0, "allocation %lld: %lld blocks left", fail_at,
                 atomic_load(&hooks.live));
    et_alarm(0, " ");
    return atomic_load(&hooks.failures) > 0;
}

/* Every ninth, since each is a program's whole run, and fewer where everything is checked; with
 * RONDO_TEST_STEP=1 all of them. */
#ifdef RD_DEBUG
enum { STEP = 29 };
#else
enum { STEP = 9 };
#endif
static void every_allocation(int persistent, const struct et_mode *mode, long long first)
{
    const long long step = (long long)et_number("RONDO_TEST_STEP", STEP);
    long long n = step < first ? step : first;
    DU_NEEDS_DEVICE();
    while (run_all(n, persistent, mode))
        n += step;
    printf("%s: %lld allocations, every %lld-th refused %s\n", mode->name, n - step, step,
           persistent ? "for good" : "once");
    cr_assert(n > 100, "only %lld", n);
}

Test(engine_alloc_device, once_compiled, .timeout = 600) { every_allocation(0, &dc_modes[3], 1); }
Test(engine_alloc_device, once_interpreted, .timeout = 600)
{
    every_allocation(0, &dc_modes[0], 4);
}
Test(engine_alloc_device, for_good, .timeout = 600) { every_allocation(1, &dc_modes[3], 7); }
