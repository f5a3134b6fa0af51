/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues, and segments from their making to their end: all that a submission needs is made here.
 *
 * Submissions of a queue run one after the other. Within one its commands do too, unless it has
 * been found faster to have them run side by side. */
#include "src/base/os.h"
#include "src/device/opencl_state.h"

#include <stdio.h>
#include <string.h>

enum { PARAMS_ALIGN = 128 };
#define LOST_NS 1000000000 /* how long a lost queue's callback is waited for */

/* ---- queues */

rondo_status rd_opencl_make_queue(struct rd_opencl_device *d, const cl_queue_properties *properties,
                                  cl_command_queue *queue)
{
    cl_int error;
    RD_CL_NEW(d->backend, error, *queue, clCreateCommandQueueWithProperties, d->context, d->id,
              properties);
    if (!error)
        return RONDO_OK;
    *queue = NULL;
    return rd_opencl_failed(d, "clCreateCommandQueueWithProperties", error);
}

rondo_status rd_opencl_queue_new(struct rd_backend *b, uint32_t device,
                                 struct rd_progress *progress, struct rd_queue **queue)
{
    const cl_queue_properties timed[] = { CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0 };
    struct rd_opencl_device *d = &b->device[device];
    struct rd_queue *q = rd_zalloc(b->alloc, sizeof *q, _Alignof(struct rd_queue));
    rondo_status status;
    if (!q)
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a queue");
    q->device = d;
    q->progress = progress;
    status = rd_opencl_make_queue(d, NULL, &q->queue);
    if (!status)
        status = rd_opencl_make_queue(d, timed, &q->timed);
    if (status)
        rd_opencl_queue_free(q);
    else
        *queue = q;
    return status;
}

void rd_opencl_queue_free(struct rd_queue *q)
{
    struct rd_backend *b = q->device->backend;
    if (q->wide)
        RD_CL_RELEASE(b, clReleaseCommandQueue, q->wide);
    if (q->timed)
        RD_CL_RELEASE(b, clReleaseCommandQueue, q->timed);
    if (q->queue)
        RD_CL_RELEASE(b, clReleaseCommandQueue, q->queue);
    rd_free(b->alloc, q, sizeof *q);
}

static int uses_params_there(const struct rd_segment *s)
{
    for (uint32_t i = 0; i < s->args; i++)
        if (s->arg[i].arg->kind == RONDO_ARG_PARAM_ADDRESS)
            return 1;
    return 0;
}

/* ---- arguments */

rondo_status rd_opencl_set_fixed(struct rd_segment *s, uint32_t command, cl_kernel kernel)
{
    struct rd_opencl_device *d = s->queue->device;
    const struct rd_command *c = &s->command[command];
    cl_int error = 0;
    for (uint32_t k = 0; k < c->arg_count && !error; k++) {
        const struct rd_command_arg *a = &c->arg[k];
        if (rd_opencl_arg_changes(a))
            continue;
        RD_CL(d->backend, error, clSetKernelArg, kernel, k, a->bytes,
              a->kind == RONDO_ARG_LOCAL ? NULL : a->value);
        if (error)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': argument %u, %u bytes: clSetKernelArg: %s (%d)", c->name, k,
                            a->bytes, rd_opencl_error_name(error), error);
    }
    return RONDO_OK;
}

/* A first value for each argument that will change: what the kernel does not take there is found
 * now and not in a replay. */
static rondo_status try_args(struct rd_segment *s, uint32_t command)
{
    struct rd_backend *b = s->queue->device->backend;
    const struct rd_command *c = &s->command[command];
    const cl_kernel kernel = rd_opencl_kernel_of(s, command);
    const struct rd_opencl_node *n = &s->node[command];
    cl_int error;
    for (uint32_t i = n->arg_first; i < n->arg_end; i++) {
        struct rd_opencl_arg *a = &s->arg[i];
        int by_value = a->arg->kind == RONDO_ARG_PARAM;
        if (by_value)
            RD_CL(b, error, clSetKernelArg, kernel, a->index, a->arg->bytes, a->value);
        else
            RD_CL(b, error, clSetKernelArgSVMPointer, kernel, a->index, NULL);
        if (error && by_value)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': argument %u, a parameter of %u bytes: clSetKernelArg: %s "
                            "(%d)",
                            c->name, a->index, a->arg->bytes, rd_opencl_error_name(error), error);
        if (error)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': argument %u, an address: clSetKernelArgSVMPointer: %s (%d)",
                            c->name, a->index, rd_opencl_error_name(error), error);
    }
    return RONDO_OK;
}

static rondo_status check_groups(struct rd_segment *s, uint32_t command)
{
    struct rd_opencl_device *d = s->queue->device;
    const struct rd_command *c = &s->command[command];
    uint64_t items = 1;
    size_t most = 0;
    cl_int error;
    if (!c->local[0])
        return RONDO_OK;
    for (uint32_t i = 0; i < c->dimensions; i++)
        items *= c->local[i];
    RD_CL(d->backend, error, clGetKernelWorkGroupInfo, c->kernel->kernel, d->id,
          CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (error)
        return rd_opencl_failed(d, "clGetKernelWorkGroupInfo", error);
    if (items > most)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': local: a group of %llu work items, the device runs at most %zu",
                        c->name, (unsigned long long)items, most);
    return RONDO_OK;
}

static rondo_status prepare_kernels(struct rd_segment *s)
{
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; i < s->count && !status; i++) {
        if (s->command[i].kind != RD_COMMAND_KERNEL)
            continue;
        status = check_groups(s, i);
        if (status || s->node[i].as != i) /* its arguments are another's */
            continue;
        status = rd_opencl_check_args(s->queue->device, &s->command[i]);
        if (!status)
            status = rd_opencl_set_fixed(s, i, rd_opencl_kernel_of(s, i));
        if (!status)
            status = try_args(s, i);
    }
    return status;
}

/* ---- what lies in device memory */

static rondo_status make_params(struct rd_segment *s)
{
    struct rd_opencl_device *d = s->queue->device;
    void *memory;
    rondo_status status;
    if (!uses_params_there(s))
        return RONDO_OK;
    s->params_pitch = (s->params_bytes + PARAMS_ALIGN - 1) & ~(size_t)(PARAMS_ALIGN - 1);
    status = rd_opencl_allocate(d->backend, d->index, s->params_pitch * s->frames, &memory);
    if (!status)
        s->params = memory;
    return status;
}

static size_t value_pitch(const struct rd_command *c) { return (c->elem_bytes + 15) & ~(size_t)15; }

static rondo_status send_value(struct rd_segment *s, uint32_t command, char *to)
{
    struct rd_opencl_device *d = s->queue->device;
    const struct rd_command *c = &s->command[command];
    const struct rd_device_copy copy = { to,
                                         c->value,
                                         { .row = c->elem_bytes, .rows = 1, .planes = 1 } };
    s->node[command].value_there = to;
    return rd_opencl_copy(d->backend, d->index, &copy);
}

static rondo_status make_values(struct rd_segment *s)
{
    struct rd_opencl_device *d = s->queue->device;
    size_t bytes = 0;
    rondo_status status;
    void *memory;
    if (!s->movers.fill[0])
        return RONDO_OK;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->command[i].kind == RD_COMMAND_FILL)
            bytes += value_pitch(&s->command[i]);
    if (!bytes)
        return RONDO_OK;
    status = rd_opencl_allocate(d->backend, d->index, bytes, &memory);
    if (status)
        return status;
    s->values = memory;
    bytes = 0;
    for (uint32_t i = 0; i < s->count && !status; i++)
        if (s->command[i].kind == RD_COMMAND_FILL) {
            status = send_value(s, i, s->values + bytes);
            bytes += value_pitch(&s->command[i]);
        }
    return status;
}

static rondo_status make_movers(struct rd_segment *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (rd_opencl_needs_movers(s->queue->device, &s->command[i]))
            return rd_opencl_movers_new(s->queue->device, &s->movers);
    return RONDO_OK;
}

/* ---- segments */

rondo_status rd_opencl_no_memory(const struct rd_segment *s)
{
    return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a segment of %u nodes", s->count);
}

static rondo_status make_arrays(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    s->entry = rd_zalloc_array(a, s->frames, sizeof *s->entry);
    s->events = rd_zalloc_array(a, 2 * (size_t)s->count * s->frames, sizeof(cl_event));
    if (!s->entry || !s->events)
        return rd_opencl_no_memory(s);
    for (uint32_t i = 0; i < s->frames; i++) {
        s->entry[i].queue = s->queue;
        s->entry[i].events = s->events + 2 * (size_t)s->count * i;
    }
    return rd_opencl_args_new(s);
}

rondo_status rd_opencl_segment_new(struct rd_queue *q, const struct rd_command *command,
                                   uint32_t count, uint32_t frames, size_t params_bytes,
                                   struct rd_segment **segment)
{
    struct rd_backend *b = q->device->backend;
    struct rd_segment *s = rd_zalloc(b->alloc, sizeof *s, _Alignof(struct rd_segment));
    rondo_status status;
    if (!s)
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a segment");
    s->queue = q;
    s->command = command;
    s->count = count;
    s->frames = frames;
    s->params_bytes = params_bytes;
    status = make_arrays(s);
    if (!status)
        status = prepare_kernels(s);
    if (!status)
        status = make_params(s);
    if (!status)
        status = make_movers(s);
    if (!status)
        status = make_values(s);
    if (!status)
        status = rd_opencl_trial_new(s);
    if (status)
        rd_opencl_segment_free(s);
    else
        *segment = s;
    return status;
}

void rd_opencl_forget_events(struct rd_segment *s, struct rd_opencl_entry *e)
{
    struct rd_backend *b = s->queue->device->backend;
    if (e->last)
        RD_CL_RELEASE(b, clReleaseEvent, e->last);
    e->last = NULL;
    if (s->queue->latest.entry == e) /* its submission has ended */
        s->queue->latest.entry = NULL;
    for (uint32_t i = 0; e->has_events && i < 2 * s->count; i++) {
        if (e->events[i])
            RD_CL_RELEASE(b, clReleaseEvent, e->events[i]);
        e->events[i] = NULL;
    }
    e->is_timed = e->has_events = 0;
}

/* Its submission has ended, so it returns soon. */
int rd_opencl_await_callback(const struct rd_segment *s, struct rd_opencl_entry *e)
{
    int64_t end = 0;
    while (rd_load_acquire(&e->pending)) { /* pairs with ended: all that it did */
        if (rd_load_acquire(&s->queue->progress->failed)) {
            int64_t now = rd_os.now_ns();
            end = end ? end : now + LOST_NS;
            if (now > end)
                return 0;
        }
        rd_os.yield();
    }
    return 1;
}

/* Whether all callbacks have returned. A driver that is lost may keep one for ever, and what it
 * would use. */
static int callbacks_returned(struct rd_segment *s)
{
    int all = 1;
    for (uint32_t i = 0; s->entry && i < s->frames; i++) {
        if (!rd_opencl_await_callback(s, &s->entry[i])) {
            rd_store_release(&s->entry[i].pending, RD_OPENCL_FORSAKEN);
            all = 0;
        }
        rd_opencl_forget_events(s, &s->entry[i]);
    }
    return all;
}

void rd_opencl_segment_free(struct rd_segment *s)
{
    struct rd_opencl_device *d = s->queue->device;
    struct rd_allocator *a = d->backend->alloc;
    int returned = callbacks_returned(s);
    rd_opencl_record_free(s);
    rd_opencl_wide_free(s);
    rd_opencl_movers_free(d, &s->movers);
    if (s->values)
        rd_opencl_release(d->backend, d->index, s->values);
    if (s->params)
        rd_opencl_release(d->backend, d->index, s->params);
    rd_free_array(a, s->events, 2 * (size_t)s->count * s->frames, sizeof(cl_event));
    if (returned)
        rd_free_array(a, s->entry, s->frames, sizeof *s->entry);
    rd_opencl_args_free(s);
    rd_free(a, s, sizeof *s);
}

/* ---- saying how */

void rd_opencl_segment_describe(const struct rd_segment *s, char *text, size_t bytes)
{
    uint32_t way = rd_load_relaxed(&s->trial.way); /* as of now */
    uint32_t n = s->count + (s->params != NULL);
    if (way == RD_OPENCL_RECORDED)
        snprintf(text, bytes, "1 command buffer of %u, 1 flush, 1 callback", s->count);
    else
        snprintf(text, bytes, "%u enqueue%s%s, 1 flush, 1 callback%s", n, n == 1 ? "" : "s",
                 way == RD_OPENCL_OUT_OF_ORDER ? " out of order" : "",
                 way == RD_OPENCL_TRIAL ? "; other ways are being tried out" : "");
}
