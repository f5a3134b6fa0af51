/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMP tasks with `depend`, as its users write them: one thread creates the tasks of each replay,
 * two run them. OpenMP keeps no graph, so every replay creates its tasks anew. */
#include "bench/peers/peer.h"

#include "bench/machine.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdlib.h>

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

static void *build(const struct graph *graph, const struct setup *setup)
{
    static int pinned;
    struct built *b = bench_alloc(1, sizeof *b);
    b->graph = graph;
    b->body = setup->body;
    b->token = bench_alloc(graph->nodes, 1);
    if (!pinned) {
        extern int omp_get_thread_num(void);
        machine_unpin();
#pragma omp parallel num_threads(2)
        machine_pin((unsigned)omp_get_thread_num());
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

const struct peer peer_openmp = {
    .name = "openmp",
    .what = "OpenMP tasks with depend",
    .refusal = refusal,
    .build = build,
    .run = run,
    .free = release,
};
