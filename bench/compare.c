/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench compare`: every bar, each a ratio to something measured in the same run by turns. */
#include "bench/auto.h"
#include "bench/contest.h"
#include "bench/costs.h"
#include "bench/irregular.h"
#include "bench/machine.h"
#include "bench/measures.h"
#include "bench/metg_table.h"
#include "bench/options.h"
#include "bench/period.h"
#include "bench/progress.h"
#include "bench/report.h"
#include "bench/simulate.h"
#include "bench/support.h"
#include "bench/trace_cost.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLE_NS = 3000000 };

struct run {
    const struct options *options;
    struct report report;
    struct costs costs;
    unsigned rounds;
    FILE *notes; /* what is no table goes to standard error unless tables are for people */
};

/* ---- P1, P6, P7: from the costs of one graph at a time */

static void bars_of_costs(struct run *run)
{
    struct report *r = &run->report;
    struct costs *c = &run->costs;
    struct range *chain = c->ns[COST_CHAIN];
    report_ratio(r, "P1", "chain of 1000, compiled, one lane: ns per node", chain[COST_ONE_LANE],
                 "loop", chain[COST_LOOP], 1.4);
    for (unsigned at = 0; at < COST_QUICK_GRAPHS; at++) {
        static const enum cost_row rows[2] = { COST_INTERPRETED, COST_INTERPRETED_2 };
        static const char *const how[2] = { "placed by cost", "forced onto two workers" };
        for (unsigned i = 0; i < 2 && c->ns[at][COST_TBB_FLOW].min > 0; i++) {
            char *what = bench_text("%s, interpreted, %s: ns per node",
                                    cost_graph_name((enum cost_graph)at), how[i]);
            report_ratio(r, "P6", what, c->ns[at][rows[i]], "oneTBB flow graph",
                         c->ns[at][COST_TBB_FLOW], 1);
            free(what);
        }
    }
    report_gain(r, "P7", "chain of 1000, one lane, compiled over interpreted: ns per node",
                chain[COST_ONE_LANE], "interpreted", chain[COST_INTERPRETED_1], 5);
}

/* ---- P2 */

static void bar_p2(struct run *run, uint32_t width, double limit)
{
    struct contest contest = { .entries = 0 };
    struct graph *g = graph_make(GRAPH_STENCIL, width, 1000, 2);
    struct setup setup = { .body = body_empty, .order = ORDER_PIPELINED, .workers = 2, .bind = 1 };
    struct entry *hand = contest_add(&contest, &peer_handwritten, g, &setup, NULL);
    struct entry *rondo = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    struct figures of_hand = { 0 }, of_rondo = { 0 };
    double before = machine_round_trip_ns();
    contest_measure(&contest, run->rounds, SAMPLE_NS);
    peer_handwritten.figures(hand->built, &of_hand);
    peer_rondo.figures(rondo->built, &of_rondo);
    char *what = bench_text("stencil width %u, two lanes, pipelined: ns per node", width);
    report_ratio(&run->report, "P2", what, (struct range){ entry_min(rondo), entry_median(rondo) },
                 "handwritten", (struct range){ entry_min(hand), entry_median(hand) }, limit);
    fprintf(run->notes,
            "P2, width %u: cache line %.0f ns before, %.0f after; pauses handwritten %u; waits "
            "handwritten %zu, rondo %zu of %u edges\n",
            width, before, machine_round_trip_ns(), of_hand.pauses, of_hand.waits, of_rondo.waits,
            g->edges + g->carried);
    free(what);
    contest_end(&contest);
    graph_free(g);
}

/* ---- P3 */

/* Quick: only what the bars are against. */
static struct metg_table *metg_of(const struct run *run)
{
    static const char *const names[] = { "rondo", "handwritten", "tbb", "mpi", "openmp" };
    const struct peer *impl[sizeof names / sizeof *names];
    unsigned impls = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (peer_find(names[i]))
            impl[impls++] = peer_find(names[i]);
    return metg_table_make(impl, run->options->quick ? impls : 0);
}

static void bars_p3(struct run *run, struct metg_table *all)
{
    static const enum graph_kind stencil[] = { PATTERN_STENCIL_1D };
    unsigned count = run->options->quick ? 1 : PATTERNS;
    for (unsigned i = 0; i < count; i++)
        for (uint32_t width = 2; width <= 8; width *= 4) {
            struct metg_case what = {
                .pattern = run->options->quick ? stencil[i] : PATTERN_TRIVIAL + i,
                .width = width,
                .steps = 1000,
                .schedule = run->options->schedule,
            };
            metg_table_add(all, &what, run->options->quick ? 3 : 7, &run->report);
        }
}

/* ---- P4, P7 */

static void bars_p4(struct run *run, struct table *all)
{
    static const struct body_spec bodies[] = { { BODY_EMPTY, 0 },
                                               { BODY_UNEVEN, 300 },
                                               { BODY_UNEVEN, 2000 } };
    for (unsigned g = 0; g < (run->options->quick ? 1u : IRREGULAR_GRAPHS); g++)
        for (unsigned b = 0; b < (run->options->quick ? 2u : 3u); b++)
            irregular_add(all, &run->report, g, &bodies[b], run->options->quick ? 5 : 15);
}

static void bars_p7(struct run *run, struct table *all)
{
    int quick = run->options->quick;
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        auto_add(all, &run->report, (enum graph_kind)kind, 1000, quick ? 5 : 9, quick);
}

static void bars_simulated(struct run *run, struct table *all)
{
    static const struct body_spec bodies[] = { { BODY_SPIN, 20000 }, { BODY_UNEVEN, 12000 } };
    int quick = run->options->quick;
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        for (unsigned b = 0; b < (quick ? 1u : 2u); b++)
            simulate_add(all, &run->report, (enum graph_kind)kind, quick ? 100 : 250, &bodies[b],
                         quick ? 5 : 9);
}

/* ---- P5 */

static void bars_p5(struct run *run)
{
    static const uint32_t sizes[] = { 1, 10, 100 };
    for (unsigned i = 0; i < 3; i++) {
        struct latency l = latency_measure(sizes[i], run->rounds);
        struct range allowed = { 45 + 1.5 * l.loop.min, 45 + 1.5 * l.loop.median };
        char *what =
            bench_text("one replay of %u empty node%s and its wait: ns", sizes[i], i ? "s" : "");
        report_ratio(&run->report, "P5", what, l.rondo, "45 ns + 1.5 x loop", allowed, 1);
        free(what);
    }
}

/* ---- P8 */

static void bars_p8_of(struct run *run, enum graph_kind kind, uint32_t small, uint32_t large)
{
    const struct peer *flow = peer_find("tbb-flow");
    struct build_samples *few = build_samples_make(), *many = build_samples_make(),
                         *other = build_samples_make();
    int failed = 0;
    for (unsigned round = 0; round < (run->options->quick ? 2u : 3u) && !failed; round++) {
        failed = build_sample(few, &peer_rondo, kind, small, 2) != 0 ||
                 build_sample(many, &peer_rondo, kind, large, 2) != 0;
        if (flow && !failed)
            failed = build_sample(other, flow, kind, large, 2) != 0;
    }
    struct build s = build_samples_end(few), l = build_samples_end(many),
                 o = build_samples_end(other);
    if (failed) {
        fprintf(stderr, "rondo-bench: P8: %s of %u nodes cannot be built\n", graph_kind_name(kind),
                large);
        return;
    }
    char *what = bench_text("%s, record + instantiate, %u nodes: ns per node",
                            graph_kind_name(kind), l.nodes);
    char *than = bench_text("%u nodes", s.nodes);
    char *size =
        bench_text("%s of %u nodes: bytes of plan per node", graph_kind_name(kind), l.nodes);
    report_ratio(&run->report, "P8", what, l.total_ns, than, s.total_ns, 1.5);
    if (flow)
        report_ratio(&run->report, "P8", what, l.total_ns, "oneTBB flow graph's build", o.total_ns,
                     0.5);
    report_most(&run->report, "P8", size, l.plan_bytes, "bytes", 96);
    free(what);
    free(than);
    free(size);
}

static void bars_p8(struct run *run)
{
    if (run->options->quick) {
        bars_p8_of(run, GRAPH_CHAIN, 10000, 100000);
        bars_p8_of(run, GRAPH_STENCIL, 10000, 100000);
        return;
    }
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        bars_p8_of(run, (enum graph_kind)kind, 10000, 1000000);
}

/* ---- P9, P10 */

static void bars_p9_of(struct run *run, const char *name, const struct graph *g,
                       const struct setup *setup)
{
    const struct options *o = run->options;
    uint64_t replays = o->longer ? 100000000 : o->quick ? 500000 : 10000000;
    uint64_t traced = o->quick ? 200000 : 1000000;
    struct steady s = steady_measure(g, setup, replays);
    double calls = steady_system_calls(setup->workers > 1, traced);
    char *what[4] = {
        bench_text("%s, %.0e replays: allocations by Rondo", name, (double)replays),
        bench_text("%s, %.0e replays: allocations of the process", name, (double)replays),
        bench_text("%s, %.0e replays: growth of resident memory", name, (double)replays),
        bench_text("%s, %.0e replays under strace: system calls per replay", name, (double)traced),
    };
    report_most(&run->report, "P9", what[0], (double)s.allocations, "", 0);
    report_most(&run->report, "P9", what[1], (double)s.mallocs, "", 0);
    /* A page or two of a stack touched for the first time. */
    report_most(&run->report, "P9", what[2], s.resident_kib, "KiB", 64);
    /* Not quite 0: a lane whose peer the system preempts for another process sleeps in the end. */
    if (calls >= 0)
        report_most(&run->report, "P9", what[3], calls / (double)traced, "", 0.001);
    fprintf(run->notes, "P9, %s: threads slept %ld times in %llu replays without strace\n", name,
            s.voluntary, (unsigned long long)replays);
    for (unsigned i = 0; i < 4; i++)
        free(what[i]);
}

static void bars_p9(struct run *run)
{
    struct graph *chain = graph_make(GRAPH_CHAIN, 1, 10, 1);
    struct graph *stencil = graph_make(GRAPH_STENCIL, 2, 10, 2);
    struct setup one = { .body = body_empty, .workers = 1 };
    struct setup two = { .body = body_empty, .order = ORDER_PIPELINED, .workers = 2, .bind = 1 };
    bars_p9_of(run, "chain of 10, one lane", chain, &one);
    bars_p9_of(run, "stencil 2 x 10, two lanes, pipelined", stencil, &two);
    graph_free(chain);
    graph_free(stencil);
}

static void bar_p10(struct run *run)
{
    struct idle idle = idle_measure(2);
    report_most(&run->report, "P10", "an idle runtime, per second: CPU time", idle.cpu_ms, "ms", 1);
    fprintf(run->notes, "P10: %ld context switches in the idle second\n", idle.switches);
}

/* ---- P11, P12 */

static void bars_p11(struct run *run)
{
    struct trace_cost cost = trace_cost_measure(run->options->quick ? 9 : 31);
    report_ratio(&run->report, "P11", "chain of 1000, one lane, after a trace: ns per node",
                 cost.after, "before any trace", cost.before, 1.01);
    report_ratio(&run->report, "P11", "chain of 1000, one lane, while tracing: ns per node",
                 cost.tracing, "60 ns", (struct range){ 60, 60 }, 1);
}

static void bars_p12(struct run *run)
{
    const struct options *o = run->options;
    period_add(&run->report, o->longer ? 1000000 : o->quick ? 2000 : 100000, o->format, stdout);
}

/* ---- all */

static void heading(const struct run *run, const char *text)
{
    if (run->options->format == TABLE_ALIGNED)
        printf("\n## %s\n\n", text);
    fflush(stdout);
}

int command_compare(const struct options *o)
{
    struct run run = { .options = o };
    struct metg_table *metg = metg_of(&run);
    struct table *irregular = irregular_table(), *settled = auto_table(),
                 *simulated = simulate_table();
    run.rounds = o->rounds ? o->rounds : o->quick ? 9 : 31;
    run.notes = o->format == TABLE_ALIGNED ? stdout : stderr;
    machine_describe(run.notes, "- ");
    fprintf(run.notes,
            "- cache line, CPU to CPU and back: %.0f ns\n- samples of each: %u, by turns\n",
            machine_round_trip_ns(), run.rounds);
    report_begin(&run.report);

    heading(&run, "Costs per node");
    costs_measure(&run.costs, o->quick ? COST_QUICK_GRAPHS : COST_GRAPHS,
                  o->quick ? 7 : run.rounds);
    costs_write(&run.costs, o->format, stdout);
    if (o->plot && costs_plot(&run.costs, o->plot) != 0)
        bench_die(BENCH_EXIT_FAILED, "cannot write %s", o->plot);
    bars_of_costs(&run);

    heading(&run, "Notes");
    bar_p2(&run, 2, 1.15);
    bar_p2(&run, 8, 1.4);
    bars_p3(&run, metg);
    bars_p4(&run, irregular);
    bars_p7(&run, settled);
    bars_simulated(&run, simulated);
    bars_p5(&run);
    bars_p8(&run);
    bars_p9(&run);
    bar_p10(&run);
    bars_p11(&run);

    heading(&run, "Smallest tasks");
    metg_table_end(metg, o->format, stdout);
    heading(&run, "Irregular graphs and bodies");
    table_write(irregular, o->format, stdout);
    table_free(irregular);
    heading(&run, "What auto settles on");
    table_write(settled, o->format, stdout);
    table_free(settled);
    heading(&run, "Simulated and measured");
    table_write(simulated, o->format, stdout);
    table_free(simulated);
    heading(&run, "At a steady period");
    bars_p12(&run);
    heading(&run, "Bars");
    report_end(&run.report, o->format, stdout);
    return 0;
}
