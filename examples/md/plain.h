/* SPDX-License-Identifier: BSD-3-Clause */
/* The time loop without Rondo: serially, and with OpenMP. */
#ifndef MD_PLAIN_H
#define MD_PLAIN_H

#include "system.h"

/* Each runs up to `steps` steps and says how many it did: fewer when a check stopped the run, which
 * then goes on for STOP_LAG steps. Returns 0, or -1 after saying why on stderr. */
int plain_loop(struct system *s, int64_t steps, int64_t *done);
int plain_blocks(struct system *s, int64_t steps, int64_t *done); /* as the tasks do, in order */

#ifdef _OPENMP
int openmp_tasks(struct system *s, int threads, int64_t steps, int64_t *done);
int openmp_for(struct system *s, int threads, int64_t steps, int64_t *done);
#endif

/* The number of the step after the last one, when the check in step `t` has stopped the run. */
static inline int64_t stop_after(int64_t t, int64_t steps)
{
    return t + STOP_LAG + 1 < steps ? t + STOP_LAG + 1 : steps;
}

#endif
