/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings are played byte by byte over several replays. All that conflicts must be
 * ordered by the edges found, and each edge found must follow from conflicts. */
#include "tests/subgraph/model.h"
#include "tests/support/scale.h"

/* What excludes each other is in some order, and counts as expected in that order; `order`: by
 * pairs of nodes of the last replays, which one it is. */
static void take_orders(const struct model *m, const struct relation *closed, uint64_t seed,
                        struct relation *expected, int8_t order[PHASES][NODES][NODES])
{
    int replay, a, b, nodes = m->nodes;
    for (replay = 0; replay < REPLAYS; replay++)
        for (a = 0; a < nodes; a++)
            for (b = 0; b < nodes; b++) {
                int t = replay * nodes + a, u = replay * nodes + b;
                if (!excludes(m, t, u))
                    continue;
                cr_assert_neq(related(closed, t, u), related(closed, u, t),
                              "seed %llu: nodes %d and %d commute in replay %d: %d",
                              (unsigned long long)seed, a, b, replay, related(closed, t, u));
                if (related(closed, t, u))
                    relate(expected, t, u);
                order[replay % PHASES][a][b] = (int8_t)(1 + related(closed, t, u));
            }
}

/* The union of all phases has the edges of each; a node that does not run has those by hand only.
 */
static void check_variants(const struct model *m, const struct rd_graph *g, int carried,
                           uint64_t seed)
{
    uint32_t v, i, k, phase, h;
    for (phase = 0; g->phases > 1 && phase < g->phases; phase++)
        for (v = 0; v < g->nodes; v++) {
            const uint32_t *first;
            const struct rd_edge *pred;
            edges_into(g, (int)phase, &first, &pred);
            for (i = first[v]; i < first[v + 1]; i++) {
                int there = 0, hand = 0;
                for (k = g->first[v]; k < g->first[v + 1]; k++)
                    there |=
                        g->pred[k].from == pred[i].from && g->pred[k].distance == pred[i].distance;
                for (h = 0; h < (uint32_t)m->hands; h++)
                    hand |= m->hand[h].from == pred[i].from && m->hand[h].to == v &&
                            m->hand[h].distance == pred[i].distance &&
                            (carried || !pred[i].distance);
                cr_assert(there, "seed %llu", (unsigned long long)seed);
                cr_assert(hand || runs(m, (int)(phase * g->nodes + v)), "seed %llu: node %u",
                          (unsigned long long)seed, v);
            }
        }
}

/* Each edge found follows from what is expected, in some replay of the steady state. */
static void check_edges(const struct model *m, const struct rd_graph *graph,
                        const struct relation *closed, int carried, uint64_t seed)
{
    int u, phase;
    uint32_t i;
    for (u = 0; u < m->nodes; u++)
        for (i = graph->first[u]; i < graph->first[u + 1]; i++) {
            const struct rd_edge *e = &graph->pred[i];
            int implied = 0;
            for (phase = 0; phase < PHASES; phase++) {
                int replay = REPLAYS - 1 - phase;
                implied |= related(closed, (replay - e->distance) * m->nodes + (int)e->from,
                                   replay * m->nodes + u);
            }
            cr_assert(implied, "seed %llu, carried %d: false edge %u -> %d, distance %u",
                      (unsigned long long)seed, carried, e->from, u, e->distance);
        }
}

static void compare(const struct model *m, int carried, uint64_t seed,
                    int8_t order[PHASES][NODES][NODES])
{
    static struct relation expected, found, closed;
    int times = REPLAYS * m->nodes, u, w;
    struct rd_graph graph;
    rondo_status status = rd_subgraph_analyse(m->g, carried, &graph);
    cr_assert_eq(status, RONDO_OK, "seed %llu: %s", (unsigned long long)seed,
                 rondo_error_message());
    find_conflicts(m, carried, &expected);
    add_hand_edges(m, carried, &expected);
    relate_found(m, &graph, &found);
    close_relation(&found, times);
    take_orders(m, &found, seed, &expected, order);
    closed = expected;
    close_relation(&closed, times);
    check_edges(m, &graph, &closed, carried, seed);
    check_variants(m, &graph, carried, seed);
    for (u = 0; u < times; u++) {
        cr_assert(!related(&found, u, u), "seed %llu: a circle", (unsigned long long)seed);
        for (w = 0; w < WORDS; w++)
            cr_assert_eq(expected.row[u][w] & ~found.row[u][w], 0,
                         "seed %llu, carried %d: node %d of replay %d lacks an edge",
                         (unsigned long long)seed, carried, u % m->nodes, u / m->nodes);
    }
    rd_graph_free(&m->g->rt->alloc, &graph);
}

static void compare_many(uint32_t has, uint64_t seeds)
{
    static struct model m;
    static int8_t order[2][PHASES][NODES][NODES];
    uint64_t seed;
    seeds = rd_test_scaled(seeds);
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= seeds; seed++) {
        struct random r = { ~seed };
        int hands = random_below(&r, 3) ? 0 : (int)random_below(&r, HAND + 1);
        make(seed, has, &m);
        for (; hands; hands--)
            add_hand(&r, &m);
        memset(order, 0, sizeof order);
        compare(&m, 0, seed, order[0]);
        /* With both, a boundary is serial, and what passes through a bound slot is not carried. */
        if (!m.any_alias || !m.any_bound) {
            compare(&m, 1, seed, order[1]);
            cr_assert_eq(memcmp(order[0], order[1], sizeof order[0]), 0,
                         "seed %llu: what commutes is in another order in pipelined replays",
                         (unsigned long long)seed);
        }
        end(&m);
    }
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

Test(analyse, edges_are_the_conflicts) { compare_many(0, 3000); }

Test(analyse, temporaries_and_tokens) { compare_many(OWN_SLOTS, 800); }

Test(analyse, conditions) { compare_many(CONDITIONS, 1500); }

Test(analyse, commuting) { compare_many(COMMUTING, 2000); }

Test(analyse, all_of_it) { compare_many(COMMUTING | CONDITIONS | OWN_SLOTS, 2000); }

/* Rings of 5, 7 and 3 buffers meet in 105 ways: then slots are ordered whatever they meet, and
 * every boundary is serial. */
Test(analyse, rings_that_meet_in_too_many_ways)
{
    static const uint32_t lengths[] = { 5, 7, 3 };
    rondo_subgraph handle;
    rondo_buffer buffer[7];
    rondo_slot slot[3];
    struct rd_subgraph *g;
    struct rd_graph graph;
    rondo_status status;
    uint32_t i, k;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &handle), RONDO_OK);
    g = rd_subgraph_get(handle, &status);
    for (i = 0; i < 7; i++)
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 1, { 8 }, { 0 } } }, &buffer[i]);
    for (i = 0; i < 3; i++)
        slot[i] = rondo_subgraph_slot(
            handle, &(rondo_slot_desc){ .ring = buffer, .ring_count = lengths[i] });
    for (i = 0; i < 3; i++)
        for (k = 0; k < 2; k++)
            rondo_record_task(
                handle,
                &(rondo_task_desc){ .fn = nothing,
                                    RONDO_ACCESSES(rondo_write(slot[i], rondo_span(4 * k, 4))) });
    for (k = 0; k < 2; k++) {
        cr_assert_eq(rd_subgraph_analyse(g, (int)k, &graph), RONDO_OK);
        cr_assert_eq(graph.serial_boundaries, (int)k);
        cr_assert_eq(graph.distance, 0);
        for (i = 0; i < 6; i++) /* on both nodes of the slot before, not on that of its own */
            cr_assert_eq(graph.first[i + 1] - graph.first[i], i < 2 ? 0 : 2, "node %u", i);
        rd_graph_free(&g->rt->alloc, &graph);
    }
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(handle);
    for (i = 0; i < 7; i++)
        rondo_buffer_destroy(buffer[i]);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
