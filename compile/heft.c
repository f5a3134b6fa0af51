/* SPDX-License-Identifier: BSD-3-Clause */
/* List scheduling by HEFT rank without insertion (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS
 * 13(3), 2002): of the nodes whose predecessors are placed the one of the greatest {priority,
 * rank}, ties by id, goes to the processor on which it ends first. */
#include "compile/passes.h"

#include <string.h>

struct heft {
    struct rd_pass *p;
    uint32_t count, base; /* processors for nodes that are not bound; leaves of `free_at` */
    uint16_t *on;
    uint64_t *end;     /* by node */
    uint64_t *free_at; /* a tree of minima: leaf i is free_at[base + i] */
    uint64_t *other;   /* when the processors from `count` on are free */
};

static uint64_t sooner(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void set_free(struct heft *h, uint32_t processor, uint64_t time)
{
    uint32_t i = h->base + processor;
    if (processor >= h->count) {
        h->other[processor] = time;
        return;
    }
    for (h->free_at[i] = time; i > 1; i /= 2)
        h->free_at[i / 2] = sooner(h->free_at[i], h->free_at[i ^ 1]);
}

static uint64_t get_free(const struct heft *h, uint32_t processor)
{
    return processor < h->count ? h->free_at[h->base + processor] : h->other[processor];
}

/* The lowest processor that is free at `time` or, if none is, free first; not `but`. */
static uint32_t free_first(struct heft *h, uint64_t time, uint32_t but)
{
    uint64_t kept = but < h->count ? h->free_at[h->base + but] : 0, limit;
    uint32_t i = 1;
    if (but < h->count)
        set_free(h, but, ~0ull);
    limit = h->free_at[1] > time ? h->free_at[1] : time;
    while (i < h->base)
        i = h->free_at[2 * i] <= limit ? 2 * i : 2 * i + 1;
    if (but < h->count)
        set_free(h, but, kept);
    return i - h->base;
}

/* When v's inputs are there: on its critical predecessor's processor, which comes back, and on any
 * other. */
static uint32_t inputs(const struct heft *h, uint32_t v, uint64_t *there, uint64_t *elsewhere)
{
    const struct rd_graph *g = h->p->graph;
    uint64_t first = 0, second = 0; /* the last end, and the last on another processor than that */
    uint32_t critical = RD_PLACE_ANY;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint32_t u = g->pred[e].from;
        if (g->pred[e].distance)
            continue;
        if (critical == RD_PLACE_ANY || h->end[u] > first) {
            if (critical != RD_PLACE_ANY && h->on[u] != critical)
                second = first;
            first = h->end[u];
            critical = h->on[u];
        } else if (h->on[u] != critical && h->end[u] > second) {
            second = h->end[u];
        }
    }
    if (second)
        second += h->p->handover_ns;
    *there = first > second ? first : second;
    *elsewhere = critical == RD_PLACE_ANY ? 0 : first + h->p->handover_ns;
    return critical;
}

static void place_node(struct heft *h, uint32_t v)
{
    uint64_t there, elsewhere, start;
    uint32_t critical = inputs(h, v, &there, &elsewhere), best = critical;
    uint32_t bound = h->p->in->bound ? h->p->in->bound[v] : RD_PLACE_ANY;
    if (bound != RD_PLACE_ANY) {
        best = bound;
        start = later(get_free(h, best), best == critical ? there : elsewhere);
    } else if (h->count == 1 && critical == 0) {
        start = later(get_free(h, 0), there);
    } else {
        uint32_t rival = free_first(h, elsewhere, h->count == 1 ? RD_PLACE_ANY : critical);
        start = later(get_free(h, rival), rival == critical ? there : elsewhere);
        if (critical < h->count && later(get_free(h, critical), there) <= start)
            start = later(get_free(h, critical), there);
        else
            best = rival;
    }
    h->on[v] = (uint16_t)best;
    h->end[v] = start + rd_pass_cost(h->p, v);
    set_free(h, best, h->end[v]);
}

static rondo_status prepare(struct heft *h, struct rd_scratch *s)
{
    uint32_t n = h->p->nodes;
    h->base = 1;
    while (h->base < h->count)
        h->base *= 2;
    h->end = rd_scratch_array(s, n, sizeof *h->end);
    h->free_at = rd_scratch_array(s, 2 * (size_t)h->base, sizeof *h->free_at);
    h->other = rd_scratch_zeroed(s, h->p->in->processors, sizeof *h->other);
    if (!h->end || !h->free_at || !h->other)
        return rd_pass_memory();
    memset(h->free_at, 0, 2 * (size_t)h->base * sizeof *h->free_at);
    for (uint32_t i = h->count; i < h->base; i++)
        h->free_at[h->base + i] = ~0ull;
    for (uint32_t i = h->base; i-- > 1;)
        h->free_at[i] = sooner(h->free_at[2 * i], h->free_at[2 * i + 1]);
    return RONDO_OK;
}

rondo_status rd_heft_place(struct rd_pass *p, const uint32_t *list, uint32_t count,
                           uint16_t *processor)
{
    struct heft h = { .p = p, .count = count, .on = processor };
    struct rd_scratch scratch = rd_scratch_part(&p->scratch);
    rondo_status s = prepare(&h, &scratch);
    for (uint32_t i = 0; !s && i < p->nodes; i++)
        place_node(&h, list[i]);
    rd_scratch_free(&scratch);
    return s;
}
