/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of bars and the verdict on each: by minimum and by median. */
#include "bench/report.h"

void report_begin(struct report *r)
{
    *r = (struct report){
        .bars = table_make("bar,what,rondo,against,is,ratio min,ratio median,limit,verdict"),
    };
}

static void verdict(struct report *r, int by_min, int by_median)
{
    r->passed += by_min && by_median;
    r->missed += !by_min && !by_median;
    r->partly += by_min != by_median;
    table_cell(r->bars, "%s",
               by_min && by_median ? "pass"
               : by_min            ? "pass by minimum only"
               : by_median         ? "pass by median only"
                                   : "MISS");
}

static void add_range(struct table *t, struct range x)
{
    int digits = x.median < 10 ? 2 : x.median < 100 ? 1 : 0;
    table_cell(t, "%.*f - %.*f", digits, x.min, digits, x.median);
}

static void add(struct report *r, const char *bar, const char *what, struct range ours,
                const char *than, struct range theirs)
{
    table_cell(r->bars, "%s", bar);
    table_cell(r->bars, "%s", what);
    add_range(r->bars, ours);
    table_cell(r->bars, "%s", than);
    add_range(r->bars, theirs);
}

void report_ratio(struct report *r, const char *bar, const char *what, struct range ours,
                  const char *than, struct range theirs, double limit)
{
    struct range ratio = { ours.min / theirs.min, ours.median / theirs.median };
    add(r, bar, what, ours, than, theirs);
    table_cell(r->bars, "%.3f", ratio.min);
    table_cell(r->bars, "%.3f", ratio.median);
    table_cell(r->bars, "<= %.2f", limit);
    verdict(r, ratio.min <= limit, ratio.median <= limit);
}

void report_gain(struct report *r, const char *bar, const char *what, struct range ours,
                 const char *than, struct range theirs, double limit)
{
    struct range ratio = { theirs.min / ours.min, theirs.median / ours.median };
    add(r, bar, what, ours, than, theirs);
    table_cell(r->bars, "%.2f", ratio.min);
    table_cell(r->bars, "%.2f", ratio.median);
    table_cell(r->bars, ">= %.2f", limit);
    verdict(r, ratio.min >= limit, ratio.median >= limit);
}

void report_most(struct report *r, const char *bar, const char *what, double value,
                 const char *unit, double most)
{
    table_cell(r->bars, "%s", bar);
    table_cell(r->bars, "%s", what);
    table_cell(r->bars, "%.6g %s", value, unit);
    for (int i = 0; i < 4; i++)
        table_cell(r->bars, "%s", "");
    table_cell(r->bars, "<= %g %s", most, unit);
    verdict(r, value <= most, value <= most);
}

void report_end(struct report *r, enum table_format format, FILE *out)
{
    table_write(r->bars, format, out);
    table_free(r->bars);
    if (format == TABLE_ALIGNED)
        fprintf(out, "\n%u pass, %u pass by minimum or median only, %u miss.\n", r->passed,
                r->partly, r->missed);
    fflush(out);
}
