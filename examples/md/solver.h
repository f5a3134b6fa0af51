/* SPDX-License-Identifier: BSD-3-Clause */
/* The time loop as Rondo sees it. */
#ifndef MD_SOLVER_H
#define MD_SOLVER_H

#include "system.h"

#include <rondo/rondo.h>

enum solver_exec {
    EXEC_INTERPRETED,
    EXEC_SERIAL,
    EXEC_PIPELINED,
    EXEC_CALLS, /* pipelined too, replayed by a call per step */
    EXEC_DATAFLOW,
    EXEC_AUTO,
    EXEC_DEVICE_INTERPRETED, /* these two where a device is */
    EXEC_DEVICE,
    EXECS
};

/* The arrays that a step changes, as buffers. */
enum array {
    ARRAY_MEMBERS,
    ARRAY_AT,
    ARRAY_VELOCITY,
    ARRAY_FORCE,
    ARRAY_HOME,
    ARRAY_LEAVING,
    ARRAY_PAIRS,
    ARRAY_WATCH,
    ARRAYS
};

enum { DEVICE_ARRAYS = 5 }; /* that only a device's step needs, see device.c */

/* One recorded step, and several execs of it; the step as kernels, and two execs of that. */
struct solver {
    struct system *system; /* whose arrays it wraps */
    rondo_runtime runtime;
    int no_device; /* 1: opening failed because the device that was asked for is not there */
    rondo_buffer buffer[ARRAYS], device_buffer[DEVICE_ARRAYS];
    rondo_exec exec[EXECS];
    uint64_t replays[EXECS]; /* of each exec so far */
    uint32_t workers;
    rondo_exec_counts counts; /* of the pipelined exec */
};

/* Opens a runtime with `workers` workers (0: one per CPU), records a step and instantiates it; with
 * `device` (as in rondo_runtime_options.devices; NULL: none) also for a device. Runs the stages a
 * few times to see what they cost: the system has to be brought back to its beginning afterwards.
 * Every function returns 0, or -1 after saying why on stderr. Ended by solver_close, also after a
 * failure. */
int solver_open(struct solver *solver, struct system *system, uint32_t workers, const char *device);
void solver_close(struct solver *solver);

/* The program itself has written the arrays: what a device has of them is out of date. */
int solver_touched(struct solver *solver);

/* Up to `steps` steps, and how many it did: fewer when the check stopped the run. An exec counts
 * its steps over all runs: `steps` are a multiple of REBUILD, or the system is not used again. */
int solver_run(struct solver *solver, enum solver_exec which, int64_t steps, int64_t *done);

/* Prints what rondo_exec_describe says of an exec. */
int solver_describe(struct solver *solver, enum solver_exec which);

/* device.c: makes EXEC_DEVICE_INTERPRETED and EXEC_DEVICE. 0, or -1 with Rondo's message. */
int solver_make_device_execs(struct solver *solver);

#endif
