/* SPDX-License-Identifier: BSD-3-Clause */
/* Large recordings: the edges are the right ones, their number and the time grow in proportion, and
 * nothing recurses. Times are bounded generously: only a wrong power shows. */
#include "subgraph/subgraph.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdlib.h>
#include <time.h>

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_runtime rt;
static rondo_subgraph h;

static void begin(uint32_t flags)
{
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, &h), RONDO_OK);
}

/* Analyses, compares the number of edges, and gives the processor time in ns. */
static double finish(int carried, uint32_t edges)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(h, &status);
    struct rd_graph graph;
    clock_t start = clock();
    cr_assert_eq(rd_subgraph_analyse(g, carried, &graph), RONDO_OK, "%s", rondo_error_message());
    start = clock() - start;
    cr_assert_eq(graph.first[graph.nodes], edges, "%u edges, not %u", graph.first[graph.nodes],
                 edges);
    rd_graph_free(&g->rt->alloc, &graph);
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(h);
    return (double)start * (1e9 / CLOCKS_PER_SEC);
}

static rondo_node aloof(const rondo_node *after, uint32_t count)
{
    rondo_node node = rondo_record_task(
        h, &(rondo_task_desc){
               .fn = nothing, .flags = RONDO_NO_ACCESS, .after = after, .after_count = count });
    cr_assert(node.id, "%s", rondo_error_message());
    return node;
}

Test(scale, a_million_nodes)
{
    enum { N = 1000000, FAN = 100000 };
    rondo_node node = { 0 }, *many = malloc(FAN * sizeof *many);
    int i;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    begin(0);
    for (i = 0; i < N; i++)
        node = aloof(&node, i > 0);
    finish(0, N - 1);
    begin(0);
    for (i = 0; i < N; i++)
        aloof(NULL, 0);
    finish(1, 0);
    begin(0);
    for (i = 0; i < FAN; i++)
        many[i] = aloof(NULL, 0);
    aloof(many, FAN);
    finish(1, FAN);
    begin(0); /* each touches everything */
    for (i = 0; i < N; i++)
        rondo_record_task(h, &(rondo_task_desc){ .fn = nothing });
    finish(1, N);
    /* A chain in the wrong order ends in a circle: depth first goes a million deep. */
    begin(RONDO_EDGES_EXPLICIT);
    many[0] = node = aloof(NULL, 0);
    for (i = 1; i < N; i++) {
        many[1] = aloof(NULL, 0);
        rondo_record_edge(h, many[1], node, 0);
        node = many[1];
    }
    finish(0, N - 1);
    free(many);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Bands of a line, each step reading its neighbours' borders: 2 reads of 3 bands, 1 write behind
 * the readers. `stride` records them out of order. */
static double bands(uint32_t n, uint32_t steps, uint32_t stride)
{
    rondo_buffer buffer[2];
    rondo_slot slot[2];
    uint32_t i, k;
    double ns;
    begin(0);
    for (i = 0; i < 2; i++) {
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { (int64_t)n * 4 }, { 0 } } },
                            &buffer[i]);
        slot[i] = rondo_subgraph_slot(h, &(rondo_slot_desc){ .buffer = buffer[i] });
    }
    for (k = 0; k < steps; k++)
        for (i = 0; i < n; i++) {
            int64_t at = (int64_t)((uint64_t)i * stride % n) * 4;
            rondo_access a[2] = { rondo_read(slot[k % 2], rondo_span(at, 4)),
                                  rondo_write(slot[1 - k % 2], rondo_span(at, 4)) };
            a[0].halo[0] = 1;
            a[0].flags = RONDO_CLIP;
            rondo_record_task(
                h, &(rondo_task_desc){ .fn = nothing, .accesses = a, .access_count = 2 });
        }
    /* From the second step on three edges a band, but at both ends. What a band overwrites was read
     * by those it reads from: no further edge. */
    ns = finish(0, (steps - 1) * (3 * n - 2));
    for (i = 0; i < 2; i++)
        rondo_buffer_destroy(buffer[i]);
    return ns / n / steps;
}

Test(scale, bands_of_a_line)
{
    double small, large, mixed;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    bands(1000, 10, 1);
    small = bands(10000, 10, 1);
    large = bands(100000, 10, 1);
    mixed = bands(100000, 10, 61803);
    cr_assert_lt(large, 8 * small + 1000, "%g ns a node at 10^4, %g at 10^5", small, large);
    cr_assert_lt(mixed, 8 * small + 3000, "%g ns a node in order, %g out of it", small, mixed);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Tiles with halos: each reads five, in the replay before. */
static double tiles(uint32_t n)
{
    rondo_buffer ring[2];
    rondo_slot slot[2];
    rondo_node node;
    uint32_t i;
    double ns;
    begin(0);
    for (i = 0; i < 2; i++)
        rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .shape = { 8, { (int64_t)n * 4, (int64_t)n * 4 }, { 0 } } },
            &ring[i]);
    for (i = 0; i < 2; i++)
        slot[i] = rondo_subgraph_slot(
            h, &(rondo_slot_desc){ .ring = ring, .ring_count = 2, .ring_first = i });
    node = rondo_record_for(
        h, &(rondo_for_desc){
               RONDO_TASK(.fn = nothing, RONDO_ACCESSES(rondo_chunk(slot[0], RONDO_READ, 1, 1),
                                                        rondo_chunk(slot[1], RONDO_WRITE, 0, 0))),
               .range = rondo_box(0, 0, (int64_t)n * 4, (int64_t)n * 4), .chunks = { n, n } });
    cr_assert(node.id, "%s", rondo_error_message());
    ns = finish(1, 5 * n * n - 4 * n);
    for (i = 0; i < 2; i++)
        rondo_buffer_destroy(ring[i]);
    return ns / n / n;
}

Test(scale, tiles_of_a_plane)
{
    double small, large;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    tiles(10);
    small = tiles(30);
    large = tiles(300);
    cr_assert_lt(large, 8 * small + 1000, "%g ns a tile at 30 x 30, %g at 300 x 300", small, large);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Tasks on the whole of a slot that bands cut elsewhere: a write makes its cells one again. */
static double wholes(uint32_t n)
{
    rondo_slot slot;
    uint32_t i;
    begin(0);
    slot = rondo_subgraph_slot(h, &(rondo_slot_desc){ .shape = { 8, { (int64_t)n * 4 }, { 0 } } });
    for (i = 0; i < n; i++)
        rondo_record_task(h, &(rondo_task_desc){
                                 .fn = nothing, RONDO_ACCESSES(rondo_write(slot, rondo_whole())) });
    for (i = 0; i < n; i++)
        rondo_record_task(h, &(rondo_task_desc){ .fn = nothing,
                                                 RONDO_ACCESSES(rondo_read_write(
                                                     slot, rondo_span((int64_t)i * 4, 4))) });
    return finish(0, 2 * n - 1) / n;
}

Test(scale, wholes_and_bands)
{
    double small, large;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    wholes(1000);
    small = wholes(3000);
    large = wholes(100000);
    cr_assert_lt(large, 8 * small + 1000, "%g ns a node at 3 10^3, %g at 10^5", small, large);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Steps of n tile writes, n nodes that commute on the whole, n tile reads: what commutes is a row,
 * and what is around it knows the row's ends alone. */
static double rows(uint32_t n, uint32_t steps)
{
    rondo_slot slot;
    uint32_t i, k, m;
    static const uint8_t mode[] = { RONDO_WRITE, RONDO_COMMUTE, RONDO_READ };
    begin(0);
    slot = rondo_subgraph_slot(h, &(rondo_slot_desc){ .shape = { 8, { (int64_t)n * 4 }, { 0 } } });
    for (k = 0; k < steps; k++)
        for (m = 0; m < 3; m++)
            for (i = 0; i < n; i++)
                rondo_record_task(
                    h, &(rondo_task_desc){
                           .fn = nothing,
                           RONDO_ACCESSES(rondo_access_of(
                               slot, mode[m],
                               m == 1 ? rondo_whole() : rondo_span((int64_t)i * 4, 4))) });
    return finish(0, steps * (3 * n - 1) + (steps - 1) * n) / n / steps;
}

/* Tiles of a plane that commute on themselves and their neighbours' borders. */
static double meeting_tiles(uint32_t n)
{
    rondo_slot slot;
    rondo_access a;
    rondo_status status;
    struct rd_subgraph *g;
    struct rd_graph graph;
    clock_t start;
    uint32_t edges;
    begin(0);
    slot = rondo_subgraph_slot(
        h, &(rondo_slot_desc){ .shape = { 8, { (int64_t)n * 4, (int64_t)n * 4 }, { 0 } } });
    a = rondo_chunk(slot, RONDO_COMMUTE, 1, 1);
    rondo_record_for(h, &(rondo_for_desc){ RONDO_TASK(.fn = nothing, RONDO_ACCESSES(a)),
                                           .range = rondo_box(0, 0, (int64_t)n * 4, (int64_t)n * 4),
                                           .chunks = { n, n } });
    g = rd_subgraph_get(h, &status);
    start = clock();
    cr_assert_eq(rd_subgraph_analyse(g, 0, &graph), RONDO_OK, "%s", rondo_error_message());
    start = clock() - start;
    edges = graph.first[graph.nodes];
    cr_assert(edges >= 2 * n * (n - 1) && edges <= 8 * n * n, "%u edges", edges);
    rd_graph_free(&g->rt->alloc, &graph);
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(h);
    return (double)start * (1e9 / CLOCKS_PER_SEC) / n / n;
}

Test(scale, what_commutes)
{
    double small, large;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    rows(1000, 3);
    small = rows(1000, 10);
    large = rows(30000, 10);
    cr_assert_lt(large, 8 * small + 1000, "%g ns a node at 10^3, %g at 3 10^4", small, large);
    meeting_tiles(10);
    small = meeting_tiles(30);
    large = meeting_tiles(200);
    cr_assert_lt(large, 8 * small + 2000, "%g ns a tile at 30 x 30, %g at 200 x 200", small, large);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Nodes that reduce to the whole of a slot, and one that reads it, step by step: per reduction a
 * share, a node that fills it and two edges, per step a node that combines. */
static double reductions(uint32_t n, uint32_t steps)
{
    rondo_slot slot;
    rondo_status status;
    struct rd_subgraph *g, *e;
    clock_t start = clock();
    uint32_t i, k;
    begin(0);
    slot = rondo_subgraph_slot(h, &(rondo_slot_desc){ .shape = { 8, { 16 }, { 0 } } });
    for (k = 0; k < steps; k++) {
        for (i = 0; i < n; i++)
            rondo_record_task(
                h, &(rondo_task_desc){
                       .fn = nothing,
                       RONDO_ACCESSES(rondo_reduce(slot, rondo_whole(), RONDO_F64, RONDO_SUM)) });
        rondo_record_task(h, &(rondo_task_desc){ .fn = nothing,
                                                 RONDO_ACCESSES(rondo_read(slot, rondo_whole())) });
    }
    g = rd_subgraph_get(h, &status);
    cr_assert_eq(rd_subgraph_expand(g, 2, &e), RONDO_OK);
    cr_assert_eq(e->nodes.count, steps * (2 * n + 2));
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(h);
    h.id = 0;
    {
        struct rd_graph graph;
        cr_assert_eq(rd_subgraph_analyse(e, 0, &graph), RONDO_OK, "%s", rondo_error_message());
        /* Also from each reader to the next step's combining node, but for the last. */
        cr_assert_eq(graph.first[graph.nodes], steps * (2 * n + 2) - 1);
        rd_graph_free(&e->rt->alloc, &graph);
    }
    rd_subgraph_unref(e);
    return (double)(clock() - start) * (1e9 / CLOCKS_PER_SEC) / n / steps;
}

Test(scale, reductions)
{
    double small, large;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    reductions(1000, 2);
    small = reductions(1000, 5);
    large = reductions(30000, 5);
    cr_assert_lt(large, 8 * small + 2000, "%g ns a node at 10^3, %g at 3 10^4", small, large);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* A chain of which one node in a hundred runs every 20 replays. */
static double chain(uint32_t n, int carried, uint32_t edges)
{
    rondo_slot slot;
    uint32_t i;
    begin(0);
    slot = rondo_subgraph_slot(h, &(rondo_slot_desc){ .shape = { 8, { 1 }, { 0 } } });
    for (i = 0; i < n; i++)
        rondo_record_task(
            h, &(rondo_task_desc){ .fn = nothing,
                                   .when.every = i % 100 == 50 ? 20 : 0,
                                   RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) });
    return finish(carried, edges) / n;
}

Test(scale, conditions)
{
    double small, large;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    chain(1000, 0, 999 + 10);
    small = chain(3000, 0, 2999 + 30);
    large = chain(100000, 0, 99999 + 1000);
    cr_assert_lt(large, 8 * small + 1000, "%g ns a node at 3 10^3, %g at 10^5", small, large);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
