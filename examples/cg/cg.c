/* SPDX-License-Identifier: BSD-3-Clause */
#include "cg.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the loop works on */

/* Blocks of about equal numbers of entries, at least a row each. */
static void cut(struct cg *cg)
{
    const int32_t *first = cg->a.first;
    const int64_t entries = first[cg->a.rows];
    int32_t row = 0;
    for (int32_t b = 0; b < cg->blocks; b++) {
        const int32_t begin = row++, last = cg->a.rows - (cg->blocks - 1 - b);
        while (row < last && (b == cg->blocks - 1 || first[row] < entries * (b + 1) / cg->blocks))
            row++;
        cg->block[b] = (struct block){ begin, row - begin };
    }
}

size_t cg_progress_bytes(const struct cg *cg)
{
    return sizeof(struct progress) + (size_t)cg->most * sizeof(double);
}

int cg_make(struct cg *cg, int32_t blocks, int64_t most, double tolerance)
{
    const size_t bytes = (size_t)cg->a.rows * sizeof(double);
    double **vector[] = { &cg->b, &cg->x, &cg->r, &cg->p, &cg->q };
    int missing = 0;
    cg->blocks = blocks;
    cg->most = most;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        missing |= !(*vector[i] = malloc(bytes));
    cg->block = calloc((size_t)blocks, sizeof *cg->block);
    cg->part = calloc((size_t)blocks * 2, sizeof *cg->part);
    cg->progress = calloc(1, cg_progress_bytes(cg));
    if (missing || !cg->block || !cg->part || !cg->progress)
        return -1;
    cut(cg);
    sparse_fill(cg->x, cg->a.rows, 1);
    sparse_multiply(&cg->a, cg->x, cg->b);
    cg_reset(cg);
    cg->enough = tolerance * tolerance * cg->progress->rr; /* x = 0: this is b'b */
    return 0;
}

void cg_free(struct cg *cg)
{
    double *vector[] = { cg->b, cg->x, cg->r, cg->p, cg->q, cg->part };
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        free(vector[i]);
    free(cg->block);
    free(cg->progress);
    sparse_free(&cg->a);
    *cg = (struct cg){ 0 };
}

void cg_reset(struct cg *cg)
{
    const size_t bytes = (size_t)cg->a.rows * sizeof(double);
    memset(cg->progress, 0, cg_progress_bytes(cg));
    memset(cg->x, 0, bytes);
    memset(cg->q, 0, bytes);
    memcpy(cg->r, cg->b, bytes);
    memcpy(cg->p, cg->b, bytes);
    for (int32_t i = 0; i < cg->a.rows; i++)
        cg->progress->rr += cg->b[i] * cg->b[i];
}

/* ---- one block of one phase */

double cg_multiply(const struct sparse *a, struct block rows, const double *p, double *q)
{
    double share = 0;
    for (int32_t i = rows.first; i < rows.first + rows.count; i++) {
        double sum = 0;
        for (int32_t k = a->first[i]; k < a->first[i + 1]; k++)
            sum += a->value[k] * p[a->column[k]];
        q[i] = sum;
        share += p[i] * sum;
    }
    return share;
}

double cg_advance(struct block rows, double alpha, const double *p, const double *q, double *x,
                  double *r)
{
    double share = 0;
    for (int32_t i = rows.first; i < rows.first + rows.count; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        share += r[i] * r[i];
    }
    return share;
}

void cg_turn(struct block rows, double beta, const double *r, double *p)
{
    for (int32_t i = rows.first; i < rows.first + rows.count; i++)
        p[i] = r[i] + beta * p[i];
}

void cg_note(struct progress *progress, double rr)
{
    progress->rr = rr;
    progress->history[progress->iterations++] = rr;
}

/* ---- the loop */

int cg_plain(struct cg *cg)
{
    struct progress *now = cg->progress;
    while (now->iterations < cg->most && now->rr > cg->enough) {
        const double before = now->rr;
        double pq = 0, rr = 0;
        for (int32_t b = 0; b < cg->blocks; b++)
            pq += cg_multiply(&cg->a, cg->block[b], cg->p, cg->q);
        if (!(pq > 0))
            return -1;
        for (int32_t b = 0; b < cg->blocks; b++)
            rr += cg_advance(cg->block[b], before / pq, cg->p, cg->q, cg->x, cg->r);
        cg_note(now, rr);
        for (int32_t b = 0; b < cg->blocks; b++)
            cg_turn(cg->block[b], rr / before, cg->r, cg->p);
    }
    return 0;
}

#ifdef _OPENMP
/* In the order of the blocks, whoever computed them: rounding depends on the order, and this is the
 * order in which Rondo combines shares. */
static double sum(const double *part, int32_t blocks)
{
    double all = 0;
    for (int32_t b = 0; b < blocks; b++)
        all += part[b];
    return all;
}

/* Three parallel loops an iteration, each with its barrier. Every thread adds the shares up for
 * itself, which is cheaper than one more barrier for one thread that does it for all. */
int cg_openmp(struct cg *cg, int threads)
{
    double *pq_part = cg->part, *rr_part = cg->part + cg->blocks;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        int64_t left = cg->most;
        double before = cg->progress->rr, pq, rr;
        for (; left && before > cg->enough; left--) {
#pragma omp for schedule(static)
            for (int32_t b = 0; b < cg->blocks; b++)
                pq_part[b] = cg_multiply(&cg->a, cg->block[b], cg->p, cg->q);
            pq = sum(pq_part, cg->blocks);
            if (!(pq > 0)) {
#pragma omp single
                failed = 1;
                break;
            }
#pragma omp for schedule(static)
            for (int32_t b = 0; b < cg->blocks; b++)
                rr_part[b] = cg_advance(cg->block[b], before / pq, cg->p, cg->q, cg->x, cg->r);
            rr = sum(rr_part, cg->blocks);
#pragma omp master
            cg_note(cg->progress, rr);
#pragma omp for schedule(static)
            for (int32_t b = 0; b < cg->blocks; b++)
                cg_turn(cg->block[b], rr / before, cg->r, cg->p);
            before = rr;
        }
    }
    return failed ? -1 : 0;
}
#endif
