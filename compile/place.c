/* SPDX-License-Identifier: BSD-3-Clause */
/* The place pass: a processor for every node.
 *
 * Bound nodes go where they must, and none other to a helper. For the others several placements are
 * made: blocks in recording order, the same with levels that make up for each other (block.c), HEFT
 * (heft.c), and, where costs are given and there are not too many nodes, schedules by lists
 * (list.c, rules.c). They are played in time (timeline.c) and compared: a later one is tried where
 * none so far is near a lower bound, and taken if it is faster by more than a little, because
 * blocks keep data where it is. That is done for P, P / 2, ... 1 processors, and fewer are taken
 * where more do not win 5 %: with costs that are small against a hand-over all nodes end on one. */
#include "compile/passes.h"

#include <string.h>

enum way { BLOCKS, CARRY, HEFT, LISTS };
enum { LIST_NODES = 16384, LIST_NODES_FASTEST = 1 << 20 };
static const uint64_t TIME_NONE = 1ull << 60; /* longer than any */

struct place {
    struct rd_pass *p;
    struct rd_placement best, trial, spare; /* best.time_ns 0: none yet */
    uint64_t path_ns; /* longest path; 0 for pipelined replays: they overlap */
    uint64_t *rank;   /* without hand-overs */
    struct rd_levels levels;
    uint32_t *list; /* for HEFT; NULL until it is tried */
    struct rd_rules rules;
    int any_bound;
    uint32_t lists; /* how many are tried */
    /* In %: near enough to the bound; a later placement's gain; what fewer processors may cost. */
    uint64_t near, gain, fewer;
};

static void swap(struct rd_placement *a, struct rd_placement *b)
{
    struct rd_placement c = *a;
    *a = *b;
    *b = c;
}

static int obtain(struct rd_pass *p, struct rd_placement *placement)
{
    placement->processor = rd_scratch_array(&p->scratch, p->nodes, sizeof *placement->processor);
    placement->order = rd_scratch_array(&p->scratch, p->nodes, sizeof *placement->order);
    placement->ids = 0;
    return placement->processor && placement->order;
}

/* a within `percent` % of b */
static int within(uint64_t a, uint64_t b, uint64_t percent) { return a <= b + b * percent / 100; }

static rondo_status alone(struct rd_pass *p, uint16_t processor, struct rd_placement *placement)
{
    for (uint32_t v = 0; v < p->nodes; v++)
        placement->processor[v] = processor;
    placement->time_ns = p->work_ns;
    return rd_order_alone(p, placement->order, &placement->ids);
}

/* The time of placement->processor: played, or all the work if one processor has it all. */
static rondo_status play(struct rd_pass *p, struct rd_placement *placement)
{
    for (uint32_t v = 1; v < p->nodes; v++)
        if (placement->processor[v] != placement->processor[0])
            return rd_timeline(p, placement);
    return alone(p, placement->processor[0], placement);
}

static uint64_t lower_bound(const struct place *x, uint32_t count)
{
    uint64_t share = x->p->work_ns / (x->any_bound ? x->p->in->processors : count);
    return share > x->path_ns ? share : x->path_ns;
}

static rondo_status prepare_heft(struct place *x)
{
    x->list = rd_scratch_array(&x->p->scratch, x->p->nodes, sizeof *x->list);
    return x->list ? rd_order_list(x->p, x->rank, x->list) : rd_pass_memory();
}

static rondo_status place_by(struct place *x, enum way way, uint32_t count)
{
    rondo_status s = RONDO_OK;
    if (way != HEFT)
        return rd_block_place(x->p, &x->levels, count, way == CARRY, x->spare.processor);
    if (!x->list)
        s = prepare_heft(x);
    return s ? s : rd_heft_place(x->p, x->list, count, x->spare.processor);
}

/* One way to place and order in x->spare. */
static rondo_status try_way(struct place *x, uint32_t way, uint32_t count)
{
    rondo_status s;
    x->spare.ids = 0;
    if (way >= LISTS)
        return rd_rules_try(x->p, &x->rules, x->rank, way - LISTS, count, &x->spare);
    s = place_by(x, (enum way)way, count);
    return s ? s : play(x->p, &x->spare);
}

/* Leaves the best placement on `count` processors in x->trial. */
static rondo_status try_count(struct place *x, uint32_t count)
{
    uint64_t bound = lower_bound(x, count);
    x->trial.time_ns = TIME_NONE;
    for (uint32_t way = BLOCKS; way < (count > 1 ? LISTS + x->lists : CARRY); way++) {
        rondo_status s = try_way(x, way, count);
        if (s)
            return s;
        if (!within(x->trial.time_ns, x->spare.time_ns, x->gain))
            swap(&x->trial, &x->spare);
        if (within(x->trial.time_ns, bound, x->near))
            break;
    }
    return RONDO_OK;
}

/* From all processors down; each halving that costs little of the best time is taken. */
static rondo_status choose(struct place *x, uint32_t most)
{
    uint64_t least = TIME_NONE;
    for (uint32_t count = most; count && within(lower_bound(x, count), least, x->fewer);
         count /= 2) {
        rondo_status s = try_count(x, count);
        if (s)
            return s;
        if (x->trial.time_ns < least)
            least = x->trial.time_ns;
        if (!x->best.time_ns || within(x->trial.time_ns, least, x->fewer))
            swap(&x->best, &x->trial);
    }
    return RONDO_OK;
}

static int costs_given(const struct rd_pass *p)
{
    for (uint32_t v = 0; v < p->nodes && p->in->cost_ns; v++)
        if (p->in->cost_ns[v])
            return 1;
    return 0;
}

/* How hard to try. */
static void set_effort(struct place *x)
{
    const struct rd_pass *p = x->p;
    const uint32_t limit = p->fastest ? LIST_NODES_FASTEST : LIST_NODES;
    x->near = 5;
    x->gain = 3;
    x->fewer = p->in->op_ns ? 10 : 5; /* the smaller the nodes, the rougher the prediction */
    if (!p->carried_edges && p->nodes <= limit && (p->fastest || costs_given(p))) {
        x->lists = rd_rules_count(p->nodes);
        x->near = 2;
        x->gain = 1;
    }
    if (p->fastest) {
        x->near = p->nodes > LIST_NODES;
        x->gain = x->fewer = 0;
    }
}

static rondo_status place_free(struct rd_pass *p, int any_bound, struct rd_placement *placement)
{
    struct place x = { .p = p, .best = *placement, .any_bound = any_bound };
    uint32_t places = p->in->processors - p->in->helpers;
    uint32_t most = places < p->nodes ? places : p->nodes;
    rondo_status s;
    x.rank = rd_scratch_array(&p->scratch, p->nodes, sizeof *x.rank);
    if (!x.rank)
        return rd_pass_memory();
    set_effort(&x);
    rd_order_ranks(p, NULL, x.rank);
    for (uint32_t v = 0; v < p->nodes && !p->carried_edges; v++)
        if (x.rank[v] > x.path_ns)
            x.path_ns = x.rank[v];
    if (!any_bound && within(p->work_ns, lower_bound(&x, most), x.fewer))
        return alone(p, 0, placement);
    s = rd_block_levels(p, &x.levels);
    if (!s && (!obtain(p, &x.trial) || !obtain(p, &x.spare)))
        s = rd_pass_memory();
    if (!s)
        s = choose(&x, most);
    *placement = x.best;
    return s;
}

rondo_status rd_place(struct rd_pass *p, struct rd_placement *placement)
{
    const uint16_t *bound = p->in->bound;
    uint32_t bound_count = 0;
    for (uint32_t v = 0; v < p->nodes && bound; v++)
        bound_count += bound[v] != RD_PLACE_ANY;
    placement->time_ns = 0;
    if (!obtain(p, placement))
        return rd_pass_memory();
    if (p->in->processors == 1 || !p->nodes)
        return alone(p, 0, placement);
    if (bound_count < p->nodes)
        return place_free(p, bound_count > 0, placement);
    memcpy(placement->processor, bound, p->nodes * sizeof *bound);
    return play(p, placement);
}
