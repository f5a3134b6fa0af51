/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of factoring the matrix that the tables compare. */
#ifndef CHOLESKY_TABLE_H
#define CHOLESKY_TABLE_H

#include "solver.h"

struct bench {
    struct matrix matrix;
    double *l;     /* the factor of the ways over tiles, in tiles */
    double *dense; /* the factor of LAPACK; and what is checked */
    double *work;  /* of the check: two matrices */
    struct solver solver;
    double ns[KERNELS];
    double shift[SHIFTS], logdet[SHIFTS]; /* of the way that ran last */
    int turns;

    /* What the checks have found. */
    int has_sum, has_logdets;
    uint64_t sum;                   /* of the tiles, the same in all ways over tiles */
    double first_logdet[SHIFTS];    /* the same bits, too */
    double worst_dense, worst_tile; /* residuals */
};

/* All return 0, or -1 after saying why. bench_open takes over the matrix; ended by bench_close. */
int bench_open(struct bench *bench, uint32_t workers, int turns);
void bench_close(struct bench *bench);

/* Factors the matrix in every way, by turns, checks each result, and prints a table. */
int bench_factor(struct bench *bench);
/* Factors the matrix for several shifts of its diagonal, the same way. */
int bench_sweep(struct bench *bench);

#endif
