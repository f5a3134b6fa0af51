/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the heat loop in each of its ways, by turns, so that a machine whose speed changes is unfair
 * to none, and compares the results bit for bit. */
#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const row_names[ROWS] = {
    [ROW_PLAIN] = "plain serial loop",
    [ROW_OPENMP] = "OpenMP parallel for",
    [ROW_TILES] = "tiles in order",
    [ROW_INTERPRETED] = "Rondo interpreted",
    [ROW_SERIAL] = "Rondo compiled serial",
    [ROW_PIPELINED] = "Rondo compiled pipelined",
    [ROW_DEVICE_INTERPRETED] = "Rondo device interpreted",
    [ROW_DEVICE] = "Rondo device compiled",
    [ROW_MIXED] = "Rondo device and CPUs",
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the rows without Rondo */

static void plain_loop(struct bench *bench, int64_t steps)
{
    int64_t nx = bench->initial.nx, ny = bench->initial.ny;
    for (int64_t i = 0; i < steps; i++)
        relax(bench->grid[i % 2].v, bench->grid[(i + 1) % 2].v, nx, 1, 1, nx - 2, ny - 2,
              step_length(i));
}

/* Part `i` of `parts` of `count` points, sizes differing by at most one and larger ones first: the
 * tiles that rondo_record_for makes. */
static int64_t part(int64_t count, int64_t parts, int64_t i, int64_t *size)
{
    int64_t least = count / parts, larger = count % parts;
    *size = least + (i < larger);
    return i * least + (i < larger ? i : larger);
}

/* The bodies alone, on one thread: what a step costs beyond this is overhead. */
static void tiles_in_order(struct bench *bench, int64_t steps)
{
    const struct settings *set = &bench->settings;
    int64_t nx = bench->initial.nx, ny = bench->initial.ny;
    for (int64_t i = 0; i < steps; i++)
        for (int64_t ty = 0; ty < set->tiles_y; ty++)
            for (int64_t tx = 0; tx < set->tiles_x; tx++) {
                int64_t width, height, x = 1 + part(nx - 2, set->tiles_x, tx, &width);
                int64_t y = 1 + part(ny - 2, set->tiles_y, ty, &height);
                relax(bench->grid[i % 2].v, bench->grid[(i + 1) % 2].v, nx, x, y, width, height,
                      step_length(i));
            }
}

#ifdef _OPENMP
/* As its users write it: bands of rows, a barrier after each step. */
static void openmp_loop(struct bench *bench, int64_t steps)
{
    int64_t nx = bench->initial.nx, ny = bench->initial.ny;
    int threads = (int)bench->threads;
#pragma omp parallel num_threads(threads)
    for (int64_t i = 0; i < steps; i++) {
        const float *in = bench->grid[i % 2].v;
        float *out = bench->grid[(i + 1) % 2].v;
        float dt = step_length(i);
#pragma omp for schedule(static)
        for (int64_t y = 1; y < ny - 1; y++)
            relax(in, out, nx, 1, y, nx - 2, 1, dt);
    }
}
#endif

/* ---- one repetition of one row */

static int reset(struct bench *bench, enum row_kind kind)
{
    if (kind >= ROW_INTERPRETED)
        return solver_reset(&bench->solver, &bench->initial);
    for (int i = 0; i < 2; i++)
        memcpy(bench->grid[i].v, bench->initial.v, field_bytes(&bench->initial));
    return 0;
}

static enum solver_exec exec_of(enum row_kind kind)
{
    switch (kind) {
    case ROW_PIPELINED: return EXEC_PIPELINED;
    case ROW_DEVICE_INTERPRETED:
    case ROW_DEVICE: return EXEC_DEVICE;
    case ROW_MIXED: return EXEC_MIXED;
    default: return EXEC_SERIAL;
    }
}

static int run_steps(struct bench *bench, enum row_kind kind, int64_t steps)
{
    switch (kind) {
    case ROW_PLAIN: plain_loop(bench, steps); return 0;
    case ROW_TILES: tiles_in_order(bench, steps); return 0;
#ifdef _OPENMP
    case ROW_OPENMP: openmp_loop(bench, steps); return 0;
#endif
    default:
        return solver_run(&bench->solver, exec_of(kind),
                          kind == ROW_INTERPRETED || kind == ROW_DEVICE_INTERPRETED
                              ? RONDO_INTERPRETED
                              : RONDO_COMPILED,
                          steps);
    }
}

static int fetch(struct bench *bench, enum row_kind kind)
{
    if (kind >= ROW_INTERPRETED)
        return solver_result(&bench->solver, exec_of(kind), &bench->result);
    memcpy(bench->result.v, bench->grid[bench->settings.steps % 2].v, field_bytes(&bench->result));
    return 0;
}

/* The first row's checksum is the one that counts. */
static int compare(struct bench *bench, enum row_kind kind)
{
    uint64_t sum = field_checksum(bench->result.v, field_bytes(&bench->result));
    bench->rows[kind].checksum = sum;
    if (sum == bench->rows[ROW_PLAIN].checksum)
        return 0;
    fprintf(stderr, "heat: %s: checksum %016" PRIx64 ", the %s has %016" PRIx64 "\n",
            row_names[kind], sum, row_names[ROW_PLAIN], bench->rows[ROW_PLAIN].checksum);
    return -1;
}

static int run_row(struct bench *bench, enum row_kind kind)
{
    struct row *row = &bench->rows[kind];
    if (reset(bench, kind))
        return -1;
    int64_t begin = now_ns();
    if (run_steps(bench, kind, bench->settings.steps))
        return -1;
    int64_t ns = now_ns() - begin;
    if (!row->best_ns || ns < row->best_ns)
        row->best_ns = ns;
    return fetch(bench, kind) || compare(bench, kind) ? -1 : 0;
}

static int row_is_there(const struct bench *bench, enum row_kind kind)
{
#ifndef _OPENMP
    if (kind == ROW_OPENMP)
        return 0;
#endif
    return kind < ROW_DEVICE_INTERPRETED || bench->settings.device;
}

/* For people only: nothing is written where stderr is a file or a pipe. */
static void progress(int64_t turn, const struct bench *bench, const char *name)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%*s\r%.*s %" PRId64 "/%" PRId64, 48, "", 30, name, turn,
                bench->settings.repeat);
}

int bench_run(struct bench *bench)
{
    int status = 0;
    for (int64_t turn = 0; turn < bench->settings.repeat && !status; turn++)
        for (enum row_kind kind = 0; kind < ROWS && !status; kind++)
            if (row_is_there(bench, kind)) {
                progress(turn + 1, bench, row_names[kind]);
                status = run_row(bench, kind);
            }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%*s\r", 48, "");
    return status;
}

/* ---- opening */

/* What one tile takes: placement weighs it against the cost of handing results over. */
static double measure_tile(struct bench *bench)
{
    enum { STEPS = 5 };
    int64_t best = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        reset(bench, ROW_TILES);
        int64_t begin = now_ns();
        tiles_in_order(bench, STEPS);
        int64_t ns = now_ns() - begin;
        best = ns < best ? ns : best;
    }
    return (double)best / STEPS / bench->settings.tiles_x / bench->settings.tiles_y;
}

int bench_open(struct bench *bench)
{
    int64_t nx = bench->initial.nx, ny = bench->initial.ny;
    if (field_make(&bench->grid[0], nx, ny) || field_make(&bench->grid[1], nx, ny) ||
        field_make(&bench->result, nx, ny)) {
        fprintf(stderr, "heat: out of memory\n");
        return -1;
    }
    const struct settings *set = &bench->settings;
    struct solver_options options = { .workers = set->workers,
                                      .tiles_x = set->tiles_x,
                                      .tiles_y = set->tiles_y,
                                      .tile_ns = measure_tile(bench),
                                      .device = set->device };
    if (solver_open(&bench->solver, &bench->initial, &options))
        return -1;
    if (rondo_runtime_processors(bench->solver.runtime, &bench->threads)) {
        fprintf(stderr, "heat: %s\n", rondo_error_message());
        return -1;
    }
    return 0;
}

void bench_close(struct bench *bench)
{
    solver_close(&bench->solver);
    field_free(&bench->initial);
    field_free(&bench->grid[0]);
    field_free(&bench->grid[1]);
    field_free(&bench->result);
}
