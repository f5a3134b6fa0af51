/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes and their tools one by one, against the obvious way to do the same. */
#include "compile/passes.h"
#include "compile/ready.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>

static struct rd_pass begin(const struct rd_compile_input *in)
{
    return (struct rd_pass){ .in = in,
                             .graph = in->graph,
                             .scratch = { .a = rd_allocator_system() },
                             .nodes = in->graph->nodes,
                             .handover_ns = in->handover_ns };
}

Test(passes, sort)
{
    uint64_t seed = 5;
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t count = i < 3 ? i : below(&seed, 3000), shift = below(&seed, 32);
        struct rd_keyed *item = malloc((count + 1) * sizeof *item), *sorted;
        struct rd_keyed *spare = malloc((count + 1) * sizeof *spare);
        uint64_t sum = 0;
        for (uint32_t k = 0; k < count; k++) {
            item[k] = (struct rd_keyed){ (uint32_t)next_random(&seed) >> shift, k };
            sum += item[k].key;
        }
        sorted = rd_sort_keyed(item, spare, count);
        for (uint32_t k = 0; k < count; k++) {
            sum -= sorted[k].key;
            cr_assert(!k || sorted[k - 1].key < sorted[k].key ||
                      (sorted[k - 1].key == sorted[k].key && sorted[k - 1].node < sorted[k].node));
        }
        cr_assert_eq(sum, 0);
        free(item);
        free(spare);
    }
}

Test(passes, ready)
{
    const uint32_t sizes[] = { 1, 2, 63, 64, 65, 4096, 4097, 300000 };
    uint64_t seed = 6;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rd_scratch s = { .a = rd_allocator_system() };
        uint8_t *in = calloc(sizes[i], 1);
        struct rd_ready r;
        cr_assert(rd_ready_init(&r, &s, sizes[i]));
        for (int k = 0; k < 3000; k++) {
            uint32_t at = below(&seed, sizes[i]), from = below(&seed, sizes[i]), next = from;
            if (in[at])
                rd_ready_remove(&r, at);
            else
                rd_ready_add(&r, at);
            in[at] = !in[at];
            if (k % 50 && sizes[i] > 5000)
                continue;
            while (next < sizes[i] && !in[next])
                next++;
            cr_assert_eq(rd_ready_next(&r, from), next < sizes[i] ? next : (uint32_t)RD_READY_NONE);
        }
        free(in);
        rd_scratch_free(&s);
    }
}

Test(passes, scratch)
{
    struct rd_allocator a;
    struct rd_scratch whole = { .a = &a }, part;
    void *block;
    rd_allocator_init(&a, NULL, NULL, NULL);
    part = rd_scratch_part(&whole);
    block = rd_scratch_array(&part, 100, 8);
    rd_scratch_free(&part);
    cr_assert_eq(rd_scratch_array(&part, 90, 8), block, "a part takes what another gave back");
    rd_scratch_free(&part);
    cr_assert_neq(rd_scratch_array(&part, 200, 8), block);
    cr_assert_neq(rd_scratch_zeroed(&part, 10, 8), block, "but not to waste most of it");
    cr_assert_null(rd_scratch_array(&part, SIZE_MAX / 4, 8));
    rd_scratch_free(&part);
    rd_scratch_free(&whole);
    cr_assert_eq(rd_load_relaxed(&a.bytes), 0);
}

/* Ranks and levels by relaxing every edge until nothing changes. */
static void check_ranks(struct rd_pass *p, const uint16_t *on)
{
    const struct rd_graph *g = p->graph;
    uint64_t rank[64] = { 0 }, tail[64] = { 0 }, got[64];
    uint32_t level[64] = { 0 }, levels[64], most = 0;
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t v = 0; v < p->nodes; v++)
            for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
                uint32_t u = g->pred[e].from;
                uint64_t apart = on && on[u] != on[v] ? p->handover_ns : 0;
                uint64_t through = apart + (g->pred[e].distance ? 0 : tail[v] + rd_pass_cost(p, v));
                if (g->pred[e].distance && !apart)
                    continue;
                if (tail[u] < through) {
                    tail[u] = through;
                    changed = 1;
                }
                if (!g->pred[e].distance && level[v] < level[u] + 1) {
                    level[v] = level[u] + 1;
                    changed = 1;
                }
            }
    }
    rd_order_ranks(p, on, got);
    cr_assert(rd_order_levels(p, levels) > 0);
    for (uint32_t v = 0; v < p->nodes; v++) {
        rank[v] = tail[v] + rd_pass_cost(p, v);
        cr_assert_eq(got[v], rank[v], "node %u", v);
        cr_assert_eq(levels[v], level[v]);
        most = level[v] > most ? level[v] : most;
    }
    cr_assert_eq(rd_order_levels(p, levels), most + 1);
}

static void check_order(const struct rd_pass *p, const uint32_t *order)
{
    const struct rd_graph *g = p->graph;
    uint32_t at[64];
    memset(at, 0xff, sizeof at);
    for (uint32_t i = 0; i < p->nodes; i++) {
        cr_assert_eq(at[order[i]], UINT32_MAX);
        at[order[i]] = i;
    }
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            cr_assert(g->pred[e].distance || at[g->pred[e].from] < at[v]);
}

/* No processor idles while one of its nodes is ready, the best ready one goes first, and nobody
 * starts too early: the order replayed step by step. */
static void check_timeline(struct rd_pass *p, const struct rd_placement *x)
{
    const struct rd_graph *g = p->graph;
    uint64_t end[64], start[64], idle[8], rank[64], last = 0;
    uint8_t started[64] = { 0 };
    for (uint32_t i = 0; i < 8; i++)
        idle[i] = i && !p->carried_edges ? p->handover_ns : 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = x->order[i], on = x->processor[v];
        uint64_t at = idle[on];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from;
            uint64_t there = end[u] + (x->processor[u] != on ? p->handover_ns : 0);
            if (!g->pred[e].distance && there > at)
                at = there;
        }
        start[v] = at;
        cr_assert(!i || at >= start[x->order[i - 1]], "not in the order of starts");
        end[v] = idle[on] = at + rd_pass_cost(p, v);
        last =
            end[v] + (on ? p->handover_ns : 0) > last ? end[v] + (on ? p->handover_ns : 0) : last;
    }
    cr_assert(p->carried_edges || last == x->time_ns);
    rd_order_ranks(p, x->processor, rank);
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = x->order[i];
        started[v] = 1;
        for (uint32_t w = 0; w < p->nodes; w++) {
            uint64_t ready = w && x->processor[w] && !p->carried_edges ? p->handover_ns : 0;
            if (started[w] || x->processor[w] != x->processor[v])
                continue;
            for (uint32_t e = g->first[w]; e < g->first[w + 1]; e++) {
                uint32_t u = g->pred[e].from;
                uint64_t there = end[u] + (x->processor[u] != x->processor[w] ? p->handover_ns : 0);
                if (!g->pred[e].distance && there > ready)
                    ready = there;
            }
            cr_assert(ready > start[v] || rd_pass_priority(p, w) < rd_pass_priority(p, v) ||
                          (rd_pass_priority(p, w) == rd_pass_priority(p, v) &&
                           (rank[w] < rank[v] || (rank[w] == rank[v] && w > v))),
                      "node %u went before node %u", v, w);
        }
    }
}

Test(passes, order_and_timeline)
{
    uint64_t seed = 77;
    for (int i = 0; i < 500; i++) {
        struct maker m = { 0 };
        uint32_t cost[64], order[64], processors = 2 + below(&seed, 6);
        int32_t priority[64];
        uint16_t on[64];
        struct rd_compile_input in = { .graph = &m.g,
                                       .cost_ns = cost,
                                       .priority = priority,
                                       .processors = processors,
                                       .handover_ns = 1 + below(&seed, 400),
                                       .unknown_cost_ns = 70 };
        struct rd_placement x = { .processor = on, .order = order };
        struct rd_pass p;
        make_random(&m, 2 + below(&seed, 60), 4, i % 3 ? 0 : 2, i % 2, &seed);
        for (uint32_t v = 0; v < m.g.nodes; v++) {
            cost[v] = below(&seed, 300);
            priority[v] = i % 4 ? 0 : (int32_t)below(&seed, 3) - 1;
            on[v] = (uint16_t)below(&seed, processors);
        }
        p = begin(&in);
        cr_assert_eq(rd_order(&p), RONDO_OK);
        check_ranks(&p, NULL);
        check_ranks(&p, on);
        cr_assert_eq(rd_order_list(&p, NULL, order), RONDO_OK);
        check_order(&p, order);
        if (p.topo)
            check_order(&p, p.topo);
        cr_assert_eq(rd_timeline(&p, &x), RONDO_OK);
        check_order(&p, order);
        check_timeline(&p, &x);
        rd_scratch_free(&p.scratch);
        maker_free(&m);
    }
}

/* HEFT puts each node where it ends first, as a trial of every processor finds. */
Test(passes, heft)
{
    uint64_t seed = 78;
    for (int i = 0; i < 500; i++) {
        struct maker m = { 0 };
        uint32_t list[64], processors = 1 + below(&seed, 8);
        uint64_t rank[64], end[64], idle[8] = { 0 };
        uint16_t on[64];
        struct rd_compile_input in = { .graph = &m.g,
                                       .processors = processors,
                                       .handover_ns = below(&seed, 400),
                                       .unknown_cost_ns = 100 };
        struct rd_pass p;
        make_random(&m, 2 + below(&seed, 60), 4, 0, i % 2, &seed);
        p = begin(&in);
        cr_assert_eq(rd_order(&p), RONDO_OK);
        rd_order_ranks(&p, NULL, rank);
        cr_assert_eq(rd_order_list(&p, rank, list), RONDO_OK);
        cr_assert_eq(rd_heft_place(&p, list, processors, on), RONDO_OK);
        for (uint32_t k = 0; k < p.nodes; k++) {
            uint32_t v = list[k];
            uint64_t least = UINT64_MAX, mine = 0;
            cr_assert(!k || rank[v] <= rank[list[k - 1]]);
            for (uint32_t q = 0; q < processors; q++) {
                uint64_t at = idle[q];
                for (uint32_t e = m.g.first[v]; e < m.g.first[v + 1]; e++) {
                    uint32_t u = m.g.pred[e].from;
                    uint64_t there = end[u] + (on[u] != q ? in.handover_ns : 0);
                    at = there > at ? there : at;
                }
                if (at < least)
                    least = at;
                if (q == on[v])
                    mine = at;
            }
            cr_assert_eq(mine, least, "node %u", v);
            end[v] = idle[on[v]] = mine + 100;
        }
        rd_scratch_free(&p.scratch);
        maker_free(&m);
    }
}
