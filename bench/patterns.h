/* SPDX-License-Identifier: BSD-3-Clause */
/* The eleven dependence patterns of Task Bench (Slaughter et al., "Task Bench: A Parameterized
 * Benchmark for Evaluating Parallel Runtime Performance", SC20): which points there are at each
 * step, and on which points of the step before each depends. */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "bench/graphs.h"

/* Task Bench's own values where nothing is said. */
enum { PATTERN_RADIX = 3, PATTERN_PERIOD = 3 };

struct pattern {
    enum graph_kind kind; /* GRAPH_STENCIL: as PATTERN_STENCIL_1D */
    uint32_t width, steps;
};

/* Points first to first + count - 1 exist at a step. */
uint32_t pattern_first(const struct pattern *pattern, uint32_t step);
uint32_t pattern_count(const struct pattern *pattern, uint32_t step);
/* How many sets of dependences there are, and which one leads to a step. */
uint32_t pattern_sets(const struct pattern *pattern);
uint32_t pattern_set(const struct pattern *pattern, uint32_t step);
/* Fills `column` (room for width + 2) with the points of the step before that a point depends on,
 * each once; how many. Before step 0 comes the last step: of the replay before. */
uint32_t pattern_preds(const struct pattern *pattern, uint32_t step, uint32_t point,
                       uint32_t *column);

#endif
