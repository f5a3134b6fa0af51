/* SPDX-License-Identifier: BSD-3-Clause */
/* What is solved, and how it is solved without Rondo. */
#ifndef TRISOLVE_PLAIN_H
#define TRISOLVE_PLAIN_H

#include "blocks.h"

/* Different right-hand sides; solve i takes right[i % SIDES] and writes solution[i % SIDES]. */
enum { SIDES = 8 };

struct problem {
    struct sparse a;
    struct factor factor;
    struct blocks blocks;
    double *right[SIDES], *solution[SIDES];
    double *known[SIDES]; /* what the solutions should be, but for rounding */
    double *work;         /* of the ways without Rondo */
    char *mark;           /* of OpenMP's tasks: two per block */
};

/* Takes a over, factorises it (its name is for messages), cuts, and makes the right-hand sides.
 * Returns 0, -1 or -2 as factor_make. Ended by problem_free, also after a failure. */
int problem_make(struct problem *problem, const char *name, int64_t grain);
void problem_free(struct problem *problem);
/* Solutions that no solve has written are not numbers. */
void problem_reset(struct problem *problem);

/* `solves` solves, one after the other: row after row on one thread, */
void plain_serial(struct problem *problem, int64_t solves);
#ifdef _OPENMP
/* a task per block with depend clauses for the edges of the tree, */
void plain_tasks(struct problem *problem, int64_t solves, int threads);
/* and what is done where tasks are too small: a parallel loop per level, with its barrier. */
void plain_levels(struct problem *problem, int64_t solves, int threads);
#endif

#endif
