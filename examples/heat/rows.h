/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of running the heat loop that the table compares. */
#ifndef HEAT_ROWS_H
#define HEAT_ROWS_H

#include "solver.h"

struct settings {
    int64_t nx, ny; /* 0: the picture's */
    int64_t steps, repeat;
    uint32_t tiles_x, tiles_y;
    uint32_t workers; /* 0: one per CPU */
    const char *picture, *output;
    const char *device; /* NULL: none */
    int describe;
};

enum row_kind {
    ROW_PLAIN,
    ROW_OPENMP,
    ROW_TILES,
    ROW_INTERPRETED,
    ROW_SERIAL,
    ROW_PIPELINED,
    ROW_DEVICE_INTERPRETED,
    ROW_DEVICE,
    ROW_MIXED,
    ROWS
};

struct row {
    int64_t best_ns; /* the fastest repetition of all steps; 0: this row is not there */
    uint64_t checksum;
};

struct bench {
    struct settings settings;
    struct field initial;
    struct field grid[2]; /* of the rows without Rondo */
    struct field result;  /* of the row that ran last */
    struct solver solver;
    struct row rows[ROWS];
    uint32_t threads; /* workers of the runtime, and threads of OpenMP */
};

/* Makes grids and solver for bench->initial. Returns 0, or -1 after saying why. */
int bench_open(struct bench *bench);
void bench_close(struct bench *bench);

/* Runs every row `repeat` times, by turns. Returns 0, or -1 after saying why: an error, or a row
 * whose final field differs. */
int bench_run(struct bench *bench);

extern const char *const row_names[ROWS];

#endif
