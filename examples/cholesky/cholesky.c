/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile Cholesky: A = L L^T, one node per tile operation. The buffer's element is a whole
 * tile, so a region is a box of tiles and the edges follow from who reads and writes which tile.
 * The factor is multiplied out again, and the residual decides the exit status. */
#include <math.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILES = 6, TILE = 32, N = TILES * TILE, REPLAYS = 3 };
typedef struct tile {
    double v[TILE][TILE];
} tile;

static tile factor[TILES * TILES]; /* tile (i, j), row by row */
static tile original[TILES * TILES];

static int64_t at(int row, int column) { return row * TILES + column; }
static rondo_region box(int row, int column) { return rondo_box(column, row, 1, 1); }
static double *entry(tile *m, int i, int j)
{
    return &m[at(i / TILE, j / TILE)].v[i % TILE][j % TILE];
}

/* Which tiles an operation works on, as numbers in the matrix. Copied into the recording. */
struct operands {
    int64_t first, second, target;
};

/* Copies the original into the factor, so that every replay begins anew. */
static int load(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    const tile *from = rondo_task_read(self, 0);
    tile *to = rondo_task_write(self, 1);
    to[op->target] = from[op->target];
    return 0;
}

/* target = its own Cholesky factor */
static int potrf(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    tile *m = rondo_task_write(self, 0);
    double(*a)[TILE] = m[op->target].v;
    for (int k = 0; k < TILE; k++) {
        for (int j = 0; j < k; j++)
            a[k][k] -= a[k][j] * a[k][j];
        if (a[k][k] <= 0)
            return rondo_task_fail(self, "the matrix is not positive definite");
        a[k][k] = sqrt(a[k][k]);
        for (int i = k + 1; i < TILE; i++) {
            for (int j = 0; j < k; j++)
                a[i][k] -= a[i][j] * a[k][j];
            a[i][k] /= a[k][k];
        }
    }
    return 0;
}

/* target = target * first^-T, `first` a lower triangle */
static int trsm(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    tile *m = rondo_task_write(self, 1);
    double(*l)[TILE] = m[op->first].v, (*b)[TILE] = m[op->target].v;
    for (int i = 0; i < TILE; i++)
        for (int k = 0; k < TILE; k++) {
            for (int j = 0; j < k; j++)
                b[i][k] -= b[i][j] * l[k][j];
            b[i][k] /= l[k][k];
        }
    return 0;
}

/* target -= first * second^T; on the diagonal, where first is second, it is the syrk of textbooks
 */
static int gemm(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    tile *m = rondo_task_write(self, 2);
    double(*a)[TILE] = m[op->first].v, (*b)[TILE] = m[op->second].v, (*c)[TILE] = m[op->target].v;
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            for (int k = 0; k < TILE; k++)
                c[i][j] -= a[i][k] * b[j][k];
    return 0;
}

/* Column k's panel: the tiles below the diagonal, solved against the diagonal's factor. */
static void record_panel(rondo_subgraph graph, rondo_slot m, int k)
{
    struct operands diagonal = { .target = at(k, k) };
    rondo_record_task(graph, &(rondo_task_desc){ .name = "potrf",
                                                 .fn = potrf,
                                                 RONDO_ARG(diagonal),
                                                 .priority = 3,
                                                 RONDO_ACCESSES(rondo_read_write(m, box(k, k))) });
    for (int i = k + 1; i < TILES; i++) {
        struct operands op = { .first = at(k, k), .target = at(i, k) };
        rondo_record_task(graph,
                          &(rondo_task_desc){ .name = "trsm",
                                              .fn = trsm,
                                              RONDO_ARG(op),
                                              .priority = 2,
                                              RONDO_ACCESSES(rondo_read(m, box(k, k)),
                                                             rondo_read_write(m, box(i, k))) });
    }
}

/* What column k takes from the tiles to its right. */
static void record_update(rondo_subgraph graph, rondo_slot m, int k)
{
    for (int i = k + 1; i < TILES; i++)
        for (int j = k + 1; j <= i; j++) {
            struct operands op = { at(i, k), at(j, k), at(i, j) };
            rondo_record_task(graph,
                              &(rondo_task_desc){ .name = i == j ? "syrk" : "gemm",
                                                  .fn = gemm,
                                                  RONDO_ARG(op),
                                                  .priority = i == j,
                                                  RONDO_ACCESSES(rondo_read(m, box(i, k)),
                                                                 rondo_read(m, box(j, k)),
                                                                 rondo_read_write(m, box(i, j))) });
        }
}

/* Written as the serial algorithm is written; that the tasks may overlap follows from the accesses.
 */
static void record_cholesky(rondo_subgraph graph, rondo_slot from, rondo_slot m)
{
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++) {
            struct operands op = { .target = at(i, j) };
            rondo_record_task(graph,
                              &(rondo_task_desc){ .name = "load",
                                                  .fn = load,
                                                  RONDO_ARG(op),
                                                  RONDO_ACCESSES(rondo_read(from, box(i, j)),
                                                                 rondo_write(m, box(i, j))) });
        }
    for (int k = 0; k < TILES; k++) {
        record_panel(graph, m, k);
        record_update(graph, m, k);
    }
}

struct cholesky {
    rondo_runtime runtime;
    rondo_buffer from, to;
    rondo_subgraph graph;
    rondo_exec exec;
};

static rondo_status open_cholesky(struct cholesky *c)
{
    rondo_status status;
    rondo_shape shape = { .elem_bytes = sizeof(tile), .extent = { TILES, TILES } };
    rondo_buffer_desc from = { .name = "A", .shape = shape, .host = original };
    rondo_buffer_desc to = { .name = "L", .shape = shape, .host = factor };
    if ((status = rondo_runtime_open(NULL, &c->runtime)) ||
        (status = rondo_buffer_create(c->runtime, &from, &c->from)) ||
        (status = rondo_buffer_create(c->runtime, &to, &c->to)) ||
        (status = rondo_subgraph_create(c->runtime, NULL, &c->graph)))
        return status;
    record_cholesky(
        c->graph,
        rondo_subgraph_slot(c->graph, &(rondo_slot_desc){ .name = "A", .buffer = c->from }),
        rondo_subgraph_slot(c->graph, &(rondo_slot_desc){ .name = "L", .buffer = c->to }));
    return rondo_instantiate(c->graph, NULL, &c->exec);
}

/* To destroy {0} is an error without consequences, so this may follow any failure. */
static void close_cholesky(struct cholesky *c)
{
    rondo_exec_destroy(c->exec);
    rondo_subgraph_destroy(c->graph);
    rondo_buffer_destroy(c->from);
    rondo_buffer_destroy(c->to);
    rondo_runtime_close(c->runtime);
}

/* A symmetric matrix with a heavy diagonal is positive definite. */
static void make_matrix(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            *entry(original, i, j) = i == j ? N : 1.0 / (1 + abs(i - j));
}

/* The largest entry of |L L^T - A|. */
static double residual(void)
{
    double worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += *entry(factor, i, k) * *entry(factor, j, k);
            worst = fmax(worst, fabs(sum - *entry(original, i, j)));
        }
    return worst;
}

int main(void)
{
    make_matrix();
    struct cholesky cholesky = { 0 };
    rondo_result result = { 0 };
    rondo_status status = open_cholesky(&cholesky);
    if (!status)
        status = rondo_replay_and_wait(cholesky.exec, &(rondo_replay_args){ .count = REPLAYS }, -1,
                                       &result);
    if (result.status)
        fprintf(stderr, "cholesky: node %s: %s\n", result.node, result.message);
    else if (status)
        fprintf(stderr, "cholesky: %s\n", rondo_error_message());
    close_cholesky(&cholesky);
    if (status)
        return 1;

    double worst = residual();
    printf("cholesky: residual %g\n", worst);
    return !(worst < 1e-9);
}
