/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of running the loop that the tables compare, all on one system. */
#ifndef MD_ROWS_H
#define MD_ROWS_H

#include "solver.h"

#include "common/ways.h"

enum row {
    ROW_PLAIN,
    ROW_BLOCKS,
    ROW_TASKS,
    ROW_FOR,
    ROW_RONDO, /* + enum solver_exec */
    ROWS = ROW_RONDO + EXECS
};
extern const char *const row_names[ROWS];
struct bench;
int row_is_there(const struct bench *bench, enum row row);

struct run { /* a way's context */
    struct bench *bench;
    enum row row;
};

struct bench {
    struct system initial, live;
    struct solver solver;
    const char *device; /* NULL: none */
    int64_t steps;
    /* What the plain loop came to: everybody else has to come to the same, all bits of it. */
    int64_t done, now_done;
    struct watch watch;
    uint64_t checksum;
    struct run run[ROWS];
};

/* Makes the system and its forces at the beginning, opens the solver, and runs the plain loop once.
 * Every function returns 0, or -1 after saying why on stderr. Ended by bench_close, also after a
 * failure. */
int bench_open(struct bench *bench, const struct system_options *options, uint32_t workers,
               const char *device, int64_t steps);
void bench_close(struct bench *bench);

/* Runs a row as one of many by turns (ways_run), or once. */
struct way bench_way(struct bench *bench, enum row row);
int bench_run_once(struct bench *bench, enum row row);

#endif
