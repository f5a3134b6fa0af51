/* SPDX-License-Identifier: BSD-3-Clause */
#include "sparse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sparse_make(struct sparse *m, int32_t rows, int64_t entries)
{
    *m = (struct sparse){ .rows = rows };
    m->first = malloc(((size_t)rows + 1) * sizeof *m->first);
    m->column = malloc((size_t)entries * sizeof *m->column);
    m->value = malloc((size_t)entries * sizeof *m->value);
    if (m->first && m->column && m->value)
        return 0;
    sparse_free(m);
    return -1;
}

void sparse_free(struct sparse *m)
{
    free(m->first);
    free(m->column);
    free(m->value);
    *m = (struct sparse){ 0 };
}

int sparse_poisson(struct sparse *m, int32_t side)
{
    int32_t at = 0;
    if (sparse_make(m, side * side, (int64_t)side * side * 5))
        return -1;
    for (int32_t i = 0; i < m->rows; i++) {
        const int32_t x = i % side, y = i / side;
        const int32_t neighbour[5] = { i - side, i - 1, i, i + 1, i + side };
        const int inside[5] = { y > 0, x > 0, 1, x < side - 1, y < side - 1 };
        m->first[i] = at;
        for (int k = 0; k < 5; k++)
            if (inside[k]) {
                m->column[at] = neighbour[k];
                m->value[at++] = neighbour[k] == i ? 4 : -1;
            }
    }
    m->first[m->rows] = at;
    return 0;
}

/* ---- vectors */

void sparse_multiply(const struct sparse *m, const double *x, double *y)
{
    for (int32_t i = 0; i < m->rows; i++) {
        double sum = 0;
        for (int32_t k = m->first[i]; k < m->first[i + 1]; k++)
            sum += m->value[k] * x[m->column[k]];
        y[i] = sum;
    }
}

double sparse_residual(const struct sparse *m, const double *x, const double *b)
{
    double squares = 0, all = 0;
    for (int32_t i = 0; i < m->rows; i++) {
        double left = b[i];
        for (int32_t k = m->first[i]; k < m->first[i + 1]; k++)
            left -= m->value[k] * x[m->column[k]];
        squares += left * left;
        all += b[i] * b[i];
    }
    return sqrt(squares / all);
}

void sparse_fill(double *vector, int32_t rows, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    for (int32_t i = 0; i < rows; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
        vector[i] = (double)(state >> 11) / (double)(1ll << 52) - 1;
    }
}

/* ---- Matrix Market files */

#ifdef RONDO_HAVE_CHOLMOD
#include <cholmod.h>

/* Who reads, and what: for messages. */
struct reader {
    const char *program, *path;
    cholmod_common common;
};

static int complain(const struct reader *r, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", r->program, r->path, what);
    return -1;
}

/* CHOLMOD calls this with what it has to say, and no context. */
static const char *cholmod_says;
static void remember(int status, const char *file, int line, const char *message)
{
    (void)status, (void)file, (void)line;
    if (!cholmod_says) /* the first is the cause */
        cholmod_says = message;
}

/* Whether it is a square matrix of real numbers; says what it is else. */
static int is_real_square(const struct reader *r, const cholmod_sparse *a)
{
    if (a->nrow != a->ncol || !a->nrow) {
        fprintf(stderr, "%s: %s: %zu rows and %zu columns: not a square matrix\n", r->program,
                r->path, a->nrow, a->ncol);
        return 0;
    }
    if (a->xtype == CHOLMOD_REAL)
        return 1;
    complain(r, "its entries are not real numbers");
    return 0;
}

/* What the file holds; NULL after saying why. Not by cholmod_read_sparse, which loses the memory of
 * a dense matrix. */
static cholmod_sparse *read_stored(struct reader *r, FILE *file)
{
    enum { SYMMETRIC_AS_SUCH = 2 };
    int kind = CHOLMOD_SPARSE;
    cholmod_says = NULL;
    void *matrix = cholmod_read_matrix(file, SYMMETRIC_AS_SUCH, &kind, &r->common);
    if (matrix && kind == CHOLMOD_DENSE) {
        cholmod_dense *dense = matrix;
        cholmod_free_dense(&dense, &r->common);
        cholmod_says = "it is a dense one";
        matrix = NULL;
    }
    if (!matrix)
        fprintf(stderr, "%s: %s: no sparse matrix in the Matrix Market format: %s\n", r->program,
                r->path, cholmod_says ? cholmod_says : "nothing in it");
    return matrix;
}

/* Both triangles, columns sorted; NULL after saying why. */
static cholmod_sparse *read_whole(struct reader *r, FILE *file)
{
    cholmod_sparse *stored = read_stored(r, file), *whole = NULL;
    if (stored && is_real_square(r, stored)) {
        whole = cholmod_copy(stored, 0, 1, &r->common);
        if (!whole || !cholmod_sort(whole, &r->common)) {
            cholmod_free_sparse(&whole, &r->common);
            complain(r, "out of memory");
        }
    }
    cholmod_free_sparse(&stored, &r->common);
    return whole;
}

/* The first entry of which the two matrices differ: 0 if there is none. */
static int find_difference(const struct reader *r, const cholmod_sparse *a, const cholmod_sparse *b)
{
    const int *a_first = a->p, *a_row = a->i, *b_first = b->p, *b_row = b->i;
    const double *a_value = a->x, *b_value = b->x;
    for (int j = 0; j < (int)a->ncol; j++)
        for (int k = a_first[j]; k < a_first[j + 1] || k < b_first[j + 1]; k++) {
            int in_both = k < a_first[j + 1] && k < b_first[j + 1];
            if (in_both && a_row[k] == b_row[k] && !(a_value[k] < b_value[k]) &&
                !(a_value[k] > b_value[k]))
                continue;
            int a_has = k < a_first[j + 1] && (!in_both || a_row[k] <= b_row[k]);
            fprintf(stderr, "%s: %s: not symmetric: entry (%d, %d) and its mirror image differ\n",
                    r->program, r->path, (a_has ? a_row[k] : b_row[k]) + 1, j + 1);
            return -1;
        }
    return 0;
}

static int check_values(const struct reader *r, const cholmod_sparse *a)
{
    const int *first = a->p, *row = a->i;
    const double *value = a->x;
    for (int j = 0; j < (int)a->ncol; j++) {
        double diagonal = 0;
        for (int k = first[j]; k < first[j + 1]; k++) {
            if (!isfinite(value[k])) {
                fprintf(stderr, "%s: %s: entry (%d, %d) is %g\n", r->program, r->path, row[k] + 1,
                        j + 1, value[k]);
                return -1;
            }
            if (row[k] == j)
                diagonal = value[k];
        }
        if (!(diagonal > 0)) {
            fprintf(stderr, "%s: %s: not positive definite: entry (%d, %d) is %g\n", r->program,
                    r->path, j + 1, j + 1, diagonal);
            return -1;
        }
    }
    return 0;
}

static int check(struct reader *r, cholmod_sparse *whole)
{
    cholmod_sparse *mirrored = cholmod_transpose(whole, 1, &r->common);
    int bad = mirrored ? find_difference(r, whole, mirrored) : complain(r, "out of memory");
    cholmod_free_sparse(&mirrored, &r->common);
    return bad ? bad : check_values(r, whole);
}

static int keep(struct reader *r, const cholmod_sparse *whole, struct sparse *m)
{
    const int *first = whole->p;
    const size_t entries = (size_t)first[whole->ncol];
    if (sparse_make(m, (int32_t)whole->ncol, (int64_t)entries))
        return complain(r, "out of memory");
    memcpy(m->first, first, (whole->ncol + 1) * sizeof *m->first);
    memcpy(m->column, whole->i, entries * sizeof *m->column);
    memcpy(m->value, whole->x, entries * sizeof *m->value);
    return 0;
}

/* A folder can be opened, but not read. */
static FILE *open_file(const struct reader *r)
{
    FILE *file = fopen(r->path, "r");
    int first = file ? fgetc(file) : EOF;
    if (!file || ferror(file)) {
        complain(r, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    ungetc(first, file);
    return file;
}

int sparse_read(struct sparse *m, const char *program, const char *path)
{
    struct reader r = { .program = program, .path = path };
    FILE *file = open_file(&r);
    if (!file)
        return -1;
    cholmod_start(&r.common);
    r.common.print = 0;
    r.common.error_handler = remember;
    cholmod_sparse *whole = read_whole(&r, file);
    int bad = !whole || check(&r, whole) || keep(&r, whole, m) ? -1 : 0;
    cholmod_free_sparse(&whole, &r.common);
    cholmod_finish(&r.common);
    fclose(file);
    return bad;
}

#else
int sparse_read(struct sparse *m, const char *program, const char *path)
{
    (void)m;
    fprintf(stderr,
            "%s: %s: this program was built without CHOLMOD, which reads Matrix Market files "
            "(Debian package libsuitesparse-dev)\n",
            program, path);
    return -1;
}
#endif
