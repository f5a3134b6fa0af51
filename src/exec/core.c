/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes cores: tracks, counters, lanes and frames, before their first replay; and frees them. */
#include "src/exec/exec.h"

#include "compile/run/flow.h"
#include "compile/run/lane.h"
#include "interp/interp.h"
#include "src/exec/device.h"
#include "src/exec/explain.h"
#include "src/frame/node.h"
#include "src/frame/slow.h"
#include "src/frame/where.h"
#include "src/machine/worker.h"

#include <stdio.h>
#include <string.h>

uint32_t rd_core_frames(uint32_t window)
{
    uint32_t n = 1;
    while (n < window)
        n *= 2;
    return n;
}

struct rd_worker *rd_exec_worker(const struct rd_exec *x, uint32_t processor)
{
    if (processor >= x->processors + x->helpers) /* a device's */
        processor = 0;
    return processor < x->processors ? &x->rt->workers[x->processor[processor]]
                                     : &x->helper[processor - x->processors];
}

/* ---- the lanes as work sources */

static void lane_detached(struct rd_work *work)
{
    struct rd_track *t = rd_lane_of_work(work)->track;
    struct rd_runtime *rt = t->core->series->rt;
    /* acq_rel, and the last touch: pairs with rd_exec_closed. The worker's runtime outlives it. */
    rd_sub_acq_rel(&t->attached, 1);
    rd_cleaner_poke(rt);
}

/* ---- making */

static void init_view(struct rd_exec *x, struct rd_lane *l)
{
    rondo_task *view = &l->self.view;
    int submits;
    uint32_t device = rd_exec_device_of(x, l->processor, &submits);
    l->self.program = &x->program;
    l->self.lane = l;
    view->nodes = x->program.node;
    view->places = x->program.places;
    view->param_at = x->program.param_at;
    view->chunks = x->program.chunks;
    view->processor = l->processor < x->processors ? RONDO_CPU(l->processor)
                      : device                     ? RONDO_GPU(device - 1)
                                                   : RONDO_ANY_CPU;
    view->team = 1;
}

static void init_lane(struct rd_exec *x, struct rd_track *t, uint32_t number)
{
    const struct rd_plan *plan = t->plan;
    struct rd_lane *l = &t->lane[number];
    l->work.advance = rd_lane_work;
    l->work.detached = lane_detached;
    l->work.explain = rd_lane_explain;
    l->work.kind = RD_WORK_LANE;
    l->work.detach = &t->detach;
    l->work.priority = x->priority;
    l->track = t;
    l->counter = t->counter[number];
    l->number = number;
    if (t->core->kind == RD_CORE_FLOW) {
        l->processor = number;
        l->op = t->op;
        l->work.parks = rd_flow_parks;
    } else {
        const struct rd_plan_lane *from = &plan->lane[number];
        l->op = t->op + from->first;
        l->wait = from->wait_count ? t->wait + from->wait_first : NULL;
        l->length = from->length;
        l->processor = from->processor;
        l->bit_first = from->bit_first;
        l->sink = from->sink;
    }
    /* Those that callers drive. */
    l->work.waited = number < t->processor0_lanes || number >= t->lanes - t->device_lanes
                         ? &t->source->waited
                         : NULL;
    for (uint32_t p = 0; p < t->lanes; p++) {
        l->peer[p].length = t->core->kind == RD_CORE_FLOW ? 0 : plan->lane[p].length;
        l->peer[p].value = &t->counter[p]->done;
    }
    init_view(x, l);
}

static int make_lanes(struct rd_core *c, struct rd_track *t)
{
    struct rd_allocator *a = &c->x->rt->alloc;
    const int flow = c->kind == RD_CORE_FLOW;
    t->counter = rd_zalloc_array(a, t->lanes, sizeof *t->counter);
    t->lane = rd_zalloc(a, t->lanes * sizeof *t->lane, RD_LINE);
    if (!t->counter || !t->lane)
        return 0;
    for (uint32_t i = 0; i < t->lanes; i++) {
        t->counter[i] = rd_runtime_source(c->x->rt);
        if (!t->counter[i])
            return 0;
        rd_store_relaxed(&t->counter[i]->track, t->number); /* published with the exec's id */
        rd_store_relaxed(&t->counter[i]->done,
                         flow ? 0 : (uint64_t)t->distance * t->plan->lane[i].length);
        const uint32_t processor = flow ? i : t->plan->lane[i].processor;
        t->processor0_lanes += processor == 0;
        t->device_lanes += processor >= c->x->processors + c->x->helpers;
        t->lane[i].peer = rd_zalloc(a, t->lanes * sizeof(struct rd_peer), RD_LINE);
        if (!t->lane[i].peer)
            return 0;
    }
    return 1;
}

/* The frame's own addresses: what rings, bindings and temporaries fill. */
static int make_base(struct rd_exec *x, struct rd_frame *f)
{
    struct rd_allocator *a = &x->rt->alloc;
    const int own = x->temporary_slots && !x->temporary;
    f->base = x->program.base;
    if (!x->bound_slots && !x->ring_slots && !own)
        return 1;
    f->own_base = rd_alloc_array(a, x->slots, sizeof *f->own_base);
    if (!f->own_base)
        return 0;
    memcpy(f->own_base, x->program.base, x->slots * sizeof *f->own_base);
    f->base = f->own_base;
    if (!own)
        return 1;
    f->temporary = rd_zalloc_array(a, x->slots, sizeof *f->temporary);
    if (!f->temporary)
        return 0;
    for (uint32_t s = 0; s < x->slots; s++)
        if (x->slot[s].kind == RD_SLOT_TEMPORARY) {
            f->temporary[s] = rd_zalloc(a, x->slot[s].bytes, 64);
            if (!f->temporary[s])
                return 0;
            f->own_base[s] = rd_slot_base(f->temporary[s], x->slot[s].origin);
        }
    return 1;
}

static int make_frame(struct rd_core *c, struct rd_frame *f)
{
    struct rd_exec *x = c->x;
    struct rd_allocator *a = &x->rt->alloc;
    f->bad = rd_zalloc(a, c->plan->bits / 8, RD_LINE);
    f->gate = rd_alloc_array(a, RD_GATES_MAX + 3, sizeof *f->gate);
    if (!f->bad || !f->gate || !make_base(x, f))
        return 0;
    if (x->bound_slots && !(f->held = rd_zalloc_array(a, x->bound_slots, sizeof *f->held)))
        return 0;
    if (x->program.pend_count) {
        f->pend = rd_zalloc(a, x->program.pend_count * sizeof *f->pend, RD_LINE);
        if (!f->pend)
            return 0;
    }
    if (x->params) {
        f->own_params = rd_zalloc(a, x->params_bytes, 64);
        f->params = f->own_params;
        return f->own_params != NULL;
    }
    return 1;
}

static int make_frames(struct rd_core *c, struct rd_track *t)
{
    uint32_t n = t->ring_mask + 1;
    t->ring = rd_zalloc(&c->x->rt->alloc, n * sizeof *t->ring, RD_LINE);
    if (!t->ring)
        return 0;
    rd_add_relaxed(&c->x->rt->frames, n);
    for (uint32_t i = 0; i < n; i++)
        if (!make_frame(c, &t->ring[i]))
            return 0;
    return 1;
}

static size_t own_ops(const struct rd_core *c)
{
    return (size_t)c->plan->nodes * (c->plan->variants > 1 ? c->plan->variants : 1);
}

/* The first track has the plan's, the others copies: see rd_track_ops. */
static int make_ops(struct rd_core *c)
{
    struct rd_plan *plan = c->plan;
    size_t bytes = plan->nodes * sizeof *plan->op;
    c->track[0].op = plan->op;
    for (uint32_t i = 1; i < c->tracks; i++) {
        struct rd_op *op = rd_alloc_array(&c->x->rt->alloc, own_ops(c), sizeof *op);
        c->track[i].op = op;
        if (!op)
            return 0;
        memcpy(op, plan->op, bytes);
        for (uint32_t v = 1; v < plan->variants; v++)
            memcpy(op + v * (size_t)plan->nodes, plan->variant[v - 1].op, bytes);
    }
    return 1;
}

/* Where `place` puts each node, and which may not run in two replays at once: those that keep
 * something in their argument or their frame's state. */
static int make_flow(struct rd_core *c, struct rd_track *t)
{
    struct rd_exec *x = c->x;
    struct rd_allocator *a = &x->rt->alloc;
    const struct rd_plan *plan = c->plan;
    uint16_t *home = rd_alloc_array(a, plan->nodes, sizeof *home);
    int made = 0;
    if (home) {
        const struct rd_flow_input in = { .graph = &x->recipe.graph,
                                          .plan = plan,
                                          .bound = x->recipe.bound,
                                          .home = home,
                                          .priority = x->recipe.priority,
                                          .cost_ns = x->recipe.cost,
                                          .alone = x->recipe.alone,
                                          .processors = t->lanes,
                                          .helpers = x->helpers + x->device_processors,
                                          .window = c->window,
                                          .serial = t->serial,
                                          .pend_most = x->program.pend_count };
        for (uint32_t i = 0; i < plan->lanes; i++)
            for (uint32_t k = 0; k < plan->lane[i].length; k++)
                home[plan->op[plan->lane[i].first + k].node] = (uint16_t)plan->lane[i].processor;
        made = rd_flow_new(a, &in, &t->flow) == RONDO_OK;
    }
    rd_free_array(a, home, plan->nodes, sizeof *home);
    return made;
}

/* `uses`: replays in flight whose nodes run without lanes' order, a power of two. */
static int make_over(struct rd_core *c, struct rd_track *t, uint32_t uses)
{
    rd_atomic64 *over =
        rd_zalloc_array(&c->x->rt->alloc, (size_t)uses * c->plan->nodes, sizeof *over);
    t->over_mask = uses - 1;
    rd_store_release(&t->over, over); /* pairs with rd_op_run and src/exec/event_at.c */
    return over != NULL;
}

static void free_over(struct rd_core *c, struct rd_track *t)
{
    rd_atomic64 *over = rd_load_relaxed(&t->over);
    rd_free_array(&c->x->rt->alloc, over, (size_t)(t->over_mask + 1) * c->plan->nodes,
                  sizeof *over);
}

static int make_track(struct rd_core *c, uint32_t number)
{
    struct rd_exec *x = c->x;
    struct rd_track *t = &c->track[number];
    t->plan = c->plan;
    t->core = c;
    t->lanes = c->kind == RD_CORE_FLOW ? x->processors + x->helpers + x->device_processors
                                       : c->plan->lanes;
    t->window = c->window;
    t->ring_mask = rd_core_frames(c->window) - 1;
    t->distance = c->plan->distance;
    t->sinks = c->plan->sinks;
    t->number = number;
    t->tracks = c->tracks;
    t->serial = x->serial_boundaries;
    t->wait = c->plan->wait;
    t->program = &x->program;
    t->trace = x->rt->trace;
    t->failures = &c->series->failures;
    t->exec = x;
    t->ended = rd_exec_track_ended;
    t->interpret = rd_interpret;
    t->source = c->series->source[number];
    rd_store_relaxed(&t->watched, c->tracks > 1 ? RD_WATCHED : 0); /* published with the lanes */
    if (!make_lanes(c, t) || !make_frames(c, t))
        return 0;
    for (uint32_t i = 0; i < t->lanes; i++)
        init_lane(x, t, i);
    if (c->kind == RD_CORE_FLOW)
        return make_flow(c, t) && make_over(c, t, t->serial ? 1 : t->ring_mask + 1);
    return rd_exec_check_track(c, t) == RONDO_OK;
}

rondo_status rd_core_new(struct rd_exec *x, struct rd_plan *plan, enum rd_core_kind kind,
                         struct rd_core **core)
{
    static rd_atomic64 cores;
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_core *c = rd_zalloc(a, sizeof *c, RD_LINE);
    rondo_status status = RONDO_OK;
    if (!c) {
        rd_plan_free(a, plan);
        goto no_memory;
    }
    c->x = x;
    c->series = x->series;
    c->plan = plan;
    c->kind = kind;
    c->serial = rd_add_relaxed(&cores, 1); /* only unique */
    c->tracks = x->tracks;
    c->window = x->window;
    rd_core_let(c);
    c->track = rd_zalloc(a, c->tracks * sizeof *c->track, RD_LINE);
    if (!c->track || !make_ops(c))
        goto free_core;
    for (uint32_t i = 0; i < c->tracks; i++)
        if (!make_track(c, i))
            goto free_core;
    status = rd_series_add(x->series, c, x->program.exec_name);
    if (status)
        goto free_full;
    pthread_mutex_lock(&x->lock);
    c->next = x->cores;
    x->cores = c;
    rd_core_set_contexts(c); /* that may be replaced in all of them: see retask.c */
    pthread_mutex_unlock(&x->lock);
    *core = c;
    return RONDO_OK;
free_full:
    rd_core_free(c);
    return status;
free_core:
    rd_core_free(c);
no_memory:
    return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for %u tracks and %u frames each",
                    x->program.exec_name, x->tracks, x->window);
}

void rd_core_set_contexts(struct rd_core *c)
{
    for (uint32_t k = 0; k < c->tracks; k++)
        for (uint32_t l = 0; l < c->track[k].lanes; l++)
            c->track[k].lane[l].self.view.contexts = c->x->program.contexts;
}

void rd_core_copy_work(struct rd_core *c, const struct rd_core *like)
{
    for (uint32_t k = 0; k < c->tracks; k++)
        for (uint32_t i = 0; i < c->plan->nodes; i++) {
            struct rd_op *op = &c->track[k].op[i];
            const struct rd_op *from = &like->track[k].op[like->plan->op_of_node[op->node]];
            op->fn = from->fn;
            op->arg = from->arg;
        }
    rd_core_copy_variants(c);
}

static void copy_variants(struct rd_track *t)
{
    for (uint32_t v = 1; v < t->plan->variants; v++) {
        struct rd_op *op = rd_track_ops(t, v);
        for (uint32_t i = 0; i < t->plan->nodes; i++) {
            op[i].fn = t->op[i].fn;
            op[i].arg = t->op[i].arg;
        }
    }
}

/* The ops of all variants of a track do the same. */
void rd_core_copy_variants(struct rd_core *c)
{
    for (uint32_t k = 0; k < c->tracks; k++)
        copy_variants(&c->track[k]);
}

rondo_status rd_core_need_interpreter(struct rd_core *c)
{
    rondo_status status;
    for (uint32_t i = 0; i < c->tracks; i++)
        if (!c->track[i].interpreter) {
            if (!rd_load_relaxed(&c->track[i].over) && !make_over(c, &c->track[i], 1))
                return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory to interpret %u nodes",
                                c->x->program.exec_name, c->plan->nodes);
            status = rd_interpreter_new(&c->x->rt->alloc, c->plan, &c->track[i].interpreter);
            if (status)
                return status;
        }
    return RONDO_OK;
}

/* ---- freeing, also of what was made half */

static void free_frames(struct rd_core *c, struct rd_track *t)
{
    struct rd_exec *x = c->x;
    struct rd_allocator *a = &x->rt->alloc;
    if (!t->ring)
        return;
    for (uint32_t i = 0; i <= t->ring_mask; i++) {
        struct rd_frame *f = &t->ring[i];
        rd_frame_let_go(x, f);
        rd_fetch_unref(f->fetch);
        rd_free(a, f->bad, c->plan->bits / 8);
        rd_free_array(a, f->gate, RD_GATES_MAX + 3, sizeof *f->gate);
        rd_free_array(a, f->own_base, x->slots, sizeof *f->own_base);
        for (uint32_t s = 0; f->temporary && s < x->slots; s++)
            rd_free(a, f->temporary[s], x->slot[s].bytes);
        rd_free_array(a, f->temporary, x->slots, sizeof *f->temporary);
        rd_free_array(a, f->held, x->bound_slots, sizeof *f->held);
        rd_free(a, f->pend, x->program.pend_count * sizeof *f->pend);
        rd_free(a, f->own_params, x->params_bytes);
    }
    rd_free(a, t->ring, (t->ring_mask + 1ull) * sizeof *t->ring);
    rd_sub_relaxed(&x->rt->frames, t->ring_mask + 1ull);
}

static void free_track(struct rd_core *c, struct rd_track *t)
{
    struct rd_allocator *a = &c->x->rt->alloc;
    for (uint32_t k = 0; t->lane && k < t->lanes; k++) {
        rd_free(a, t->lane[k].peer, t->lanes * sizeof(struct rd_peer));
        rd_slow_end(&t->lane[k]);
        rd_self_end(a, &t->lane[k].self);
    }
    rd_free(a, t->lane, t->lanes * sizeof *t->lane);
    for (uint32_t k = 0; t->counter && k < t->lanes; k++)
        if (t->counter[k])
            rd_runtime_source_end(c->x->rt, t->counter[k]);
    rd_free_array(a, t->counter, t->lanes, sizeof *t->counter);
    free_frames(c, t);
    rd_exec_check_free_track(t);
    rd_interpreter_free(a, t->interpreter);
    rd_flow_free(a, t->flow);
    free_over(c, t);
    if (t != c->track) /* the first one's are the plan's */
        rd_free_array(a, t->op, own_ops(c), sizeof *t->op);
}

void rd_core_free(struct rd_core *c)
{
    struct rd_exec *x = c->x;
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_core **link;
    pthread_mutex_lock(&x->lock);
    for (link = &x->cores; *link && *link != c; link = &(*link)->next)
        ;
    if (*link)
        *link = c->next;
    pthread_mutex_unlock(&x->lock);
    rd_series_remove(c->series, c);
    for (uint32_t i = 0; c->track && i < c->tracks; i++)
        free_track(c, &c->track[i]);
    rd_free(a, c->track, c->tracks * sizeof *c->track);
    rd_plan_free(a, c->plan);
    rd_free(a, c, sizeof *c);
}
