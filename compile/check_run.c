/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a plan without tasks and threads, one lane at a time as far as it can go, the last one woken
 * first: of all schedules the one with lanes farthest apart. */
#include "compile/check.h"

#include <string.h>

#define NONE UINT32_MAX

struct runner {
    struct rd_check *c;
    uint32_t window, replays;
    const struct rd_check_variant *only; /* of every replay; NULL: its phase's */
    uint64_t done;                       /* replays completed */
    uint64_t *count;                     /* by lane: ops run since replay 0 began */
    uint32_t *ran;                       /* by op: replays in which it ran */
    uint64_t *need;                      /* by blocked lane: the peer's count */
    uint32_t *waiters; /* by lane: a list of the lanes blocked on it; [lanes]: on the window */
    uint32_t *next;    /* links of those lists */
    uint32_t *stack, depth;
    uint32_t *ended; /* sinks that ended replay r: [r % window] */
    uint64_t total;
};

static const struct rd_check_variant *variant_of(const struct runner *x, uint64_t replay)
{
    const struct rd_plan *p = x->c->plan;
    if (x->only)
        return x->only;
    return &x->c->variant[x->c->variants > 1 ? p->variant_of_phase[replay % p->phases] : 0];
}

static void block(struct runner *x, uint32_t lane, uint32_t on, uint64_t need)
{
    x->need[lane] = need;
    x->next[lane] = x->waiters[on];
    x->waiters[on] = lane;
}

static void wake(struct runner *x, uint32_t on, uint64_t count)
{
    uint32_t lane = x->waiters[on];
    x->waiters[on] = NONE;
    while (lane != NONE) {
        uint32_t next = x->next[lane];
        if (x->need[lane] <= count)
            x->stack[x->depth++] = lane;
        else
            block(x, lane, on, x->need[lane]);
        lane = next;
    }
}

/* Whether the op may start; if not the lane is put on its peer's list. */
static int may_start(struct runner *x, uint32_t lane, uint32_t op, uint64_t replay)
{
    const struct rd_plan *p = x->c->plan;
    const struct rd_check_variant *v = variant_of(x, replay);
    for (uint32_t k = 0; k < rd_check_waits(v, op); k++) {
        struct rd_wait w = rd_check_wait(v, op, k);
        uint64_t need;
        if (w.dist > replay)
            continue;
        need = (replay - w.dist) * p->lane[w.peer].length + w.wait;
        if (x->count[w.peer] >= need)
            continue;
        block(x, lane, w.peer, need);
        return 0;
    }
    return 1;
}

static void run_op(struct runner *x, uint32_t op, uint64_t replay)
{
    const struct rd_check_variant *g = variant_of(x, replay);
    uint32_t v = x->c->plan->op[op].node;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint32_t u = g->pred[e].from, d = g->pred[e].distance;
        if (d <= replay && x->ran[x->c->plan->op_of_node[u]] < replay - d + 1)
            rd_check_say(x->c, "node %u of replay %llu runs before node %u of replay %llu", v,
                         (unsigned long long)replay, u, (unsigned long long)(replay - d));
    }
    x->ran[op]++;
    x->total++;
}

/* A sink ended its replay; the last one completes it. */
static void end_replay(struct runner *x, uint64_t replay)
{
    const struct rd_plan *p = x->c->plan;
    if (++x->ended[replay % x->window] < p->sinks)
        return;
    x->ended[replay % x->window] = 0;
    if (replay != x->done)
        rd_check_say(x->c, "replay %llu completes before replay %llu", (unsigned long long)replay,
                     (unsigned long long)x->done);
    x->done = replay + 1;
    for (uint32_t l = 0; l < p->lanes; l++)
        if (x->count[l] < x->done * p->lane[l].length)
            rd_check_say(x->c, "replay %llu completes before lane %u ended it",
                         (unsigned long long)replay, l);
    wake(x, p->lanes, x->done + x->window - 1);
}

/* As far as the lane can go. */
static void run_lane(struct runner *x, uint32_t lane)
{
    const struct rd_plan_lane *l = &x->c->plan->lane[lane];
    while (!x->c->why[0]) {
        uint64_t replay = x->count[lane] / l->length;
        uint32_t op = l->first + (uint32_t)(x->count[lane] % l->length);
        if (replay == x->replays)
            return;
        if (op == l->first && replay >= x->done + x->window) {
            block(x, lane, x->c->plan->lanes, replay);
            return;
        }
        if (!may_start(x, lane, op, replay))
            return;
        run_op(x, op, replay);
        if (x->only) {
            x->c->when[op] = (uint32_t)x->total - 1;
            x->c->run[x->total - 1] = op;
        }
        x->count[lane]++;
        if (x->count[lane] % l->length == 0 && l->sink)
            end_replay(x, replay);
    }
}

static int prepare(struct runner *x, struct rd_scratch *s)
{
    uint32_t lanes = x->c->plan->lanes;
    x->count = rd_scratch_zeroed(s, lanes, sizeof *x->count);
    x->ran = rd_scratch_zeroed(s, x->c->plan->nodes, sizeof *x->ran);
    x->need = rd_scratch_array(s, lanes, sizeof *x->need);
    x->waiters = rd_scratch_array(s, (size_t)lanes + 1, sizeof *x->waiters);
    x->next = rd_scratch_array(s, lanes, sizeof *x->next);
    x->stack = rd_scratch_array(s, lanes, sizeof *x->stack);
    x->ended = rd_scratch_zeroed(s, x->window, sizeof *x->ended);
    if (!x->count || !x->ran || !x->need || !x->waiters || !x->next || !x->stack || !x->ended)
        return 0;
    memset(x->waiters, 0xff, ((size_t)lanes + 1) * sizeof *x->waiters);
    for (uint32_t l = lanes; l-- > 0;)
        x->stack[x->depth++] = l;
    return 1;
}

static rondo_status run(struct runner *x)
{
    struct rd_check *c = x->c;
    struct rd_scratch scratch = rd_scratch_part(&c->scratch);
    rondo_status s = RONDO_OK;
    if (!prepare(x, &scratch)) {
        s = rd_pass_memory();
        goto free_scratch;
    }
    while (x->depth && !c->why[0]) {
        uint32_t lane = x->stack[--x->depth];
        run_lane(x, lane);
        wake(x, lane, x->count[lane]);
    }
    for (uint32_t l = 0; l < c->plan->lanes && !c->why[0]; l++)
        if (x->count[l] != (uint64_t)x->replays * c->plan->lane[l].length)
            rd_check_say(c, "window %u: lane %u blocks for ever at op %llu of replay %llu",
                         x->window, l, (unsigned long long)(x->count[l] % c->plan->lane[l].length),
                         (unsigned long long)(x->count[l] / c->plan->lane[l].length));
    if (!c->why[0] && c->plan->lanes && x->done != x->replays)
        rd_check_say(c, "window %u: %llu replays of %u complete", x->window,
                     (unsigned long long)x->done, x->replays);
free_scratch:
    rd_scratch_free(&scratch);
    return s;
}

rondo_status rd_check_run(struct rd_check *c, uint32_t window, uint32_t replays)
{
    return run(&(struct runner){ .c = c, .window = window, .replays = replays });
}

rondo_status rd_check_run_once(struct rd_check *c, uint32_t v)
{
    return run(&(struct runner){ .c = c, .window = 1, .replays = 1, .only = &c->variant[v] });
}
