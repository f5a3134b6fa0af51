/* SPDX-License-Identifier: BSD-3-Clause */
/* Where edges are explicit: random sets of edges are accepted exactly when they order all that
 * conflicts; and what the errors say. */
#include "tests/subgraph/model.h"
#include "tests/support/scale.h"

/* The edges that a recording without the flag has, less some and with others added. */
static void give_edges(struct random *r, struct model *m, const struct rd_graph *graph)
{
    uint32_t lost = random_below(r, 3) ? 0 : 1 + random_below(r, 3), v, i, p;
    for (v = 0; v < graph->nodes; v++)
        for (i = graph->first[v]; i < graph->first[v + 1]; i++)
            if (!lost || random_below(r, graph->first[graph->nodes]) >= lost)
                add_edge(m, graph->pred[i].from, v, graph->pred[i].distance);
    for (i = random_below(r, 4); i && m->nodes > 1; i--) {
        v = random_below(r, (uint32_t)m->nodes);
        p = random_below(r, (uint32_t)m->nodes);
        if (p != v)
            add_edge(m, p, v, random_below(r, 2));
    }
}

static int acyclic(const struct relation *x, const struct model *m)
{
    int t;
    for (t = 0; t < REPLAYS * m->nodes; t++)
        if (related(x, t, t))
            return 0;
    return 1;
}

static int calls_any(const struct model *m)
{
    int i, any = 0;
    for (i = 0; i < m->nodes; i++)
        any |= m->node[i].call;
    return any;
}

/* Whether the edges given order all that conflicts. In the last replays alone: before, an edge may
 * come from a replay that was not. */
static int ordered(const struct model *m, int carried, const struct relation *given,
                   const struct relation *conflicts)
{
    int t, u;
    for (u = 0; u < REPLAYS * m->nodes; u++)
        for (t = 0; t < u; t++)
            if (related(conflicts, t, u) && !related(given, t, u) &&
                (t / m->nodes != u / m->nodes || !related(given, u, t)) &&
                (carried || t / m->nodes == u / m->nodes))
                return 0;
    return 1;
}

/* What commutes needs no edges by hand, and is put in an order; so is all that conflicts. */
static void check_commuting(const struct model *m, int carried, const struct rd_graph *graph,
                            uint64_t seed)
{
    static struct relation found, conflicts;
    int nodes = m->nodes, t, u;
    relate_found(m, graph, &found);
    close_relation(&found, REPLAYS * nodes);
    find_conflicts(m, carried, &conflicts);
    for (u = 0; u < REPLAYS * nodes; u++)
        for (t = 0; t <= u; t++) {
            int forth = related(&found, t, u), back = related(&found, u, t);
            cr_assert(!forth || !back, "seed %llu: a circle", (unsigned long long)seed);
            if (t / nodes == u / nodes ? excludes(m, t, u) : related(&conflicts, t, u))
                cr_assert(forth || back,
                          "seed %llu, carried %d: %d and %d of %d nodes are not "
                          "ordered",
                          (unsigned long long)seed, carried, t, u, nodes);
        }
}

/* What commutes needs no edges from replay to replay either. */
static void add_replays_of_commuting(const struct model *m, const struct relation *conflicts,
                                     struct relation *given)
{
    int t, u;
    for (u = 0; u < REPLAYS * m->nodes; u++)
        for (t = 0; t < u - u % m->nodes; t++)
            if (related(conflicts, t, u) && !conflict_otherwise(m, t, u))
                relate(given, t, u);
}

static void compare(const struct model *m, int carried, uint64_t seed, int verdicts[2])
{
    static struct relation given, conflicts;
    struct rd_graph graph;
    rondo_status status = rd_subgraph_analyse(m->g, carried, &graph);
    int good;
    find_conflicts(m, carried, &conflicts);
    memset(&given, 0, sizeof given);
    add_hand_edges(m, carried, &given);
    if (carried)
        add_replays_of_commuting(m, &conflicts, &given);
    close_relation(&given, REPLAYS * m->nodes);
    good = acyclic(&given, m) && ordered(m, carried, &given, &conflicts);
    cr_assert_eq(status, good ? RONDO_OK : RONDO_ERR_INVALID, "seed %llu, carried %d: %d, %s",
                 (unsigned long long)seed, carried, status, rondo_error_message());
    verdicts[good]++;
    if (status)
        return;
    if (m->has & COMMUTING)
        check_commuting(m, carried, &graph, seed);
    rd_graph_free(&m->g->rt->alloc, &graph);
}

static void compare_many(uint32_t has, uint64_t seeds)
{
    static struct model m, inferred;
    struct rd_graph graph;
    int verdicts[2] = { 0, 0 }, carried;
    uint64_t seed;
    seeds = rd_test_scaled(seeds);
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= seeds; seed++) {
        struct random r = { ~seed };
        make(seed, has, &inferred);
        carried = random_below(&r, 2) && !(inferred.any_alias && inferred.any_bound);
        cr_assert_eq(rd_subgraph_analyse(inferred.g, carried, &graph), RONDO_OK, "%s",
                     rondo_error_message());
        make(seed, has | RONDO_EDGES_EXPLICIT, &m);
        if (!calls_any(&m)) {
            give_edges(&r, &m, &graph);
            compare(&m, carried, seed, verdicts);
        }
        rd_graph_free(&inferred.g->rt->alloc, &graph);
        end(&inferred);
        end(&m);
    }
    cr_assert_gt(verdicts[0], (int)seeds / 15);
    cr_assert_gt(verdicts[1], (int)seeds / 15);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

Test(edges_explicit, accepted_when_all_conflicts_are_ordered) { compare_many(0, 3000); }

Test(edges_explicit, what_commutes_needs_none) { compare_many(COMMUTING, 2000); }

Test(edges_explicit, conditions) { compare_many(CONDITIONS | COMMUTING, 1500); }
