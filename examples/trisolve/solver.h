/* SPDX-License-Identifier: BSD-3-Clause */
/* The solve as Rondo sees it. */
#ifndef TRISOLVE_SOLVER_H
#define TRISOLVE_SOLVER_H

#include "plain.h"

#include <rondo/rondo.h>

enum { INTERPRETED, SERIAL, PIPELINED, DATAFLOW, AUTO, EXECS };

/* What is new in each solve. */
struct side {
    const double *right;
    double *solution;
};

struct solver {
    struct problem *problem;
    rondo_runtime runtime;
    rondo_exec exec[EXECS];
    rondo_param side;
    struct side *sides; /* of all solves of a call */
    int64_t solves;
    uint32_t workers;
    int64_t record_ns, instantiate_ns; /* how long that took: all tasks, and one exec of them */
    rondo_exec_counts counts;          /* of the compiled one */
    char why[256];                     /* what RONDO_SCHEDULE_AUTO has to say of its choice */
};

/* Opens a runtime with `workers` workers (0: one per CPU), records a solve and makes the execs, to
 * run `solves` solves in a call. `ns_per_entry` is what an entry of L takes, by measurement. Every
 * function returns 0, or -1 after saying why on stderr. Ended by solver_close, also after a
 * failure. */
int solver_open(struct solver *solver, struct problem *problem, int64_t solves, uint32_t workers,
                double ns_per_entry);
void solver_close(struct solver *solver);

/* All solves by exec[which], in one call. */
int solver_run(struct solver *solver, int which);

#endif
