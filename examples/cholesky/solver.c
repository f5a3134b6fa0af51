/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile Cholesky in Rondo: this file is the one to read.
 *
 * The algorithm is recorded as it is written serially; which operations may overlap follows from
 * the tiles that each of them reads and writes. Recorded once, it is replayed for every matrix of
 * that size: a replay analyses nothing and allocates nothing. */
#include "solver.h"

#include "common/ways.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call that fails leaves a message that names the object and the values. */
static int complain(void)
{
    fprintf(stderr, "cholesky: %s\n", rondo_error_message());
    return -1;
}

/* ---- the tasks
 *
 * A task's argument is copied into the recording: here, which tiles it works on. Where these lie
 * it learns from rondo_task_read and _write, which give the address of tile (0, 0) of the buffer
 * that fills the slot of an access in this replay. */

struct operands {
    int64_t b; /* rows of a tile */
    int64_t first, second, target;
    int64_t rows; /* load: of the tile's rows, those that belong to the matrix */
};

static double *at(double *tiles, const struct operands *op, int64_t number)
{
    return tiles + number * op->b * op->b;
}

/* A task that fails says why; the nodes behind it are skipped, and the result names it. */
static int potrf(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    double *l = rondo_task_write(self, 0);
    int minor = kernel_potrf(op->b, at(l, op, op->target));
    if (!minor)
        return 0;
    char why[80];
    snprintf(why, sizeof why, "not positive definite: row %d of the tile", minor);
    return rondo_task_fail(self, why);
}

static int trsm(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    double *l = rondo_task_write(self, 1);
    kernel_trsm(op->b, at(l, op, op->first), at(l, op, op->target));
    return 0;
}

static int syrk(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    double *l = rondo_task_write(self, 1);
    kernel_syrk(op->b, at(l, op, op->first), at(l, op, op->target));
    return 0;
}

static int gemm(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    double *l = rondo_task_write(self, 2);
    kernel_gemm(op->b, at(l, op, op->first), at(l, op, op->second), at(l, op, op->target));
    return 0;
}

/* Loads a diagonal tile of A + shift I. */
static int load(rondo_task *self, const void *arg)
{
    const struct operands *op = arg;
    const double *a = rondo_task_read(self, 0), *shift = rondo_task_param(self, 0);
    double *l = rondo_task_write(self, 1);
    memcpy(at(l, op, op->target), a + op->target * op->b * op->b,
           (size_t)(op->b * op->b) * sizeof(double));
    for (int64_t i = 0; i < op->rows; i++)
        at(l, op, op->target)[i + i * op->b] += *shift;
    return 0;
}

/* log det L L^T, from the diagonal. Each sweep is SHIFTS replays, so the replay's own number tells
 * where the value goes. */
static int logdet(rondo_task *self, const void *arg)
{
    const struct matrix *const *m = arg;
    const double *l = rondo_task_read(self, 0);
    double *value = rondo_task_write(self, (unsigned)(*m)->tiles), sum = 0;
    for (int64_t i = 0; i < (*m)->n; i++) {
        int64_t k = i / (*m)->tile, r = i % (*m)->tile;
        sum += log(l[matrix_tile_number(*m, k, k) * (*m)->tile * (*m)->tile + r + r * (*m)->tile]);
    }
    value[self->replay % SHIFTS] = 2 * sum;
    return 0;
}

/* ---- recording */

/* A buffer's element may be anything: here it is a whole tile, so that a region is a box of tiles.
 */
static rondo_region tile(int64_t i, int64_t j) { return rondo_box(j, i, 1, 1); }

/* Column k's panel: the diagonal tile, and the tiles below solved against it. Nodes that are ready
 * at the same time run by priority: the panel is what everything else waits for. */
static void record_panel(struct solver *s, rondo_subgraph graph, rondo_slot l, int64_t k,
                         const double ns[KERNELS])
{
    const struct matrix *m = s->matrix;
    struct operands op = { .b = m->tile, .target = matrix_tile_number(m, k, k) };
    rondo_record_task(graph, &(rondo_task_desc){ .name = "potrf",
                                                 .fn = potrf,
                                                 RONDO_ARG(op),
                                                 .priority = 3,
                                                 .cost_ns = ns[POTRF],
                                                 RONDO_ACCESSES(rondo_read_write(l, tile(k, k))) });
    op.first = op.target;
    for (int64_t i = k + 1; i < m->tiles; i++) {
        op.target = matrix_tile_number(m, i, k);
        rondo_record_task(graph,
                          &(rondo_task_desc){ .name = "trsm",
                                              .fn = trsm,
                                              RONDO_ARG(op),
                                              .priority = 2,
                                              .cost_ns = ns[TRSM],
                                              RONDO_ACCESSES(rondo_read(l, tile(k, k)),
                                                             rondo_read_write(l, tile(i, k))) });
    }
}

/* What column k takes off tile (i, j). A tile is updated by one column after the other, in the
 * order of recording, because each update reads and writes it: so every schedule computes the same
 * bits. (RONDO_COMMUTE instead of rondo_read_write would leave that order to Rondo.) */
static void record_update(struct solver *s, rondo_subgraph graph, rondo_slot l, int64_t k,
                          int64_t i, int64_t j, const double ns[KERNELS])
{
    const struct matrix *m = s->matrix;
    struct operands op = { .b = m->tile,
                           .first = matrix_tile_number(m, i, k),
                           .second = matrix_tile_number(m, j, k),
                           .target = matrix_tile_number(m, i, j) };
    if (i == j)
        rondo_record_task(graph,
                          &(rondo_task_desc){ .name = "syrk",
                                              .fn = syrk,
                                              RONDO_ARG(op),
                                              .priority = 1,
                                              .cost_ns = ns[SYRK],
                                              RONDO_ACCESSES(rondo_read(l, tile(i, k)),
                                                             rondo_read_write(l, tile(i, i))) });
    else
        rondo_record_task(
            graph,
            &(rondo_task_desc){ .name = "gemm",
                                .fn = gemm,
                                RONDO_ARG(op),
                                .cost_ns = ns[GEMM],
                                RONDO_ACCESSES(rondo_read(l, tile(i, k)), rondo_read(l, tile(j, k)),
                                               rondo_read_write(l, tile(i, j))) });
}

static rondo_slot record_factor(struct solver *s, rondo_subgraph graph, const double ns[KERNELS])
{
    rondo_slot l = rondo_subgraph_slot(graph, &(rondo_slot_desc){ .name = "L", .buffer = s->l });
    for (int64_t k = 0; k < s->matrix->tiles; k++) {
        record_panel(s, graph, l, k, ns);
        for (int64_t i = k + 1; i < s->matrix->tiles; i++)
            for (int64_t j = k + 1; j <= i; j++)
                record_update(s, graph, l, k, i, j, ns);
    }
    return l;
}

/* The tiles of A + shift I: copies, and on the diagonal tasks that add the parameter. */
static void record_loads(struct solver *s, rondo_subgraph graph, rondo_slot a, rondo_slot l)
{
    const struct matrix *m = s->matrix;
    for (int64_t i = 0; i < m->tiles; i++) {
        for (int64_t j = 0; j < i; j++)
            rondo_record_copy(graph, &(rondo_move_desc){ .name = "load",
                                                         .from = rondo_read(a, tile(i, j)),
                                                         .to = rondo_write(l, tile(i, j)) });
        int64_t left = m->n - i * m->tile;
        struct operands op = { .b = m->tile,
                               .target = matrix_tile_number(m, i, i),
                               .rows = left < m->tile ? left : m->tile };
        rondo_record_task(graph, &(rondo_task_desc){ .name = "load",
                                                     .fn = load,
                                                     RONDO_ARG(op),
                                                     RONDO_PARAMS(s->shift),
                                                     RONDO_ACCESSES(rondo_read(a, tile(i, i)),
                                                                    rondo_write(l, tile(i, i))) });
    }
}

/* Reads the diagonal tiles only, one access each: in a pipelined exec the others may be loaded anew
 * before this node has run. */
static int record_logdet(struct solver *s, rondo_subgraph graph, rondo_slot l)
{
    int64_t tiles = s->matrix->tiles;
    rondo_slot value =
        rondo_subgraph_slot(graph, &(rondo_slot_desc){ .name = "logdet", .buffer = s->logdet });
    rondo_access *access = malloc((size_t)(tiles + 1) * sizeof *access);
    if (!access) {
        fprintf(stderr, "cholesky: out of memory\n");
        return -1;
    }
    for (int64_t k = 0; k < tiles; k++)
        access[k] = rondo_read(l, tile(k, k));
    access[tiles] = rondo_read_write(value, rondo_whole());
    rondo_record_task(graph, &(rondo_task_desc){ .name = "logdet",
                                                 .fn = logdet,
                                                 RONDO_ARG(s->matrix),
                                                 .accesses = access,
                                                 .access_count = (uint32_t)tiles + 1 });
    free(access);
    return 0;
}

/* A recording can hold another: all nodes of `factor`, its slot L filled by this one's. */
static int record_sweep(struct solver *s, rondo_subgraph graph, rondo_subgraph factor,
                        rondo_slot factor_l)
{
    rondo_slot a = rondo_subgraph_slot(graph, &(rondo_slot_desc){ .name = "A", .buffer = s->a });
    rondo_slot l = rondo_subgraph_slot(graph, &(rondo_slot_desc){ .name = "L", .buffer = s->l });
    s->shift = rondo_subgraph_param(graph, "shift", sizeof(double), NULL);
    record_loads(s, graph, a, l);
    rondo_slot_map map = { .inner = factor_l, .outer = l };
    rondo_record_subgraph(graph, factor,
                          &(rondo_inner_desc){ .name = "factor", .map = &map, .map_count = 1 });
    return record_logdet(s, graph, l);
}

/* ---- opening */

/* A subgraph is data; an exec is what can be replayed. How it is scheduled is chosen here:
 *
 * - static: lanes of nodes, placed by their costs; what runs where is known before the first replay
 * - dataflow: a node goes to whichever processor is free when it becomes ready
 * - auto: live replays are timed in both of these ways, on one lane and interpreted, and the best
 *   is kept */
static int make_execs(struct solver *s, rondo_subgraph factor, rondo_subgraph sweep)
{
    static const uint32_t schedules[FACTORS] = { RONDO_STATIC, RONDO_DATAFLOW,
                                                 RONDO_SCHEDULE_AUTO };
    static const uint32_t orders[SWEEPS] = { RONDO_SERIAL, RONDO_PIPELINED };
    for (int i = 0; i < FACTORS; i++)
        if (rondo_instantiate(factor, &(rondo_instantiate_options){ .schedule = schedules[i] },
                              &s->factor[i]))
            return -1;
    for (int i = 0; i < SWEEPS; i++) {
        rondo_instantiate_options options = { .schedule = RONDO_DATAFLOW, .order = orders[i] };
        if (rondo_instantiate(sweep, &options, &s->sweep[i]))
            return -1;
    }
    return 0;
}

static int make_buffers(struct solver *s, double *l)
{
    const struct matrix *m = s->matrix;
    rondo_shape tiles = { .elem_bytes = (size_t)(m->tile * m->tile) * sizeof(double),
                          .extent = { m->tiles, m->tiles } };
    /* `host`: memory that is there already. */
    rondo_buffer_desc a = { .name = "A", .shape = tiles, .host = m->tiled };
    rondo_buffer_desc factor = { .name = "L", .shape = tiles, .host = l };
    rondo_buffer_desc values = { .name = "logdet",
                                 .shape = { .elem_bytes = sizeof(double), .extent = { SHIFTS } } };
    return rondo_buffer_create(s->runtime, &a, &s->a) ||
           rondo_buffer_create(s->runtime, &factor, &s->l) ||
           rondo_buffer_create(s->runtime, &values, &s->logdet);
}

/* A runtime takes a list of CPUs, each of which gets a worker. */
static int open_runtime(struct solver *s)
{
    char *cpus = ways_cpu_list(s->workers);
    if (!cpus) {
        fprintf(stderr, "cholesky: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status = rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &s->runtime);
    free(cpus);
    return status ? complain() : 0;
}

int solver_open(struct solver *s, const struct matrix *matrix, double *l, uint32_t workers,
                const double ns[KERNELS])
{
    *s = (struct solver){ .matrix = matrix, .workers = workers };
    rondo_subgraph factor = { 0 }, sweep = { 0 };
    if (open_runtime(s))
        return -1;
    if (make_buffers(s, l) ||
        rondo_subgraph_create(s->runtime, &(rondo_subgraph_desc){ .name = "cholesky" }, &factor) ||
        rondo_subgraph_create(s->runtime, &(rondo_subgraph_desc){ .name = "sweep" }, &sweep))
        return complain();
    rondo_slot factor_l = record_factor(s, factor, ns);
    if (record_sweep(s, sweep, factor, factor_l))
        return -1;
    /* What the recording calls had to complain about comes out of rondo_instantiate. */
    int failed = make_execs(s, factor, sweep) ? complain() : 0;
    rondo_subgraph_destroy(factor); /* the execs own copies of all they need */
    rondo_subgraph_destroy(sweep);
    return failed;
}

void solver_close(struct solver *s)
{
    if (!s->runtime.id)
        return;
    /* Closing destroys what was made in the runtime. */
    if (rondo_runtime_close(s->runtime))
        complain();
    s->runtime.id = 0;
}

/* ---- replaying */

/* A replay's failure comes with the node's name and what its task said; a call's own with
 * rondo_error_message alone. */
static int failed(const rondo_result *result)
{
    if (!result->status)
        return complain();
    fprintf(stderr, "cholesky: replay %" PRIu64 ", node '%s': %s\n", result->replay, result->node,
            result->message);
    return -1;
}

int solver_factor(struct solver *s, int which, uint32_t mode)
{
    rondo_exec exec = s->factor[which];
    rondo_result result = { 0 };
    if (rondo_exec_set_mode(exec, mode)) /* nothing is rebuilt */
        return complain();
    return rondo_replay_and_wait(exec, NULL, -1, &result) ? failed(&result) : 0;
}

/* Same structure, new values. In one call replay k of it takes the k-th shift; in a pipelined exec
 * the first columns of the next matrix are loaded and factored while the last ones of this are not
 * done, because only the tiles order them. */
int solver_sweep(struct solver *s, int which, int one_call, const double shift[SHIFTS],
                 double logdets[SHIFTS])
{
    rondo_value value = { .param = s->shift, .value = shift, .stride_bytes = sizeof *shift };
    rondo_replay_args args = { .values = &value, .value_count = 1, .count = one_call ? SHIFTS : 1 };
    rondo_result result = { 0 };
    for (int k = 0; k < SHIFTS; k += (int)args.count) {
        value.value = shift + k;
        if (rondo_replay_and_wait(s->sweep[which], &args, -1, &result))
            return failed(&result);
    }
    void *host; /* between replays the bytes of a buffer are ours */
    if (rondo_buffer_map(s->logdet, RONDO_READ, &host))
        return complain();
    memcpy(logdets, host, SHIFTS * sizeof *logdets);
    return rondo_buffer_unmap(s->logdet) ? complain() : 0;
}

/* ---- looking inside */

/* rondo_exec_describe writes a page; one line of it says what was chosen and why. */
struct schedule_line {
    char text[400];
};

static void keep_schedule(void *context, const char *text)
{
    struct schedule_line *line = context;
    if (!strncmp(text, "schedule: ", 10))
        snprintf(line->text, sizeof line->text, "%s", text + 10);
}

int solver_is_settled(struct solver *s)
{
    struct schedule_line line = { "" };
    rondo_exec_describe(s->factor[FACTOR_AUTO], keep_schedule, &line);
    return !strstr(line.text, "not settled");
}

void solver_print(struct solver *s)
{
    struct schedule_line line = { "" };
    rondo_exec_counts c;
    if (rondo_exec_count(s->factor[FACTOR_STATIC], &c) ||
        rondo_exec_describe(s->factor[FACTOR_AUTO], keep_schedule, &line)) {
        complain();
        return;
    }
    const char *choice = strstr(line.text, "auto: ");
    printf("%" PRIu64 " nodes, %" PRIu64 " edges; static: %" PRIu32 " lanes, %" PRIu64
           " waits kept of the edges, predicted %.0f us\nauto: %s",
           c.nodes, c.edges, c.lanes, c.waits, (double)c.makespan_ns / 1e3,
           choice ? choice + 6 : line.text);
}
