/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench simulate`: how long a replay on two processors takes by
 * rondo_simulate, and how long it does take. The costs told are the bodies' as
 * they were a moment before on one thread: two that are busy may be slower,
 * which is part of what is looked at. */
#include "bench/simulate.h"

#include "bench/contest.h"
#include "bench/options.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE_NS = 4000000 };

struct compared {
    rondo_simulation predicted;
    struct range ns; /* a replay, measured */
    uint32_t nodes;
};

/* The bodies as one thread runs them now: what is meant, stretched. */
static struct body_spec as_measured(const struct graph *g, const struct body_spec *body)
{
    struct setup setup = { .body = body_function(body->kind), .workers = 1 };
    void *built = peer_loop.build(g, &setup);
    double meant = 0, taken = 0;
    for (uint32_t v = 0; v < g->nodes; v++)
        meant += body_node_ns(body, v);
    for (int i = 0; i < 5; i++) {
        double ns = peer_loop.run(built, 1);
        if (!i || ns < taken)
            taken = ns;
    }
    peer_loop.free(built);
    return (struct body_spec){ body->kind, body->ns * taken / meant };
}

static struct compared compare(const struct graph *g, const struct body_spec *body, unsigned rounds)
{
    struct contest contest = { .entries = 0 };
    struct compared c = { .nodes = g->nodes };
    body_set(body);
    struct body_spec told = as_measured(g, body);
    struct setup setup = { .body = body_function(body->kind), .workers = 2, .told = &told };
    rondo_subgraph subgraph = rondo_impl_record(rondo_impl_runtime(2), g, &setup);
    rondo_simulate_options options = { .processors = 2 };
    rondo_must(rondo_simulate(subgraph, &options, &c.predicted), "simulating");
    rondo_must(rondo_subgraph_destroy(subgraph), "destroying a subgraph");
    struct entry *e = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    contest_measure(&contest, rounds, SAMPLE_NS);
    c.ns = (struct range){ samples_min(&e->ns), samples_median(&e->ns) };
    contest_end(&contest);
    body_set_iterations(0);
    return c;
}

/* How far the prediction is off, as a share of what was measured. */
static double error_of(const struct compared *c, double measured_ns)
{
    return fabs((double)c->predicted.makespan_ns - measured_ns) / measured_ns;
}

struct table *simulate_table(void)
{
    return table_make("graph,nodes,body,processors,lanes,handovers,work_us,critical_path_us,"
                      "predicted_us,measured_us_min,measured_us_median,error_min,error_median");
}

void simulate_add(struct table *t, struct report *report, enum graph_kind kind, uint32_t nodes,
                  const struct body_spec *body, unsigned rounds)
{
    struct graph *g = graph_make_sized(kind, nodes, 2);
    struct compared c = compare(g, body, rounds);
    char *bodies = bench_text("%s:%.0f", body->kind == BODY_SPIN ? "spin" : "uneven", body->ns);
    table_cell(t, "%s", graph_kind_name(kind));
    table_cell(t, "%u", c.nodes);
    table_cell(t, "%s", bodies);
    table_cell(t, "%u", c.predicted.processors);
    table_cell(t, "%u", c.predicted.lanes);
    table_cell(t, "%llu", (unsigned long long)c.predicted.handovers);
    table_cell(t, "%.1f", (double)c.predicted.work_ns / 1e3);
    table_cell(t, "%.1f", (double)c.predicted.critical_path_ns / 1e3);
    table_cell(t, "%.1f", (double)c.predicted.makespan_ns / 1e3);
    table_cell(t, "%.1f", c.ns.min / 1e3);
    table_cell(t, "%.1f", c.ns.median / 1e3);
    table_cell(t, "%.3f", error_of(&c, c.ns.min));
    table_cell(t, "%.3f", error_of(&c, c.ns.median));
    if (report) {
        char *what =
            bench_text("%s, %s bodies: predicted makespan off by", graph_kind_name(kind), bodies);
        report_most(report, "simulate", what, 100 * error_of(&c, c.ns.min), "%", 10);
        free(what);
    }
    free(bodies);
    graph_free(g);
}

int command_simulate(const struct options *o)
{
    static const struct body_spec bodies[] = { { BODY_SPIN, 20000 }, { BODY_UNEVEN, 12000 } };
    struct table *t = simulate_table();
    if (o->body_given && (o->body.kind == BODY_EMPTY || o->body.ns < 10000))
        bench_die(BENCH_EXIT_USAGE, "--body: shorter than 10 us; a simulation is of longer ones");
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        for (unsigned b = 0; b < (o->body_given ? 1u : 2u); b++)
            if (o->graph == GRAPH_KINDS || o->graph == (enum graph_kind)kind)
                simulate_add(t, NULL, (enum graph_kind)kind, o->sizes ? o->nodes[0] : 250,
                             o->body_given ? &o->body : &bodies[b], o->rounds ? o->rounds : 9);
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
