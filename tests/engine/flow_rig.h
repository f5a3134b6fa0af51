/* SPDX-License-Identifier: BSD-3-Clause */
/* A track with a flow made by hand, threads that drive its lanes as workers do, and bodies that
 * check when they run. */
#ifndef TESTS_ENGINE_FLOW_RIG_H
#define TESTS_ENGINE_FLOW_RIG_H

#include "compile/run/flow.h"
#include "src/frame/failure.h"
#include "src/frame/program.h"
#include "tests/compile/graphs.h"

#include <pthread.h>

enum { RIG_LANES_MAX = 8, RIG_HISTORY = 64 };

struct rig_options {
    uint32_t lanes, helpers, window;
    int serial, run_on;
    int bound;        /* one node in so many is bound; 0: none but to helpers */
    int pends;        /* one node in so many pends; 0: none */
    uint32_t fails;   /* a node of a replay fails once in so many; 0: never */
    uint32_t body_ns; /* how long a body takes at most */
    int together;     /* nodes may meet themselves in another replay */
};

struct rig {
    struct rig_options o;
    struct rd_graph graph;
    struct rd_plan *plan;
    struct rd_track track;
    struct rd_failures failures;
    struct rd_program program;
    struct rd_source *outside; /* what pending nodes wait for: count replay + 1 */
    uint16_t *bound;
    uint8_t *alone;
    uint64_t *ran, *bad; /* [replay % RIG_HISTORY][node]: replay + 1 */
    rd_atomic32 *within; /* by node: bodies running */
    struct rig_arg *arg;
    rd_atomic64 wrong, runs;
    rd_atomic64 lanes; /* bits of those that ran a body */
    char what[200];    /* the first thing that was wrong; under the lock */
    pthread_mutex_t lock;
    pthread_t thread[RIG_LANES_MAX];
    rd_atomic32 stop;
    uint64_t submitted;
    uint32_t epoch;
    uint64_t history_from; /* carried predecessors of earlier replays are not asked for */
};

/* Takes the graph of `m`. */
struct rig *rig_new(struct maker *m, const struct rig_options *o, uint64_t seed);
/* All replays have ended. */
void rig_free(struct rig *rig);
/* Submits one replay, waiting for room. */
void flow_submit(struct rig *rig, int odd, const struct rd_gate *gate);
/* Waits until so many have ended. */
void rig_wait(struct rig *rig, uint64_t count);
/* Whether the rig's bodies fail the node in that replay by themselves. */
int rig_fails(const struct rig *rig, uint64_t replay, uint32_t node);
void rig_wrong(struct rig *rig, const char *what, uint64_t replay, uint32_t node);

#endif
