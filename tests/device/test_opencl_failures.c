/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of OpenCL fails once, in every place where it is made: what was asked for fails with a
 * message that names the call and its error, nothing is left behind, and what comes next works. And
 * a device that is lost. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char image[] = "kernel void add(global int *a, int v, global const int *p) { "
                            "a[get_global_id(0)] += v + *p; }\n"
                            "kernel void less(global int *a) { a[get_global_id(0)] -= 1; }\n";

enum { BYTES = 4096, ITEMS = 64, FRAMES = 2, COMMANDS = 4 };

/* All that a user of the backend holds; what could not be made is NULL. */
struct life {
    struct rig r;
    char *there, *pinned, host[BYTES];
    struct rd_device_kernel *kernel, *less, *more;
    struct rd_segment *segment, *fixed; /* the latter can go any way */
    struct rd_command_arg arg[3], beside;
    struct rd_command command[COMMANDS + 1];
    void *base[3];
    int params[4];
    int failures; /* that were told */
    int fixes;    /* it is a life of the fixed segment */
};

/* Whether it went well; a failure is the one that was made on purpose, and says so. */
static int well(struct life *l, rondo_status status, const char *what)
{
    const char *call = rig_failed();
    if (!status)
        return 1;
    l->failures++;
    cr_assert_not_null(call, "%s fails by itself: %s", what, rd_error_text());
    cr_expect_not_null(strstr(rd_error_text(), call), "%s does not name %s: %s", what, call,
                       rd_error_text());
    cr_expect(strcmp(call, "clSVMAlloc") == 0 || strstr(rd_error_text(), "CL_OUT_OF_RESOURCES") ||
                  strstr(rd_error_text(), "unknown error (-9999)"),
              "%s does not name the error of %s: %s", what, call, rd_error_text());
    return 0;
}

static void describe(struct life *l)
{
    static const char nine[3] = { 9, 8, 7 };
    l->arg[0] = (struct rd_command_arg){ .kind = RONDO_ARG_ACCESS };
    l->arg[1] = (struct rd_command_arg){ .kind = RONDO_ARG_PARAM, .bytes = 4 };
    l->arg[2] =
        (struct rd_command_arg){ .kind = RONDO_ARG_PARAM_ADDRESS, .bytes = 4, .param_at = 4 };
    l->command[0] = (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                         .name = "k",
                                         .kernel = l->kernel,
                                         .dimensions = 1,
                                         .arg = l->arg,
                                         .arg_count = 3,
                                         .global = { ITEMS },
                                         .local = { 8 } };
    l->command[1] = (struct rd_command){ .kind = RD_COMMAND_COPY,
                                         .name = "out",
                                         .to = { 1, 0 },
                                         .box = { 8, 10, 1, { 16, 0 }, { 24, 0 } },
                                         .elem_bytes = 4 };
    l->command[2] = (struct rd_command){ .kind = RD_COMMAND_FILL,
                                         .name = "fill",
                                         .to = { 0, 1024 },
                                         .box = { 6, 20, 1, { 9, 0 }, { 0, 0 } },
                                         .elem_bytes = 3,
                                         .value = nine };
    l->command[3] = (struct rd_command){ .kind = RD_COMMAND_FILL,
                                         .name = "dense",
                                         .to = { 0, 2048 },
                                         .box = { 64, 1, 1, { 0 }, { 0 } },
                                         .elem_bytes = 1,
                                         .value = nine };
    rig_in_order(l->command, COMMANDS);
}

/* One replay. One that fails leaves its queue usable, or lost. */
static void replay(struct life *l, uint32_t frame, int step, int timed)
{
    struct rd_segment_call call = { .base = l->base,
                                    .params = (char *)l->params,
                                    .frame = frame,
                                    .timed = timed,
                                    .value = ++l->r.value };
    struct rd_command_time times[COMMANDS];
    uint32_t at = 99;
    rondo_status status;
    if (rd_load_acquire(&l->r.progress.failed))
        return;
    l->params[0]++;
    status = (step ? l->r.ops->segment_step : l->r.ops->segment_submit)(l->segment, &call, &at);
    if (!well(l, status, step ? "a step" : "a submission"))
        cr_expect_leq(at, COMMANDS);
    else
        rig_await(&l->r.progress, l->r.value);
    if (!status && timed)
        l->r.ops->segment_times(l->segment, frame, times);
}

static void copies(struct life *l)
{
    const struct rd_device_copy dense = { l->there,
                                          l->host,
                                          { .row = BYTES, .rows = 1, .planes = 1 } },
                                box = { l->there,
                                        l->there + 2048,
                                        { 8, 20, 1, { 16, 0 }, { 24, 0 } } };
    well(l, l->r.ops->copy(l->r.backend, 0, &dense), "a copy");
    well(l, l->r.ops->copy(l->r.backend, 0, &box), "a copy of a box");
}

/* Two kernels beside each other, and what is behind both. */
static void describe_fixed(struct life *l)
{
    static const uint32_t number[COMMANDS] = { 0, 1, 2, 3 };
    memmove(&l->command[2], &l->command[1], (COMMANDS - 1) * sizeof *l->command);
    l->command[0].kernel = l->less;
    l->command[0].arg_count = 1;
    l->command[1] = l->command[0];
    l->command[1].kernel = l->more;
    l->command[1].arg = &l->beside;
    l->beside = (struct rd_command_arg){ .kind = RONDO_ARG_ACCESS, .place = { 0, 3072 } };
    l->command[2].to.slot = 0;
    l->command[2].from = (struct rd_place){ 0, 2048 };
    for (uint32_t i = 2; i <= COMMANDS; i++) {
        l->command[i].after = number;
        l->command[i].after_count = i;
    }
}

/* A segment whose arguments stay. */
static void fixed(struct life *l)
{
    const struct rd_kernel_source s = { RONDO_OPENCL_C, image, sizeof image - 1, "less", NULL, 1 };
    struct rd_segment_call call = { .base = l->base };
    uint32_t at = 99;
    if (!well(l, l->r.ops->kernel_new(l->r.backend, 0, &s, &l->less), "a kernel") ||
        !well(l, l->r.ops->kernel_new(l->r.backend, 0, &s, &l->more), "a kernel"))
        return;
    describe_fixed(l);
    if (!well(l, l->r.ops->segment_new(l->r.queue, l->command, COMMANDS + 1, FRAMES, 0, &l->fixed),
              "a segment"))
        return;
    for (uint32_t i = 0; i < 3 && !rd_load_acquire(&l->r.progress.failed); i++) {
        call.value = ++l->r.value;
        call.frame = i % FRAMES;
        if (well(l, l->r.ops->segment_submit(l->fixed, &call, &at), "a submission"))
            rig_await(&l->r.progress, l->r.value);
    }
}

static void live(struct life *l)
{
    const struct rd_kernel_source s = { RONDO_OPENCL_C, image, sizeof image - 1, "add", NULL, 3 };
    const struct rd_backend_ops *ops = l->r.ops;
    void *memory;
    if (!well(l, ops->open(&l->r.alloc, "0", &l->r.backend), "opening"))
        return;
    if (well(l, ops->allocate(l->r.backend, 0, BYTES, &memory), "allocating"))
        l->there = memory;
    if (well(l, ops->allocate_pinned(l->r.backend, BYTES, &memory), "allocating"))
        l->pinned = memory;
    if (!l->there || !l->pinned)
        return;
    copies(l);
    if (!well(l, ops->queue_new(l->r.backend, 0, &l->r.progress, &l->r.queue), "a queue") ||
        !well(l, ops->kernel_new(l->r.backend, 0, &s, &l->kernel), "a kernel"))
        return;
    describe(l);
    l->base[0] = l->there;
    l->base[1] = l->host;
    if (l->fixes) {
        fixed(l);
        return;
    }
    if (!well(l, ops->segment_new(l->r.queue, l->command, COMMANDS, FRAMES, 16, &l->segment),
              "a segment"))
        return;
    for (uint32_t i = 0; i < 4; i++)
        replay(l, i % FRAMES, 0, i == 2);
    replay(l, 0, 1, 0);
    replay(l, 1, 0, 0);
}

static void end(struct life *l)
{
    const struct rd_backend_ops *ops = l->r.ops;
    if (l->segment)
        ops->segment_free(l->segment);
    if (l->fixed)
        ops->segment_free(l->fixed);
    if (l->less)
        ops->kernel_free(l->less);
    if (l->more)
        ops->kernel_free(l->more);
    if (l->kernel)
        ops->kernel_free(l->kernel);
    if (l->r.queue)
        ops->queue_free(l->r.queue);
    if (l->pinned)
        ops->release_pinned(l->r.backend, l->pinned);
    if (l->there)
        ops->release(l->r.backend, 0, l->there);
    if (l->r.backend)
        ops->close(l->r.backend);
}

/* A life in which the n-th call fails; 0 when there is no n-th call. */
static int one_life(uint64_t n, int error, int fixes)
{
    struct life l;
    const char *call;
    memset(&l, 0, sizeof l);
    l.r.ops = rig_ops();
    l.fixes = fixes;
    rig_allocator(&l.r.alloc);
    rig_progress(&l.r.progress);
    rig_fail(n, error);
    live(&l);
    call = rig_failed();
    rig_fail(0, 0);
    end(&l);
    /* What only tells more than is needed may fail without a word. */
    if (call && strcmp(call, "clGetEventProfilingInfo") != 0)
        cr_expect_eq(l.failures, 1, "%s, call %llu: %d failures", call, (unsigned long long)n,
                     l.failures);
    cr_expect_eq(rd_load_relaxed(&l.r.alloc.bytes), 0, "call %llu, %s: %llu bytes left",
                 (unsigned long long)n, call,
                 (unsigned long long)rd_load_relaxed(&l.r.alloc.bytes));
    rig_none_live(call ? call : "a whole life");
    rig_progress_end(&l.r.progress);
    return call != NULL;
}

/* Lives are long where everything is checked: fewer of them. */
#ifdef RD_DEBUG
enum { SPARED = 3 };
#else
enum { SPARED = 1 };
#endif

/* Of all calls of a life the first-th and then each stride-th. */
static void every_call(uint32_t without, int error, uint64_t first, uint64_t stride)
{
    const int fixes = getenv("RONDO_OPENCL_SUBMIT") != NULL;
    uint64_t n = first;
    rig_need();
    rig_watch(without);
    while (one_life(n, error, fixes))
        n += stride * SPARED;
    cr_expect_gt(n, 60u, "only %llu calls", (unsigned long long)n);
    rig_unwatch();
}

/* Each life compiles anew: several tests share them out. */
Test(opencl_failures, every_call_for_want_of_resources) { every_call(0, -5, 1, 1); }
Test(opencl_failures, every_call_for_an_unknown_reason) { every_call(0, -9999, 2, 3); }
Test(opencl_failures, every_call_where_kernels_move_1)
{
    every_call(RD_OPENCL_NO_NATIVE | RD_OPENCL_NO_FINE, -5, 1, 3);
}
Test(opencl_failures, every_call_where_kernels_move_2)
{
    every_call(RD_OPENCL_NO_NATIVE | RD_OPENCL_NO_FINE, -5, 2, 3);
}
Test(opencl_failures, every_call_where_kernels_move_3)
{
    every_call(RD_OPENCL_NO_NATIVE | RD_OPENCL_NO_FINE, -5, 3, 3);
}

Test(opencl_failures, every_call_of_command_buffers_1)
{
    setenv("RONDO_OPENCL_SUBMIT", "command-buffer", 1);
    every_call(0, -5, 1, 2);
}
Test(opencl_failures, every_call_of_command_buffers_2)
{
    setenv("RONDO_OPENCL_SUBMIT", "command-buffer", 1);
    every_call(0, -5, 2, 2);
}

Test(opencl_failures, every_call_out_of_order)
{
    setenv("RONDO_OPENCL_SUBMIT", "out-of-order", 1);
    every_call(0, -5, 1, 2);
}

/* ---- lost devices */

static struct rd_segment *fill_segment(struct rig *r, struct rd_command *c)
{
    static const char one = 1;
    *c = (struct rd_command){ .kind = RD_COMMAND_FILL,
                              .name = "fill",
                              .box = { 16, 1, 1, { 0 }, { 0 } },
                              .elem_bytes = 1,
                              .value = &one };
    return rig_segment(r, c, 1, 2, 0);
}

static void lost_by(int step)
{
    struct rig r;
    struct rd_command c;
    uint32_t at;
    rig_open(&r, "", 0);
    void *base[] = { rig_memory(&r, 64) };
    struct rd_segment *s = fill_segment(&r, &c);
    struct rd_segment_call call = { .base = base };
    rig_submit(&r, s, &call);
    rig_await(&r.progress, r.value);
    rig_ended(-14);
    call.value = ++r.value;
    if (step) {
        cr_expect_eq(r.ops->segment_step(s, &call, &at), RONDO_ERR_DEVICE_LOST);
        cr_expect_eq(at, 0);
    } else {
        cr_expect_eq(r.ops->segment_submit(s, &call, &at), RONDO_OK);
    }
    rig_await(&r.progress, RD_PROGRESS_LOST);
    cr_expect_eq(rd_load_acquire(&r.progress.failed), 1);
    cr_expect_not_null(strstr(r.progress.why, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"), "%s",
                       r.progress.why);
    rig_ended(1);
    call.value = ++r.value;
    cr_expect_eq(r.ops->segment_submit(s, &call, &at), RONDO_ERR_DEVICE_LOST);
    cr_expect_not_null(strstr(rd_error_text(), "takes no more work"), "%s", rd_error_text());
    cr_expect_eq(r.ops->segment_step(s, &call, &at), RONDO_ERR_DEVICE_LOST);
    r.ops->segment_free(s);
    rig_forget(&r, base[0]);
    rig_close(&r);
}

Test(opencl_failures, a_submission_that_ends_badly_loses_the_queue) { lost_by(0); }
Test(opencl_failures, a_step_that_ends_badly_loses_the_queue) { lost_by(1); }
