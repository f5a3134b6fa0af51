/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/graph_full.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct full {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_slot fixed, part, ring, bound, temporary, token, flag, alias, pitched, twin[2], seen,
        kept;
    rondo_param number, start, event, count;
    rondo_node node[20];
};
static char memory[1024];

static void refused(int wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "%s: %s\n", what, rondo_error_message());
    abort();
}
#define OK(call)       refused((call) != RONDO_OK, #call)
#define HANDLE(handle) refused((handle).id == 0, #handle)

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

static rondo_buffer buffer_of(struct full *f, const char *name, rondo_shape shape, void *host)
{
    rondo_buffer b;
    OK(rondo_buffer_create(f->rt, &(rondo_buffer_desc){ name, shape, host, 0, NULL }, &b));
    return b;
}

static rondo_slot slot_of(struct full *f, rondo_slot_desc desc)
{
    rondo_slot slot = rondo_subgraph_slot(f->g, &desc);
    HANDLE(slot);
    return slot;
}

static void add_slots(struct full *f)
{
    const rondo_shape line = { 8, { 16 }, { 0 } }, plane = { 8, { 8, 4 }, { 0 } };
    rondo_buffer own = buffer_of(f, "own", plane, NULL);
    /* The first two share bytes, the third comes right behind them. */
    rondo_buffer b[3] = { buffer_of(f, NULL, line, memory), buffer_of(f, "b", line, memory + 64),
                          buffer_of(f, "c", line, memory + 192) };
    f->fixed = slot_of(f, (rondo_slot_desc){ .name = "fixed", .buffer = own });
    f->part = slot_of(f, (rondo_slot_desc){ .name = "part", .shape = line, .buffer = own });
    f->ring = slot_of(f, (rondo_slot_desc){ .name = "ring \"of\" \\three\n\x7f \xc3\xa9",
                                            .ring = b,
                                            .ring_count = 3,
                                            .ring_first = 1,
                                            .ring_stride = 2 });
    f->bound = slot_of(f, (rondo_slot_desc){ .shape = { 8, { 4, 4, 3 }, { 0 } } });
    f->temporary = slot_of(
        f,
        (rondo_slot_desc){ .name = "t", .shape = line, .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    f->token = slot_of(f, (rondo_slot_desc){ .name = "token", .shape = { 0, { 5, 2 }, { 0 } } });
    f->flag = slot_of(f, (rondo_slot_desc){ .name = "flag", .shape = { 4, { 1 }, { 0 } } });
    f->alias = slot_of(
        f, (rondo_slot_desc){ .name = "\xef\xbf\xbd", .shape = plane, .alias_of = f->bound });
    f->pitched = slot_of(
        f, (rondo_slot_desc){ .name = "pitched", .shape = { 8, { 4, 2, 2 }, { 40, 100 } } });
    f->twin[0] = slot_of(f, (rondo_slot_desc){ .name = "twin", .shape = line });
    f->twin[1] = slot_of(f, (rondo_slot_desc){ .name = "twin", .shape = line });
    f->seen = slot_of(f, (rondo_slot_desc){ .name = "seen", .buffer = own, .at_end = RONDO_HOST });
    f->kept = slot_of(
        f, (rondo_slot_desc){ .name = "kept", .buffer = own, .at_end = RONDO_GPU_MEMORY(2) });
    OK(rondo_buffer_destroy(own));
    for (int i = 0; i < 3; i++)
        OK(rondo_buffer_destroy(b[i]));
}

static void add_params(struct full *f)
{
    const double value = 0.1;
    f->number = rondo_subgraph_param(f->g, "number", 8, &value);
    f->start = rondo_subgraph_param(f->g, NULL, 12, NULL);
    f->event = rondo_subgraph_param(f->g, "event", sizeof(rondo_event), NULL);
    f->count = rondo_subgraph_param(f->g, "count", 8, NULL);
    HANDLE(f->number);
    HANDLE(f->start);
    HANDLE(f->event);
    HANDLE(f->count);
}

static rondo_node task(struct full *f, rondo_task_desc desc)
{
    rondo_node node;
    desc.fn = nothing;
    node = rondo_record_task(f->g, &desc);
    HANDLE(node);
    return node;
}

static void add_tasks(struct full *f)
{
    const unsigned char arg[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 0xff };
    rondo_access halo = rondo_read(f->bound, rondo_box3(1, 1, 1, 2, 2, 1));
    rondo_access round = rondo_read(f->fixed, rondo_box(0, 0, 3, 4));
    halo.halo[0] = halo.halo[1] = 1;
    halo.flags = RONDO_STAR;
    round.halo[0] = 2;
    round.flags = RONDO_WRAP;
    f->node[0] = task(
        f, (rondo_task_desc){
               .name = "all of it",
               .tag = UINT64_MAX,
               .arg = arg,
               .arg_bytes = sizeof arg,
               RONDO_ACCESSES(halo, round, rondo_commute(f->token, rondo_whole()),
                              rondo_write(f->twin[1], rondo_span(2, 3)),
                              rondo_reduce(f->temporary, rondo_span(0, 4), RONDO_F64, RONDO_MIN)),
               RONDO_PARAMS(f->number, f->start),
               RONDO_PATCHES({ f->number, 1, 2, 4, 0 }, { f->start, 0, 0, 1, 0 }),
               .on = RONDO_CPU(1),
               .priority = -7,
               .cost_ns = 1234.5,
               .flags = RONDO_MAY_STOP,
               .stop_lag = 2,
               .when = { f->number, f->flag, 4, 3 } });
    f->node[1] = task(f, (rondo_task_desc){ .flags = RONDO_NO_ACCESS | RONDO_SPMD, .team = 2 });
    f->node[2] = task(f, (rondo_task_desc){ .tag = (uint64_t)INT64_MAX + 1,
                                            .flags = RONDO_DETACHED,
                                            .when = { .every = 2 },
                                            RONDO_AFTER(f->node[0], f->node[1]) });
    f->node[3] = task(f, (rondo_task_desc){ .name = "blocks",
                                            .flags = RONDO_MAY_BLOCK,
                                            .carried = f->node,
                                            .carried_count = 2,
                                            RONDO_ACCESSES(rondo_read_write(f->ring, rondo_whole()),
                                                           rondo_write(f->alias, rondo_whole())) });
    f->node[4] = task(f, (rondo_task_desc){ .name = "hosted", .flags = RONDO_HOSTED });
}

static void add_others(struct full *f, const rondo_counter counter[2])
{
    const uint64_t value = 0x0123456789abcdef;
    f->node[5] = rondo_record_call(f->g, "report", no_call, NULL);
    f->node[6] = rondo_record_copy(
        f->g, &(rondo_move_desc){ .from = rondo_read(f->fixed, rondo_box(0, 1, 4, 2)),
                                  .to = rondo_write(f->bound, rondo_box3(0, 2, 1, 4, 2, 1)),
                                  .count = f->count,
                                  .tag = 6,
                                  .after = &f->node[5],
                                  .after_count = 1 });
    f->node[7] = rondo_record_fill(
        f->g, &(rondo_move_desc){ .name = "zero",
                                  .to = rondo_write(f->pitched, rondo_box3(1, 0, 1, 2, 2, 1)),
                                  .value = &value,
                                  .value_bytes = 8,
                                  .when = { .flag = f->flag } });
    f->node[8] = rondo_record_allreduce(
        f->g, &(rondo_move_desc){ .from = rondo_read_write(f->fixed, rondo_whole()),
                                  .type = RONDO_F64,
                                  .op = RONDO_MAX });
    f->node[9] = rondo_record_allreduce(
        f->g, &(rondo_move_desc){ .from = rondo_read(f->part, rondo_whole()),
                                  .to = rondo_write(f->twin[0], rondo_whole()),
                                  .type = RONDO_I32,
                                  .op = RONDO_SUM });
    f->node[10] = rondo_record_wait(
        f->g, &(rondo_sync_desc){ .counter = counter[1], .first = UINT64_MAX, .step = 2 });
    f->node[11] = rondo_record_wait(f->g, &(rondo_sync_desc){ .event = f->event });
    f->node[12] = rondo_record_signal(
        f->g, &(rondo_sync_desc){ .counter = counter[0], .step = 1, RONDO_AFTER(f->node[10]) });
    f->node[13] = rondo_record_signal(f->g, &(rondo_sync_desc){ .counter = counter[1] });
    for (int i = 5; i < 14; i++)
        HANDLE(f->node[i]);
}

static const char text[] = "kernel void first(global double *a)\n{\n\ta[0] = \"\\\"[0];\n}\n";

static rondo_node kernel(struct full *f, rondo_kernel_desc desc)
{
    rondo_node node;
    desc.format = RONDO_OPENCL_C;
    desc.image = desc.image ? desc.image : text;
    desc.image_bytes = strlen(desc.image);
    desc.entry = "first";
    node = rondo_record_kernel(f->g, &desc);
    HANDLE(node);
    return node;
}

/* What runs on devices. */
static void add_kernels(struct full *f)
{
    const float factor = 0.5f;
    const uint64_t zero = 0;
    rondo_access round = rondo_read(f->fixed, rondo_box(0, 0, 3, 4));
    round.halo[0] = 2;
    round.flags = RONDO_WRAP;
    f->node[14] = kernel(
        f, (rondo_kernel_desc){
               .name = "all of a kernel",
               .tag = 14,
               .options = "-D \"A\"",
               RONDO_KERNEL_ARGS(rondo_arg_access(1), rondo_arg_value(&factor, 4),
                                 rondo_arg_param(f->number), rondo_arg_param_address(f->start),
                                 rondo_arg_local(4096)),
               .dimensions = 3,
               .global = { INT64_MAX / 64, 4, 2 },
               .local = { 7, 2, 1 },
               RONDO_ACCESSES(round, rondo_write(f->seen, rondo_whole()),
                              rondo_reduce(f->temporary, rondo_whole(), RONDO_F64, RONDO_SUM)),
               .on = RONDO_GPU(3),
               .priority = 2,
               .cost_ns = 7,
               .carried = f->node,
               .carried_count = 1,
               .carried_distance = 4,
               RONDO_AFTER(f->node[13]),
               .when = { f->number, f->flag, 4, 3 } });
    f->node[15] = kernel(f, (rondo_kernel_desc){ .image = "no text: \xff",
                                                 .flags = RONDO_NO_ACCESS,
                                                 .dimensions = 1,
                                                 .global = { 1 } });
    f->node[16] =
        kernel(f, (rondo_kernel_desc){ .dimensions = 2,
                                       .global = { 6, 6 },
                                       RONDO_ACCESSES(rondo_read(f->kept, rondo_whole())) });
    f->node[17] = rondo_record_launch(
        f->g, &(rondo_task_desc){ .name = "enqueue",
                                  .fn = nothing,
                                  .arg = &factor,
                                  .arg_bytes = 4,
                                  RONDO_ACCESSES(rondo_read_write(f->kept, rondo_box(0, 1, 8, 1))),
                                  RONDO_PARAMS(f->number),
                                  RONDO_PATCHES({ f->number, 0, 0, 4, 0 }),
                                  .on = RONDO_GPU(1) });
    f->node[18] = rondo_record_launch(
        f->g,
        &(rondo_task_desc){ .fn = nothing, .flags = RONDO_NO_ACCESS, .when = { .every = 3 } });
    f->node[19] =
        rondo_record_fill(f->g, &(rondo_move_desc){ .to = rondo_write(f->seen, rondo_whole()),
                                                    .value = &zero,
                                                    .value_bytes = 8,
                                                    .on = RONDO_GPU(0) });
    for (int i = 17; i < 20; i++)
        HANDLE(f->node[i]);
}

/* Chunks, and conditions in conditions. */
static void add_groups(struct full *f)
{
    rondo_subgraph inner;
    rondo_slot slot;
    rondo_node group, nested[2];
    rondo_access access;
    OK(rondo_subgraph_create(f->rt, &(rondo_subgraph_desc){ .name = "inner" }, &inner));
    slot = rondo_subgraph_slot(
        inner, &(rondo_slot_desc){ .name = "plane", .shape = { 8, { 8, 4 }, { 0 } } });
    access = rondo_chunk(slot, RONDO_READ_WRITE, 1, 1);
    rondo_task_desc d = { .name = "part",
                          .fn = nothing,
                          .accesses = &access,
                          .access_count = 1,
                          .when = { .every = 3, .phase = 1 } };
    group = rondo_record_for(
        inner, &(rondo_for_desc){ .task = &d, .range = rondo_box(1, 1, 6, 2), .chunks = { 2, 2 } });
    HANDLE(group);
    HANDLE(rondo_record_call(inner, "in call", no_call, NULL));
    for (int i = 0; i < 2; i++) {
        rondo_inner_desc n = { .name = i ? "again" : NULL,
                               .when = { .param = f->number, .flag = f->flag } };
        nested[i] = rondo_record_subgraph(f->g, inner, &n);
        HANDLE(nested[i]);
    }
    OK(rondo_record_edge(f->g, nested[1], f->node[0], 3));
    OK(rondo_record_edge(f->g, f->node[12], nested[0], 0));
    OK(rondo_record_edge(f->g, f->node[13], f->node[13], 1));
    OK(rondo_subgraph_destroy(inner));
}

rondo_subgraph graph_full(rondo_runtime runtime, const rondo_counter counter[2])
{
    struct full f = { .rt = runtime };
    OK(rondo_subgraph_create(runtime, &(rondo_subgraph_desc){ .name = "full" }, &f.g));
    add_slots(&f);
    add_params(&f);
    add_tasks(&f);
    add_others(&f, counter);
    add_kernels(&f);
    add_groups(&f);
    return f.g;
}
