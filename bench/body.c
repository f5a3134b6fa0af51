/* SPDX-License-Identifier: BSD-3-Clause */
/* The bodies of the measured nodes, their calibration, and the check that a graph runs each body
 * once per replay and after its predecessors. */
#include "bench/body.h"

#include "bench/support.h"
#include "bench/timing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Read by every body, written only while none runs. */
static _Alignas(BENCH_LINE) uint64_t iterations;

int body_parse(const char *text, struct body_spec *spec)
{
    const char *number = strchr(text, ':');
    if (strcmp(text, "empty") == 0) {
        *spec = (struct body_spec){ BODY_EMPTY, 0 };
        return 0;
    }
    if (!number)
        return -1;
    char *end;
    double ns = strtod(number + 1, &end);
    if (*end || end == number + 1 || !(ns >= 0 && ns <= 1e9))
        return -1;
    size_t length = (size_t)(number - text);
    if (length == 4 && memcmp(text, "spin", 4) == 0)
        *spec = (struct body_spec){ BODY_SPIN, ns };
    else if (length == 6 && memcmp(text, "uneven", 6) == 0)
        *spec = (struct body_spec){ BODY_UNEVEN, ns };
    else
        return -1;
    return 0;
}

/* ---- the bodies */

__attribute__((noinline)) int body_empty(rondo_task *self, const void *arg)
{
    __asm__ volatile("" ::"r"(self), "r"(arg) : "memory");
    return 0;
}

/* A chain of multiplications: no memory, and no two iterations at once. */
static inline void spin(uint64_t seed, uint64_t count)
{
    uint64_t x = seed | 1;
    for (; count; count--) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

__attribute__((noinline)) int body_spin(rondo_task *self, const void *arg)
{
    (void)self;
    spin(*(const uint32_t *)arg, iterations);
    return 0;
}

enum { HEAVY = 100 };

static inline int is_heavy(uint32_t node) { return (node * 2654435769u) >> 28 == 0; }

__attribute__((noinline)) int body_uneven(rondo_task *self, const void *arg)
{
    (void)self;
    uint32_t node = *(const uint32_t *)arg;
    spin(node, is_heavy(node) ? iterations * HEAVY : iterations);
    return 0;
}

double body_node_ns(const struct body_spec *spec, uint32_t node)
{
    return spec->kind == BODY_UNEVEN && is_heavy(node) ? spec->ns * HEAVY : spec->ns;
}

rondo_task_fn *body_function(enum body_kind kind)
{
    static rondo_task_fn *const function[] = { body_empty, body_spin, body_uneven };
    return function[kind];
}

/* ---- calibration */

static double spin_ns(uint64_t count)
{
    static const uint32_t node = 1;
    double best = 0;
    iterations = count;
    for (int round = 0; round < 15; round++) {
        double start = timing_ns();
        for (int i = 0; i < 50; i++)
            body_spin(NULL, &node);
        double ns = (timing_ns() - start) / 50;
        if (!round || ns < best)
            best = ns;
    }
    return best;
}

uint64_t body_iterations_for(double ns)
{
    static double call_ns, each_ns;
    if (each_ns <= 0) {
        uint64_t kept = iterations;
        call_ns = spin_ns(0);
        each_ns = (spin_ns(10000) - call_ns) / 10000;
        if (each_ns <= 0)
            each_ns = 1;
        iterations = kept;
    }
    return ns <= call_ns ? 0 : (uint64_t)((ns - call_ns) / each_ns + 0.5);
}

void body_set(const struct body_spec *spec)
{
    iterations = spec->kind == BODY_EMPTY ? 0 : body_iterations_for(spec->ns);
}

void body_set_iterations(uint64_t count) { iterations = count; }

uint64_t body_iterations(void) { return iterations; }

/* ---- the check */

static struct {
    const struct graph *graph;
    _Atomic uint32_t *runs;  /* by node, begun ones included */
    uint32_t *carried_first; /* carried predecessors of v: carried[carried_first[v] ...) */
    uint32_t *carried;
    _Atomic uint64_t too_early;
} checked;

/* The order that is checked must come from the graph's own execution, so everything is relaxed: a
 * missing dependence shows as a count that is short. */
int body_check(rondo_task *self, const void *arg)
{
    (void)self;
    const struct graph *g = checked.graph;
    uint32_t v = *(const uint32_t *)arg;
    uint32_t run = atomic_fetch_add_explicit(&checked.runs[v], 1, memory_order_relaxed) + 1;
    uint64_t early = 0;
    for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++)
        early += atomic_load_explicit(&checked.runs[g->pred[k]], memory_order_relaxed) < run;
    if (checked.carried_first)
        for (uint32_t k = checked.carried_first[v]; k < checked.carried_first[v + 1]; k++)
            early += atomic_load_explicit(&checked.runs[checked.carried[k]], memory_order_relaxed) <
                     run - 1;
    if (early)
        atomic_fetch_add_explicit(&checked.too_early, 1, memory_order_relaxed);
    return 0;
}

void body_check_begin(const struct graph *g, int carried)
{
    checked.graph = g;
    checked.runs = bench_alloc(g->nodes, sizeof *checked.runs);
    atomic_store(&checked.too_early, 0);
    if (!carried)
        return;
    uint32_t *first = bench_alloc(g->nodes + 2, sizeof *first);
    checked.carried = bench_alloc(g->carried, sizeof *checked.carried);
    /* Counted two places on, so that filling moves each start to its place. */
    for (uint32_t k = 0; k < g->carried; k++)
        first[g->carried_edge[k].to + 2]++;
    for (uint32_t v = 1; v <= g->nodes + 1; v++)
        first[v] += first[v - 1];
    for (uint32_t k = 0; k < g->carried; k++)
        checked.carried[first[g->carried_edge[k].to + 1]++] = g->carried_edge[k].from;
    checked.carried_first = first;
}

uint64_t body_check_end(uint64_t replays)
{
    uint64_t wrong = atomic_load(&checked.too_early);
    for (uint32_t v = 0; v < checked.graph->nodes; v++)
        wrong += atomic_load_explicit(&checked.runs[v], memory_order_relaxed) != replays;
    free((void *)checked.runs);
    free(checked.carried_first);
    free(checked.carried);
    checked.graph = NULL;
    checked.runs = NULL;
    checked.carried_first = NULL;
    checked.carried = NULL;
    return wrong;
}
