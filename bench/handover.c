/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench handover`: what it costs that the next node runs on the other CPU. A cache line
 * played to and fro for about a millisecond, many times, shows how steady such a measurement is; a
 * chain whose nodes change CPUs at every step shows what becomes of it in programs. */
#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/support.h"

#include <stdio.h>
#include <time.h>

enum { MEASUREMENTS = 200, SAMPLE_NS = 2000000, CHAIN = 1000 };

static void nap(void)
{
    const struct timespec ms = { 0, 1000000 };
    nanosleep(&ms, NULL);
}

static void add_spread(struct table *t, const char *what, const struct samples *ns, double share)
{
    static const double quantiles[] = { 0, 0.1, 0.5, 0.9 };
    table_cell(t, "%s", what);
    table_cell(t, "%zu", ns->count);
    for (unsigned i = 0; i < 4; i++)
        table_cell(t, "%.1f", samples_quantile(ns, quantiles[i]) * share);
    table_cell(t, "%.1f", samples_max(ns) * share);
}

static void add_lines(struct table *t, unsigned count)
{
    struct samples once = { 0 }, best = { 0 };
    double least = 0;
    for (unsigned i = 0; i < count; i++) {
        double ns = machine_line_ns(4000);
        samples_add(&once, ns);
        if (i % 5 == 0 || ns < least)
            least = ns;
        if (i % 5 == 4)
            samples_add(&best, least);
        nap();
    }
    add_spread(t, "line, one way, one measurement", &once, 0.5);
    add_spread(t, "line, one way, least of 5", &best, 0.5);
    samples_clear(&once);
    samples_clear(&best);
}

/* A chain whose nodes alternate: every node waits for the other CPU. */
static void add_chains(struct table *t, unsigned rounds)
{
    static const struct {
        const char *what;
        const struct peer *peer;
        enum replay_order order;
    } rows[] = {
        { "node of a chain across CPUs, handwritten", &peer_handwritten, ORDER_SERIAL },
        { "node of a chain across CPUs, rondo static", &peer_rondo, ORDER_SERIAL },
    };
    struct contest contest = { .entries = 0 };
    struct graph *g = graph_make(GRAPH_CHAIN, 1, CHAIN, 2);
    for (uint32_t v = 0; v < g->nodes; v++)
        g->owner[v] = v % 2;
    for (unsigned i = 0; i < 2; i++) {
        struct setup setup = {
            .body = body_empty, .order = rows[i].order, .workers = 2, .bind = 1
        };
        contest_add(&contest, rows[i].peer, g, &setup, NULL);
    }
    contest_measure(&contest, rounds, SAMPLE_NS);
    for (unsigned i = 0; i < contest.entries; i++)
        add_spread(t, rows[i].what, &contest.entry[i].ns, 1.0 / CHAIN);
    contest_end(&contest);
    graph_free(g);
}

int command_handover(const struct options *o)
{
    struct table *t = table_make("ns,measurements,min,10%,median,90%,max");
    unsigned count = o->rounds ? o->rounds : MEASUREMENTS;
    body_set_iterations(0);
    add_lines(t, count);
    add_chains(t, count / 8 + 1);
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
