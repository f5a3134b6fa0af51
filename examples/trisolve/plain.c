/* SPDX-License-Identifier: BSD-3-Clause */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the problem */

static int make_vectors(struct problem *p)
{
    const size_t bytes = (size_t)p->a.rows * sizeof(double);
    int missing = 0;
    for (int i = 0; i < SIDES; i++) {
        p->right[i] = malloc(bytes);
        p->solution[i] = malloc(bytes);
        p->known[i] = malloc(bytes);
        missing |= !p->right[i] || !p->solution[i] || !p->known[i];
    }
    p->work = malloc(bytes);
    p->mark = malloc((size_t)p->blocks.count * 2);
    if (missing || !p->work || !p->mark)
        return -1;
    for (int i = 0; i < SIDES; i++) {
        sparse_fill(p->known[i], p->a.rows, (uint64_t)i + 1);
        sparse_multiply(&p->a, p->known[i], p->right[i]);
    }
    problem_reset(p);
    return 0;
}

int problem_make(struct problem *p, const char *name, int64_t grain)
{
    int bad = factor_make(&p->factor, &p->a, name);
    if (bad)
        return bad;
    if (!blocks_make(&p->blocks, &p->factor, grain) && !make_vectors(p))
        return 0;
    fprintf(stderr, "trisolve: out of memory\n");
    return -1;
}

void problem_reset(struct problem *p)
{
    for (int i = 0; i < SIDES; i++)
        memset(p->solution[i], 0xff, (size_t)p->a.rows * sizeof(double));
}

void problem_free(struct problem *p)
{
    for (int i = 0; i < SIDES; i++) {
        free(p->right[i]);
        free(p->solution[i]);
        free(p->known[i]);
    }
    free(p->work);
    free(p->mark);
    blocks_free(&p->blocks);
    factor_free(&p->factor);
    sparse_free(&p->a);
}

/* ---- the ways */

void plain_serial(struct problem *p, int64_t solves)
{
    const struct factor *f = &p->factor;
    for (int64_t i = 0; i < solves; i++) {
        factor_forward(f, 0, f->rows, p->right[i % SIDES], p->work);
        factor_backward(f, 0, f->rows, p->work, p->solution[i % SIDES]);
    }
}

#ifdef _OPENMP
/* mark[v] stands for block v forward, mark[count + v] backward. */
static void submit_solve(struct problem *p, const double *right, double *solution)
{
    const struct factor *f = &p->factor;
    const struct blocks *b = &p->blocks;
    const struct block *block = b->block;
    double *work = p->work;
    for (int32_t v = 0; v < b->count; v++) {
        const int32_t first = block[v].first, count = block[v].count;
#pragma omp task depend(iterator(int32_t e = block[v].child \
                                 : block[v + 1].child),     \
                        in                                  \
                        : p->mark[b->child[e]]) depend(out  \
                                                       : p->mark[v])
        factor_forward(f, first, count, right, work);
    }
    for (int32_t v = b->count - 1; v >= 0; v--) {
        const int32_t first = block[v].first, count = block[v].count;
#pragma omp task depend(iterator(int32_t e = block[v].parent                     \
                                 : block[v + 1].parent),                         \
                        in                                                       \
                        : p->mark[b->count + b->parent[e]]) depend(in            \
                                                                   : p->mark[v]) \
    depend(out                                                                   \
           : p->mark[b->count + v])
        factor_backward(f, first, count, work, solution);
    }
}

/* By the first thread, not a `single` one: GCC's runtime loses memory of other threads' tasks. */
void plain_tasks(struct problem *p, int64_t solves, int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp master
    for (int64_t i = 0; i < solves; i++)
#pragma omp taskgroup
        submit_solve(p, p->right[i % SIDES], p->solution[i % SIDES]);
}

void plain_levels(struct problem *p, int64_t solves, int threads)
{
    const struct factor *f = &p->factor;
    const struct blocks *b = &p->blocks;
#pragma omp parallel num_threads(threads)
    for (int64_t i = 0; i < solves; i++) {
        for (int32_t l = 0; l < b->levels; l++)
#pragma omp for schedule(static)
            for (int32_t k = b->of_level[l]; k < b->of_level[l + 1]; k++) {
                const struct block *rows = &b->block[b->level[k]];
                factor_forward(f, rows->first, rows->count, p->right[i % SIDES], p->work);
            }
        for (int32_t l = b->levels - 1; l >= 0; l--)
#pragma omp for schedule(static)
            for (int32_t k = b->of_level[l]; k < b->of_level[l + 1]; k++) {
                const struct block *rows = &b->block[b->level[k]];
                factor_backward(f, rows->first, rows->count, p->work, p->solution[i % SIDES]);
            }
    }
}
#endif
