/* SPDX-License-Identifier: BSD-3-Clause */
/* What schedule `auto` settles on. */
#ifndef BENCH_AUTO_H
#define BENCH_AUTO_H

#include "bench/graphs.h"
#include "bench/report.h"
#include "bench/table.h"

/* The table that auto_add fills. */
struct table *auto_table(void);
/* Measures one kind of graph of about that many nodes, with bodies of 0, 100 ns, 1 us and 10 us,
 * serial and pipelined: a row each, and with `report` (may be NULL) a bar for the worst of them. */
void auto_add(struct table *table, struct report *report, enum graph_kind kind, uint32_t nodes,
              unsigned rounds, int quick);

#endif
