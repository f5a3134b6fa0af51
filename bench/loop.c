/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of one thread: a bare loop that calls the bodies in order through an array of functions
 * and arguments. */
#include "bench/peers/peer.h"

#include "bench/support.h"
#include "bench/timing.h"

#include <stdlib.h>

struct call {
    rondo_task_fn *fn;
    const void *arg;
};

struct built {
    struct call *call;
    uint32_t calls;
};

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    (void)graph;
    (void)setup;
    return NULL;
}

static void *build(const struct graph *graph, const struct setup *setup)
{
    struct built *b = bench_alloc(1, sizeof *b);
    b->calls = graph->nodes;
    b->call = bench_alloc_lines(graph->nodes, sizeof *b->call);
    for (uint32_t v = 0; v < graph->nodes; v++)
        b->call[v] = (struct call){ setup->body, &graph->id[v] };
    return b;
}

static __attribute__((noinline)) void call_all(const struct call *call, const struct call *end)
{
    for (; call < end; call++)
        call->fn(NULL, call->arg);
}

static double run(void *built, uint64_t count)
{
    const struct built *b = built;
    double start = timing_ns();
    for (uint64_t i = 0; i < count; i++)
        call_all(b->call, b->call + b->calls);
    return timing_ns() - start;
}

static void release(void *built)
{
    struct built *b = built;
    free(b->call);
    free(b);
}

const struct peer peer_loop = {
    .name = "loop",
    .what = "one thread calls the bodies in order",
    .refusal = refusal,
    .build = build,
    .run = run,
    .free = release,
};
