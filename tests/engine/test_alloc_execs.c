/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory, at every allocation of what execs do beyond replaying: groups, dataflow, profiles,
 * schedules chosen by themselves, nodes with threads of their own, changes, events of nodes,
 * traces, checks, adopted processors. A refused call says so, changes nothing and succeeds when
 * made again. What is made in the background, or only to look inside, may be missing; the results
 * are right, and in the end not a byte is left. */
#include "tests/engine/short_memory.h"

#include <stdio.h>

enum { CELLS = 8, LAST = CELLS };

struct world {
    rondo_runtime rt;
    rondo_buffer sum;
    rondo_counter counter;
    rondo_exec exec[2];
    uint64_t sums[CELLS + 1], expected[CELLS + 1];
    _Atomic(uint64_t) made, released, late;
};

static int add_to_cell(rondo_task *self, const void *arg)
{
    const uint64_t *a = arg; /* the cell, and what to add */
    ((uint64_t *)rondo_task_write(self, 0))[a[0]] += a[1];
    return 0;
}

/* Writes the cells of its chunk as they are. */
static int keep_cells(rondo_task *self, const void *arg)
{
    volatile uint64_t *cells = rondo_task_write(self, 0);
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    for (int64_t i = r->first[0]; i < r->first[0] + r->count[0]; i++)
        cells[i] = cells[i];
    return 0;
}

/* Memory of the lane, however often it is refused. */
static int add_by_scratch(rondo_task *self, const void *arg)
{
    const size_t bytes = 5000 + 3000 * (self->replay % 3);
    uint64_t *block;
    while (!(block = rondo_task_scratch(self, bytes)))
        atomic_store(&hooks.fail_at, 0);
    block[bytes / sizeof *block - 1] = ((const uint64_t *)arg)[1];
    ((uint64_t *)rondo_task_write(self, 0))[((const uint64_t *)arg)[0]] +=
        block[bytes / sizeof *block - 1];
    return 0;
}

static int add_and_detach(rondo_task *self, const void *arg)
{
    rondo_completion c = rondo_task_detach(self);
    if (!c.id)
        return rondo_task_fail(self, rondo_error_message());
    add_to_cell(self, arg);
    return rondo_completion_finish(c, RONDO_OK, NULL) != RONDO_OK;
}

static int add_by_first_rank(rondo_task *self, const void *arg)
{
    rondo_task_barrier(self);
    return self->rank == 0 ? add_to_cell(self, arg) : 0;
}

static int wait_and_add(rondo_task *self, const void *arg)
{
    struct world *w = rondo_task_context(self);
    rondo_event event;
    if (rondo_counter_event(w->counter, 1, &event) != RONDO_OK ||
        rondo_event_wait(event, -1) != RONDO_OK)
        return rondo_task_fail(self, rondo_error_message());
    return add_to_cell(self, arg);
}

static void count_release(void *context)
{
    atomic_fetch_add(&((struct world *)context)->released, 1);
}

/* Once for all runs of a world: reading the machine takes longer than a run. */
static rondo_runtime open_runtime(const rondo_runtime_options *more)
{
    rondo_runtime rt = { 0 };
    char cpus[64];
    rondo_runtime_options o = *more;
    et_cpu_list(2, cpus, sizeof cpus);
    o.cpus = cpus;
    o.allocate = allocate;
    o.release = release;
    o.context = &hooks;
    begin_memory(0, 0);
    ET_OK(rondo_runtime_open(&o, &rt));
    return rt;
}

static void open_world(struct world *w)
{
    rondo_buffer_desc d = { "sum", { sizeof *w->sums, { CELLS + 1 }, { 0 } }, w->sums, 0, NULL };
    TRY_OUT(w->sum, rondo_buffer_create(w->rt, &d, &w->sum));
    TRY_OUT(w->counter, rondo_counter_create(w->rt, 1, &w->counter));
}

static void end_world(struct world *w, const char *name, long long fail_at)
{
    rondo_runtime_statistics s;
    for (int i = 0; i < 2; i++)
        if (w->exec[i].id)
            ET_OK(rondo_exec_destroy(w->exec[i]));
    ET_OK(rondo_counter_destroy(w->counter));
    ET_OK(rondo_buffer_destroy(w->sum));
    ET_OK(rondo_runtime_drain(w->rt));
    ET_OK(rondo_runtime_stats(w->rt, &s));
    cr_assert(
        !s.execs && !s.subgraphs && !s.buffers && !s.frames && !s.sources && !s.held && !s.bytes,
        "%s: allocation %lld: %llu execs, %llu subgraphs, %llu buffers, %llu frames, "
        "%llu sources, %llu held, %llu bytes",
        name, fail_at, (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
        (unsigned long long)s.buffers, (unsigned long long)s.frames, (unsigned long long)s.sources,
        (unsigned long long)s.held, (unsigned long long)s.bytes);
    cr_assert_eq(w->released, w->made, "%s: allocation %lld: %llu of %llu contexts released", name,
                 fail_at, (unsigned long long)w->released, (unsigned long long)w->made);
    cr_assert(!memcmp(w->sums, w->expected, sizeof w->sums),
              "%s: allocation %lld: the sums are wrong", name, fail_at);
}

/* ---- recordings */

struct kind {
    rondo_task_fn *fn;
    uint32_t flags;
};
static const struct kind plain = { add_to_cell, 0 };

/* CELLS tasks, each adds `by` to a cell of its own, and one behind them all adds it to the last.
 * Costs that more than one lane pays for. */
struct recording {
    rondo_subgraph g;
    rondo_slot slot;
    rondo_node first, last;
};

static rondo_node record_adder(struct world *w, const struct recording *r, const struct kind *kind,
                               uint64_t cell, uint64_t by)
{
    const uint64_t arg[2] = { cell, by };
    rondo_node node;
    rondo_access access[2] = { rondo_read_write(r->slot, rondo_span((int64_t)cell, 1)),
                               rondo_read(r->slot, rondo_span(0, CELLS)) };
    rondo_task_desc d = { .name = cell == LAST ? "last" : "add",
                          .fn = kind->fn,
                          .arg = arg,
                          .arg_bytes = sizeof arg,
                          .context = w,
                          .release = count_release,
                          .accesses = access,
                          .access_count = cell == LAST ? 2 : 1,
                          .cost_ns = 20000,
                          .flags = kind->flags };
    TRY_HANDLE(r->g, node, rondo_record_task(r->g, &d));
    atomic_fetch_add(&w->made, 1);
    return node;
}

static struct recording record(struct world *w, const struct kind *kind, uint64_t by)
{
    struct recording r = { .g = { 0 } };
    rondo_slot_desc d = { .name = "sum", .buffer = w->sum };
    TRY_OUT(r.g, rondo_subgraph_create(w->rt, NULL, &r.g));
    TRY_HANDLE(r.g, r.slot, rondo_subgraph_slot(r.g, &d));
    for (uint64_t cell = 0; cell < CELLS; cell++) {
        rondo_node n = record_adder(w, &r, cell == 1 ? kind : &plain, cell, by);
        if (!cell)
            r.first = n;
    }
    r.last = record_adder(w, &r, &plain, LAST, by);
    return r;
}

static void expect(struct world *w, uint64_t replays, uint64_t by)
{
    for (int i = 0; i <= LAST; i++)
        w->expected[i] += replays * by;
}

static void replay(rondo_exec exec, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        TRY(rondo_replay(exec, NULL, NULL));
    TRY(rondo_exec_wait(exec, NULL));
}

static void make(struct world *w, rondo_subgraph g, const rondo_instantiate_options *o)
{
    TRY_OUT(w->exec[0], rondo_instantiate(g, o, &w->exec[0]));
}

static void end_exec(struct world *w)
{
    ET_OK(rondo_exec_destroy(w->exec[0]));
    w->exec[0].id = 0;
}

/* ---- what is done in each world */

/* Two that alternate, each interpreted for a while, one of them changed. */
static void group(struct world *w)
{
    struct recording r[3] = { record(w, &plain, 1), record(w, &plain, 10), record(w, &plain, 100) };
    rondo_subgraph g[2] = { r[0].g, r[1].g };
    rondo_instantiate_options o = { .order = RONDO_PIPELINED };
    TRY_OUT(w->exec[0], rondo_instantiate_group(g, 2, &o, w->exec));
    for (int i = 0; i < 6; i++)
        TRY(rondo_replay(w->exec[i % 3 == 0], NULL, NULL));
    TRY(rondo_exec_set_mode(w->exec[1], RONDO_INTERPRETED));
    replay(w->exec[1], 2);
    TRY(rondo_exec_update(w->exec[0], r[2].g));
    replay(w->exec[0], 3);
    expect(w, 4, 1);
    expect(w, 2 + 2, 10);
    expect(w, 3, 100);
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_subgraph_destroy(r[i].g));
}

static void dataflow(struct world *w)
{
    struct recording r = record(w, &plain, 1);
    for (uint32_t order = RONDO_SERIAL; order <= RONDO_PIPELINED; order++) {
        rondo_instantiate_options o = { .order = order, .schedule = RONDO_DATAFLOW };
        make(w, r.g, &o);
        replay(w->exec[0], 4);
        TRY(rondo_exec_set_mode(w->exec[0], RONDO_INTERPRETED));
        replay(w->exec[0], 2);
        TRY(rondo_exec_set_mode(w->exec[0], RONDO_AUTO));
        TRY(rondo_exec_touch(w->exec[0]));
        replay(w->exec[0], 1);
        expect(w, 7, 1);
        end_exec(w);
    }
    ET_OK(rondo_subgraph_destroy(r.g));
}

static void profile(struct world *w)
{
    static const uint32_t schedules[] = { RONDO_STATIC, RONDO_DATAFLOW, RONDO_SCHEDULE_AUTO };
    struct recording r = record(w, &plain, 1);
    for (int i = 0; i < 3; i++) {
        rondo_instantiate_options o = { .schedule = schedules[i], .profile = 3 };
        make(w, r.g, &o);
        for (int k = 0; k < 5; k++)
            TRY(rondo_replay_and_wait(w->exec[0], NULL, -1, NULL));
        expect(w, 5, 1);
        end_exec(w);
    }
    ET_OK(rondo_subgraph_destroy(r.g));
}

/* Until the schedule has been chosen, with the other cores or without those there is no memory for.
 */
static void automatic(struct world *w)
{
    enum { REPLAYS = 90 };
    struct recording r = record(w, &plain, 1);
    make(w, r.g, NULL);
    for (int i = 0; i < REPLAYS; i++)
        TRY(rondo_replay_and_wait(w->exec[0], NULL, -1, NULL));
    expect(w, REPLAYS, 1);
    ET_OK(rondo_subgraph_destroy(r.g));
}

/* A node with a team, a completion, a thread or memory of its own. */
static void of_kind(struct world *w, const struct kind *kind)
{
    static const rondo_instantiate_options options[] = {
        { .mode = RONDO_COMPILED, .schedule = RONDO_STATIC, .order = RONDO_PIPELINED },
        { .mode = RONDO_INTERPRETED },
        { .schedule = RONDO_DATAFLOW },
    };
    struct recording r = record(w, kind, 1);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        make(w, r.g, &options[i]);
        replay(w->exec[0], 3);
        expect(w, 3, 1);
        end_exec(w);
    }
    ET_OK(rondo_subgraph_destroy(r.g));
}

static void hosted(struct world *w) { of_kind(w, &(struct kind){ add_to_cell, RONDO_HOSTED }); }
static void team(struct world *w) { of_kind(w, &(struct kind){ add_by_first_rank, RONDO_SPMD }); }
static void detached(struct world *w)
{
    of_kind(w, &(struct kind){ add_and_detach, RONDO_DETACHED | RONDO_MAY_STOP });
}
static void blocking(struct world *w)
{
    of_kind(w, &(struct kind){ wait_and_add, RONDO_MAY_BLOCK });
}
static void scratch(struct world *w) { of_kind(w, &(struct kind){ add_by_scratch, 0 }); }

static void changes(struct world *w)
{
    static const uint32_t schedules[] = { RONDO_STATIC, RONDO_DATAFLOW };
    const uint64_t arg[2] = { 0, 100 };
    rondo_task_desc d = { .fn = add_to_cell,
                          .arg = arg,
                          .arg_bytes = sizeof arg,
                          .context = w,
                          .release = count_release };
    for (int i = 0; i < 2; i++) {
        struct recording r[2] = { record(w, &plain, 1), record(w, &plain, 10) };
        rondo_instantiate_options o = { .schedule = schedules[i] };
        make(w, r[0].g, &o);
        replay(w->exec[0], 2);
        TRY(rondo_exec_update_task(w->exec[0], r[0].first, &d));
        atomic_fetch_add(&w->made, 1);
        replay(w->exec[0], 2); /* the first cell by 100 */
        TRY(rondo_exec_enable(w->exec[0], r[0].last, 0));
        replay(w->exec[0], 3); /* without the last */
        TRY(rondo_exec_enable(w->exec[0], r[0].last, 1));
        TRY(rondo_exec_touch(w->exec[0]));
        replay(w->exec[0], 1);
        TRY(rondo_exec_update(w->exec[0], r[1].g));
        replay(w->exec[0], 2);
        TRY(rondo_exec_reset(w->exec[0]));
        replay(w->exec[0], 1);
        expect(w, 8, 1);
        expect(w, 3, 10);
        w->expected[0] += 6 * 99;
        w->expected[LAST] -= 3;
        end_exec(w);
        for (int k = 0; k < 2; k++)
            ET_OK(rondo_subgraph_destroy(r[k].g));
    }
}

static void events_of_nodes(struct world *w)
{
    static const rondo_instantiate_options options[] = {
        { .mode = RONDO_COMPILED, .schedule = RONDO_STATIC },
        { .mode = RONDO_INTERPRETED },
        { .schedule = RONDO_DATAFLOW },
    };
    struct recording r = record(w, &plain, 1);
    rondo_event gate, replay_event, event;
    rondo_task_desc t = { .fn = keep_cells };
    rondo_access access = rondo_chunk(r.slot, RONDO_READ_WRITE, 0, 0);
    rondo_for_desc f = { .task = &t, .range = rondo_span(0, CELLS), .chunks = { CELLS } };
    rondo_node several;
    t.accesses = &access;
    t.access_count = 1;
    TRY_HANDLE(r.g, several, rondo_record_for(r.g, &f));
    for (uint64_t i = 0; i < sizeof options / sizeof *options; i++) {
        ET_OK(rondo_counter_event(w->counter, 2 + i, &gate));
        rondo_replay_args args = { .after = &gate, .after_count = 1 };
        make(w, r.g, &options[i]);
        TRY(rondo_replay(w->exec[0], &args, &replay_event));
        TRY(rondo_event_at(replay_event, r.first, &event));
        TRY(rondo_event_at(replay_event, several, &event));
        ET_IS(rondo_event_wait(event, 0), RONDO_ERR_AGAIN);
        ET_OK(rondo_counter_add(w->counter, 1));
        ET_OK(rondo_event_wait(event, -1));
        replay(w->exec[0], 1);
        expect(w, 2, 1);
        end_exec(w);
    }
    ET_OK(rondo_subgraph_destroy(r.g));
}

static void swallow(void *context, const char *text) { *(size_t *)context += strlen(text); }

static void traces(struct world *w)
{
    static const uint32_t schedules[] = { RONDO_STATIC, RONDO_DATAFLOW };
    struct recording r = record(w, &plain, 1);
    size_t written = 0;
    for (int i = 0; i < 2; i++) {
        rondo_instantiate_options o = { .schedule = schedules[i], .flags = RONDO_TIMED };
        rondo_node_info info;
        make(w, r.g, &o);
        TRY(rondo_trace_start(w->rt, 0));
        replay(w->exec[0], 3);
        TRY(rondo_trace_stop(w->rt, swallow, &written));
        TRY(rondo_trace_start(w->rt, 7));
        replay(w->exec[0], 1);
        TRY(rondo_exec_node_info(w->exec[0], r.first, &info));
        TRY(rondo_exec_describe(w->exec[0], swallow, &written));
        end_exec(w); /* before the trace */
        TRY(rondo_trace_stop(w->rt, swallow, &written));
        expect(w, 4, 1);
    }
    cr_assert(written > 100);
    ET_OK(rondo_subgraph_destroy(r.g));
}

/* Under RONDO_CHECK, RONDO_VERIFY or RONDO_SHUFFLE. */
static void checked(struct world *w)
{
    static const char *const variables[][2] = { { "RONDO_CHECK", "access" },
                                                { "RONDO_VERIFY", "1" },
                                                { "RONDO_SHUFFLE", "7" } };
    struct recording r = record(w, &plain, 1);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(setenv(variables[i][0], variables[i][1], 1), 0);
        make(w, r.g, &(rondo_instantiate_options){ .order = RONDO_PIPELINED });
        cr_assert_eq(unsetenv(variables[i][0]), 0);
        replay(w->exec[0], 3);
        expect(w, 3, 1);
        end_exec(w);
    }
    ET_OK(rondo_subgraph_destroy(r.g));
}

/* Both processors are the caller's; the costs are asked for before and after they are measured. */
static void driven(struct world *w)
{
    struct recording r = record(w, &plain, 1);
    rondo_simulate_options s = { .processors = 5 };
    rondo_simulation simulation;
    rondo_event event;
    TRY(rondo_simulate(r.g, &s, &simulation));
    make(w, r.g, &(rondo_instantiate_options){ .cpus = NULL, .flags = RONDO_TIMED });
    for (int i = 0; i < 3; i++) {
        TRY(rondo_replay(w->exec[0], NULL, &event));
        while (rondo_event_wait(event, 0) == RONDO_ERR_AGAIN)
            for (uint32_t k = 0; k < 2; k++)
                (void)rondo_processor_drive(w->rt, RONDO_CPU(k), event, 0);
    }
    s.exec = w->exec[0];
    TRY(rondo_simulate(r.g, &s, &simulation));
    expect(w, 3, 1);
    ET_OK(rondo_subgraph_destroy(r.g));
}

static _Atomic(int64_t) started;
static rondo_status thread_starts(void *context, rondo_processor processor)
{
    (void)context;
    (void)processor;
    atomic_fetch_add(&started, 1);
    return RONDO_OK;
}
static void thread_stops(void *context, rondo_processor processor)
{
    (void)context;
    (void)processor;
    atomic_fetch_sub(&started, 1);
}

static const struct {
    const char *name;
    void (*run)(struct world *w);
    rondo_runtime_options options;
} worlds[] = {
    { "a group", group, { .adopt = 0 } },
    { "dataflow", dataflow, { .adopt = 0 } },
    { "profiles", profile, { .adopt = 0 } },
    { "a schedule chosen by itself", automatic, { .adopt = 0 } },
    { "a hosted task", hosted, { .adopt = 0 } },
    { "a team", team, { .adopt = 0 } },
    { "a detached task that may stop", detached, { .adopt = 0 } },
    { "a task that may block",
      blocking,
      { .thread_start = thread_starts, .thread_stop = thread_stops } },
    { "memory of lanes", scratch, { .adopt = 0 } },
    { "changes", changes, { .adopt = 0 } },
    { "events of nodes", events_of_nodes, { .adopt = 0 } },
    { "traces", traces, { .adopt = 0 } },
    { "checks", checked, { .adopt = 0 } },
    { "adopted processors", driven, { .adopt = 2, .flags = RONDO_SHARED } },
};

/* Whether memory was refused at all. */
static int run_world(size_t i, rondo_runtime rt, long long fail_at, int persistent)
{
    struct world *w = calloc(1, sizeof *w);
    cr_assert(w);
    et_alarm(60, "stuck: %s: allocation %lld fails%s\n", worlds[i].name, fail_at,
             persistent ? " for good" : "");
    w->rt = rt;
    begin_memory(fail_at, persistent);
    open_world(w);
    worlds[i].run(w);
    end_world(w, worlds[i].name, fail_at);
    et_alarm(0, " ");
    free(w);
    return atomic_load(&hooks.failures) > 0;
}

/* Only every tenth, say, where runs are slow. */
static void every_allocation(int persistent)
{
    const long long step = 100 / (long long)et_scaled(100, 5);
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        const rondo_runtime rt = open_runtime(&worlds[i].options);
        long long n = 1;
        while (run_world(i, rt, n, persistent))
            n += step < 1 ? 1 : step;
        ET_OK(rondo_runtime_close(rt));
        cr_assert_eq(started, 0, "threads that start stop");
        cr_assert_eq(atomic_load(&hooks.live), 0, "%s: %lld blocks left", worlds[i].name,
                     atomic_load(&hooks.live));
        printf("%s: of %lld allocations each %lld. refused, %s\n", worlds[i].name, n - 1, step,
               persistent ? "for good" : "once");
        cr_assert(n > 100, "only %lld", n);
    }
}

Test(engine_alloc_execs, once, .timeout = 600) { every_allocation(0); }
Test(engine_alloc_execs, for_good, .timeout = 600) { every_allocation(1); }
