/* SPDX-License-Identifier: BSD-3-Clause */
/* Reachability by closure and by search, against the relation unrolled over replays. */
#include "subgraph/reach.h"
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NODES = 14, DISTANCE = 3, REPLAYS = DISTANCE + 1 };

struct drawn {
    uint32_t first[NODES + 1];
    struct rd_edge pred[NODES * NODES];
    uint8_t before[REPLAYS * NODES][REPLAYS * NODES]; /* [b][a]: a comes before b */
};

/* Edges within a replay obey a random order of the nodes, those to later replays none. */
static void draw(struct random *r, struct drawn *d)
{
    uint32_t rank[NODES], v, u, n = 0, replay;
    memset(d, 0, sizeof *d);
    for (v = 0; v < NODES; v++)
        rank[v] = random_below(r, 1000) * NODES + v;
    for (v = 0; v < NODES; v++) {
        d->first[v] = n;
        for (u = 0; u < NODES; u++) {
            uint32_t distance =
                rank[u] < rank[v] && random_below(r, 3) ? 0 : 1 + random_below(r, 2);
            if (random_below(r, 7) || (!distance && rank[u] >= rank[v]))
                continue;
            d->pred[n].from = u;
            d->pred[n++].distance = (uint8_t)distance;
            for (replay = distance; replay < REPLAYS; replay++)
                d->before[replay * NODES + v][(replay - distance) * NODES + u] = 1;
        }
    }
    d->first[NODES] = n;
}

static void close_before(struct drawn *d)
{
    uint32_t a, b, c;
    for (c = 0; c < REPLAYS * NODES; c++)
        for (b = 0; b < REPLAYS * NODES; b++)
            for (a = 0; d->before[b][c] && a < REPLAYS * NODES; a++)
                d->before[b][a] |= d->before[c][a];
}

Test(reach, closure_and_search_agree_with_the_relation)
{
    static struct drawn d;
    uint64_t seed;
    uint32_t a, b, from, to, distance, round;
    for (seed = 1; seed <= 300; seed++) {
        struct random r = { seed };
        struct rd_graph graph = { .nodes = NODES, .distance = 2, .first = d.first, .pred = d.pred };
        struct rd_reach reach;
        uint64_t *closure;
        draw(&r, &d);
        close_before(&d);
        cr_assert_eq(rd_reach_make(rd_allocator_system(), &graph, &reach), RONDO_OK);
        closure = reach.closure;
        for (round = 0; round < 3; round++) {
            reach.closure = round ? NULL : closure; /* as for many nodes */
            for (a = 0; a < NODES; a++)
                for (b = 0; b < NODES; b++)
                    for (distance = 0; distance <= DISTANCE; distance++) {
                        /* Another target each time, or the same search going on. */
                        from = round < 2 ? a : (uint32_t)((b * 5 + seed) % NODES);
                        to = round < 2 ? b : a;
                        cr_assert_eq(rd_reach_from(&reach, from, to, distance),
                                     d.before[distance * NODES + to][from],
                                     "seed %llu: %u to %u over %u, round %u",
                                     (unsigned long long)seed, from, to, distance, round);
                    }
        }
        reach.closure = closure;
        rd_reach_free(&reach);
    }
    cr_assert_eq(rd_load_relaxed(&rd_allocator_system()->bytes), 0);
}
