/* SPDX-License-Identifier: BSD-3-Clause */
/* One replay at each period, on time. */
#ifndef BENCH_PERIOD_H
#define BENCH_PERIOD_H

#include "bench/options.h"
#include "bench/report.h"

/* `rondo-bench latency --period`. */
int period_print(const struct options *options);
/* The same at 100 us for `compare`: a table, and the bars. */
void period_add(struct report *report, uint64_t replays, enum table_format format, FILE *out);

#endif
