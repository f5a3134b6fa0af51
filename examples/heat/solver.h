/* SPDX-License-Identifier: BSD-3-Clause */
/* The heat loop as Rondo sees it. */
#ifndef HEAT_SOLVER_H
#define HEAT_SOLVER_H

#include "field.h"

#include <rondo/rondo.h>

/* The first two are of one recording, and the others there where a device is. */
enum solver_exec {
    EXEC_SERIAL,    /* replays one after the other */
    EXEC_PIPELINED, /* overlapping ones */
    EXEC_DEVICE,    /* the step is a kernel on a device */
    EXEC_MIXED,     /* the inner points on a device, those near the border on CPUs */
    EXECS
};

struct solver {
    int64_t nx, ny;
    rondo_runtime runtime;
    int no_device; /* 1: opening failed because the device that was asked for is not there */
    rondo_buffer grid[2];
    rondo_param dt[EXECS]; /* each recording's */
    rondo_exec exec[EXECS];
    uint64_t replays[EXECS]; /* of each exec so far: an odd number leaves the result in grid[1] */
    uint32_t processors[EXECS]; /* that each exec uses */
};

struct solver_options {
    uint32_t workers; /* 0: one per CPU */
    uint32_t tiles_x, tiles_y;
    double tile_ns;     /* what one tile takes, by measurement */
    const char *device; /* as in rondo_runtime_options.devices; NULL: none */
};

/* Opens a runtime, records the step in tiles, and for a device, and instantiates all. Every
 * function returns 0, or -1 after saying why on stderr. Ended by solver_close, also after a
 * failure. */
int solver_open(struct solver *solver, const struct field *initial,
                const struct solver_options *options);
void solver_close(struct solver *solver);

/* Puts the initial field into both grids. */
int solver_reset(struct solver *solver, const struct field *initial);

/* `steps` steps by replays of exec[which], interpreted or compiled; waits for the last one. */
int solver_run(struct solver *solver, enum solver_exec which, uint32_t mode, int64_t steps);

/* Copies the field out that exec[which] wrote last. */
int solver_result(struct solver *solver, enum solver_exec which, struct field *field);

/* What Rondo has to say of its last failure goes to stderr; -1. */
int solver_complain(void);
/* Both grids as slots that take turns. */
void solver_slots(const struct solver *solver, rondo_subgraph step, rondo_slot *in,
                  rondo_slot *out);
/* device.c: makes EXEC_DEVICE and EXEC_MIXED. 0, or -1 with Rondo's message. */
int solver_make_device_execs(struct solver *solver);

#endif
