/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse symmetric matrices, made or read from a file. No part of Rondo is in here. */
#ifndef EXAMPLES_SPARSE_H
#define EXAMPLES_SPARSE_H

#include <stdint.h>

/* Row after row, both triangles: the entries of row i are [first[i], first[i + 1]), by column.
 * Being symmetric, it is the same column after column. */
struct sparse {
    int32_t rows;
    int32_t *first, *column; /* owned, as all of them */
    double *value;
};

enum { SPARSE_GRID_MOST = 8192 };

/* The 5-point Laplacian of a grid of side by side points, 0 around it. Returns 0, or -1: no
 * memory. Ended by sparse_free. */
int sparse_poisson(struct sparse *matrix, int32_t side);
/* Reads a Matrix Market file (by CHOLMOD). Returns 0, or -1 after saying on stderr what is wrong
 * with the file or the matrix: it must be real, symmetric, with a positive diagonal. Whether it is
 * positive definite shows only when it is solved. */
int sparse_read(struct sparse *matrix, const char *program, const char *path);
void sparse_free(struct sparse *matrix);

/* y = A x */
void sparse_multiply(const struct sparse *matrix, const double *x, double *y);
/* ||b - A x|| / ||b|| */
double sparse_residual(const struct sparse *matrix, const double *x, const double *b);
/* Numbers in [-1, 1) that look random and are the same each time. */
void sparse_fill(double *vector, int32_t rows, uint64_t seed);

#endif
