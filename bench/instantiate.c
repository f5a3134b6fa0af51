/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench instantiate`: what a graph costs before its first replay. Each build is the first of
 * a process of its own, so that no memory is warm from the build before. */
#include "bench/child.h"
#include "bench/machine.h"
#include "bench/measures.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- in the process of its own */

int command_build_one(const struct options *o)
{
    const struct peer *peer = o->impls ? o->impl[0] : &peer_rondo;
    unsigned workers = o->workers ? o->workers : 2;
    struct graph *g = graph_make_sized(o->graph == GRAPH_KINDS ? GRAPH_STENCIL : o->graph,
                                       o->sizes ? o->nodes[0] : 10000, workers);
    struct setup setup = { .body = body_empty, .workers = workers };
    struct graph *small = graph_make(GRAPH_CHAIN, 1, 1, workers);
    struct figures f = { 0 };
    const char *why = peer->refusal(g, &setup);
    if (why)
        bench_die(BENCH_EXIT_FAILED, "%s: %s", peer->name, why);
    peer->free(peer->build(small, &setup)); /* starts its threads */
    double start = timing_ns();
    void *built = peer->build(g, &setup);
    double ns = timing_ns() - start;
    if (peer->figures)
        peer->figures(built, &f);
    if (f.record_ns <= 0)
        f.record_ns = ns;
    printf("%u %u %.0f %.0f %.0f %.0f\n", g->nodes, g->edges, f.record_ns, f.instantiate_ns,
           f.plan_bytes, (double)f.waits);
    peer->free(built);
    graph_free(small);
    graph_free(g);
    return 0;
}

/* ---- samples */

struct build_samples {
    struct samples record, instantiate, total;
    uint32_t nodes, edges;
    double plan_bytes;
};

struct build_samples *build_samples_make(void)
{
    return bench_alloc(1, sizeof(struct build_samples));
}

int build_sample(struct build_samples *s, const struct peer *peer, enum graph_kind kind,
                 uint32_t nodes, unsigned workers)
{
    char text[256], number[2][16];
    double record, instantiate, bytes;
    progress_show("building %s of %u nodes with %s", graph_kind_name(kind), nodes, peer->name);
    snprintf(number[0], sizeof number[0], "%u", nodes);
    snprintf(number[1], sizeof number[1], "%u", workers);
    char *argv[] = { (char *)child_self(),
                     "build-one",
                     "--impl",
                     (char *)peer->name,
                     "--graph",
                     (char *)graph_kind_name(kind),
                     "--nodes",
                     number[0],
                     "--workers",
                     number[1],
                     NULL };
    int code = child_read(argv, text, sizeof text);
    progress_show(NULL);
    if (code != 0 ||
        sscanf(text, "%u %u %lf %lf %lf", &s->nodes, &s->edges, &record, &instantiate, &bytes) != 5)
        return -1;
    samples_add(&s->record, record / s->nodes);
    samples_add(&s->instantiate, instantiate / s->nodes);
    samples_add(&s->total, (record + instantiate) / s->nodes);
    s->plan_bytes = bytes / s->nodes;
    return 0;
}

struct build build_samples_end(struct build_samples *s)
{
    struct build b = {
        .nodes = s->nodes,
        .edges = s->edges,
        .record_ns = { samples_min(&s->record), samples_median(&s->record) },
        .instantiate_ns = { samples_min(&s->instantiate), samples_median(&s->instantiate) },
        .total_ns = { samples_min(&s->total), samples_median(&s->total) },
        .plan_bytes = s->plan_bytes,
    };
    samples_clear(&s->record);
    samples_clear(&s->instantiate);
    samples_clear(&s->total);
    free(s);
    return b;
}

/* ---- the command */

static void add_row(struct table *t, enum graph_kind kind, const struct build *rondo,
                    const struct build *flow)
{
    table_cell(t, "%s", graph_kind_name(kind));
    table_cell(t, "%u", rondo->nodes);
    table_cell(t, "%u", rondo->edges);
    table_cell(t, "%.1f", rondo->record_ns.min);
    table_cell(t, "%.1f", rondo->instantiate_ns.min);
    table_cell(t, "%.1f", rondo->total_ns.min);
    table_cell(t, "%.1f", rondo->total_ns.median);
    table_cell(t, "%.1f", rondo->plan_bytes);
    if (!flow) {
        for (int i = 0; i < 4; i++)
            table_cell(t, "%s", "");
        return;
    }
    table_cell(t, "%.1f", flow->total_ns.min);
    table_cell(t, "%.1f", flow->total_ns.median);
    table_cell(t, "%.2f", rondo->total_ns.min / flow->total_ns.min);
    table_cell(t, "%.2f", rondo->total_ns.median / flow->total_ns.median);
}

static void measure(struct table *t, enum graph_kind kind, uint32_t nodes, unsigned workers,
                    unsigned rounds)
{
    const struct peer *flow = peer_find("tbb-flow");
    struct build_samples *ours = build_samples_make(), *theirs = build_samples_make();
    int failed = 0, without = !flow;
    for (unsigned round = 0; round < rounds && !failed; round++) {
        failed = build_sample(ours, &peer_rondo, kind, nodes, workers) != 0;
        without = without || build_sample(theirs, flow, kind, nodes, workers) != 0;
    }
    struct build rondo = build_samples_end(ours), other = build_samples_end(theirs);
    if (failed)
        bench_die(BENCH_EXIT_FAILED, "cannot build the graph %s of %u nodes", graph_kind_name(kind),
                  nodes);
    add_row(t, kind, &rondo, without ? NULL : &other);
}

int command_instantiate(const struct options *o)
{
    static const uint32_t sizes[] = { 1000, 10000, 100000, 1000000 };
    struct table *t = table_make("graph,nodes,edges,record_ns,instantiate_ns,both_ns_min,"
                                 "both_ns_median,plan_bytes,flow_ns_min,flow_ns_median,ratio_min,"
                                 "ratio_median");
    unsigned workers = o->workers ? o->workers : 2;
    unsigned rounds = o->rounds ? o->rounds : o->quick ? 1 : 3;
    unsigned count = o->sizes ? o->sizes : o->quick ? 2 : 4;
    for (unsigned kind = 0; kind < GRAPH_KINDS; kind++)
        for (unsigned i = 0; i < count; i++)
            if (o->graph == GRAPH_KINDS || o->graph == (enum graph_kind)kind)
                measure(t, (enum graph_kind)kind, o->sizes ? o->nodes[i] : sizes[i], workers,
                        rounds);
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
