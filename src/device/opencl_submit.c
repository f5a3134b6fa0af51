/* SPDX-License-Identifier: BSD-3-Clause */
/* A segment's replays: handed over as a whole, or command by command.
 *
 * Only the last command of a submission has an event, whose callback raises the queue's progress:
 * it is kept until its frame is used again, since a driver may still be busy with it behind the
 * callback. A timed submission has events of every command, and goes to a queue that measures: the
 * main queue does not, since that costs a tenth of a submission (PoCL). */
#include "src/base/os.h"
#include "src/device/opencl_state.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments */

void *rd_opencl_address(const struct rd_segment *s, const struct rd_segment_call *call,
                        const struct rd_command_arg *a)
{
    if (a->kind == RONDO_ARG_PARAM_ADDRESS)
        return s->params + call->frame * s->params_pitch + a->param_at;
    return (char *)call->base[a->place.slot] + a->place.offset;
}

static cl_int set_address(struct rd_backend *b, cl_kernel kernel, struct rd_opencl_arg *a,
                          void *address)
{
    cl_int error;
    RD_CL(b, error, clSetKernelArgSVMPointer, kernel, a->index, address);
    a->set = !error;
    a->address = address;
    return error;
}

static cl_int set_value(struct rd_backend *b, cl_kernel kernel, struct rd_opencl_arg *a,
                        const char *value)
{
    cl_int error;
    RD_CL(b, error, clSetKernelArg, kernel, a->index, a->arg->bytes, value);
    a->set = !error;
    memcpy(a->value, value, a->arg->bytes);
    return error;
}

/* What the kernel object does not have already. */
static rondo_status set_changed(struct rd_segment *s, const struct rd_segment_call *call,
                                uint32_t command)
{
    struct rd_opencl_device *d = s->queue->device;
    cl_kernel kernel = rd_opencl_kernel_of(s, command);
    struct rd_opencl_arg *a = s->arg + s->node[command].arg_first,
                         *end = s->arg + s->node[command].arg_end;
    cl_int error;
    for (; a < end; a++) {
        if (a->arg->kind == RONDO_ARG_PARAM) {
            const char *value = call->params + a->arg->param_at;
            if (a->set && !memcmp(a->value, value, a->arg->bytes))
                continue;
            error = set_value(d->backend, kernel, a, value);
            if (error)
                return rd_opencl_failed(d, "clSetKernelArg", error);
        } else {
            void *address = rd_opencl_address(s, call, a->arg);
            if (a->set && a->address == address)
                continue;
            error = set_address(d->backend, kernel, a, address);
            if (error)
                return rd_opencl_failed(d, "clSetKernelArgSVMPointer", error);
        }
    }
    return RONDO_OK;
}

/* ---- one command */

static cl_command_queue queue_of(const struct rd_segment *s, const struct rd_segment_call *call)
{
    return call->timed ? s->queue->timed : s->queue->queue;
}

rondo_status rd_opencl_marker(struct rd_queue *q, struct rd_opencl_at at)
{
    cl_int error;
    RD_CL(q->device->backend, error, clEnqueueMarkerWithWaitList, at.queue, at.waits, at.wait,
          at.last);
    return error ? rd_opencl_failed(q->device, "clEnqueueMarkerWithWaitList", error) : RONDO_OK;
}

rondo_status rd_opencl_barrier(struct rd_queue *q, cl_command_queue queue, const cl_event *event)
{
    cl_int error;
    RD_CL(q->device->backend, error, clEnqueueBarrierWithWaitList, queue, event != NULL, event,
          NULL);
    return error ? rd_opencl_failed(q->device, "clEnqueueBarrierWithWaitList", error) : RONDO_OK;
}

static rondo_status enqueue_kernel(struct rd_segment *s, const struct rd_segment_call *call,
                                   uint32_t command, struct rd_opencl_at at)
{
    const struct rd_command *c = &s->command[command];
    struct rd_opencl_device *d = s->queue->device;
    size_t global[3], local[3];
    cl_int error;
    rondo_status status = set_changed(s, call, command);
    if (status)
        return status;
    for (uint32_t i = 0; i < c->dimensions; i++) {
        global[i] = c->global[i];
        local[i] = c->local[i];
    }
    RD_CL(d->backend, error, clEnqueueNDRangeKernel, at.queue, rd_opencl_kernel_of(s, command),
          c->dimensions, NULL, global, c->local[0] ? local : NULL, at.waits, at.wait, at.last);
    return error ? rd_opencl_failed(d, "clEnqueueNDRangeKernel", error) : RONDO_OK;
}

/* The box of a move whose counts are a parameter; 0: nothing is moved. */
static int counted(const struct rd_command *c, const struct rd_segment_call *call,
                   struct rd_box_move *box)
{
    int64_t count[3];
    if (!c->count_values)
        return 1;
    memcpy(count, call->params + c->count_at, c->count_values * sizeof *count);
    box->row = (size_t)count[0] * c->elem_bytes;
    if (c->count_values > 1)
        box->rows = (size_t)count[1];
    if (c->count_values > 2)
        box->planes = (size_t)count[2];
    return box->row && box->rows && box->planes;
}

struct rd_opencl_move rd_opencl_move_of(const struct rd_segment *s,
                                        const struct rd_segment_call *call, uint32_t command)
{
    const struct rd_command *c = &s->command[command];
    struct rd_opencl_move m = { .box = c->box,
                                .value = c->value,
                                .value_there = s->node[command].value_there,
                                .elem_bytes = c->elem_bytes };
    counted(c, call, &m.box);
    m.to = (char *)call->base[c->to.slot] + c->to.offset;
    if (c->kind == RD_COMMAND_COPY)
        m.from = (char *)call->base[c->from.slot] + c->from.offset;
    return m;
}

/* What the function enqueues has no events of ours: markers before and behind it have. */
static rondo_status enqueue_launch(struct rd_segment *s, const struct rd_segment_call *call,
                                   uint32_t command, struct rd_opencl_at at)
{
    const struct rd_command *c = &s->command[command];
    const struct rd_opencl_at first = { .queue = at.queue, .last = at.first };
    rondo_status status = at.first ? rd_opencl_marker(s->queue, first) : RONDO_OK;
    int failed;
    if (status)
        return status;
    failed = c->launch(c->launch_context, call, at.queue);
    if (failed)
        return rd_error(RONDO_ERR_FAILED, "its function returned %d", failed);
    return at.last ? rd_opencl_marker(s->queue, at) : RONDO_OK;
}

rondo_status rd_opencl_enqueue(struct rd_segment *s, const struct rd_segment_call *call,
                               uint32_t command, struct rd_opencl_at at)
{
    struct rd_opencl_move m;
    switch (s->command[command].kind) {
    case RD_COMMAND_KERNEL: return enqueue_kernel(s, call, command, at);
    case RD_COMMAND_LAUNCH: return enqueue_launch(s, call, command, at);
    default: break;
    }
    m = rd_opencl_move_of(s, call, command);
    return rd_opencl_enqueue_move(s->queue->device, &s->movers, &m, at);
}

int rd_opencl_runs(const struct rd_segment *s, const struct rd_segment_call *call, uint32_t command)
{
    struct rd_box_move box = s->command[command].box;
    return !(call->skip && call->skip[command]) && counted(&s->command[command], call, &box);
}

rondo_status rd_opencl_send_params(struct rd_segment *s, const struct rd_segment_call *call,
                                   cl_command_queue queue)
{
    struct rd_opencl_device *d = s->queue->device;
    cl_int error;
    if (!s->params)
        return RONDO_OK;
    RD_CL(d->backend, error, clEnqueueSVMMemcpy, queue, CL_FALSE,
          s->params + call->frame * s->params_pitch, call->params, s->params_bytes, 0, NULL, NULL);
    return error ? rd_opencl_failed(d, "clEnqueueSVMMemcpy of parameters", error) : RONDO_OK;
}

/* ---- the end of a submission */

static void tell(struct rd_opencl_entry *e, cl_int state)
{
    struct rd_queue *q = e->queue;
    char why[sizeof q->progress->why];
    if (state >= 0) {
        rd_progress_reach(q->progress, e->value);
        return;
    }
    snprintf(why, sizeof why, "opencl device %u: a submission ended with %s (%d)", q->device->index,
             rd_opencl_error_name(state), state);
    rd_progress_fail(q->progress, why);
}

static void CL_CALLBACK ended(cl_event event, cl_int state, void *context)
{
    struct rd_opencl_entry *e = context;
    const struct rd_opencl_watch *w = rd_load_acquire(&rd_opencl_watching);
    (void)event;
    if (rd_load_acquire(&e->pending) == RD_OPENCL_FORSAKEN) /* pairs with segment_free */
        return;
    if (RD_UNLIKELY(w && w->ended))
        state = w->ended(w->context, state);
    if (e->trial)
        e->end_ns = rd_os.now_ns();
    tell(e, state);
    rd_store_release(&e->pending, 0); /* pairs with rd_opencl_await_callback; e may be gone now */
}

static rondo_status queue_is_lost(const struct rd_queue *q)
{
    return rd_error(RONDO_ERR_DEVICE_LOST, "%s; it takes no more work", q->progress->why);
}

/* Where a command goes in order, with an event if it is the last one that runs, or with both in a
 * timed call. */
static struct rd_opencl_at place_of(const struct rd_segment *s, const struct rd_segment_call *call,
                                    struct rd_opencl_entry *e, uint32_t command, int last)
{
    struct rd_opencl_at at = { .queue = queue_of(s, call) };
    if (call->timed) {
        at.first = &e->events[2 * command];
        at.last = &e->events[2 * command + 1];
    } else if (last) {
        at.last = &e->last;
    }
    return at;
}

/* ---- timed calls: on a queue of their own, between what the main queue has before and behind */

static rondo_status flush(struct rd_queue *q, cl_command_queue queue)
{
    cl_int error;
    RD_CL(q->device->backend, error, clFlush, queue);
    return error ? rd_opencl_failed(q->device, "clFlush", error) : RONDO_OK;
}

static rondo_status fork_timed(struct rd_queue *q)
{
    cl_event before;
    rondo_status status =
        rd_opencl_marker(q, (struct rd_opencl_at){ .queue = q->queue, .last = &before });
    if (status)
        return status;
    status = flush(q, q->queue);
    if (!status)
        status = rd_opencl_barrier(q, q->timed, &before);
    RD_CL_RELEASE(q->device->backend, clReleaseEvent, before);
    return status;
}

static rondo_status join_timed(struct rd_queue *q, cl_event last)
{
    rondo_status status = flush(q, q->timed);
    return status ? status : rd_opencl_barrier(q, q->queue, &last);
}

/* ---- the whole segment */

/* The commands, and an event behind them all in e->last or, of a timed call, *behind. */
static rondo_status enqueue_all(struct rd_segment *s, const struct rd_segment_call *call,
                                struct rd_opencl_entry *e, cl_event *behind, uint32_t *command)
{
    uint32_t last = s->count;
    rondo_status status;
    while (last && !rd_opencl_runs(s, call, last - 1))
        last--;
    *command = s->count;
    status = !last ? rd_opencl_marker(s->queue, (struct rd_opencl_at){ .queue = s->queue->queue,
                                                                       .last = &e->last })
             : call->timed ? fork_timed(s->queue)
                           : RONDO_OK;
    if (call->timed)
        e->submit_ns = rd_os.now_ns();
    if (last && !status)
        status = rd_opencl_send_params(s, call, queue_of(s, call));
    for (uint32_t i = 0; i < last && !status; i++) {
        if (!rd_opencl_runs(s, call, i))
            continue;
        *command = i;
        status = rd_opencl_enqueue(s, call, i, place_of(s, call, e, i, i + 1 == last));
    }
    if (status)
        return status;
    *command = s->count;
    *behind = last && call->timed ? e->events[2 * last - 1] : e->last;
    return last && call->timed ? join_timed(s->queue, *behind) : RONDO_OK;
}

static rondo_status hand_over(struct rd_segment *s, struct rd_opencl_entry *e,
                              cl_command_queue queue, cl_event behind)
{
    struct rd_opencl_device *d = s->queue->device;
    cl_int error;
    rondo_status status = flush(s->queue, queue);
    if (status)
        return status;
    rd_store_relaxed(&e->pending, RD_OPENCL_PENDING); /* handed over with the event */
    if (!RD_CL(d->backend, error, clSetEventCallback, behind, CL_COMPLETE, ended, e))
        return RONDO_OK;
    rd_store_relaxed(&e->pending, 0);
    return rd_opencl_failed(d, "clSetEventCallback", error);
}

/* Nothing of what was enqueued runs on: the caller frees what it uses. A driver that cannot tell is
 * lost, and one whose failure says so. */
static rondo_status undo(struct rd_segment *s, struct rd_opencl_entry *e, rondo_status status)
{
    struct rd_queue *q = s->queue;
    if (!rd_opencl_drain(q->device, q->timed) ||
        (q->wide && !rd_opencl_drain(q->device, q->wide)) || !rd_opencl_drain(q->device, q->queue))
        status = RONDO_ERR_DEVICE_LOST;
    if (status == RONDO_ERR_DEVICE_LOST)
        rd_progress_fail(q->progress, rd_error_text());
    rd_opencl_forget_events(s, e);
    e->trial = 0;
    return status;
}

rondo_status rd_opencl_follow(struct rd_queue *q, cl_command_queue queue)
{
    const struct rd_opencl_latest *l = &q->latest;
    const int in_turn = queue == q->queue && !l->wide;
    return l->entry && !in_turn && !rd_opencl_is_idle(q) ? rd_opencl_barrier(q, queue, &l->event)
                                                         : RONDO_OK;
}

/* All of it, and an event behind it. */
static rondo_status enqueue_call(struct rd_segment *s, const struct rd_segment_call *call,
                                 struct rd_opencl_entry *e, enum rd_opencl_way way,
                                 cl_event *behind, uint32_t *command)
{
    rondo_status status;
    if (way == RD_OPENCL_OUT_OF_ORDER) {
        status = rd_opencl_wide_enqueue(s, call, e, command);
        *behind = e->last;
        return status;
    }
    status = rd_opencl_follow(s->queue, s->queue->queue);
    if (status)
        return status;
    if (way == RD_OPENCL_IN_ORDER)
        return enqueue_all(s, call, e, behind, command);
    status = rd_opencl_record_enqueue(s, &e->last);
    *behind = e->last;
    return status;
}

/* Nothing of the entry's last call is left. 0: the queue is lost. */
static int take_entry(struct rd_segment *s, struct rd_opencl_entry *e)
{
    if (rd_load_acquire(&s->queue->progress->failed)) /* pairs with rd_progress_fail: why */
        return 0;
    if (!rd_opencl_await_callback(s, e))
        return 0;
    rd_opencl_forget_events(s, e);
    return 1;
}

rondo_status rd_opencl_segment_submit(struct rd_segment *s, const struct rd_segment_call *call,
                                      uint32_t *command)
{
    struct rd_queue *q = s->queue;
    struct rd_opencl_entry *e = &s->entry[call->frame];
    enum rd_opencl_way way;
    cl_event behind;
    rondo_status status;
    *command = s->count;
    if (!take_entry(s, e))
        return queue_is_lost(q);
    e->value = call->value;
    e->is_timed = call->timed;
    way = rd_opencl_way_of(s, call, e, &status);
    e->has_events = call->timed || way == RD_OPENCL_OUT_OF_ORDER;
    if (!status)
        status = enqueue_call(s, call, e, way, &behind, command);
    if (!status)
        status = hand_over(s, e, way == RD_OPENCL_OUT_OF_ORDER ? q->wide : q->queue, behind);
    q->submitted = call->value;
    if (status)
        return undo(s, e, status);
    q->latest = (struct rd_opencl_latest){ e, behind, way == RD_OPENCL_OUT_OF_ORDER };
    return RONDO_OK;
}

/* ---- step by step */

static rondo_status wait_for(struct rd_queue *q, cl_event event)
{
    struct rd_opencl_device *d = q->device;
    const struct rd_opencl_watch *w = rd_load_acquire(&rd_opencl_watching);
    cl_int error, state = 0;
    RD_CL(d->backend, error, clWaitForEvents, 1, &event);
    if (error && error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        return rd_opencl_failed(d, "clWaitForEvents", error); /* undo waits for it */
    RD_CL(d->backend, error, clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
          &state, NULL);
    if (error)
        return rd_opencl_failed(d, "clGetEventInfo", error);
    if (RD_UNLIKELY(w && w->ended))
        state = w->ended(w->context, state);
    if (state >= 0)
        return RONDO_OK;
    return rd_error(RONDO_ERR_DEVICE_LOST, "opencl device %u (%s): it ended with %s (%d)", d->index,
                    d->hardware.name, rd_opencl_error_name(state), state);
}

static void set_anew(struct rd_segment *s)
{
    for (uint32_t i = 0; i < s->args; i++)
        s->arg[i].set = 0;
}

static rondo_status step(struct rd_segment *s, const struct rd_segment_call *call,
                         struct rd_opencl_entry *e, uint32_t command)
{
    const struct rd_opencl_at at = { .queue = queue_of(s, call),
                                     .first = &e->events[2 * command],
                                     .last = &e->events[2 * command + 1] };
    rondo_status status = RONDO_OK;
    if (s->command[command].kind == RD_COMMAND_KERNEL)
        status = rd_opencl_set_fixed(s, command, rd_opencl_kernel_of(s, command));
    if (!status)
        status = rd_opencl_enqueue(s, call, command, at);
    return status ? status : wait_for(s->queue, *at.last);
}

rondo_status rd_opencl_segment_step(struct rd_segment *s, const struct rd_segment_call *call,
                                    uint32_t *command)
{
    struct rd_opencl_entry *e = &s->entry[call->frame];
    rondo_status status;
    *command = s->count;
    if (!take_entry(s, e))
        return queue_is_lost(s->queue);
    e->is_timed = e->has_events = 1;
    e->trial = 0;
    e->submit_ns = rd_os.now_ns();
    set_anew(s);
    status = rd_opencl_follow(s->queue, s->queue->queue);
    if (!status)
        status = rd_opencl_finish(s->queue->device, s->queue->queue);
    if (!status)
        status = rd_opencl_send_params(s, call, queue_of(s, call));
    for (uint32_t i = 0; i < s->count && !status; i++) {
        if (!rd_opencl_runs(s, call, i))
            continue;
        *command = i;
        status = step(s, call, e, i);
    }
    if (!status) {
        *command = s->count;
        status = rd_opencl_finish(s->queue->device, queue_of(s, call));
    }
    if (status)
        return undo(s, e, status);
    rd_progress_reach(s->queue->progress, call->value);
    return RONDO_OK;
}

/* ---- times */

static int profile(struct rd_backend *b, cl_event event, cl_profiling_info what, int64_t *ns)
{
    cl_ulong value = 0;
    cl_int error;
    if (RD_CL(b, error, clGetEventProfilingInfo, event, what, sizeof value, &value, NULL))
        return 0;
    *ns = (int64_t)value;
    return 1;
}

/* The device's clock is another than ours: the first command was enqueued just after submit_ns. */
void rd_opencl_segment_times(struct rd_segment *s, uint32_t frame, struct rd_command_time *times)
{
    struct rd_backend *b = s->queue->device->backend;
    struct rd_opencl_entry *e = &s->entry[frame];
    int64_t queued = 0, ahead = 0;
    int known = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        cl_event last = e->is_timed ? e->events[2 * i + 1] : NULL;
        cl_event first = last && e->events[2 * i] ? e->events[2 * i] : last;
        struct rd_command_time *t = &times[i];
        *t = (struct rd_command_time){ 0, 0 };
        if (!last)
            continue;
        if (!known && profile(b, first, CL_PROFILING_COMMAND_QUEUED, &queued)) {
            known = 1;
            ahead = queued - e->submit_ns;
        }
        if (known && profile(b, first, CL_PROFILING_COMMAND_START, &t->begin_ns) &&
            profile(b, last, CL_PROFILING_COMMAND_END, &t->end_ns)) {
            t->begin_ns -= ahead;
            t->end_ns -= ahead;
        } else {
            *t = (struct rd_command_time){ 0, 0 };
        }
    }
}
