/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench metg`: METG(50%) for each pattern of Task Bench and each width, all implementations
 * by turns. */
#include "bench/metg_table.h"

#include "bench/machine.h"
#include "bench/options.h"
#include "bench/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *peer;
    double limit;
} bars[] = { { "handwritten", 1.3 }, { "tbb", 0.4 }, { "mpi", 0.25 }, { "openmp", 0.03 } };
enum { BARS = sizeof bars / sizeof *bars };

struct metg_table {
    const struct peer *impl[METG_IMPLS_MAX];
    unsigned impls;
    struct table *wide, *rows; /* for people; for programs */
};

struct metg_table *metg_table_make(const struct peer *const *impl, unsigned impls)
{
    struct metg_table *t = bench_alloc(1, sizeof *t);
    char columns[1024] = "METG(50%) in ns,width,line ns";
    for (unsigned i = 0; impls ? i < impls : peers[i] != NULL; i++) {
        const struct peer *peer = impls ? impl[i] : peers[i];
        if (peer != &peer_loop && (impls || peer != &peer_barrier) && t->impls < METG_IMPLS_MAX)
            t->impl[t->impls++] = peer;
    }
    for (unsigned i = 0; i < t->impls; i++)
        snprintf(columns + strlen(columns), sizeof columns - strlen(columns), ",%s",
                 t->impl[i]->name);
    for (unsigned i = 0; i < BARS; i++)
        snprintf(columns + strlen(columns), sizeof columns - strlen(columns), ",rondo / %s",
                 bars[i].peer);
    snprintf(columns + strlen(columns), sizeof columns - strlen(columns), ",verdict");
    t->wide = table_make(columns);
    t->rows = table_make("impl,pattern,width,steps,metg_ns_min,metg_ns_median");
    return t;
}

/* ---- cells */

static void add_number(struct table *t, double ns, int below)
{
    if (ns > 0)
        table_cell(t, "%s%.1f", below ? "<" : "", ns);
    else
        table_cell(t, "-");
}

/* By minimum and by median; "-" where no task was long enough. */
static void add_range(struct table *t, const struct metg *m)
{
    char text[2][24] = { "-", "-" };
    if (m && m->task_ns.min > 0)
        snprintf(text[0], sizeof text[0], "%s%.*f", m->below_min ? "<" : "", m->task_ns.min < 10,
                 m->task_ns.min);
    if (m && m->task_ns.median > 0)
        snprintf(text[1], sizeof text[1], "%s%.*f", m->below_median ? "<" : "",
                 m->task_ns.median < 10, m->task_ns.median);
    if (m)
        table_cell(t, "%s - %s", text[0], text[1]);
    else
        table_cell(t, "-");
}

static const struct metg *find(const struct metg *metg, unsigned count, const struct peer *peer)
{
    for (unsigned i = 0; i < count; i++)
        if (peer && metg[i].peer == peer && metg[i].task_ns.min > 0)
            return &metg[i];
    return NULL;
}

static void add_rows(struct metg_table *t, const struct metg_case *what, const struct metg *metg,
                     unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        table_cell(t->rows, "%s", metg[i].peer->name);
        table_cell(t->rows, "%s", graph_kind_name(what->pattern));
        table_cell(t->rows, "%u", what->width);
        table_cell(t->rows, "%u", what->steps);
        add_number(t->rows, metg[i].task_ns.min, metg[i].below_min);
        add_number(t->rows, metg[i].task_ns.median, metg[i].below_median);
    }
}

/* ---- Rondo against the others */

/* A task length that was not reached is beyond all others. */
static double ratio_of(double ours, double theirs)
{
    return ours > 0 ? (theirs > 0 ? ours / theirs : 0) : HUGE_VAL;
}

/* One ratio; what misses its limit is added to `misses`, by minimum, median or both. */
static void add_ratio(struct metg_table *t, unsigned bar, const struct metg *rondo,
                      const struct metg *other, char *misses, size_t room)
{
    if (!rondo || !other) {
        table_cell(t->wide, "-");
        return;
    }
    struct range ratio = { ratio_of(rondo->task_ns.min, other->task_ns.min),
                           ratio_of(rondo->task_ns.median, other->task_ns.median) };
    int by_min = ratio.min <= bars[bar].limit, by_median = ratio.median <= bars[bar].limit;
    table_cell(t->wide, "%.3f - %.3f", ratio.min, ratio.median);
    if (!by_min || !by_median)
        snprintf(misses + strlen(misses), room - strlen(misses), "%s %s%s", *misses ? "," : "MISS",
                 bars[bar].peer,
                 by_min      ? " (median)"
                 : by_median ? " (minimum)"
                             : "");
}

static void add_wide(struct metg_table *t, const struct metg_case *what, const struct metg *metg,
                     unsigned count, double line_ns)
{
    const struct metg *rondo = find(metg, count, &peer_rondo);
    char misses[128] = "";
    unsigned known = 0;
    table_cell(t->wide, "%s", graph_kind_name(what->pattern));
    table_cell(t->wide, "%u", what->width);
    table_cell(t->wide, "%.0f", line_ns);
    for (unsigned i = 0; i < t->impls; i++)
        add_range(t->wide, find(metg, count, t->impl[i]));
    for (unsigned i = 0; i < BARS; i++) {
        const struct metg *other = find(metg, count, peer_find(bars[i].peer));
        add_ratio(t, i, rondo, other, misses, sizeof misses);
        known += rondo && other;
    }
    table_cell(t->wide, "%s", *misses ? misses : known ? "pass" : "-");
}

static void add_bars(struct report *report, const struct metg_case *what, const struct metg *metg,
                     unsigned count)
{
    const struct metg *rondo = find(metg, count, &peer_rondo);
    char *text =
        bench_text("METG(50%%), %s width %u: ns", graph_kind_name(what->pattern), what->width);
    for (unsigned i = 0; i < BARS; i++) {
        const struct metg *other = find(metg, count, peer_find(bars[i].peer));
        if (rondo && other && rondo->task_ns.median > 0 && other->task_ns.median > 0)
            report_ratio(report, "P3", text, rondo->task_ns, bars[i].peer, other->task_ns,
                         bars[i].limit);
    }
    free(text);
}

void metg_table_add(struct metg_table *t, const struct metg_case *what, unsigned rounds,
                    struct report *report)
{
    struct metg metg[METG_IMPLS_MAX];
    double line_ns = machine_round_trip_ns();
    unsigned count = metg_measure(what, t->impl, t->impls, rounds, metg);
    add_rows(t, what, metg, count);
    add_wide(t, what, metg, count, line_ns);
    if (report)
        add_bars(report, what, metg, count);
}

void metg_table_end(struct metg_table *t, enum table_format format, FILE *out)
{
    table_write(format == TABLE_ALIGNED ? t->wide : t->rows, format, out);
    table_free(t->wide);
    table_free(t->rows);
    free(t);
}

/* ---- the command */

int command_metg(const struct options *o)
{
    static const uint32_t widths[] = { 2, 8 };
    struct metg_table *t = metg_table_make(o->impl, o->impls);
    for (unsigned p = 0; p < (o->patterns ? o->patterns : 1); p++)
        for (unsigned i = 0; i < (o->width ? 1u : 2u); i++) {
            struct metg_case what = {
                .pattern = o->patterns ? o->pattern[p] : PATTERN_STENCIL_1D,
                .width = o->width ? o->width : widths[i],
                .steps = o->steps ? o->steps : 1000,
                .order = o->order,
                .schedule = o->schedule,
            };
            const char *refusal = graph_refusal(what.pattern, what.width, what.steps, 2);
            if (refusal)
                bench_die(BENCH_EXIT_USAGE, "--width %u --steps %u: %s", what.width, what.steps,
                          refusal);
            metg_table_add(t, &what, o->rounds ? o->rounds : 7, NULL);
        }
    metg_table_end(t, o->format, stdout);
    return 0;
}
