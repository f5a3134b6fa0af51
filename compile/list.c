/* SPDX-License-Identifier: BSD-3-Clause */
/* List scheduling: time goes by, and a processor that is free takes of the nodes whose inputs are
 * there the first of a list. None is left idle while there is a node for it. Unlike heft.c, which
 * gives each node its place before it looks at the next, this never leaves a gap that a later node
 * of the list could fill; and it makes the order as well as the places.
 *
 * When the last input of a node ends, its results are there at once for the processor it ended on,
 * and a hand-over later for all others: until then the node is local to that processor, then
 * anyone's. A bound node is always local. */
#include "compile/passes.h"
#include "compile/ready.h"
#include "compile/take.h"

#include <string.h>

#define NONE UINT32_MAX

enum kind { ENDS, LOCAL, ANYONES, BEGINS };

struct event {
    uint64_t time;
    uint32_t kind, what; /* processor that ends or begins, node that is there */
};

struct node {
    uint32_t left; /* inputs that have not ended */
    uint32_t place;
    uint32_t next; /* in a processor's list of local nodes */
    uint16_t local;
    uint8_t started, anyones;
    uint64_t end;
};

struct list {
    struct rd_pass *p;
    const uint32_t *sorted; /* the list; node[].place is its inverse */
    uint32_t count;         /* processors for nodes that are not bound */
    struct node *node;
    uint16_t *on;   /* by node */
    uint64_t *idle; /* by processor: since when */
    struct rd_take take;
    struct rd_ready ready; /* places of nodes that are anyone's */
    struct rd_ready free;  /* processors */
    uint32_t *local;       /* by processor: its first local node */
    uint32_t *running;
    struct event *heap;
    uint32_t events;
    uint32_t *order, started;
    uint64_t now, last;
};

static int before(const struct event *a, const struct event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->kind != b->kind ? a->kind < b->kind : a->what < b->what;
}

static void push(struct list *t, uint64_t time, enum kind kind, uint32_t what)
{
    struct event e = { time, kind, what };
    uint32_t i = t->events++;
    for (; i && before(&e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = e;
}

static struct event pop(struct list *t)
{
    struct event first = t->heap[0], last = t->heap[--t->events];
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < t->events) {
        if (child + 1 < t->events && before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!before(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = last;
    return first;
}

static uint32_t bound_of(const struct list *t, uint32_t v)
{
    return t->p->in->bound ? t->p->in->bound[v] : (uint32_t)RD_PLACE_ANY;
}

/* All inputs of v have ended, the last on processor `at`. */
static void inputs_ended(struct list *t, uint32_t v, uint32_t at)
{
    const struct rd_graph *g = t->p->graph;
    uint32_t bound = bound_of(t, v);
    uint64_t there = t->now;
    if (bound != RD_PLACE_ANY)
        at = bound;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        const struct node *u = &t->node[g->pred[e].from];
        uint64_t arrival = u->end + (t->on[g->pred[e].from] != at ? t->p->handover_ns : 0);
        if (!g->pred[e].distance && arrival > there)
            there = arrival;
    }
    if (bound != RD_PLACE_ANY || at < t->count) {
        t->node[v].local = (uint16_t)at;
        push(t, there, LOCAL, v);
    }
    if (bound == RD_PLACE_ANY)
        push(t, t->now + t->p->handover_ns, ANYONES, v);
}

static void end_op(struct list *t, uint32_t processor)
{
    uint32_t u = t->running[processor];
    uint64_t back = t->now + (processor ? rd_pass_reach(t->p) : 0);
    rd_take_ended(&t->take, u, processor);
    t->idle[processor] = t->now;
    t->last = back > t->last ? back : t->last;
    rd_ready_add(&t->free, processor);
    for (uint32_t k = t->p->succ_first[u]; k < t->p->succ_first[u + 1]; k++)
        if (--t->node[t->p->succ[k]].left == 0)
            inputs_ended(t, t->p->succ[k], processor);
}

static void meet(struct list *t, const struct event *e)
{
    struct node *v = &t->node[e->what];
    switch ((enum kind)e->kind) {
    case ENDS: end_op(t, e->what); break;
    case BEGINS: rd_ready_add(&t->free, e->what); break;
    case LOCAL:
        if (v->started || v->anyones)
            break;
        v->next = t->local[v->local];
        t->local[v->local] = e->what;
        break;
    case ANYONES:
        if (v->started)
            break;
        v->anyones = 1;
        rd_ready_add(&t->ready, v->place);
    }
}

/* The processor's first local node, if one comes before `place`; others' than its own are dropped.
 */
static uint32_t best_local(struct list *t, uint32_t processor, uint32_t place)
{
    uint32_t *at = &t->local[processor], best = NONE;
    while (*at != NONE) {
        struct node *v = &t->node[*at];
        if (v->started || v->anyones) {
            *at = v->next;
            continue;
        }
        if (v->place < place) {
            best = *at;
            place = v->place;
        }
        at = &v->next;
    }
    return best;
}

static void start(struct list *t, uint32_t v, uint32_t processor)
{
    struct node *n = &t->node[v];
    if (n->anyones)
        rd_ready_remove(&t->ready, n->place);
    n->started = 1;
    t->on[v] = (uint16_t)processor;
    n->end = t->now + rd_pass_cost(t->p, v) +
             rd_take_inputs(&t->take, t->p, v, t->on, t->idle[processor] < t->now);
    t->running[processor] = v;
    t->order[t->started++] = v;
    rd_ready_remove(&t->free, processor);
    push(t, n->end, ENDS, processor);
}

static void start_ops(struct list *t)
{
    for (uint32_t q = rd_ready_next(&t->free, 0); q != RD_READY_NONE;
         q = rd_ready_next(&t->free, q + 1)) {
        uint32_t place = q < t->count ? rd_ready_next(&t->ready, 0) : (uint32_t)RD_READY_NONE;
        uint32_t v = best_local(t, q, place);
        if (v == NONE && place != RD_READY_NONE)
            v = t->sorted[place];
        if (v != NONE)
            start(t, v, q);
    }
}

static void play(struct list *t)
{
    start_ops(t);
    while (t->events) {
        t->now = t->heap[0].time;
        while (t->events && t->heap[0].time == t->now) {
            struct event e = pop(t);
            meet(t, &e);
        }
        start_ops(t);
    }
}

static rondo_status prepare(struct list *t, struct rd_scratch *s)
{
    uint32_t n = t->p->nodes, processors = t->p->in->processors;
    t->node = rd_scratch_zeroed(s, n, sizeof *t->node);
    t->local = rd_scratch_array(s, processors, sizeof *t->local);
    t->running = rd_scratch_array(s, processors, sizeof *t->running);
    t->idle = rd_scratch_zeroed(s, processors, sizeof *t->idle);
    t->heap = rd_scratch_array(s, 2 * (size_t)n + processors, sizeof *t->heap);
    if (!t->node || !t->local || !t->running || !t->idle || !t->heap ||
        !rd_ready_init(&t->ready, s, n) || !rd_ready_init(&t->free, s, processors) ||
        !rd_take_init(&t->take, t->p, s))
        return rd_pass_memory();
    memset(t->local, 0xff, processors * sizeof *t->local);
    for (uint32_t i = 0; i < n; i++)
        t->node[t->sorted[i]].place = i;
    return RONDO_OK;
}

/* As timeline.c: a replay begins on processor 0 and reaches the others a hand-over later. */
static void begin(struct list *t)
{
    for (uint32_t q = 0; q < t->p->in->processors; q++)
        push(t, q ? rd_pass_reach(t->p) : 0, BEGINS, q);
    for (uint32_t v = 0; v < t->p->nodes; v++) {
        uint32_t bound = bound_of(t, v);
        t->node[v].left = t->p->pred_count[v];
        if (t->node[v].left)
            continue;
        t->node[v].local = (uint16_t)bound;
        push(t, 0, bound == RD_PLACE_ANY ? ANYONES : LOCAL, v);
    }
}

rondo_status rd_list_schedule(struct rd_pass *p, const uint32_t *sorted, uint32_t count,
                              struct rd_placement *placement)
{
    struct list t = { .p = p,
                      .sorted = sorted,
                      .count = count,
                      .order = placement->order,
                      .on = placement->processor };
    struct rd_scratch scratch = rd_scratch_part(&p->scratch);
    rondo_status s = rd_order_successors(p);
    if (!s)
        s = prepare(&t, &scratch);
    if (!s) {
        begin(&t);
        play(&t);
        RD_ASSERT(t.started == p->nodes);
        placement->ids = 0;
        placement->time_ns = t.last;
    }
    rd_scratch_free(&scratch);
    return s;
}
