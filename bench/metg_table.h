/* SPDX-License-Identifier: BSD-3-Clause */
/* METG(50%) of several implementations, a row for each pattern and width, with what Rondo's is of
 * the others' and the verdict. */
#ifndef BENCH_METG_TABLE_H
#define BENCH_METG_TABLE_H

#include "bench/measures.h"
#include "bench/report.h"
#include "bench/table.h"

struct metg_table;

/* For these implementations; none given: all that were built, but for the POSIX barrier, which is a
 * thousand times further on. */
struct metg_table *metg_table_make(const struct peer *const *impl, unsigned impls);
/* Measures and adds a row; with `report` (may be NULL) its bars too. */
void metg_table_add(struct metg_table *table, const struct metg_case *what, unsigned rounds,
                    struct report *report);
/* Writes it, as a row for each implementation where it is not for people, and frees it. */
void metg_table_end(struct metg_table *table, enum table_format format, FILE *out);

#endif
