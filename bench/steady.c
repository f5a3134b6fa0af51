/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench steady`: what many replays allocate, how often they sleep, how memory grows;
 * `rondo-bench idle`: what a runtime uses that has nothing to do. */
#include "bench/alloc_count.h"
#include "bench/child.h"
#include "bench/machine.h"
#include "bench/measures.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdio.h>
#include <time.h>

enum { WARM_UP = 20000 };

/* ---- steady */

static uint64_t rondo_allocations(unsigned workers)
{
    rondo_runtime_statistics statistics;
    rondo_must(rondo_runtime_stats(rondo_impl_runtime(workers), &statistics), "statistics");
    return statistics.allocations;
}

struct steady steady_measure(const struct graph *graph, const struct setup *setup, uint64_t replays)
{
    struct steady s = { .replays = replays, .nodes = graph->nodes };
    peer_must_check(&peer_rondo, graph, setup);
    void *built = peer_rondo.build(graph, setup);
    progress_show("%llu replays of %u nodes", (unsigned long long)replays, graph->nodes);
    peer_rondo.run(built, WARM_UP);
    uint64_t allocations = rondo_allocations(setup->workers);
    struct timing_use before = timing_use_now();
    alloc_count_begin();
    s.ns = peer_rondo.run(built, replays) / (double)replays;
    s.mallocs = alloc_count_end();
    struct timing_use after = timing_use_now();
    s.allocations = rondo_allocations(setup->workers) - allocations;
    s.voluntary = after.voluntary - before.voluntary;
    s.resident_kib = ((double)after.resident_bytes - (double)before.resident_bytes) / 1024;
    peer_rondo.free(built);
    progress_show(NULL);
    return s;
}

/* ---- system calls */

static double traced_calls(int two_lanes, uint64_t replays)
{
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)replays);
    const char *const chain[] = { "steady",    "--graph", "chain",     "--steps", "10",
                                  "--workers", "1",       "--replays", number,    NULL };
    const char *const stencil[] = { "steady",    "--graph",   "stencil",   "--width", "2",
                                    "--steps",   "10",        "--workers", "2",       "--order",
                                    "pipelined", "--replays", number,      NULL };
    return child_system_calls(two_lanes ? stencil : chain);
}

double steady_system_calls(int two_lanes, uint64_t replays)
{
    progress_show("system calls of %llu replays", (unsigned long long)replays);
    double few = traced_calls(two_lanes, 1000), many = traced_calls(two_lanes, 1000 + replays);
    progress_show(NULL);
    if (few < 0 || many < 0)
        return -1;
    return many > few ? many - few : 0;
}

/* ---- idle */

static void sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&t, &t) != 0)
        ;
}

struct idle idle_measure(unsigned workers)
{
    struct graph *g = graph_make(GRAPH_STENCIL, 2, 10, workers);
    struct setup setup = { .body = body_empty, .workers = workers, .bind = workers > 1 };
    void *built = peer_rondo.build(g, &setup);
    progress_show("idle");
    peer_rondo.run(built, 1000);
    sleep_ms(100);
    struct timing_use before = timing_use_now();
    sleep_ms(1000);
    struct timing_use after = timing_use_now();
    peer_rondo.free(built);
    graph_free(g);
    progress_show(NULL);
    /* This thread's own sleep is one of the switches. */
    return (struct idle){ (after.cpu_ns - before.cpu_ns) / 1e6,
                          after.switches - before.switches - 1 };
}

/* ---- the commands */

static void add_row(struct table *t, const struct graph *g, const struct setup *setup,
                    const struct steady *s, double calls)
{
    table_cell(t, "%s", graph_kind_name(g->kind));
    table_cell(t, "%u", g->nodes);
    table_cell(t, "%u", setup->workers);
    table_cell(t, "%s", replay_order_name(setup->order));
    table_cell(t, "%llu", (unsigned long long)s->replays);
    table_cell(t, "%.1f", s->ns);
    table_cell(t, "%llu", (unsigned long long)s->allocations);
    table_cell(t, "%llu", (unsigned long long)s->mallocs);
    table_cell(t, "%ld", s->voluntary);
    table_cell(t, "%.0f", s->resident_kib);
    if (calls < 0)
        table_cell(t, "%s", "");
    else
        table_cell(t, "%.0f", calls);
}

static void one_case(struct table *t, const struct options *o, enum graph_kind kind, uint32_t width,
                     uint32_t steps, unsigned workers, enum replay_order order)
{
    struct graph *g = graph_make(kind, width, steps, workers);
    struct setup setup = {
        .body = body_empty, .order = order, .mode = o->mode, .workers = workers, .bind = workers > 1
    };
    uint64_t replays = o->replays ? o->replays : o->longer ? 100000000 : 2000000;
    struct steady s = steady_measure(g, &setup, replays);
    add_row(t, g, &setup, &s, o->strace ? steady_system_calls(workers > 1, 1000000) : -1);
    graph_free(g);
}

int command_steady(const struct options *o)
{
    struct table *t =
        table_make("graph,nodes,workers,order,replays,ns_per_replay,allocations,"
                   "mallocs,voluntary_switches,resident_kib,system_calls_per_million");
    rondo_impl_set_window(o->window);
    if (o->graph != GRAPH_KINDS) {
        uint32_t width = o->width ? o->width : 2, steps = o->steps ? o->steps : 10;
        unsigned workers = o->workers ? o->workers : 2;
        const char *refusal = graph_refusal(o->graph, width, steps, workers);
        if (refusal)
            bench_die(BENCH_EXIT_USAGE, "--width %u --steps %u: %s", width, steps, refusal);
        one_case(t, o, o->graph, width, steps, workers, o->order);
    } else {
        one_case(t, o, GRAPH_CHAIN, 1, 10, 1, ORDER_SERIAL);
        one_case(t, o, GRAPH_STENCIL, 2, 10, 2, ORDER_PIPELINED);
    }
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}

int command_idle(const struct options *o)
{
    struct table *t = table_make("workers,cpu_ms_per_s,context_switches_per_s");
    struct idle idle = idle_measure(machine_cpus());
    table_cell(t, "%u", machine_cpus());
    table_cell(t, "%.3f", idle.cpu_ms);
    table_cell(t, "%ld", idle.switches);
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
