/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph file as a recording whose bodies compute for a given time and check their own order. */
#ifndef RONDO_TOOLS_JOB_H
#define RONDO_TOOLS_JOB_H

#include "tools/graph.h"

#include <stdatomic.h>

/* How the replays of one exec went: for each node the last replays that it ran in, one mark per
 * replay that may be in flight or an edge may reach back to. The marks are relaxed atomics: the
 * check must not itself bring about the order that it checks. */
struct job_state {
    uint32_t marks;         /* per node: 1 where replays are serial */
    uint32_t reach;         /* edges carried over at most so many replays are checked */
    uint64_t replays;       /* submitted so far */
    _Atomic uint32_t *mark; /* owned; replay + 1 */
};

struct job_task;
struct job_block;

/* What is checked: a task that has no condition runs once per replay, and its predecessors that are
 * such tasks too have run in the replay that the edge says. A task under a condition is only
 * checked for its predecessors and for not running twice. Copies, fills, waits, signals, calls,
 * kernels and launches have no bodies of ours: edges from and to them are not checked. */
struct job {
    struct file_graph file;
    struct graph graph;
    double spins_per_ns; /* of the loop that bodies spend their time in, on this machine */
    uint32_t tasks;      /* nodes with a body of ours */
    uint32_t always;     /* of these, those without a condition */
    /* For all replays in flight; set between calls. */
    struct job_state *now;
    int work; /* 0: bodies check and do not compute */
    struct job_block **block;
    size_t blocks;
};

/* Records the file. Measures the machine (some milliseconds). Returns as file_record. The job must
 * outlive every exec made from job->file.subgraph. Ended by job_close. */
int job_open(struct job *job, const struct file *file, rondo_runtime runtime,
             const struct file_options *options);
void job_close(struct job *job);

/* `in_flight`: how many replays may be at once. Returns 0, or -1: no memory. */
int job_state_init(struct job_state *state, const struct job *job, uint32_t in_flight);
void job_state_free(struct job_state *state);

/* A replay on this thread: the tasks one after the other. Returns 0, or -1 with `why` filled. */
int job_perform(struct job *job, uint64_t replay, char *why, size_t why_bytes);

/* That every task without a condition has run in all of the state's replays; else as job_perform.
 */
int job_check(const struct job *job, const struct job_state *state, char *why, size_t why_bytes);

#endif
