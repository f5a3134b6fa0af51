/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements that both a command of their own and `compare` make. */
#ifndef BENCH_MEASURES_H
#define BENCH_MEASURES_H

#include "bench/peers/peer.h"

#include <stdint.h>

struct range {
    double min, median;
};

/* ---- latency */

struct latency {
    struct range loop, rondo; /* ns for one replay of `nodes` empty nodes, waited for */
};
struct latency latency_measure(uint32_t nodes, unsigned rounds);

/* ---- metg */

enum { METG_IMPLS_MAX = 16 };

struct metg {
    const struct peer *peer;
    struct range task_ns;        /* 0: not reached */
    int below_min, below_median; /* already the smallest task was large enough */
};
struct metg_case {
    enum graph_kind pattern;
    uint32_t width, steps;
    enum replay_order order;
    enum replay_schedule schedule; /* of rondo */
};
/* Fills `metg` for those of `impl` that can do it; how many. */
unsigned metg_measure(const struct metg_case *what, const struct peer *const *impl, unsigned impls,
                      unsigned rounds, struct metg metg[METG_IMPLS_MAX]);

/* ---- instantiate */

struct build {
    uint32_t nodes, edges;
    struct range record_ns, instantiate_ns, total_ns; /* per node */
    double plan_bytes;                                /* per node */
};
/* Takes one more sample of building the graph, in a process of its own. -1 if that failed. */
struct build_samples;
struct build_samples *build_samples_make(void);
int build_sample(struct build_samples *samples, const struct peer *peer, enum graph_kind kind,
                 uint32_t nodes, unsigned workers);
struct build build_samples_end(struct build_samples *samples);

/* ---- steady */

struct steady {
    uint64_t replays, nodes;
    uint64_t allocations; /* Rondo's own count */
    uint64_t mallocs;     /* of the whole process */
    long voluntary;       /* how often a thread slept in a system call */
    double resident_kib;  /* growth */
    double ns;            /* per replay */
};
struct steady steady_measure(const struct graph *graph, const struct setup *setup,
                             uint64_t replays);
/* System calls in so many replays of a chain of 10 nodes, or of a two-lane stencil, under strace:
 * what a run with more replays makes beyond one with fewer. -1: strace cannot run. */
double steady_system_calls(int two_lanes, uint64_t replays);

struct idle {
    double cpu_ms; /* in a second that begins 100 ms after the last replay */
    long switches;
};
struct idle idle_measure(unsigned workers);

#endif
