/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix: where it comes from, its two layouts, and how good a factor of it is. */
#ifndef CHOLESKY_MATRIX_H
#define CHOLESKY_MATRIX_H

#include <stddef.h>
#include <stdint.h>

enum { MATRIX_ROWS = 16384, MATRIX_TILES = 128 }; /* at most */

struct matrix {
    int64_t n;           /* rows */
    int64_t tile, tiles; /* rows of a tile, tiles in a row of them */
    int64_t order;       /* tile * tiles: the last tiles are filled up by the identity */
    double *dense;       /* order by order, column by column, both triangles */
    double *tiled;       /* the same in tiles, see matrix_tile; those above the diagonal are 0 */
};

/* Tile (i, j) of a matrix in tiles: each tile is contiguous, and they follow row by row. */
static inline int64_t matrix_tile_number(const struct matrix *m, int64_t i, int64_t j)
{
    return i * m->tiles + j;
}
static inline double *matrix_tile(const struct matrix *m, double *tiled, int64_t i, int64_t j)
{
    return tiled + matrix_tile_number(m, i, j) * m->tile * m->tile;
}
static inline size_t matrix_bytes(const struct matrix *m)
{
    return (size_t)(m->order * m->order) * sizeof(double);
}
double matrix_flops(const struct matrix *m); /* of its Cholesky factorisation */

/* The covariances of n points thrown into the unit square by a seeded generator: exp(-2 d) for two
 * of them d apart, and 0.01 more on the diagonal, for the noise of a measurement. Positive
 * definite, whatever the points. Both return 0, or -1 after saying why. Ended by matrix_free. */
int matrix_generate(struct matrix *m, int64_t n, int64_t tile, uint64_t seed);
/* A Matrix Market file, dense or sparse. Refused: not symmetric, not real, not finite, too large.
 */
int matrix_read(struct matrix *m, const char *path, int64_t tile);
void matrix_free(struct matrix *m);

/* For who fills `dense`: makes both layouts of n rows, 0 but for the identity that fills up; then,
 * with `dense` filled, the tiles. */
int matrix_make(struct matrix *m, int64_t n, int64_t tile);
void matrix_fill_tiles(struct matrix *m);

/* The factor as it comes from tiles, as a dense matrix. */
void matrix_untile(const struct matrix *m, const double *tiled, double *dense);

/* ||B - L L^T|| / (n ||B|| eps) in the norm of column sums, for B = A + shift I and the lower
 * triangle L of `dense`. `work` has room for two dense matrices. The bound is the one of LAPACK's
 * own tests. It allows for a few rows, where each rounding counts; with hundreds they cancel each
 * other, and a correct factor has 0.01 and less. One tile's update left out gives 1e9 and more. */
#define MATRIX_RESIDUAL_BOUND 30.0
double matrix_residual(const struct matrix *m, const double *dense, double shift, double *work);

/* FNV-1a, by words: of the tiles at and below the diagonal. */
uint64_t matrix_checksum(const struct matrix *m, const double *tiled);

#endif
