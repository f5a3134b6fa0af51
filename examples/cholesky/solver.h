/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile Cholesky as Rondo sees it. */
#ifndef CHOLESKY_SOLVER_H
#define CHOLESKY_SOLVER_H

#include "kernels.h"
#include "matrix.h"

#include <rondo/rondo.h>

enum { FACTOR_STATIC, FACTOR_DATAFLOW, FACTOR_AUTO, FACTORS };
enum { SWEEP_SERIAL, SWEEP_PIPELINED, SWEEPS };
enum { SHIFTS = 4 }; /* matrices of a sweep */

/* Two recordings: `factor` turns the matrix in the tiles of `l` into its factor; a sweep loads
 * A + shift I into them first, and notes the factor's determinant afterwards. */
struct solver {
    const struct matrix *matrix;
    rondo_runtime runtime;
    rondo_buffer a, l, logdet;
    rondo_param shift;
    rondo_exec factor[FACTORS], sweep[SWEEPS];
    uint32_t workers;
};

/* Opens a runtime with `workers` workers, records and instantiates. `l` is memory
 * for a matrix in tiles, `ns` what the kernels take. Every function returns 0, or -1 after saying
 * why on stderr. Ended by solver_close, also after a failure. */
int solver_open(struct solver *solver, const struct matrix *matrix, double *l, uint32_t workers,
                const double ns[KERNELS]);
void solver_close(struct solver *solver);

/* Factors the matrix in `l`, by one replay, and waits. `which`: FACTOR_...; `mode`:
 * RONDO_COMPILED, RONDO_INTERPRETED, or RONDO_AUTO: as instantiated. */
int solver_factor(struct solver *solver, int which, uint32_t mode);

/* Factors A + shift I for SHIFTS shifts and returns the logarithms of the determinants: by one call
 * for all of them, or a call for each, waited for. `which`: SWEEP_... */
int solver_sweep(struct solver *solver, int which, int one_call, const double shift[SHIFTS],
                 double logdet[SHIFTS]);

/* 1 once the schedule of factor[FACTOR_AUTO] is chosen. */
int solver_is_settled(struct solver *solver);
/* What was recorded, and what became of it: a few lines on stdout. */
void solver_print(struct solver *solver);

#endif
