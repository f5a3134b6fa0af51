/* SPDX-License-Identifier: BSD-3-Clause */
/* Works out a change of what is current where, and the copies it takes, before any of it is done.
 */
#include "src/machine/keeper_plan.h"

#include "src/base/rcu.h"

#include <string.h>

void rd_plan_begin(struct rd_plan *p, struct rd_keeper *k, struct rd_taker *holder, int may_wait)
{
    memset(p, 0, sizeof *p);
    p->keeper = k;
    p->alloc = &k->rt->alloc;
    p->holder = holder;
    p->may_wait = may_wait;
    p->poison = k->poison && may_wait;
}

/* ---- subjects */

/* A reference of a buffer that may be ending. */
static int try_ref(struct rd_buffer *b)
{
    uint64_t refs = rd_load_relaxed(&b->refs);
    while (refs && !rd_cas_relaxed(&b->refs, &refs, refs + 1)) {}
    return refs != 0;
}

static void free_subject(struct rd_plan *p, struct rd_subject *s)
{
    for (uint32_t m = 0; m < p->keeper->memories; m++) {
        rd_boxes_free(p->alloc, &s->will[m]);
        rd_boxes_free(p->alloc, &s->stale[m]);
    }
    if (s->last)
        rd_fetch_unref(&s->last->fetch);
    rd_free(p->alloc, s, sizeof *s);
}

struct rd_subject *rd_plan_subject(struct rd_plan *p, struct rd_keep *k, int *gone)
{
    struct rd_subject *s = k->subject;
    int failed = 0;
    *gone = 0;
    if (s)
        return s;
    s = rd_zalloc(p->alloc, sizeof *s, 16);
    if (!s)
        return NULL;
    for (uint32_t m = 0; m < p->keeper->memories; m++)
        failed |= rd_boxes_copy(p->alloc, &s->will[m], &k->current[m]);
    *gone = !failed && !try_ref(k->buffer);
    if (failed || *gone) {
        free_subject(p, s);
        return NULL;
    }
    s->keep = k;
    s->next = p->subjects;
    p->subjects = s;
    k->subject = s;
    return s;
}

/* ---- copies */

static struct rd_job *job_of(struct rd_plan *p)
{
    if (!p->job)
        p->job = rd_job_new(p->keeper);
    return p->job;
}

int rd_plan_use(struct rd_plan *p, struct rd_keep *k, uint32_t memory)
{
    struct rd_job *job = job_of(p);
    if (!job)
        return -1;
    for (size_t i = 0; i < job->uses; i++)
        if (job->use[i].keep == k && job->use[i].memory == memory)
            return 0;
    if (!rd_grow(p->alloc, (void **)&job->use, &job->use_room, job->uses, 1, sizeof *job->use))
        return -1;
    job->use[job->uses++] = (struct rd_use){ k, memory };
    return 0;
}

/* Takes over `boxes`. */
static int add_carry(struct rd_plan *p, struct rd_subject *s, uint32_t from, uint32_t to,
                     struct rd_boxes *boxes)
{
    struct rd_job *job = job_of(p);
    if (!job || !rd_grow(p->alloc, (void **)&job->carry, &job->carry_room, job->carries, 1,
                         sizeof *job->carry))
        return -1;
    job->carry[job->carries++] = (struct rd_carry){ s->keep, from, to, *boxes };
    memset(boxes, 0, sizeof *boxes);
    rd_buffer_ref(s->keep->buffer); /* the carry's */
    s->copied = 1;
    return 0;
}

static int copy(struct rd_plan *p, struct rd_subject *s, uint32_t from, uint32_t to,
                struct rd_boxes *part)
{
    p->copies = 1;
    if (rd_plan_use(p, s->keep, from) || rd_boxes_add_all(p->alloc, &s->will[to], part))
        return -1;
    return add_carry(p, s, from, to, part);
}

static int need_instance(struct rd_plan *p, struct rd_subject *s, uint32_t memory)
{
    p->status = rd_keep_instance(s->keep, memory);
    return p->status ? -1 : 0;
}

/* What of `missing` is current in `from` goes to `memory`, by the host where there is no other way.
 */
static int bring_from(struct rd_plan *p, struct rd_subject *s, uint32_t from, uint32_t memory,
                      struct rd_boxes *missing)
{
    struct rd_boxes part = { NULL, 0, 0 };
    int failed = rd_boxes_copy(p->alloc, &part, missing) ||
                 rd_boxes_intersect(p->alloc, &part, &s->will[from]) ||
                 rd_boxes_subtract_all(p->alloc, missing, &part);
    if (!failed && part.count) {
        if (from && memory && !rd_devices_peers(p->keeper->rt->devices, memory - 1, from - 1)) {
            failed = rd_plan_bring(p, s, 0, &part);
            from = 0;
        }
        failed = failed || copy(p, s, from, memory, &part);
    }
    rd_boxes_free(p->alloc, &part);
    return failed ? -1 : 0;
}

int rd_plan_bring(struct rd_plan *p, struct rd_subject *s, uint32_t memory,
                  const struct rd_boxes *boxes)
{
    struct rd_boxes missing = { NULL, 0, 0 };
    int failed = rd_boxes_copy(p->alloc, &missing, boxes) ||
                 rd_boxes_subtract_all(p->alloc, &missing, &s->will[memory]);
    if (!failed && missing.count)
        failed = need_instance(p, s, memory);
    for (uint32_t from = 0; !failed && missing.count && from < p->keeper->memories; from++)
        if (from != memory)
            failed = bring_from(p, s, from, memory, &missing);
    rd_boxes_free(p->alloc, &missing);
    return failed ? -1 : 0;
}

/* ---- others of the same bytes */

static int leave_home(struct rd_plan *p, struct rd_subject *s, uint32_t home,
                      const struct rd_boxes *boxes)
{
    for (uint32_t m = 0; m < p->keeper->memories; m++)
        if (m != home && rd_boxes_subtract_all(p->alloc, &s->will[m], boxes))
            return -1;
    return 0;
}

static int share_with(struct rd_plan *p, const struct rd_buffer *b, const struct rd_boxes *boxes,
                      const struct rd_boxes *written, struct rd_keep *k, uint32_t home)
{
    struct rd_boxes meet = { NULL, 0, 0 }, wrote = { NULL, 0, 0 };
    struct rd_subject *s;
    int gone = 0, failed = rd_keep_meet(k, b, boxes, home, &meet);
    if (!failed && written)
        failed = rd_keep_meet(k, b, written, home, &wrote);
    if (!failed && (meet.count || wrote.count)) {
        s = rd_plan_subject(p, k, &gone);
        failed = !s && !gone;
        if (s)
            failed = rd_plan_use(p, k, home) || rd_plan_bring(p, s, home, &meet) ||
                     rd_plan_bring(p, s, home, &wrote) || leave_home(p, s, home, &wrote);
    }
    rd_boxes_free(p->alloc, &meet);
    rd_boxes_free(p->alloc, &wrote);
    return failed ? -1 : 0;
}

int rd_plan_share(struct rd_plan *p, const struct rd_buffer *b, const struct rd_boxes *boxes,
                  const struct rd_boxes *written)
{
    for (struct rd_keep *k = p->keeper->keeps; k; k = k->next) {
        int home = rd_keep_home(b, k);
        if (home >= 0 && share_with(p, b, boxes, written, k, (uint32_t)home))
            return -1;
    }
    return 0;
}

int rd_plan_share_touched(struct rd_plan *p, const struct rd_buffer *b)
{
    rondo_region whole = rd_keep_whole(b);
    struct rd_boxes all = { &whole, 1, 1 };
    for (struct rd_keep *k = p->keeper->keeps; k; k = k->next) {
        struct rd_boxes meet = { NULL, 0, 0 };
        struct rd_subject *s = NULL;
        int home = rd_keep_home(b, k), gone = 0, failed;
        if (home < 0)
            continue;
        failed = rd_keep_meet(k, b, &all, (uint32_t)home, &meet);
        if (!failed && meet.count)
            failed = !(s = rd_plan_subject(p, k, &gone)) && !gone;
        if (s)
            failed = leave_home(p, s, (uint32_t)home, &meet) ||
                     rd_boxes_add_all(p->alloc, &s->will[home], &meet);
        rd_boxes_free(p->alloc, &meet);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- the end */

/* *less: what is in `was` and not in `will`. */
static int lost(struct rd_plan *p, const struct rd_boxes *was, const struct rd_boxes *will,
                struct rd_boxes *less)
{
    return rd_boxes_copy(p->alloc, less, was) || rd_boxes_subtract_all(p->alloc, less, will);
}

static int same_lists(const struct rd_boxes *a, const struct rd_boxes *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->item, b->item, a->count * sizeof *a->item));
}

/* Memory of a device's that other buffers may wrap too is left alone. */
static int may_poison(const struct rd_subject *s, uint32_t memory)
{
    return rd_keep_address(s->keep, memory) && !s->keep->instance[memory].external;
}

static int compare(struct rd_plan *p, struct rd_subject *s)
{
    for (uint32_t m = 0; m < p->keeper->memories; m++) {
        const struct rd_boxes *was = &s->keep->current[m], *will = &s->will[m];
        struct rd_boxes more = { NULL, 0, 0 };
        int failed;
        if (same_lists(was, will))
            continue;
        failed = lost(p, was, will, &s->stale[m]) || lost(p, will, was, &more);
        p->changes |= s->stale[m].count || more.count;
        rd_boxes_free(p->alloc, &more);
        if (failed)
            return -1;
        if (!p->poison || !s->stale[m].count || !may_poison(s, m))
            continue;
        p->patterns = 1;
        if (add_carry(p, s, m, m, &s->stale[m]))
            return -1;
    }
    return 0;
}

/* Copies under way that touch it. */
static int follow(struct rd_plan *p, struct rd_subject *s)
{
    struct rd_job *job, *last = s->keep->last;
    if (!last || rd_load_acquire(&last->fetch.over))
        return 0;
    job = job_of(p);
    if (!job)
        return -1;
    for (size_t i = 0; i < job->befores; i++)
        if (job->before[i] == last)
            return 0;
    if (!rd_grow(p->alloc, (void **)&job->before, &job->before_room, job->befores, 1,
                 sizeof *job->before))
        return -1;
    rd_fetch_ref(&last->fetch);
    job->before[job->befores++] = last;
    p->follows = 1;
    return 0;
}

static int is_user(const struct rd_keep *k, const struct rd_taker *h)
{
    for (size_t i = 0; i < k->users; i++)
        if (k->user[i] == h)
            return 1;
    return 0;
}

static int user_room(struct rd_plan *p, struct rd_keep *k)
{
    if (!p->holder || is_user(k, p->holder))
        return 0;
    return rd_grow(p->alloc, (void **)&k->user, &k->user_room, k->users, 1, sizeof *k->user) ? 0
                                                                                             : -1;
}

int rd_plan_finish(struct rd_plan *p)
{
    for (struct rd_subject *s = p->subjects; s; s = s->next)
        if (compare(p, s) || follow(p, s) || user_room(p, s->keep))
            return -1;
    return 0;
}

int rd_plan_waits(const struct rd_plan *p) { return p->copies || p->follows; }

int rd_plan_room(struct rd_plan *p, uint32_t more)
{
    size_t most = more + 1u;
    if (!p->job)
        return 0;
    for (struct rd_subject *s = p->subjects; s; s = s->next)
        most += s->keep->users;
    return rd_grow(p->alloc, (void **)&p->job->wait, &p->job->wait_room, 0, most,
                   sizeof *p->job->wait)
               ? 0
               : -1;
}

/* ---- making it */

static void wait_for(struct rd_job *job, struct rd_source *source, rondo_event event)
{
    if (!source || rd_source_reached(source, event.source, event.count))
        return;
    for (size_t i = 0; i < job->waits; i++)
        if (job->wait[i].event.source == event.source) {
            if (job->wait[i].event.count < event.count)
                job->wait[i].event.count = event.count;
            return;
        }
    job->wait[job->waits++] = (struct rd_wait_for){ source, event };
}

static rondo_event latest_of(const struct rd_taker *h)
{
    /* Acquire: pairs with the submitters' tickets; behind the grace period. */
    return (rondo_event){ rd_source_id(h->all), rd_load_acquire(h->word) & h->mask };
}

static void wait_for_users(struct rd_plan *p)
{
    for (struct rd_subject *s = p->subjects; s; s = s->next)
        for (size_t i = 0; i < s->keep->users; i++)
            wait_for(p->job, s->keep->user[i]->all, latest_of(s->keep->user[i]));
    if (p->holder)
        wait_for(p->job, p->holder->all, latest_of(p->holder));
}

/* Swaps, so that what was is freed with the subject. */
static void make(struct rd_plan *p, struct rd_subject *s)
{
    struct rd_keep *k = s->keep;
    for (uint32_t m = 0; p->changes && m < p->keeper->memories; m++) {
        struct rd_boxes was = k->current[m];
        k->current[m] = s->will[m];
        s->will[m] = was;
    }
    if (p->holder && !is_user(k, p->holder))
        k->user[k->users++] = p->holder;
    if (s->copied) {
        s->last = k->last; /* let go of outside of the lock */
        rd_fetch_ref(&p->job->fetch);
        k->last = p->job;
    }
}

static void end(struct rd_plan *p)
{
    struct rd_subject *next;
    for (struct rd_subject *s = p->subjects; s; s = next) {
        struct rd_buffer *b = s->keep->buffer;
        next = s->next;
        s->keep->subject = NULL;
        free_subject(p, s);
        rd_buffer_unref(b);
    }
    p->subjects = NULL;
}

void rd_plan_commit(struct rd_plan *p, const rondo_event *after, uint32_t after_count,
                    struct rd_fetch **fetch)
{
    struct rd_keeper *k = p->keeper;
    struct rd_job *job = p->job;
    *fetch = NULL;
    if (job && !job->carries && !job->befores) { /* only uses were noted */
        rd_job_drop(job);
        job = p->job = NULL;
    }
    if (p->changes) {
        rd_add_acq_rel(&k->rt->keeper_epoch, 1); /* before the grace period, see keeper.h */
        rd_rcu_synchronize();
    }
    pthread_mutex_lock(&k->lock);
    if (job && job->carries) {
        wait_for_users(p);
        for (uint32_t i = 0; i < after_count; i++)
            wait_for(job, rd_source_find(after[i].source), after[i]);
    }
    for (struct rd_subject *s = p->subjects; s; s = s->next)
        make(p, s);
    if (job)
        rd_job_queue(job);
    pthread_mutex_unlock(&k->lock);
    end(p);
    if (job)
        rd_keeper_poke(k);
    *fetch = job ? &job->fetch : NULL;
}

void rd_plan_drop(struct rd_plan *p)
{
    if (p->job)
        rd_job_drop(p->job);
    end(p);
}
