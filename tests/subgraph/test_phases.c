/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions that recur after many replays, with rings and without: what must come before what is
 * found replay by replay over three rounds and compared. */
#include "subgraph/subgraph.h"
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 5, SLOTS = 3, ROUNDS = 3, ROUND = 64, TIMES = NODES * ROUNDS * ROUND };
enum { WORDS = (TIMES + 63) / 64 };

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

/* A node touches one slot; a slot is one element, of a fixed buffer or of a ring's by turns. */
struct drawn {
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_buffer buffer[8];
    uint32_t nodes, length[SLOTS], slot[NODES], mode[NODES], every[NODES], phase[NODES];
};

static rondo_runtime rt;
static uint64_t before[TIMES][WORDS], found[TIMES][WORDS];

static void draw(struct random *r, const uint32_t *every, uint32_t everies, uint32_t ring,
                 struct drawn *d)
{
    rondo_slot slot[SLOTS];
    rondo_status status;
    uint32_t i;
    memset(d, 0, sizeof *d);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &d->handle), RONDO_OK);
    d->g = rd_subgraph_get(d->handle, &status);
    for (i = 0; i < 8; i++)
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 4, { 1 }, { 0 } } },
                            &d->buffer[i]);
    for (i = 0; i < SLOTS; i++) { /* the last two share a ring, begun at different buffers */
        d->length[i] = i ? ring : 1;
        slot[i] = rondo_subgraph_slot(
            d->handle,
            d->length[i] > 1
                ? &(rondo_slot_desc){ .ring = d->buffer, .ring_count = ring, .ring_first = i - 1 }
                : &(rondo_slot_desc){ .buffer = d->buffer[7 - i] });
    }
    d->nodes = 2 + random_below(r, NODES - 1);
    for (i = 0; i < d->nodes; i++) {
        d->slot[i] = random_below(r, SLOTS);
        d->mode[i] = 1 + random_below(r, 3);
        d->every[i] = random_below(r, 2) ? every[random_below(r, everies)] : 1;
        d->phase[i] = random_below(r, d->every[i]);
        cr_assert(rondo_record_task(
                      d->handle,
                      &(rondo_task_desc){ .fn = nothing,
                                          .when = { .every = d->every[i], .phase = d->phase[i] },
                                          RONDO_ACCESSES(rondo_access_of(
                                              slot[d->slot[i]], d->mode[i], rondo_whole())) })
                      .id,
                  "%s", rondo_error_message());
    }
}

static void end(struct drawn *d)
{
    uint32_t i;
    rd_subgraph_unref(d->g);
    rondo_subgraph_destroy(d->handle);
    for (i = 0; i < 8; i++)
        rondo_buffer_destroy(d->buffer[i]);
}

static uint32_t memory_of(const struct drawn *d, uint32_t v, uint32_t replay)
{
    uint32_t s = d->slot[v];
    return d->length[s] > 1 ? (s - 1 + replay) % d->length[s] : 7 - s;
}

static int conflict(const struct drawn *d, uint32_t t, uint32_t u)
{
    uint32_t a = t % d->nodes, b = u % d->nodes, m = t / d->nodes, n = u / d->nodes;
    return m % d->every[a] == d->phase[a] && n % d->every[b] == d->phase[b] &&
           (d->mode[a] | d->mode[b]) & RONDO_WRITE && memory_of(d, a, m) == memory_of(d, b, n);
}

static void add(uint64_t x[TIMES][WORDS], uint32_t t, uint32_t u)
{
    uint32_t w;
    for (w = 0; w <= t / 64; w++)
        x[u][w] |= x[t][w];
    x[u][t / 64] |= 1ull << t % 64;
}

/* Each replay's nodes in turn: what is before them, closed. */
static void relate(const struct drawn *d, const struct rd_graph *g, uint32_t times)
{
    uint32_t t, u, i;
    memset(before, 0, sizeof before);
    memset(found, 0, sizeof found);
    for (u = 0; u < times; u++) {
        const uint32_t *first = g->first;
        const struct rd_edge *pred = g->pred;
        if (g->phases > 1) {
            const struct rd_variant *v = &g->variant[g->variant_of_phase[u / d->nodes % g->phases]];
            first = v->first;
            pred = v->pred;
        }
        for (t = 0; t < u; t++)
            if (conflict(d, t, u))
                add(before, t, u);
        for (i = first[u % d->nodes]; i < first[u % d->nodes + 1]; i++)
            if (pred[i].distance <= u / d->nodes)
                add(found, u - pred[i].distance * d->nodes - u % d->nodes + pred[i].from, u);
    }
}

/* `exact`: nothing more either. Where rings meet in several ways the edges of all are united. */
static void compare(const struct drawn *d, const struct rd_graph *g, int exact, uint64_t seed)
{
    uint32_t times = d->nodes * ROUNDS * ROUND, u, w;
    relate(d, g, times);
    for (u = 0; u < times; u++)
        for (w = 0; w < WORDS; w++) {
            cr_assert_eq(before[u][w] & ~found[u][w], 0, "seed %llu: node %u of replay %u",
                         (unsigned long long)seed, u % d->nodes, u / d->nodes);
            if (exact)
                cr_assert_eq(found[u][w] & ~before[u][w], 0,
                             "seed %llu: node %u of replay %u follows what it need not",
                             (unsigned long long)seed, u % d->nodes, u / d->nodes);
        }
}

static void compare_many(const uint32_t *every, uint32_t everies, uint32_t ring, uint32_t most,
                         uint64_t seeds, int exact)
{
    struct drawn d;
    struct rd_graph graph;
    uint64_t seed;
    uint32_t many = 0;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= seeds; seed++) {
        struct random r = { seed };
        draw(&r, every, everies, ring, &d);
        cr_assert_eq(rd_subgraph_analyse(d.g, 1, &graph), RONDO_OK, "%s", rondo_error_message());
        cr_assert_leq(graph.phases, most, "%u phases", graph.phases);
        many += graph.phases > 1;
        compare(&d, &graph, exact, seed);
        rd_graph_free(&d.g->rt->alloc, &graph);
        end(&d);
    }
    cr_assert(most == 1 || many > seeds / 4, "%u with phases", many);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static const uint32_t few[] = { 2, 4, 8 }, odd[] = { 3, 20 }, many[] = { 64 },
                      too_many[] = { 7, 16 };

Test(phases, without_rings) { compare_many(few, 3, 1, 8, 60, 1); }

Test(phases, as_many_as_there_may_be) { compare_many(many, 1, 1, 64, 40, 1); }

Test(phases, rings_recur_with_them) { compare_many(odd, 2, 3, 60, 60, 0); }

/* Then every node counts as running in every replay. */
Test(phases, too_many) { compare_many(too_many, 2, 1, 64, 60, 0); }
