/* SPDX-License-Identifier: BSD-3-Clause */
/* Each lane runs the nodes that `place` gave it: those its own nodes made ready from a private
 * stack, those that other lanes' nodes made ready from a queue. A lane has done its part when it
 * ran as many nodes as it has; so no count is shared but each node's own.
 *
 * Safety.
 * - pending[v] is set by lane 0 at the start of the replay, when no other replay is in flight
 * (interpreted boundaries are serial) and before it pushes a first node; every other lane touches
 * it after taking a node from its queue, which acquired that push. Whoever takes it to 0 (acq_rel)
 * has seen all predecessors and is the only one to make v ready, so v runs once.
 * - A queue's cell holds {round, node}; positions grow for ever, a cell's round with them, and
 * nothing is reset. A lane takes at most `length` nodes per replay from a ring of at least as many
 * cells, and replays are serial, so a cell is read before it is written again. */
#include "interp/interp.h"

#include "interp/shuffle.h"
#include "src/base/env.h"
#include "src/base/error.h"
#include "src/frame/op.h"
#include "src/frame/slow.h"
#include "src/machine/spin.h"

#include <string.h>

enum { OPS_MAX = 4096 };

struct ready_queue {
    RD_ALIGNED rd_atomic64 tail; /* positions given out to pushers */
    rd_atomic64 wake;            /* spots waiting for the next cell */
    rd_atomic64 *cell;           /* (position >> shift) + 1 in the upper half, the node below */
    uint32_t mask, shift;
    RD_ALIGNED uint64_t head; /* the lane's own from here on */
    uint32_t *ready;          /* stack; from its other end, downwards, the nodes that pend */
    uint32_t ready_count, pend_count, length;
    int shuffled; /* RONDO_SHUFFLE */
    uint64_t random;
};

struct rd_interpreter {
    uint32_t lanes, nodes, edges;
    uint64_t begun;  /* local replay + 1 whose counts were set; lane 0's */
    uint32_t *image; /* predecessors by node */
    rd_atomic32 *pending;
    uint32_t *succ_first, *succ;
    uint16_t *lane_of;
    struct ready_queue *queue; /* by lane */
};

static void push(struct ready_queue *q, uint32_t node)
{
    uint64_t at = rd_add_relaxed(&q->tail, 1); /* a place, published by the cell */
    /* Release: what made the node ready; pairs with the acquire in pop. */
    rd_store_release(&q->cell[at & q->mask], ((at >> q->shift) + 1) << 32 | node);
    /* No fence: a parker this look misses has a timeout; the pusher looks again when it blocks. */
    if (RD_UNLIKELY(rd_load_relaxed(&q->wake) != 0))
        rd_park_wake(&q->wake);
}

static int pop(struct ready_queue *q, uint32_t *node, struct rd_unmet *unmet)
{
    rd_atomic64 *cell = &q->cell[q->head & q->mask];
    uint64_t need = ((q->head >> q->shift) + 1) << 32, value = rd_load_acquire(cell);
    if (value < need) {
        *unmet = (struct rd_unmet){ cell, need, &q->wake, NULL, 0 };
        return 0;
    }
    q->head++;
    *node = (uint32_t)value;
    return 1;
}

/* RONDO_SHUFFLE: a random one of all that is ready comes next. */
static RD_NOINLINE void shuffle(struct ready_queue *q)
{
    struct rd_unmet ignored;
    uint32_t node, at, top;
    while (pop(q, &node, &ignored))
        q->ready[q->ready_count++] = node; /* there is room for all nodes of the lane */
    if (!q->ready_count)
        return;
    top = q->ready_count - 1;
    at = rd_shuffle_pick(&q->random, q->ready_count);
    node = q->ready[at];
    q->ready[at] = q->ready[top];
    q->ready[top] = node;
}

static void make_ready(struct rd_interpreter *in, struct rd_lane *l, uint32_t node)
{
    uint32_t lane = in->lane_of[node];
    struct ready_queue *q = &in->queue[lane];
    if (lane == l->number)
        q->ready[q->ready_count++] = node;
    else
        push(q, node);
}

/* Lane 0 sets the counts and hands out the nodes without predecessors, the first recorded on top.
 */
static void start(struct rd_interpreter *in, struct rd_lane *l)
{
    for (uint32_t v = 0; v < in->nodes; v++)
        rd_store_relaxed(&in->pending[v], in->image[v]); /* published by the pushes */
    for (uint32_t v = in->nodes; v-- > 0;)
        if (!in->image[v])
            make_ready(in, l, v);
}

static void finish(struct rd_interpreter *in, struct rd_lane *l, uint32_t node)
{
    const int alone = in->lanes == 1;
    for (uint32_t i = in->succ_first[node + 1]; i-- > in->succ_first[node];) {
        uint32_t v = in->succ[i], left;
        if (alone) {
            left = rd_load_relaxed(&in->pending[v]) - 1; /* one lane: nothing to order */
            rd_store_relaxed(&in->pending[v], left);
        } else {
            left = rd_sub_acq_rel(&in->pending[v], 1) - 1; /* see the safety argument */
        }
        if (!left)
            make_ready(in, l, v);
    }
}

/* 0: it pends. Else it is over, and what it made ready is known. */
static int run_node(struct rd_interpreter *in, struct rd_lane *l, struct rd_frame *f, uint32_t node)
{
    struct rd_track *t = l->track;
    const struct rd_op *e = &t->op[t->plan->op_of_node[node]];
    if (!rd_op_run(l, f, e, l->bit_first + (uint32_t)(e - l->op)))
        return 0;
    l->position++;
    finish(in, l, node);
    return 1;
}

/* ---- nodes that pend */

static uint32_t *pending_node(struct ready_queue *q, uint32_t i)
{
    return &q->ready[q->length - 1 - i]; /* a node is ready, or pends, or neither: there is room */
}

static int64_t sooner(int64_t a, int64_t b) { return !a || (b && b < a) ? b : a; }

/* Runs the lane's pending nodes again. Returns how many are over; if none is, l->unmet is that of
 * one of them, until the time that any of them asks for. `ask`: registers for all. */
static uint32_t retry(struct rd_interpreter *in, struct rd_lane *l, struct rd_frame *f, int ask)
{
    struct ready_queue *q = &in->queue[l->number];
    uint32_t over = 0;
    int64_t until = 0;
    for (uint32_t i = q->pend_count; i-- > 0;) {
        uint32_t node = *pending_node(q, i);
        /* Out of the list before what it makes ready needs the room; the last one, looked at
         * already, takes its place. */
        *pending_node(q, i) = *pending_node(q, --q->pend_count);
        if (run_node(in, l, f, node)) {
            over++;
            continue;
        }
        *pending_node(q, q->pend_count++) = node;
        until = sooner(until, l->unmet.until_ns);
        if (ask)
            rd_unmet_register(&l->unmet);
    }
    l->unmet.until_ns = until;
    return over;
}

/* ---- waiting */

static enum rd_advance block(struct rd_interpreter *in)
{
    rd_fence(); /* orders this lane's pushes with the looks; partner: the parkers' fence */
    for (uint32_t i = 0; i < in->lanes; i++)
        if (rd_load_relaxed(&in->queue[i].wake))
            rd_park_wake(&in->queue[i].wake);
    return RD_BLOCKED;
}

/* Only one wait can be told: the others are registered for here. A wake between the last look and
 * the parker's own preparation is missed; it parks with a timeout. */
static enum rd_advance block_pending(struct rd_interpreter *in, struct rd_lane *l,
                                     struct rd_frame *f)
{
    struct ready_queue *q = &in->queue[l->number];
    struct rd_unmet cell;
    uint32_t node;
    if (retry(in, l, f, 1))
        return RD_PROGRESSED;
    rd_fence(); /* orders the bits with the looks; partner: the fence of whoever wakes */
    if (retry(in, l, f, 0))
        return RD_PROGRESSED;
    if (pop(q, &node, &cell)) {
        q->ready[q->ready_count++] = node;
        return RD_PROGRESSED;
    }
    if (l->position + q->pend_count < l->length) { /* else nothing can come by the queue */
        cell.until_ns = l->unmet.until_ns;
        l->unmet = cell;
    }
    return block(in);
}

/* The next node to run: 1; else l->unmet is the queue's. */
static int next_node(struct ready_queue *q, struct rd_lane *l, uint32_t *node)
{
    if (RD_UNLIKELY(q->shuffled))
        shuffle(q);
    if (!q->ready_count)
        return pop(q, node, &l->unmet);
    *node = q->ready[--q->ready_count];
    return 1;
}

enum rd_advance rd_interpret(struct rd_lane *l, struct rd_frame *f, uint32_t polls)
{
    struct rd_interpreter *in = l->track->interpreter;
    struct ready_queue *q = &in->queue[l->number];
    uint32_t node, budget = OPS_MAX, left = polls;
    rd_slow_waited(l);
    if (l->number == 0 && in->begun != l->replay + 1) {
        in->begun = l->replay + 1;
        start(in, l);
    }
    while (l->position < l->length) {
        if (!next_node(q, l, &node)) {
            rd_slow_waited(l);
            if (q->pend_count && retry(in, l, f, 0))
                continue;
            if (!left--)
                return q->pend_count ? block_pending(in, l, f) : block(in);
            rd_spin_pause();
            continue;
        }
        if (!budget--) {
            q->ready[q->ready_count++] = node; /* there is room: it was just taken */
            return RD_PROGRESSED;
        }
        left = polls;
        if (!run_node(in, l, f, node))
            *pending_node(q, q->pend_count++) = node;
    }
    return RD_DONE;
}

/* Each lane has picks of its own, so that one lane's do not depend on the others' speed. */
static void seed(struct ready_queue *q, uint32_t lane)
{
    q->shuffled = rd_env_text(RD_ENV_RONDO_SHUFFLE) != NULL;
    q->random = (uint64_t)rd_env_number(RD_ENV_RONDO_SHUFFLE, INT64_MIN, INT64_MAX, 0) + lane;
}

static int build_queue(struct rd_allocator *a, struct ready_queue *q, uint32_t length)
{
    uint32_t cells = 1;
    while (cells < length) {
        cells *= 2;
        q->shift++;
    }
    q->mask = cells - 1;
    q->length = length;
    q->ready = rd_alloc_array(a, length, sizeof *q->ready);
    q->cell = rd_zalloc_array(a, cells, sizeof *q->cell);
    return q->ready && q->cell;
}

/* Successors from the plan's predecessors, which are bad-bit numbers. */
static void build_edges(struct rd_interpreter *in, const struct rd_plan *plan,
                        uint32_t *node_of_bit)
{
    uint32_t *at = in->succ_first;
    for (uint32_t l = 0; l < plan->lanes; l++)
        for (uint32_t i = 0; i < plan->lane[l].length; i++) {
            uint32_t node = plan->op[plan->lane[l].first + i].node;
            node_of_bit[plan->lane[l].bit_first + i] = node;
            in->lane_of[node] = (uint16_t)l;
        }
    for (uint32_t i = 0; i < in->edges; i++)
        at[node_of_bit[plan->pred[i]] + 2]++;
    for (uint32_t v = 0; v < in->nodes; v++)
        at[v + 2] += at[v + 1]; /* at[v + 1]: where v's successors begin */
    for (uint32_t v = 0; v < in->nodes; v++) {
        in->image[v] = plan->pred_first[v + 1] - plan->pred_first[v];
        for (uint32_t i = plan->pred_first[v]; i < plan->pred_first[v + 1]; i++)
            in->succ[at[node_of_bit[plan->pred[i]] + 1]++] = v;
    }
}

rondo_status rd_interpreter_new(struct rd_allocator *a, const struct rd_plan *plan,
                                struct rd_interpreter **interpreter)
{
    struct rd_interpreter *in = rd_zalloc(a, sizeof *in, 16);
    uint32_t *node_of_bit = rd_alloc_array(a, plan->bits, sizeof *node_of_bit), l;
    int ok = in && node_of_bit;
    if (ok) {
        in->lanes = plan->lanes;
        in->nodes = plan->nodes;
        in->edges = plan->pred_first[plan->nodes];
        in->image = rd_alloc_array(a, in->nodes, sizeof *in->image);
        in->pending = rd_zalloc_array(a, in->nodes, sizeof *in->pending);
        in->succ_first = rd_zalloc_array(a, in->nodes + 2ull, sizeof *in->succ_first);
        in->succ = rd_alloc_array(a, in->edges, sizeof *in->succ);
        in->lane_of = rd_alloc_array(a, in->nodes, sizeof *in->lane_of);
        in->queue = rd_zalloc(a, in->lanes * sizeof *in->queue, RD_LINE);
        ok = in->image && in->pending && in->succ_first && in->succ && in->lane_of && in->queue;
        for (l = 0; ok && l < in->lanes; l++) {
            ok = build_queue(a, &in->queue[l], plan->lane[l].length);
            seed(&in->queue[l], l);
        }
    }
    if (ok)
        build_edges(in, plan, node_of_bit);
    rd_free_array(a, node_of_bit, plan->bits, sizeof *node_of_bit);
    if (!ok) {
        rd_interpreter_free(a, in);
        return rd_error(RONDO_ERR_MEMORY, "exec: no memory to interpret %u nodes", plan->nodes);
    }
    *interpreter = in;
    return RONDO_OK;
}

void rd_interpreter_free(struct rd_allocator *a, struct rd_interpreter *in)
{
    if (!in)
        return;
    for (uint32_t l = 0; in->queue && l < in->lanes; l++) {
        struct ready_queue *q = &in->queue[l];
        rd_free_array(a, q->ready, q->length, sizeof *q->ready);
        rd_free_array(a, q->cell, q->mask + 1ull, sizeof *q->cell);
    }
    rd_free(a, in->queue, in->lanes * sizeof *in->queue);
    rd_free_array(a, in->image, in->nodes, sizeof *in->image);
    rd_free_array(a, in->pending, in->nodes, sizeof *in->pending);
    rd_free_array(a, in->succ_first, in->nodes + 2ull, sizeof *in->succ_first);
    rd_free_array(a, in->succ, in->edges, sizeof *in->succ);
    rd_free_array(a, in->lane_of, in->nodes, sizeof *in->lane_of);
    rd_free(a, in, sizeof *in);
}
