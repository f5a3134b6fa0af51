/* SPDX-License-Identifier: BSD-3-Clause */
/* Trouble with devices: memory that is not Rondo's where there is little, launches that fail,
 * devices that are lost. Every case in every mode. */
#include "src/device/opencl.h"
#include "tests/engine/device_case.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A build without OpenCL has none; then no test of this file comes to it. */
#pragma weak rd_opencl_watch

enum { CELLS = 16 };

static int feed(rondo_task *self, const void *arg)
{
    uint64_t *cells = rondo_task_write(self, 0);
    (void)arg;
    for (uint64_t i = 0; i < CELLS; i++)
        cells[i] += i + self->replay;
    return 0;
}

/* ---- memory that is not Rondo's, where there is little */

enum { ROOM = 8192, PART = 2048 };

struct memory {
    struct dc_machine m;
    rondo_buffer holder, found, other[2];
    void *address;
    uint64_t host[2][PART / 8];
};

/* Half of the device's memory is one buffer's; a part of it is wrapped by another. */
static void open_memory(struct memory *s)
{
    rondo_buffer_desc d = { .name = "holder",
                            .shape = { 8, { ROOM / 16 }, { 0 } },
                            .memory = RONDO_GPU_MEMORY(0) };
    void *host;
    memset(s, 0, sizeof *s);
    s->m = dc_open(1, ROOM, "little memory");
    ET_OK(rondo_buffer_create(s->m.runtime, &d, &s->holder));
    ET_OK(rondo_buffer_address(s->holder, RONDO_GPU_MEMORY(0), &s->address));
    s->address = (char *)s->address + PART;
    d = (rondo_buffer_desc){ .name = "found",
                             .shape = { 8, { PART / 8 }, { 0 } },
                             .memory = RONDO_GPU_MEMORY(0),
                             .device = s->address };
    ET_OK(rondo_buffer_create(s->m.runtime, &d, &s->found));
    ET_OK(rondo_buffer_map(s->found, RONDO_WRITE, &host));
    memset(host, 0, PART);
    ET_OK(rondo_buffer_unmap(s->found));
    for (int i = 0; i < 2; i++)
        s->other[i] = dc_wrap(s->m, i ? "second" : "first", s->host[i], PART / 8);
}

static void close_memory(struct memory *s)
{
    ET_OK(rondo_buffer_destroy(s->found));
    ET_OK(rondo_buffer_destroy(s->holder));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(s->other[i]));
    dc_close(s->m);
}

/* The two others do not fit together beside a third; what was found stays where it is. */
static void found_memory(const struct et_mode *mode)
{
    static struct memory s;
    void *address;
    open_memory(&s);
    rondo_slot slot[3] = { dc_slot(s.m, "found", s.found), dc_slot(s.m, "first", s.other[0]),
                           dc_slot(s.m, "second", s.other[1]) };
    for (int i = 0; i < 6; i++)
        ET_HANDLE(DC_KERNEL(s.m, more, PART / 8, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                            RONDO_ACCESSES(rondo_read_write(slot[i % 3], rondo_whole()))));
    rondo_exec exec = dc_exec(s.m, mode);
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 5 }, -1, NULL));
    ET_OK(rondo_buffer_address(s.found, RONDO_GPU_MEMORY(0), &address));
    cr_assert_eq(address, s.address, "%s: it has moved", mode->name);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(dc_seen(s.other[i])[PART / 8 - 1], 10, "%s: %d", mode->name, i);
    cr_assert_eq(dc_seen(s.found)[PART / 8 - 1], 10, "%s", mode->name);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_buffer_touched(s.holder, RONDO_GPU_MEMORY(0)));
    cr_assert_eq(dc_seen(s.holder)[PART / 8 + 1], 10, "%s: written elsewhere", mode->name);
    close_memory(&s);
}

Test(engine_device_trouble, memory_that_is_not_ours_stays)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        dc_try(&dc_modes[k], "memory");
        found_memory(&dc_modes[k]);
    }
    et_alarm(0, " ");
}

/* One node needs more than there is room for: it is named, and what is missing. */
Test(engine_device_trouble, what_does_not_fit_is_named)
{
    static struct memory s;
    static uint64_t large[ROOM / 8];
    rondo_exec exec = { 0 };
    DU_NEEDS_DEVICE();
    open_memory(&s);
    rondo_buffer buffer = dc_wrap(s.m, "large", large, ROOM / 8);
    rondo_slot slot[2] = { dc_slot(s.m, "found", s.found), dc_slot(s.m, "large", buffer) };
    ET_HANDLE(DC_KERNEL(s.m, more, 1, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                        RONDO_ACCESSES(rondo_read_write(slot[0], rondo_whole()),
                                       rondo_read_write(slot[1], rondo_whole()))));
    ET_IS(rondo_instantiate(s.m.subgraph, NULL, &exec), RONDO_ERR_INVALID);
    ET_SAYS("'more'");
    ET_SAYS("'large'");
    ET_SAYS("4096"); /* of the 8,192 the holder has half */
    cr_assert_eq(exec.id, 0);
    cr_assert_eq(dc_seen(s.found)[0], 0);
    ET_OK(rondo_buffer_destroy(buffer));
    close_memory(&s);
}

/* ---- launches */

/* clEnqueueSVMMemFill, by the name it has in the driver. */
typedef int fill_function(void *queue, void *memory, const void *pattern, size_t pattern_bytes,
                          size_t bytes, unsigned waits, const void *wait, void *event);

static fill_function *find_fill(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *symbol;
    fill_function *fill = NULL;
    cr_assert(library, "%s", dlerror());
    symbol = dlsym(library, "clEnqueueSVMMemFill");
    cr_assert(symbol, "%s", dlerror());
    memcpy(&fill, &symbol, sizeof fill);
    return fill;
}

struct launch {
    fill_function *fill;
    uint64_t fail_in; /* the replay in which it fails; its enqueue does in the next but one */
};

static int launch(rondo_task *self, const void *arg)
{
    const struct launch *l = arg;
    uint64_t value;
    memcpy(&value, rondo_task_param(self, 0), sizeof value);
    if (self->replay == l->fail_in)
        return rondo_task_fail(self, "no mind to");
    if (!self->stream)
        return rondo_task_fail(self, "no queue");
    /* Of 3 bytes there is no pattern: the driver refuses. */
    return l->fill(self->stream, rondo_task_write(self, 0), &value,
                   self->replay == l->fail_in + 2 ? 3 : 8, CELLS * 8, 0, NULL, NULL);
}

static void launch_one(rondo_exec exec, rondo_param param, uint64_t value, const char *why)
{
    rondo_value v = { param, &value, 0 };
    rondo_replay_args args = { .values = &v, .value_count = 1 };
    rondo_result result;
    if (!why) {
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        return;
    }
    cr_assert_eq(rondo_replay_and_wait(exec, &args, -1, &result), RONDO_ERR_FAILED, "%s",
                 result.message);
    cr_assert(strcmp(result.node, "enqueues") == 0 && strstr(result.message, why), "'%s': '%s'",
              result.node, result.message);
    ET_OK(rondo_exec_reset(exec));
}

/* Between kernels: what it enqueues is in order. When it fails the error is its own, and the next
 * replay is clean. */
static void launches(const struct et_mode *mode)
{
    struct launch arg = { find_fill(), 2 };
    uint64_t cells[CELLS] = { 0 };
    struct dc_machine m = dc_open(1, 0, "launches");
    rondo_buffer buffer = dc_wrap(m, "cells", cells, CELLS);
    rondo_slot slot = dc_slot(m, "cells", buffer);
    rondo_param param = rondo_subgraph_param(m.subgraph, "value", 8, NULL);
    rondo_access both = rondo_read_write(slot, rondo_whole());
    ET_HANDLE(
        DC_KERNEL(m, twice, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)), RONDO_ACCESSES(both)));
    ET_HANDLE(rondo_record_launch(m.subgraph, &(rondo_task_desc){ .name = "enqueues",
                                                                  .fn = launch,
                                                                  RONDO_ARG(arg),
                                                                  RONDO_PARAMS(param),
                                                                  RONDO_ACCESSES(both) }));
    ET_HANDLE(
        DC_KERNEL(m, more, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)), RONDO_ACCESSES(both)));
    rondo_exec exec = dc_exec(m, mode);
    for (uint64_t r = 0; r < 7; r++) {
        launch_one(exec, param, r * 100, r == 2 ? "no mind to" : r == 4 ? "" : NULL);
        if (r != 2 && r != 4)
            cr_assert_eq(dc_seen(buffer)[CELLS - 1], r * 100 + 1, "%s: replay %llu: %llu",
                         mode->name, (unsigned long long)r,
                         (unsigned long long)dc_seen(buffer)[CELLS - 1]);
    }
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_buffer_destroy(buffer));
    dc_close(m);
}

Test(engine_device_trouble, launches_that_fail_are_named)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++) {
        dc_try(&dc_modes[k], "launches");
        launches(&dc_modes[k]);
    }
    et_alarm(0, " ");
}

/* ---- a device that is lost */

struct loss {
    _Atomic(uint64_t) ends;
    uint64_t fail_at;
};

/* What the driver says of a submission's end. */
static int lose(void *context, int status)
{
    struct loss *l = context;
    return atomic_fetch_add(&l->ends, 1) + 1 == l->fail_at ? -5 : status;
}

static int count_up(rondo_task *self, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)rondo_task_write(self, 0);
    return 0;
}

struct lossy {
    struct dc_machine m;
    rondo_subgraph plain;
    rondo_buffer cells, count;
    rondo_exec exec, host;
    uint64_t cell[CELLS], counted;
};

static void open_lossy(struct lossy *s, const struct et_mode *mode)
{
    memset(s, 0, sizeof *s);
    s->m = dc_open(1, 0, "lossy");
    s->cells = dc_wrap(s->m, "cells", s->cell, CELLS);
    s->count = dc_wrap(s->m, "count", &s->counted, 1);
    rondo_slot slot = dc_slot(s->m, "cells", s->cells);
    ET_HANDLE(DC_KERNEL(s->m, twice, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                        RONDO_ACCESSES(rondo_read_write(slot, rondo_whole()))));
    ET_HANDLE(rondo_record_task(
        s->m.subgraph,
        &(rondo_task_desc){
            .name = "feed", .fn = feed, RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
    s->exec = dc_exec(s->m, mode);
    ET_OK(rondo_subgraph_create(s->m.runtime, NULL, &s->plain));
    rondo_slot count = rondo_subgraph_slot(s->plain, &(rondo_slot_desc){ .buffer = s->count });
    ET_HANDLE(rondo_record_task(
        s->plain, &(rondo_task_desc){ .fn = count_up,
                                      RONDO_ACCESSES(rondo_read_write(count, rondo_whole())) }));
    ET_OK(rondo_instantiate(s->plain, NULL, &s->host));
}

static void close_lossy(struct lossy *s)
{
    ET_OK(rondo_exec_destroy(s->exec));
    ET_OK(rondo_exec_destroy(s->host));
    ET_OK(rondo_subgraph_destroy(s->plain));
    ET_OK(rondo_buffer_destroy(s->cells));
    ET_OK(rondo_buffer_destroy(s->count));
    dc_close(s->m);
}

/* Named is the kernel, or the copy of its cells there or back. Every replay that was in flight, or
 * comes later, says so; what needs no device goes on. */
static void after_loss(struct lossy *s, const struct et_mode *mode)
{
    rondo_device_info info;
    rondo_result result;
    cr_assert_eq(rondo_exec_wait(s->exec, &result), RONDO_ERR_DEVICE_LOST, "%s: '%s': %s",
                 mode->name, rondo_status_string(result.status), result.message);
    cr_assert(strstr(result.node, "twice") || strstr(result.node, "'cells'"), "'%s': '%s'",
              result.node, result.message);
    ET_OK(rondo_runtime_device(s->m.runtime, RONDO_GPU(0), &info));
    cr_assert_eq(info.lost, 1);
    ET_OK(rondo_exec_reset(s->exec));
    cr_assert_eq(rondo_replay_and_wait(s->exec, NULL, -1, &result), RONDO_ERR_DEVICE_LOST, "%s: %s",
                 mode->name, result.message);
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_replay_and_wait(s->host, NULL, -1, NULL));
    cr_assert_eq(s->counted, 5);
}

Test(engine_device_trouble, a_lost_device_is_told_and_nothing_hangs)
{
    DU_NEEDS_DEVICE();
    for (int k = 0; k < DC_MODES; k++)
        for (uint64_t at = 1; at < 8; at += 2) {
            static struct lossy s;
            struct loss loss = { .fail_at = at };
            struct rd_opencl_watch watch = { .ended = lose, .context = &loss };
            dc_try(&dc_modes[k], "a lost device");
            rd_opencl_watch(&watch);
            open_lossy(&s, &dc_modes[k]);
            ET_OK(rondo_replay_and_wait(s.host, NULL, -1, NULL));
            for (int i = 0; i < 12; i++)
                if (rondo_replay(s.exec, NULL, NULL) != RONDO_OK)
                    ET_IS(rondo_replay(s.exec, NULL, NULL), RONDO_ERR_DEVICE_LOST);
            ET_OK(rondo_replay_and_wait(s.host, NULL, -1, NULL));
            after_loss(&s, &dc_modes[k]);
            close_lossy(&s);
            rd_opencl_watch(NULL);
        }
    et_alarm(0, " ");
}
