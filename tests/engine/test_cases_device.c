/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of faults seen where graphs are replayed on devices: scalars that change in every replay,
 * values of the replay before, values that cross to the host. Every case in every mode. */
#include "tests/engine/device_case.h"

#include <stdlib.h>

/* ---- a scalar that changes each replay: in a task, in kernels, in a copy's size */

enum { REPLAYS = 41, CELLS = 16, SUMS = 4 };

struct scalars {
    struct dc_machine m;
    uint64_t sums[SUMS], cells[CELLS], ones[CELLS];
    rondo_buffer sum[SUMS], cell, one;
    rondo_slot slot[SUMS], cell_slot, one_slot;
    rondo_param t, n;
};

static int mix_task(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0), t;
    (void)arg;
    memcpy(&t, rondo_task_param(self, 0), sizeof t);
    *sum = *sum * 31 + t;
    return 0;
}

static void record_mixers(struct scalars *s)
{
    ET_HANDLE(DC_KERNEL(s->m, mix_value, 1,
                        RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_param(s->t)),
                        RONDO_ACCESSES(rondo_read_write(s->slot[0], rondo_whole()))));
    ET_HANDLE(DC_KERNEL(s->m, mix_address, 1,
                        RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_param_address(s->t)),
                        RONDO_ACCESSES(rondo_read_write(s->slot[1], rondo_whole()))));
    ET_HANDLE(rondo_record_task(
        s->m.subgraph,
        &(rondo_task_desc){ .name = "mix",
                            .fn = mix_task,
                            RONDO_PARAMS(s->t),
                            RONDO_ACCESSES(rondo_read_write(s->slot[2], rondo_whole())) }));
}

/* As many ones as the parameter says are copied, counted and cleared. */
static void record_copy(struct scalars *s)
{
    const uint64_t zero = 0;
    const uint32_t cells = CELLS;
    ET_HANDLE(rondo_record_copy(s->m.subgraph,
                                &(rondo_move_desc){ .name = "some",
                                                    .from = rondo_read(s->one_slot, rondo_whole()),
                                                    .to = rondo_write(s->cell_slot, rondo_whole()),
                                                    .count = s->n,
                                                    .on = RONDO_GPU(0) }));
    ET_HANDLE(DC_KERNEL(s->m, count, 1,
                        RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_access(1),
                                          rondo_arg_value(&cells, sizeof cells)),
                        RONDO_ACCESSES(rondo_read_write(s->slot[3], rondo_whole()),
                                       rondo_read(s->cell_slot, rondo_whole()))));
    ET_HANDLE(rondo_record_fill(s->m.subgraph,
                                &(rondo_move_desc){ .name = "clear",
                                                    .to = rondo_write(s->cell_slot, rondo_whole()),
                                                    .value = &zero,
                                                    .value_bytes = 8,
                                                    .on = RONDO_GPU(0) }));
}

static void open_scalars(struct scalars *s)
{
    memset(s, 0, sizeof *s);
    s->m = dc_open(1, 0, "scalars");
    for (int i = 0; i < CELLS; i++)
        s->ones[i] = 1;
    for (int i = 0; i < SUMS; i++) {
        s->sum[i] = dc_wrap(s->m, "sum", &s->sums[i], 1);
        s->slot[i] = dc_slot(s->m, "sum", s->sum[i]);
    }
    s->cell = dc_wrap(s->m, "cells", s->cells, CELLS);
    s->one = dc_wrap(s->m, "ones", s->ones, CELLS);
    s->cell_slot = dc_slot(s->m, "cells", s->cell);
    s->one_slot = dc_slot(s->m, "ones", s->one);
    s->t = rondo_subgraph_param(s->m.subgraph, "t", 8, NULL);
    s->n = rondo_subgraph_param(s->m.subgraph, "n", 8, NULL);
    record_mixers(s);
    record_copy(s);
}

static void close_scalars(struct scalars *s)
{
    for (int i = 0; i < SUMS; i++)
        ET_OK(rondo_buffer_destroy(s->sum[i]));
    ET_OK(rondo_buffer_destroy(s->cell));
    ET_OK(rondo_buffer_destroy(s->one));
    dc_close(s->m);
}

/* Four by four, each submitted by itself and held up until all are, and then five in one call. */
static void replay_scalars(struct scalars *s, rondo_exec exec, const uint64_t *t, const uint64_t *n)
{
    rondo_counter gate;
    uint64_t group = 1;
    ET_OK(rondo_counter_create(s->m.runtime, 0, &gate));
    for (int k = 0; k < REPLAYS; k++) {
        const int held = k % 9 < 4, five = k % 9 == 4;
        rondo_value values[2] = { { s->t, t + k, 8 }, { s->n, n + k, 8 } };
        rondo_event open;
        ET_OK(rondo_counter_event(gate, group, &open));
        rondo_replay_args args = { .values = values,
                                   .value_count = 2,
                                   .count = five && k + 5 <= REPLAYS ? 5 : 1,
                                   .after = &open,
                                   .after_count = (uint32_t)held };
        if (five)
            ET_OK(rondo_counter_raise(gate, group++));
        ET_OK(rondo_replay(exec, &args, NULL));
        k += (int)args.count - 1;
    }
    ET_OK(rondo_counter_raise(gate, group));
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_counter_destroy(gate));
}

Test(engine_cases_device, scalars_that_change_each_replay)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        static struct scalars s;
        uint64_t t[REPLAYS], n[REPLAYS], sum = 0, counted = 0;
        dc_try(&dc_modes[k], "scalars");
        open_scalars(&s);
        rondo_exec exec = dc_exec(s.m, &dc_modes[k]);
        for (uint64_t i = 0; i < REPLAYS; i++) {
            t[i] = i * 7919 + 3;
            n[i] = i * 5 % (CELLS + 1);
            sum = sum * 31 + t[i];
            counted = counted * 31 + n[i];
        }
        replay_scalars(&s, exec, t, n);
        for (int i = 0; i < SUMS; i++)
            cr_assert_eq(*dc_seen(s.sum[i]), i < 3 ? sum : counted, "%s: sum %d: %llx, not %llx",
                         dc_modes[k].name, i, (unsigned long long)*dc_seen(s.sum[i]),
                         (unsigned long long)(i < 3 ? sum : counted));
        ET_OK(rondo_exec_destroy(exec));
        close_scalars(&s);
    }
    et_alarm(0, " ");
}

/* ---- nodes that read what the replay before has written */

enum { NODES = 200 };

static void record_nodes(struct dc_machine m, rondo_slot in, rondo_slot out, rondo_slot cells)
{
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t from = (i * 7 + 1) % NODES;
        rondo_kernel_arg values[2] = { rondo_arg_value(&from, 4), rondo_arg_value(&i, 4) };
        if (i % 2)
            ET_HANDLE(DC_KERNEL(
                m, forward, 1,
                RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_access(1), values[0], values[1]),
                RONDO_ACCESSES(rondo_read(in, rondo_span(from, 1)),
                               rondo_write(out, rondo_span(i, 1)))));
        else
            ET_HANDLE(DC_KERNEL(m, in_place, 1,
                                RONDO_KERNEL_ARGS(rondo_arg_access(0), values[0], values[1]),
                                RONDO_ACCESSES(rondo_read(cells, rondo_span(from, 1)),
                                               rondo_read_write(cells, rondo_span(i, 1)))));
    }
}

static void plain_nodes(const uint64_t *in, uint64_t *out, uint64_t *cells)
{
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t from = (i * 7 + 1) % NODES;
        if (i % 2)
            out[i] = in[from] * 3 + i;
        else
            cells[i] = cells[i] * 5 + cells[from];
    }
}

/* The device's own pace says how many: all of them are many seconds of a driver's calls. */
static void previous_replay(const struct et_mode *mode, uint64_t replays)
{
    static uint64_t ring[2][NODES], cells[NODES], plain[2][NODES], plain_cells[NODES];
    struct dc_machine m = dc_open(1, 0, "previous");
    rondo_buffer buffer[3];
    for (int i = 0; i < NODES; i++) {
        ring[0][i] = plain[0][i] = (uint64_t)i * 11;
        ring[1][i] = plain[1][i] = (uint64_t)i * 13;
        cells[i] = plain_cells[i] = (uint64_t)i + 1;
    }
    buffer[0] = dc_wrap(m, "even", ring[0], NODES);
    buffer[1] = dc_wrap(m, "odd", ring[1], NODES);
    buffer[2] = dc_wrap(m, "cells", cells, NODES);
    rondo_slot_desc d = { .name = "in", .ring = buffer, .ring_count = 2 };
    rondo_slot in = rondo_subgraph_slot(m.subgraph, &d);
    d.name = "out";
    d.ring_first = 1;
    rondo_slot out = rondo_subgraph_slot(m.subgraph, &d);
    record_nodes(m, in, out, dc_slot(m, "cells", buffer[2]));
    rondo_exec exec = dc_exec(m, mode);
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = replays }, -1, NULL));
    for (uint64_t r = 0; r < replays; r++)
        plain_nodes(plain[r % 2], plain[(r + 1) % 2], plain_cells);
    for (int b = 0; b < 3; b++)
        cr_assert_arr_eq(dc_seen(buffer[b]), b < 2 ? plain[b] : plain_cells, sizeof cells, "%s: %d",
                         mode->name, b);
    ET_OK(rondo_exec_destroy(exec));
    for (int b = 0; b < 3; b++)
        ET_OK(rondo_buffer_destroy(buffer[b]));
    dc_close(m);
}

Test(engine_cases_device, values_of_the_replay_before)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        const int most = dc_modes[k].mode == RONDO_COMPILED && dc_modes[k].order == RONDO_PIPELINED;
        et_alarm(600, "replay before, %s: hangs\n", dc_modes[k].name);
        previous_replay(&dc_modes[k], et_scaled(most ? 600 : 60, 11) | 1);
    }
    et_alarm(0, " ");
}

/* ---- what is produced on a device, and read on the host later */

struct crossing {
    uint64_t *log;
    uint64_t replays;
};

static int look(rondo_task *self, const void *arg)
{
    const struct crossing *c = *(struct crossing *const *)arg;
    const uint64_t *cells = rondo_task_read(self, 0);
    uint64_t sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += cells[i];
    c->log[self->replay] = sum;
    return 0;
}

static int feed(rondo_task *self, const void *arg)
{
    uint64_t *cells = rondo_task_write(self, 0);
    (void)arg;
    for (uint64_t i = 0; i < CELLS; i++)
        cells[i] += i + self->replay;
    return 0;
}

/* A buffer without host memory until a task needs it: doubled on the device, looked at, fed by the
 * host, doubled again. The mean of what the looker saw is the plain loop's. */
static void cross(const struct et_mode *mode, int in_device_memory)
{
    uint64_t log[REPLAYS], cells[CELLS] = { 0 }, host[CELLS] = { 0 };
    struct crossing c = { log, REPLAYS }, *arg = &c;
    struct dc_machine m = dc_open(1, 0, "crossing");
    rondo_buffer buffer;
    rondo_buffer_desc d = { .name = "cells",
                            .shape = { 8, { CELLS }, { 0 } },
                            .host = in_device_memory ? NULL : host,
                            .memory = in_device_memory ? RONDO_GPU_MEMORY(0) : 0 };
    const uint64_t one = 1;
    ET_OK(rondo_buffer_create(m.runtime, &d, &buffer));
    rondo_slot slot = dc_slot(m, "cells", buffer);
    rondo_access read = rondo_read(slot, rondo_whole()), both = rondo_read_write(slot, read.region);
    ET_HANDLE(
        DC_KERNEL(m, twice, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)), RONDO_ACCESSES(both)));
    ET_HANDLE(rondo_record_task(
        m.subgraph,
        &(rondo_task_desc){ .name = "look", .fn = look, RONDO_ARG(arg), RONDO_ACCESSES(read) }));
    ET_HANDLE(rondo_record_task(
        m.subgraph, &(rondo_task_desc){ .name = "feed", .fn = feed, RONDO_ACCESSES(both) }));
    ET_HANDLE(
        DC_KERNEL(m, more, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)), RONDO_ACCESSES(both)));
    rondo_exec exec = dc_exec(m, mode);
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = REPLAYS }, -1, NULL));
    for (uint64_t r = 0; r < REPLAYS; r++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < CELLS; i++) {
            sum += cells[i] * 2;
            cells[i] = cells[i] * 2 + i + r + one;
        }
        cr_assert_eq(log[r], sum, "%s: replay %llu saw %llu, not %llu", mode->name,
                     (unsigned long long)r, (unsigned long long)log[r], (unsigned long long)sum);
    }
    cr_assert_arr_eq(dc_seen(buffer), cells, sizeof cells, "%s", mode->name);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_buffer_destroy(buffer));
    dc_close(m);
}

Test(engine_cases_device, values_that_cross_to_the_host)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        dc_try(&dc_modes[k], "crossing");
        cross(&dc_modes[k], 0);
        cross(&dc_modes[k], 1);
    }
    et_alarm(0, " ");
}

/* ---- old code that looks at everything */

enum { TURNS = 3 };

struct turns {
    uint64_t cells[TURNS][CELLS], log[REPLAYS];
    uint32_t calls;
};

static void add_all(void *context)
{
    struct turns *t = context;
    uint64_t sum = 0;
    for (int b = 0; b < TURNS; b++)
        for (int i = 0; i < CELLS; i++)
            sum += t->cells[b][i];
    t->log[t->calls++] = sum;
    t->cells[t->calls % TURNS][1] += 3;
}

/* A plain call sees, and changes, what a ring shows in other replays too. */
static void call_among_turns(const struct et_mode *mode)
{
    static struct turns t, plain;
    struct dc_machine m = dc_open(1, 0, "turns");
    rondo_buffer buffer[TURNS];
    t = plain = (struct turns){ .calls = 0 };
    for (int b = 0; b < TURNS; b++)
        buffer[b] = dc_wrap(m, "turn", t.cells[b], CELLS);
    rondo_slot slot = rondo_subgraph_slot(
        m.subgraph, &(rondo_slot_desc){ .name = "turn", .ring = buffer, .ring_count = TURNS });
    ET_HANDLE(rondo_record_call(m.subgraph, "add", add_all, &t));
    ET_HANDLE(DC_KERNEL(m, more, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                        RONDO_ACCESSES(rondo_read_write(slot, rondo_whole()))));
    rondo_exec exec = dc_exec(m, mode);
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = REPLAYS }, -1, NULL));
    for (uint32_t r = 0; r < REPLAYS; r++) {
        add_all(&plain);
        for (int i = 0; i < CELLS; i++)
            plain.cells[r % TURNS][i]++;
        cr_assert_eq(t.log[r], plain.log[r], "%s: replay %u: %llu, not %llu", mode->name, r,
                     (unsigned long long)t.log[r], (unsigned long long)plain.log[r]);
    }
    for (int b = 0; b < TURNS; b++)
        cr_assert_arr_eq(dc_seen(buffer[b]), plain.cells[b], sizeof *plain.cells, "%s: %d",
                         mode->name, b);
    ET_OK(rondo_exec_destroy(exec));
    for (int b = 0; b < TURNS; b++)
        ET_OK(rondo_buffer_destroy(buffer[b]));
    dc_close(m);
}

Test(engine_cases_device, a_call_sees_all_of_a_ring)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        dc_try(&dc_modes[k], "turns");
        call_among_turns(&dc_modes[k]);
    }
    et_alarm(0, " ");
}

/* ---- an exec that is given another kernel, other work items, and an edge too many */

struct version {
    const char *entry;
    uint64_t items;
    int edge;
};

/* Two kernels over two buffers: nothing but an edge by hand orders them. */
static rondo_subgraph record_version(rondo_runtime runtime, const rondo_buffer *buffer,
                                     const struct version *v)
{
    rondo_node node[2];
    struct dc_machine m = { .runtime = runtime };
    ET_OK(rondo_subgraph_create(runtime, NULL, &m.subgraph));
    for (int i = 0; i < 2; i++) {
        rondo_slot slot = dc_slot(m, i ? "right" : "left", buffer[i]);
        rondo_access access = rondo_read_write(slot, rondo_whole());
        node[i] = rondo_record_kernel(m.subgraph,
                                      &(rondo_kernel_desc){ .name = i ? "second" : "first",
                                                            .format = RONDO_OPENCL_C,
                                                            .image = dc_source,
                                                            .image_bytes = sizeof dc_source - 1,
                                                            .entry = i ? v->entry : "more",
                                                            .dimensions = 1,
                                                            .global = { i ? v->items : CELLS },
                                                            RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                                                            RONDO_ACCESSES(access),
                                                            .after = node,
                                                            .after_count = i && v->edge ? 1 : 0 });
        ET_HANDLE(node[i]);
    }
    return m.subgraph;
}

static void try_update(rondo_exec exec, rondo_runtime runtime, const rondo_buffer *buffer,
                       const struct version *v)
{
    rondo_subgraph other = record_version(runtime, buffer, v);
    if (v->edge) {
        ET_IS(rondo_exec_update(exec, other), RONDO_ERR_INVALID);
        ET_SAYS("'second'");
        ET_SAYS("predecessors");
    } else {
        ET_OK(rondo_exec_update(exec, other));
    }
    ET_OK(rondo_subgraph_destroy(other));
}

static void plain_version(uint64_t cells[2][CELLS], const struct version *v)
{
    for (uint64_t i = 0; i < CELLS; i++) {
        cells[0][i]++;
        if (i < v->items)
            cells[1][i] = strcmp(v->entry, "more") == 0 ? cells[1][i] + 1 : cells[1][i] * 2;
    }
}

static void update_kernels(const struct et_mode *mode)
{
    static const struct version version[] = {
        { "more", CELLS, 0 },  { "twice", CELLS, 1 },     { "twice", CELLS, 0 },
        { "twice", CELLS, 1 }, { "twice", CELLS / 2, 0 }, { "more", CELLS, 0 },
    };
    const struct version *now = version;
    uint64_t cells[2][CELLS] = { { 0 } }, plain[2][CELLS] = { { 0 } };
    struct dc_machine m = { .runtime = du_runtime(1, 1, 0) };
    rondo_buffer buffer[2] = { dc_wrap(m, "left", cells[0], CELLS),
                               dc_wrap(m, "right", cells[1], CELLS) };
    m.subgraph = record_version(m.runtime, buffer, now);
    rondo_exec exec = dc_exec(m, mode);
    for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
        if (i)
            try_update(exec, m.runtime, buffer, &version[i]);
        if (!version[i].edge)
            now = &version[i];
        ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 3 }, -1, NULL));
        for (int r = 0; r < 3; r++)
            plain_version(plain, now);
        for (int b = 0; b < 2; b++)
            cr_assert_arr_eq(dc_seen(buffer[b]), plain[b], sizeof plain[b], "%s: version %zu, %d",
                             mode->name, i, b);
    }
    ET_OK(rondo_exec_destroy(exec));
    for (int b = 0; b < 2; b++)
        ET_OK(rondo_buffer_destroy(buffer[b]));
    dc_close(m);
}

Test(engine_cases_device, other_kernels_and_an_edge_too_many)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        dc_try(&dc_modes[k], "update");
        update_kernels(&dc_modes[k]);
    }
    et_alarm(0, " ");
}
