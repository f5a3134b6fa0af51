/* SPDX-License-Identifier: BSD-3-Clause */
/* What changes hands: execs that take buffers over, syncs, maps, and what others have written. */
#include "src/base/error.h"
#include "src/machine/keeper_plan.h"

#include <string.h>

static const struct rd_boxes nothing;

void rd_keeper_turn(struct rd_runtime *rt) { pthread_mutex_lock(&rt->keeper->turn); }
void rd_keeper_turn_over(struct rd_runtime *rt) { pthread_mutex_unlock(&rt->keeper->turn); }

static rondo_status no_memory(const struct rd_plan *p)
{
    return p->status
               ? p->status /* told already */
               : rd_error(RONDO_ERR_MEMORY, "no memory to bring buffers to where they are needed");
}

/* ---- what an exec does to its buffers */

static int on_device(const struct rd_keeper *k, const struct rd_stay *s)
{
    for (uint32_t m = 1; m < k->memories; m++)
        if (s->need[m].count || s->hold[m].count)
            return 1;
    return 0;
}

/* A buffer that was never on a device, and will not be by this, needs no keep. */
static int subject_of(struct rd_plan *p, struct rd_buffer *b, int keep, struct rd_subject **subject)
{
    struct rd_keep *k = rd_load_relaxed(&b->keep); /* under the lock */
    int gone;
    *subject = NULL;
    if (!k && keep)
        k = rd_keep_of(b);
    if (!k)
        return keep ? -1 : 0;
    *subject = rd_plan_subject(p, k, &gone);
    return *subject ? 0 : -1;
}

/* All boxes that the exec relies on or writes. */
static int reach_of(struct rd_plan *p, const struct rd_stay *s, struct rd_boxes *reach)
{
    if (rd_boxes_copy(p->alloc, reach, &s->written))
        return -1;
    for (uint32_t m = 0; m < p->keeper->memories; m++)
        if (rd_boxes_add_all(p->alloc, reach, &s->need[m]))
            return -1;
    return 0;
}

static int share_stay(struct rd_plan *p, const struct rd_stay *s)
{
    struct rd_boxes reach = nothing;
    int failed = reach_of(p, s, &reach) || rd_plan_share(p, s->buffer, &reach, &s->written);
    rd_boxes_free(p->alloc, &reach);
    return failed;
}

static int take_stay(struct rd_plan *p, const struct rd_stay *s)
{
    struct rd_subject *subject;
    if (subject_of(p, s->buffer, on_device(p->keeper, s) || p->holder->on_device, &subject))
        return -1;
    for (uint32_t m = 0; subject && m < p->keeper->memories; m++) {
        if (!s->need[m].count)
            continue;
        if (rd_plan_use(p, subject->keep, m) || rd_plan_bring(p, subject, m, &s->need[m]))
            return -1;
    }
    for (uint32_t m = 0; subject && m < p->keeper->memories; m++)
        if (rd_boxes_subtract_all(p->alloc, &subject->will[m], &s->written) ||
            rd_boxes_add_all(p->alloc, &subject->will[m], &s->hold[m]))
            return -1;
    return 0;
}

/* Host memory, all of it. */
static int take_whole(struct rd_plan *p, struct rd_buffer *b, int keep, int written)
{
    rondo_region whole = rd_keep_whole(b);
    const struct rd_boxes all = { &whole, 1, 1 };
    struct rd_subject *s;
    if (rd_plan_share(p, b, &all, written ? &all : NULL) || subject_of(p, b, keep, &s))
        return -1;
    if (!s)
        return 0;
    if (rd_plan_use(p, s->keep, 0) || rd_plan_bring(p, s, 0, &all))
        return -1;
    for (uint32_t m = 1; written && m < p->keeper->memories; m++)
        rd_boxes_free(p->alloc, &s->will[m]);
    return 0;
}

/* ---- bound buffers, which are looked at with every call */

static int is_whole(const struct rd_buffer *b, const struct rd_boxes *boxes)
{
    rondo_region whole = rd_keep_whole(b);
    return boxes->count == 1 && rd_box_holds(&boxes->item[0], &whole);
}

/* Whether there is nothing to do for it: then nothing is allocated. Under the lock. */
static int is_at_hand(const struct rd_plan *p, const struct rd_buffer *b, int keep, int written)
{
    const struct rd_keep *k = rd_load_relaxed(&((struct rd_buffer *)(uintptr_t)b)->keep), *other;
    int known = 0;
    for (other = p->keeper->keeps; other; other = other->next)
        if (rd_keep_home(b, other) >= 0)
            return 0;
    if (!k)
        return !keep;
    for (size_t i = 0; i < k->users; i++)
        known |= k->user[i] == p->holder;
    for (uint32_t m = 1; written && m < p->keeper->memories; m++)
        if (k->current[m].count)
            return 0;
    return known && is_whole(b, &k->current[0]) &&
           (!k->last || rd_load_acquire(&k->last->fetch.over));
}

static int take_bound(struct rd_plan *p, const struct rd_takeover *t)
{
    const int keep = t->holder->on_device;
    for (uint32_t i = 0; i < t->bounds; i++) {
        struct rd_buffer *b = t->bound[i];
        if (is_at_hand(p, b, keep, t->bound_written[i])) {
            /* In this epoch it can be bound again without a look, by an exec like this one. */
            if (!keep && !rd_load_relaxed(&b->keep))
                rd_store_relaxed(&b->settled, rd_keeper_epoch(b->rt)); /* a hint: looked at again */
            continue;
        }
        if (take_whole(p, b, keep, t->bound_written[i]))
            return -1;
    }
    return 0;
}

/* ---- making a change */

static rondo_status make(struct rd_plan *p, int failed, const rondo_event *after,
                         uint32_t after_count, struct rd_fetch **fetch)
{
    failed = failed || rd_plan_finish(p) || rd_plan_room(p, after_count);
    pthread_mutex_unlock(&p->keeper->lock);
    if (failed || (!p->may_wait && rd_plan_waits(p))) {
        rondo_status status =
            failed ? no_memory(p) : rd_error(RONDO_ERR_WOULD_BLOCK, "copies would be waited for");
        rd_plan_drop(p);
        return status;
    }
    rd_plan_commit(p, after, after_count, fetch);
    return RONDO_OK;
}

rondo_status rd_keeper_take(struct rd_runtime *rt, const struct rd_takeover *t, uint64_t *epoch,
                            struct rd_fetch **fetch)
{
    const uint32_t stays = t->holds ? 0 : t->holder->stays;
    struct rd_plan p;
    rondo_status status;
    int failed = 0;
    rd_plan_begin(&p, rt->keeper, t->holder, 1);
    pthread_mutex_lock(&rt->keeper->lock);
    for (uint32_t i = 0; i < stays && !failed; i++)
        failed = share_stay(&p, &t->holder->stay[i]);
    for (uint32_t i = 0; i < stays && !failed; i++)
        failed = take_stay(&p, &t->holder->stay[i]);
    failed = failed || take_bound(&p, t);
    status = make(&p, failed, t->after, t->after_count, fetch);
    *epoch = rd_keeper_epoch(rt);
    return status;
}

void rd_keeper_join(struct rd_runtime *rt, struct rd_taker *h)
{
    struct rd_keeper *k = rt->keeper;
    pthread_mutex_lock(&k->lock);
    h->next = k->takers;
    h->link = &k->takers;
    if (h->next)
        h->next->link = &h->next;
    k->takers = h;
    pthread_mutex_unlock(&k->lock);
}

void rd_keeper_leave(struct rd_runtime *rt, struct rd_taker *h)
{
    pthread_mutex_lock(&rt->keeper->lock);
    if (h->link) {
        *h->link = h->next;
        if (h->next)
            h->next->link = h->link;
    }
    for (struct rd_keep *k = rt->keeper->keeps; k; k = k->next)
        for (size_t i = 0; i < k->users; i++)
            if (k->user[i] == h) {
                k->user[i] = k->user[--k->users];
                break;
            }
    pthread_mutex_unlock(&rt->keeper->lock);
}

/* ---- sync, map, touched */

static int bring_whole(struct rd_plan *p, struct rd_buffer *b, uint32_t memory)
{
    rondo_region whole = rd_keep_whole(b);
    const struct rd_boxes all = { &whole, 1, 1 };
    struct rd_subject *s;
    if (rd_plan_share(p, b, &all, NULL) || subject_of(p, b, 1, &s))
        return -1;
    return rd_plan_use(p, s->keep, memory) || rd_plan_bring(p, s, memory, &all);
}

static rondo_status arrange(struct rd_buffer *b, uint32_t memory, int write, int may_wait,
                            struct rd_fetch **fetch)
{
    struct rd_keeper *k = b->rt->keeper;
    struct rd_plan p;
    rondo_status status;
    int failed;
    rd_keeper_turn(b->rt);
    rd_plan_begin(&p, k, NULL, may_wait);
    pthread_mutex_lock(&k->lock);
    failed = memory ? bring_whole(&p, b, memory) : take_whole(&p, b, 0, write);
    status = make(&p, failed, NULL, 0, fetch);
    rd_keeper_turn_over(b->rt);
    return status;
}

rondo_status rd_keeper_sync(struct rd_buffer *b, uint32_t memory, int may_wait,
                            struct rd_fetch **fetch)
{
    return arrange(b, memory, 0, may_wait, fetch);
}

rondo_status rd_keeper_map(struct rd_buffer *b, int write, int may_wait, struct rd_fetch **fetch)
{
    return arrange(b, RD_MEMORY_HOST, write, may_wait, fetch);
}

static int touch(struct rd_plan *p, struct rd_buffer *b, uint32_t memory)
{
    rondo_region whole = rd_keep_whole(b);
    struct rd_subject *s;
    if (rd_plan_share_touched(p, b) || subject_of(p, b, 0, &s))
        return -1;
    for (uint32_t m = 0; s && m < p->keeper->memories; m++)
        rd_boxes_free(p->alloc, &s->will[m]);
    return s ? rd_boxes_add(p->alloc, &s->will[memory], &whole) : 0;
}

rondo_status rd_keeper_touched(struct rd_buffer *b, uint32_t memory, int may_wait,
                               struct rd_fetch **fetch)
{
    struct rd_keeper *k = b->rt->keeper;
    struct rd_plan p;
    rondo_status status;
    char name[24];
    if (!rd_keeper_has(b, memory))
        return rd_error(RONDO_ERR_INVALID, "buffer '%s': touched: it has no instance on %s",
                        b->name, rd_memory_name(memory, name));
    rd_keeper_turn(b->rt);
    rd_plan_begin(&p, k, NULL, may_wait);
    pthread_mutex_lock(&k->lock);
    p.may_wait = 1; /* for nothing but that what is out of date is overwritten */
    status = make(&p, touch(&p, b, memory), NULL, 0, fetch);
    rd_keeper_turn_over(b->rt);
    if (!status && !p.patterns) {
        rd_fetch_unref(*fetch);
        *fetch = NULL;
    }
    return status;
}

int rd_keeper_under_way(struct rd_buffer *b, uint32_t skip, struct rd_source **source,
                        rondo_event *event)
{
    struct rd_keeper *keeper = b->rt->keeper;
    struct rd_keep *k;
    int found = 0;
    pthread_mutex_lock(&keeper->lock);
    k = rd_load_relaxed(&b->keep); /* under the lock */
    if (k && skip < k->users) {
        struct rd_taker *h = k->user[skip];
        *source = h->all;
        *event = (rondo_event){ rd_source_id(h->all), rd_load_acquire(h->word) & h->mask };
        found = 1;
    }
    pthread_mutex_unlock(&keeper->lock);
    return found;
}
