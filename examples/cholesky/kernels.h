/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done to tiles: the four operations of tile Cholesky, by OpenBLAS. A tile is b by b
 * doubles, column by column. */
#ifndef CHOLESKY_KERNELS_H
#define CHOLESKY_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum kernel { POTRF, TRSM, SYRK, GEMM, KERNELS };
extern const char *const kernel_names[KERNELS];

/* OpenBLAS starts threads of its own. A program that spreads tiles over threads itself wants one
 * per call; several threads may then call it at once, as many as it was built for: with more it
 * ends the program. Debian's is built for 128. */
enum { KERNELS_THREADS = 64 };
void kernels_threads(uint32_t threads);

/* a = L, with a = L L^T; what is above the diagonal stays. 0, or k when the leading minor of order
 * k is not positive: then a is not positive definite. */
int kernel_potrf(int64_t b, double *a);
/* x = x L^-T */
void kernel_trsm(int64_t b, const double *l, double *x);
/* c -= a a^T, at and below the diagonal */
void kernel_syrk(int64_t b, const double *a, double *c);
/* c -= a d^T */
void kernel_gemm(int64_t b, const double *a, const double *d, double *c);

/* What each kernel takes on one tile, by measurement. Returns 0, or -1: no memory. */
int kernels_measure(int64_t b, double ns[KERNELS]);

/* `bytes` bytes at a multiple of 64: where tiles begin decides which instructions a kernel may use.
 * NULL: no memory. Ended by free. */
void *kernels_memory(size_t bytes);

#endif
