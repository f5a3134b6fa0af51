/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of conjugate gradients as Rondo sees it. */
#ifndef CG_SOLVER_H
#define CG_SOLVER_H

#include "cg.h"

#include <rondo/rondo.h>

enum { INTERPRETED, SERIAL, PIPELINED, DATAFLOW, AUTO, EXECS };

struct solver {
    struct cg *cg;
    rondo_runtime runtime;
    rondo_exec exec[EXECS];
    uint64_t ran[EXECS]; /* iterations of each exec so far */
    int64_t call;        /* iterations that a call asks for at most */
    double ns_per_number;
    uint32_t workers;
    char why[256]; /* what RONDO_SCHEDULE_AUTO has to say of its choice */
};

/* Opens a runtime with `workers` workers (0: one per CPU), records an iteration over cg's arrays
 * and makes the execs. `ns_per_number` is what it takes to bring one number to a processor and work
 * on it, by measurement. Every function returns 0, or -1 after saying why on stderr. Ended by
 * solver_close, also after a failure. */
int solver_open(struct solver *solver, struct cg *cg, int64_t call, uint32_t workers,
                double ns_per_number);
void solver_close(struct solver *solver);

/* Iterates by replays of exec[which], from what cg_reset left. */
int solver_run(struct solver *solver, int which);

/* How many numbers an iteration moves. */
double solver_numbers(const struct cg *cg);

#endif
