/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments on a queue out of order: a command waits for those that it follows, so that others may
 * run beside it. A move that is several commands of the driver is between barriers: what was
 * enqueued before it runs before it, what comes behind it behind it. Ends name what they wait for
 * where they can: drivers keep lists of who waits for whom, and search them. */
#include "src/device/opencl_state.h"

/* ---- what it needs */

static int follows(const struct rd_command *c, uint32_t command)
{
    /* Ascending: the one just before it is the last. */
    return c->after_count && c->after[c->after_count - 1] == command;
}

int rd_opencl_wide_can(const struct rd_segment *s)
{
    int any = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rd_command *c = &s->command[i];
        if (c->kind == RD_COMMAND_LAUNCH) /* its function is given a queue in order */
            return 0;
        any |= i && c->kind == RD_COMMAND_KERNEL && c[-1].kind == RD_COMMAND_KERNEL &&
               !follows(c, i - 1);
    }
    return any && s->queue->device->wide;
}

/* The most commands that one follows, or that nothing follows. */
static uint32_t most_waits(const struct rd_segment *s)
{
    uint32_t most = 0, ends = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->command[i].after_count > most)
            most = s->command[i].after_count;
        ends += !s->node[i].followed;
    }
    return ends > most ? ends : most;
}

rondo_status rd_opencl_wide_new(struct rd_segment *s)
{
    const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES,
                                               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
    struct rd_queue *q = s->queue;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->command[i].after_count; k++)
            s->node[s->command[i].after[k]].followed = 1;
    s->waits = most_waits(s);
    s->wait = rd_zalloc_array(q->device->backend->alloc, s->waits, sizeof *s->wait);
    if (!s->wait)
        return rd_opencl_no_memory(s);
    return q->wide ? RONDO_OK : rd_opencl_make_queue(q->device, properties, &q->wide);
}

void rd_opencl_wide_free(struct rd_segment *s)
{
    rd_free_array(s->queue->device->backend->alloc, s->wait, s->waits, sizeof *s->wait);
}

/* ---- one submission */

struct trip {
    struct rd_segment *s;
    const struct rd_segment_call *call;
    struct rd_opencl_entry *e;
    uint32_t since; /* the first command behind the last barrier */
};

static cl_event *event_of(const struct trip *t, uint32_t command)
{
    return &t->e->events[2 * command + 1];
}

static int is_one(const struct trip *t, uint32_t command)
{
    struct rd_opencl_move m;
    if (t->s->command[command].kind == RD_COMMAND_KERNEL)
        return 1;
    m = rd_opencl_move_of(t->s, t->call, command);
    return rd_opencl_move_is_one(t->s->queue->device, &m);
}

/* One command of the driver's. One that moves nothing this time hands on what it waits for. */
static rondo_status enqueue_one(struct trip *t, uint32_t command, int runs)
{
    struct rd_segment *s = t->s;
    const struct rd_command *c = &s->command[command];
    struct rd_opencl_at at = { .queue = s->queue->wide, .last = event_of(t, command) };
    for (uint32_t i = 0; i < c->after_count; i++)
        if (c->after[i] >= t->since && *event_of(t, c->after[i]))
            s->wait[at.waits++] = *event_of(t, c->after[i]);
    at.wait = at.waits ? s->wait : NULL;
    if (runs)
        return rd_opencl_enqueue(s, t->call, command, at);
    return at.waits ? rd_opencl_marker(s->queue, at) : RONDO_OK;
}

static rondo_status enqueue_several(struct trip *t, uint32_t command)
{
    struct rd_queue *q = t->s->queue;
    const struct rd_opencl_at at = { .queue = q->wide };
    rondo_status status = t->since < command ? rd_opencl_barrier(q, q->wide, NULL) : RONDO_OK;
    t->since = command + 1;
    if (!status)
        status = rd_opencl_enqueue(t->s, t->call, command, at);
    return status ? status : rd_opencl_barrier(q, q->wide, NULL);
}

/* The event behind all: what nothing follows, which is behind the last barrier if there is any. */
static rondo_status enqueue_end(struct trip *t)
{
    struct rd_segment *s = t->s;
    struct rd_opencl_at at = { .queue = s->queue->wide, .last = &t->e->last };
    cl_event *end = NULL;
    for (uint32_t i = t->since; i < s->count; i++)
        if (!s->node[i].followed && *event_of(t, i)) {
            end = event_of(t, i);
            s->wait[at.waits++] = *end;
        }
    at.wait = at.waits ? s->wait : NULL;
    if (at.waits != 1)
        return rd_opencl_marker(s->queue, at);
    t->e->last = *end;
    *end = NULL;
    return RONDO_OK;
}

rondo_status rd_opencl_wide_enqueue(struct rd_segment *s, const struct rd_segment_call *call,
                                    struct rd_opencl_entry *e, uint32_t *command)
{
    struct rd_queue *q = s->queue;
    struct trip t = { s, call, e, 0 };
    rondo_status status = rd_opencl_follow(q, q->wide);
    if (!status && s->params) {
        status = rd_opencl_send_params(s, call, q->wide);
        if (!status)
            status = rd_opencl_barrier(q, q->wide, NULL);
    }
    for (uint32_t i = 0; i < s->count && !status; i++) {
        const int runs = rd_opencl_runs(s, call, i);
        *command = i;
        status = !runs || is_one(&t, i) ? enqueue_one(&t, i, runs) : enqueue_several(&t, i);
    }
    if (status)
        return status;
    *command = s->count;
    return enqueue_end(&t);
}
