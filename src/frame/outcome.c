/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of replays: which failed, which were cancelled or stopped, when they ran. */
#include "src/frame/outcome.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

struct rd_failure *rd_failures_find(struct rd_failures *fs, uint64_t replay)
{
    uint64_t first = fs->kept_count > RD_KEPT_FAILURES ? fs->kept_count - RD_KEPT_FAILURES : 0;
    for (uint64_t i = fs->kept_count; i > first; i--)
        if (fs->kept[(i - 1) % RD_KEPT_FAILURES].replay == replay)
            return &fs->kept[(i - 1) % RD_KEPT_FAILURES];
    return NULL;
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
    struct rd_epoch_failure *last = &fs->epoch[(fs->epoch_count - 1) % RD_KEPT_FAILURES];
    if (fs->epoch_count && last->epoch == fs->epoch_now)
        last->end = first_replay;
    fs->epoch_now++;
    fs->epoch_first[fs->epoch_now & fs->epoch_mask] = first_replay;
    fs->has_first = 0;
}

/* The i-th latest epoch that failed, i from 1; NULL beyond those kept. */
static const struct rd_epoch_failure *epoch_back(const struct rd_failures *fs, uint64_t i)
{
    return i > fs->epoch_count || i > RD_KEPT_FAILURES
               ? NULL
               : &fs->epoch[(fs->epoch_count - i) % RD_KEPT_FAILURES];
}

/* The latest epoch that failed before `replay`, among those kept. */
static const struct rd_epoch_failure *epoch_before(const struct rd_failures *fs, uint64_t replay)
{
    const struct rd_epoch_failure *e;
    for (uint64_t i = 1; (e = epoch_back(fs, i)) != NULL; i++)
        if (e->replay < replay)
            return e;
    return NULL;
}

static uint64_t cancelled_before(const struct rd_failures *fs, uint64_t replay)
{
    const struct rd_epoch_failure *e = epoch_before(fs, replay);
    if (!e)
        return 0;
    return e->cancelled_before + (replay < e->end ? replay : e->end) - e->replay - 1;
}

/* Replays before `replay` that the stop kept from running and that no failure had cancelled. */
static uint64_t stopped_by(const struct rd_failures *fs, const struct rd_stop *s, uint64_t replay)
{
    uint64_t end = replay < s->end ? replay : s->end;
    if (s->first >= end)
        return 0;
    return end - s->first - (cancelled_before(fs, end) - cancelled_before(fs, s->first));
}

/* ---- stops */

/* The i-th latest stop, i from 1; NULL beyond those kept. */
static struct rd_stop *stop_back(struct rd_failures *fs, uint64_t i)
{
    return i > fs->stop_count || i > RD_KEPT_STOPS
               ? NULL
               : &fs->stop[(fs->stop_count - i) % RD_KEPT_STOPS];
}

void rd_failures_note_stop(struct rd_failures *fs, uint64_t first, uint64_t end)
{
    struct rd_stop *s;
    pthread_mutex_lock(&fs->lock);
    for (uint64_t i = 1; (s = stop_back(fs, i)) != NULL; i++)
        if (s->end == end)
            break;
    if (!s) {
        s = &fs->stop[fs->stop_count++ % RD_KEPT_STOPS];
        if (fs->stop_count > RD_KEPT_STOPS)
            fs->stopped_older += stopped_by(fs, s, UINT64_MAX);
        *s = (struct rd_stop){ first, end };
    }
    if (first < s->first)
        s->first = first;
    pthread_mutex_unlock(&fs->lock);
}

static uint64_t stopped_before(const struct rd_failures *fs, uint64_t replay)
{
    uint64_t kept = fs->stop_count < RD_KEPT_STOPS ? fs->stop_count : RD_KEPT_STOPS;
    uint64_t sum = fs->stopped_older;
    for (uint64_t i = 0; i < kept; i++)
        sum += stopped_by(fs, &fs->stop[i], replay);
    return sum;
}

/* Whether the call of a replay was stopped, before that replay or by it. */
static int is_stopped(struct rd_failures *fs, uint64_t replay)
{
    const struct rd_stop *s;
    for (uint64_t i = 1; (s = stop_back(fs, i)) != NULL; i++)
        if (replay + 1 >= s->first && replay < s->end)
            return 1;
    return 0;
}

uint64_t rd_failures_cancelled_before(const struct rd_failures *fs, uint64_t replay)
{
    return cancelled_before(fs, replay) + stopped_before(fs, replay);
}

/* ---- times */

void rd_failures_note_times(struct rd_failures *fs, uint64_t replay, int64_t begin_ns,
                            int64_t end_ns)
{
    pthread_mutex_lock(&fs->lock);
    fs->times[replay % RD_KEPT_SUCCESSES] = (struct rd_times){ replay + 1, begin_ns, end_ns };
    pthread_mutex_unlock(&fs->lock);
}

static void tell_times(const struct rd_failures *fs, rondo_result *result)
{
    const struct rd_times *t = &fs->times[result->replay % RD_KEPT_SUCCESSES];
    if (t->count == result->replay + 1) {
        result->begin_ns = t->begin_ns;
        result->end_ns = t->end_ns;
    }
}

void rd_failures_times(struct rd_failures *fs, rondo_result *result)
{
    pthread_mutex_lock(&fs->lock);
    tell_times(fs, result);
    pthread_mutex_unlock(&fs->lock);
}

/* ---- results */

static void tell(const struct rd_failure *k, rondo_result *result)
{
    result->status = k->status;
    result->tag = k->tag;
    memcpy(result->node, k->name, sizeof result->node);
    memcpy(result->message, k->message, sizeof result->message);
}

/* A replay that an earlier one's failure keeps from running; if that was late, so are all replays
 * of its call, and a device that was lost is lost for all of them. */
static void tell_cancelled(struct rd_failures *fs, uint64_t by, rondo_result *result)
{
    const struct rd_failure *k = rd_failures_find(fs, by);
    const int late = k && k->status == RONDO_ERR_DEADLINE && result->replay < k->call_end;
    const int lost = k && k->status == RONDO_ERR_DEVICE_LOST;
    if (k)
        tell(k, result);
    result->status = late || lost ? k->status : RONDO_ERR_CANCELLED;
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
    k = rd_failures_find(fs, replay);
    e = epoch_before(fs, replay);
    result->replays_run = replay + 1 - rd_failures_cancelled_before(fs, replay + 1);
    result->stopped = (uint32_t)is_stopped(fs, replay);
    tell_times(fs, result);
    if (k) {
        tell(k, result);
    } else if (e && replay < e->end) {
        tell_cancelled(fs, e->replay, result);
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
    (void)p;
    memset(result, 0, sizeof *result);
    pthread_mutex_lock(&fs->lock);
    result->replay = latest;
    if (fs->has_first) {
        result->replay = fs->first.replay;
        tell(&fs->first, result);
    }
    tell_times(fs, result);
    result->stopped = (uint32_t)is_stopped(fs, result->replay);
    result->replays_run = result->replay + 1 - rd_failures_cancelled_before(fs, result->replay + 1);
    pthread_mutex_unlock(&fs->lock);
    return result->status;
}
