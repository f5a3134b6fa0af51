/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node of each graph costs with each implementation: each replay ends before the next
 * begins, bodies are empty. */
#include "bench/costs.h"

#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/plot.h"

#include <stdlib.h>

enum { SAMPLE_NS = 2000000 };

static const struct {
    const char *label, *peer;
    enum replay_mode mode;
    enum replay_schedule schedule;
    unsigned workers;
    int bind;
} rows[COST_ROWS] = {
    [COST_LOOP] = { "loop, one thread", "loop", MODE_COMPILED, SCHEDULE_STATIC, 1, 0 },
    [COST_HANDWRITTEN] = { "handwritten, two threads", "handwritten", MODE_COMPILED,
                           SCHEDULE_STATIC, 2, 1 },
    [COST_ONE_LANE] = { "rondo compiled, one lane", "rondo", MODE_COMPILED, SCHEDULE_STATIC, 1, 0 },
    [COST_TWO_LANES] = { "rondo compiled, two lanes", "rondo", MODE_COMPILED, SCHEDULE_STATIC, 2,
                         1 },
    [COST_INTERPRETED_1] = { "rondo interpreted, one worker", "rondo", MODE_INTERPRETED,
                             SCHEDULE_STATIC, 1, 0 },
    [COST_INTERPRETED_2] = { "rondo interpreted, two workers", "rondo", MODE_INTERPRETED,
                             SCHEDULE_STATIC, 2, 1 },
    [COST_INTERPRETED] = { "rondo interpreted, placed by cost", "rondo", MODE_INTERPRETED,
                           SCHEDULE_STATIC, 2, 0 },
    [COST_DATAFLOW] = { "rondo dataflow, two workers", "rondo", MODE_COMPILED, SCHEDULE_DATAFLOW, 2,
                        0 },
    [COST_TBB] = { "oneTBB tasks, own counters", "tbb", MODE_COMPILED, SCHEDULE_STATIC, 2, 0 },
    [COST_TBB_FLOW] = { "oneTBB flow graph", "tbb-flow", MODE_COMPILED, SCHEDULE_STATIC, 2, 0 },
    [COST_OPENMP] = { "GCC OpenMP task depend", "openmp", MODE_COMPILED, SCHEDULE_STATIC, 2, 0 },
    [COST_OPENMP_FOR] = { "GCC OpenMP for, per step", "openmp-for", MODE_COMPILED, SCHEDULE_STATIC,
                          2, 0 },
    [COST_LLVM_OPENMP] = { "LLVM OpenMP task depend", "llvm-openmp", MODE_COMPILED, SCHEDULE_STATIC,
                           2, 0 },
    [COST_MPI] = { "MPI persistent requests", "mpi", MODE_COMPILED, SCHEDULE_STATIC, 2, 0 },
    [COST_SPIN_BARRIER] = { "spinning barrier per step", "spin-barrier", MODE_COMPILED,
                            SCHEDULE_STATIC, 2, 0 },
    [COST_BARRIER] = { "POSIX barrier per step", "barrier", MODE_COMPILED, SCHEDULE_STATIC, 2, 0 },
};

static const struct {
    const char *label;
    enum graph_kind kind;
    uint32_t width, steps;
} graphs[COST_GRAPHS] = {
    [COST_CHAIN] = { "chain", GRAPH_CHAIN, 1, 1000 },
    [COST_STENCIL_2] = { "stencil w2", GRAPH_STENCIL, 2, 1000 },
    [COST_STENCIL_8] = { "stencil w8", GRAPH_STENCIL, 8, 1000 },
    [COST_CHOLESKY] = { "Cholesky", GRAPH_CHOLESKY, 20, 1 },
    [COST_FFT] = { "fft w8", GRAPH_FFT, 8, 1000 },
    [COST_RANDOM] = { "random w8", GRAPH_RANDOM, 8, 1000 },
    [COST_FAN] = { "fan 1-1000-1", GRAPH_FAN, 1000, 4 },
    [COST_TREE] = { "tree w64", GRAPH_TREE, 64, 16 },
};

const char *cost_graph_name(enum cost_graph graph) { return graphs[graph].label; }

static const struct body_spec empty_bodies = { BODY_EMPTY, 2 };

static void measure_graph(struct costs *costs, unsigned at, unsigned rounds)
{
    struct contest contest = { .entries = 0 };
    struct graph *g = graph_make(graphs[at].kind, graphs[at].width, graphs[at].steps, 2);
    struct entry *entry[COST_ROWS] = { NULL };
    struct figures f = { 0 };
    for (unsigned r = 0; r < COST_ROWS; r++) {
        const struct peer *peer = peer_find(rows[r].peer);
        struct setup setup = { .body = body_empty,
                               .mode = rows[r].mode,
                               .schedule = rows[r].schedule,
                               .workers = rows[r].workers,
                               .bind = rows[r].bind,
                               .told = &empty_bodies };
        /* A second lane or thread of a chain would have nothing in it. */
        if (at == COST_CHAIN && (r == COST_TWO_LANES || r == COST_HANDWRITTEN))
            continue;
        if (peer)
            entry[r] = contest_add(&contest, peer, g, &setup, NULL);
    }
    costs->line_ns[at] = machine_round_trip_ns();
    contest_measure(&contest, rounds, SAMPLE_NS);
    for (unsigned r = 0; r < COST_ROWS; r++)
        if (entry[r])
            costs->ns[at][r] = (struct range){ entry_min(entry[r]), entry_median(entry[r]) };
    if (entry[COST_HANDWRITTEN])
        peer_handwritten.figures(entry[COST_HANDWRITTEN]->built, &f);
    costs->pauses[at] = f.pauses;
    contest_end(&contest);
    graph_free(g);
}

void costs_measure(struct costs *costs, unsigned count, unsigned rounds)
{
    *costs = (struct costs){ .graphs = count };
    for (unsigned at = 0; at < count; at++)
        measure_graph(costs, at, rounds);
}

static void write_range(struct table *t, struct range x)
{
    int digits = x.median < 10 ? 1 : 0;
    if (x.median > 0)
        table_cell(t, "%.*f - %.*f", digits, x.min, digits, x.median);
    else
        table_cell(t, "-");
}

void costs_write(const struct costs *costs, enum table_format format, FILE *out)
{
    static const char *const columns[] = {
        "ns per node,chain,stencil w2,stencil w8,Cholesky",
        "ns per node,chain,stencil w2,stencil w8,Cholesky,fft w8,random w8,fan 1-1000-1,tree w64"
    };
    struct table *t = table_make(columns[costs->graphs > COST_QUICK_GRAPHS]);
    for (unsigned r = 0; r < COST_ROWS; r++) {
        table_cell(t, "%s", rows[r].label);
        for (unsigned at = 0; at < costs->graphs; at++)
            write_range(t, costs->ns[at][r]);
    }
    table_cell(t, "(cache line there and back)");
    for (unsigned at = 0; at < costs->graphs; at++)
        table_cell(t, "%.0f", costs->line_ns[at]);
    table_cell(t, "(pauses, handwritten)");
    for (unsigned at = 0; at < costs->graphs; at++)
        if (costs->pauses[at])
            table_cell(t, "%u", costs->pauses[at]);
        else
            table_cell(t, "-");
    table_write(t, format, out);
    table_free(t);
}

int costs_plot(const struct costs *costs, const char *path)
{
    const char *panel[COST_GRAPHS], *bar[COST_ROWS];
    double value[COST_GRAPHS * COST_ROWS];
    for (unsigned r = 0; r < COST_ROWS; r++)
        bar[r] = rows[r].label;
    for (unsigned at = 0; at < costs->graphs; at++) {
        panel[at] = graphs[at].label;
        for (unsigned r = 0; r < COST_ROWS; r++)
            value[at * COST_ROWS + r] = costs->ns[at][r].min;
    }
    return plot_write(path, "ns per node, empty bodies (minimum, logarithmic scale)", panel,
                      costs->graphs, bar, COST_ROWS, value);
}
