/* SPDX-License-Identifier: BSD-3-Clause */
/* The sparse Cholesky factor L of a matrix, P A P' = L L', and the substitution of rows with it. */
#ifndef TRISOLVE_FACTOR_H
#define TRISOLVE_FACTOR_H

#include "common/sparse.h"

/* Row i is [first[i], first[i + 1]); its diagonal entry is the last one of L, the first of L'. */
struct triangle {
    int32_t *first, *column;
    double *value;
};

struct factor {
    int32_t rows;
    int32_t *order;        /* row i of L is row order[i] of A */
    int32_t *parent;       /* in the elimination tree, whose children come first; -1: a root */
    struct triangle lower; /* L */
    struct triangle upper; /* L' */
};

/* Factorises by CHOLMOD, simplicial, after ordering by AMD. Returns 0, -1 after saying why, or -2
 * after saying that A (`name`) is not positive definite. Ended by factor_free. */
int factor_make(struct factor *factor, const struct sparse *a, const char *name);
void factor_free(struct factor *factor);

/* The substitution: work = L^-1 P b, then x = P' L'^-1 work, in the rows [first, first + count), of
 * L from the first to the last, of L' from the last to the first. Row i of L takes `work` at the
 * rows below i that it has entries in, row i of L' at those above. Every way calls these, so that
 * all of them compute the same bits. */
void factor_forward(const struct factor *factor, int32_t first, int32_t count, const double *b,
                    double *work);
void factor_backward(const struct factor *factor, int32_t first, int32_t count, double *work,
                     double *x);

#endif
