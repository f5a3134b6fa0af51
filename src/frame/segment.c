/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the ops of a segment: the submit that hands it over, the settle that waits for its end, and
 * what its members are told of both. */
#include "src/frame/segment.h"

#include "src/base/error.h"
#include "src/frame/node_kinds.h"
#include "src/frame/program.h"
#include "src/frame/stats.h"
#include "src/trace/spans.h"
#include "subgraph/subgraph.h"

#include <stdio.h>
#include <string.h>

/* ---- failing for a member */

static int fail(struct rd_self *self, uint32_t node, rondo_status status)
{
    self->blame = node + 1;
    self->blame_status = status;
    return 1;
}

static int fail_lost(struct rd_self *self, const struct rd_segment_run *r, const char *why)
{
    const struct rd_segment_queue *q = r->queue;
    rd_store_relaxed(&q->device->lost, 1); /* a hint to other execs; each sees it by itself */
    rd_node_fail(self, "%s: RONDO_GPU(%u) '%.32s' is lost: %.80s", r->text, q->device->number,
                 q->device->hardware.name, why);
    return fail(self, r->lead, RONDO_ERR_DEVICE_LOST);
}

static int is_lost(const struct rd_segment_queue *q)
{
    /* Acquire: `why`; pairs with rd_progress_fail. */
    return rd_load_acquire(&((struct rd_segment_queue *)(uintptr_t)q)->progress.failed) != 0;
}

/* ---- what of a segment runs */

static int check_counts(struct rd_self *self, const struct rd_segment_member *m)
{
    int64_t count[3];
    char why[128];
    memcpy(count, self->view.params + m->count_at, m->count_values * sizeof *count);
    if (rd_move_counts_fit(count, m->count_values, m->count, why, sizeof why))
        return 1;
    rd_node_fail(self, "%s", why);
    fail(self, m->node, RONDO_OK);
    return 0;
}

/* Fills `skip`; *some: a member runs. 0: one that would run fails. */
static int choose(struct rd_self *self, const struct rd_segment_run *r, uint8_t *skip, int *some)
{
    *some = 0;
    for (uint32_t i = 0; i < r->members; i++) {
        const struct rd_segment_member *m = &r->member[i];
        skip[i] = m->off || !rd_node_holds(m->when, m->when_count, self);
        *some |= !skip[i];
        if (!skip[i] && m->count_values && !check_counts(self, m))
            return 0;
    }
    return 1;
}

/* ---- handing over */

int rd_segment_launch(void *member, const struct rd_segment_call *call, void *native_queue)
{
    const struct rd_segment_member *m = member;
    struct rd_self *self = call->context;
    const uint32_t *node = self->view.node;
    int code;
    rd_node_patch(m->arg, m->patch, m->patch_count, self);
    self->view.node = &m->node;
    self->view.stream = native_queue;
    code = m->fn(&self->view, m->arg);
    self->view.stream = NULL;
    self->view.node = node;
    if (code && !self->told)
        rd_node_fail(self, "returned %d", code);
    return code;
}

static rondo_status hand_over(const struct rd_segment_run *r, int step,
                              struct rd_segment_call *call, uint32_t *command)
{
    struct rd_segment_queue *q = r->queue;
    const struct rd_backend_ops *ops = q->device->ops;
    rondo_status status;
    pthread_mutex_lock(&q->lock);
    call->value = q->value + 1;
    status = step ? ops->segment_step(r->segment, call, command)
                  : ops->segment_submit(r->segment, call, command);
    if (!status)
        q->value = call->value;
    pthread_mutex_unlock(&q->lock);
    return status;
}

static int failed(struct rd_self *self, const struct rd_segment_run *r, rondo_status status,
                  uint32_t command)
{
    const uint32_t node = command < r->members ? r->member[command].node : r->lead;
    if (status == RONDO_ERR_DEVICE_LOST)
        rd_store_relaxed(&r->queue->device->lost, 1); /* as in fail_lost */
    if (!self->told)
        rd_node_fail(self, "%.200s", rd_error_text());
    return fail(self, node, status == RONDO_ERR_DEVICE_LOST ? status : RONDO_OK);
}

int rd_node_submit(struct rd_self *self, const struct rd_node_work *w)
{
    const struct rd_segment_run *r = w->segment;
    struct rd_frame *f = self->frame;
    struct rd_pend *settle = rd_node_pend(f, r->settle_pend);
    const uint32_t frame = (uint32_t)(f - self->lane->track->ring);
    struct rd_segment_call call = { .base = self->view.base,
                                    .params = self->view.params,
                                    .skip = r->skip + (size_t)frame * r->members,
                                    .frame = frame,
                                    .timed = (f->slow & RD_SLOW_TIMED) != 0,
                                    .context = self };
    uint32_t command = r->members;
    rondo_status status;
    int some;
    if (is_lost(r->queue))
        return fail_lost(self, r, r->queue->progress.why);
    if (rd_load_relaxed(&r->queue->device->lost)) /* a hint: what is submitted all the same fails */
        return fail_lost(self, r, "it failed before");
    if (!choose(self, r, r->skip + (size_t)frame * r->members, &some))
        return 1;
    if (some) {
        status = hand_over(r, f->interpreted, &call, &command);
        if (status)
            return failed(self, r, status, command);
    }
    /* Relaxed, both: published with this op. */
    rd_store_relaxed(&settle->more[RD_PEND_ENDED], some ? call.value : 0);
    rd_node_set_stage(settle, RD_STAGE_BEGUN);
    return 0;
}

/* ---- the end */

static void note_spans(struct rd_self *self, const struct rd_segment_run *r)
{
    const struct rd_program *p = self->program;
    struct rd_trace *trace = self->lane->track->trace;
    struct rd_segment_queue *q = r->queue;
    const struct rd_spans_owner owner = { .key = p,
                                          .exec = p->exec_name,
                                          .names = p->names,
                                          .names_bytes = p->names_bytes,
                                          .name = p->name,
                                          .tag = p->tag,
                                          .nodes = p->nodes,
                                          .tracks = 1,
                                          .device = q->device->number + 1,
                                          .on_device = 1 };
    pthread_mutex_lock(&q->lock);
    for (uint32_t i = 0; i < r->members; i++) {
        struct rd_span span = { r->times[i].begin_ns, r->times[i].end_ns, self->frame->replay,
                                r->member[i].node };
        if (!span.begin_ns || (q->spans && rd_spans_note(q->spans, &span)))
            continue;
        rd_spans_release(q->spans); /* none yet, or of a trace that has stopped */
        q->spans = rd_spans_new(trace, &owner);
        if (q->spans)
            rd_spans_note(q->spans, &span);
    }
    pthread_mutex_unlock(&q->lock);
}

void rd_segment_queue_end(struct rd_segment_queue *q)
{
    rd_spans_release(q->spans);
    q->spans = NULL;
}

static void note_times(struct rd_self *self, const struct rd_segment_run *r)
{
    const struct rd_program *p = self->program;
    const struct rd_track *t = self->lane->track;
    r->queue->device->ops->segment_times(r->segment, (uint32_t)(self->frame - t->ring), r->times);
    for (uint32_t i = 0; i < r->members; i++) {
        const struct rd_command_time *time = &r->times[i];
        if (time->begin_ns && p->stats)
            rd_stats_note(p->stats, r->member[i].node, (uint64_t)(time->end_ns - time->begin_ns),
                          0);
    }
    if (t->trace && rd_tracing(t->trace))
        note_spans(self, r);
}

int rd_node_settle(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own)
{
    const struct rd_segment_run *r = w->segment;
    struct rd_source *s = r->queue->progress.source;
    /* Relaxed: the submit published it. */
    const uint64_t value = rd_load_relaxed(&own->more[RD_PEND_ENDED]);
    if (!value)
        return 0;
    if (rd_load_acquire(&s->done) < value) { /* pairs with rd_progress_reach: the device's writes */
        self->unmet = (struct rd_unmet){ &s->done, value, &s->wake, &s->at, 0 };
        return RD_PENDING;
    }
    if (RD_UNLIKELY(is_lost(r->queue)))
        return fail_lost(self, r, r->queue->progress.why);
    if (self->frame->slow & RD_SLOW_TIMED)
        note_times(self, r);
    return 0;
}

/* ---- members */

int rd_segment_member_run(rondo_task *self, const void *arg)
{
    (void)arg;
    ((struct rd_self *)self)->skipped = 1; /* its settle has noted its times */
    return 0;
}
