/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files, read by CHOLMOD: sparse or dense, as long as they hold one square,
 * symmetric matrix of finite real numbers. */
#include "matrix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static int complain(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int complain(const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "cholesky: %s: ", path);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return -1;
}

#ifdef RONDO_HAVE_CHOLMOD
#include <cholmod.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* CHOLMOD has one handler per process and gives it no context. */
static char reason[128];
static void note_error(int status, const char *file, int line, const char *message)
{
    (void)file;
    (void)line;
    if (status < 0)
        snprintf(reason, sizeof reason, "%s", message);
}

static int check_size(const char *path, size_t rows, size_t columns, int xtype, int64_t tile)
{
    if (xtype != CHOLMOD_REAL)
        return complain(path, "its entries are not real numbers");
    if (rows != columns)
        return complain(path, "%zu rows and %zu columns: not square", rows, columns);
    if (rows < 1 || rows > MATRIX_ROWS)
        return complain(path, "%zu rows, not 1 to %d", rows, MATRIX_ROWS);
    if ((int64_t)rows > tile * MATRIX_TILES)
        return complain(path, "%zu rows are more than %d tiles of %" PRId64 ": make them larger",
                        rows, MATRIX_TILES, tile);
    return 0;
}

static int take_dense(struct matrix *m, const char *path, const cholmod_dense *d, int64_t tile)
{
    if (check_size(path, d->nrow, d->ncol, d->xtype, tile) ||
        matrix_make(m, (int64_t)d->nrow, tile))
        return -1;
    for (int64_t j = 0; j < m->n; j++)
        memcpy(m->dense + j * m->order, (const double *)d->x + j * (int64_t)d->d,
               (size_t)m->n * sizeof(double));
    return 0;
}

/* A sparse file is a list of entries; of a symmetric one it holds those of one triangle. */
static int take_sparse(struct matrix *m, const char *path, const cholmod_triplet *t, int64_t tile)
{
    const int *row = t->i, *column = t->j;
    const double *value = t->x;
    if (check_size(path, t->nrow, t->ncol, t->xtype, tile) ||
        matrix_make(m, (int64_t)t->nrow, tile))
        return -1;
    for (size_t e = 0; e < t->nnz; e++) {
        m->dense[row[e] + column[e] * m->order] += value[e];
        if (t->stype && row[e] != column[e])
            m->dense[column[e] + row[e] * m->order] += value[e];
    }
    return 0;
}

/* What was printed to decimals and read back may differ in the last digits. */
static int check_entries(const struct matrix *m, const char *path)
{
    for (int64_t j = 0; j < m->n; j++)
        for (int64_t i = j; i < m->n; i++) {
            double low = m->dense[i + j * m->order], high = m->dense[j + i * m->order];
            if (!isfinite(low) || !isfinite(high))
                return complain(path, "entry (%" PRId64 ", %" PRId64 ") is not finite", i + 1,
                                j + 1);
            if (fabs(low - high) > 1e-12 * fmax(fabs(low), fabs(high)))
                return complain(path,
                                "not symmetric: entry (%" PRId64 ", %" PRId64 ") is %g, (%" PRId64
                                ", %" PRId64 ") is %g",
                                i + 1, j + 1, low, j + 1, i + 1, high);
        }
    return 0;
}

static int take(struct matrix *m, const char *path, FILE *file, int64_t tile, cholmod_common *c)
{
    int type = 0, status;
    void *read = cholmod_read_matrix(file, 0, &type, c);
    if (!read)
        return complain(path, "no Matrix Market file%s%s", reason[0] ? ": " : "", reason);
    if (type == CHOLMOD_DENSE) {
        cholmod_dense *d = read;
        status = take_dense(m, path, d, tile);
        cholmod_free_dense(&d, c);
    } else {
        cholmod_triplet *t = read;
        status = take_sparse(m, path, t, tile);
        cholmod_free_triplet(&t, c);
    }
    if (status || check_entries(m, path))
        return -1;
    matrix_fill_tiles(m);
    return 0;
}

int matrix_read(struct matrix *m, const char *path, int64_t tile)
{
    *m = (struct matrix){ 0 };
    FILE *file = fopen(path, "r");
    if (!file)
        return complain(path, "%s", strerror(errno));
    cholmod_common c;
    cholmod_start(&c);
    c.print = 0;
    c.error_handler = note_error;
    int status = take(m, path, file, tile, &c);
    cholmod_finish(&c);
    fclose(file);
    if (status)
        matrix_free(m);
    return status;
}

#else

int matrix_read(struct matrix *m, const char *path, int64_t tile)
{
    (void)tile;
    *m = (struct matrix){ 0 };
    return complain(path, "built without CHOLMOD, no files are read");
}

#endif
