/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of teams in a plan: random graphs with teams, played lane by lane with ranks that wait for
 * each other, run to their end; without the pass that keeps ranks together many do not. */
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>

enum { MOST = 200, PROCESSORS = 4 };

struct rig {
    struct maker m;
    uint32_t team[MOST], ranks[MOST];
    uint16_t bound[MOST];
    uint32_t cost[MOST];
};

/* Nodes in order, every few of them a team: its ranks have the same edges, and what comes after one
 * comes after all. */
static void make(struct rig *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    while (r->m.g.nodes < MOST - PROCESSORS) {
        const uint32_t first = r->m.g.nodes,
                       ranks = below(&seed, 3) ? 1 : 2 + below(&seed, PROCESSORS - 1),
                       on = below(&seed, PROCESSORS), preds = below(&seed, 3);
        uint32_t from[3];
        for (uint32_t i = 0; i < preds && first; i++)
            from[i] = r->team[below(&seed, first)];
        for (uint32_t k = 0; k < ranks; k++) {
            const uint32_t v = r->m.g.nodes;
            maker_node(&r->m);
            for (uint32_t i = 0; i < preds && first; i++)
                for (uint32_t j = 0; j < r->ranks[from[i]]; j++)
                    maker_edge(&r->m, from[i] + j, 0);
            r->team[v] = first;
            r->bound[v] = (uint16_t)(ranks > 1 ? (on + k) % PROCESSORS : RD_PLACE_ANY);
            r->cost[v] = 100 + below(&seed, 5000);
        }
        r->ranks[first] = ranks;
    }
}

static int is_ready(const struct rig *r, const uint8_t *done, uint32_t v)
{
    const struct rd_graph *g = &r->m.g;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
        if (!done[g->pred[e].from])
            return 0;
    return 1;
}

/* Whether the lanes come to their ends: an op runs when it is the next of its lane, what precedes
 * it has run, and so it is for all ranks of its team. */
static int plays(const struct rig *r, const struct rd_plan *plan)
{
    uint8_t done[MOST] = { 0 };
    uint32_t at[MOST] = { 0 }, left = r->m.g.nodes, progress = 1;
    while (progress) {
        uint32_t here[MOST] = { 0 }; /* by team: ranks that lanes have come to */
        progress = 0;
        for (uint32_t l = 0; l < plan->lanes; l++) {
            const struct rd_plan_lane *lane = &plan->lane[l];
            const uint32_t v = at[l] < lane->length ? plan->op[lane->first + at[l]].node : 0;
            if (at[l] < lane->length && is_ready(r, done, v))
                here[r->team[v]]++;
        }
        for (uint32_t l = 0; l < plan->lanes; l++) {
            const struct rd_plan_lane *lane = &plan->lane[l];
            const uint32_t v = at[l] < lane->length ? plan->op[lane->first + at[l]].node : 0;
            if (at[l] == lane->length || here[r->team[v]] < r->ranks[r->team[v]])
                continue;
            done[v] = 1;
            at[l]++;
            left--;
            progress = 1;
        }
    }
    return left == 0;
}

Test(compile_together, teams_are_come_to_in_one_order)
{
    uint32_t stuck = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rd_allocator *a = rd_allocator_system();
        struct rd_plan *plan = NULL;
        struct rig r;
        make(&r, seed * 0x9e3779b97f4a7c15ull);
        struct rd_compile_input in = { .graph = &r.m.g,
                                       .cost_ns = r.cost,
                                       .bound = r.bound,
                                       .processors = PROCESSORS,
                                       .handover_ns = 250,
                                       .unknown_cost_ns = 1000,
                                       .team = r.team,
                                       .check = 1 };
        cr_assert(rd_compile(a, &in, &plan) == RONDO_OK);
        cr_assert(plays(&r, plan), "seed %llu", (unsigned long long)seed);
        rd_plan_free(a, plan);
        in.team = NULL;
        cr_assert(rd_compile(a, &in, &plan) == RONDO_OK);
        stuck += !plays(&r, plan);
        rd_plan_free(a, plan);
        maker_free(&r.m);
    }
    cr_assert(stuck > 20, "only %u of 200 need it", stuck);
}
