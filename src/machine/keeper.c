/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper's thread and its queue of copies: which are ready, in what order, and what becomes of
 * those that fail.
 *
 * A failed copy leaves its boxes out of date where they were to go; those that are current nowhere
 * else by then (the exec that took them over was to write them, and its replay does not run) are
 * current where they came from. Copies queued behind it that would read what it did not bring fail
 * with it, and are taken back first, latest first, so that each finds its source as it was. */
#include "src/machine/keeper_inner.h"

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/machine/thread.h"
#include "src/machine/work.h"

#include <stdio.h>
#include <string.h>

enum { PARK_NS = 100000000 };

#ifdef RD_DEBUG
enum { POISON_BY_DEFAULT = 1 };
#else
enum { POISON_BY_DEFAULT = 0 };
#endif

/* ---- jobs */

struct rd_job *rd_job_new(struct rd_keeper *k)
{
    struct rd_job *job = rd_zalloc(&k->rt->alloc, sizeof *job, 16);
    if (!job)
        return NULL;
    job->fetch.source = rd_runtime_source(k->rt);
    if (!job->fetch.source) {
        rd_free(&k->rt->alloc, job, sizeof *job);
        return NULL;
    }
    job->keeper = k;
    job->fetch.event = (rondo_event){ rd_source_id(job->fetch.source), 1 };
    rd_store_relaxed(&job->fetch.refs, 1); /* not shared yet */
    return job;
}

/* What it needs no more once it is over; buffers may end by it. */
static void let_go(struct rd_job *job)
{
    struct rd_allocator *a = &job->keeper->rt->alloc;
    for (size_t i = 0; i < job->carries; i++) {
        rd_boxes_free(a, &job->carry[i].boxes);
        rd_buffer_unref(job->carry[i].keep->buffer);
    }
    for (size_t i = 0; i < job->befores; i++)
        rd_fetch_unref(&job->before[i]->fetch);
    rd_free_array(a, job->carry, job->carry_room, sizeof *job->carry);
    rd_free_array(a, job->use, job->use_room, sizeof *job->use);
    rd_free_array(a, job->wait, job->wait_room, sizeof *job->wait);
    rd_free_array(a, job->before, job->before_room, sizeof *job->before);
    job->carries = job->befores = job->waits = job->uses = 0;
    job->carry_room = job->before_room = job->wait_room = job->use_room = 0;
    job->carry = NULL;
    job->before = NULL;
    job->wait = NULL;
    job->use = NULL;
}

void rd_job_drop(struct rd_job *job)
{
    rd_runtime_source_end(job->keeper->rt, job->fetch.source);
    let_go(job);
    rd_fetch_unref(&job->fetch);
}

void rd_fetch_unref(struct rd_fetch *f)
{
    struct rd_job *job = (struct rd_job *)f;
    /* acq_rel: every other use of it is before the free. */
    if (f && rd_sub_acq_rel(&f->refs, 1) == 1)
        rd_free(&job->keeper->rt->alloc, job, sizeof *job);
}

void rd_job_queue(struct rd_job *job)
{
    struct rd_keeper *k = job->keeper;
    rd_fetch_ref(&job->fetch);
    *k->end = job;
    k->end = &job->next;
}

static void unqueue(struct rd_keeper *k, struct rd_job *job)
{
    struct rd_job **link = &k->first;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    if (k->end == &job->next)
        k->end = link;
}

/* Says that it is over, and lets go of it: whoever waited finds nothing left. Outside of the lock.
 */
static void end_job(struct rd_keeper *k, struct rd_job *job)
{
    struct rd_source *source = job->fetch.source;
    pthread_mutex_lock(&k->lock);
    unqueue(k, job);
    pthread_mutex_unlock(&k->lock);
    let_go(job);
    rd_store_release(&job->fetch.over, 1); /* pairs with rd_fetch_status */
    rd_fetch_unref(&job->fetch);
    rd_runtime_source_end(k->rt, source);
}

/* ---- what fails */

static int uses(const struct rd_job *job, const struct rd_carry *c)
{
    for (size_t i = 0; i < job->uses; i++)
        if (job->use[i].keep == c->keep && job->use[i].memory == c->to)
            return 1;
    return 0;
}

/* Whether it uses what one of the doomed was to bring. */
static int is_doomed(const struct rd_job *job, const struct rd_job *doomed)
{
    for (; doomed; doomed = doomed->doomed)
        for (size_t i = 0; i < doomed->carries; i++)
            if (doomed->carry[i].from != doomed->carry[i].to && uses(job, &doomed->carry[i]))
                return 1;
    return 0;
}

/* In its turn. When there is no memory for the lists, they stay as they were planned. */
static void take_back_boxes(struct rd_keeper *keeper, const struct rd_carry *c)
{
    struct rd_allocator *a = &keeper->rt->alloc;
    struct rd_keep *k = c->keep;
    struct rd_boxes lost = { NULL, 0, 0 };
    if (c->from == c->to || rd_boxes_copy(a, &lost, &c->boxes))
        return;
    if (!rd_boxes_subtract_all(a, &k->current[c->to], &c->boxes)) {
        for (uint32_t m = 0; m < keeper->memories; m++)
            (void)rd_boxes_subtract_all(a, &lost, &k->current[m]);
        (void)rd_boxes_add_all(a, &k->current[c->from], &lost);
    }
    rd_boxes_free(a, &lost);
}

/* This one and those that fail with it. */
static void fail(struct rd_keeper *k, struct rd_job *job, rondo_status status)
{
    struct rd_job *doomed = job, *next;
    char why[sizeof job->fetch.why];
    snprintf(why, sizeof why, "%s", rd_error_text());
    pthread_mutex_lock(&k->turn);
    pthread_mutex_lock(&k->lock);
    for (next = job->next; next; next = next->next)
        if (is_doomed(next, doomed)) {
            next->doomed = doomed;
            doomed = next;
        }
    pthread_mutex_unlock(&k->lock);
    for (next = doomed; next; next = next->doomed)
        for (size_t i = next->carries; i-- > 0;)
            take_back_boxes(k, &next->carry[i]);
    rd_add_relaxed(&k->rt->keeper_epoch, 1); /* nobody is beyond the copies: see rd_keeper_take */
    pthread_mutex_unlock(&k->turn);
    for (; doomed; doomed = next) {
        next = doomed->doomed;
        doomed->fetch.status = status;
        memcpy(doomed->fetch.why, why, sizeof why);
        end_job(k, doomed);
    }
}

/* ---- the thread */

void rd_keeper_poke(struct rd_keeper *k)
{
    uint32_t spot;
    rd_add_acq_rel(&k->attention, 1); /* and the fence before the look; partner: park */
    rd_fence();
    spot = rd_load_relaxed(&k->spot);
    if (spot)
        rd_park_wake_spot(spot - 1);
}

/* What it has to wait for still; NULL: nothing. Its events are this thread's since it was queued.
 */
static const struct rd_wait_for *unmet(struct rd_job *job)
{
    while (job->waits) {
        const struct rd_wait_for *w = &job->wait[job->waits - 1];
        if (!rd_source_reached(w->source, w->event.source, w->event.count))
            return w;
        job->waits--;
    }
    return NULL;
}

static int is_behind(const struct rd_job *job)
{
    for (size_t i = 0; i < job->befores; i++)
        if (!rd_load_relaxed(&job->before[i]->fetch.over)) /* set by this thread */
            return 1;
    return 0;
}

static struct rd_job *find_ready(struct rd_keeper *k)
{
    struct rd_job *job;
    pthread_mutex_lock(&k->lock);
    for (job = k->first; job && (is_behind(job) || unmet(job)); job = job->next)
        ;
    pthread_mutex_unlock(&k->lock);
    return job;
}

static void park(struct rd_keeper *k, uint64_t attention)
{
    uint32_t prepared = rd_park_prepare();
    pthread_mutex_lock(&k->lock);
    for (struct rd_job *job = k->first; job; job = job->next) {
        const struct rd_wait_for *w = is_behind(job) ? NULL : unmet(job);
        if (w)
            rd_unmet_register(&(struct rd_unmet){ &w->source->done, w->event.count,
                                                  &w->source->wake, &w->source->at, 0 });
    }
    pthread_mutex_unlock(&k->lock);
    rd_fence(); /* orders the registrations with the looks; partners: every waker's, and poke's */
    if (rd_load_acquire(&k->attention) == attention && !find_ready(k))
        rd_park_sleep(prepared, PARK_NS);
}

static void *keeper_main(void *argument)
{
    struct rd_keeper *k = argument;
    rd_store_relaxed(&k->spot, rd_park_spot() + 1);
    for (;;) {
        /* Before the look at what the poke may be about. */
        uint64_t attention = rd_load_acquire(&k->attention);
        struct rd_job *job = find_ready(k);
        if (job) {
            rondo_status status = rd_job_copy(job);
            if (status)
                fail(k, job, status);
            else
                end_job(k, job);
        } else if (rd_load_acquire(&k->stop) && !k->first) { /* nobody else queues any more */
            return NULL;
        } else {
            park(k, attention);
        }
    }
}

rondo_status rd_keeper_start(struct rd_runtime *rt)
{
    struct rd_keeper *k = rd_zalloc(&rt->alloc, sizeof *k, 16);
    int error;
    if (!k)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for the keeper of buffers");
    k->rt = rt;
    k->memories = 1 + rt->devices->count;
    k->poison = rd_env_number(RD_ENV_RONDO_DEVICE_POISON, 0, 1, POISON_BY_DEFAULT) != 0;
    k->end = &k->first;
    pthread_mutex_init(&k->turn, NULL);
    pthread_mutex_init(&k->lock, NULL);
    rd_store_relaxed(&rt->keeper_epoch, 1); /* nobody else has the runtime yet */
    rt->keeper = k;
    error = rd_thread_begin(&k->thread, keeper_main, k);
    if (!error)
        return RONDO_OK;
    pthread_mutex_destroy(&k->lock);
    pthread_mutex_destroy(&k->turn);
    rd_free(&rt->alloc, k, sizeof *k);
    rt->keeper = NULL;
    return rd_error(RONDO_ERR_SYSTEM, "runtime: the keeper's pthread_create failed with error %d",
                    error);
}

void rd_keeper_stop(struct rd_runtime *rt)
{
    struct rd_keeper *k = rt->keeper;
    if (!k)
        return;
    rd_store_release(&k->stop, 1);
    rd_keeper_poke(k);
    pthread_join(k->thread, NULL);
    pthread_mutex_destroy(&k->lock);
    pthread_mutex_destroy(&k->turn);
    rd_free(&rt->alloc, k, sizeof *k);
    rt->keeper = NULL;
}
