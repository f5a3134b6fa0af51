/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/engine/flow_rig.h"

#include "compile/run/lane.h"
#include "src/base/error.h"
#include "src/base/os.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct rig_arg {
    struct rig *rig;
    uint32_t node;
};

static struct rd_allocator *memory(void) { return rd_allocator_system(); }

static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t x = (a + 1) * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xc2b2ae3d27d4eb4full;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

int rig_fails(const struct rig *rig, uint64_t replay, uint32_t node)
{
    return rig->o.fails && hash(replay, node) % rig->o.fails == 0;
}

void rig_wrong(struct rig *rig, const char *what, uint64_t replay, uint32_t node)
{
    pthread_mutex_lock(&rig->lock);
    if (!rd_load_relaxed(&rig->wrong))
        snprintf(rig->what, sizeof rig->what, "%s: replay %llu, node %u", what,
                 (unsigned long long)replay, node);
    rd_add_relaxed(&rig->wrong, 1);
    pthread_mutex_unlock(&rig->lock);
}

static uint64_t *ran(struct rig *rig, uint64_t replay, uint32_t node)
{
    return &rig->ran[replay % RIG_HISTORY * rig->graph.nodes + node];
}

/* ---- bodies */

/* Without failures every predecessor has run; with them a body runs only if all of them ended well.
 * Plain memory: a missing order is a data race too. */
static void check_order(struct rig *rig, uint64_t r, uint32_t v)
{
    const struct rd_graph *g = &rig->graph;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        const struct rd_edge *p = &g->pred[e];
        if (r < rig->history_from + p->distance || (rig->o.fails && rig->o.run_on && p->distance))
            continue;
        if (*ran(rig, r - p->distance, p->from) != r - p->distance + 1)
            rig_wrong(rig, p->distance ? "before a carried predecessor" : "before a predecessor", r,
                      v);
    }
    if (*ran(rig, r, v) == r + 1)
        rig_wrong(rig, "ran twice", r, v);
}

static void take_time(const struct rig *rig, uint64_t r, uint32_t v)
{
    int64_t until;
    if (!rig->o.body_ns)
        return;
    until = rd_os.now_ns() + (int64_t)(hash(r, v) % rig->o.body_ns);
    while (rd_os.now_ns() < until)
        rd_pause();
}

static int body(rondo_task *self, const void *argument)
{
    const struct rig_arg *a = argument;
    struct rig *rig = a->rig;
    struct rd_self *whole = (struct rd_self *)self;
    uint64_t r = self->replay;
    if (*self->node != a->node)
        rig_wrong(rig, "the view shows another node", r, a->node);
    if (rig->program.pend_of && rig->program.pend_of[a->node] &&
        rd_load_acquire(&rig->outside->done) <= r) {
        whole->unmet = (struct rd_unmet){ &rig->outside->done, r + 1, &rig->outside->wake,
                                          &rig->outside->at, 0 };
        return RD_PENDING;
    }
    if (!rig->o.together && rd_add_acq_rel(&rig->within[a->node], 1))
        rig_wrong(rig, "runs in two replays at once", r, a->node);
    check_order(rig, r, a->node);
    take_time(rig, r, a->node);
    rd_add_relaxed(&rig->runs, 1);
    rd_or_relaxed(&rig->lanes, 1ull << whole->lane->number);
    if (!rig->o.together)
        rd_sub_acq_rel(&rig->within[a->node], 1);
    if (rig_fails(rig, r, a->node))
        return 1;
    *ran(rig, r, a->node) = r + 1;
    return 0;
}

/* ---- lanes, as their workers drive them */

static void park(struct rig *rig, struct rd_lane *l, struct rd_unmet *unmet, enum rd_advance state)
{
    uint32_t prepared = rd_park_prepare();
    if (rd_flow_parks(&l->work))
        return;
    rd_unmet_register(unmet);
    rd_fence(); /* as in src/machine/agenda.c */
    if (rd_load_acquire(&rig->track.detach))
        return;
    if ((unmet->word || unmet->until_ns) && rd_unmet_is_met(unmet))
        return;
    /* An idle lane is woken or stays asleep: a lost wake-up shows as a test that never ends. */
    rd_park_sleep(prepared, state == RD_BLOCKED ? 1000000 : -1);
}

static void *drive(void *argument)
{
    struct rd_lane *l = argument;
    struct rig *rig = l->track->exec;
    struct rd_unmet unmet;
    uint64_t quiet = 0;
    for (;;) {
        enum rd_advance state = l->work.advance(&l->work, &unmet);
        if (state == RD_DONE)
            return NULL;
        if (state == RD_PROGRESSED)
            quiet = 0;
        else if (quiet++ < 20 && l->number % 2)
            rd_pause();
        else
            park(rig, l, &unmet, state);
    }
}

/* ---- making */

static void ended(struct rd_track *t) { (void)t; }

static void make_frames(struct rig *rig)
{
    struct rd_track *t = &rig->track;
    uint32_t n = 1;
    while (n < rig->o.window)
        n *= 2;
    t->ring_mask = n - 1;
    t->ring = rd_zalloc(memory(), n * sizeof *t->ring, RD_LINE);
    for (uint32_t i = 0; i < n; i++) {
        t->ring[i].bad = rd_zalloc(memory(), rig->plan->bits / 8, RD_LINE);
        t->ring[i].gate = rd_alloc_array(memory(), 1, sizeof *t->ring[i].gate);
    }
}

static void make_lanes(struct rig *rig)
{
    struct rd_track *t = &rig->track;
    t->lanes = rig->o.lanes;
    t->lane = rd_zalloc(memory(), t->lanes * sizeof *t->lane, RD_LINE);
    t->counter = rd_zalloc_array(memory(), t->lanes, sizeof *t->counter);
    for (uint32_t i = 0; i < t->lanes; i++) {
        struct rd_lane *l = &t->lane[i];
        t->counter[i] = rd_source_new();
        l->counter = t->counter[i];
        l->work.advance = rd_lane_work;
        l->work.parks = rd_flow_parks;
        l->track = t;
        l->op = t->op;
        l->number = l->processor = i;
        l->self.program = &rig->program;
        l->self.lane = l;
    }
}

/* A program of which nothing is read but names and who pends. */
static void make_program(struct rig *rig, uint64_t *seed)
{
    struct rd_program *p = &rig->program;
    uint32_t n = rig->graph.nodes;
    p->name = rd_zalloc_array(memory(), n, sizeof *p->name);
    p->names = rd_strdup(memory(), "node");
    p->names_bytes = 5;
    p->nodes = n;
    p->exec_name = rd_strdup(memory(), "rig");
    if (!rig->o.pends)
        return;
    p->pend_of = rd_zalloc_array(memory(), n, sizeof *p->pend_of);
    for (uint32_t v = 0; v < n; v++)
        if (below(seed, (uint32_t)rig->o.pends) == 0)
            p->pend_of[v] = ++p->pend_count;
}

static void make_places(struct rig *rig, uint64_t *seed)
{
    uint32_t n = rig->graph.nodes;
    rig->bound = rd_alloc_array(memory(), n, sizeof *rig->bound);
    rig->alone = rd_alloc_array(memory(), n, sizeof *rig->alone);
    for (uint32_t v = 0; v < n; v++) {
        rig->bound[v] = RD_PLACE_ANY;
        rig->alone[v] = !rig->o.together;
        if (rig->o.bound && below(seed, (uint32_t)rig->o.bound) == 0)
            rig->bound[v] = (uint16_t)below(seed, rig->o.lanes);
        else if (rig->o.helpers && below(seed, 5) == 0)
            rig->bound[v] = (uint16_t)(rig->o.lanes - 1 - below(seed, rig->o.helpers));
    }
}

static void make_flow(struct rig *rig)
{
    struct rd_compile_input in = { .graph = &rig->graph,
                                   .bound = rig->bound,
                                   .processors = rig->o.lanes,
                                   .handover_ns = 1,
                                   .unknown_cost_ns = 1000,
                                   .interpret_only = 1 };
    struct rd_flow_input flow = { .graph = &rig->graph,
                                  .bound = rig->o.bound || rig->o.helpers ? rig->bound : NULL,
                                  .alone = rig->o.together ? NULL : rig->alone,
                                  .processors = rig->o.lanes,
                                  .helpers = rig->o.helpers,
                                  .window = rig->o.window,
                                  .serial = rig->o.serial,
                                  .pend_most = rig->program.pend_count };
    struct rd_track *t = &rig->track;
    cr_assert(rd_compile(memory(), &in, &rig->plan) == RONDO_OK, "%s", rd_error_text());
    flow.plan = rig->plan;
    cr_assert(rd_flow_new(memory(), &flow, &t->flow) == RONDO_OK, "%s", rd_error_text());
    t->plan = rig->plan;
    t->op = rig->plan->op;
    for (uint32_t i = 0; i < rig->graph.nodes; i++) {
        rig->arg[i] = (struct rig_arg){ rig, t->op[i].node };
        t->op[i].fn = body;
        t->op[i].arg = &rig->arg[i];
    }
}

struct rig *rig_new(struct maker *m, const struct rig_options *o, uint64_t seed)
{
    struct rig *rig = rd_zalloc(memory(), sizeof *rig, RD_LINE);
    struct rd_track *t = &rig->track;
    rig->o = *o;
    rig->graph = m->g;
    rig->ran = rd_zalloc_array(memory(), RIG_HISTORY * (size_t)m->g.nodes, sizeof *rig->ran);
    rig->within = rd_zalloc_array(memory(), m->g.nodes, sizeof *rig->within);
    rig->arg = rd_alloc_array(memory(), m->g.nodes, sizeof *rig->arg);
    rig->outside = rd_source_new();
    pthread_mutex_init(&rig->lock, NULL);
    make_program(rig, &seed);
    make_places(rig, &seed);
    make_flow(rig);
    make_lanes(rig);
    make_frames(rig);
    cr_assert(rd_failures_init(&rig->failures, memory(), 64) == RONDO_OK);
    rig->failures.run_on = o->run_on;
    t->window = o->window;
    t->distance = rig->graph.distance;
    t->serial = o->serial;
    t->tracks = 1;
    t->source = rd_source_new();
    t->program = &rig->program;
    t->failures = &rig->failures;
    t->exec = rig;
    t->ended = ended;
    for (uint32_t i = 0; i < o->lanes; i++)
        cr_assert(pthread_create(&rig->thread[i], NULL, drive, &t->lane[i]) == 0);
    return rig;
}

void rig_free(struct rig *rig)
{
    struct rd_track *t = &rig->track;
    uint32_t n = rig->graph.nodes, frames = t->ring_mask + 1;
    rd_store_release(&t->detach, 1);
    rd_fence(); /* partner: park's */
    for (uint32_t spot = 0; spot < 64; spot++)
        rd_park_wake_spot(spot);
    for (uint32_t i = 0; i < t->lanes; i++) {
        pthread_join(rig->thread[i], NULL);
        rd_source_retire(t->counter[i]);
    }
    for (uint32_t i = 0; i < frames; i++) {
        rd_free(memory(), t->ring[i].bad, rig->plan->bits / 8);
        rd_free_array(memory(), t->ring[i].gate, 1, sizeof *t->ring[i].gate);
    }
    rd_free(memory(), t->ring, frames * sizeof *t->ring);
    rd_free(memory(), t->lane, t->lanes * sizeof *t->lane);
    rd_free_array(memory(), t->counter, t->lanes, sizeof *t->counter);
    rd_source_retire(t->source);
    rd_source_retire(rig->outside);
    rd_flow_free(memory(), t->flow);
    rd_plan_free(memory(), rig->plan);
    rd_failures_end(&rig->failures, memory());
    rd_free_array(memory(), rig->program.name, n, sizeof *rig->program.name);
    rd_free_array(memory(), rig->program.pend_of, n, sizeof *rig->program.pend_of);
    rd_free(memory(), rig->program.names, 5);
    rd_free(memory(), rig->program.exec_name, 4);
    rd_free_array(memory(), rig->bound, n, sizeof *rig->bound);
    rd_free_array(memory(), rig->alone, n, sizeof *rig->alone);
    rd_free_array(memory(), rig->ran, RIG_HISTORY * (size_t)n, sizeof *rig->ran);
    rd_free_array(memory(), rig->within, n, sizeof *rig->within);
    rd_free_array(memory(), rig->arg, n, sizeof *rig->arg);
    pthread_mutex_destroy(&rig->lock);
    rd_free(memory(), rig, sizeof *rig);
}

/* ---- replays */

void rig_wait(struct rig *rig, uint64_t count)
{
    struct rd_source *s = rig->track.source;
    while (rd_load_acquire(&s->done) < count) {
        uint32_t prepared = rd_park_prepare();
        rd_park_register(&s->wake);
        rd_fence(); /* partner: the fence before rd_lane_pay */
        if (rd_load_acquire(&s->done) < count)
            rd_park_sleep(prepared, -1);
    }
}

void flow_submit(struct rig *rig, int odd, const struct rd_gate *gate)
{
    struct rd_track *t = &rig->track;
    uint64_t r = rig->submitted++;
    struct rd_frame *f = rd_track_frame(t, r);
    if (r >= rig->o.window)
        rig_wait(rig, r + 1 - rig->o.window);
    f->replay = r;
    f->count = r + 1;
    f->odd = (uint8_t)odd;
    f->epoch = rig->epoch;
    f->gate_count = gate != NULL;
    if (gate)
        f->gate[0] = *gate;
    if (rd_load_relaxed(&f->dirty)) {
        for (uint32_t i = 0; i < rig->plan->bits / 64; i++)
            rd_store_relaxed(&f->bad[i], 0);
        rd_store_relaxed(&f->dirty, 0);
    }
    rd_store_release(&f->seq, r + 1);
    rd_fence(); /* as in src/exec/submit.c */
    /* One only: the others are called by those that have something for them. */
    rd_or_acq_rel(&t->to_wake, rd_exchange_acq_rel(&t->submit_wake, 0));
    rd_park_wake_some(&t->to_wake, 1);
}
