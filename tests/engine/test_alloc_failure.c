/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory, at every allocation that a program of all kinds of calls reaches, once and for good:
 * the call that meets it returns RONDO_ERR_MEMORY (a builder {0}), the same call succeeds when
 * there is memory again, what it computes is right, and in the end not a byte is left. */
#include "tests/engine/short_memory.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the program */

enum { MANY = 20, BOUND = 20, CELLS = 16 };

struct program {
    rondo_runtime rt;
    rondo_subgraph g, wide;
    rondo_buffer sum, ring[2], part[BOUND], spare;
    rondo_slot sum_slot, ring_slot, bound_slot, wide_slot[BOUND];
    rondo_param step, count, gain;
    rondo_node node[MANY], loop, fill, copy, call;
    rondo_exec exec, concurrent;
    uint64_t sum_bytes[CELLS], expected, calls;
    _Atomic(uint64_t) released;
};

struct add_arg {
    uint64_t patched, fixed;
};

static int add(rondo_task *self, const void *arg)
{
    const struct add_arg *a = arg;
    uint64_t *sum = rondo_task_write(self, 0);
    sum[0] += a->patched + a->fixed + *(const uint64_t *)rondo_task_param(self, 0);
    return 0;
}

static int touch(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static int bump(rondo_task *self, const void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < BOUND; i++)
        ++*(uint64_t *)rondo_task_write(self, i);
    return 0;
}

static void count_call(void *context) { ++*(uint64_t *)context; }
static void release_program(void *context)
{
    atomic_fetch_add(&((struct program *)context)->released, 1);
}

static void open_all(struct program *p)
{
    char cpus[64];
    rondo_shape cells = { 8, { CELLS }, { 0 } };
    et_cpu_list(2, cpus, sizeof cpus);
    rondo_runtime_options o = {
        .cpus = cpus, .allocate = allocate, .release = release, .context = &hooks
    };
    TRY_OUT(p->rt, rondo_runtime_open(&o, &p->rt));
    rondo_buffer_desc d = { "sum", cells, p->sum_bytes, 0, NULL };
    TRY_OUT(p->sum, rondo_buffer_create(p->rt, &d, &p->sum));
    d = (rondo_buffer_desc){ "owned", cells, NULL, 0, NULL };
    for (int i = 0; i < 2; i++)
        TRY_OUT(p->ring[i], rondo_buffer_create(p->rt, &d, &p->ring[i]));
    TRY_OUT(p->spare, rondo_buffer_create(p->rt, &d, &p->spare));
    for (int i = 0; i < BOUND; i++)
        TRY_OUT(p->part[i], rondo_buffer_create(p->rt, &d, &p->part[i]));
    TRY_OUT(p->g,
            rondo_subgraph_create(p->rt, &(rondo_subgraph_desc){ .name = "all kinds" }, &p->g));
    TRY_OUT(p->wide, rondo_subgraph_create(p->rt, NULL, &p->wide));
}

static void record_places(struct program *p)
{
    uint64_t three = 3;
    int64_t four = 4;
    rondo_slot_desc d = { .name = "sum", .buffer = p->sum };
    TRY_HANDLE(p->g, p->sum_slot, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "turn", .ring = p->ring, .ring_count = 2 };
    TRY_HANDLE(p->g, p->ring_slot, rondo_subgraph_slot(p->g, &d));
    d = (rondo_slot_desc){ .name = "bound", .shape = { 8, { CELLS }, { 0 } } };
    TRY_HANDLE(p->g, p->bound_slot, rondo_subgraph_slot(p->g, &d));
    TRY_HANDLE(p->g, p->step, rondo_subgraph_param(p->g, "step", 8, NULL));
    TRY_HANDLE(p->g, p->gain, rondo_subgraph_param(p->g, "gain", 8, &three));
    TRY_HANDLE(p->g, p->count, rondo_subgraph_param(p->g, "count", 8, &four));
}

static void record_tasks(struct program *p)
{
    struct add_arg arg = { 0, 1 };
    rondo_patch patch = { p->gain, 0, 0, 8, 0 };
    rondo_access both[2] = { rondo_read_write(p->sum_slot, rondo_span(0, 1)),
                             rondo_read(p->bound_slot, rondo_whole()) };
    for (int i = 0; i < MANY; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "one of many %d", i);
        rondo_task_desc d = { .name = name,
                              .tag = (uint64_t)i,
                              .fn = add,
                              RONDO_ARG(arg),
                              .accesses = both,
                              .access_count = 2,
                              .params = &p->step,
                              .param_count = 1,
                              .patches = &patch,
                              .patch_count = 1,
                              .after = &p->node[0],
                              .after_count = i > 0,
                              .carried = &p->node[0],
                              .carried_count = i > 1,
                              .context = p,
                              .release = i == 7 ? release_program : NULL };
        TRY_HANDLE(p->g, p->node[i], rondo_record_task(p->g, &d));
    }
    TRY(rondo_record_edge(p->g, p->node[5], p->node[3], 2));
}

static void record_others(struct program *p)
{
    uint64_t value = 9;
    rondo_access chunk = rondo_chunk(p->ring_slot, RONDO_READ_WRITE, 0, 0);
    rondo_task_desc t = { .name = "loop", .fn = touch, .accesses = &chunk, .access_count = 1 };
    rondo_for_desc f = { .task = &t, .range = rondo_span(0, CELLS), .chunks = { 5 } };
    TRY_HANDLE(p->g, p->loop, rondo_record_for(p->g, &f));
    rondo_move_desc d = { .to = rondo_write(p->ring_slot, rondo_whole()),
                          .value = &value,
                          .value_bytes = 8,
                          .after = &p->loop,
                          .after_count = 1 };
    TRY_HANDLE(p->g, p->fill, rondo_record_fill(p->g, &d));
    d = (rondo_move_desc){ .from = rondo_read(p->ring_slot, rondo_span(0, 8)),
                           .to = rondo_write(p->sum_slot, rondo_span(8, 8)),
                           .count = p->count };
    TRY_HANDLE(p->g, p->copy, rondo_record_copy(p->g, &d));
    TRY_HANDLE(p->g, p->call, rondo_record_call(p->g, "call", count_call, &p->calls));
}

/* Concurrent, and with more bindings than a call has room for at hand. */
static void record_wide(struct program *p)
{
    rondo_access access[BOUND];
    rondo_node node;
    for (int i = 0; i < BOUND; i++) {
        rondo_slot_desc d = { .name = "wide", .shape = { 8, { CELLS }, { 0 } } };
        TRY_HANDLE(p->wide, p->wide_slot[i], rondo_subgraph_slot(p->wide, &d));
        access[i] = rondo_read_write(p->wide_slot[i], rondo_whole());
    }
    rondo_task_desc d = { .fn = bump, .accesses = access, .access_count = BOUND };
    TRY_HANDLE(p->wide, node, rondo_record_task(p->wide, &d));
}

static void swallow(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* A call's replays add MANY * (step + gain + 1) each. */
static void replay_some(struct program *p, uint64_t count, uint64_t gain, int wait)
{
    uint64_t step[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    rondo_value value = { p->step, step, 8 };
    rondo_binding binding = { p->bound_slot, p->spare };
    rondo_event after[2] = { { 0, 0 }, { 0, 0 } };
    rondo_replay_args args = { .values = &value,
                               .value_count = 1,
                               .bindings = &binding,
                               .binding_count = 1,
                               .after = after,
                               .after_count = 2,
                               .count = count };
    if (wait)
        TRY(rondo_replay_and_wait(p->exec, &args, -1, NULL));
    else
        TRY(rondo_replay(p->exec, &args, NULL));
    for (uint64_t k = 0; k < count; k++)
        p->expected += MANY * (step[k] + gain + 1);
}

static void run_exec(struct program *p)
{
    uint64_t ten = 10;
    rondo_result result;
    rondo_exec_counts counts;
    TRY_OUT(p->exec, rondo_instantiate(
                         p->g, &(rondo_instantiate_options){ .order = RONDO_PIPELINED }, &p->exec));
    replay_some(p, 1, 3, 0);
    replay_some(p, 7, 3, 0);
    TRY(rondo_exec_set_param(p->exec, p->gain, &ten));
    replay_some(p, 2, 10, 1);
    TRY(rondo_exec_set_mode(p->exec, RONDO_INTERPRETED));
    replay_some(p, 3, 10, 0);
    TRY(rondo_exec_set_mode(p->exec, RONDO_COMPILED));
    replay_some(p, 1, 10, 1);
    TRY(rondo_exec_reset(p->exec));
    TRY(rondo_exec_count(p->exec, &counts));
    TRY(rondo_exec_describe(p->exec, swallow, NULL));
    TRY(rondo_subgraph_write_dot(p->g, swallow, NULL));
    TRY(rondo_exec_wait(p->exec, &result));
    cr_assert_eq(p->sum_bytes[0], p->expected, "allocation %lld: %llu instead of %llu",
                 atomic_load(&hooks.fail_at), (unsigned long long)p->sum_bytes[0],
                 (unsigned long long)p->expected);
    cr_assert(p->calls == 14 && p->sum_bytes[8] == 9 && p->sum_bytes[11] == 9 &&
              p->sum_bytes[12] == 0);
}

static void run_concurrent(struct program *p)
{
    rondo_binding binding[BOUND];
    void *host;
    rondo_instantiate_options o = { .order = RONDO_CONCURRENT, .tracks = 3, .window = 2 };
    TRY_OUT(p->concurrent, rondo_instantiate(p->wide, &o, &p->concurrent));
    for (int i = 0; i < BOUND; i++)
        binding[i] = (rondo_binding){ p->wide_slot[i], p->part[i] };
    rondo_replay_args args = { .bindings = binding, .binding_count = BOUND };
    for (int i = 0; i < 5; i++)
        TRY(rondo_replay_and_wait(p->concurrent, &args, -1, NULL));
    for (int i = 0; i < BOUND; i++) {
        TRY(rondo_buffer_map(p->part[i], RONDO_READ, &host));
        cr_assert_eq(*(uint64_t *)host, 5);
        ET_OK(rondo_buffer_unmap(p->part[i]));
    }
}

/* What ends never needs memory. */
static void end_all(struct program *p)
{
    rondo_runtime_statistics s;
    ET_OK(rondo_exec_destroy(p->exec));
    ET_OK(rondo_subgraph_destroy(p->g));
    ET_OK(rondo_subgraph_destroy(p->wide));
    ET_OK(rondo_exec_destroy(p->concurrent));
    ET_OK(rondo_buffer_destroy(p->sum));
    ET_OK(rondo_buffer_destroy(p->spare));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(p->ring[i]));
    for (int i = 0; i < BOUND; i++)
        ET_OK(rondo_buffer_destroy(p->part[i]));
    ET_OK(rondo_runtime_drain(p->rt));
    ET_OK(rondo_runtime_stats(p->rt, &s));
    cr_assert(
        !s.execs && !s.subgraphs && !s.buffers && !s.frames && !s.sources && !s.held && !s.bytes,
        "allocation %lld: %llu execs, %llu subgraphs, %llu buffers, %llu frames, "
        "%llu sources, %llu held, %llu bytes",
        atomic_load(&hooks.fail_at), (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
        (unsigned long long)s.buffers, (unsigned long long)s.frames, (unsigned long long)s.sources,
        (unsigned long long)s.held, (unsigned long long)s.bytes);
    cr_assert_eq(atomic_load(&p->released), 1, "released %llu times",
                 (unsigned long long)atomic_load(&p->released));
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
    record_wide(p);
    run_exec(p);
    run_concurrent(p);
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

Test(engine_alloc_failure, once, .timeout = 600) { every_allocation(0); }
Test(engine_alloc_failure, for_good, .timeout = 600) { every_allocation(1); }
