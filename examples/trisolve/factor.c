/* SPDX-License-Identifier: BSD-3-Clause */
#include "factor.h"

#include <cholmod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what)
{
    fprintf(stderr, "trisolve: %s\n", what);
    return -1;
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes);
    if (to)
        memcpy(to, from, bytes);
    return to;
}

/* Column after column of L is row after row of L'. */
static int keep_triangle(struct triangle *to, const cholmod_sparse *columns)
{
    const int *first = columns->p;
    const size_t entries = (size_t)first[columns->ncol];
    to->first = copy(first, (columns->ncol + 1) * sizeof *to->first);
    to->column = copy(columns->i, entries * sizeof *to->column);
    to->value = copy(columns->x, entries * sizeof *to->value);
    return to->first && to->column && to->value ? 0 : complain("out of memory");
}

static int keep(struct factor *f, cholmod_factor *l, cholmod_common *common)
{
    f->order = copy(l->Perm, l->n * sizeof *f->order);
    f->parent = malloc(l->n * sizeof *f->parent);
    cholmod_sparse *lower = cholmod_factor_to_sparse(l, common); /* l holds no values from here */
    cholmod_sparse *upper = NULL;
    if (lower && cholmod_sort(lower, common))
        upper = cholmod_transpose(lower, 1, common);
    int bad = !upper || !f->order || !f->parent ? complain("out of memory") : 0;
    bad = bad || keep_triangle(&f->upper, lower) || keep_triangle(&f->lower, upper);
    cholmod_free_sparse(&lower, common);
    cholmod_free_sparse(&upper, common);
    /* The parent of i is the first row below the diagonal with an entry in column i. */
    for (int32_t i = 0; !bad && i < f->rows; i++) {
        const int32_t next = f->upper.first[i] + 1;
        f->parent[i] = next < f->upper.first[i + 1] ? f->upper.column[next] : -1;
    }
    return bad ? -1 : 0;
}

/* A as CHOLMOD sees it: its lower triangle is looked at. */
static cholmod_sparse view_of(const struct sparse *a)
{
    return (cholmod_sparse){ .nrow = (size_t)a->rows,
                             .ncol = (size_t)a->rows,
                             .nzmax = (size_t)a->first[a->rows],
                             .p = a->first,
                             .i = a->column,
                             .x = a->value,
                             .stype = -1,
                             .itype = CHOLMOD_INT,
                             .xtype = CHOLMOD_REAL,
                             .dtype = CHOLMOD_DOUBLE,
                             .sorted = 1,
                             .packed = 1 };
}

int factor_make(struct factor *f, const struct sparse *a, const char *name)
{
    cholmod_common common;
    cholmod_sparse view = view_of(a);
    int bad;
    *f = (struct factor){ .rows = a->rows };
    cholmod_start(&common);
    common.print = 0;
    common.supernodal = CHOLMOD_SIMPLICIAL;
    common.final_ll = 1;
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_AMD;
    common.postorder = 1; /* blocks.c needs it: a subtree is a run of rows */
    cholmod_factor *l = cholmod_analyze(&view, &common);
    if (l)
        cholmod_factorize(&view, l, &common);
    if (l && common.status == CHOLMOD_NOT_POSDEF) {
        fprintf(stderr, "trisolve: %s: not positive definite: found out at row %d\n", name,
                ((int *)l->Perm)[l->minor] + 1);
        bad = -2;
    } else if (!l || common.status < CHOLMOD_OK) {
        bad = complain(common.status == CHOLMOD_TOO_LARGE ? "the factor is too large"
                                                          : "out of memory");
    } else {
        bad = keep(f, l, &common);
    }
    cholmod_free_factor(&l, &common);
    cholmod_finish(&common);
    return bad;
}

static void free_triangle(struct triangle *t)
{
    free(t->first);
    free(t->column);
    free(t->value);
}

void factor_free(struct factor *f)
{
    free(f->order);
    free(f->parent);
    free_triangle(&f->lower);
    free_triangle(&f->upper);
    *f = (struct factor){ 0 };
}

/* ---- substitution */

void factor_forward(const struct factor *f, int32_t first, int32_t count, const double *b,
                    double *work)
{
    const struct triangle *t = &f->lower;
    for (int32_t i = first; i < first + count; i++) {
        const int32_t diagonal = t->first[i + 1] - 1;
        double left = b[f->order[i]];
        for (int32_t k = t->first[i]; k < diagonal; k++)
            left -= t->value[k] * work[t->column[k]];
        work[i] = left / t->value[diagonal];
    }
}

void factor_backward(const struct factor *f, int32_t first, int32_t count, double *work, double *x)
{
    const struct triangle *t = &f->upper;
    for (int32_t i = first + count - 1; i >= first; i--) {
        const int32_t diagonal = t->first[i];
        double left = work[i];
        for (int32_t k = diagonal + 1; k < t->first[i + 1]; k++)
            left -= t->value[k] * work[t->column[k]];
        work[i] = left / t->value[diagonal];
        x[f->order[i]] = work[i];
    }
}
