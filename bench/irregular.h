/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs and bodies that no fixed schedule suits: whoever is free runs what is ready. */
#ifndef BENCH_IRREGULAR_H
#define BENCH_IRREGULAR_H

#include "bench/body.h"
#include "bench/report.h"
#include "bench/table.h"

enum { IRREGULAR_GRAPHS = 3 };

/* The table that irregular_add fills. */
struct table *irregular_table(void);
/* Measures one of the graphs with these bodies: a row for each implementation, and Rondo's bars
 * (`report` may be NULL). */
void irregular_add(struct table *table, struct report *report, unsigned graph,
                   const struct body_spec *body, unsigned rounds);

#endif
