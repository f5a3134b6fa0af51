/* SPDX-License-Identifier: BSD-3-Clause */
/* What running ops do about failures: records them, keeps later ops from running, stops calls. What
 * is told of all that is src/frame/outcome.c's. */
#include "src/frame/failure.h"

#include "src/base/error.h"
#include "src/frame/outcome.h"
#include "src/machine/keeper.h"

#include <stdio.h>
#include <string.h>

RD_NOINLINE enum rd_badness rd_badness_now(const struct rd_track *t, const struct rd_frame *f,
                                           uint64_t bad)
{
    if (f->stop && f->replay > rd_load_relaxed(f->stop))
        return RD_BAD_STOPPED;
    if (bad >> RD_REPLAY_BITS != f->epoch + 1ull)
        return RD_BAD_NONE;
    if (t->failures->run_on)
        return rd_load_relaxed(&f->dirty) ? RD_BAD_HERE : RD_BAD_NONE;
    bad &= RD_REPLAY_MASK;
    return bad > f->replay ? RD_BAD_NONE : bad == f->replay ? RD_BAD_HERE : RD_BAD_BEFORE;
}

int rd_has_bad_predecessor(const struct rd_track *t, const struct rd_frame *f, uint32_t node)
{
    const uint32_t *pred;
    uint32_t count = rd_plan_preds_of(t->plan, f->variant, node, &pred);
    for (uint32_t i = 0; i < count; i++)
        /* Relaxed: the predecessor's publish was acquired, directly or along a chain. */
        if (rd_load_relaxed(&f->bad[pred[i] / 64]) >> pred[i] % 64 & 1)
            return 1;
    return 0;
}

static void set_failure(struct rd_failure *k, const struct rd_lane *l, const struct rd_frame *f,
                        uint32_t node, rondo_status status)
{
    const struct rd_program *p = l->self.program;
    k->replay = f->replay;
    k->call_end = f->call_end;
    k->epoch = f->epoch;
    k->node = node;
    k->status = status;
    k->tag = p->tag ? p->tag[node] : 0;
    snprintf(k->name, sizeof k->name, "%s", rd_program_name(p, node));
    snprintf(k->message, sizeof k->message, "%s", l->self.message);
}

/* Of several failures in one replay the node recorded first is told: the same in every mode. */
static void keep(struct rd_failures *fs, const struct rd_lane *l, const struct rd_frame *f,
                 uint32_t node, rondo_status status)
{
    struct rd_failure *k = rd_failures_find(fs, f->replay);
    if (!k)
        k = &fs->kept[fs->kept_count++ % RD_KEPT_FAILURES];
    else if (k->node <= node)
        return;
    set_failure(k, l, f, node, status);
}

static void note_epoch(struct rd_failures *fs, const struct rd_frame *f)
{
    struct rd_epoch_failure *last =
        fs->epoch_count ? &fs->epoch[(fs->epoch_count - 1) % RD_KEPT_FAILURES] : NULL;
    uint64_t before = 0;
    if (last && last->epoch == f->epoch) {
        if (f->replay < last->replay)
            last->replay = f->replay;
        return;
    }
    if (last) /* epochs are serial to each other: the last one's least failure is final */
        before = last->cancelled_before + last->end - last->replay - 1;
    last = &fs->epoch[fs->epoch_count++ % RD_KEPT_FAILURES];
    last->epoch = f->epoch;
    last->replay = f->replay;
    /* An epoch that is over has replays in flight, so its entry is still there. */
    last->end =
        f->epoch == fs->epoch_now ? UINT64_MAX : fs->epoch_first[(f->epoch + 1) & fs->epoch_mask];
    last->cancelled_before = before;
}

static void lower_bad(struct rd_failures *fs, const struct rd_frame *f)
{
    uint64_t bad = rd_load_relaxed(&fs->bad),
             mine = (f->epoch + 1ull) << RD_REPLAY_BITS | f->replay;
    /* Relaxed: carried along by the publish that follows. */
    while (!bad || bad >> RD_REPLAY_BITS < mine >> RD_REPLAY_BITS ||
           (bad >> RD_REPLAY_BITS == mine >> RD_REPLAY_BITS && bad > mine))
        if (rd_cas_relaxed(&fs->bad, &bad, mine))
            return;
}

/* Records what self->message says of the node. */
static void record(struct rd_lane *l, struct rd_frame *f, uint32_t node, rondo_status status)
{
    struct rd_failures *fs = l->track->failures;
    pthread_mutex_lock(&fs->lock);
    keep(fs, l, f, node, status);
    if (!fs->run_on)
        note_epoch(fs, f);
    if (f->epoch == fs->epoch_now && (!fs->has_first || f->replay < fs->first.replay ||
                                      (f->replay == fs->first.replay && node < fs->first.node))) {
        fs->has_first = 1;
        set_failure(&fs->first, l, f, node, status);
    }
    pthread_mutex_unlock(&fs->lock);
}

/* Of a team some ranks were skipped, so the others are: their node is bad. The lane that skipped
 * tells why, but may not have done so yet; whoever runs after this op must see that something is
 * bad. Of a replay that does not take place nothing is. */
static void called_off(struct rd_lane *l, struct rd_frame *f, uint32_t bit)
{
    rd_mark_bad(f, bit);
    if (rd_badness(l->track, f) == RD_BAD_NONE)
        lower_bad(l->track->failures, f);
}

RD_NOINLINE void rd_frame_fail(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node,
                               int code)
{
    struct rd_self *self = &l->self;
    if (code == RD_CALLED_OFF && rd_may_pend(self->program, node)) {
        called_off(l, f, bit);
        return;
    }
    if (!self->told)
        snprintf(self->message, sizeof self->message, "returned %d", code);
    self->told = 0;
    record(l, f, self->blame ? self->blame - 1 : node,
           self->blame_status ? self->blame_status : RONDO_ERR_FAILED);
    self->blame = 0;
    self->blame_status = RONDO_OK;
    rd_mark_bad(f, bit);
    lower_bad(l->track->failures, f);
}

RD_NOINLINE void rd_frame_late(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node)
{
    snprintf(l->self.message, sizeof l->self.message,
             "had not begun at the replay's deadline, %lld ns", (long long)f->deadline_ns);
    record(l, f, node, RONDO_ERR_DEADLINE);
    rd_mark_bad(f, bit);
    lower_bad(l->track->failures, f);
}

RD_NOINLINE void rd_frame_unfit(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node)
{
    snprintf(l->self.message, sizeof l->self.message, "%s", f->fetch->why);
    record(l, f, node, f->fetch->status);
    rd_mark_bad(f, bit);
    lower_bad(l->track->failures, f);
}

RD_NOINLINE void rd_frame_stop(const struct rd_track *t, struct rd_frame *f, uint32_t lag)
{
    uint64_t last = f->replay + lag, none = 0;
    uint64_t first = last + 1 < f->call_end ? last + 1 : f->call_end;
    rd_failures_note_stop(t->failures, first, f->call_end);
    if (f->stop) {
        uint64_t now = rd_load_relaxed(f->stop);
        /* Relaxed: published with the op. */
        while (now > last && !rd_cas_relaxed(f->stop, &now, last))
            ;
    }
    rd_cas_relaxed(&t->failures->bad, &none, RD_BAD_STOP);
}
