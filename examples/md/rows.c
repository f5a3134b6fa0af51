/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include "forces.h"
#include "plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const row_names[ROWS] = {
    [ROW_PLAIN] = "plain serial loop",
    [ROW_BLOCKS] = "blocks in order",
    [ROW_TASKS] = "OpenMP tasks",
    [ROW_FOR] = "OpenMP parallel for",
    [ROW_RONDO + EXEC_INTERPRETED] = "Rondo interpreted",
    [ROW_RONDO + EXEC_SERIAL] = "Rondo compiled serial",
    [ROW_RONDO + EXEC_PIPELINED] = "Rondo compiled pipelined",
    [ROW_RONDO + EXEC_CALLS] = "Rondo, a call per step",
    [ROW_RONDO + EXEC_DATAFLOW] = "Rondo dataflow",
    [ROW_RONDO + EXEC_AUTO] = "Rondo auto",
    [ROW_RONDO + EXEC_DEVICE_INTERPRETED] = "Rondo device interpreted",
    [ROW_RONDO + EXEC_DEVICE] = "Rondo device pipelined",
};

int row_is_there(const struct bench *bench, enum row row)
{
#ifndef _OPENMP
    if (row == ROW_TASKS || row == ROW_FOR)
        return 0;
#endif
    return row < ROW_RONDO + EXEC_DEVICE_INTERPRETED || bench->device;
}

/* ---- one run of one row */

/* OpenMP's threads of the way before may go on looking for work for a while, and this way would
 * have to share its CPUs with them. */
static int reset(void *context)
{
    static const struct timespec until_they_sleep = { .tv_nsec = 20000000 };
    struct run *run = context;
    system_copy(&run->bench->live, &run->bench->initial);
    nanosleep(&until_they_sleep, NULL);
    return run->bench->device ? solver_touched(&run->bench->solver) : 0;
}

static int run_row(void *context)
{
    struct run *run = context;
    struct bench *b = run->bench;
    switch (run->row) {
    case ROW_PLAIN: return plain_loop(&b->live, b->steps, &b->now_done);
    case ROW_BLOCKS: return plain_blocks(&b->live, b->steps, &b->now_done);
#ifdef _OPENMP
    case ROW_TASKS: return openmp_tasks(&b->live, (int)b->solver.workers, b->steps, &b->now_done);
    case ROW_FOR: return openmp_for(&b->live, (int)b->solver.workers, b->steps, &b->now_done);
#else
    case ROW_TASKS:
    case ROW_FOR: return -1;
#endif
    default:
        return solver_run(&b->solver, (enum solver_exec)(run->row - ROW_RONDO), b->steps,
                          &b->now_done);
    }
}

static int check(void *context)
{
    struct run *run = context;
    struct bench *b = run->bench;
    const struct watch *w = b->live.watch;
    uint64_t checksum = system_checksum(&b->live);
    if (b->now_done == b->done && checksum == b->checksum && !memcmp(w, &b->watch, sizeof *w))
        return 0;
    fprintf(stderr,
            "md: %s: %" PRId64 " steps, energy %.17g, checksum %016" PRIx64 "; the %s: %" PRId64
            ", %.17g, %016" PRIx64 "\n",
            row_names[run->row], b->now_done, w->last, checksum, row_names[ROW_PLAIN], b->done,
            b->watch.last, b->checksum);
    return -1;
}

struct way bench_way(struct bench *bench, enum row row)
{
    bench->run[row] = (struct run){ bench, row };
    return (struct way){ .name = row_names[row],
                         .reset = reset,
                         .run = run_row,
                         .check = check,
                         .context = &bench->run[row] };
}

int bench_run_once(struct bench *bench, enum row row)
{
    struct way way = bench_way(bench, row);
    return way.reset(way.context) || way.run(way.context) || way.check(way.context) ? -1 : 0;
}

/* ---- opening */

/* Lists and forces at the beginning, which the first step takes as known. */
static int begin(struct system *s)
{
    int status = 0;
    for (int64_t c = 0; c < s->cell_count && !status; c++)
        status = pair_cell(s, c);
    for (int64_t c = 0; c < s->cell_count && !status; c++)
        status = force_cell(s, c);
    if (status)
        fprintf(stderr, "md: at the beginning: %s\n", stage_reason(status));
    return status ? -1 : 0;
}

int bench_open(struct bench *b, const struct system_options *options, uint32_t workers,
               const char *device, int64_t steps)
{
    memset(b, 0, sizeof *b);
    b->device = device;
    b->steps = steps;
    if (system_make(&b->initial, options) || begin(&b->initial) || system_make(&b->live, options) ||
        begin(&b->live) || solver_open(&b->solver, &b->live, workers, device))
        return -1;
    system_copy(&b->live, &b->initial);
    if (plain_loop(&b->live, steps, &b->done))
        return -1;
    b->watch = *b->live.watch;
    b->checksum = system_checksum(&b->live);
    return 0;
}

void bench_close(struct bench *b)
{
    solver_close(&b->solver);
    system_free(&b->live);
    system_free(&b->initial);
}
