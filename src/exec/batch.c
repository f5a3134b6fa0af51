/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with a count; the safety argument is in batch.h. */
#include "src/exec/tuner.h"

#include <string.h>

static int is_active(struct rd_batch *b)
{
    /* Acquire: the last filler has read all it needed of the record. */
    return rd_load_acquire(&b->filled) != rd_load_relaxed(&b->end) + 1; /* end: under the lock */
}

static size_t value_bytes(const struct rd_exec *x, const rondo_value *v, uint64_t count)
{
    const struct rd_exec_param *p = &x->param[rd_exec_param_at(x, v->param)];
    return v->stride_bytes ? (size_t)(count - 1) * v->stride_bytes + p->bytes : p->bytes;
}

/* Room for all that the record copies, before anything is changed. */
static rondo_status make_room(struct rd_exec *x, const rondo_replay_args *args,
                              const struct rd_request *call)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_batch *b = &x->series->batch;
    size_t bytes = x->params_bytes;
    for (uint32_t i = 0; i < call->value_count; i++) {
        size_t more;
        if (__builtin_mul_overflow(args->count, call->value[i].stride_bytes, &more) ||
            __builtin_add_overflow(bytes, value_bytes(x, &call->value[i], args->count), &bytes))
            return rd_error(
                RONDO_ERR_INVALID,
                "exec '%s': values[%u]: %llu values at a stride of %zu bytes do not fit in memory",
                x->program.exec_name, i, (unsigned long long)args->count,
                call->value[i].stride_bytes);
    }
    if (!rd_grow(a, (void **)&b->value, &b->value_capacity, 0, call->value_count,
                 sizeof *b->value) ||
        !rd_grow(a, (void **)&b->bytes, &b->bytes_capacity, 0, bytes, 1) ||
        !rd_grow(a, (void **)&b->after, &b->after_capacity, 0, call->gate_count, sizeof *b->after))
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for the values of %llu replays",
                        x->program.exec_name, (unsigned long long)args->count);
    return RONDO_OK;
}

static rondo_status take_bindings(struct rd_exec *x, struct rd_request *to,
                                  const struct rd_request *from)
{
    to->slot = to->slot_inline;
    to->buffer = to->buffer_inline;
    if (from->binding_count > RD_REQUEST_INLINE) {
        to->room = from->binding_count;
        to->slot = rd_alloc_array(&x->rt->alloc, to->room, sizeof *to->slot);
        to->buffer = rd_alloc_array(&x->rt->alloc, to->room, sizeof *to->buffer);
        if (!to->slot || !to->buffer) {
            rd_request_end(x, to);
            return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for %u bindings",
                            x->program.exec_name, from->binding_count);
        }
    }
    for (uint32_t i = 0; i < from->binding_count; i++) {
        rd_buffer_ref(from->buffer[i]);
        to->slot[i] = from->slot[i];
        to->buffer[i] = from->buffer[i];
    }
    to->binding_count = from->binding_count;
    return RONDO_OK;
}

static void copy_values(struct rd_exec *x, const rondo_replay_args *args,
                        const struct rd_request *call)
{
    struct rd_batch *b = &x->series->batch;
    char *at = b->bytes; /* NULL without parameters */
    if (x->params) {
        memcpy(at, call->sticky, x->params_bytes);
        at += x->params_bytes;
    }
    for (uint32_t i = 0; i < call->value_count; i++) {
        size_t bytes = value_bytes(x, &call->value[i], args->count);
        b->value[i] = call->value[i];
        b->value[i].value = memcpy(at, call->value[i].value, bytes);
        at += bytes;
    }
    if (call->gate_count)
        memcpy(b->after, call->after, call->gate_count * sizeof *b->after);
    b->call.value = b->value;
    b->call.value_count = call->value_count;
    b->call.after = b->after;
    b->call.gate_count = call->gate_count;
    b->call.sticky = b->bytes;
}

/* What of a call is the same for all of its replays. */
static void copy_call(struct rd_request *to, const struct rd_request *from)
{
    to->core = from->core;
    to->fetch = from->fetch;
    if (to->fetch)
        rd_fetch_ref(to->fetch);
    to->first = from->first;
    to->count = from->count;
    to->stop = from->stop;
    to->epoch = from->epoch;
    to->not_before_ns = from->not_before_ns;
    to->deadline_ns = from->deadline_ns;
    to->done = from->done;
    to->context = from->context;
    to->interpreted = from->interpreted;
    to->timed = from->timed;
}

/* With several tracks the last replay of a call may end before others of it. */
static void add_call_done(struct rd_series *s, const struct rd_request *call)
{
    uint32_t n;
    pthread_mutex_lock(&s->call_done_lock);
    n = rd_load_relaxed(&s->call_dones); /* written under the lock; there is room: see series.c */
    s->call_done[n] = (struct rd_call_done){ call->first + call->count, call->done, call->context };
    rd_store_relaxed(&s->call_dones, n + 1);
    pthread_mutex_unlock(&s->call_done_lock);
}

/* Under the lock; the record is not active. */
static rondo_status set_up(struct rd_exec *x, const rondo_replay_args *args,
                           struct rd_request *call, struct rd_source **room, uint64_t *room_count)
{
    struct rd_batch *b = &x->series->batch;
    struct rd_core *c;
    rondo_status status = make_room(x, args, call);
    if (status)
        return status;
    status = take_bindings(x, &b->call, call);
    if (status)
        return status;
    status = rd_exec_take(x, args->count, call, room, room_count);
    if (status) {
        rd_request_end(x, &b->call);
        return status;
    }
    c = call->core;
    copy_values(x, args, call);
    copy_call(&b->call, call);
    if (call->done && c->tracks > 1) {
        add_call_done(x->series, call);
        b->call.done = NULL;
    }
    b->x = x;
    for (uint32_t i = 0; i < c->tracks; i++)
        rd_or_relaxed(&c->track[i].watched,
                      RD_WATCHED); /* ordered by the fence in rd_batch_submit */
    rd_store_relaxed(&b->filled, call->first);
    rd_store_relaxed(&b->floor, c->resume.count);
    rd_store_relaxed(&b->next, call->first);
    rd_store_release(&b->end, call->first + args->count); /* pairs with rd_batch_fill */
    return RONDO_OK;
}

rondo_status rd_batch_submit(struct rd_exec *x, const rondo_replay_args *args,
                             struct rd_request *call, struct rd_source **room, uint64_t *room_count)
{
    struct rd_series *s = x->series;
    struct rd_batch *b = &s->batch;
    rondo_status status;
    pthread_mutex_lock(&b->lock);
    if (is_active(b)) {
        /* Its last frame is filled when the replay a window before it has ended. */
        *room = s->all;
        *room_count = rd_load_relaxed(&b->end) - s->window * (uint64_t)s->tracks;
        if ((int64_t)*room_count <= 0 || rd_source_reached(*room, rd_source_id(*room), *room_count))
            *room_count = rd_load_relaxed(&b->end); /* about to be filled; its end is soon enough */
        status = RONDO_ERR_AGAIN;
    } else {
        status = set_up(x, args, call, room, room_count);
    }
    pthread_mutex_unlock(&b->lock);
    if (status)
        return status;
    rd_fence(); /* orders `end` and `watched` with the look at done; partner: rd_lane_end's fence */
    rd_batch_fill(s);
    return RONDO_OK;
}

/* Whether the frame of ticket i is free: what its track's source has reached is less than a window
 * behind it, or its core ran nothing yet since it came back at ticket `floor`. */
static int has_room(const struct rd_series *s, uint64_t i, uint64_t floor)
{
    uint64_t track = i % s->tracks, count = i / s->tracks;
    uint64_t first = floor > track ? (floor - track - 1) / s->tracks + 1 : 0;
    /* Acquire: the frame's last replay has ended. */
    uint64_t done = rd_load_acquire(&s->source[track]->done);
    return (int64_t)(count - (done > first ? done : first)) < (int64_t)s->window;
}

void rd_batch_fill(struct rd_series *s)
{
    struct rd_batch *b = &s->batch;
    for (;;) {
        uint64_t end = rd_load_acquire(&b->end); /* the record up to it */
        uint64_t i = rd_load_relaxed(&b->next), local;
        struct rd_core *c;
        struct rd_track *t;
        if (i >= end || !has_room(s, i, rd_load_relaxed(&b->floor)))
            return;
        if (!rd_cas_acq_rel(&b->next, &i, i + 1))
            continue;
        c = b->call.core;
        t = rd_core_track(c, i);
        local = rd_core_local(c, t, i);
        rd_frame_fill(b->x, i, &b->call, i - b->call.first);
        rd_frame_publish(t, local);
        rd_fence(); /* orders seq with the look at submit_wake; partner: the workers' before parking
                     */
        rd_track_wake(t);
        /* acq_rel: the last filler has seen that all others are through with the record. */
        if (rd_add_acq_rel(&b->filled, 1) + 1 == end) {
            rd_request_end(b->x, &b->call);
            rd_fetch_unref(b->call.fetch);
            rd_add_acq_rel(&b->filled, 1); /* pairs with is_active */
        }
    }
}

void rd_batch_free(struct rd_series *s)
{
    struct rd_allocator *a = &s->rt->alloc;
    struct rd_batch *b = &s->batch;
    rd_free_array(a, b->value, b->value_capacity, sizeof *b->value);
    rd_free_array(a, b->bytes, b->bytes_capacity, 1);
    rd_free_array(a, b->after, b->after_capacity, sizeof *b->after);
    pthread_mutex_destroy(&b->lock);
}

/* `done` of all tracks together grows over consecutive ended replays. Each track's end stores its
 * own done, fences, and comes here: of two that race, the later one's look sees the other's done.
 */
static void call_done(struct rd_series *s, uint64_t ended)
{
    for (;;) {
        struct rd_call_done d = { 0, NULL, NULL };
        uint32_t n;
        pthread_mutex_lock(&s->call_done_lock);
        n = rd_load_relaxed(&s->call_dones); /* written under the lock */
        for (uint32_t i = 0; i < n && !d.done; i++)
            if (s->call_done[i].end <= ended) {
                d = s->call_done[i];
                s->call_done[i] = s->call_done[n - 1];
                rd_store_relaxed(&s->call_dones, n - 1);
            }
        pthread_mutex_unlock(&s->call_done_lock);
        if (!d.done)
            return;
        d.done(d.context, (rondo_event){ rd_source_id(s->all), d.end });
    }
}

static void gather(struct rd_series *s)
{
    struct rd_source *all = s->all;
    uint64_t g = rd_load_acquire(&all->done);
    int moved = 0;
    while (rd_load_acquire(&s->source[g % s->tracks]->done) > g / s->tracks)
        if (rd_cas_acq_rel(&all->done, &g, g + 1)) { /* acq_rel: carries what both have seen */
            g++;
            moved = 1;
        }
    if (!moved)
        return;
    rd_fence(); /* orders done with the look; partner: a waiter's */
    if (rd_load_relaxed(&all->wake))
        rd_park_wake(&all->wake);
    if (RD_UNLIKELY(rd_load_relaxed(&s->call_dones))) /* added before its call's first frame */
        call_done(s, g);
}

void rd_exec_track_ended(struct rd_track *t)
{
    struct rd_series *s = t->core->series;
    if (RD_UNLIKELY(rd_load_relaxed(&t->watched) & RD_WATCHED_TUNER))
        rd_tuner_ended(t->core->x);
    if (s->tracks > 1)
        gather(s);
    rd_batch_fill(s);
}
