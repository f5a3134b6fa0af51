/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node of each graph costs with each implementation, all of one graph measured by turns. */
#ifndef BENCH_COSTS_H
#define BENCH_COSTS_H

#include "bench/measures.h"
#include "bench/table.h"

enum cost_row {
    COST_LOOP,
    COST_HANDWRITTEN,
    COST_ONE_LANE,
    COST_TWO_LANES,
    COST_INTERPRETED_1,
    COST_INTERPRETED_2,
    COST_INTERPRETED,
    COST_DATAFLOW,
    COST_TBB,
    COST_TBB_FLOW,
    COST_OPENMP,
    COST_OPENMP_FOR,
    COST_LLVM_OPENMP,
    COST_MPI,
    COST_SPIN_BARRIER,
    COST_BARRIER,
    COST_ROWS
};

enum cost_graph {
    COST_CHAIN,
    COST_STENCIL_2,
    COST_STENCIL_8,
    COST_CHOLESKY,
    COST_QUICK_GRAPHS,
    COST_FFT = COST_QUICK_GRAPHS,
    COST_RANDOM,
    COST_FAN,
    COST_TREE,
    COST_GRAPHS
};

struct costs {
    struct range ns[COST_GRAPHS][COST_ROWS]; /* per node; 0: not measured */
    double line_ns[COST_GRAPHS];             /* a cache line there and back, just before */
    unsigned pauses[COST_GRAPHS];            /* of the hand-written program */
    unsigned graphs;
};

void costs_measure(struct costs *costs, unsigned graphs, unsigned rounds);
const char *cost_graph_name(enum cost_graph graph);
/* Every implementation's row; "minimum - median" for each graph. */
void costs_write(const struct costs *costs, enum table_format format, FILE *out);
/* Minima as a chart. 0 on success. */
int costs_plot(const struct costs *costs, const char *path);

#endif
