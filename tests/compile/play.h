/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs plans without tasks and threads, op by op in a random order: any that lanes, waits and the
 * window allow. External nodes end only when nothing else can run. */
#ifndef TESTS_COMPILE_PLAY_H
#define TESTS_COMPILE_PLAY_H

#include "compile/passes.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>

enum { PLAY_NODES = 256, PLAY_LANES = 128, PLAY_REPLAYS = 256 };

struct play {
    const struct rd_graph *graph;
    const struct rd_plan *plan;
    const uint8_t *external; /* may be NULL */
    uint32_t window, replays;
    uint64_t seed;
    uint64_t count[PLAY_LANES];              /* ops run */
    uint32_t ran[PLAY_NODES];                /* replays in which it ran */
    uint8_t begun[PLAY_REPLAYS][PLAY_NODES]; /* external: 1 begun, 2 may end */
    uint32_t left[PLAY_REPLAYS];             /* sinks that have not ended it */
    uint32_t done, stalls;
};

static inline uint32_t play_variant(const struct play *x, uint64_t replay)
{
    return x->plan->variants > 1 ? x->plan->variant_of_phase[replay % x->plan->phases] : 0;
}

static inline const struct rd_op *play_ops(const struct play *x, uint32_t variant)
{
    return variant ? x->plan->variant[variant - 1].op : x->plan->op;
}

/* Wait k of an op of the lane. */
static inline struct rd_wait play_wait(const struct play *x, uint32_t variant, uint32_t lane,
                                       uint32_t op, uint32_t k)
{
    const struct rd_op *o = play_ops(x, variant);
    const struct rd_plan_variant *v = variant ? &x->plan->variant[variant - 1] : NULL;
    uint32_t at = v ? v->wait_first[lane] : x->plan->lane[lane].wait_first;
    if (!k)
        return (struct rd_wait){ o[op].wait, o[op].peer, o[op].dist, 0 };
    for (uint32_t i = x->plan->lane[lane].first; i < op; i++)
        at += o[i].more;
    return (v ? v->wait : x->plan->wait)[at + k - 1];
}

static inline int play_may_run(struct play *x, uint32_t lane)
{
    const struct rd_plan_lane *l = &x->plan->lane[lane];
    uint64_t replay = x->count[lane] / l->length;
    uint32_t op = l->first + (uint32_t)(x->count[lane] % l->length), variant;
    const struct rd_op *o;
    if (replay == x->replays || (op == l->first && replay >= x->done + x->window))
        return 0;
    variant = play_variant(x, replay);
    o = &play_ops(x, variant)[op];
    for (uint32_t k = 0; o->wait && k <= o->more; k++) {
        struct rd_wait w = play_wait(x, variant, lane, op, k);
        if (w.dist <= replay &&
            x->count[w.peer] < (replay - w.dist) * x->plan->lane[w.peer].length + w.wait)
            return 0;
    }
    if (!x->external || !x->external[o->node] || x->begun[replay][o->node] == 2)
        return 1;
    x->begun[replay][o->node] = 1;
    return 0;
}

/* The predecessors of a node in a replay. */
static inline const struct rd_edge *play_preds(const struct play *x, uint64_t replay, uint32_t node,
                                               uint32_t *count)
{
    const struct rd_graph *g = x->graph;
    const struct rd_variant *v =
        x->plan->variants > 1 ? &g->variant[play_variant(x, replay)] : NULL;
    const uint32_t *first = v ? v->first : g->first;
    *count = first[node + 1] - first[node];
    return (v ? v->pred : g->pred) + first[node];
}

static inline void play_op(struct play *x, uint32_t lane)
{
    const struct rd_plan_lane *l = &x->plan->lane[lane];
    uint64_t replay = x->count[lane] / l->length;
    uint32_t op = l->first + (uint32_t)(x->count[lane] % l->length), count;
    uint32_t node = x->plan->op[op].node;
    const struct rd_edge *pred = play_preds(x, replay, node, &count);
    for (uint32_t e = 0; e < count; e++)
        cr_assert(pred[e].distance > replay ||
                      x->ran[pred[e].from] >= replay - pred[e].distance + 1,
                  "node %u of replay %llu ran before node %u, %u back", node,
                  (unsigned long long)replay, pred[e].from, pred[e].distance);
    x->ran[node]++;
    x->count[lane]++;
    if (op + 1 < l->first + l->length || !l->sink || --x->left[replay])
        return;
    cr_assert_eq(replay, x->done);
    x->done++;
    for (uint32_t v = 0; v < x->graph->nodes; v++)
        cr_assert_geq(x->ran[v], x->done, "replay %llu ended before node %u",
                      (unsigned long long)replay, v);
}

/* Whether the node has to wait for an external node that may not end yet, by looking at every path.
 */
static inline int play_held(const struct play *x, uint32_t node)
{
    uint32_t count;
    const struct rd_edge *pred = play_preds(x, x->done, node, &count);
    if (x->external && x->external[node] && x->begun[x->done][node] != 2)
        return 1;
    for (uint32_t e = 0; e < count; e++)
        if (!pred[e].distance && x->ran[pred[e].from] <= x->done && play_held(x, pred[e].from))
            return 1;
    return 0;
}

/* Nothing can run: all that is left of the oldest replay must depend on external nodes that have
 * begun. One of these ends. */
static inline void play_stall(struct play *x)
{
    uint32_t begun = 0, nodes = x->graph->nodes, pick;
    x->stalls++;
    for (uint32_t v = 0; v < nodes; v++) {
        cr_assert(x->ran[v] > x->done || play_held(x, v), "node %u of replay %u is held back", v,
                  x->done);
        begun += x->begun[x->done][v] == 1;
    }
    cr_assert(begun, "no external node of replay %u has begun", x->done);
    pick = below(&x->seed, begun);
    for (uint32_t v = 0; v < nodes; v++)
        if (x->begun[x->done][v] == 1 && !pick--)
            x->begun[x->done][v] = 2;
}

static inline void play(struct play *x)
{
    cr_assert(x->plan->lanes <= PLAY_LANES && x->graph->nodes <= PLAY_NODES);
    cr_assert(x->replays <= PLAY_REPLAYS);
    for (uint32_t r = 0; r < x->replays; r++)
        x->left[r] = x->plan->sinks;
    while (x->done < x->replays) {
        uint32_t able = 0, lane[PLAY_LANES];
        for (uint32_t l = 0; l < x->plan->lanes; l++)
            if (play_may_run(x, l))
                lane[able++] = l;
        if (able)
            play_op(x, lane[below(&x->seed, able)]);
        else
            play_stall(x);
    }
}

#endif
