/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenCL backend under its own table: devices, kernels with every kind of argument, submissions
 * in flight, steps, times. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef RD_WITH_OPENCL
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#endif

static const char image[] =
    "kernel void add(global int *a, int v) { a[get_global_id(0)] += v; }\n"
    "kernel void blend(global int *to, global const int *from, int v, int p, global const int *q,\n"
    "                local int *l)\n"
    "{\n"
    "    size_t i = get_global_id(0), k = get_local_id(0), n = get_local_size(0);\n"
    "    l[k] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[i] = 31 * to[i] + l[n - 1 - k] + v * 3 + p * 5 + q[0] * 7 + q[1] * 11;\n"
    "}\n"
    "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"
    "kernel void cell(global int *a, int w, int h)\n"
    "{\n"
    "    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    a[(z * h + y) * w + x] = 100 * z + 10 * y + x;\n"
    "}\n";

enum { N = 64 };

static struct rd_command kernel_command(struct rd_device_kernel *k,
                                        const struct rd_command_arg *arg, uint32_t args,
                                        uint64_t items)
{
    return (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                .name = "node",
                                .kernel = k,
                                .dimensions = 1,
                                .arg = arg,
                                .arg_count = args,
                                .global = { items } };
}

/* ---- devices */

Test(opencl, opens_and_tells_of_its_devices)
{
    struct rig r;
    struct rd_hardware h;
    rig_open(&r, "", 0);
    cr_assert_geq(r.ops->devices(r.backend), 1u);
    for (uint32_t i = 0; i < r.ops->devices(r.backend); i++) {
        r.ops->hardware(r.backend, i, &h);
        cr_expect(*h.name && h.memory_bytes > 1 << 20 && h.units >= 1, "%s: %llu bytes, %u units",
                  h.name, (unsigned long long)h.memory_bytes, h.units);
        cr_expect(r.ops->peers(r.backend, i, i));
    }
    rig_close(&r);
}

/* ---- kernels */

Test(opencl, kernels_take_every_kind_of_argument)
{
    static const int v = 17;
    struct rig r;
    rig_open(&r, "", 0);
    int *to = rig_memory(&r, N * sizeof *to), *from = rig_memory(&r, N * sizeof *from);
    int there[N], here[N], in[N], params[3] = { 5, 6, 7 };
    const struct rd_command_arg arg[] = {
        { .kind = RONDO_ARG_ACCESS, .place = { 0, 0 } },
        { .kind = RONDO_ARG_ACCESS, .place = { 1, 0 } },
        { .kind = RONDO_ARG_VALUE, .bytes = sizeof v, .value = &v },
        { .kind = RONDO_ARG_PARAM, .bytes = sizeof(int), .param_at = 0 },
        { .kind = RONDO_ARG_PARAM_ADDRESS, .bytes = 2 * sizeof(int), .param_at = sizeof(int) },
        { .kind = RONDO_ARG_LOCAL, .bytes = 16 * sizeof(int) },
    };
    struct rd_command c = kernel_command(rig_kernel(&r, image, "blend", 6), arg, 6, N);
    c.local[0] = 16;
    struct rd_segment *s = rig_segment(&r, &c, 1, 1, sizeof params);
    void *base[] = { to, from };
    struct rd_segment_call call = { .base = base, .params = (const char *)params };
    for (int i = 0; i < N; i++) {
        here[i] = i;
        in[i] = i * i;
    }
    rig_copy(&r, to, here, sizeof here);
    rig_copy(&r, from, in, sizeof in);
    for (int round = 0; round < 6; round++) {
        params[round % 3] += round;
        if (round % 2)
            rig_step(&r, s, &call);
        else
            rig_submit(&r, s, &call);
        rig_await(&r.progress, r.value);
        for (int i = 0; i < N; i++)
            here[i] = (int)(31u * (unsigned)here[i] + (unsigned)in[i / 16 * 16 + 15 - i % 16] +
                            (unsigned)(v * 3 + params[0] * 5 + params[1] * 7 + params[2] * 11));
        rig_copy(&r, there, to, sizeof there);
        for (int i = 0; i < N; i++)
            cr_assert_eq(there[i], here[i], "round %d, element %d: %d, should be %d", round, i,
                         there[i], here[i]);
    }
    r.ops->segment_free(s);
    r.ops->kernel_free(c.kernel);
    rig_forget(&r, to);
    rig_forget(&r, from);
    rig_close(&r);
}

Test(opencl, kernels_of_three_dimensions)
{
    enum { W = 5, H = 4, D = 3 };
    static const int w = W, h = H;
    struct rig r;
    rig_open(&r, "", 0);
    int *a = rig_memory(&r, sizeof(int) * W * H * D), there[W * H * D];
    const struct rd_command_arg arg[] = {
        { .kind = RONDO_ARG_ACCESS, .place = { 1, 0 } },
        { .kind = RONDO_ARG_VALUE, .bytes = sizeof w, .value = &w },
        { .kind = RONDO_ARG_VALUE, .bytes = sizeof h, .value = &h },
    };
    struct rd_command c = kernel_command(rig_kernel(&r, image, "cell", 3), arg, 3, W);
    c.dimensions = 3;
    c.global[1] = H;
    c.global[2] = D;
    struct rd_segment *s = rig_segment(&r, &c, 1, 2, 0);
    void *base[] = { NULL, a };
    struct rd_segment_call call = { .base = base, .frame = 1 };
    rig_submit(&r, s, &call);
    rig_await(&r.progress, r.value);
    rig_copy(&r, there, a, sizeof there);
    for (int i = 0; i < W * H * D; i++)
        cr_assert_eq(there[i], i / (W * H) * 100 + i / W % H * 10 + i % W);
    r.ops->segment_free(s);
    r.ops->kernel_free(c.kernel);
    rig_forget(&r, a);
    rig_close(&r);
}

/* ---- many submissions */

enum { FRAMES = 4, SUBMISSIONS = 3000, SPOTS = 3 };

/* add(spot of this submission, parameter), twice(another spot), add(the same, 1): with addresses
 * and parameters that change while earlier submissions are in flight. */
struct stream {
    struct rd_command_arg arg[3][2];
    struct rd_command command[3];
    struct rd_segment *segment;
};

static void open_stream(struct rig *r, struct stream *t)
{
    static const int one = 1;
    const struct rd_command_arg first = { .kind = RONDO_ARG_ACCESS, .place = { 0, 0 } };
    const struct rd_command_arg second = { .kind = RONDO_ARG_ACCESS,
                                           .place = { 1, (int64_t)sizeof(int) } };
    t->arg[0][0] = first;
    t->arg[0][1] = (struct rd_command_arg){ .kind = RONDO_ARG_PARAM, .bytes = 4, .param_at = 8 };
    t->arg[1][0] = second;
    t->arg[2][0] = first;
    t->arg[2][1] =
        (struct rd_command_arg){ .kind = RONDO_ARG_VALUE, .bytes = sizeof one, .value = &one };
    for (int i = 0; i < 3; i++) {
        uint32_t args = i == 1 ? 1 : 2;
        t->command[i] = kernel_command(rig_kernel(r, image, i == 1 ? "twice" : "add", args),
                                       t->arg[i], args, N);
    }
    rig_in_order(t->command, 3);
    t->segment = rig_segment(r, t->command, 3, FRAMES, 16);
}

static void close_stream(struct rig *r, struct stream *t)
{
    r->ops->segment_free(t->segment);
    for (int i = 0; i < 3; i++)
        r->ops->kernel_free(t->command[i].kernel);
}

struct flight {
    void *base[2];
    int params[4];
    uint8_t skip[3];
    uint64_t value;
};

static void play(unsigned (*should)[N + 1], const struct flight *f, int first, int second)
{
    for (int i = 0; i < N && !f->skip[0]; i++)
        should[first][i] += (unsigned)f->params[2];
    for (int i = 0; i < N && !f->skip[1]; i++)
        should[second][i + 1] *= 2;
    for (int i = 0; i < N && !f->skip[2]; i++)
        should[first][i] += 1;
}

Test(opencl, thousands_of_submissions_with_four_in_flight)
{
    struct rig r;
    struct stream t;
    struct flight flight[FRAMES];
    static unsigned should[SPOTS][N + 1];
    int there[N + 1], *spot[SPOTS];
    rig_open(&r, "", 0);
    open_stream(&r, &t);
    for (int i = 0; i < SPOTS; i++) {
        spot[i] = rig_memory(&r, sizeof there);
        rig_copy(&r, spot[i], should[i], sizeof there);
    }
    memset(flight, 0, sizeof flight);
    for (uint32_t n = 0; n < SUBMISSIONS; n++) {
        struct flight *f = &flight[n % FRAMES];
        struct rd_segment_call call = { .base = f->base,
                                        .params = (const char *)f->params,
                                        .skip = n % 3 ? f->skip : NULL,
                                        .frame = n % FRAMES,
                                        .timed = n % 101 == 0 };
        int first = (int)(n % SPOTS), second = (int)(n / 5 % SPOTS);
        rig_await(&r.progress, f->value); /* what the frame held has ended */
        memset(f->params, 0x55, sizeof f->params);
        f->params[2] = (int)(n / 7);
        f->base[0] = spot[first];
        f->base[1] = spot[second];
        for (uint32_t i = 0; i < 3; i++)
            f->skip[i] = n % 3 ? (n / (i + 2)) % 3 == 1 || n % 50 == 1 : 0;
        rig_submit(&r, t.segment, &call);
        f->value = r.value;
        play(should, f, first, second);
    }
    rig_await(&r.progress, r.value);
    for (int i = 0; i < SPOTS; i++) {
        rig_copy(&r, there, spot[i], sizeof there);
        cr_expect_arr_eq(there, should[i], sizeof there, "spot %d", i);
        rig_forget(&r, spot[i]);
    }
    close_stream(&r, &t);
    rig_close(&r);
}

/* Where everything is skipped, progress still comes behind what was submitted before. */
Test(opencl, a_submission_of_nothing_ends_in_its_turn)
{
    struct rig r;
    struct stream t;
    rig_open(&r, "", 0);
    open_stream(&r, &t);
    int *a = rig_memory(&r, (N + 1) * sizeof *a), here[N + 1], params[4] = { 0, 0, 1, 0 };
    void *base[] = { a, a };
    const uint8_t none[] = { 1, 1, 1 };
    for (int round = 0; round < 50; round++) {
        struct rd_segment_call work = { .base = base, .params = (char *)params, .frame = 0 };
        struct rd_segment_call nothing = { .base = base, .skip = none, .frame = 1 };
        for (int i = 0; i <= N; i++)
            here[i] = round;
        rig_copy(&r, a, here, sizeof here);
        rig_submit(&r, t.segment, &work);
        rig_submit(&r, t.segment, &nothing);
        rig_await(&r.progress, r.value);
        rig_copy(&r, here, a, sizeof here);
        for (int i = 0; i <= N; i++)
            cr_assert_eq(here[i], i == 0 ? round + 2 : i == N ? 2 * round : 2 * (round + 1) + 1);
        rig_step(&r, t.segment, &nothing);
        cr_expect_geq(rd_load_acquire(&r.progress.source->done), r.value);
    }
    close_stream(&r, &t);
    rig_forget(&r, a);
    rig_close(&r);
}

/* ---- what a submission costs */

/* One enqueue for each node, one flush, one callback, and the release of the event before. */
Test(opencl, a_steady_submission_is_as_many_calls_as_nodes_and_three)
{
    struct rig r;
    struct stream t;
    char text[128];
    rig_open(&r, "", 0);
    open_stream(&r, &t);
    int *a = rig_memory(&r, (N + 1) * sizeof *a), params[4] = { 0 };
    void *base[] = { a, a };
    struct rd_segment_call call = { .base = base, .params = (char *)params };
    for (int i = 0; i < 3; i++) {
        uint64_t before = r.ops->calls(r.backend);
        rig_submit(&r, t.segment, &call);
        rig_await(&r.progress, r.value);
        if (i)
            cr_expect_eq(r.ops->calls(r.backend) - before, 3 + 3);
    }
    params[2] = 4; /* one argument changes */
    uint64_t before = r.ops->calls(r.backend);
    rig_submit(&r, t.segment, &call);
    cr_expect_eq(r.ops->calls(r.backend) - before, 3 + 3 + 1);
    rig_await(&r.progress, r.value);
    r.ops->segment_describe(t.segment, text, sizeof text);
    cr_expect_str_eq(text, "3 enqueues, 1 flush, 1 callback");
    close_stream(&r, &t);
    rig_forget(&r, a);
    rig_close(&r);
}

/* ---- times */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void check_times(const struct rd_command_time *t, uint32_t skipped, int64_t begin)
{
    int64_t at = begin - 1000000, end = now_ns() + 1000000;
    for (uint32_t i = 0; i < 3; i++) {
        if (i == skipped) {
            cr_expect(!t[i].begin_ns && !t[i].end_ns);
            continue;
        }
        cr_expect(t[i].begin_ns >= at && t[i].end_ns >= t[i].begin_ns && t[i].end_ns <= end,
                  "command %u: %lld to %lld, after %lld and before %lld", i,
                  (long long)t[i].begin_ns, (long long)t[i].end_ns, (long long)at, (long long)end);
        at = t[i].end_ns;
    }
}

Test(opencl, timed_submissions_tell_when_each_command_ran)
{
    struct rig r;
    struct stream t;
    struct rd_command_time times[3];
    rig_open(&r, "", 0);
    open_stream(&r, &t);
    int *a = rig_memory(&r, (N + 1) * sizeof *a), params[4] = { 0 };
    void *base[] = { a, a };
    for (uint32_t n = 0; n < 8; n++) {
        uint8_t skip[3] = { 0 };
        struct rd_segment_call call = { .base = base, .params = (char *)params, .skip = skip };
        int64_t begin = now_ns();
        skip[n % 3] = n % 3 != 0 || n % 2; /* each of them, or none */
        call.frame = n % FRAMES;
        call.timed = 1;
        if (n % 2)
            rig_submit(&r, t.segment, &call);
        else
            rig_step(&r, t.segment, &call);
        rig_await(&r.progress, r.value);
        r.ops->segment_times(t.segment, call.frame, times);
        check_times(times, skip[n % 3] ? n % 3 : 3, begin);
    }
    close_stream(&r, &t);
    rig_forget(&r, a);
    rig_close(&r);
}

/* ---- launches */

#ifdef RD_WITH_OPENCL
static void *driver_function(const char *name)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *symbol = NULL;
    if (library)
        symbol = dlsym(library, name);
    cr_assert_not_null(symbol, "%s", name);
    return symbol;
}

struct launch {
    __typeof__(clEnqueueSVMMemFill) *fill;
    int calls, fail;
    void *frame_context;
};

static int launch_fill(void *context, const struct rd_segment_call *call, void *native)
{
    struct launch *l = context;
    const char pattern = (char)++l->calls;
    l->frame_context = call->context;
    if (l->fail)
        return l->fail;
    return l->fill(native, call->base[0], &pattern, 1, 16, 0, NULL, NULL);
}

Test(opencl, launches_enqueue_on_the_queue)
{
    struct rig r;
    struct launch l = { 0 };
    char there[16], params[16];
    uint32_t at;
    struct rd_command_time times[3];
    rig_open(&r, "", 0);
    void *symbol = driver_function("clEnqueueSVMMemFill");
    memcpy(&l.fill, &symbol, sizeof symbol);
    char *a = rig_memory(&r, 64);
    struct rd_command c[3] = { 0 };
    const char seven = 7;
    for (int i = 0; i < 3; i++) {
        c[i] = (struct rd_command){ .kind = RD_COMMAND_FILL,
                                    .name = "fill",
                                    .to = { 0, 8 * (i / 2) },
                                    .box = { .row = 8, .rows = 1, .planes = 1 },
                                    .elem_bytes = 1,
                                    .value = &seven };
    }
    c[1] = (struct rd_command){
        .kind = RD_COMMAND_LAUNCH, .name = "launch", .launch = launch_fill, .launch_context = &l
    };
    /* In the middle, and as the last one, of which the end is waited for. */
    for (uint32_t count = 3; count >= 2; count--) {
        struct rd_segment *s = rig_segment(&r, c, count, 1, sizeof params);
        void *base[] = { a };
        for (int n = 0; n < 40; n++) {
            struct rd_segment_call call = {
                .base = base, .params = params, .context = &l, .timed = n % 3 == 0
            };
            if (n % 4)
                rig_submit(&r, s, &call);
            else
                rig_step(&r, s, &call);
            rig_await(&r.progress, r.value);
            if (call.timed) {
                r.ops->segment_times(s, 0, times);
                cr_expect(times[1].begin_ns && times[1].end_ns >= times[1].begin_ns);
            }
            rig_copy(&r, there, a, sizeof there);
            for (int i = 0; i < 16; i++)
                cr_assert_eq(there[i], i < 8 || count == 2 ? l.calls : 7);
            cr_expect_eq(l.frame_context, &l);
        }
        l.fail = 3;
        struct rd_segment_call call = { .base = base, .params = params, .value = ++r.value };
        cr_expect_eq(r.ops->segment_submit(s, &call, &at), RONDO_ERR_FAILED);
        cr_expect_eq(at, 1);
        cr_expect_not_null(strstr(rd_error_text(), "returned 3"), "%s", rd_error_text());
        l.fail = 0;
        r.ops->segment_free(s);
    }
    rig_forget(&r, a);
    rig_close(&r);
}

/* ---- callbacks that are late */

/* Keeps a queue from going on until a test says so. */
struct gate {
    __typeof__(clCreateUserEvent) *create;
    __typeof__(clSetUserEventStatus) *set;
    __typeof__(clGetCommandQueueInfo) *info;
    __typeof__(clEnqueueBarrierWithWaitList) *barrier;
    __typeof__(clReleaseEvent) *release;
    cl_event event;
};

static int launch_gate(void *context, const struct rd_segment_call *call, void *native)
{
    struct gate *g = context;
    cl_context of;
    cl_int error = g->info(native, CL_QUEUE_CONTEXT, sizeof of, &of, NULL);
    (void)call;
    if (!error)
        g->event = g->create(of, &error);
    return error ? error : g->barrier(native, 1, &g->event, NULL);
}

static void open_gate(struct gate *g)
{
    g->set(g->event, CL_COMPLETE);
    g->release(g->event);
}

static void find_gate(struct gate *g)
{
    void *symbol;
#define FIND(field, name)           \
    symbol = driver_function(name); \
    memcpy(&g->field, &symbol, sizeof symbol);
    FIND(create, "clCreateUserEvent")
    FIND(set, "clSetUserEventStatus")
    FIND(info, "clGetCommandQueueInfo")
    FIND(barrier, "clEnqueueBarrierWithWaitList")
    FIND(release, "clReleaseEvent")
#undef FIND
}

/* Its end is told by another thread than this one, since it cannot have ended already. */
static void submit_held(struct rig *r, struct rd_segment *s, struct rd_segment_call *call,
                        struct gate *g)
{
    rig_hold(1);
    rig_submit(r, s, call);
    open_gate(g);
    while (!rig_is_held())
        sched_yield();
}

/* While another thread waits for the callback. */
static void *let_go(void *context)
{
    (void)context;
    for (int i = 0; i < 1000; i++)
        sched_yield();
    rig_hold(0);
    return NULL;
}

/* A submission's callback comes after a later one has ended: neither its frame, used again, nor its
 * segment, freed, is told of by it. */
Test(opencl, callbacks_may_be_late)
{
    struct rig r;
    struct gate g;
    static const char one = 1;
    pthread_t other;
    rig_open(&r, "", 0);
    find_gate(&g);
    char *a = rig_memory(&r, 64);
    void *base[] = { a };
    const struct rd_command fill = { .kind = RD_COMMAND_FILL,
                                     .name = "fill",
                                     .box = { 16, 1, 1, { 0 }, { 0 } },
                                     .elem_bytes = 1,
                                     .value = &one };
    const struct rd_command command[] = {
        fill,
        { .kind = RD_COMMAND_LAUNCH, .name = "gate", .launch = launch_gate, .launch_context = &g },
        fill,
    };
    const uint8_t open[] = { 0, 1, 0 };
    struct rd_segment *s = rig_segment(&r, command, 3, 2, 0);
    struct rd_segment_call first = { .base = base },
                           second = { .base = base, .skip = open, .frame = 1 },
                           third = { .base = base };
    submit_held(&r, s, &first, &g);
    rig_step(&r, s, &second); /* its end needs no callback */
    cr_assert_eq(rd_load_acquire(&r.progress.source->done), 2);
    cr_assert_eq(pthread_create(&other, NULL, let_go, NULL), 0);
    rig_submit(&r, s, &third); /* its frame's callback comes only now */
    pthread_join(other, NULL);
    for (int i = 0; i < 2000; i++) {
        cr_assert_eq(rd_load_acquire(&r.progress.source->done), 2, "told before its end");
        sched_yield();
    }
    open_gate(&g);
    rig_await(&r.progress, 3);
    submit_held(&r, s, &first, &g);
    rig_step(&r, s, &second);
    cr_assert_eq(pthread_create(&other, NULL, let_go, NULL), 0);
    r.ops->segment_free(s);
    pthread_join(other, NULL);
    rig_forget(&r, a);
    rig_close(&r);
}
#endif

/* ---- images */

static void no_kernel(struct rig *r, const char *text, const char *entry, uint32_t args,
                      const char *options, const char *told)
{
    const struct rd_kernel_source s = { RONDO_OPENCL_C, text, strlen(text), entry, options, args };
    struct rd_device_kernel *k = NULL;
    int64_t programs = rig_live(RIG_PROGRAM), kernels = rig_live(RIG_KERNEL);
    cr_expect_eq(r->ops->kernel_new(r->backend, 0, &s, &k), RONDO_ERR_INVALID, "%s", told);
    cr_expect_null(k);
    cr_expect_not_null(strstr(rd_error_text(), told), "'%s': %s", told, rd_error_text());
    cr_expect_null(strchr(rd_error_text(), '\n'), "%s", rd_error_text());
    cr_expect(rig_live(RIG_PROGRAM) == programs && rig_live(RIG_KERNEL) == kernels, "%s", told);
}

Test(opencl, images_that_are_wrong)
{
    struct rig r;
    struct rd_device_kernel *k = NULL;
    const struct rd_kernel_source other = { 9, image, sizeof image - 1, "add", NULL, 2 };
    rig_open(&r, "", 0);
    no_kernel(&r, "kernel void k(global int *a)\n{ int warned; a[0] = missing; }\n", "k", 1, NULL,
              "undeclared identifier 'missing'");
    no_kernel(&r, image, "absent", 1, NULL, "no kernel 'absent'");
    no_kernel(&r, image, "add", 3, NULL, "kernel 'add' has 2 arguments, the node gives 3");
    no_kernel(&r, image, "add", 2, "-not-an-option", "clBuildProgram");
    cr_expect_eq(r.ops->kernel_new(r.backend, 0, &other, &k), RONDO_ERR_INVALID);
    cr_expect_not_null(strstr(rd_error_text(), "format 9"), "%s", rd_error_text());
    rig_close(&r);
}

/* One program for each image and options, a kernel for each node. */
Test(opencl, equal_images_are_compiled_once)
{
    enum { NODES = 200 };
    struct rig r;
    struct rd_device_kernel *k[NODES + 1];
    const struct rd_kernel_source s = {
        RONDO_OPENCL_C, image, sizeof image - 1, "add", "-DX=1", 2
    };
    rig_open(&r, "", 0);
    uint64_t before = rig_made("clBuildProgram");
    for (int i = 0; i < NODES; i++)
        k[i] = rig_kernel(&r, image, i % 2 ? "add" : "twice", i % 2 ? 2 : 1);
    cr_assert_eq(r.ops->kernel_new(r.backend, 0, &s, &k[NODES]), RONDO_OK, "%s", rd_error_text());
    cr_expect_eq(rig_made("clBuildProgram"), before + 2);
    cr_expect_eq(rig_live(RIG_KERNEL), NODES + 1);
    for (int i = 0; i <= NODES; i++)
        r.ops->kernel_free(k[i]);
    cr_expect_eq(rig_live(RIG_PROGRAM), 0);
    rig_close(&r);
}

struct compiler {
    struct rig *r;
    int number, failed;
};

static void *compile_some(void *context)
{
    struct compiler *c = context;
    char text[128];
    for (int i = 0; i < 6; i++) {
        struct rd_device_kernel *k;
        snprintf(text, sizeof text, "kernel void k(global int *a) { a[0] = %d; }",
                 (c->number + i) % 3);
        const struct rd_kernel_source s = { RONDO_OPENCL_C, text, strlen(text), "k", NULL, 1 };
        if (c->r->ops->kernel_new(c->r->backend, 0, &s, &k)) {
            c->failed = 1;
            break;
        }
        c->r->ops->kernel_free(k);
    }
    return NULL;
}

Test(opencl, threads_compile_at_once)
{
    struct rig r;
    pthread_t thread[4];
    struct compiler c[4];
    rig_open(&r, "", 0);
    for (int i = 0; i < 4; i++) {
        c[i] = (struct compiler){ &r, i, 0 };
        cr_assert_eq(pthread_create(&thread[i], NULL, compile_some, &c[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        cr_expect_not(c[i].failed);
    }
    rig_close(&r);
}

/* What a kernel does not take is found when its segment is made. */
Test(opencl, arguments_that_do_not_fit)
{
    static const double wide = 1;
    struct rig r;
    struct rd_segment *s = NULL;
    rig_open(&r, "", 0);
    struct rd_command_arg arg[] = { { .kind = RONDO_ARG_ACCESS },
                                    { .kind = RONDO_ARG_VALUE, .bytes = 8, .value = &wide } };
    struct rd_command c = kernel_command(rig_kernel(&r, image, "add", 2), arg, 2, N);
    static const char *const told[] = { "node 'node': argument 1, 8 bytes",
                                        "node 'node': argument 1, a parameter of 2 bytes",
                                        "node 'node': argument 1, 'v', is a value, the node gives "
                                        "the address of a slot",
                                        "node 'node': local: a group of 1099511627776",
                                        "node 'node': argument 0, 'a', is a pointer, the node "
                                        "gives a value",
                                        "node 'node': argument 1, 'v', is a value, the node gives "
                                        "local memory" };
    for (int i = 0; i < 6; i++) {
        if (i == 1)
            arg[1] = (struct rd_command_arg){ .kind = RONDO_ARG_PARAM, .bytes = 2 };
        if (i == 2)
            arg[1] = (struct rd_command_arg){ .kind = RONDO_ARG_ACCESS };
        if (i == 3) {
            arg[1] = (struct rd_command_arg){ .kind = RONDO_ARG_PARAM, .bytes = 4 };
            c.local[0] = c.global[0] = 1ull << 40;
        }
        if (i > 3)
            c.local[0] = 0;
        if (i == 4) /* a driver might take it for one of its objects */
            arg[0] = (struct rd_command_arg){ .kind = RONDO_ARG_VALUE, .bytes = 8, .value = &wide };
        if (i == 5) {
            arg[0] = (struct rd_command_arg){ .kind = RONDO_ARG_ACCESS };
            arg[1] = (struct rd_command_arg){ .kind = RONDO_ARG_LOCAL, .bytes = 64 };
        }
        cr_expect_eq(r.ops->segment_new(r.queue, &c, 1, 1, 16, &s), RONDO_ERR_INVALID);
        cr_expect_not_null(strstr(rd_error_text(), told[i]), "%s", rd_error_text());
    }
    r.ops->kernel_free(c.kernel);
    rig_close(&r);
}
