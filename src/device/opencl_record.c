/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments as command buffers (cl_khr_command_buffer): one enqueue for all of a segment's nodes.
 *
 * Only where nothing changes from replay to replay but the data: every argument an address of a
 * slot, a value or local memory. It is recorded with kernel objects of its own, since drivers let
 * arguments that are set later leak into a recording. */
#include "src/device/opencl_state.h"

#include <string.h>

enum {
    SAME_BEFORE = 2, /* submissions with the same addresses before it is recorded */
    SEEN_MAX = 8     /* submissions until it is given up otherwise */
};

/* ---- whether it can be */

static int stays(const struct rd_command *c)
{
    if (c->count_values || c->kind == RD_COMMAND_LAUNCH)
        return 0;
    for (uint32_t k = 0; c->kind == RD_COMMAND_KERNEL && k < c->arg_count; k++)
        if (c->arg[k].kind == RONDO_ARG_PARAM || c->arg[k].kind == RONDO_ARG_PARAM_ADDRESS)
            return 0;
    return 1;
}

int rd_opencl_record_can(const struct rd_segment *s)
{
    if (!s->queue->device->buffer.create || !s->count)
        return 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (!stays(&s->command[i]) ||
            (s->command[i].kind != RD_COMMAND_KERNEL && !s->movers.copy[0]))
            return 0;
    return 1;
}

/* ---- slots */

static uint32_t greatest_slot(const struct rd_segment *s)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->args; i++)
        if (s->arg[i].arg->place.slot > most)
            most = s->arg[i].arg->place.slot;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rd_command *c = &s->command[i];
        if (c->kind == RD_COMMAND_KERNEL)
            continue;
        if (c->to.slot > most)
            most = c->to.slot;
        if (c->kind == RD_COMMAND_COPY && c->from.slot > most)
            most = c->from.slot;
    }
    return most;
}

static void mark_slots(const struct rd_segment *s, uint8_t *used)
{
    for (uint32_t i = 0; i < s->args; i++)
        used[s->arg[i].arg->place.slot] = 1;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rd_command *c = &s->command[i];
        if (c->kind != RD_COMMAND_KERNEL)
            used[c->to.slot] = 1;
        if (c->kind == RD_COMMAND_COPY)
            used[c->from.slot] = 1;
    }
}

static rondo_status list_slots(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    struct rd_opencl_record *r = &s->record;
    uint32_t all = greatest_slot(s) + 1;
    uint8_t *used = rd_zalloc_array(a, all, 1);
    if (!used)
        return rd_opencl_no_memory(s);
    mark_slots(s, used);
    for (uint32_t i = 0; i < all; i++)
        r->slots += used[i];
    r->slot = rd_zalloc_array(a, r->slots, sizeof *r->slot);
    r->base = rd_zalloc_array(a, r->slots, sizeof *r->base);
    for (uint32_t i = 0, n = 0; r->slot && i < all; i++)
        if (used[i])
            r->slot[n++] = i;
    rd_free_array(a, used, all, 1);
    return r->slot && r->base ? RONDO_OK : rd_opencl_no_memory(s);
}

/* Whether the addresses are those that were recorded, or of the latest submission. */
static int same_bases(struct rd_opencl_record *r, const struct rd_segment_call *call)
{
    int same = 1;
    for (uint32_t i = 0; i < r->slots; i++) {
        void *base = call->base[r->slot[i]];
        same &= r->base[i] == base;
        if (!r->buffer)
            r->base[i] = base;
    }
    return same;
}

/* ---- recording */

rondo_status rd_opencl_record_new(struct rd_segment *s)
{
    struct rd_opencl_record *r = &s->record;
    r->kernel = rd_zalloc_array(s->queue->device->backend->alloc, s->count, sizeof *r->kernel);
    return r->kernel ? list_slots(s) : rd_opencl_no_memory(s);
}

static void forget(struct rd_segment *s)
{
    struct rd_opencl_device *d = s->queue->device;
    struct rd_opencl_record *r = &s->record;
    if (r->buffer)
        RD_CL_RELEASE_AT(d->backend, d->buffer.release, "clReleaseCommandBufferKHR", r->buffer);
    r->buffer = NULL;
    for (uint32_t i = 0; r->kernel && i < s->count; i++) {
        if (r->kernel[i])
            RD_CL_RELEASE(d->backend, clReleaseKernel, r->kernel[i]);
        r->kernel[i] = NULL;
    }
}

void rd_opencl_record_free(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    struct rd_opencl_record *r = &s->record;
    forget(s);
    rd_free_array(a, r->base, r->slots, sizeof *r->base);
    rd_free_array(a, r->slot, r->slots, sizeof *r->slot);
    rd_free_array(a, r->kernel, s->count, sizeof *r->kernel);
}

static rondo_status clone_kernel(struct rd_segment *s, const struct rd_segment_call *call,
                                 uint32_t command)
{
    struct rd_opencl_device *d = s->queue->device;
    const struct rd_device_kernel *k = s->command[command].kernel;
    const struct rd_opencl_node *n = &s->node[command];
    cl_kernel *clone = &s->record.kernel[command];
    cl_int error;
    rondo_status status;
    RD_CL_NEW(d->backend, error, *clone, clCreateKernel, k->program->program, k->entry);
    if (error) {
        *clone = NULL;
        return rd_opencl_failed(d, "clCreateKernel", error);
    }
    status = rd_opencl_set_fixed(s, command, *clone);
    for (uint32_t i = n->arg_first; i < n->arg_end && !status; i++) {
        RD_CL(d->backend, error, clSetKernelArgSVMPointer, *clone, s->arg[i].index,
              rd_opencl_address(s, call, s->arg[i].arg));
        if (error)
            status = rd_opencl_failed(d, "clSetKernelArgSVMPointer", error);
    }
    return status;
}

/* One node; *can: 0 if no kernel can do it. */
static rondo_status record_one(struct rd_segment *s, const struct rd_segment_call *call,
                               uint32_t command, int *can)
{
    struct rd_opencl_device *d = s->queue->device;
    const struct rd_command *c = &s->command[command];
    cl_uint dimensions = c->kind == RD_COMMAND_KERNEL ? c->dimensions : 3;
    size_t global[3], local[3];
    cl_sync_point_khr point;
    cl_int error;
    rondo_status status;
    for (uint32_t i = 0; i < 3; i++) {
        global[i] = c->global[i];
        local[i] = c->local[i];
    }
    if (c->kind == RD_COMMAND_KERNEL) {
        status = clone_kernel(s, call, command);
    } else {
        const struct rd_opencl_move m = rd_opencl_move_of(s, call, command);
        status = rd_opencl_move_kernel(d, &s->movers, &m, &s->record.kernel[command], global);
    }
    *can = s->record.kernel[command] != NULL;
    if (status || !*can)
        return status;
    RD_CL_AT(d->backend, error, d->buffer.ndrange, "clCommandNDRangeKernelKHR", s->record.buffer,
             NULL, NULL, s->record.kernel[command], dimensions, NULL, global,
             c->kind == RD_COMMAND_KERNEL && c->local[0] ? local : NULL, 0, NULL, &point, NULL);
    return error ? rd_opencl_failed(d, "clCommandNDRangeKernelKHR", error) : RONDO_OK;
}

/* *can: 0 if one of the nodes cannot be recorded. */
static rondo_status record(struct rd_segment *s, const struct rd_segment_call *call, int *can)
{
    const cl_command_buffer_properties_khr how[] = { CL_COMMAND_BUFFER_FLAGS_KHR,
                                                     CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0 };
    struct rd_opencl_device *d = s->queue->device;
    rondo_status status = RONDO_OK;
    cl_int error;
    *can = 1;
    RD_CL_NEW_AT(d->backend, error, s->record.buffer, d->buffer.create, "clCreateCommandBufferKHR",
                 1, &s->queue->queue, how);
    if (error) {
        s->record.buffer = NULL;
        return rd_opencl_failed(d, "clCreateCommandBufferKHR", error);
    }
    for (uint32_t i = 0; i < s->count && !status && *can; i++)
        status = record_one(s, call, i, can);
    if (status || !*can)
        return status;
    RD_CL_AT(d->backend, error, d->buffer.finalize, "clFinalizeCommandBufferKHR", s->record.buffer);
    return error ? rd_opencl_failed(d, "clFinalizeCommandBufferKHR", error) : RONDO_OK;
}

/* ---- using it */

static int make(struct rd_segment *s, const struct rd_segment_call *call, int *can,
                rondo_status *status)
{
    *status = record(s, call, can);
    if (!*status && *can)
        return 1;
    forget(s);
    return 0;
}

int rd_opencl_record_ready(struct rd_segment *s, const struct rd_segment_call *call, int at_once,
                           int *can, rondo_status *status)
{
    struct rd_opencl_record *r = &s->record;
    int same = same_bases(r, call);
    *status = RONDO_OK;
    if (r->buffer) {
        *can = same || at_once;
        return same;
    }
    r->same = same ? r->same + 1 : 0;
    if (at_once || r->same >= SAME_BEFORE)
        return make(s, call, can, status);
    *can = ++r->seen < SEEN_MAX;
    return 0;
}

rondo_status rd_opencl_record_enqueue(struct rd_segment *s, cl_event *event)
{
    struct rd_opencl_device *d = s->queue->device;
    cl_int error;
    RD_CL_AT(d->backend, error, d->buffer.enqueue, "clEnqueueCommandBufferKHR", 0, NULL,
             s->record.buffer, 0, NULL, event);
    return error ? rd_opencl_failed(d, "clEnqueueCommandBufferKHR", error) : RONDO_OK;
}
