/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a segment goes to the device.
 *
 * Node by node in order is always possible, and the best for chains of small kernels. A command
 * buffer can be faster, and is not always (PoCL: mostly slower); out of order pays where kernels
 * that nothing orders leave units idle, and costs events. So they are tried: the first submissions
 * of which nothing else is in the queue go each way in turn, the rest in order, and the fastest
 * stays. They are replays like any other: a trial costs no work that is not wanted.
 *
 * A timed call, and one that skips a node, goes in order. */
#include "src/base/heap.h"
#include "src/base/os.h"
#include "src/device/opencl_state.h"

#include <string.h>

enum {
    TRIAL_MAX = 400,   /* submissions, if few of them find the queue empty */
    HOPELESS_AFTER = 2 /* samples that are all twice as long as in order */
};

static int is_wanted(const struct rd_segment *s, enum rd_opencl_way way)
{
    const enum rd_opencl_way wanted = s->queue->device->backend->way;
    return wanted == way || wanted == RD_OPENCL_TRIAL;
}

static void settle(struct rd_segment *s, enum rd_opencl_way way)
{
    rd_store_relaxed(&s->trial.way, way); /* for descriptions */
}

/* Another way than in order is out of question. */
static void drop(struct rd_segment *s, unsigned way)
{
    struct rd_opencl_trial *t = &s->trial;
    t->can[way] = 0;
    if (rd_load_relaxed(&t->way) == way ||
        !(t->can[RD_OPENCL_RECORDED] || t->can[RD_OPENCL_OUT_OF_ORDER]))
        settle(s, RD_OPENCL_IN_ORDER);
}

rondo_status rd_opencl_trial_new(struct rd_segment *s)
{
    struct rd_opencl_trial *t = &s->trial;
    rondo_status status = RONDO_OK;
    t->can[RD_OPENCL_IN_ORDER] = 1;
    if (is_wanted(s, RD_OPENCL_RECORDED) && rd_opencl_record_can(s)) {
        t->can[RD_OPENCL_RECORDED] = 1;
        status = rd_opencl_record_new(s);
    }
    if (!status && is_wanted(s, RD_OPENCL_OUT_OF_ORDER) && rd_opencl_wide_can(s)) {
        t->can[RD_OPENCL_OUT_OF_ORDER] = 1;
        status = rd_opencl_wide_new(s);
    }
    if (t->can[RD_OPENCL_RECORDED] || t->can[RD_OPENCL_OUT_OF_ORDER])
        settle(s, s->queue->device->backend->way);
    return status;
}

/* ---- samples */

static int is_shorter(const void *a, const void *b)
{
    return *(const int64_t *)a < *(const int64_t *)b;
}

static int64_t middle(struct rd_opencl_trial *t, unsigned way)
{
    rd_heap_sort(t->took_ns[way], RD_OPENCL_SAMPLES, sizeof(int64_t), is_shorter);
    return t->took_ns[way][RD_OPENCL_SAMPLES / 2];
}

static int is_over(const struct rd_opencl_trial *t)
{
    for (unsigned way = 0; way < RD_OPENCL_WAYS; way++)
        if (t->can[way] && t->samples[way] < RD_OPENCL_SAMPLES)
            return 0;
    return 1;
}

/* Another way than in order has to be clearly faster: by a tenth, in the middle of all samples. */
static enum rd_opencl_way fastest(struct rd_opencl_trial *t)
{
    int64_t limit = middle(t, RD_OPENCL_IN_ORDER) * 9 / 10;
    unsigned best = RD_OPENCL_IN_ORDER;
    for (unsigned way = 1; way < RD_OPENCL_WAYS; way++)
        if (t->can[way] && middle(t, way) < limit) {
            limit = middle(t, way);
            best = way;
        }
    return (enum rd_opencl_way)best;
}

static int64_t least(const struct rd_opencl_trial *t, unsigned way)
{
    int64_t ns = INT64_MAX;
    for (uint32_t i = 0; i < t->samples[way]; i++)
        ns = t->took_ns[way][i] < ns ? t->took_ns[way][i] : ns;
    return ns;
}

/* A driver may be so slow on a way that nobody wants to wait for the rest of its samples. */
static int is_hopeless(const struct rd_opencl_trial *t, unsigned way)
{
    return t->samples[way] >= HOPELESS_AFTER && t->samples[RD_OPENCL_IN_ORDER] &&
           least(t, way) / 2 > least(t, RD_OPENCL_IN_ORDER);
}

/* How long the entry's last submission took, if that is wanted. */
static void take_sample(struct rd_segment *s, struct rd_opencl_entry *e)
{
    struct rd_opencl_trial *t = &s->trial;
    int way = e->trial - 1;
    e->trial = 0;
    if (way < 0 || rd_load_relaxed(&t->way) != RD_OPENCL_TRIAL ||
        t->samples[way] == RD_OPENCL_SAMPLES)
        return;
    t->took_ns[way][t->samples[way]++] = e->end_ns - e->submit_ns;
    if (way != RD_OPENCL_IN_ORDER && is_hopeless(t, (unsigned)way))
        drop(s, (unsigned)way);
    else if (is_over(t))
        settle(s, fastest(t));
}

/* The way after this one. */
static unsigned next_way(const struct rd_opencl_trial *t, unsigned way)
{
    do
        way = (way + 1) % RD_OPENCL_WAYS;
    while (!t->can[way]);
    return way;
}

/* Each way in turn, where the queue is empty: else there is nothing to learn. */
static enum rd_opencl_way try_one(struct rd_segment *s, struct rd_opencl_entry *e)
{
    struct rd_opencl_trial *t = &s->trial;
    if (++t->tried > TRIAL_MAX)
        settle(s, RD_OPENCL_IN_ORDER);
    if (t->tried > TRIAL_MAX || !rd_opencl_is_idle(s->queue))
        return RD_OPENCL_IN_ORDER;
    t->turn = next_way(t, t->turn);
    e->trial = 1 + (int)t->turn;
    e->submit_ns = rd_os.now_ns();
    return (enum rd_opencl_way)t->turn;
}

/* ---- which way */

static int skips_any(const struct rd_segment *s, const struct rd_segment_call *call)
{
    return call->skip && memchr(call->skip, 1, s->count) != NULL;
}

enum rd_opencl_way rd_opencl_way_of(struct rd_segment *s, const struct rd_segment_call *call,
                                    struct rd_opencl_entry *e, rondo_status *status)
{
    struct rd_opencl_trial *t = &s->trial;
    const int always = s->queue->device->backend->way == RD_OPENCL_RECORDED;
    int ready = 0;
    *status = RONDO_OK;
    /* Relaxed, here and below: by this thread, in turn. */
    if (rd_load_relaxed(&t->way) == RD_OPENCL_IN_ORDER)
        return RD_OPENCL_IN_ORDER;
    take_sample(s, e);
    if (call->timed || skips_any(s, call))
        return RD_OPENCL_IN_ORDER;
    if (t->can[RD_OPENCL_RECORDED]) {
        ready = rd_opencl_record_ready(s, call, always, &t->can[RD_OPENCL_RECORDED], status);
        if (*status && always)
            return RD_OPENCL_RECORDED;
        if (*status || !t->can[RD_OPENCL_RECORDED])
            drop(s, RD_OPENCL_RECORDED);
        *status = RONDO_OK; /* it goes on without */
    }
    switch (rd_load_relaxed(&t->way)) {
    case RD_OPENCL_TRIAL:
        return t->can[RD_OPENCL_RECORDED] && !ready ? RD_OPENCL_IN_ORDER : try_one(s, e);
    case RD_OPENCL_RECORDED: return ready ? RD_OPENCL_RECORDED : RD_OPENCL_IN_ORDER;
    case RD_OPENCL_OUT_OF_ORDER: return RD_OPENCL_OUT_OF_ORDER;
    default: return RD_OPENCL_IN_ORDER;
    }
}
