/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs each way by turns, checks what it computed, and prints the tables.
 *
 * LAPACK's factor is checked by its residual, every time. The ways over tiles must agree bit for
 * bit: the first one's residual is checked, the others' bits are compared with it. */
#include "table.h"

#include "common/ways.h"

#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the ways without Rondo */

static int reset_dense(void *context)
{
    struct bench *b = context;
    memcpy(b->dense, b->matrix.dense, matrix_bytes(&b->matrix));
    return 0;
}

static int reset_tiles(void *context)
{
    struct bench *b = context;
    memcpy(b->l, b->matrix.tiled, matrix_bytes(&b->matrix));
    return 0;
}

static int lapack_one(void *context)
{
    struct bench *b = context;
    int order = (int)b->matrix.order;
    int minor = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', order, b->dense, order);
    if (minor)
        fprintf(stderr, "cholesky: LAPACKE_dpotrf returns %d\n", minor);
    return minor;
}

static int reset_lapack_all(void *context)
{
    struct bench *b = context;
    kernels_threads(b->solver.workers);
    return reset_dense(b);
}

static int not_definite(const char *who)
{
    fprintf(stderr, "cholesky: %s: a tile is not positive definite\n", who);
    return -1;
}

static int tiles_in_order(void *context)
{
    struct bench *b = context;
    const struct matrix *m = &b->matrix;
    int64_t size = m->tile;
    for (int64_t k = 0; k < m->tiles; k++) {
        double *diagonal = matrix_tile(m, b->l, k, k);
        if (kernel_potrf(size, diagonal))
            return not_definite("tiles in order");
        for (int64_t i = k + 1; i < m->tiles; i++)
            kernel_trsm(size, diagonal, matrix_tile(m, b->l, i, k));
        for (int64_t i = k + 1; i < m->tiles; i++) {
            double *row = matrix_tile(m, b->l, i, k);
            for (int64_t j = k + 1; j < i; j++)
                kernel_gemm(size, row, matrix_tile(m, b->l, j, k), matrix_tile(m, b->l, i, j));
            kernel_syrk(size, row, matrix_tile(m, b->l, i, i));
        }
    }
    return 0;
}

#ifdef _OPENMP
/* A task's dependences name the first entry of each tile. */
static void openmp_column(const struct matrix *m, double *l, int64_t k, int *bad)
{
    int64_t size = m->tile;
    double *diagonal = matrix_tile(m, l, k, k);
#pragma omp task depend(inout : diagonal[0]) priority(3)
    if (kernel_potrf(size, diagonal)) {
#pragma omp atomic write
        *bad = 1;
    }
    for (int64_t i = k + 1; i < m->tiles; i++) {
        double *row = matrix_tile(m, l, i, k);
#pragma omp task depend(in : diagonal[0]) depend(inout : row[0]) priority(2)
        kernel_trsm(size, diagonal, row);
    }
    for (int64_t i = k + 1; i < m->tiles; i++) {
        double *row = matrix_tile(m, l, i, k), *own = matrix_tile(m, l, i, i);
        for (int64_t j = k + 1; j < i; j++) {
            double *other = matrix_tile(m, l, j, k), *target = matrix_tile(m, l, i, j);
#pragma omp task depend(in : row[0], other[0]) depend(inout : target[0])
            kernel_gemm(size, row, other, target);
        }
#pragma omp task depend(in : row[0]) depend(inout : own[0]) priority(1)
        kernel_syrk(size, row, own);
    }
}

static int openmp_tasks(void *context)
{
    struct bench *b = context;
    int threads = (int)b->solver.workers, bad = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int64_t k = 0; k < b->matrix.tiles; k++)
        openmp_column(&b->matrix, b->l, k, &bad);
    return bad ? not_definite("OpenMP") : 0;
}
#endif

/* ---- the ways with Rondo */

static int rondo_static(void *context)
{
    struct bench *b = context;
    return solver_factor(&b->solver, FACTOR_STATIC, RONDO_COMPILED);
}
static int rondo_interpreted(void *context)
{
    struct bench *b = context;
    return solver_factor(&b->solver, FACTOR_STATIC, RONDO_INTERPRETED);
}
static int rondo_dataflow(void *context)
{
    struct bench *b = context;
    return solver_factor(&b->solver, FACTOR_DATAFLOW, RONDO_AUTO);
}
static int rondo_auto(void *context)
{
    struct bench *b = context;
    return solver_factor(&b->solver, FACTOR_AUTO, RONDO_AUTO);
}

/* The choice of auto takes some replays; the table is about what it then is. */
static int settle(struct bench *b)
{
    enum { MOST = 200 };
    for (int i = 0; i < MOST && !solver_is_settled(&b->solver); i++)
        if (reset_tiles(b) || rondo_auto(b))
            return -1;
    return 0;
}

/* ---- checking */

static int check_residual(struct bench *b, const char *what, double shift, double *worst)
{
    double residual = matrix_residual(&b->matrix, b->dense, shift, b->work);
    *worst = fmax(*worst, residual);
    if (residual < MATRIX_RESIDUAL_BOUND)
        return 0;
    fprintf(stderr, "cholesky: %s: residual %g, not below %g\n", what, residual,
            MATRIX_RESIDUAL_BOUND);
    return -1;
}

static int check_dense(void *context)
{
    struct bench *b = context;
    return check_residual(b, "LAPACKE_dpotrf", 0, &b->worst_dense);
}

/* OpenBLAS's threads look for work for some 30 ms before they sleep, on the CPUs of the next way.
 */
static int check_lapack_all(void *context)
{
    kernels_threads(1);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    return check_dense(context);
}

static int check_tiles(void *context)
{
    struct bench *b = context;
    uint64_t sum = matrix_checksum(&b->matrix, b->l);
    if (b->has_sum && sum == b->sum)
        return 0;
    if (b->has_sum) {
        fprintf(stderr,
                "cholesky: the tiles' checksum is %016" PRIx64 ", one thread's %016" PRIx64 "\n",
                sum, b->sum);
        return -1;
    }
    b->has_sum = 1;
    b->sum = sum;
    matrix_untile(&b->matrix, b->l, b->dense);
    return check_residual(b, "the tiles", 0, &b->worst_tile);
}

/* ---- one matrix */

int bench_factor(struct bench *b)
{
    char all[40];
    snprintf(all, sizeof all, "LAPACKE_dpotrf, %" PRIu32 " threads", b->solver.workers);
    struct way ways[] = {
        { "LAPACKE_dpotrf, one thread", reset_dense, lapack_one, check_dense, b, NULL },
        { all, reset_lapack_all, lapack_one, check_lapack_all, b, NULL },
        { "tiles in order, one thread", reset_tiles, tiles_in_order, check_tiles, b, NULL },
#ifdef _OPENMP
        { "OpenMP tasks with depend", reset_tiles, openmp_tasks, check_tiles, b, NULL },
#endif
        { "Rondo static", reset_tiles, rondo_static, check_tiles, b, NULL },
        { "Rondo dataflow", reset_tiles, rondo_dataflow, check_tiles, b, NULL },
        { "Rondo interpreted", reset_tiles, rondo_interpreted, check_tiles, b, NULL },
        { "Rondo auto", reset_tiles, rondo_auto, check_tiles, b, NULL },
    };
    enum { COUNT = sizeof ways / sizeof ways[0] };
    int failed = settle(b) || ways_run("cholesky", ways, COUNT, b->turns);
    if (!failed) {
        solver_print(&b->solver);
        putchar('\n');
        ways_print_rate(ways, COUNT, b->turns, 1, "factorisation", 0,
                        matrix_flops(&b->matrix) / 1e9, "GFlop/s");
        printf("residual ||A - L L^T|| / (n ||A|| eps): LAPACKE %.2g, tiles %.2g, the same bits in "
               "every way; bound %g\n",
               b->worst_dense, b->worst_tile, MATRIX_RESIDUAL_BOUND);
    }
    ways_free(ways, COUNT);
    return failed ? -1 : 0;
}

/* ---- several matrices */

static int sweep_lapack(void *context)
{
    struct bench *b = context;
    int64_t order = b->matrix.order;
    for (int k = 0; k < SHIFTS; k++) {
        reset_dense(b);
        for (int64_t i = 0; i < b->matrix.n; i++)
            b->dense[i + i * order] += b->shift[k];
        if (lapack_one(b))
            return -1;
    }
    return 0;
}

/* The sum in the order of the task `logdet`. */
static double logdet(const struct matrix *m, double *tiled)
{
    double sum = 0;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t k = i / m->tile, r = i % m->tile;
        sum += log(matrix_tile(m, tiled, k, k)[r + r * m->tile]);
    }
    return 2 * sum;
}

static int sweep_tiles(void *context)
{
    struct bench *b = context;
    const struct matrix *m = &b->matrix;
    for (int k = 0; k < SHIFTS; k++) {
        reset_tiles(b);
        for (int64_t i = 0; i < m->n; i++)
            matrix_tile(m, b->l, i / m->tile, i / m->tile)[i % m->tile * (m->tile + 1)] +=
                b->shift[k];
        if (tiles_in_order(b))
            return -1;
        b->logdet[k] = logdet(m, b->l);
    }
    return 0;
}

static int sweep_calls(void *context)
{
    struct bench *b = context;
    return solver_sweep(&b->solver, SWEEP_SERIAL, 0, b->shift, b->logdet);
}
static int sweep_serial(void *context)
{
    struct bench *b = context;
    return solver_sweep(&b->solver, SWEEP_SERIAL, 1, b->shift, b->logdet);
}
static int sweep_pipelined(void *context)
{
    struct bench *b = context;
    return solver_sweep(&b->solver, SWEEP_PIPELINED, 1, b->shift, b->logdet);
}

static int check_sweep_dense(void *context)
{
    struct bench *b = context;
    return check_residual(b, "LAPACKE_dpotrf", b->shift[SHIFTS - 1], &b->worst_dense);
}

/* The last factor is there to be checked; of the others, what their diagonals add up to. */
static int check_sweep(void *context)
{
    struct bench *b = context;
    if (!b->has_logdets)
        memcpy(b->first_logdet, b->logdet, sizeof b->logdet);
    b->has_logdets = 1;
    for (int k = 0; k < SHIFTS; k++)
        if (b->logdet[k] != b->first_logdet[k]) {
            fprintf(stderr, "cholesky: shift %g: log det is %.17g, one thread's %.17g\n",
                    b->shift[k], b->logdet[k], b->first_logdet[k]);
            return -1;
        }
    matrix_untile(&b->matrix, b->l, b->dense);
    return check_residual(b, "the tiles", b->shift[SHIFTS - 1], &b->worst_tile);
}

/* What the way before left is not to be taken for a result. */
static int reset_sweep(void *context)
{
    struct bench *b = context;
    memset(b->logdet, 0, sizeof b->logdet);
    memset(b->l, 0, matrix_bytes(&b->matrix));
    return 0;
}

int bench_sweep(struct bench *b)
{
    struct way ways[] = {
        { "LAPACKE_dpotrf, one thread", NULL, sweep_lapack, check_sweep_dense, b, NULL },
        { "tiles in order, one thread", reset_sweep, sweep_tiles, check_sweep, b, NULL },
        { "Rondo, a call for each", reset_sweep, sweep_calls, check_sweep, b, NULL },
        { "Rondo, one call, serial", reset_sweep, sweep_serial, check_sweep, b, NULL },
        { "Rondo, one call, pipelined", reset_sweep, sweep_pipelined, check_sweep, b, NULL },
    };
    enum { COUNT = sizeof ways / sizeof ways[0] };
    double mean = 0;
    for (int64_t i = 0; i < b->matrix.n; i++)
        mean += b->matrix.dense[i + i * b->matrix.order] / (double)b->matrix.n;
    for (int k = 0; k < SHIFTS; k++)
        b->shift[k] = mean * k / SHIFTS;
    int failed = ways_run("cholesky", ways, COUNT, b->turns);
    if (!failed) {
        printf("\nA + shift I for %d shifts, the copy and the logarithm of the determinant "
               "included:\n\n",
               SHIFTS);
        ways_print_rate(ways, COUNT, b->turns, SHIFTS, "matrix", 0, matrix_flops(&b->matrix) / 1e9,
                        "GFlop/s");
        printf("residual of the last: LAPACKE %.2g, tiles %.2g; log det %.6g to %.6g, the same "
               "bits in every way over tiles\n",
               b->worst_dense, b->worst_tile, b->logdet[0], b->logdet[SHIFTS - 1]);
    }
    ways_free(ways, COUNT);
    return failed ? -1 : 0;
}

/* ---- opening */

int bench_open(struct bench *b, uint32_t workers, int turns)
{
    b->turns = turns;
    b->l = kernels_memory(matrix_bytes(&b->matrix));
    b->dense = kernels_memory(matrix_bytes(&b->matrix));
    b->work = kernels_memory(2 * matrix_bytes(&b->matrix));
    if (!b->l || !b->dense || !b->work || kernels_measure(b->matrix.tile, b->ns)) {
        fprintf(stderr, "cholesky: out of memory\n");
        return -1;
    }
    memset(b->l, 0, matrix_bytes(&b->matrix)); /* what is above the diagonal is never written */
    return solver_open(&b->solver, &b->matrix, b->l, workers, b->ns);
}

void bench_close(struct bench *b)
{
    solver_close(&b->solver);
    matrix_free(&b->matrix);
    free(b->l);
    free(b->dense);
    free(b->work);
}
