/* SPDX-License-Identifier: BSD-3-Clause */
/* The generated matrix, the tiles, and the residual. */
#include "matrix.h"

#include "kernels.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double matrix_flops(const struct matrix *m)
{
    double n = (double)m->n;
    return n * n * n / 3 + n * n / 2 + n / 6;
}

int matrix_make(struct matrix *m, int64_t n, int64_t tile)
{
    int64_t tiles = (n + tile - 1) / tile;
    *m = (struct matrix){ .n = n, .tile = tile, .tiles = tiles, .order = tile * tiles };
    m->dense = kernels_memory(matrix_bytes(m));
    m->tiled = kernels_memory(matrix_bytes(m));
    if (!m->dense || !m->tiled) {
        matrix_free(m);
        fprintf(stderr, "cholesky: out of memory\n");
        return -1;
    }
    memset(m->dense, 0, matrix_bytes(m));
    memset(m->tiled, 0, matrix_bytes(m));
    for (int64_t i = n; i < m->order; i++)
        m->dense[i + i * m->order] = 1;
    return 0;
}

void matrix_free(struct matrix *m)
{
    free(m->dense);
    free(m->tiled);
    m->dense = m->tiled = NULL;
}

void matrix_fill_tiles(struct matrix *m)
{
    int64_t b = m->tile;
    for (int64_t i = 0; i < m->tiles; i++)
        for (int64_t j = 0; j <= i; j++)
            for (int64_t c = 0; c < b; c++)
                memcpy(matrix_tile(m, m->tiled, i, j) + c * b,
                       m->dense + i * b + (j * b + c) * m->order, (size_t)b * sizeof(double));
}

void matrix_untile(const struct matrix *m, const double *tiled, double *dense)
{
    int64_t b = m->tile;
    for (int64_t i = 0; i < m->tiles; i++)
        for (int64_t j = 0; j <= i; j++)
            for (int64_t c = 0; c < b; c++)
                memcpy(dense + i * b + (j * b + c) * m->order,
                       tiled + matrix_tile_number(m, i, j) * b * b + c * b,
                       (size_t)b * sizeof(double));
}

/* ---- generating */

/* A number from 0 to 1, by the generator splitmix64 (Steele, Lea, Flood, 2014). */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

int matrix_generate(struct matrix *m, int64_t n, int64_t tile, uint64_t seed)
{
    double *point = malloc((size_t)n * 2 * sizeof *point);
    if (!point) {
        fprintf(stderr, "cholesky: out of memory\n");
        return -1;
    }
    if (matrix_make(m, n, tile)) {
        free(point);
        return -1;
    }
    for (int64_t i = 0; i < 2 * n; i++)
        point[i] = draw(&seed);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double d = hypot(point[2 * i] - point[2 * j], point[2 * i + 1] - point[2 * j + 1]);
            m->dense[i + j * m->order] = m->dense[j + i * m->order] =
                exp(-2 * d) + (i == j ? 0.01 : 0);
        }
    matrix_fill_tiles(m);
    free(point);
    return 0;
}

/* ---- checking */

static void add_to_diagonal(const struct matrix *m, double *dense, double shift)
{
    for (int64_t i = 0; i < m->n; i++)
        dense[i + i * m->order] += shift;
}

static double norm(const struct matrix *m, const double *dense)
{
    double *sums = malloc((size_t)m->order * sizeof *sums);
    if (!sums)
        return NAN; /* no bound holds for it */
    int order = (int)m->order;
    double result = LAPACKE_dlansy_work(LAPACK_COL_MAJOR, '1', 'L', order, dense, order, sums);
    free(sums);
    return result;
}

double matrix_residual(const struct matrix *m, const double *dense, double shift, double *work)
{
    double *b = work, *l = work + m->order * m->order;
    int order = (int)m->order;
    memcpy(b, m->dense, matrix_bytes(m));
    add_to_diagonal(m, b, shift);
    double size = norm(m, b);
    memset(l, 0, matrix_bytes(m));
    for (int64_t j = 0; j < m->order; j++)
        memcpy(l + j + j * m->order, dense + j + j * m->order,
               (size_t)(m->order - j) * sizeof(double));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, order, order, -1, l, order, 1, b, order);
    return norm(m, b) / ((double)m->n * size * DBL_EPSILON);
}

uint64_t matrix_checksum(const struct matrix *m, const double *tiled)
{
    uint64_t hash = 14695981039346656037u, word;
    for (int64_t i = 0; i < m->tiles; i++) /* row i's tiles up to the diagonal are one piece */
        for (int64_t e = 0; e < (i + 1) * m->tile * m->tile; e++) {
            memcpy(&word, tiled + i * m->tiles * m->tile * m->tile + e, sizeof word);
            hash = (hash ^ word) * 1099511628211u;
        }
    return hash;
}
