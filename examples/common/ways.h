/* SPDX-License-Identifier: BSD-3-Clause */
/* What the examples measure and print alike: several ways of computing the same, timed by turns, so
 * that a machine whose speed changes is unfair to none; numbers on a command line. No part of Rondo
 * is in here. */
#ifndef EXAMPLES_WAYS_H
#define EXAMPLES_WAYS_H

#include <stdint.h>

struct way {
    const char *name;
    /* Brings everything back to the beginning; not timed. NULL: nothing to do. Both return 0, or
     * something else after saying why on stderr. */
    int (*reset)(void *context);
    int (*run)(void *context); /* timed */
    /* Whether the result is right; not timed. NULL: not looked at. */
    int (*check)(void *context);
    void *context;
    int64_t *ns; /* of each turn, sorted once all are done; ways_run allocates */
};

/* Runs each way `turns` times, one after the other. Shows how far it is where stderr is a terminal.
 * Returns 0, or -1 once a way failed or memory is short. */
int ways_run(const char *program, struct way *ways, int count, int turns);
/* Minimum and median per `unit` ("step"), of which a run has `units`, in us, and the minimum's
 * speed-up against ways[against]. */
void ways_print(const struct way *ways, int count, int turns, int64_t units, const char *unit,
                int against);
/* The same, and what the minimum makes of `work`, done per unit, a second: in a column `rate`
 * ("GFlop/s", and the work in 1e9 operations). */
void ways_print_rate(const struct way *ways, int count, int turns, int64_t units, const char *unit,
                     int against, double work, const char *rate);
void ways_free(struct way *ways, int count);

int64_t ways_now_ns(void);

/* `count` of the CPUs that this process may use, as "0,1,2", from the start again where there are
 * fewer. The caller frees it. NULL: no memory, or no list to be had. */
char *ways_cpu_list(uint32_t count);

/* The whole of `text` as a number from `least` to `most`: 0, or -1 after saying what is wrong. */
int ways_number(const char *program, const char *option, const char *text, int64_t least,
                int64_t most, int64_t *number);

#endif
