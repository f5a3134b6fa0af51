/* SPDX-License-Identifier: BSD-3-Clause */
/* The sequential oracle: a random program's script, interpreted node by node in recording order,
 * replay after replay. It knows nothing of Rondo. */
#ifndef TESTS_ENGINE_ORACLE_H
#define TESTS_ENGINE_ORACLE_H

#include "tests/engine/random_graph.h"

struct rg_outcome {
    rondo_status status;
    uint32_t node;        /* FAILED: the failed node recorded first */
    uint64_t replay;      /* the failed one, or the last one asked about */
    uint64_t replays_run; /* up to and with it */
    int stopped;          /* the call */
    int began;            /* it failed itself, and was not cancelled */
};

/* What the calls of a step are to return; `status` only where `known`. */
struct rg_expected_step {
    int known;
    struct rg_outcome outcome; /* of RG_REPLAY: of its last replay */
    unsigned char *seen;       /* after a look: all memories, one behind the other */
    uint64_t home;             /* a hash of the slots that have to be home then */
};

struct rg_expected {
    struct rg_run *run; /* memories, stamps and counters at the end */
    struct rg_expected_step step[RG_STEPS];
    uint64_t replays, replays_run;
    uint64_t cancelled, stopped; /* replays */
};

struct rg_expected *rg_oracle_run(const struct rg_program *p);
void rg_expected_free(struct rg_expected *expected);

#endif
