/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a core that was made: on the agendas of its workers and off them, replaced by
 * another, drained, closed, and freed by the cleaner. */
#include "src/exec/exec.h"

#include "src/machine/worker.h"

void rd_core_attach(struct rd_core *c)
{
    if (!c->attached) /* until now it may be freed without a grace period */
        rd_store_release(&c->series->live[c->number], c); /* pairs with rd_series_live */
    c->attached = 1;
    for (uint32_t i = 0; i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        rd_store_relaxed(&t->attached, t->lanes); /* published by the push */
        for (uint32_t k = 0; k < t->lanes; k++)
            rd_worker_push(rd_exec_worker(c->x, t->lane[k].processor), &t->lane[k].work);
    }
}

static void set_rests(struct rd_core *c, uint32_t rests)
{
    pthread_mutex_lock(&c->series->lock);
    rd_store_relaxed(&c->rests, rests); /* read under the lock */
    pthread_mutex_unlock(&c->series->lock);
}

int rd_core_rest(struct rd_core *c)
{
    struct rd_series *s = c->series;
    int rests;
    pthread_mutex_lock(&s->lock);
    rests = RD_WORD_CORE(rd_load_acquire(&s->word)) != c->number &&
            rd_load_acquire(&s->all->done) >= c->last;
    rd_store_relaxed(&c->rests, rests != 0); /* read under the lock, by who would change to it */
    pthread_mutex_unlock(&s->lock);
    for (uint32_t i = 0; rests && i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        rd_store_release(&t->detach, 1); /* pairs with the workers' acquire */
        for (uint32_t k = 0; k < t->lanes; k++)
            rd_worker_poke(rd_exec_worker(c->x, t->lane[k].processor));
    }
    return rests;
}

int rd_core_wake(struct rd_core *c)
{
    if (rd_load_relaxed(&c->x->closed)) /* the cleaner may have seen all its cores closed */
        return 0;
    for (uint32_t i = 0; i < c->tracks; i++)
        if (rd_load_acquire(&c->track[i].attached)) /* pairs with the workers' last touch */
            return 0;
    for (uint32_t i = 0; i < c->tracks; i++)
        rd_store_relaxed(&c->track[i].detach, 0); /* published by the push */
    rd_core_attach(c);
    set_rests(c, 0);
    return 1;
}

/* ---- the end */

static int is_drained(struct rd_core *c, uint64_t end, struct rd_unmet *unmet)
{
    for (uint32_t i = 0; i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        uint64_t need = end > i ? (end - i - 1) / c->tracks + 1 : 0;
        if (rd_load_acquire(&t->source->done) < need) {
            *unmet = (struct rd_unmet){ &t->source->done, need, &t->source->wake, NULL, 0 };
            return 0;
        }
    }
    return 1;
}

/* Tells the workers to leave, once; whether all have. */
static int is_detached(struct rd_core *c)
{
    int left = 0;
    for (uint32_t i = 0; c->attached && i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        if (!rd_load_relaxed(&t->detach)) { /* written under the lock, or by the cleaner alone */
            rd_store_release(&t->detach, 1);
            for (uint32_t k = 0; k < t->lanes; k++)
                rd_worker_poke(rd_exec_worker(c->x, t->lane[k].processor));
        }
        left |= rd_load_acquire(&t->attached) != 0; /* pairs with the workers' last touch */
    }
    return !left;
}

static int are_seats_closed(struct rd_core *c)
{
    int open = 0;
    for (uint32_t i = 0; i < c->tracks; i++)
        for (uint32_t k = 0; k < c->track[i].lanes; k++) {
            rd_atomic32 *seat = &c->track[i].lane[k].seat;
            uint32_t seen = RD_SEAT_FREE;
            /* Acquire: all that the last driver did. */
            if (!rd_cas_acquire(seat, &seen, RD_SEAT_CLOSED) && seen != RD_SEAT_CLOSED)
                open = 1; /* a caller is about to give it back */
        }
    return !open;
}

int rd_core_closed(struct rd_core *c, uint64_t end, struct rd_unmet *unmet)
{
    if (!is_drained(c, end, unmet) || !is_detached(c) || !are_seats_closed(c))
        return 0;
    rd_store_relaxed(&c->series->live[c->number], NULL); /* seen by all after the grace period */
    return 1;
}

int rd_core_sweep(struct rd_core *c, struct rd_unmet *unmet)
{
    int held = 0;
    for (uint32_t i = 0; i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        for (uint32_t k = 0; k <= t->ring_mask; k++) {
            uint64_t until = rd_frame_let_go_if_ended(c->x, t, &t->ring[k]);
            if (!until)
                continue;
            if (!held || until < unmet->need)
                *unmet = (struct rd_unmet){ &t->source->done, until, &t->source->wake, NULL, 0 };
            held = 1;
        }
    }
    return held;
}

/* ---- as a tenant of its own */

static int core_sweep(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    return rd_core_sweep((struct rd_core *)tenant, unmet);
}

static int core_closed(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct rd_core *c = (struct rd_core *)tenant;
    return rd_core_closed(c, c->last, unmet);
}

static void core_free(struct rd_tenant *tenant)
{
    struct rd_core *c = (struct rd_core *)tenant;
    struct rd_exec *x = c->x;
    rd_core_free(c);
    rd_exec_unref(x);
}

void rd_core_replace(struct rd_core *old, struct rd_core *by)
{
    struct rd_source *source;
    uint64_t count;
    pthread_mutex_lock(&old->series->lock);
    rd_store_relaxed(&old->retired, 1); /* a submitter that still means the old one looks again */
    pthread_mutex_unlock(&old->series->lock);
    rd_series_switch(by->series, by, &source, &count); /* it never ran: nothing to wait for */
    rd_exec_ref(old->x);
    rd_cleaner_retire(old->x->rt, &old->tenant);
}

int rd_core_start(struct rd_core *c)
{
    struct rd_exec *x = c->x;
    int start;
    /* Under the lock the cleaner asks whether all cores are closed: it sees this one attached, or
     * this sees that the exec was destroyed. */
    pthread_mutex_lock(&x->lock);
    start = !rd_load_relaxed(&x->closed);
    if (start)
        rd_core_attach(c);
    pthread_mutex_unlock(&x->lock);
    return start;
}

void rd_core_let(struct rd_core *c)
{
    c->tenant.sweep = core_sweep;
    c->tenant.closed = core_closed;
    c->tenant.free = core_free;
}
