/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench auto`: what schedule `auto` has settled on after a hundred replays, beside the
 * better of two: one thread that calls the functions in order, and the static lanes that placement
 * gives. Replays are calls of their own, waited for one by one or submitted one after the other.
 * Rondo is told nothing of what bodies take, or what they do take. */
#include "bench/auto.h"

#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/support.h"

#include <stdlib.h>

enum { SAMPLE_NS = 2000000, BODIES = 4 };

static const double body_ns[BODIES] = { 0, 100, 1000, 10000 };
static const double limit = 1.1;

struct settled {
    struct range loop, one, fixed, chosen; /* ns per node; one: Rondo with a single lane */
    char *text;                            /* which case it is */
};

struct one_case {
    enum replay_order order;
    const struct body_spec *told;
    double ns;
};

/* ---- measuring */

static struct range range_of(const struct entry *e)
{
    return (struct range){ entry_min(e), entry_median(e) };
}

static struct settled measure(const struct graph *g, const struct one_case *what, unsigned rounds)
{
    struct contest contest = { .entries = 0 };
    struct setup setup = {
        .body = what->ns > 0 ? body_spin : body_empty,
        .order = what->order,
        .workers = 2,
        .each = 1,
        .told = what->told,
    };
    body_set_iterations(what->ns > 0 ? body_iterations_for(what->ns) : 0);
    struct entry *loop = contest_add(&contest, &peer_loop, g, &setup, NULL);
    struct entry *fixed = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    setup.workers = 1;
    struct entry *one = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    setup.workers = 2;
    setup.schedule = SCHEDULE_AUTO;
    struct entry *chosen = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    contest_measure(&contest, rounds, SAMPLE_NS);
    struct settled s = { range_of(loop), range_of(one), range_of(fixed), range_of(chosen), NULL };
    contest_end(&contest);
    body_set_iterations(0);
    return s;
}

static double least(double a, double b) { return a < b ? a : b; }

/* The better of the two, by minimum and by median. */
static struct range better(const struct settled *s)
{
    return (struct range){ least(s->loop.min, s->fixed.min),
                           least(s->loop.median, s->fixed.median) };
}

static double ratio(const struct settled *s) { return s->chosen.min / better(s).min; }

/* ---- the table and the bars */

struct table *auto_table(void)
{
    return table_make("graph,nodes,body_ns,order,costs,loop_ns_min,loop_ns_median,one_lane_ns_min,"
                      "one_lane_ns_median,static_ns_min,"
                      "static_ns_median,auto_ns_min,auto_ns_median,of_own_best_min,"
                      "ratio_min,ratio_median,verdict");
}

static void add_range(struct table *t, struct range ns)
{
    table_cell(t, "%.2f", ns.min);
    table_cell(t, "%.2f", ns.median);
}

static void add_row(struct table *t, const struct graph *g, const struct one_case *what,
                    const struct settled *s)
{
    struct range than = better(s);
    int by_min = s->chosen.min <= limit * than.min;
    int by_median = s->chosen.median <= limit * than.median;
    table_cell(t, "%s", graph_kind_name(g->kind));
    table_cell(t, "%u", g->nodes);
    table_cell(t, "%.0f", what->ns);
    table_cell(t, "%s", replay_order_name(what->order));
    table_cell(t, "%s", what->told ? "told" : "not told");
    add_range(t, s->loop);
    add_range(t, s->one);
    add_range(t, s->fixed);
    add_range(t, s->chosen);
    table_cell(t, "%.3f", s->chosen.min / least(s->one.min, s->fixed.min));
    table_cell(t, "%.3f", s->chosen.min / than.min);
    table_cell(t, "%.3f", s->chosen.median / than.median);
    table_cell(t, "%s",
               by_min && by_median ? "pass"
               : by_min            ? "pass by minimum only"
               : by_median         ? "pass by median only"
                                   : "MISS");
}

void auto_add(struct table *t, struct report *report, enum graph_kind kind, uint32_t nodes,
              unsigned rounds, int quick)
{
    struct settled worst = { .text = NULL };
    /* Quick: nothing told, which leaves the most to find out, and the extreme bodies. */
    for (unsigned b = 0; b < BODIES; b += quick ? BODIES - 1 : 1) {
        struct graph *g = graph_make_sized(kind, quick && b ? nodes / 8 + 1 : nodes, 2);
        for (int told = 0; told < (quick ? 1 : 2); told++)
            for (int order = ORDER_SERIAL; order <= ORDER_PIPELINED; order++) {
                /* An empty body takes 2 ns, its call included. */
                struct body_spec body = { BODY_SPIN, body_ns[b] > 0 ? body_ns[b] : 2 };
                struct one_case what = { (enum replay_order)order, told ? &body : NULL,
                                         body_ns[b] };
                struct settled s = measure(g, &what, rounds);
                add_row(t, g, &what, &s);
                if (worst.text && ratio(&s) <= ratio(&worst))
                    continue;
                free(worst.text);
                worst = s;
                worst.text = bench_text("auto, %s, worst case (%.0f ns, %s, costs %s): ns per node",
                                        graph_kind_name(kind), what.ns,
                                        replay_order_name(what.order), told ? "told" : "not told");
            }
        graph_free(g);
    }
    if (report)
        report_ratio(report, "P7", worst.text, worst.chosen, "better of loop and static lanes",
                     better(&worst), limit);
    free(worst.text);
}

int command_auto(const struct options *o)
{
    struct table *t = auto_table();
    if (o->format == TABLE_ALIGNED)
        printf("cache line, CPU to CPU and back: %.0f ns\n", machine_round_trip_ns());
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        if (o->graph == GRAPH_KINDS || o->graph == (enum graph_kind)kind)
            auto_add(t, NULL, (enum graph_kind)kind, o->sizes ? o->nodes[0] : 1000,
                     o->rounds ? o->rounds : 9, o->quick);
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
