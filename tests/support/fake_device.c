/* SPDX-License-Identifier: BSD-3-Clause */
/* A backend over plain memory whose copies and kernels a test can hold, refuse and lose. */
#include "tests/support/fake_device.h"

#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/keeper.h"
#include "src/machine/runtime.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 16, ENQUEUED_MAX = 64 };

struct rd_backend {
    uint32_t devices;
};

struct rd_device_kernel {
    const struct fake_kernel *what;
};

/* A segment handed over once: an entry for each frame, so that nothing is allocated later. */
struct submission {
    struct submission *next;
    struct rd_segment *segment;
    struct rd_segment_call call;
    struct rd_command_time *times;
    char *params;
    /* What launches enqueued, by command. */
    struct {
        uint32_t command;
        void (*run)(void *context);
        void *context;
    } enqueued[ENQUEUED_MAX];
    uint32_t enqueued_count;
};

struct rd_queue {
    struct rd_queue *next; /* of all */
    uint32_t device;
    struct rd_progress *progress;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct submission *first, *last, *running;
    int ends;
    struct submission *launching;
    uint32_t launching_command;
};

struct rd_segment {
    struct rd_queue *queue;
    struct rd_command *command;
    uint32_t count, frames;
    size_t params_bytes;
    struct submission *submission; /* by frame */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int held;
    char refuse[48];
    rondo_status refuse_status;
    const struct fake_kernel *kernels;
    struct rd_queue *queues;
    int copies_held, are_peers;
    uint32_t fail_after; /* + 1; 0: none */
    rondo_status fail_status;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static rd_atomic64 submissions, allocated, calls, copied;

/* ---- running */

static void run_kernel(const struct rd_command *c, const struct submission *s)
{
    void *arg[ARGS_MAX];
    struct fake_call call = { arg, c->arg_count, { 0 } };
    memcpy(call.global, c->global, sizeof call.global);
    for (uint32_t i = 0; i < c->arg_count; i++) {
        const struct rd_command_arg *a = &c->arg[i];
        switch (a->kind) {
        case RONDO_ARG_ACCESS:
            arg[i] = (char *)s->call.base[a->place.slot] + a->place.offset;
            break;
        case RONDO_ARG_VALUE: arg[i] = (void *)(uintptr_t)a->value; break;
        case RONDO_ARG_PARAM: arg[i] = (void *)(uintptr_t)(s->call.params + a->param_at); break;
        case RONDO_ARG_PARAM_ADDRESS: arg[i] = s->params + a->param_at; break;
        default: arg[i] = NULL;
        }
    }
    c->kernel->what->run(&call);
}

static size_t counted(const struct rd_command *c, const struct submission *s, uint32_t d,
                      size_t whole)
{
    int64_t count;
    if (d >= c->count_values)
        return whole;
    memcpy(&count, s->call.params + c->count_at + d * sizeof count, sizeof count);
    return (size_t)count;
}

static void run_move(const struct rd_command *c, const struct submission *s)
{
    const struct rd_box_move *b = &c->box;
    char *to = (char *)s->call.base[c->to.slot] + c->to.offset;
    size_t row = counted(c, s, 0, b->row / c->elem_bytes) * c->elem_bytes;
    size_t rows = counted(c, s, 1, b->rows), planes = counted(c, s, 2, b->planes);
    for (size_t z = 0; z < planes; z++)
        for (size_t y = 0; y < rows; y++) {
            char *at = to + z * b->to_pitch[1] + y * b->to_pitch[0];
            if (c->kind == RD_COMMAND_COPY)
                memmove(at,
                        (char *)s->call.base[c->from.slot] + c->from.offset + z * b->from_pitch[1] +
                            y * b->from_pitch[0],
                        row);
            else
                for (size_t i = 0; i < row; i += c->elem_bytes)
                    memcpy(at + i, c->value, c->elem_bytes);
        }
}

static void run_command(struct submission *s, uint32_t i)
{
    const struct rd_command *c = &s->segment->command[i];
    s->times[i] = (struct rd_command_time){ 0, 0 };
    if (s->call.skip && s->call.skip[i])
        return;
    s->times[i].begin_ns = rd_os.now_ns();
    if (c->kind == RD_COMMAND_KERNEL)
        run_kernel(c, s);
    else if (c->kind != RD_COMMAND_LAUNCH)
        run_move(c, s);
    for (uint32_t k = 0; k < s->enqueued_count; k++)
        if (s->enqueued[k].command == i)
            s->enqueued[k].run(s->enqueued[k].context);
    s->times[i].end_ns = rd_os.now_ns();
}

static void wait_while_held(struct rd_queue *q)
{
    pthread_mutex_lock(&fake.lock);
    while (fake.held && !rd_load_acquire(&q->progress->failed))
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static struct submission *next_submission(struct rd_queue *q)
{
    struct submission *s;
    pthread_mutex_lock(&q->lock);
    q->running = NULL;
    pthread_cond_broadcast(&q->changed);
    while (!q->first && !q->ends)
        pthread_cond_wait(&q->changed, &q->lock);
    s = q->first;
    if (s && !(q->first = s->next))
        q->last = NULL;
    q->running = s;
    pthread_mutex_unlock(&q->lock);
    return s;
}

static int is_ready(const struct rd_command *c, const uint8_t *ran)
{
    for (uint32_t k = 0; k < c->after_count; k++)
        if (!ran[c->after[k]])
            return 0;
    return 1;
}

/* The commands, in an order that what they follow allows, another one each time. */
static void run_commands(struct rd_queue *q, struct submission *s)
{
    const uint32_t count = s->segment->count;
    uint64_t seed = s->call.value;
    uint8_t *ran = calloc(count + 1, 1);
    cr_assert_not_null(ran);
    for (uint32_t n = 0; n < count && !rd_load_acquire(&q->progress->failed); n++) {
        uint32_t i;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        i = (uint32_t)(seed >> 33) % count;
        while (ran[i] || !is_ready(&s->segment->command[i], ran))
            i = (i + 1) % count;
        run_command(s, i);
        ran[i] = 1;
    }
    free(ran);
}

static void *run_queue(void *queue)
{
    struct rd_queue *q = queue;
    struct submission *s;
    while ((s = next_submission(q)) != NULL) {
        uint64_t value = s->call.value;
        wait_while_held(q);
        run_commands(q, s);
        if (!rd_load_acquire(&q->progress->failed))
            rd_progress_reach(q->progress, value);
    }
    return NULL;
}

/* ---- the table */

static rondo_status fake_backend_open(struct rd_allocator *a, const char *which,
                                      struct rd_backend **backend)
{
    (void)a;
    (void)which;
    (void)backend;
    return rd_error(RONDO_ERR_INVALID, "the backend of tests is opened by fake_open alone");
}
static void backend_close(struct rd_backend *b) { free(b); }
static uint32_t device_count(const struct rd_backend *b) { return b->devices; }
static void hardware(const struct rd_backend *b, uint32_t device, struct rd_hardware *h)
{
    (void)b;
    memset(h, 0, sizeof *h);
    snprintf(h->name, sizeof h->name, "fake %u", device);
    h->units = 1;
}
static int peers(const struct rd_backend *b, uint32_t device, uint32_t other)
{
    (void)b;
    (void)device;
    (void)other;
    return fake.are_peers;
}

/* The size before the block. */
static rondo_status allocate(struct rd_backend *b, uint32_t device, size_t bytes, void **memory)
{
    char *block = aligned_alloc(256, ((bytes + 255) & ~(size_t)255) + 256);
    (void)b;
    (void)device;
    if (!block)
        return rd_error(RONDO_ERR_MEMORY, "no memory");
    memcpy(block, &bytes, sizeof bytes);
    memset(block + 256, 0xa5, bytes);
    rd_add_relaxed(&allocated, bytes);
    *memory = block + 256;
    return RONDO_OK;
}
static void release(struct rd_backend *b, uint32_t device, void *memory)
{
    char *block = (char *)memory - 256;
    size_t bytes;
    (void)b;
    (void)device;
    memcpy(&bytes, block, sizeof bytes);
    rd_sub_relaxed(&allocated, bytes);
    free(block);
}
static rondo_status allocate_pinned(struct rd_backend *b, size_t bytes, void **memory)
{
    return allocate(b, 0, bytes, memory);
}
static void release_pinned(struct rd_backend *b, void *memory) { release(b, 0, memory); }

static rondo_status copy_now(struct rd_backend *b, uint32_t device, const struct rd_device_copy *c)
{
    int fails;
    (void)b;
    (void)device;
    pthread_mutex_lock(&fake.lock);
    while (fake.copies_held)
        pthread_cond_wait(&fake.changed, &fake.lock);
    fails = fake.fail_after && !--fake.fail_after;
    pthread_mutex_unlock(&fake.lock);
    if (fails)
        return rd_error(fake.fail_status, "fakeCopy: refused");
    rd_add_relaxed(&copied, c->box.row * c->box.rows * c->box.planes);
    for (size_t z = 0; z < c->box.planes; z++)
        for (size_t y = 0; y < c->box.rows; y++)
            memmove((char *)c->to + z * c->box.to_pitch[1] + y * c->box.to_pitch[0],
                    (const char *)c->from + z * c->box.from_pitch[1] + y * c->box.from_pitch[0],
                    c->box.row);
    return RONDO_OK;
}

static rondo_status kernel_new(struct rd_backend *b, uint32_t device,
                               const struct rd_kernel_source *source,
                               struct rd_device_kernel **kernel)
{
    const struct fake_kernel *k = fake.kernels;
    (void)b;
    (void)device;
    while (k->entry && strcmp(k->entry, source->entry) != 0)
        k++;
    if (!k->entry)
        return rd_error(RONDO_ERR_INVALID, "fakeCreateKernel: there is no '%s'", source->entry);
    if (source->arg_count != k->args)
        return rd_error(RONDO_ERR_INVALID, "'%s' has %u arguments, %u are given", k->entry, k->args,
                        source->arg_count);
    *kernel = malloc(sizeof **kernel);
    (*kernel)->what = k;
    return RONDO_OK;
}
static void kernel_free(struct rd_device_kernel *k) { free(k); }

static rondo_status queue_new(struct rd_backend *b, uint32_t device, struct rd_progress *progress,
                              struct rd_queue **queue)
{
    struct rd_queue *q = calloc(1, sizeof *q);
    (void)b;
    q->device = device;
    q->progress = progress;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    pthread_create(&q->thread, NULL, run_queue, q);
    pthread_mutex_lock(&fake.lock);
    q->next = fake.queues;
    fake.queues = q;
    pthread_mutex_unlock(&fake.lock);
    *queue = q;
    return RONDO_OK;
}

static void queue_free(struct rd_queue *q)
{
    struct rd_queue **link = &fake.queues;
    pthread_mutex_lock(&fake.lock);
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    pthread_mutex_unlock(&fake.lock);
    pthread_mutex_lock(&q->lock);
    q->ends = 1;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    free(q);
}

static rondo_status segment_new(struct rd_queue *q, const struct rd_command *command,
                                uint32_t count, uint32_t frames, size_t params_bytes,
                                struct rd_segment **segment)
{
    struct rd_segment *s = calloc(1, sizeof *s);
    s->queue = q;
    s->command = malloc(count * sizeof *s->command);
    memcpy(s->command, command, count * sizeof *command);
    s->count = count;
    s->frames = frames;
    s->params_bytes = params_bytes;
    s->submission = calloc(frames, sizeof *s->submission);
    for (uint32_t i = 0; i < frames; i++) {
        s->submission[i].segment = s;
        s->submission[i].times = calloc(count, sizeof *s->submission[i].times);
        s->submission[i].params = malloc(params_bytes ? params_bytes : 1);
    }
    *segment = s;
    return RONDO_OK;
}

/* What was lost is over for the engine, and perhaps not for the queue. */
static void segment_free(struct rd_segment *s)
{
    struct rd_queue *q = s->queue;
    pthread_mutex_lock(&q->lock);
    while (q->first || q->running)
        pthread_cond_wait(&q->changed, &q->lock);
    pthread_mutex_unlock(&q->lock);
    for (uint32_t i = 0; i < s->frames; i++) {
        free(s->submission[i].times);
        free(s->submission[i].params);
    }
    free(s->submission);
    free(s->command);
    free(s);
}

static rondo_status hand_over(struct rd_segment *s, struct submission *sub, uint32_t *command)
{
    struct rd_queue *q = s->queue;
    q->launching = sub;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rd_command *c = &s->command[i];
        *command = i;
        if (sub->call.skip && sub->call.skip[i])
            continue;
        pthread_mutex_lock(&fake.lock);
        if (fake.refuse[0] && !strcmp(fake.refuse, c->name)) {
            rondo_status status = fake.refuse_status;
            fake.refuse[0] = 0;
            pthread_mutex_unlock(&fake.lock);
            return rd_error(status, "fakeEnqueue: refused");
        }
        pthread_mutex_unlock(&fake.lock);
        q->launching_command = i;
        if (c->kind == RD_COMMAND_LAUNCH && c->launch(c->launch_context, &sub->call, q))
            return rd_error(RONDO_ERR_FAILED, "the launch failed");
    }
    return RONDO_OK;
}

static rondo_status segment_submit(struct rd_segment *s, const struct rd_segment_call *call,
                                   uint32_t *command)
{
    struct submission *sub = &s->submission[call->frame];
    struct rd_queue *q = s->queue;
    rondo_status status;
    sub->call = *call;
    sub->next = NULL;
    sub->enqueued_count = 0;
    if (s->params_bytes)
        memcpy(sub->params, call->params, s->params_bytes);
    status = hand_over(s, sub, command);
    if (status)
        return status;
    rd_add_relaxed(&submissions, 1);
    rd_add_relaxed(&calls, s->count + 2u);
    pthread_mutex_lock(&q->lock);
    if (q->last)
        q->last->next = sub;
    else
        q->first = sub;
    q->last = sub;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return RONDO_OK;
}

static rondo_status segment_step(struct rd_segment *s, const struct rd_segment_call *call,
                                 uint32_t *command)
{
    rondo_status status = segment_submit(s, call, command);
    while (!status && rd_load_acquire(&s->queue->progress->source->done) < call->value)
        rd_os.yield();
    return status;
}

static void segment_times(struct rd_segment *s, uint32_t frame, struct rd_command_time *times)
{
    memcpy(times, s->submission[frame].times, s->count * sizeof *times);
}
static void segment_describe(const struct rd_segment *s, char *text, size_t bytes)
{
    snprintf(text, bytes, "%u enqueues of a fake", s->count);
}
static uint64_t count_calls(const struct rd_backend *b)
{
    (void)b;
    return rd_load_relaxed(&calls);
}

static const struct rd_backend_ops table = {
    .name = "fake",
    .what = "devices of tests",
    .open = fake_backend_open,
    .close = backend_close,
    .devices = device_count,
    .hardware = hardware,
    .peers = peers,
    .allocate = allocate,
    .release = release,
    .allocate_pinned = allocate_pinned,
    .release_pinned = release_pinned,
    .copy = copy_now,
    .kernel_new = kernel_new,
    .kernel_free = kernel_free,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .segment_new = segment_new,
    .segment_free = segment_free,
    .segment_submit = segment_submit,
    .segment_step = segment_step,
    .segment_times = segment_times,
    .segment_describe = segment_describe,
    .calls = count_calls,
};

/* ---- for tests */

static struct rd_devices *make_devices(struct rd_runtime *rt, uint32_t count, size_t bytes)
{
    struct rd_devices *d = rd_zalloc(&rt->alloc, sizeof *d, 64);
    struct rd_backend *b = malloc(sizeof *b);
    b->devices = count;
    d->alloc = &rt->alloc;
    d->count = count;
    d->backend[0] = b;
    d->ops[0] = &table;
    d->backends = 1;
    for (uint32_t i = 0; i < count; i++) {
        struct rd_device *device = &d->device[i];
        device->ops = &table;
        device->backend = b;
        device->number = device->index = i;
        hardware(b, i, &device->hardware);
        device->hardware.memory_bytes = bytes;
        device->limit = bytes;
    }
    return d;
}

rondo_runtime fake_open(const char *cpus, uint32_t devices, size_t bytes,
                        const struct fake_kernel *kernels)
{
    rondo_runtime_options options = { .cpus = cpus, .devices = "none" };
    rondo_runtime handle = { 0 };
    rondo_status status = rondo_runtime_open(&options, &handle);
    cr_assert_eq(status, RONDO_OK, "%s", rondo_error_message());
    fake_devices(handle, devices, bytes, kernels);
    return handle;
}

void fake_devices(rondo_runtime runtime, uint32_t devices, size_t bytes,
                  const struct fake_kernel *kernels)
{
    rondo_status status;
    struct rd_runtime *rt = rd_runtime_get(runtime, &status);
    cr_assert_not_null(rt);
    fake.kernels = kernels;
    fake_hold(0);
    fake_hold_copies(0);
    fake.refuse[0] = 0;
    fake.fail_after = 0;
    fake.are_peers = 0;
    rt->devices = make_devices(rt, devices, bytes);
    cr_assert_eq(rd_keeper_start(rt), RONDO_OK, "%s", rondo_error_message());
    rt->own_bytes = rd_load_relaxed(&rt->alloc.bytes); /* nothing else lives yet */
    rd_runtime_unref(rt);
}

void fake_hold_copies(int held)
{
    pthread_mutex_lock(&fake.lock);
    fake.copies_held = held;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

void fake_fail_copy(uint32_t after, rondo_status status)
{
    pthread_mutex_lock(&fake.lock);
    fake.fail_after = after + 1;
    fake.fail_status = status;
    pthread_mutex_unlock(&fake.lock);
}

uint64_t fake_copied(void) { return rd_load_relaxed(&copied); }
void fake_peers(int yes) { fake.are_peers = yes; }

void fake_hold(int held)
{
    pthread_mutex_lock(&fake.lock);
    fake.held = held;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

void fake_refuse(const char *node, rondo_status status)
{
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.refuse, sizeof fake.refuse, "%s", node);
    fake.refuse_status = status;
    pthread_mutex_unlock(&fake.lock);
}

void fake_lose(uint32_t device)
{
    pthread_mutex_lock(&fake.lock);
    for (struct rd_queue *q = fake.queues; q; q = q->next)
        if (q->device == device)
            rd_progress_fail(q->progress, "fakeWait: the test says so");
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

uint64_t fake_submissions(void) { return rd_load_relaxed(&submissions); }
uint64_t fake_allocated(void) { return rd_load_relaxed(&allocated); }

void fake_enqueue(void *native_queue, void (*run)(void *context), void *context)
{
    struct rd_queue *q = native_queue;
    struct submission *s = q->launching;
    cr_assert_lt(s->enqueued_count, ENQUEUED_MAX);
    s->enqueued[s->enqueued_count].command = q->launching_command;
    s->enqueued[s->enqueued_count].run = run;
    s->enqueued[s->enqueued_count++].context = context;
}
