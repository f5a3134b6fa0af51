/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments as command buffers: the same results as enqueued one by one, used where they may be, and
 * where RONDO_OPENCL_SUBMIT says so. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char image[] = "kernel void add(global int *a, int v) { a[get_global_id(0)] += v; }\n"
                            "kernel void mix2(global int *a, global const int *b, local int *l)\n"
                            "{\n"
                            "    size_t i = get_global_id(0), k = get_local_id(0);\n"
                            "    l[k] = b[i];\n"
                            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "    a[i] = 3 * a[i] + l[get_local_size(0) - 1 - k];\n"
                            "}\n";

enum { N = 64, FRAMES = 4, NODES = 4 };

struct work {
    struct rig r;
    unsigned *a, *b; /* N each */
    unsigned sa[N], sb[N];
    struct rd_command_arg arg[2][3];
    struct rd_command command[NODES];
    struct rd_segment *segment;
    uint64_t value[FRAMES], begun;
};

/* add(a, 5); mix2(b, a); a box of b to a; a box of a filled. All on the device. */
static void describe(struct work *w)
{
    static const int five = 5;
    static const char odd[3] = { 1, 2, 3 };
    memcpy(w->arg[0],
           ((struct rd_command_arg[]){
               { .kind = RONDO_ARG_ACCESS, .place = { 0, 0 } },
               { .kind = RONDO_ARG_VALUE, .bytes = sizeof five, .value = &five } }),
           2 * sizeof w->arg[0][0]);
    memcpy(w->arg[1],
           ((struct rd_command_arg[]){ { .kind = RONDO_ARG_ACCESS, .place = { 2, 0 } },
                                       { .kind = RONDO_ARG_ACCESS, .place = { 0, 0 } },
                                       { .kind = RONDO_ARG_LOCAL, .bytes = 8 * sizeof(int) } }),
           sizeof w->arg[1]);
    w->command[0] = (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                         .name = "add",
                                         .kernel = rig_kernel(&w->r, image, "add", 2),
                                         .dimensions = 1,
                                         .arg = w->arg[0],
                                         .arg_count = 2,
                                         .global = { N } };
    w->command[1] = (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                         .name = "mix",
                                         .kernel = rig_kernel(&w->r, image, "mix2", 3),
                                         .dimensions = 1,
                                         .arg = w->arg[1],
                                         .arg_count = 3,
                                         .global = { N },
                                         .local = { 8 } };
    w->command[2] = (struct rd_command){ .kind = RD_COMMAND_COPY,
                                         .name = "box",
                                         .to = { 0, 4 },
                                         .from = { 2, 8 },
                                         .box = { 8, 10, 1, { 16, 0 }, { 24, 0 } },
                                         .elem_bytes = 4 };
    w->command[3] = (struct rd_command){ .kind = RD_COMMAND_FILL,
                                         .name = "fill",
                                         .to = { 0, 5 },
                                         .box = { 6, 7, 1, { 9, 0 }, { 0, 0 } },
                                         .elem_bytes = 3,
                                         .value = odd };
    rig_in_order(w->command, NODES);
}

static void play(unsigned *a, unsigned *b)
{
    static const char odd[3] = { 1, 2, 3 };
    for (int i = 0; i < N; i++)
        a[i] += 5;
    for (int i = 0; i < N; i++)
        b[i] = 3 * b[i] + a[i / 8 * 8 + 7 - i % 8];
    for (int y = 0; y < 10; y++)
        memcpy((char *)a + 4 + 16 * y, (char *)b + 8 + 24 * y, 8);
    for (int y = 0; y < 7; y++)
        for (int i = 0; i < 6; i++)
            ((char *)a)[5 + 9 * y + i] = odd[i % 3];
}

static void open_work(struct work *w, const char *mode)
{
    memset(w, 0, sizeof *w);
    setenv("RONDO_OPENCL_SUBMIT", mode, 1);
    rig_open(&w->r, "", 0);
    w->a = rig_memory(&w->r, sizeof w->sa);
    w->b = rig_memory(&w->r, sizeof w->sb);
    rig_copy(&w->r, w->a, w->sa, sizeof w->sa);
    rig_copy(&w->r, w->b, w->sb, sizeof w->sb);
    describe(w);
}

static void make_segment(struct work *w, uint32_t nodes)
{
    w->segment = rig_segment(&w->r, w->command, nodes, FRAMES, 0);
}

/* One more submission, when its frame is free. */
static void go(struct work *w, int swapped, int step, int timed)
{
    static void *base[FRAMES][3];
    uint32_t f = (uint32_t)(w->begun++ % FRAMES);
    struct rd_segment_call call = { .base = base[f], .frame = f, .timed = timed };
    rig_await(&w->r.progress, w->value[f]);
    base[f][0] = swapped ? w->b : w->a;
    base[f][2] = swapped ? w->a : w->b;
    if (step)
        rig_step(&w->r, w->segment, &call);
    else
        rig_submit(&w->r, w->segment, &call);
    w->value[f] = w->r.value;
    if (swapped)
        play(w->sb, w->sa);
    else
        play(w->sa, w->sb);
}

static void check(struct work *w)
{
    unsigned there[N];
    rig_await(&w->r.progress, w->r.value);
    rig_copy(&w->r, there, w->a, sizeof there);
    cr_expect_arr_eq(there, w->sa, sizeof there);
    rig_copy(&w->r, there, w->b, sizeof there);
    cr_expect_arr_eq(there, w->sb, sizeof there);
}

static void close_work(struct work *w)
{
    w->r.ops->segment_free(w->segment);
    w->r.ops->kernel_free(w->command[0].kernel);
    w->r.ops->kernel_free(w->command[1].kernel);
    rig_forget(&w->r, w->a);
    rig_forget(&w->r, w->b);
    rig_close(&w->r);
}

static int has_buffers(struct work *w)
{
    char text[128];
    w->r.ops->segment_describe(w->segment, text, sizeof text);
    return !strcmp(text, "1 command buffer of 4, 1 flush, 1 callback");
}

Test(opencl_buffers, always)
{
    struct work w;
    open_work(&w, "command-buffer");
    make_segment(&w, NODES);
    go(&w, 0, 0, 0);
    if (!has_buffers(&w)) {
        close_work(&w);
        cr_skip_test("the device has no command buffers");
    }
    for (int i = 1; i < 500; i++)
        go(&w, 0, 0, 0);
    check(&w);
    cr_expect_eq(rig_made("clEnqueueCommandBufferKHR"), 500);
    cr_expect_eq(rig_made("clCreateCommandBufferKHR"), 1);
    uint64_t before = w.r.ops->calls(w.r.backend);
    go(&w, 0, 0, 0); /* one enqueue, one flush, one callback, the release of the event before */
    cr_expect_eq(w.r.ops->calls(w.r.backend) - before, 4);
    /* What it cannot do is done one by one, and leaves it as it was. */
    for (int i = 0; i < 200; i++)
        go(&w, i % 5 == 1, i % 11 == 2, i % 7 == 3);
    check(&w);
    cr_expect_gt(rig_made("clEnqueueCommandBufferKHR"), 500 + 100);
    cr_expect(has_buffers(&w));
    close_work(&w);
}

Test(opencl_buffers, never)
{
    struct work w;
    open_work(&w, "in-order");
    make_segment(&w, NODES);
    for (int i = 0; i < 100; i++)
        go(&w, 0, 0, 0);
    check(&w);
    cr_expect_eq(rig_made("clCreateCommandBufferKHR"), 0);
    close_work(&w);
}

/* Two kernels: moves are made by functions of the host where a device is the host. */
Test(opencl_buffers, trial)
{
    static const char *const ends[] = { "2 enqueues, 1 flush, 1 callback",
                                        "1 command buffer of 2, 1 flush, 1 callback" };
    struct work w;
    char text[128];
    unsigned there[N];
    open_work(&w, "trial");
    w.segment = rig_segment(&w.r, w.command, 2, FRAMES, 0);
    void *base[] = { w.a, NULL, w.b };
    for (uint32_t i = 0; i < 120; i++) {
        struct rd_segment_call call = { .base = base, .frame = i % FRAMES };
        rig_submit(&w.r, w.segment, &call);
        if (i % 3) /* not all find the queue empty */
            rig_await(&w.r.progress, w.r.value);
        else if (i >= FRAMES)
            rig_await(&w.r.progress, w.r.value - FRAMES + 2);
        for (int k = 0; k < N; k++)
            w.sa[k] += 5;
        for (int k = 0; k < N; k++)
            w.sb[k] = 3 * w.sb[k] + w.sa[k / 8 * 8 + 7 - k % 8];
    }
    rig_await(&w.r.progress, w.r.value);
    rig_copy(&w.r, there, w.b, sizeof there);
    cr_expect_arr_eq(there, w.sb, sizeof there);
    w.r.ops->segment_describe(w.segment, text, sizeof text);
    cr_expect(!strcmp(text, ends[0]) || !strcmp(text, ends[1]), "undecided: %s", text);
    if (rig_made("clCreateCommandBufferKHR")) {
        cr_expect_eq(rig_made("clCreateCommandBufferKHR"), 1);
        cr_expect_geq(rig_made("clEnqueueCommandBufferKHR"), 2);
    }
    close_work(&w);
}

/* Nothing is recorded where something changes. */
Test(opencl_buffers, not_what_changes)
{
    struct work w;
    open_work(&w, "trial");
    make_segment(&w, 2);
    for (int i = 0; i < 60; i++) {
        void *base[] = { i % 2 ? w.b : w.a, NULL, i % 2 ? w.a : w.b };
        struct rd_segment_call call = { .base = base, .frame = (uint32_t)i % FRAMES };
        rig_submit(&w.r, w.segment, &call);
        rig_await(&w.r.progress, w.r.value);
    }
    cr_expect_eq(rig_made("clCreateCommandBufferKHR"), 0);
    w.r.ops->segment_free(w.segment);
    make_segment(&w, 2);
    for (int i = 0; i < 60; i++) {
        const uint8_t skip[] = { (uint8_t) !(i % 3), (uint8_t)(i % 3 != 0) };
        void *base[] = { w.a, NULL, w.b };
        struct rd_segment_call call = { .base = base, .skip = skip, .frame = (uint32_t)i % FRAMES };
        rig_submit(&w.r, w.segment, &call);
        rig_await(&w.r.progress, w.r.value);
    }
    cr_expect_eq(rig_made("clCreateCommandBufferKHR"), 0);
    close_work(&w);
}
