/* SPDX-License-Identifier: BSD-3-Clause */
/* The heat loop as Rondo sees it. */
#ifndef HEAT_SOLVER_H
#define HEAT_SOLVER_H

#include "field.h"

#include <rondo/rondo.h>

/* One recorded step, and two execs of it: replays one after the other, and overlapping ones. */
struct solver {
    int64_t nx, ny;
    rondo_runtime runtime;
    rondo_buffer grid[2];
    rondo_param dt;
    rondo_exec exec[2];     /* [0] serial, [1] pipelined */
    uint64_t replays[2];    /* of each exec so far: an odd number leaves the result in grid[1] */
    uint32_t processors[2]; /* that each exec uses */
};

/* Opens a runtime with `workers` workers (0: one per CPU), records the step in tiles_x by tiles_y
 * tiles and instantiates it. `tile_ns` is what one tile takes, by measurement. Every function
 * returns 0, or -1 after saying why on stderr. Ended by solver_close, also after a failure. */
int solver_open(struct solver *solver, const struct field *initial, uint32_t workers,
                uint32_t tiles_x, uint32_t tiles_y, double tile_ns);
void solver_close(struct solver *solver);

/* Puts the initial field into both grids. */
int solver_reset(struct solver *solver, const struct field *initial);

/* `steps` steps by replays of exec[which], interpreted or compiled; waits for the last one. */
int solver_run(struct solver *solver, int which, uint32_t mode, int64_t steps);

/* Copies the field out that exec[which] wrote last. */
int solver_result(struct solver *solver, int which, struct field *field);

#endif
