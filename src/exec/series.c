/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/exec/exec.h"

#include "src/base/id.h"

static uint32_t power_over(uint32_t least)
{
    uint32_t n = 4;
    while (n < least)
        n *= 2;
    return n;
}

static struct rd_source *make_source(struct rd_series *s, uint32_t track)
{
    struct rd_source *source = rd_runtime_source(s->rt);
    if (!source)
        return NULL;
    rd_store_relaxed(&source->track, track); /* published with the exec's id */
    return source;
}

static void free_source(struct rd_series *s, struct rd_source *source)
{
    if (source)
        rd_runtime_source_end(s->rt, source);
}

static void free_series(struct rd_series *s)
{
    struct rd_allocator *a = &s->rt->alloc;
    if (s->tracks > 1)
        free_source(s, s->all);
    for (uint32_t i = 0; s->source && i < s->tracks; i++)
        free_source(s, s->source[i]);
    rd_free_array(a, s->source, s->tracks, sizeof *s->source);
    rd_free_array(a, s->call_done, s->call_done_room, sizeof *s->call_done);
    rd_free_array(a, s->stop, s->stop_mask + 1ull, sizeof *s->stop);
    rd_batch_free(s);
    rd_failures_end(&s->failures, a);
    pthread_mutex_destroy(&s->stops_lock);
    pthread_mutex_destroy(&s->change);
    pthread_mutex_destroy(&s->call_done_lock);
    pthread_mutex_destroy(&s->lock);
    rd_free(a, s, sizeof *s);
}

static int make_sources(struct rd_series *s)
{
    s->source = rd_zalloc_array(&s->rt->alloc, s->tracks, sizeof *s->source);
    if (!s->source)
        return 0;
    for (uint32_t i = 0; i < s->tracks; i++)
        if (!(s->source[i] = make_source(s, i)))
            return 0;
    s->all = s->tracks == 1 ? s->source[0] : make_source(s, RD_SOURCE_ALL);
    return s->all != NULL;
}

rondo_status rd_series_new(struct rd_runtime *rt, uint32_t window, uint32_t tracks,
                           const char *name, struct rd_series **series)
{
    struct rd_series *s = rd_zalloc(&rt->alloc, sizeof *s, RD_LINE);
    uint32_t in_flight = window * tracks;
    rondo_status status;
    if (!s)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for an exec", name);
    s->rt = rt;
    s->window = window;
    s->tracks = tracks;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->change, NULL);
    pthread_mutex_init(&s->call_done_lock, NULL);
    pthread_mutex_init(&s->batch.lock, NULL);
    pthread_mutex_init(&s->stops_lock, NULL);
    rd_store_relaxed(&s->refs, 1);         /* published with the exec's id */
    rd_store_relaxed(&s->batch.filled, 1); /* no call under way; likewise */
    /* An epoch has at least one ticket, and no more tickets than the windows hold are in flight. A
     * call has at least one; submitters between their ticket and its frame are within the slack. */
    s->stop_mask = 4 * power_over(in_flight + 2) - 1;
    status = rd_failures_init(&s->failures, &rt->alloc, power_over(in_flight + 2));
    if (!status) {
        /* Each has a ticket at least that has not ended, or the ones before it have not. */
        s->call_done_room = tracks > 1 ? 2 * in_flight + 2 : 0;
        s->call_done = rd_zalloc_array(&rt->alloc, s->call_done_room, sizeof *s->call_done);
        s->stop = rd_zalloc_array(&rt->alloc, s->stop_mask + 1ull, sizeof *s->stop);
        if (!s->stop || !s->call_done || !make_sources(s))
            status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for %u replays in flight",
                              name, in_flight);
    }
    if (status)
        free_series(s);
    else
        *series = s;
    return status;
}

void rd_series_unref(struct rd_series *s)
{
    if (rd_sub_acq_rel(&s->refs, 1) == 1) /* sees all that the other execs of it did */
        free_series(s);
}

rondo_status rd_series_add(struct rd_series *s, struct rd_core *core, const char *name)
{
    rondo_status status = RONDO_OK;
    uint32_t i;
    pthread_mutex_lock(&s->lock);
    for (i = 0; i < RD_CORES_MAX && s->core[i]; i++)
        ;
    if (i < RD_CORES_MAX) {
        s->core[i] = core;
        core->number = i;
        core->in_series = 1;
    } else {
        status = rd_error(RONDO_ERR_AGAIN, "exec '%s': %d plans of it are in use already", name,
                          RD_CORES_MAX);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void rd_series_remove(struct rd_series *s, struct rd_core *core)
{
    uint64_t word, none = (uint64_t)RD_CORES_MAX << (RD_REPLAY_BITS + RD_EPOCH_BITS);
    if (!core->in_series)
        return;
    pthread_mutex_lock(&s->lock);
    s->core[core->number] = NULL;
    word = rd_load_relaxed(&s->word);
    /* Its number may be another's soon, which is not in the word by that. */
    while (RD_WORD_CORE(word) == core->number)
        if (rd_cas_relaxed(&s->word, &word, word | none))
            break;
    pthread_mutex_unlock(&s->lock);
}

int rd_series_will_have_room(struct rd_series *s)
{
    int will = 0;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < RD_CORES_MAX && !will; i++) {
        const struct rd_core *c = s->core[i];
        will = !c || (rd_load_acquire(&c->x->closed) &&
                      c->number != RD_WORD_CORE(rd_load_relaxed(&s->word)) &&
                      rd_load_acquire(&s->all->done) >= c->last);
    }
    pthread_mutex_unlock(&s->lock);
    return will;
}

/* Under the lock: the core's next replay is the series' ticket `at`. */
static void resume(struct rd_series *s, struct rd_core *c, uint64_t at)
{
    for (uint32_t i = 0; i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        /* The first ticket of this track from `at` on, in the track's count. */
        uint64_t count = at > i ? (at - i + c->tracks - 1) / c->tracks : 0;
        /* What the core ran before, by its own numbers: it has all ended. */
        uint64_t local = rd_load_relaxed(&t->next);
        rd_store_relaxed(&t->offset, count - local); /* read by takers whose CAS sees the word */
        rd_store_relaxed(&t->first, count);
        rd_store_relaxed(&t->resume, local);
    }
    c->resume = (struct rd_gate){ s->all, rd_source_id(s->all), at, 1 };
}

/* Under the lock: tickets up to `at` were this core's. */
static void suspend(struct rd_core *c, uint64_t at)
{
    for (uint32_t i = 0; i < c->tracks; i++) {
        struct rd_track *t = &c->track[i];
        uint64_t count = at > i ? (at - i + c->tracks - 1) / c->tracks : 0;
        rd_store_relaxed(&t->next, count - rd_load_relaxed(&t->offset)); /* under the lock */
    }
    c->last = at;
}

rondo_status rd_series_switch(struct rd_series *s, struct rd_core *core, struct rd_source **source,
                              uint64_t *count)
{
    uint64_t word, next;
    rondo_status status = RONDO_OK;
    pthread_mutex_lock(&s->lock);
    word = rd_load_acquire(&s->word);
    if (RD_WORD_CORE(word) == core->number ||
        rd_load_relaxed(&core->retired) || /* its exec has another one by now */
        rd_load_relaxed(&core->rests))
        goto unlock;
    if (rd_load_relaxed(&s->frozen)) { /* nothing is given out until what runs has ended */
        *source = s->all;
        *count = RD_WORD_TICKET(word);
        status = RONDO_ERR_AGAIN;
        goto unlock;
    }
    if (rd_load_acquire(&s->all->done) < core->last) { /* it still runs what it ran before */
        *source = s->all;
        *count = core->last;
        status = RONDO_ERR_AGAIN;
        goto unlock;
    }
    do {
        uint64_t at = RD_WORD_TICKET(word);
        struct rd_core *from =
            RD_WORD_CORE(word) < RD_CORES_MAX ? s->core[RD_WORD_CORE(word)] : NULL;
        resume(s, core, at);
        next = (word & ((1ull << (RD_REPLAY_BITS + RD_EPOCH_BITS)) - 1)) |
               (uint64_t)core->number << (RD_REPLAY_BITS + RD_EPOCH_BITS);
        if (from)
            suspend(from, at);
        /* acq_rel: publishes the offsets; a submitter's ticket is before or after the change. */
    } while (!rd_cas_acq_rel(&s->word, &word, next));
unlock:
    pthread_mutex_unlock(&s->lock);
    return status;
}

uint64_t rd_series_freeze(struct rd_series *s)
{
    uint64_t word, none = (uint64_t)RD_CORES_MAX << (RD_REPLAY_BITS + RD_EPOCH_BITS);
    pthread_mutex_lock(&s->change);
    pthread_mutex_lock(&s->lock);
    word = rd_load_acquire(&s->word);
    /* Before the word: who sees no core in it sees why. */
    rd_store_release(&s->frozen, RD_WORD_CORE(word) + 1);
    do {
        struct rd_core *from =
            RD_WORD_CORE(word) < RD_CORES_MAX ? s->core[RD_WORD_CORE(word)] : NULL;
        if (from)
            suspend(from, RD_WORD_TICKET(word));
    } while (!rd_cas_acq_rel(&s->word, &word, word | none)); /* as in rd_series_switch */
    pthread_mutex_unlock(&s->lock);
    return RD_WORD_TICKET(word);
}

void rd_series_thaw(struct rd_series *s)
{
    pthread_mutex_lock(&s->lock);
    rd_store_release(&s->frozen, 0);
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&s->change);
}

/* ---- members */

static void name_exec(struct rd_series *s, uint64_t exec)
{
    for (uint32_t i = 0; i < s->tracks; i++)
        rd_store_release(&s->source[i]->exec, exec); /* pairs with rd_exec_of_source */
    rd_store_release(&s->all->exec, exec);
}

void rd_series_join(struct rd_series *s, uint64_t exec)
{
    pthread_mutex_lock(&s->lock);
    s->member[s->members++] = exec;
    if (s->members == 1)
        name_exec(s, exec);
    pthread_mutex_unlock(&s->lock);
}

void rd_series_leave(struct rd_series *s, uint64_t exec)
{
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->members; i++)
        if (s->member[i] == exec) {
            s->member[i] = s->member[--s->members];
            break;
        }
    if (s->members && rd_load_relaxed(&s->all->exec) == exec) /* written under the lock */
        name_exec(s, s->member[0]);
    pthread_mutex_unlock(&s->lock);
}

struct rd_exec *rd_exec_of_source(const struct rd_source *source)
{
    /* An exec that is found no more was left before: then the source names another one by now. */
    for (;;) {
        uint64_t id = rd_load_acquire(&source->exec);
        struct rd_exec *x = rd_id_find(id, RD_ID_EXEC);
        if (x || rd_load_acquire(&source->exec) == id)
            return x;
    }
}
