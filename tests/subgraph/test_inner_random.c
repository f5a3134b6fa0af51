/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings in others: the graph of the nested recording is the recording's own; a second
 * copy is the same whether it finds its slots again or is told them. */
#include "tests/subgraph/model.h"

#include "tests/support/scale.h"

#include <stdio.h>

enum { SEEDS = 1500 };

static void same_edges(const uint32_t *first, const struct rd_edge *pred, const uint32_t *own_first,
                       const struct rd_edge *own, uint32_t nodes, uint64_t seed)
{
    cr_assert(!memcmp(first, own_first, (nodes + 1) * sizeof *first), "seed %llu",
              (unsigned long long)seed);
    for (uint32_t i = 0; i < first[nodes]; i++)
        cr_assert(pred[i].from == own[i].from && pred[i].distance == own[i].distance &&
                      pred[i].source == own[i].source,
                  "seed %llu: edge %u", (unsigned long long)seed, i);
}

static void same_graph(const struct rd_graph *a, const struct rd_graph *b, uint64_t seed)
{
    cr_assert(a->nodes == b->nodes && a->distance == b->distance && a->phases == b->phases &&
                  a->variants == b->variants && a->serial_boundaries == b->serial_boundaries,
              "seed %llu", (unsigned long long)seed);
    same_edges(a->first, a->pred, b->first, b->pred, a->nodes, seed);
    for (uint32_t p = 0; a->phases > 1 && p < a->phases; p++)
        cr_assert_eq(a->variant_of_phase[p], b->variant_of_phase[p]);
    for (uint32_t v = 0; a->phases > 1 && v < a->variants; v++)
        same_edges(a->variant[v].first, a->variant[v].pred, b->variant[v].first, b->variant[v].pred,
                   a->nodes, seed);
}

/* Both recordings are refused, or have one graph; of serial order and of carried edges. */
static uint32_t compare(const struct rd_subgraph *a, const struct rd_subgraph *b, uint64_t seed)
{
    struct rd_graph x, y;
    rondo_status status, other;
    uint32_t analysed = 0;
    for (int carried = 0; carried < 2; carried++) {
        status = rd_subgraph_analyse(a, carried, &x);
        other = rd_subgraph_analyse(b, carried, &y);
        cr_assert_eq(status, other, "seed %llu: %s", (unsigned long long)seed,
                     rondo_error_message());
        if (status)
            continue;
        same_graph(&x, &y, seed);
        rd_graph_free(&a->rt->alloc, &x);
        rd_graph_free(&b->rt->alloc, &y);
        analysed++;
    }
    return analysed;
}

/* An empty recording with a few slots, so that indices differ. */
static struct rd_subgraph *begin_outer(uint32_t flags, uint32_t slots, rondo_subgraph *handle)
{
    rondo_status status;
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, handle),
                 RONDO_OK);
    while (slots--)
        rondo_subgraph_slot(*handle, &(rondo_slot_desc){ .shape = { 8, { 4 }, { 0 } } });
    return rd_subgraph_get(*handle, &status);
}

static rondo_node nest(rondo_subgraph outer, rondo_subgraph inner, const rondo_inner_desc *d,
                       uint64_t seed)
{
    rondo_node node = rondo_record_subgraph(outer, inner, d);
    cr_assert(node.id, "seed %llu: %s", (unsigned long long)seed, rondo_error_message());
    return node;
}

/* Each slot is the one of the copy before. */
static void make_map(const struct model *m, const struct rd_subgraph *outer, uint32_t first,
                     rondo_slot_map map[SLOTS])
{
    for (uint32_t i = 0; i < (uint32_t)m->slots; i++) {
        map[i].inner = m->slot[i].handle;
        map[i].outer.id = rd_part_id(outer->serial, RD_PART_SLOT, first + i);
    }
}

static uint32_t compare_seed(uint64_t seed, uint32_t flags)
{
    static struct model m, again;
    uint32_t edges = flags & RONDO_EDGES_EXPLICIT, analysed;
    struct random r = { ~seed };
    rondo_subgraph handle[4];
    struct rd_subgraph *g[4];
    rondo_slot_map map[SLOTS];
    rondo_inner_desc d = { .map = map };
    rondo_node node;
    make(seed, flags, &m);
    for (uint32_t i = random_below(&r, HAND); i; i--)
        add_hand(&r, &m);
    g[0] = begin_outer(edges, 2, &handle[0]);
    nest(handle[0], m.handle, NULL, seed);
    g[1] = begin_outer(edges, 1, &handle[1]);
    nest(handle[1], handle[0], NULL, seed);
    analysed = compare(m.g, g[0], seed);
    compare(m.g, g[1], seed);
    /* Twice, after itself. */
    make(seed, flags, &again);
    memcpy(again.hand, m.hand, sizeof m.hand);
    for (int i = 0; i < m.hands; i++)
        add_edge(&again, m.hand[i].from, m.hand[i].to, m.hand[i].distance);
    g[2] = begin_outer(edges, 3, &handle[2]);
    node = nest(handle[2], m.handle, NULL, seed);
    nest(handle[2], m.handle, &(rondo_inner_desc){ .after = &node, .after_count = 1 }, seed);
    g[3] = begin_outer(edges, 3, &handle[3]);
    node = nest(handle[3], m.handle, NULL, seed);
    d.after = &node;
    d.after_count = 1;
    d.map_count = (uint32_t)again.slots;
    make_map(&again, g[3], 3, map);
    nest(handle[3], again.handle, &d, seed);
    compare(g[2], g[3], seed);
    for (int i = 0; i < 4; i++) {
        rd_subgraph_unref(g[i]);
        cr_assert_eq(rondo_subgraph_destroy(handle[i]), RONDO_OK);
    }
    end(&again);
    end(&m);
    return analysed;
}

Test(inner_random, the_graph_is_the_same, .timeout = 300)
{
    static const uint32_t kinds[] = { 0, RONDO_EDGES_EXPLICIT, OWN_SLOTS, CONDITIONS | COMMUTING,
                                      COMMUTING | CONDITIONS | OWN_SLOTS };
    uint32_t analysed = 0, kind = 0;
    rondo_runtime_statistics s;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (uint64_t seed = 1; seed <= rd_test_scaled(SEEDS); seed++, kind++)
        analysed += compare_seed(seed, kinds[kind % (sizeof kinds / sizeof *kinds)]);
    cr_assert_gt(analysed, 0);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.subgraphs + s.buffers, 0);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    printf("%u analyses compared\n", analysed);
}
