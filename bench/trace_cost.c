/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench trace`: a chain on one lane before any trace was started in its runtime, while one
 * runs, and after it was stopped. Each round has a runtime of its own, and the three follow each
 * other within milliseconds. */
#include "bench/trace_cost.h"

#include "bench/options.h"
#include "bench/progress.h"
#include "bench/rondo_impl.h"
#include "bench/timing.h"

#include <stdio.h>

enum { NODES = 1000, REPLAYS = 400, TRACED_REPLAYS = 50, TRIES = 5, SPANS = 400000 };

static void drop(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* ns per node, the least of a few. */
static double least(void *built, uint64_t replays)
{
    double best = 0;
    peer_rondo.run(built, replays / 4);
    for (int i = 0; i < TRIES; i++) {
        double ns = peer_rondo.run(built, replays) / (double)(replays * NODES);
        if (!i || ns < best)
            best = ns;
    }
    return best;
}

static void one_round(const struct graph *g, struct samples ns[3])
{
    struct setup setup = { .body = body_empty, .workers = 1 };
    rondo_runtime runtime = rondo_impl_open((rondo_runtime_options){ .cpus = NULL }, 2);
    void *built = rondo_impl_build(runtime, g, &setup);
    samples_add(&ns[0], least(built, REPLAYS));
    rondo_must(rondo_trace_start(runtime, SPANS), "starting a trace");
    samples_add(&ns[1], least(built, TRACED_REPLAYS));
    rondo_must(rondo_trace_stop(runtime, drop, NULL), "stopping a trace");
    samples_add(&ns[2], least(built, REPLAYS));
    peer_rondo.free(built);
    rondo_must(rondo_runtime_close(runtime), "closing a runtime");
}

struct trace_cost trace_cost_measure(unsigned rounds)
{
    struct samples ns[3] = { { 0 }, { 0 }, { 0 } };
    struct range range[3];
    struct graph *g = graph_make(GRAPH_CHAIN, 1, NODES, 1);
    peer_rondo.close(); /* workers of two runtimes would outnumber the CPUs and never spin */
    for (unsigned round = 0; round < rounds; round++) {
        progress_show("trace: round %u of %u", round + 1, rounds);
        one_round(g, ns);
    }
    progress_show(NULL);
    for (int i = 0; i < 3; i++) {
        range[i] = (struct range){ samples_min(&ns[i]), samples_median(&ns[i]) };
        samples_clear(&ns[i]);
    }
    graph_free(g);
    return (struct trace_cost){ range[0], range[1], range[2] };
}

int command_trace(const struct options *o)
{
    struct trace_cost cost = trace_cost_measure(o->rounds ? o->rounds : 25);
    const struct {
        const char *what;
        struct range ns;
    } rows[] = { { "before any trace", cost.before },
                 { "while tracing", cost.tracing },
                 { "after a trace", cost.after } };
    struct table *t = table_make("chain of 1000,ns_per_node_min,ns_per_node_median,ratio_min,"
                                 "ratio_median");
    for (unsigned i = 0; i < 3; i++) {
        table_cell(t, "%s", rows[i].what);
        table_cell(t, "%.3f", rows[i].ns.min);
        table_cell(t, "%.3f", rows[i].ns.median);
        table_cell(t, "%.3f", rows[i].ns.min / cost.before.min);
        table_cell(t, "%.3f", rows[i].ns.median / cost.before.median);
    }
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
