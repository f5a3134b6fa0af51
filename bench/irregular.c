/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench irregular`: tile Cholesky, a random graph and a fan, with empty bodies (what a node
 * costs) and uneven ones (how long a replay takes), where schedules are made while the graph runs:
 * Rondo's dataflow beside oneTBB and OpenMP tasks, and what Rondo's static schedule makes of them.
 */
#include "bench/irregular.h"

#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/support.h"

#include <stdlib.h>

enum { SAMPLE_NS = 3000000 };

static const struct {
    const char *label;
    enum graph_kind kind;
    uint32_t width, steps;
} graphs[IRREGULAR_GRAPHS] = {
    { "Cholesky 20x20", GRAPH_CHOLESKY, 20, 1 },
    { "random, 3 of 8", GRAPH_RANDOM, 8, 250 },
    { "fan 1-1000-1", GRAPH_FAN, 1000, 1 },
};

enum row {
    ROW_LOOP,
    ROW_DATAFLOW,
    ROW_DATAFLOW_TOLD,
    ROW_STATIC,
    ROW_STATIC_TOLD,
    ROW_AUTO,
    ROW_TBB,
    ROW_OPENMP,
    ROW_LLVM,
    ROWS
};

static const struct {
    const char *label, *peer;
    enum replay_schedule schedule;
    int told;  /* Rondo knows what each node takes */
    int rival; /* what the bars are against */
} rows[ROWS] = {
    [ROW_LOOP] = { "loop, one thread", "loop", SCHEDULE_STATIC, 0, 0 },
    [ROW_DATAFLOW] = { "rondo dataflow", "rondo", SCHEDULE_DATAFLOW, 0, 0 },
    [ROW_DATAFLOW_TOLD] = { "rondo dataflow, costs told", "rondo", SCHEDULE_DATAFLOW, 1, 0 },
    [ROW_STATIC] = { "rondo static", "rondo", SCHEDULE_STATIC, 0, 0 },
    [ROW_STATIC_TOLD] = { "rondo static, costs told", "rondo", SCHEDULE_STATIC, 1, 0 },
    [ROW_AUTO] = { "rondo auto", "rondo", SCHEDULE_AUTO, 0, 0 },
    [ROW_TBB] = { "oneTBB tasks, own counters", "tbb", SCHEDULE_STATIC, 0, 1 },
    [ROW_OPENMP] = { "GCC OpenMP tasks", "openmp", SCHEDULE_STATIC, 0, 1 },
    [ROW_LLVM] = { "LLVM OpenMP tasks", "llvm-openmp", SCHEDULE_STATIC, 0, 1 },
};

struct irregular {
    struct range ns[ROWS]; /* of a replay, per node; 0: not measured */
    uint32_t nodes, edges;
    double bound; /* no two threads are faster: half of the work, or the longest path; per node */
};

/* ---- measuring */

/* The longest path through the graph, by what the bodies are meant to take. */
static double longest_path(const struct graph *g, const struct body_spec *body)
{
    double *end = bench_alloc(g->nodes, sizeof *end), longest = 0;
    for (uint32_t v = 0; v < g->nodes; v++) {
        for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++)
            if (end[g->pred[k]] > end[v])
                end[v] = end[g->pred[k]];
        end[v] += body_node_ns(body, v);
        if (end[v] > longest)
            longest = end[v];
    }
    free(end);
    return longest;
}

static struct irregular measure(unsigned graph, const struct body_spec *body, unsigned rounds)
{
    struct contest contest = { .entries = 0 };
    struct irregular found = { .nodes = 0 };
    struct entry *entry[ROWS] = { NULL };
    struct graph *g = graph_make(graphs[graph].kind, graphs[graph].width, graphs[graph].steps, 2);
    body_set(body);
    for (unsigned r = 0; r < ROWS; r++) {
        const struct peer *peer = peer_find(rows[r].peer);
        struct setup setup = { .body = body_function(body->kind),
                               .schedule = rows[r].schedule,
                               .workers = 2,
                               .told = rows[r].told ? body : NULL };
        if (peer)
            entry[r] = contest_add(&contest, peer, g, &setup, NULL);
    }
    contest_measure(&contest, rounds, SAMPLE_NS);
    for (unsigned r = 0; r < ROWS; r++)
        if (entry[r])
            found.ns[r] = (struct range){ entry_min(entry[r]), entry_median(entry[r]) };
    found.nodes = g->nodes;
    found.edges = g->edges;
    found.bound = longest_path(g, body) / g->nodes;
    if (found.ns[ROW_LOOP].min / 2 > found.bound)
        found.bound = found.ns[ROW_LOOP].min / 2;
    contest_end(&contest);
    graph_free(g);
    body_set_iterations(0);
    return found;
}

/* The best of what the bars are against, by minimum and by median. */
static struct range best_rival(const struct irregular *found)
{
    struct range best = { 0, 0 };
    for (unsigned r = 0; r < ROWS; r++) {
        if (!rows[r].rival || found->ns[r].min <= 0)
            continue;
        if (best.min <= 0 || found->ns[r].min < best.min)
            best.min = found->ns[r].min;
        if (best.median <= 0 || found->ns[r].median < best.median)
            best.median = found->ns[r].median;
    }
    return best;
}

/* ---- the table and the bars */

struct table *irregular_table(void)
{
    return table_make("graph,body,impl,nodes,edges,ns_per_node_min,ns_per_node_median,"
                      "replay_us_min,over_bound_min,of_best_rival_min,of_best_rival_median");
}

static const char *body_text(const struct body_spec *body)
{
    static char text[32];
    if (body->kind == BODY_EMPTY)
        return "empty";
    snprintf(text, sizeof text, "%s:%.0f", body->kind == BODY_SPIN ? "spin" : "uneven", body->ns);
    return text;
}

void irregular_add(struct table *t, struct report *report, unsigned graph,
                   const struct body_spec *body, unsigned rounds)
{
    struct irregular found = measure(graph, body, rounds);
    struct range best = best_rival(&found);
    for (unsigned r = 0; r < ROWS; r++) {
        struct range ns = found.ns[r];
        if (ns.min <= 0)
            continue;
        table_cell(t, "%s", graphs[graph].label);
        table_cell(t, "%s", body_text(body));
        table_cell(t, "%s", rows[r].label);
        table_cell(t, "%u", found.nodes);
        table_cell(t, "%u", found.edges);
        table_cell(t, "%.1f", ns.min);
        table_cell(t, "%.1f", ns.median);
        table_cell(t, "%.1f", ns.min * found.nodes / 1e3);
        table_cell(t, "%.3f", ns.min / found.bound);
        table_cell(t, "%.3f", best.min > 0 ? ns.min / best.min : 0);
        table_cell(t, "%.3f", best.median > 0 ? ns.median / best.median : 0);
    }
    if (!report || best.min <= 0)
        return;
    char *what =
        bench_text("%s, %s bodies, dataflow: ns per node", graphs[graph].label, body_text(body));
    report_ratio(report, "P4", what, found.ns[ROW_DATAFLOW], "best of oneTBB, OpenMP tasks", best,
                 body->kind == BODY_EMPTY ? 1 : 1.03);
    free(what);
}

int command_irregular(const struct options *o)
{
    static const struct body_spec bodies[] = { { BODY_EMPTY, 0 },
                                               { BODY_UNEVEN, 300 },
                                               { BODY_UNEVEN, 2000 } };
    struct table *t = irregular_table();
    int any = o->graph == GRAPH_KINDS, found = any;
    for (unsigned g = 0; g < IRREGULAR_GRAPHS; g++)
        found |= graphs[g].kind == o->graph;
    if (!found)
        bench_die(BENCH_EXIT_USAGE, "--graph %s: not one of those that are measured",
                  graph_kind_name(o->graph));
    if (o->format == TABLE_ALIGNED)
        printf("cache line, CPU to CPU and back: %.0f ns\n", machine_round_trip_ns());
    for (unsigned g = 0; g < IRREGULAR_GRAPHS; g++) {
        if (!any && graphs[g].kind != o->graph)
            continue;
        for (unsigned b = 0; b < (o->body_given ? 1u : 3u); b++)
            irregular_add(t, NULL, g, o->body_given ? &o->body : &bodies[b],
                          o->rounds ? o->rounds : 15);
    }
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
