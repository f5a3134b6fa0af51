/* SPDX-License-Identifier: BSD-3-Clause */
/* Rondo as its users drive it: records the graph with explicit edges, instantiates it once, replays
 * it. The waiting caller runs the first processor's share. */
#include "bench/rondo_impl.h"

#include "bench/machine.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNTIMES_MAX = 64, WORKERS_MIN = 2 };

static struct {
    rondo_runtime runtime;
    unsigned workers;
} opened[RUNTIMES_MAX];
static unsigned opened_count;
static uint32_t window;

struct built {
    rondo_runtime runtime;
    rondo_exec exec;
    int serial, each;
    double record_ns, instantiate_ns;
};

void rondo_must(rondo_status status, const char *what)
{
    if (status != RONDO_OK)
        bench_die(BENCH_EXIT_FAILED, "%s: %s: %s", what, rondo_status_string(status),
                  rondo_error_message());
}

rondo_runtime rondo_impl_open(rondo_runtime_options options, unsigned workers)
{
    char cpus[4096];
    int length = 0;
    rondo_runtime runtime;
    for (unsigned i = 0; i < workers; i++) {
        length += snprintf(cpus + length, sizeof cpus - (size_t)length, "%s%d", i ? "," : "",
                           machine_cpu(i));
        if (length + 16 > (int)sizeof cpus)
            bench_die(BENCH_EXIT_FAILED, "%u workers are too many", workers);
    }
    options.cpus = options.cpus ? options.cpus : cpus;
    machine_unpin(); /* the runtime may use only CPUs that this thread may */
    rondo_must(rondo_runtime_open(&options, &runtime), "opening a runtime");
    machine_pin(0);
    return runtime;
}

rondo_runtime rondo_impl_runtime(unsigned workers)
{
    /* Workers that outnumber the CPUs never spin, those of another runtime in this process
     * included: so one lane is a lane of the two workers' runtime. */
    workers = workers < WORKERS_MIN ? WORKERS_MIN : workers;
    for (unsigned i = 0; i < opened_count; i++)
        if (opened[i].workers == workers)
            return opened[i].runtime;
    if (opened_count == RUNTIMES_MAX)
        bench_die(BENCH_EXIT_FAILED, "too many numbers of workers");
    opened[opened_count].runtime =
        rondo_impl_open((rondo_runtime_options){ .cpus = NULL }, workers);
    opened[opened_count].workers = workers;
    return opened[opened_count++].runtime;
}

void rondo_impl_set_window(uint32_t replays) { window = replays; }

rondo_exec rondo_impl_exec(void *built) { return ((struct built *)built)->exec; }

/* ---- recording */

static void record_nodes(const struct graph *g, const struct setup *setup, rondo_subgraph subgraph,
                         rondo_node *node, rondo_node *after)
{
    for (uint32_t v = 0; v < g->nodes; v++) {
        uint32_t first = g->pred_first[v], preds = g->pred_first[v + 1] - first;
        for (uint32_t k = 0; k < preds; k++)
            after[k] = node[g->pred[first + k]];
        node[v] = rondo_record_task(subgraph,
                                    &(rondo_task_desc){
                                        .fn = setup->body,
                                        .arg = &g->id[v],
                                        .arg_bytes = sizeof g->id[v],
                                        .after = after,
                                        .after_count = preds,
                                        .on = setup->workers == 1 ? RONDO_CPU(0)
                                              : setup->bind       ? RONDO_CPU(g->owner[v])
                                                                  : RONDO_ANY_CPU,
                                        .cost_ns = setup->told ? body_node_ns(setup->told, v) : 0,
                                        .flags = RONDO_NO_ACCESS,
                                    });
    }
    for (uint32_t k = 0; setup->order == ORDER_PIPELINED && k < g->carried; k++)
        rondo_must(rondo_record_edge(subgraph, node[g->carried_edge[k].from],
                                     node[g->carried_edge[k].to], 1),
                   "recording a carried edge");
}

rondo_subgraph rondo_impl_record(rondo_runtime runtime, const struct graph *g,
                                 const struct setup *setup)
{
    rondo_subgraph subgraph;
    rondo_subgraph_desc desc = { .name = graph_kind_name(g->kind), .flags = RONDO_EDGES_EXPLICIT };
    uint32_t most = 0;
    for (uint32_t v = 0; v < g->nodes; v++)
        if (g->pred_first[v + 1] - g->pred_first[v] > most)
            most = g->pred_first[v + 1] - g->pred_first[v];
    rondo_node *node = bench_alloc(g->nodes, sizeof *node);
    rondo_node *after = bench_alloc(most, sizeof *after);
    rondo_must(rondo_subgraph_create(runtime, &desc, &subgraph), "creating a subgraph");
    record_nodes(g, setup, subgraph, node, after);
    rondo_must(rondo_subgraph_status(subgraph), "recording");
    free(node);
    free(after);
    return subgraph;
}

void *rondo_impl_build(rondo_runtime runtime, const struct graph *g, const struct setup *setup)
{
    struct built *b = bench_alloc(1, sizeof *b);
    static const uint32_t schedule[] = { RONDO_STATIC, RONDO_DATAFLOW, RONDO_SCHEDULE_AUTO };
    rondo_instantiate_options options = {
        .mode = setup->schedule != SCHEDULE_STATIC ? RONDO_AUTO
                : setup->mode == MODE_COMPILED     ? RONDO_COMPILED
                                                   : RONDO_INTERPRETED,
        .schedule = schedule[setup->schedule],
        .order = setup->order == ORDER_SERIAL      ? RONDO_SERIAL
                 : setup->order == ORDER_PIPELINED ? RONDO_PIPELINED
                                                   : RONDO_CONCURRENT,
        .window = window,
    };
    b->runtime = runtime;
    b->serial = setup->order == ORDER_SERIAL;
    b->each = setup->each;
    double start = timing_ns();
    rondo_subgraph subgraph = rondo_impl_record(runtime, g, setup);
    double recorded = timing_ns();
    rondo_must(rondo_instantiate(subgraph, &options, &b->exec), "instantiating");
    b->record_ns = recorded - start;
    b->instantiate_ns = timing_ns() - recorded;
    rondo_must(rondo_subgraph_destroy(subgraph), "destroying a subgraph");
    return b;
}

static void *build(const struct graph *g, const struct setup *setup)
{
    return rondo_impl_build(rondo_impl_runtime(setup->workers), g, setup);
}

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    (void)setup;
    return graph->nodes > 0x7fffffff ? "too many nodes" : NULL;
}

/* ---- replaying */

static double run(void *built, uint64_t count)
{
    struct built *b = built;
    double start = timing_ns();
    if (b->serial) {
        for (uint64_t i = 0; i < count; i++)
            rondo_must(rondo_replay_and_wait(b->exec, NULL, -1, NULL), "a replay");
    } else if (count) {
        rondo_event event = { 0, 0 };
        rondo_replay_args args = { .count = b->each ? 1 : count };
        for (uint64_t calls = b->each ? count : 1; calls; calls--)
            rondo_must(rondo_replay(b->exec, &args, &event), "replays");
        rondo_must(rondo_event_wait(event, -1), "waiting for replays");
    }
    double ns = timing_ns() - start;
    if (!b->serial)
        rondo_must(rondo_exec_wait(b->exec, NULL), "replays");
    return ns;
}

static void figures(void *built, struct figures *figures)
{
    struct built *b = built;
    rondo_exec_counts counts;
    rondo_must(rondo_exec_count(b->exec, &counts), "counting");
    figures->waits = counts.waits;
    figures->record_ns = b->record_ns;
    figures->instantiate_ns = b->instantiate_ns;
    figures->plan_bytes = (double)counts.plan_bytes;
}

static void release(void *built)
{
    struct built *b = built;
    rondo_must(rondo_exec_destroy(b->exec), "destroying an exec");
    /* What is freed later would be freed during another's measurement. */
    rondo_must(rondo_runtime_drain(b->runtime), "draining");
    free(b);
}

static void close_runtimes(void)
{
    while (opened_count)
        rondo_must(rondo_runtime_close(opened[--opened_count].runtime), "closing a runtime");
}

const struct peer peer_rondo = {
    .name = "rondo",
    .what = "this library",
    .refusal = refusal,
    .build = build,
    .run = run,
    .figures = figures,
    .free = release,
    .close = close_runtimes,
};
