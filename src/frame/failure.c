/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/frame/failure.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

int rd_has_bad_predecessor(const struct rd_track *t, const struct rd_frame *f, uint32_t node)
{
    const struct rd_plan *plan = t->plan;
    for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++) {
        uint32_t bit = plan->pred[i];
        /* Relaxed: the predecessor's publish was acquired, directly or along a chain. */
        if (rd_load_relaxed(&f->bad[bit / 64]) >> bit % 64 & 1)
            return 1;
    }
    return 0;
}

static struct rd_failure *find_kept(struct rd_failures *fs, uint64_t replay)
{
    uint64_t first = fs->kept_count > RD_KEPT_FAILURES ? fs->kept_count - RD_KEPT_FAILURES : 0;
    for (uint64_t i = fs->kept_count; i > first; i--)
        if (fs->kept[(i - 1) % RD_KEPT_FAILURES].replay == replay)
            return &fs->kept[(i - 1) % RD_KEPT_FAILURES];
    return NULL;
}

static void set_failure(struct rd_failure *k, const struct rd_frame *f, uint32_t node,
                        const char *message)
{
    k->replay = f->replay;
    k->epoch = f->epoch;
    k->node = node;
    snprintf(k->message, sizeof k->message, "%s", message);
}

/* Of several failures in one replay the node recorded first is told: the same in every mode. */
static void keep(struct rd_failures *fs, const struct rd_frame *f, uint32_t node,
                 const char *message)
{
    struct rd_failure *k = find_kept(fs, f->replay);
    if (!k)
        k = &fs->kept[fs->kept_count++ % RD_KEPT_FAILURES];
    else if (k->node <= node)
        return;
    set_failure(k, f, node, message);
}

static uint64_t epoch_end(const struct rd_failures *fs, uint32_t epoch)
{
    return epoch == fs->epoch_now ? UINT64_MAX : fs->epoch_first[(epoch + 1) & fs->epoch_mask];
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
        before = last->cancelled_before + epoch_end(fs, last->epoch) - last->replay - 1;
    last = &fs->epoch[fs->epoch_count++ % RD_KEPT_FAILURES];
    last->epoch = f->epoch;
    last->replay = f->replay;
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

RD_NOINLINE void rd_frame_fail(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node,
                               int code)
{
    struct rd_failures *fs = l->track->failures;
    struct rd_self *self = &l->self;
    if (!self->told)
        snprintf(self->message, sizeof self->message, "returned %d", code);
    self->told = 0;
    pthread_mutex_lock(&fs->lock);
    keep(fs, f, node, self->message);
    if (!fs->run_on)
        note_epoch(fs, f);
    if (f->epoch == fs->epoch_now && (!fs->has_first || f->replay < fs->first.replay ||
                                      (f->replay == fs->first.replay && node < fs->first.node))) {
        fs->has_first = 1;
        set_failure(&fs->first, f, node, self->message);
    }
    pthread_mutex_unlock(&fs->lock);
    rd_mark_bad(f, bit);
    lower_bad(fs, f);
}

rondo_status rd_failures_init(struct rd_failures *fs, struct rd_allocator *a, uint32_t epoch_room)
{
    fs->epoch_first = rd_zalloc_array(a, epoch_room, sizeof *fs->epoch_first);
    if (!fs->epoch_first)
        return rd_error(RONDO_ERR_MEMORY, "exec: no memory for %u epochs", epoch_room);
    fs->epoch_mask = epoch_room - 1;
    pthread_mutex_init(&fs->lock, NULL);
    return RONDO_OK;
}

void rd_failures_end(struct rd_failures *fs, struct rd_allocator *a)
{
    if (!fs->epoch_first)
        return;
    pthread_mutex_destroy(&fs->lock);
    rd_free_array(a, fs->epoch_first, fs->epoch_mask + 1ull, sizeof *fs->epoch_first);
}

void rd_failures_new_epoch(struct rd_failures *fs, uint64_t first_replay)
{
    fs->epoch_now++;
    fs->epoch_first[fs->epoch_now & fs->epoch_mask] = first_replay;
    fs->has_first = 0;
}

/* The latest epoch that failed before `replay`, among those kept. */
static const struct rd_epoch_failure *epoch_before(const struct rd_failures *fs, uint64_t replay)
{
    uint64_t first = fs->epoch_count > RD_KEPT_FAILURES ? fs->epoch_count - RD_KEPT_FAILURES : 0;
    for (uint64_t i = fs->epoch_count; i > first; i--) {
        const struct rd_epoch_failure *e = &fs->epoch[(i - 1) % RD_KEPT_FAILURES];
        if (e->replay < replay)
            return e;
    }
    return NULL;
}

uint64_t rd_failures_cancelled_before(const struct rd_failures *fs, uint64_t replay)
{
    const struct rd_epoch_failure *e = epoch_before(fs, replay);
    uint64_t end;
    if (!e)
        return 0;
    end = epoch_end(fs, e->epoch);
    return e->cancelled_before + (replay < end ? replay : end) - e->replay - 1;
}

static void tell(const struct rd_program *p, const struct rd_failure *k, rondo_result *result)
{
    result->tag = p->tag ? p->tag[k->node] : 0;
    snprintf(result->node, sizeof result->node, "%s", rd_program_name(p, k->node));
    snprintf(result->message, sizeof result->message, "%s", k->message);
}

static void tell_cancelled(struct rd_failures *fs, const struct rd_program *p, uint64_t by,
                           rondo_result *result)
{
    const struct rd_failure *k = find_kept(fs, by);
    result->status = RONDO_ERR_CANCELLED;
    if (k)
        tell(p, k, result);
    snprintf(result->message, sizeof result->message, "cancelled: replay %llu failed%s%.120s",
             (unsigned long long)by, k ? ": " : "", k ? k->message : "");
}

rondo_status rd_failures_result(struct rd_failures *fs, const struct rd_program *p, uint64_t replay,
                                uint64_t latest, rondo_result *result)
{
    const struct rd_epoch_failure *e;
    const struct rd_failure *k;
    rondo_status status = RONDO_OK;
    memset(result, 0, sizeof *result);
    result->replay = replay;
    pthread_mutex_lock(&fs->lock);
    k = find_kept(fs, replay);
    e = epoch_before(fs, replay);
    result->replays_run = replay + 1 - rd_failures_cancelled_before(fs, replay + 1);
    if (k) {
        result->status = RONDO_ERR_FAILED;
        tell(p, k, result);
    } else if (e && replay < epoch_end(fs, e->epoch)) {
        tell_cancelled(fs, p, e->replay, result);
    } else if (latest - replay >= RD_KEPT_SUCCESSES) {
        status = rd_error(RONDO_ERR_STALE,
                          "exec '%s': the result of replay %llu is no longer kept, "
                          "%llu ended since",
                          p->exec_name, (unsigned long long)replay,
                          (unsigned long long)(latest - replay));
    }
    pthread_mutex_unlock(&fs->lock);
    return status;
}

rondo_status rd_failures_first(struct rd_failures *fs, const struct rd_program *p, uint64_t latest,
                               rondo_result *result)
{
    memset(result, 0, sizeof *result);
    pthread_mutex_lock(&fs->lock);
    result->replay = latest;
    if (fs->has_first) {
        result->status = RONDO_ERR_FAILED;
        result->replay = fs->first.replay;
        tell(p, &fs->first, result);
    }
    result->replays_run = result->replay + 1 - rd_failures_cancelled_before(fs, result->replay + 1);
    pthread_mutex_unlock(&fs->lock);
    return result->status;
}
