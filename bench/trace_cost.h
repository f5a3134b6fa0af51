/* SPDX-License-Identifier: BSD-3-Clause */
/* What tracing costs while it is on, and after it was. */
#ifndef BENCH_TRACE_COST_H
#define BENCH_TRACE_COST_H

#include "bench/measures.h"

struct trace_cost {
    struct range before, tracing, after; /* ns per node of a chain of 1000 on one lane */
};
struct trace_cost trace_cost_measure(unsigned rounds);

#endif
