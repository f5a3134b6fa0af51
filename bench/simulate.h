/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a replay takes as long as rondo_simulate says. */
#ifndef BENCH_SIMULATE_H
#define BENCH_SIMULATE_H

#include "bench/body.h"
#include "bench/report.h"
#include "bench/table.h"

/* The table that simulate_add fills. */
struct table *simulate_table(void);
/* One kind of graph of about that many nodes with these bodies: a row, and with `report` (may be
 * NULL) a bar. */
void simulate_add(struct table *table, struct report *report, enum graph_kind kind, uint32_t nodes,
                  const struct body_spec *body, unsigned rounds);

#endif
