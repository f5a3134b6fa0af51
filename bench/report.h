/* SPDX-License-Identifier: BSD-3-Clause */
/* The bars: what was measured against what, and whether it is good enough. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/measures.h"
#include "bench/table.h"

struct report {
    struct table *bars;
    unsigned passed, missed, partly;
};

void report_begin(struct report *report);
/* A ratio: `ours` is at most `limit` times `theirs` (or, with `theirs` a bound of its own, 1). */
void report_ratio(struct report *report, const char *bar, const char *what, struct range ours,
                  const char *than, struct range theirs, double limit);
/* The other way round: `theirs` is at least `limit` times `ours`. */
void report_gain(struct report *report, const char *bar, const char *what, struct range ours,
                 const char *than, struct range theirs, double limit);
/* A plain number that is at most `most`. */
void report_most(struct report *report, const char *bar, const char *what, double value,
                 const char *unit, double most);
/* Writes the table and, in the aligned form, how many passed. */
void report_end(struct report *report, enum table_format format, FILE *out);

#endif
