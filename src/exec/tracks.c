/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks: counters, lanes and frames of an exec, made before its first replay. */
#include "src/exec/exec.h"

#include "compile/run/lane.h"
#include "interp/interp.h"
#include "src/machine/worker.h"

#include <stdio.h>
#include <string.h>

static uint32_t ring_length(const struct rd_exec *x)
{
    uint32_t n = 1;
    while (n < x->window)
        n *= 2;
    return n;
}

/* ---- the lanes as work sources */

static void lane_detached(struct rd_work *work)
{
    struct rd_track *t = rd_lane_of_work(work)->track;
    struct rd_runtime *rt = ((struct rd_exec *)t->exec)->rt;
    /* acq_rel, and the last touch: pairs with rd_exec_closed. The worker's runtime outlives it. */
    rd_sub_acq_rel(&t->attached, 1);
    rd_cleaner_poke(rt);
}

static void lane_explain(struct rd_work *work, const struct rd_unmet *u, char *text, size_t bytes)
{
    struct rd_lane *l = rd_lane_of_work(work);
    struct rd_track *t = l->track;
    const struct rd_program *p = t->program;
    unsigned long long has = rd_load_relaxed(u->word), need = u->need;
    uint32_t at = l->position; /* a guess if another thread drives the lane just now */
    const char *node =
        l->begun && at < l->length ? rd_program_name(p, l->op[at].node) : "(none yet)";
    char what[64];
    snprintf(what, sizeof what, "%s",
             u->word == &t->source->done ? "the end of the replay before" : "an event");
    for (uint32_t i = 0; i < t->lanes; i++)
        if (u->word == &t->counter[i]->done)
            snprintf(what, sizeof what, "the counter of lane %u", i);
    snprintf(text, bytes,
             "exec '%s', replay %llu, lane %u, node '%s' waits for %s: at %llu, needs %llu",
             p->exec_name, (unsigned long long)l->replay * t->tracks + t->number, l->number, node,
             what, has, need);
}

/* ---- making */

static void init_lane(struct rd_exec *x, struct rd_track *t, uint32_t number)
{
    const struct rd_plan *plan = x->program.plan;
    const struct rd_plan_lane *from = &plan->lane[number];
    struct rd_lane *l = &t->lane[number];
    rondo_task *view = &l->self.view;
    l->work.advance = rd_lane_work;
    l->work.detached = lane_detached;
    l->work.explain = lane_explain;
    l->work.waited = from->processor == 0 ? &t->source->waited : NULL;
    l->track = t;
    l->op = t->op + from->first;
    l->wait = from->wait_count ? t->wait + from->wait_first : NULL;
    l->counter = t->counter[number];
    l->number = number;
    l->length = from->length;
    l->processor = from->processor;
    l->bit_first = from->bit_first;
    l->sink = from->sink;
    l->self.program = &x->program;
    view->nodes = x->program.node;
    view->places = x->program.places;
    view->param_at = x->program.param_at;
    view->chunks = x->program.chunks;
    view->contexts = x->program.contexts;
    view->processor = RONDO_CPU(from->processor);
    view->team = 1;
    for (uint32_t p = 0; p < t->lanes; p++) {
        l->peer[p].length = plan->lane[p].length;
        l->peer[p].value = &t->counter[p]->done;
    }
}

static struct rd_source *make_source(struct rd_exec *x, uint32_t track)
{
    struct rd_source *s = rd_source_new();
    if (!s)
        return NULL;
    rd_add_relaxed(&x->rt->sources, 1);
    rd_store_relaxed(&s->track, track); /* published with the exec's id */
    return s;
}

static int make_lanes(struct rd_exec *x, struct rd_track *t)
{
    struct rd_allocator *a = &x->rt->alloc;
    const struct rd_plan *plan = x->program.plan;
    t->counter = rd_zalloc_array(a, t->lanes, sizeof *t->counter);
    t->lane = rd_zalloc(a, t->lanes * sizeof *t->lane, RD_LINE);
    if (!t->counter || !t->lane)
        return 0;
    for (uint32_t i = 0; i < t->lanes; i++) {
        t->counter[i] = make_source(x, t->number);
        if (!t->counter[i])
            return 0;
        /* published with the exec's id */
        rd_store_relaxed(&t->counter[i]->done, (uint64_t)t->distance * plan->lane[i].length);
        t->processor0_lanes += plan->lane[i].processor == 0;
        t->lane[i].peer = rd_zalloc(a, t->lanes * sizeof(struct rd_peer), RD_LINE);
        if (!t->lane[i].peer)
            return 0;
    }
    return 1;
}

static int make_frame(struct rd_exec *x, struct rd_frame *f)
{
    struct rd_allocator *a = &x->rt->alloc;
    const struct rd_program *p = &x->program;
    f->base = p->base;
    f->bad = rd_zalloc(a, p->plan->bits / 8, RD_LINE);
    f->gate = rd_alloc_array(a, RD_GATES_MAX, sizeof *f->gate);
    if (!f->bad || !f->gate)
        return 0;
    if (x->bound_slots || x->ring_slots) {
        f->own_base = rd_alloc_array(a, x->slots, sizeof *f->own_base);
        if (!f->own_base)
            return 0;
        memcpy(f->own_base, p->base, x->slots * sizeof *f->own_base);
        f->base = f->own_base;
    }
    if (x->bound_slots && !(f->held = rd_zalloc_array(a, x->bound_slots, sizeof *f->held)))
        return 0;
    if (x->params) {
        f->own_params = rd_zalloc(a, x->params_bytes, 64);
        f->params = f->own_params;
        return f->own_params != NULL;
    }
    return 1;
}

static int make_frames(struct rd_exec *x, struct rd_track *t)
{
    uint32_t n = t->ring_mask + 1;
    t->ring = rd_zalloc(&x->rt->alloc, n * sizeof *t->ring, RD_LINE);
    if (!t->ring)
        return 0;
    rd_add_relaxed(&x->rt->frames, n);
    for (uint32_t i = 0; i < n; i++)
        if (!make_frame(x, &t->ring[i]))
            return 0;
    return 1;
}

static int make_track(struct rd_exec *x, struct rd_track *t, uint32_t number)
{
    const struct rd_plan *plan = x->program.plan;
    t->lanes = plan->lanes;
    t->window = x->window;
    t->ring_mask = ring_length(x) - 1;
    t->distance = plan->distance;
    t->sinks = plan->sinks;
    t->number = number;
    t->tracks = x->tracks;
    t->plan = x->program.plan;
    t->wait = plan->wait;
    t->program = &x->program;
    t->failures = &x->failures;
    t->exec = x;
    t->ended = rd_exec_track_ended;
    t->interpret = rd_interpret;
    rd_store_relaxed(&t->watched, x->tracks > 1); /* published with the lanes */
    t->source = make_source(x, number);
    if (!t->source || !make_lanes(x, t) || !make_frames(x, t))
        return 0;
    for (uint32_t i = 0; i < t->lanes; i++)
        init_lane(x, t, i);
    return 1;
}

rondo_status rd_exec_make_tracks(struct rd_exec *x)
{
    for (uint32_t i = 0; i < x->tracks; i++)
        if (!make_track(x, &x->track[i], i))
            goto no_memory;
    x->source = x->tracks == 1 ? x->track[0].source : make_source(x, RD_SOURCE_ALL);
    if (x->source)
        return RONDO_OK;
no_memory:
    return rd_error(RONDO_ERR_MEMORY,
                    "exec '%s': no memory for %u tracks of %u lanes and %u frames",
                    x->program.exec_name, x->tracks, x->program.plan->lanes, x->window);
}

rondo_status rd_exec_need_interpreter(struct rd_exec *x)
{
    rondo_status status;
    for (uint32_t i = 0; i < x->tracks; i++)
        if (!x->track[i].interpreter) {
            status = rd_interpreter_new(&x->rt->alloc, x->program.plan, &x->track[i].interpreter);
            if (status)
                return status;
        }
    return RONDO_OK;
}

void rd_exec_attach(struct rd_exec *x)
{
    for (uint32_t i = 0; i < x->tracks; i++) {
        struct rd_track *t = &x->track[i];
        rd_store_relaxed(&t->attached, t->lanes); /* published by the push */
        for (uint32_t k = 0; k < t->lanes; k++)
            rd_worker_push(&x->rt->workers[t->lane[k].processor], &t->lane[k].work);
    }
}

/* ---- freeing, also of what was made half */

static void free_frames(struct rd_exec *x, struct rd_track *t)
{
    struct rd_allocator *a = &x->rt->alloc;
    if (!t->ring)
        return;
    for (uint32_t i = 0; i <= t->ring_mask; i++) {
        struct rd_frame *f = &t->ring[i];
        rd_frame_let_go(x, f);
        rd_free(a, f->bad, x->program.plan->bits / 8);
        rd_free_array(a, f->gate, RD_GATES_MAX, sizeof *f->gate);
        rd_free_array(a, f->own_base, x->slots, sizeof *f->own_base);
        rd_free_array(a, f->held, x->bound_slots, sizeof *f->held);
        rd_free(a, f->own_params, x->params_bytes);
    }
    rd_free(a, t->ring, (t->ring_mask + 1ull) * sizeof *t->ring);
    rd_sub_relaxed(&x->rt->frames, t->ring_mask + 1ull);
}

static void free_source(struct rd_exec *x, struct rd_source *s)
{
    if (!s)
        return;
    rd_source_retire(s);
    rd_sub_relaxed(&x->rt->sources, 1);
}

void rd_exec_free_tracks(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    if (x->tracks > 1)
        free_source(x, x->source);
    for (uint32_t i = 0; i < x->tracks; i++) {
        struct rd_track *t = &x->track[i];
        for (uint32_t k = 0; t->lane && k < t->lanes; k++)
            rd_free(a, t->lane[k].peer, t->lanes * sizeof(struct rd_peer));
        rd_free(a, t->lane, t->lanes * sizeof *t->lane);
        for (uint32_t k = 0; t->counter && k < t->lanes; k++)
            free_source(x, t->counter[k]);
        rd_free_array(a, t->counter, t->lanes, sizeof *t->counter);
        free_frames(x, t);
        rd_interpreter_free(a, t->interpreter);
        free_source(x, t->source);
    }
}
