/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes when an op began and ended, and hands it to the check if there is one. Spans are made by
 * the lane's first traced op: its driver has the seat, and no other op needs to allocate. */
#include "src/frame/slow.h"

#include "src/base/os.h"
#include "src/frame/program.h"
#include "src/frame/stats.h"
#include "src/trace/spans.h"

static RD_NOINLINE struct rd_spans *renew_spans(struct rd_lane *l)
{
    const struct rd_track *t = l->track;
    const struct rd_program *p = l->self.program;
    const rondo_processor on = l->self.view.processor;
    struct rd_spans_owner owner = { .key = p,
                                    .exec = p->exec_name,
                                    .names = p->names,
                                    .names_bytes = p->names_bytes,
                                    .name = p->name,
                                    .tag = p->tag,
                                    .nodes = t->plan->nodes,
                                    .lane = l->number,
                                    .track = t->number,
                                    .tracks = t->tracks,
                                    .processor = l->processor,
                                    .device = on >= RONDO_GPU(0) ? on - RONDO_GPU(0) + 1 : 0 };
    rd_spans_release(l->spans);
    l->spans = rd_spans_new(t->trace, &owner);
    return l->spans;
}

static void note_span(struct rd_lane *l, const struct rd_frame *f, uint32_t node, int64_t begin,
                      int64_t end)
{
    struct rd_span span = { begin, end, f->replay, node };
    if (RD_LIKELY(l->spans != NULL) && RD_LIKELY(rd_spans_note(l->spans, &span)))
        return;
    /* None yet, or of a trace that has stopped. */
    if (renew_spans(l))
        rd_spans_note(l->spans, &span);
    l->noted_ns = 0; /* that took its time */
}

static int call(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    struct rd_check *check = f->slow & RD_SLOW_CHECK ? l->track->check : NULL;
    int code;
    if (!check)
        return e->fn(&l->self.view, e->arg);
    check->before(check, l, f, e);
    code = e->fn(&l->self.view, e->arg);
    return check->after(check, l, f, e, code);
}

static int timed(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    const struct rd_program *p = l->self.program;
    uint32_t pend = p->pend_of ? p->pend_of[e->node] : 0;
    int64_t *first = pend ? &f->pend[pend - 1].begin_ns : NULL, begin, end;
    int code;
    begin = first && *first ? *first : l->noted_ns ? l->noted_ns : rd_os.now_ns();
    code = call(l, f, e);
    if (RD_UNLIKELY(code == RD_PENDING)) {
        if (first)
            *first = begin; /* timed from its first call to its end */
        l->noted_ns = 0;
        return code;
    }
    l->noted_ns = end = rd_os.now_ns();
    if (first)
        *first = 0;
    if (RD_UNLIKELY(code == RD_CALLED_OFF) || l->self.skipped)
        return code;
    /* With fixed lanes and one track a node belongs to one lane, whose drivers take turns. */
    if (p->stats)
        rd_stats_note(p->stats, e->node, (uint64_t)(end - begin),
                      l->track->tracks == 1 && !l->track->flow);
    if (l->track->trace && rd_tracing(l->track->trace))
        note_span(l, f, e->node, begin, end);
    return code;
}

int rd_slow_call(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    l->self.view.node = &e->node;
    l->self.skipped = 0;
    return f->slow & RD_SLOW_TIMED ? timed(l, f, e) : call(l, f, e);
}

void rd_slow_end(struct rd_lane *l)
{
    rd_spans_release(l->spans);
    l->spans = NULL;
}
