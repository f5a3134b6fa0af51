/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory, at every allocation of a program that records what there is beyond plain tasks:
 * temporaries, tokens, conditions, teams, reductions, waits and signals, recordings in recordings;
 * counters and loops; kernels and launches, which are no more than recorded and looked at. The
 * refused call says so and succeeds when made again, the result is right, and in the end not a byte
 * is left. */
#include "tests/engine/short_memory.h"

#include <stdio.h>

enum { REPLAYS = 5, ADDERS = 3, TWICE = 2 };

struct program {
    rondo_runtime rt;
    rondo_subgraph g, inner, device, around;
    rondo_buffer sum, flags;
    rondo_counter counter;
    rondo_slot sum_slot, inner_sum, token, flag, temporary, zeroed;
    rondo_param go, event;
    rondo_node node;
    rondo_exec exec;
    rondo_loop loop;
    uint64_t sum_bytes[8];
    int32_t flag_bytes[2];
    _Atomic(uint64_t) ranks, calls, released;
};

static int add_one(rondo_task *self, const void *arg)
{
    const uint32_t *cell = arg;
    ++((uint64_t *)rondo_task_write(self, 0))[*cell];
    return 0;
}

static int fill_temporary(rondo_task *self, const void *arg)
{
    uint64_t *to = rondo_task_write(self, 0);
    (void)arg;
    for (int i = 0; i < 8; i++)
        to[i] = 1;
    return 0;
}

/* The sum of a reduction, and what the temporary was filled with. */
static int collect(rondo_task *self, const void *arg)
{
    uint64_t *to = rondo_task_write(self, 0);
    (void)arg;
    to[0] += ((const uint64_t *)rondo_task_read(self, 1))[0];
    to[0] += ((const uint64_t *)rondo_task_read(self, 2))[7];
    return 0;
}

static int be_a_rank(rondo_task *self, const void *arg)
{
    struct program *p = rondo_task_context(self);
    (void)arg;
    atomic_fetch_add(&p->ranks, 1);
    return 0;
}

static void count_call(void *context) { atomic_fetch_add(&((struct program *)context)->calls, 1); }
static void release_program(void *context)
{
    atomic_fetch_add(&((struct program *)context)->released, 1);
}

static void open_all(struct program *p)
{
    char cpus[64];
    et_cpu_list(2, cpus, sizeof cpus);
    rondo_runtime_options o = {
        .cpus = cpus, .allocate = allocate, .release = release, .context = &hooks
    };
    TRY_OUT(p->rt, rondo_runtime_open(&o, &p->rt));
    rondo_buffer_desc d = { "sum", { 8, { 8 }, { 0 } }, p->sum_bytes, 0, NULL };
    TRY_OUT(p->sum, rondo_buffer_create(p->rt, &d, &p->sum));
    d = (rondo_buffer_desc){ "flags", { 4, { 2 }, { 0 } }, p->flag_bytes, 0, NULL };
    TRY_OUT(p->flags, rondo_buffer_create(p->rt, &d, &p->flags));
    p->flag_bytes[0] = 1;
    TRY_OUT(p->counter, rondo_counter_create(p->rt, 0, &p->counter));
    TRY_OUT(p->g, rondo_subgraph_create(p->rt, NULL, &p->g));
    TRY_OUT(p->inner, rondo_subgraph_create(p->rt, NULL, &p->inner));
}

static void record_places(struct program *p)
{
    int32_t one = 1;
    rondo_event none = { 0, 0 };
    rondo_slot_desc d = { .name = "sum", .buffer = p->sum };
    TRY_HANDLE(p->g, p->sum_slot, rondo_subgraph_slot(p->g, &d));
    TRY_HANDLE(p->inner, p->inner_sum, rondo_subgraph_slot(p->inner, &d));
    d = (rondo_slot_desc){ .name = "flag", .buffer = p->flags };
    TRY_HANDLE(p->g, p->flag, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "token", .shape = { 0, { 4 }, { 0 } } };
    TRY_HANDLE(p->g, p->token, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "t", .shape = { 8, { 8 }, { 0 } }, .flags = RONDO_TEMPORARY };
    TRY_HANDLE(p->g, p->temporary, rondo_subgraph_slot(p->g, &d));
    d.flags |= RONDO_ZEROED;
    TRY_HANDLE(p->g, p->zeroed, rondo_subgraph_slot(p->g, &d));
    TRY_HANDLE(p->g, p->go, rondo_subgraph_param(p->g, "go", 4, &one));
    TRY_HANDLE(p->g, p->event, rondo_subgraph_param(p->g, "e", sizeof none, &none));
}

static void add(struct program *p, rondo_subgraph g, rondo_access access, uint32_t cell)
{
    rondo_task_desc d = {
        .name = "add", .fn = add_one, RONDO_ARG(cell), .accesses = &access, .access_count = 1
    };
    if (g.id == p->g.id)
        d.when = (rondo_when){ p->go, p->flag, 0, 0 };
    TRY_HANDLE(g, p->node, rondo_record_task(g, &d));
}

static void record_tasks(struct program *p)
{
    rondo_access some[2] = { rondo_write(p->temporary, rondo_whole()),
                             rondo_commute(p->token, rondo_span(1, 2)) };
    rondo_access all[3] = { rondo_read_write(p->sum_slot, rondo_span(0, 1)),
                            rondo_read(p->zeroed, rondo_whole()),
                            rondo_read(p->temporary, rondo_whole()) };
    rondo_task_desc d = {
        .name = "fill", .fn = fill_temporary, .accesses = some, .access_count = 2
    };
    TRY_HANDLE(p->g, p->node, rondo_record_task(p->g, &d));
    for (int i = 0; i < ADDERS; i++)
        add(p, p->g, rondo_reduce(p->zeroed, rondo_whole(), RONDO_I64, RONDO_SUM), 0);
    for (int i = 0; i < ADDERS; i++)
        add(p, p->g, rondo_commute(p->sum_slot, rondo_span(1, 1)), 1);
    d = (rondo_task_desc){ .name = "collect", .fn = collect, .accesses = all, .access_count = 3 };
    TRY_HANDLE(p->g, p->node, rondo_record_task(p->g, &d));
    d = (rondo_task_desc){ .name = "team",
                           .fn = be_a_rank,
                           .context = p,
                           .release = release_program,
                           .flags = RONDO_SPMD | RONDO_NO_ACCESS,
                           .team = 2 };
    TRY_HANDLE(p->g, p->node, rondo_record_task(p->g, &d));
    TRY_HANDLE(p->g, p->node, rondo_record_call(p->g, "call", count_call, p));
}

static void record_others(struct program *p)
{
    rondo_sync_desc s = { .counter = p->counter, .when = { p->go, p->flag, 0, 0 } };
    rondo_node before;
    TRY_HANDLE(p->g, before, rondo_record_wait(p->g, &s));
    s = (rondo_sync_desc){ .event = p->event, .after = &before, .after_count = 1 };
    TRY_HANDLE(p->g, p->node, rondo_record_wait(p->g, &s));
    s = (rondo_sync_desc){ .counter = p->counter, .first = 1, .step = 1 };
    TRY_HANDLE(p->g, p->node, rondo_record_signal(p->g, &s));
    rondo_move_desc m = { .from = rondo_read_write(p->sum_slot, rondo_span(0, 2)),
                          .type = RONDO_I64,
                          .op = RONDO_MAX };
    TRY_HANDLE(p->g, p->node, rondo_record_allreduce(p->g, &m));
    m.to = rondo_write(p->sum_slot, rondo_span(6, 2));
    m.from.mode = RONDO_READ;
    TRY_HANDLE(p->g, p->node, rondo_record_allreduce(p->g, &m));
    add(p, p->inner, rondo_read_write(p->inner_sum, rondo_span(2, 1)), 2);
    rondo_slot_map map = { p->inner_sum, p->sum_slot };
    rondo_inner_desc n = { .name = "mapped",
                           .map = &map,
                           .map_count = 1,
                           .after = &before,
                           .after_count = 1,
                           .when = { p->go, p->flag, 1, 0 } };
    TRY_HANDLE(p->g, p->node, rondo_record_subgraph(p->g, p->inner, &n));
    TRY_HANDLE(p->g, p->node, rondo_record_subgraph(p->g, p->inner, NULL));
}

static void record_kernel(struct program *p, rondo_slot slot, rondo_param param, int i)
{
    static const char *const images[] = { "kernel void k() { }", "kernel void k() { return; }" };
    const char *image = images[i % 2];
    const rondo_node before = p->node; /* a refusal puts {0} there */
    rondo_access access = rondo_reduce(slot, rondo_whole(), RONDO_I64, RONDO_SUM);
    rondo_kernel_desc d = { .name = i ? "kernel" : NULL,
                            .format = RONDO_OPENCL_C,
                            .image = image,
                            .image_bytes = strlen(image),
                            .entry = "k",
                            .options = "-DK",
                            RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_value(&i, sizeof i),
                                              rondo_arg_param(param), rondo_arg_local(8)),
                            .dimensions = 1,
                            .global = { 8 },
                            .accesses = &access,
                            .access_count = 1,
                            .after = &before,
                            .after_count = i > 0,
                            .when = { param, { 0 }, 2, 0 } };
    TRY_HANDLE(p->device, p->node, rondo_record_kernel(p->device, &d));
}

static void see_edge(void *context, const rondo_recorded_edge *edge)
{
    *(uint32_t *)context += edge->from < edge->to;
}

/* What runs on devices, recorded into another recording, and that expanded to be looked at. */
static void record_on_devices(struct program *p)
{
    rondo_slot_desc d = { .name = "sum", .buffer = p->sum, .at_end = RONDO_HOST };
    rondo_slot slot;
    rondo_param param;
    rondo_access access;
    uint32_t edges = 0;
    TRY_OUT(p->device, rondo_subgraph_create(p->rt, NULL, &p->device));
    TRY_OUT(p->around, rondo_subgraph_create(p->rt, NULL, &p->around));
    TRY_HANDLE(p->device, slot, rondo_subgraph_slot(p->device, &d));
    TRY_HANDLE(p->device, param, rondo_subgraph_param(p->device, "p", 4, NULL));
    for (int i = 0; i < 20; i++)
        record_kernel(p, slot, param, i);
    access = rondo_read_write(slot, rondo_whole());
    rondo_task_desc t = {
        .fn = add_one, .accesses = &access, .access_count = 1, .params = &param, .param_count = 1
    };
    TRY_HANDLE(p->device, p->node, rondo_record_launch(p->device, &t));
    TRY_HANDLE(p->around, p->node, rondo_record_subgraph(p->around, p->device, NULL));
    TRY_HANDLE(p->around, p->node, rondo_record_subgraph(p->around, p->device, NULL));
    TRY(rondo_subgraph_visit(p->around, NULL, see_edge, &edges));
    cr_assert_gt(edges, 19);
    ET_OK(rondo_subgraph_destroy(p->device));
    ET_OK(rondo_subgraph_destroy(p->around));
}

static void run_exec(struct program *p, uint32_t mode)
{
    rondo_instantiate_options o = { .mode = mode, .order = RONDO_PIPELINED };
    TRY_OUT(p->exec, rondo_instantiate(p->g, &o, &p->exec));
    for (int i = 0; i < REPLAYS; i++)
        TRY(rondo_replay(p->exec, NULL, NULL));
    TRY(rondo_exec_wait(p->exec, NULL));
    ET_OK(rondo_exec_destroy(p->exec));
    p->exec.id = 0;
}

/* The loop's own recording; an error of rondo_loop_record is told by the replay. */
static void run_loop(struct program *p, int times)
{
    rondo_subgraph g = { 0 };
    rondo_slot_desc d = { .name = "sum", .buffer = p->sum };
    rondo_slot slot;
    while (!rondo_loop_record(p->loop, &g)) {
        refused(rondo_loop_replay(p->loop, NULL, NULL), "rondo_loop_record");
        ET_OK(rondo_loop_invalidate(p->loop));
    }
    TRY_HANDLE(g, slot, rondo_subgraph_slot(g, &d));
    add(p, g, rondo_read_write(slot, rondo_span(3, 1)), 3);
    for (int i = 0; i < times; i++) {
        cr_assert_eq(i ? rondo_loop_record(p->loop, &g) : 0, 0);
        TRY(rondo_loop_replay(p->loop, NULL, NULL));
    }
    ET_OK(rondo_loop_invalidate(p->loop));
}

static void run_loops(struct program *p)
{
    rondo_subgraph_desc d = { .name = "step" };
    rondo_instantiate_options o = { .cpus = NULL, .window = 2 };
    TRY_OUT(p->loop, rondo_loop_create(p->rt, &d, &o, &p->loop));
    run_loop(p, 3);
    run_loop(p, 2);
    TRY(rondo_loop_wait(p->loop, NULL));
    ET_OK(rondo_loop_destroy(p->loop));
}

static void check_sums(struct program *p)
{
    uint64_t value, replays = TWICE * REPLAYS;
    ET_OK(rondo_counter_value(p->counter, &value));
    cr_assert_eq(value, REPLAYS, "the counter is at %llu", (unsigned long long)value);
    cr_assert_eq(p->sum_bytes[0], replays * (ADDERS + 1), "%llu",
                 (unsigned long long)p->sum_bytes[0]);
    cr_assert_eq(p->sum_bytes[1], replays * ADDERS);
    cr_assert_eq(p->sum_bytes[2], replays * 2);
    cr_assert_eq(p->sum_bytes[3], 5);
    cr_assert_eq(p->sum_bytes[6], p->sum_bytes[0]);
    cr_assert_eq(atomic_load(&p->ranks), replays * 2);
    cr_assert_eq(atomic_load(&p->calls), replays);
}

static void end_all(struct program *p)
{
    rondo_runtime_statistics s;
    ET_OK(rondo_subgraph_destroy(p->inner));
    ET_OK(rondo_subgraph_destroy(p->g));
    ET_OK(rondo_counter_destroy(p->counter));
    ET_OK(rondo_buffer_destroy(p->sum));
    ET_OK(rondo_buffer_destroy(p->flags));
    ET_OK(rondo_runtime_drain(p->rt));
    ET_OK(rondo_runtime_stats(p->rt, &s));
    cr_assert(
        !s.execs && !s.subgraphs && !s.buffers && !s.frames && !s.sources && !s.held && !s.bytes,
        "allocation %lld: %llu execs, %llu subgraphs, %llu buffers, %llu frames, "
        "%llu sources, %llu held, %llu bytes",
        atomic_load(&hooks.fail_at), (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
        (unsigned long long)s.buffers, (unsigned long long)s.frames, (unsigned long long)s.sources,
        (unsigned long long)s.held, (unsigned long long)s.bytes);
    cr_assert_eq(atomic_load(&p->released), 1);
    ET_OK(rondo_runtime_close(p->rt));
}

/* Whether memory was refused at all. */
static int run_all(long long fail_at, int persistent)
{
    struct program *p = calloc(1, sizeof *p);
    cr_assert(p);
    et_alarm(60, "stuck: allocation %lld fails%s\n", fail_at, persistent ? " for good" : "");
    begin_memory(fail_at, persistent);
    open_all(p);
    record_places(p);
    record_tasks(p);
    record_others(p);
    record_on_devices(p);
    run_exec(p, RONDO_COMPILED);
    run_exec(p, RONDO_INTERPRETED);
    run_loops(p);
    check_sums(p);
    end_all(p);
    cr_assert_eq(atomic_load(&hooks.live), 0, "allocation %lld: %lld blocks left", fail_at,
                 atomic_load(&hooks.live));
    et_alarm(0, " ");
    free(p);
    return atomic_load(&hooks.failures) > 0;
}

static void every_allocation(int persistent)
{
    long long n = 1;
    while (run_all(n, persistent))
        n++;
    printf("%lld allocations refused, each %s\n", n - 1, persistent ? "for good" : "once");
    cr_assert(n > 100, "only %lld", n);
}

Test(engine_alloc_language, once, .timeout = 600) { every_allocation(0); }
Test(engine_alloc_language, for_good, .timeout = 600) { every_allocation(1); }
