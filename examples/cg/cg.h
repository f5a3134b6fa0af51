/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients in blocks of rows: what they work on, the arithmetic of one block, and the
 * loop as it is written without Rondo. */
#ifndef CG_CG_H
#define CG_CG_H

#include "common/sparse.h"

#include <stddef.h>

/* Rows [first, first + count). */
struct block {
    int32_t first, count;
};

/* How far it is. One iteration after the other writes it. */
struct progress {
    int64_t iterations;
    double rr;        /* r'r now */
    double history[]; /* r'r after each iteration: room for cg.most */
};

/* Solves A x = b. Every way of running the loop works on these arrays, by turns. */
struct cg {
    struct sparse a;
    int32_t blocks;
    struct block *block;
    int64_t most;  /* iterations */
    double enough; /* stop once r'r is no greater */
    double *b, *x, *r, *p, *q;
    double *part; /* of the OpenMP loop: two sums per block */
    struct progress *progress;
};

/* Takes cg->a over and makes the rest of it: blocks of about equal numbers of entries, a right-hand
 * side. Returns 0, or -1: no memory. Ended by cg_free, also after a failure. */
int cg_make(struct cg *cg, int32_t blocks, int64_t most, double tolerance);
void cg_free(struct cg *cg);
size_t cg_progress_bytes(const struct cg *cg);

/* Back to x = 0. */
void cg_reset(struct cg *cg);

/* ---- one block of one phase. Every way calls these, so that all of them compute the same bits. */

/* q = A p in the block; its share of p'q. Reads p wherever the rows have entries. */
double cg_multiply(const struct sparse *a, struct block rows, const double *p, double *q);
/* x += alpha p and r -= alpha q in the block; its share of r'r. */
double cg_advance(struct block rows, double alpha, const double *p, const double *q, double *x,
                  double *r);
/* p = r + beta p in the block. */
void cg_turn(struct block rows, double beta, const double *r, double *p);
/* Notes r'r. */
void cg_note(struct progress *progress, double rr);

/* ---- the loop. Both return 0, or -1 when p'Ap is not positive: A is not positive definite. */
int cg_plain(struct cg *cg);
#ifdef _OPENMP
int cg_openmp(struct cg *cg, int threads);
#endif

#endif
