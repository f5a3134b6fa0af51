/* SPDX-License-Identifier: BSD-3-Clause */
/* A task graph as a subgraph whose bodies compute for a given time and check their own order. */
#ifndef RONDO_TOOLS_JOB_H
#define RONDO_TOOLS_JOB_H

#include "tools/stg.h"

#include <rondo/rondo.h>
#include <stdatomic.h>

/* How often each task has run, by its place in the graph. A task checks at its start that it has
 * run once per replay so far and that its predecessors have run in this replay already. The counts
 * are relaxed atomics: the check must not itself bring about the order that it checks. */
struct job {
    const struct stg_graph *graph;
    uint64_t scale_ns;      /* per unit of processing time */
    double spins_per_ns;    /* of the loop that bodies spend their time in, on this machine */
    int overlap;            /* replays may overlap: a predecessor may be a replay ahead */
    _Atomic uint64_t *runs; /* owned */
};

/* Measures the machine (some milliseconds) and clears the counts. Returns 0, or -1: no memory.
 * Ended by job_free. */
int job_init(struct job *job, const struct stg_graph *graph, uint64_t scale_ns, int overlap);
void job_free(struct job *job);

/* Forgets every run so far. */
void job_clear(struct job *job);

/* One node per task with the edges of the file; `work` is a parameter of 4 bytes, 0: bodies check
 * and do not compute. The job must outlive every exec made from the subgraph. */
rondo_status job_record(struct job *job, rondo_subgraph subgraph, rondo_param work);

/* What a replay does, on this thread: the tasks in the file's order. Returns 0, or -1 with `why`
 * filled. */
int job_perform(struct job *job, uint64_t replay, int work, char *why, size_t why_bytes);

/* That every task has run `replays` times; else as job_perform. */
int job_check(const struct job *job, uint64_t replays, char *why, size_t why_bytes);

#endif
