/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMP in the two ways its users write a graph: tasks with `depend`, where one thread creates the
 * tasks of each replay and two run them (OpenMP keeps no graph, so every replay creates its tasks
 * anew); and a work-shared loop over each level. Compiled twice where there are two compilers: with
 * GCC's runtime into the program, with LLVM's into a module that bench/peers/llvm_openmp.c loads.
 */
#include "bench/peers/openmp.h"

#include "bench/machine.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdlib.h>

#ifdef __clang__
#define RUNTIME      "llvm-openmp"
#define RUNTIME_WHAT "LLVM OpenMP"
#else
#define RUNTIME      "openmp"
#define RUNTIME_WHAT "GCC OpenMP"
#endif

struct built {
    const struct graph *graph;
    rondo_task_fn *body;
    char *token; /* one per node: what `depend` names */
};

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    (void)graph;
    return setup->workers > 2 ? "it is measured with two threads" : NULL;
}

/* The threads of the region, each on a CPU of its own. No call of omp_get_thread_num: with two
 * runtimes in a process it may be the other's. */
static __attribute__((noinline)) void pin_threads(void)
{
#pragma omp parallel num_threads(2)
    {
        machine_pin(1);
#pragma omp master
        machine_pin(0);
    }
}

static void *build(const struct graph *graph, const struct setup *setup)
{
    static int pinned;
    struct built *b = bench_alloc(1, sizeof *b);
    b->graph = graph;
    b->body = setup->body;
    b->token = bench_alloc(graph->nodes, 1);
    if (!pinned) {
        /* LLVM's threads spin on for 200 ms after each region, into the next one's sample; inside
         * one they should spin, not yield. */
        setenv("KMP_BLOCKTIME", "5", 0);
        setenv("KMP_USE_YIELD", "0", 0);
        /* The runtime counts the CPUs it may use when the first function with a region begins. */
        machine_unpin();
        pin_threads();
        pinned = 1;
    }
    return b;
}

static void create_task(const struct built *b, uint32_t v)
{
    const struct graph *g = b->graph;
    const uint32_t *pred = g->pred + g->pred_first[v];
    uint32_t preds = g->pred_first[v + 1] - g->pred_first[v];
    rondo_task_fn *body = b->body;
    const void *arg = &g->id[v];
    char *t = b->token;
    (void)t; /* gcc does not count `depend` as a use */
    if (preds == 0) {
#pragma omp task depend(out : t[v]) firstprivate(body, arg)
        body(NULL, arg);
    } else if (preds == 1) {
#pragma omp task depend(in : t[pred[0]]) depend(out : t[v]) firstprivate(body, arg)
        body(NULL, arg);
    } else if (preds == 2) {
#pragma omp task depend(in : t[pred[0]], t[pred[1]]) depend(out : t[v]) firstprivate(body, arg)
        body(NULL, arg);
    } else if (preds == 3) {
#pragma omp task depend(in                                                   \
                        : t[pred[0]], t[pred[1]], t[pred[2]]) depend(out     \
                                                                     : t[v]) \
    firstprivate(body, arg)
        body(NULL, arg);
    } else {
#pragma omp task depend(iterator(uint32_t k = 0  \
                                 : preds),       \
                        in                       \
                        : t[pred[k]]) depend(out \
                                             : t[v]) firstprivate(body, arg)
        body(NULL, arg);
    }
}

static double run(void *built, uint64_t count)
{
    const struct built *b = built;
    double start = timing_ns();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (uint64_t r = 0; r < count; r++) {
        for (uint32_t v = 0; v < b->graph->nodes; v++)
            create_task(b, v);
#pragma omp taskwait
    }
    return timing_ns() - start;
}

static void release(void *built)
{
    struct built *b = built;
    free(b->token);
    free(b);
}

/* ---- levels */

static double run_levels(void *built, uint64_t count)
{
    const struct built *b = built;
    const struct graph *g = b->graph;
    double start = timing_ns();
#pragma omp parallel num_threads(2)
    for (uint64_t r = 0; r < count; r++)
        for (uint32_t l = 0; l < g->levels; l++) {
#pragma omp for schedule(static)
            for (uint32_t k = g->level_first[l]; k < g->level_first[l + 1]; k++)
                b->body(NULL, &g->id[g->level_node[k]]);
        }
    return timing_ns() - start;
}

const struct peer peer_openmp = {
    .name = RUNTIME,
    .what = RUNTIME_WHAT " tasks with depend",
    .refusal = refusal,
    .build = build,
    .run = run,
    .free = release,
};

const struct peer peer_openmp_for = {
    .name = RUNTIME "-for",
    .what = RUNTIME_WHAT ", a loop over each level",
    .refusal = refusal,
    .build = build,
    .run = run_levels,
    .free = release,
};
