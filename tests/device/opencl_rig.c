/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the OpenCL backend have in common. */
#include "tests/device/opencl_rig.h"

#include "src/base/os.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- watching */

enum { NAMES_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int64_t live[RIG_OBJECTS];
    uint64_t countdown;
    int error, end;
    const char *failed;
    const char *name[NAMES_MAX];
    uint64_t made[NAMES_MAX];
} seen = { .end = 1 };

static const struct {
    const char *call;
    enum rig_object object;
    int change;
} changes[] = {
    { "clCreateContext", RIG_CONTEXT, 1 },
    { "clReleaseContext", RIG_CONTEXT, -1 },
    { "clCreateCommandQueueWithProperties", RIG_QUEUE, 1 },
    { "clReleaseCommandQueue", RIG_QUEUE, -1 },
    { "clCreateProgramWithSource", RIG_PROGRAM, 1 },
    { "clReleaseProgram", RIG_PROGRAM, -1 },
    { "clCreateKernel", RIG_KERNEL, 1 },
    { "clReleaseKernel", RIG_KERNEL, -1 },
    { "clSVMAlloc", RIG_MEMORY, 1 },
    { "clSVMFree", RIG_MEMORY, -1 },
    { "clCreateCommandBufferKHR", RIG_BUFFER, 1 },
    { "clReleaseCommandBufferKHR", RIG_BUFFER, -1 },
};

static int fail(void *context, const char *call)
{
    int error = 0;
    (void)context;
    pthread_mutex_lock(&lock);
    if (seen.countdown && !--seen.countdown) {
        error = seen.error;
        seen.failed = call;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static void made(void *context, const char *call, int error)
{
    (void)context;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof changes / sizeof *changes && !error; i++)
        if (!strcmp(changes[i].call, call))
            seen.live[changes[i].object] += changes[i].change;
    for (int i = 0; i < NAMES_MAX; i++)
        if (!seen.name[i] || !strcmp(seen.name[i], call)) {
            seen.name[i] = call;
            seen.made[i]++;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int hold, held; /* under the lock */

void rig_hold(int on)
{
    pthread_mutex_lock(&lock);
    hold = on;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
int rig_is_held(void)
{
    pthread_mutex_lock(&lock);
    int is = held;
    pthread_mutex_unlock(&lock);
    return is;
}

static int ended(void *context, int status)
{
    (void)context;
    pthread_mutex_lock(&lock);
    if (hold && !held) {
        held = 1;
        while (hold)
            pthread_cond_wait(&changed, &lock);
        held = 0;
    }
    if (seen.end != 1)
        status = seen.end;
    pthread_mutex_unlock(&lock);
    return status;
}

static struct rd_opencl_watch watch = { .fail = fail, .made = made, .ended = ended };

#ifdef RD_WITH_OPENCL
static void install(const struct rd_opencl_watch *w) { rd_opencl_watch(w); }
#else
static void install(const struct rd_opencl_watch *w) { (void)w; }
#endif

void rig_watch(uint32_t without)
{
    watch.without = without;
    install(&watch);
}
void rig_unwatch(void) { install(NULL); }

int64_t rig_live(enum rig_object object)
{
    pthread_mutex_lock(&lock);
    int64_t live = seen.live[object];
    pthread_mutex_unlock(&lock);
    return live;
}

void rig_none_live(const char *when)
{
    static const char *const names[] = { "contexts", "queues", "programs",
                                         "kernels",  "memory", "command buffers" };
    for (int i = 0; i < RIG_OBJECTS; i++)
        cr_expect_eq(rig_live((enum rig_object)i), 0, "%s: %lld %s left", when,
                     (long long)rig_live((enum rig_object)i), names[i]);
}

void rig_fail(uint64_t nth, int error)
{
    pthread_mutex_lock(&lock);
    seen.countdown = nth;
    seen.error = error;
    seen.failed = NULL;
    pthread_mutex_unlock(&lock);
}
const char *rig_failed(void)
{
    pthread_mutex_lock(&lock);
    const char *failed = seen.failed;
    pthread_mutex_unlock(&lock);
    return failed;
}
uint64_t rig_made(const char *call)
{
    uint64_t count = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NAMES_MAX && seen.name[i]; i++)
        if (!strcmp(seen.name[i], call))
            count = seen.made[i];
    pthread_mutex_unlock(&lock);
    return count;
}
void rig_ended(int status)
{
    pthread_mutex_lock(&lock);
    seen.end = status;
    pthread_mutex_unlock(&lock);
}

/* ---- the rig */

const struct rd_backend_ops *rig_ops(void)
{
    for (const struct rd_backend_ops *const *b = rd_backends; *b; b++)
        if (!strcmp((*b)->name, "opencl"))
            return *b;
    cr_assert_fail("no backend of that name");
    return NULL;
}

void rig_allocator(struct rd_allocator *a) { rd_allocator_init(a, NULL, NULL, NULL); }

void rig_progress(struct rd_progress *p)
{
    memset(p, 0, sizeof *p);
    p->source = rd_source_new();
    cr_assert_not_null(p->source);
}

void rig_progress_end(struct rd_progress *p) { rd_source_retire(p->source); }

static void unavailable(rondo_status status)
{
    if (!status)
        return;
    cr_assert_null(getenv("RONDO_TEST_NEEDS_OPENCL"), "an OpenCL device is needed: %s",
                   rd_error_text());
    cr_skip_test("no OpenCL device: %s", rd_error_text());
}

void rig_need(void)
{
    struct rd_allocator a;
    struct rd_backend *b;
    rig_allocator(&a);
    unavailable(rig_ops()->open(&a, "", &b));
    rig_ops()->close(b);
}

void rig_open(struct rig *r, const char *which, uint32_t without)
{
    memset(r, 0, sizeof *r);
    rig_need();
    rig_watch(without);
    r->ops = rig_ops();
    rig_allocator(&r->alloc);
    cr_assert_eq(r->ops->open(&r->alloc, which, &r->backend), RONDO_OK, "%s", rd_error_text());
    rig_progress(&r->progress);
    cr_assert_eq(r->ops->queue_new(r->backend, 0, &r->progress, &r->queue), RONDO_OK, "%s",
                 rd_error_text());
}

void rig_close(struct rig *r)
{
    r->ops->queue_free(r->queue);
    r->ops->close(r->backend);
    rig_progress_end(&r->progress);
    cr_expect_eq(rd_load_relaxed(&r->alloc.bytes), 0, "%llu bytes left",
                 (unsigned long long)rd_load_relaxed(&r->alloc.bytes));
    rig_none_live("closed");
    rig_unwatch();
}

void rig_await(struct rd_progress *p, uint64_t value)
{
    int64_t end = rd_os.now_ns() + 60000000000;
    while (rd_load_acquire(&p->source->done) < value) {
        uint32_t prepared = rd_park_prepare();
        rd_park_register(&p->source->wake);
        rd_fence();
        if (rd_load_acquire(&p->source->done) < value)
            rd_park_sleep(prepared, 100000000);
        cr_assert_lt(rd_os.now_ns(), end, "a minute without %llu", (unsigned long long)value);
    }
}

void *rig_memory(struct rig *r, size_t bytes)
{
    void *memory = NULL;
    cr_assert_eq(r->ops->allocate(r->backend, 0, bytes, &memory), RONDO_OK, "%s", rd_error_text());
    return memory;
}

void rig_forget(struct rig *r, void *memory) { r->ops->release(r->backend, 0, memory); }

void rig_copy(struct rig *r, void *to, const void *from, size_t bytes)
{
    const struct rd_device_copy copy = { to, from, { .row = bytes, .rows = 1, .planes = 1 } };
    cr_assert_eq(r->ops->copy(r->backend, 0, &copy), RONDO_OK, "%s", rd_error_text());
}

struct rd_device_kernel *rig_kernel(struct rig *r, const char *image, const char *entry,
                                    uint32_t args)
{
    const struct rd_kernel_source s = { RONDO_OPENCL_C, image, strlen(image), entry, NULL, args };
    struct rd_device_kernel *kernel = NULL;
    cr_assert_eq(r->ops->kernel_new(r->backend, 0, &s, &kernel), RONDO_OK, "%s", rd_error_text());
    return kernel;
}

void rig_in_order(struct rd_command *command, uint32_t count)
{
    static uint32_t number[64];
    cr_assert_leq(count, sizeof number / sizeof *number);
    for (uint32_t i = 0; i < count; i++) {
        number[i] = i;
        command[i].after = i ? &number[i - 1] : NULL;
        command[i].after_count = i > 0;
    }
}

struct rd_segment *rig_segment(struct rig *r, const struct rd_command *command, uint32_t count,
                               uint32_t frames, size_t params)
{
    struct rd_segment *s = NULL;
    cr_assert_eq(r->ops->segment_new(r->queue, command, count, frames, params, &s), RONDO_OK, "%s",
                 rd_error_text());
    return s;
}

void rig_submit(struct rig *r, struct rd_segment *s, struct rd_segment_call *call)
{
    uint32_t command;
    call->value = ++r->value;
    rondo_status status = r->ops->segment_submit(s, call, &command);
    cr_assert_eq(status, RONDO_OK, "command %u: %s", command, rd_error_text());
}

void rig_step(struct rig *r, struct rd_segment *s, struct rd_segment_call *call)
{
    uint32_t command;
    call->value = ++r->value;
    rondo_status status = r->ops->segment_step(s, call, &command);
    cr_assert_eq(status, RONDO_OK, "command %u: %s", command, rd_error_text());
}
