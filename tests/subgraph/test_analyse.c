/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings are played byte by byte over several replays. All that conflicts must be
 * ordered by the edges found, and each edge found must follow from conflicts. */
#include "tests/subgraph/model.h"

/* How often the buffers' meetings recur: all rings have 1 to 3 buffers. */
enum { PHASES = 6 };

static void compare(const struct model *m, int carried, uint64_t seed)
{
    static struct relation expected, found, closed;
    int times = REPLAYS * m->nodes, t, u, w, phase;
    struct rd_graph graph;
    uint32_t i;
    rondo_status status = rd_subgraph_analyse(m->g, carried, &graph);
    cr_assert_eq(status, RONDO_OK, "seed %llu: %s", (unsigned long long)seed,
                 rondo_error_message());
    find_conflicts(m, carried, &expected);
    add_hand_edges(m, carried, &expected);
    closed = expected;
    close_relation(&closed, times);
    memset(&found, 0, sizeof found);
    for (u = 0; u < times; u++)
        for (i = graph.first[u % m->nodes]; i < graph.first[u % m->nodes + 1]; i++) {
            const struct rd_edge *e = &graph.pred[i];
            t = (u / m->nodes - e->distance) * m->nodes + (int)e->from;
            if (t >= 0)
                relate(&found, t, u);
        }
    /* Each edge found follows from what is expected, in some replay of the steady state. */
    for (u = 0; u < m->nodes; u++)
        for (i = graph.first[u]; i < graph.first[u + 1]; i++) {
            int implied = 0;
            for (phase = 0; phase < PHASES; phase++) {
                int replay = REPLAYS - 1 - phase;
                implied |= related(
                    &closed, (replay - graph.pred[i].distance) * m->nodes + (int)graph.pred[i].from,
                    replay * m->nodes + u);
            }
            cr_assert(implied, "seed %llu, carried %d: false edge %u -> %d, distance %u",
                      (unsigned long long)seed, carried, graph.pred[i].from, u,
                      graph.pred[i].distance);
        }
    close_relation(&found, times);
    for (u = 0; u < times; u++)
        for (w = 0; w < WORDS; w++)
            cr_assert_eq(expected.row[u][w] & ~found.row[u][w], 0,
                         "seed %llu, carried %d: node %d of replay %d lacks an edge",
                         (unsigned long long)seed, carried, u % m->nodes, u / m->nodes);
    rd_graph_free(&m->g->rt->alloc, &graph);
}

Test(analyse, edges_are_the_conflicts)
{
    static struct model m;
    uint64_t seed;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= 3000; seed++) {
        struct random r = { ~seed };
        int hands = random_below(&r, 3) ? 0 : (int)random_below(&r, HAND + 1);
        make(seed, 0, &m);
        for (; hands; hands--)
            add_hand(&r, &m);
        compare(&m, 0, seed);
        /* With both, a boundary is serial, and what passes through a bound slot is not carried. */
        if (!m.any_alias || !m.any_bound)
            compare(&m, 1, seed);
        end(&m);
    }
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

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
