/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of spans, filled by a lane while a trace runs and emptied by whoever stops it.
 *
 * Safety. `state` is a lock between the lane's driver (one at a time: it holds the lane's seat) and
 * the stop: OPEN -> BUSY -> OPEN by the driver around each span, OPEN -> CLOSED by the stop, for
 * ever. Each step acquires what the one before released, so whoever made the last has the chunks to
 * itself. The head itself goes when the lane and the trace have both let go. Names are shared by
 * the lanes of one exec and belong to the trace: a lane reads none, and the trace frees them after
 * it has closed all buffers. */
#include "src/trace/spans.h"

#include "src/base/alloc.h"

#include <string.h>

static struct rd_allocator *allocator(const struct rd_spans *s) { return &s->trace->rt->alloc; }

/* ---- names */

static void *copy(struct rd_allocator *a, const void *from, size_t bytes)
{
    void *to = rd_alloc(a, bytes, 16);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

static void free_names(struct rd_allocator *a, struct rd_trace_names *n)
{
    if (n->exec)
        rd_free(a, n->exec, strlen(n->exec) + 1);
    rd_free(a, n->names, n->names_bytes);
    rd_free_array(a, n->name, n->nodes, sizeof *n->name);
    rd_free_array(a, n->tag, n->nodes, sizeof *n->tag);
    rd_free(a, n, sizeof *n);
}

static struct rd_trace_names *make_names(struct rd_allocator *a, const struct rd_spans_owner *o)
{
    struct rd_trace_names *n = rd_zalloc(a, sizeof *n, 16);
    if (!n)
        return NULL;
    n->key = o->key;
    n->nodes = o->nodes;
    n->names_bytes = o->names_bytes;
    n->exec = rd_strdup(a, o->exec);
    n->names = copy(a, o->names, o->names_bytes);
    n->name = copy(a, o->name, o->nodes * sizeof *n->name);
    if (o->tag)
        n->tag = copy(a, o->tag, o->nodes * sizeof *n->tag);
    if (n->exec && n->names && n->name && (n->tag || !o->tag))
        return n;
    free_names(a, n);
    return NULL;
}

/* Under the trace's lock. */
static struct rd_trace_names *find_names(struct rd_trace *trace, const struct rd_spans_owner *o)
{
    struct rd_trace_names *n;
    for (n = trace->names; n; n = n->next)
        if (n->key == o->key)
            return n;
    n = make_names(&trace->rt->alloc, o);
    if (n) {
        n->next = trace->names;
        trace->names = n;
    }
    return n;
}

void rd_trace_free_names(struct rd_trace *trace, struct rd_trace_names *names)
{
    for (struct rd_trace_names *next; names; names = next) {
        next = names->next;
        free_names(&trace->rt->alloc, names);
    }
}

/* ---- spans */

struct rd_spans *rd_spans_new(struct rd_trace *trace, const struct rd_spans_owner *owner)
{
    struct rd_spans *s = NULL;
    pthread_mutex_lock(&trace->lock);
    if (rd_tracing(trace))
        s = rd_zalloc(&trace->rt->alloc, sizeof *s, RD_LINE);
    if (s) {
        rd_store_relaxed(&s->refs, 2); /* published by the lock, and by the lane's seat */
        s->trace = trace;
        s->names = find_names(trace, owner);
        s->number = ++trace->count;
        s->lane = owner->lane;
        s->track = owner->track;
        s->tracks = owner->tracks;
        s->processor = owner->processor;
        s->device = owner->device;
        s->on_device = owner->on_device;
        s->most = trace->most;
        s->next = trace->spans;
        trace->spans = s;
    }
    pthread_mutex_unlock(&trace->lock);
    return s;
}

static RD_NOINLINE int add_chunk(struct rd_spans *s)
{
    struct rd_spans_chunk *c = rd_alloc(allocator(s), sizeof *c, 16);
    if (!c)
        return 0;
    c->next = NULL;
    c->count = 0;
    if (s->last)
        s->last->next = c;
    else
        s->first = c;
    s->last = c;
    return 1;
}

static void keep(struct rd_spans *s, const struct rd_span *span)
{
    if (s->count >= s->most || ((!s->last || s->last->count == RD_SPANS_CHUNK) && !add_chunk(s))) {
        s->dropped++;
        return;
    }
    s->last->span[s->last->count++] = *span;
    s->count++;
}

int rd_spans_note(struct rd_spans *s, const struct rd_span *span)
{
    uint32_t open = RD_SPANS_OPEN;
    /* Acquire: what the lane's last driver did; pairs with the release below. */
    if (RD_UNLIKELY(!rd_cas_acquire(&s->state, &open, RD_SPANS_BUSY)))
        return 0;
    keep(s, span);
    rd_store_release(&s->state, RD_SPANS_OPEN); /* pairs with the acquires above and in close */
    return 1;
}

void rd_spans_close(struct rd_spans *s)
{
    uint32_t open = RD_SPANS_OPEN;
    while (!rd_cas_acquire(&s->state, &open, RD_SPANS_CLOSED)) {
        open = RD_SPANS_OPEN;
        rd_pause();
    }
}

static void unref(struct rd_spans *s)
{
    /* acq_rel: all that was done under the other hold is before the free. */
    if (rd_sub_acq_rel(&s->refs, 1) == 1)
        rd_free(allocator(s), s, sizeof *s);
}

void rd_spans_drop(struct rd_spans *s)
{
    for (struct rd_spans_chunk *c = s->first, *next; c; c = next) {
        next = c->next;
        rd_free(allocator(s), c, sizeof *c);
    }
    unref(s);
}

void rd_spans_release(struct rd_spans *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->trace->lock);
    /* In a trace that has stopped the names may be gone, with nobody to look for their key. */
    if (rd_load_relaxed(&s->state) != RD_SPANS_CLOSED && s->names)
        s->names->key = NULL;
    pthread_mutex_unlock(&s->trace->lock);
    unref(s);
}
