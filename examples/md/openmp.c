/* SPDX-License-Identifier: BSD-3-Clause */
/* The time loop with OpenMP, as its users write it: tasks with dependences, and loops with as few
 * barriers as are needed. */
#include "plain.h"

#ifdef _OPENMP

#include "forces.h"

#include <stdio.h>
#include <stdlib.h>

static int complain(int status)
{
    if (status)
        fprintf(stderr, "md: OpenMP: %s\n", stage_reason(status));
    return status ? -1 : 0;
}

/* A stage of some cell has failed; looked at where all have ended. */
static void note(int *failed, int status)
{
    if (!status)
        return;
#pragma omp atomic write
    *failed = status;
}

/* ---- tasks. Dependences name a byte per block and array: `at` stands for members and home too,
 * which are written with it. */

struct tokens {
    char at, velocity, force, leaving, pairs;
    int near_count, near[NEAR]; /* the blocks around, itself among them */
};

static void find_near_blocks(const struct system *s, struct tokens *token)
{
    for (int64_t b = 0; b < s->block_count; b++) {
        const int64_t x = b % s->blocks[0], y = b / s->blocks[0] % s->blocks[1],
                      z = b / s->blocks[0] / s->blocks[1];
        for (int k = 0; k < NEAR; k++) {
            int64_t nx = (x + k % 3 - 1 + s->blocks[0]) % s->blocks[0];
            int64_t ny = (y + k / 3 % 3 - 1 + s->blocks[1]) % s->blocks[1];
            int64_t nz = (z + k / 9 - 1 + s->blocks[2]) % s->blocks[2];
            int near = (int)((nz * s->blocks[1] + ny) * s->blocks[0] + nx), known = 0;
            for (int i = 0; i < token[b].near_count; i++)
                known |= token[b].near[i] == near;
            if (!known)
                token[b].near[token[b].near_count++] = near;
        }
    }
}

#define NEAR_BLOCKS(b) iterator(int k = 0 : token[b].near_count)

static void rebuild_tasks(const struct system *s, struct tokens *token, int *failed)
{
    const int64_t blocks = s->block_count;
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(in : token[b].at, token[b].velocity) depend(out : token[b].leaving)
        note(failed, stage_block(leave_cell, s, &s->block[b]));
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(NEAR_BLOCKS(b), in                 \
                        : token[token[b].near[k]].leaving) \
    depend(out                                             \
           : token[b].at, token[b].velocity)
        note(failed, stage_block(arrive_cell, s, &s->block[b]));
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(NEAR_BLOCKS(b), in                       \
                        : token[token[b].near[k]].at) depend(out \
                                                             : token[b].pairs)
        note(failed, stage_block(pair_cell, s, &s->block[b]));
}

static void step_tasks(const struct system *s, struct tokens *token, int rebuild, int *failed)
{
    const int64_t blocks = s->block_count;
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(inout : token[b].at, token[b].velocity) depend(in : token[b].force)
        note(failed, stage_block(integrate_cell, s, &s->block[b]));
    if (rebuild)
        rebuild_tasks(s, token, failed);
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(NEAR_BLOCKS(b), in                                     \
                        : token[token[b].near[k]].at) depend(in                \
                                                             : token[b].pairs) \
    depend(out                                                                 \
           : token[b].force)
        note(failed, stage_block(force_cell, s, &s->block[b]));
    for (int64_t b = 0; b < blocks; b++)
#pragma omp task depend(inout : token[b].velocity) depend(in : token[b].force)
        note(failed, stage_block(kick_cell, s, &s->block[b]));
}

int openmp_tasks(struct system *s, int threads, int64_t steps, int64_t *done)
{
    struct tokens *token = calloc((size_t)s->block_count, sizeof *token);
    int failed = 0;
    int64_t t = 0;
    if (!token) {
        fprintf(stderr, "md: out of memory\n");
        return -1;
    }
    find_near_blocks(s, token);
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (; t < steps; t++) {
        step_tasks(s, token, t % REBUILD == 0, &failed);
        if (t % REBUILD == REBUILD - 1) {
#pragma omp taskwait
            if (failed)
                steps = 0;
            else if (measure_all(s))
                steps = stop_after(t, steps);
        }
    }
    *done = t;
    free(token);
    return complain(failed);
}

/* ---- loops. All have the same bounds and schedule, so a thread has the same cells in each: from
 * the kick to the next step nobody needs to wait. */

static void every_cell(const struct system *s, stage_fn *stage, int *failed)
{
#pragma omp for schedule(static)
    for (int64_t cell = 0; cell < s->cell_count; cell++)
        note(failed, stage(s, cell));
}

static void every_cell_nowait(const struct system *s, stage_fn *stage, int *failed)
{
#pragma omp for schedule(static) nowait
    for (int64_t cell = 0; cell < s->cell_count; cell++)
        note(failed, stage(s, cell));
}

int openmp_for(struct system *s, int threads, int64_t steps, int64_t *done)
{
    int failed = 0;
    int64_t end = steps; /* written in `single`, read after its barrier */
#pragma omp parallel num_threads(threads)
    for (int64_t t = 0; t < end; t++) {
        every_cell(s, integrate_cell, &failed);
        if (t % REBUILD == 0) {
            every_cell_nowait(s, leave_cell, &failed);
#pragma omp barrier
            every_cell(s, arrive_cell, &failed);
            every_cell(s, pair_cell, &failed);
        }
        every_cell(s, force_cell, &failed);
        every_cell_nowait(s, kick_cell, &failed);
        if (t % REBUILD == REBUILD - 1) {
#pragma omp barrier
#pragma omp single
            if (failed)
                end = 0;
            else if (measure_all(s))
                end = stop_after(t, end);
        }
    }
    *done = end;
    return complain(failed);
}

#else
typedef int openmp_is_not_built_in;
#endif
