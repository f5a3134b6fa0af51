/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays a placement in time. Each processor, when it is free, starts of the nodes that are ready
 * for it the one with the greatest {priority, rank}, ties by id. A result is ready on its own
 * processor when its node ends and on the others handover_ns later. The nodes in the order of their
 * starts are the global linear order: costs are at least 1, so a node starts after all it depends
 * on started. Ranks count hand-overs at 1 ns at least, so a node that another processor waits for
 * has a greater rank than its equals: boundary before interior.
 *
 * Ends are a heap of at most one entry per processor. Arrivals on other processors are a queue:
 * ends are met in order of time and all arrive equally much later. */
#include "compile/passes.h"
#include "compile/ready.h"
#include "compile/take.h"

#include <string.h>

#define NONE UINT32_MAX

struct end {
    uint64_t time;
    uint32_t processor;
};

struct processor {
    uint32_t first, length; /* its nodes in `sorted` */
    uint32_t from;          /* no member of `ready` among its own is less */
    uint32_t ready;         /* how many are */
    uint32_t running;       /* node or NONE */
    uint8_t busy, touched;
};

struct node {
    uint32_t left;  /* results it still waits for */
    uint32_t place; /* in `sorted` */
    uint32_t on;    /* its processor */
};

struct timeline {
    struct rd_pass *p;
    const uint16_t *on;
    struct node *node; /* what a result touches lies together */
    uint32_t processors;
    struct processor *proc;
    uint32_t *sorted;      /* nodes by {processor, priority, rank, id} */
    struct rd_ready ready; /* of places */
    struct end *heap;
    uint32_t ends;
    uint32_t *sent; /* queue of nodes whose results are on their way */
    uint64_t *arrival;
    uint32_t sent_head, sent_tail;
    uint32_t *touched; /* processors that may start something */
    uint32_t touched_count;
    uint32_t *order, started;
    uint64_t *start; /* by node; NULL: not asked for */
    uint64_t *idle;  /* by processor: since when; unless looks are free */
    struct rd_take take;
    uint64_t now;
    uint64_t last; /* when all results so far are back at processor 0 */
    struct rd_scratch scratch;
};

static void heap_push(struct timeline *t, struct end e)
{
    uint32_t i = t->ends++;
    for (; i; i = (i - 1) / 2) {
        struct end *up = &t->heap[(i - 1) / 2];
        if (up->time < e.time || (up->time == e.time && up->processor < e.processor))
            break;
        t->heap[i] = *up;
    }
    t->heap[i] = e;
}

static void heap_pop(struct timeline *t)
{
    struct end last = t->heap[--t->ends];
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < t->ends) {
        struct end *c = t->heap;
        if (child + 1 < t->ends &&
            (c[child + 1].time < c[child].time ||
             (c[child + 1].time == c[child].time && c[child + 1].processor < c[child].processor)))
            child++;
        if (last.time < c[child].time ||
            (last.time == c[child].time && last.processor < c[child].processor))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = last;
}

static void touch(struct timeline *t, uint32_t processor)
{
    struct processor *q = &t->proc[processor];
    if (q->busy || q->touched)
        return;
    q->touched = 1;
    t->touched[t->touched_count++] = processor;
}

static void add_ready(struct timeline *t, const struct node *node)
{
    struct processor *q = &t->proc[node->on];
    rd_ready_add(&t->ready, node->place);
    if (node->place < q->from)
        q->from = node->place;
    q->ready++;
    touch(t, node->on);
}

static void result(struct timeline *t, struct node *node)
{
    if (--node->left == 0)
        add_ready(t, node);
}

/* A processor is free again: results for itself at once, for others sent. */
static void end_op(struct timeline *t, uint32_t processor)
{
    struct processor *q = &t->proc[processor];
    uint32_t u = q->running;
    uint64_t back;
    int sends = 0;
    q->busy = 0;
    q->running = NONE;
    if (t->idle)
        t->idle[processor] = t->now;
    touch(t, processor);
    if (u == NONE)
        return;
    rd_take_ended(&t->take, u, processor);
    back = t->now + (processor ? rd_pass_reach(t->p) : 0);
    if (back > t->last)
        t->last = back;
    for (uint32_t k = t->p->succ_first[u]; k < t->p->succ_first[u + 1]; k++) {
        struct node *v = &t->node[t->p->succ[k]];
        if (v->on == processor)
            result(t, v);
        else
            sends = 1;
    }
    if (sends) {
        t->sent[t->sent_tail] = u;
        t->arrival[t->sent_tail++] = t->now + t->p->handover_ns;
    }
}

static void arrive(struct timeline *t, uint32_t u)
{
    uint32_t processor = t->node[u].on;
    for (uint32_t k = t->p->succ_first[u]; k < t->p->succ_first[u + 1]; k++)
        if (t->node[t->p->succ[k]].on != processor)
            result(t, &t->node[t->p->succ[k]]);
}

/* The processor looks for v's inputs. */
static uint64_t look(struct timeline *t, uint32_t v, uint32_t processor)
{
    if (!t->idle)
        return 0;
    return rd_take_inputs(&t->take, t->p, v, t->on, t->idle[processor] < t->now);
}

static void start_ops(struct timeline *t)
{
    for (uint32_t i = 0; i < t->touched_count; i++) {
        uint32_t processor = t->touched[i], place, v;
        struct processor *q = &t->proc[processor];
        uint64_t at;
        q->touched = 0;
        if (q->busy || !q->ready)
            continue;
        place = rd_ready_next(&t->ready, q->from);
        v = t->sorted[place];
        rd_ready_remove(&t->ready, place);
        q->from = place;
        q->ready--;
        q->running = v;
        q->busy = 1;
        t->order[t->started++] = v;
        at = t->now + look(t, v, processor);
        if (t->start)
            t->start[v] = at;
        heap_push(t, (struct end){ at + rd_pass_cost(t->p, v), processor });
    }
    t->touched_count = 0;
}

static void play(struct timeline *t)
{
    for (;;) {
        uint64_t next = ~0ull;
        start_ops(t);
        if (t->ends)
            next = t->heap[0].time;
        if (t->sent_head < t->sent_tail && t->arrival[t->sent_head] < next)
            next = t->arrival[t->sent_head];
        if (next == ~0ull)
            return;
        t->now = next;
        while (t->ends && t->heap[0].time == t->now) {
            uint32_t processor = t->heap[0].processor;
            heap_pop(t);
            end_op(t, processor);
        }
        while (t->sent_head < t->sent_tail && t->arrival[t->sent_head] == t->now)
            arrive(t, t->sent[t->sent_head++]);
    }
}

/* Cuts the sorted nodes into the processors' parts. */
static void sort_by_processor(struct timeline *t, const struct rd_keyed *sorted)
{
    uint32_t n = t->p->nodes, first = 0;
    for (uint32_t v = 0; v < n; v++)
        t->proc[t->on[v]].length++;
    for (uint32_t i = 0; i < t->processors; i++) {
        t->proc[i].first = t->proc[i].from = first;
        first += t->proc[i].length;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = sorted[i].node;
        struct processor *q = &t->proc[t->on[v]];
        t->node[v] = (struct node){ t->p->pred_count[v], q->from, t->on[v] };
        t->sorted[q->from++] = v;
    }
    for (uint32_t i = 0; i < t->processors; i++)
        t->proc[i].from = t->proc[i].first + t->proc[i].length;
}

/* Fills sorted[] and node[], and each processor's part. */
static rondo_status sort_nodes(struct timeline *t)
{
    struct rd_pass *p = t->p;
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    uint64_t *rank = rd_scratch_array(&temporary, p->nodes, sizeof *rank);
    struct rd_keyed *key = rd_scratch_array(&temporary, p->nodes, sizeof *key);
    struct rd_keyed *spare = rd_scratch_array(&temporary, p->nodes, sizeof *spare);
    rondo_status s = RONDO_OK;
    if (rank && key && spare) {
        rd_order_ranks(p, t->on, rank);
        sort_by_processor(t, rd_order_sort(p, rank, key, spare));
    } else {
        s = rd_pass_memory();
    }
    rd_scratch_free(&temporary);
    return s;
}

static rondo_status prepare(struct timeline *t)
{
    struct rd_pass *p = t->p;
    struct rd_scratch *s = &t->scratch;
    uint32_t n = p->nodes;
    rondo_status status;
    t->proc = rd_scratch_zeroed(s, t->processors, sizeof *t->proc);
    t->heap = rd_scratch_array(s, t->processors, sizeof *t->heap);
    t->touched = rd_scratch_array(s, t->processors, sizeof *t->touched);
    t->sorted = rd_scratch_array(s, n, sizeof *t->sorted);
    t->node = rd_scratch_array(s, n, sizeof *t->node);
    if (!t->proc || !t->heap || !t->touched || !t->sorted || !t->node ||
        !rd_ready_init(&t->ready, s, n))
        return rd_pass_memory();
    status = sort_nodes(t);
    if (status)
        return status;
    t->sent = rd_scratch_array(s, n, sizeof *t->sent);
    t->arrival = rd_scratch_array(s, n, sizeof *t->arrival);
    if (p->carried_edges)
        t->start = rd_scratch_array(s, n, sizeof *t->start);
    if (!t->sent || !t->arrival || (p->carried_edges && !t->start) || !rd_take_init(&t->take, p, s))
        return rd_pass_memory();
    if (t->take.seen && !(t->idle = rd_scratch_zeroed(s, t->processors, sizeof *t->idle)))
        return rd_pass_memory();
    return RONDO_OK;
}

/* Every processor can start at 0 in the steady state of pipelined replays. A replay on its own
 * begins where its caller is, processor 0, and reaches the others a hand-over later. */
static void begin(struct timeline *t)
{
    for (uint32_t i = 0; i < t->processors; i++) {
        t->proc[i].running = NONE;
        if (i && t->proc[i].length && !t->p->carried_edges) {
            t->proc[i].busy = 1;
            heap_push(t, (struct end){ rd_pass_reach(t->p), i });
        }
    }
    for (uint32_t v = 0; v < t->p->nodes; v++)
        if (!t->node[v].left)
            add_ready(t, &t->node[v]);
}

/* What each processor's looks at results of replays before cost it, one for each peer. */
static void look_back(struct timeline *t)
{
    const struct rd_graph *g = t->p->graph;
    memset(t->idle, 0, t->processors * sizeof *t->idle);
    memset(t->take.seen, 0, (size_t)t->processors * t->processors * sizeof *t->take.seen);
    for (uint32_t v = 0; v < t->p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t q = t->on[v], peer = t->on[g->pred[e].from];
            uint32_t *seen = &t->take.seen[(size_t)q * t->processors + peer];
            if (!g->pred[e].distance || q == peer || *seen)
                continue;
            *seen = 1;
            t->idle[q] += t->p->handover_ns / 2;
        }
}

/* No lane may start again before it ended. */
static uint64_t longest_lane(struct timeline *t)
{
    uint64_t longest = 1;
    if (t->idle)
        look_back(t);
    for (uint32_t i = 0; i < t->processors; i++)
        t->proc[i].first = NONE; /* now its first node */
    for (uint32_t i = 0; i < t->p->nodes; i++) {
        uint32_t v = t->order[i];
        struct processor *q = &t->proc[t->on[v]];
        uint64_t end = t->start[v] + rd_pass_cost(t->p, v) + (t->idle ? t->idle[t->on[v]] : 0);
        if (q->first == NONE)
            q->first = v;
        if (end - t->start[q->first] > longest)
            longest = end - t->start[q->first];
    }
    return longest;
}

/* From one replay to the next: nor may a carried input come too late. */
static uint64_t period(struct timeline *t)
{
    const struct rd_graph *g = t->p->graph;
    uint64_t longest = longest_lane(t);
    for (uint32_t v = 0; v < t->p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from, d = g->pred[e].distance;
            uint64_t end = t->start[u] + rd_pass_cost(t->p, u);
            if (d && t->on[u] != t->on[v])
                end += t->p->handover_ns;
            if (d && end > t->start[v] && (end - t->start[v] + d - 1) / d > longest)
                longest = (end - t->start[v] + d - 1) / d;
        }
    return longest;
}

rondo_status rd_timeline(struct rd_pass *p, struct rd_placement *placement)
{
    struct timeline t = { 0 };
    rondo_status s = rd_order_successors(p);
    if (s)
        return s;
    t.p = p;
    t.on = placement->processor;
    t.processors = p->in->processors;
    t.order = placement->order;
    t.scratch = rd_scratch_part(&p->scratch);
    s = prepare(&t);
    if (s)
        goto free_scratch;
    begin(&t);
    play(&t);
    RD_ASSERT(t.started == p->nodes);
    placement->time_ns = p->carried_edges ? period(&t) : t.last;
free_scratch:
    rd_scratch_free(&t.scratch);
    return s;
}
