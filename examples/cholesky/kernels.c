/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of OpenBLAS that the tiled ways share, and how long they take. */
#include "kernels.h"

#include "common/ways.h"

#include <cblas.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_names[KERNELS] = { "potrf", "trsm", "syrk", "gemm" };

void kernels_threads(uint32_t threads) { openblas_set_num_threads((int)threads); }

/* LAPACKE's functions named _work neither allocate nor look for NaNs first. */
int kernel_potrf(int64_t b, double *a)
{
    int n = (int)b;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a, n);
}

void kernel_trsm(int64_t b, const double *l, double *x)
{
    int n = (int)b;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, l, n, x,
                n);
}

void kernel_syrk(int64_t b, const double *a, double *c)
{
    int n = (int)b;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1, a, n, 1, c, n);
}

void kernel_gemm(int64_t b, const double *a, const double *d, double *c)
{
    int n = (int)b;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, -1, a, n, d, n, 1, c, n);
}

void *kernels_memory(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

/* ---- measuring */

static void run(enum kernel kernel, int64_t b, const double *l, const double *a, double *c)
{
    switch (kernel) {
    case POTRF: kernel_potrf(b, c); break;
    case TRSM: kernel_trsm(b, l, c); break;
    case SYRK: kernel_syrk(b, a, c); break;
    default: kernel_gemm(b, a, a, c);
    }
}

/* The least of some runs: the first one finds cold caches, another may be preempted. */
static double measure(enum kernel kernel, int64_t b, const double *a, double *l, double *c)
{
    enum { RUNS = 7 };
    size_t bytes = (size_t)(b * b) * sizeof *a;
    int64_t best = INT64_MAX;
    memcpy(l, a, bytes);
    kernel_potrf(b, l);
    for (int i = 0; i < RUNS; i++) {
        memcpy(c, a, bytes);
        int64_t begin = ways_now_ns();
        run(kernel, b, l, a, c);
        int64_t ns = ways_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    return best > 0 ? (double)best : 1;
}

int kernels_measure(int64_t b, double ns[KERNELS])
{
    size_t entries = (size_t)(b * b);
    double *a = kernels_memory(3 * entries * sizeof *a);
    if (!a)
        return -1;
    for (int64_t j = 0; j < b; j++)
        for (int64_t i = 0; i < b; i++)
            a[i + j * b] = i == j ? 2 : 1.0 / (double)(b + i + j); /* positive definite */
    for (enum kernel k = 0; k < KERNELS; k++)
        ns[k] = measure(k, b, a, a + entries, a + 2 * entries);
    free(a);
    return 0;
}
