/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench overhead`: what a node of one graph costs, for one implementation or several by
 * turns; `rondo-bench limit`: the same for the hand-written program, for each number of pauses. */
#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"

#include <stdio.h>

enum { SAMPLE_NS = 3000000 };

static struct graph *make_graph(const struct options *o, uint32_t width, unsigned workers)
{
    enum graph_kind kind = o->graph == GRAPH_KINDS ? GRAPH_STENCIL : o->graph;
    uint32_t w = o->width                 ? o->width
                 : width                  ? width
                 : kind == GRAPH_CHOLESKY ? 20
                 : kind == GRAPH_FAN      ? 1000
                                          : 8;
    uint32_t steps = o->steps ? o->steps : kind == GRAPH_FAN ? 4 : 1000;
    const char *refusal = graph_refusal(kind, w, steps, workers);
    if (refusal)
        bench_die(BENCH_EXIT_USAGE, "--width %u --steps %u: %s", w, steps, refusal);
    return graph_make(kind, w, steps, workers);
}

static const char *mode_name(const struct setup *setup)
{
    return setup->schedule == SCHEDULE_STATIC ? replay_mode_name(setup->mode) : "auto";
}

static void add_row(struct table *t, const struct entry *e, const struct options *o)
{
    const struct graph *g = e->graph;
    struct figures f = { 0 };
    int rondo = e->peer == &peer_rondo;
    if (e->peer->figures)
        e->peer->figures(e->built, &f);
    table_cell(t, "%s", e->peer->name);
    table_cell(t, "%s", graph_kind_name(g->kind));
    table_cell(t, "%u", g->width);
    table_cell(t, "%u", g->steps);
    table_cell(t, "%s", rondo ? mode_name(&e->setup) : "");
    table_cell(t, "%s", rondo ? replay_schedule_name(e->setup.schedule) : "");
    table_cell(t, "%s", replay_order_name(e->setup.order));
    table_cell(t, "%u", e->peer == &peer_loop ? 1 : e->setup.workers);
    table_cell(t, "%s%.0f", o->body.kind == BODY_UNEVEN ? "uneven:" : "", o->body.ns);
    table_cell(t, "%u", g->nodes);
    table_cell(t, "%u", g->edges);
    if (rondo || e->peer == &peer_handwritten)
        table_cell(t, "%zu", f.waits);
    else
        table_cell(t, "%s", "");
    table_cell(t, "%.3f", entry_min(e));
    table_cell(t, "%.3f", entry_median(e));
    if (f.record_ns + f.instantiate_ns > 0)
        table_cell(t, "%.1f", (f.record_ns + f.instantiate_ns) / g->nodes);
    else
        table_cell(t, "%s", "");
    if (f.plan_bytes > 0)
        table_cell(t, "%.1f", f.plan_bytes / g->nodes);
    else
        table_cell(t, "%s", "");
}

int command_overhead(const struct options *o)
{
    struct contest contest = { .entries = 0 };
    unsigned workers = o->workers ? o->workers : o->graph == GRAPH_CHAIN ? 1 : 2;
    struct graph *g = make_graph(o, 0, workers);
    struct setup setup = { .body = body_function(o->body.kind),
                           .order = o->order,
                           .mode = o->mode,
                           .schedule = o->schedule,
                           .workers = workers,
                           .bind = !o->unbound && workers > 1 && o->schedule == SCHEDULE_STATIC,
                           .each = o->schedule == SCHEDULE_AUTO };
    struct table *t = table_make("impl,graph,width,steps,mode,schedule,order,workers,body_ns,nodes,"
                                 "edges,waits,ns_per_node_min,ns_per_node_median,"
                                 "instantiate_ns_per_node,plan_bytes_per_node");
    body_set(&o->body);
    rondo_impl_set_window(o->window);
    for (unsigned i = 0; i < (o->impls ? o->impls : 1); i++) {
        const struct peer *peer = o->impls ? o->impl[i] : &peer_rondo;
        const char *why;
        struct entry *e = contest_add(&contest, peer, g, &setup, &why);
        if (!e)
            fprintf(stderr, "rondo-bench: without %s: %s\n", peer->name, why);
        else
            e->count = o->replays;
    }
    contest_measure(&contest, o->rounds ? o->rounds : 15, SAMPLE_NS);
    for (unsigned i = 0; i < contest.entries; i++)
        add_row(t, &contest.entry[i], o);
    int none = contest.entries == 0;
    table_write(t, o->format, stdout);
    table_free(t);
    contest_end(&contest);
    graph_free(g);
    return none ? BENCH_EXIT_FAILED : 0;
}

/* ---- the limit */

static void limit_of(const struct options *o, uint32_t width, enum replay_order order,
                     struct table *t)
{
    struct contest contest = { .entries = 0 };
    struct graph *g = make_graph(o, width, 2);
    struct setup setup = {
        .body = body_function(o->body.kind), .order = order, .workers = 2, .bind = 1
    };
    struct entry *e[5];
    struct figures f[5];
    for (unsigned pauses = 0; pauses <= 4; pauses++) {
        const char *why;
        setup.pauses = pauses;
        e[pauses] = contest_add(&contest, &peer_handwritten, g, &setup, &why);
        if (!e[pauses])
            bench_die(BENCH_EXIT_USAGE, "handwritten: %s", why);
    }
    contest_measure(&contest, o->rounds ? o->rounds : 15, SAMPLE_NS);
    for (unsigned pauses = 0; pauses <= 4; pauses++) {
        peer_handwritten.figures(e[pauses]->built, &f[pauses]);
        table_cell(t, "%s", graph_kind_name(g->kind));
        table_cell(t, "%u", g->width);
        table_cell(t, "%u", g->steps);
        table_cell(t, "%s", order == ORDER_PIPELINED ? "pipelined" : "replay then join");
        table_cell(t, "%u", pauses ? pauses : f[0].pauses);
        table_cell(t, "%s", pauses ? "" : "calibrated");
        table_cell(t, "%u", g->nodes);
        table_cell(t, "%zu", f[pauses].waits);
        table_cell(t, "%.3f", entry_min(e[pauses]));
        table_cell(t, "%.3f", entry_median(e[pauses]));
    }
    contest_end(&contest);
    graph_free(g);
}

int command_limit(const struct options *o)
{
    struct table *t = table_make("graph,width,steps,order,pauses,chosen,nodes,waits,"
                                 "ns_per_node_min,ns_per_node_median");
    int given = o->width || (o->graph != GRAPH_KINDS && o->graph != GRAPH_STENCIL);
    body_set(&o->body);
    if (o->format == TABLE_ALIGNED)
        printf("cache line, CPU to CPU and back: %.0f ns\n", machine_round_trip_ns());
    for (int order = ORDER_SERIAL; order <= ORDER_PIPELINED; order++) {
        if (o->order == ORDER_PIPELINED && order == ORDER_SERIAL)
            continue;
        limit_of(o, given ? 0 : 2, (enum replay_order)order, t);
        if (!given)
            limit_of(o, 8, (enum replay_order)order, t);
    }
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
