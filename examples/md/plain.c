/* SPDX-License-Identifier: BSD-3-Clause */
/* The time loop on one thread. */
#include "plain.h"

#include "forces.h"

#include <stdio.h>

static int every_cell(const struct system *s, stage_fn *stage)
{
    int status = 0;
    for (int64_t cell = 0; cell < s->cell_count && !status; cell++)
        status = stage(s, cell);
    return status;
}

static int every_block(const struct system *s, stage_fn *stage)
{
    int status = 0;
    for (int64_t b = 0; b < s->block_count && !status; b++)
        status = stage_block(stage, s, &s->block[b]);
    return status;
}

static int loop(struct system *s, int (*every)(const struct system *s, stage_fn *stage),
                int64_t steps, int64_t *done)
{
    int status = 0;
    int64_t t = 0;
    for (; t < steps && !status; t++) {
        status = every(s, integrate_cell);
        if (t % REBUILD == 0 && !status)
            (void)((status = every(s, leave_cell)) || (status = every(s, arrive_cell)) ||
                   (status = every(s, pair_cell)));
        if (!status)
            (void)((status = every(s, force_cell)) || (status = every(s, kick_cell)));
        if (t % REBUILD == REBUILD - 1 && !status && measure_all(s))
            steps = stop_after(t, steps);
    }
    *done = t;
    if (!status)
        return 0;
    fprintf(stderr, "md: step %lld: %s\n", (long long)t - 1, stage_reason(status));
    return -1;
}

int plain_loop(struct system *s, int64_t steps, int64_t *done)
{
    return loop(s, every_cell, steps, done);
}

int plain_blocks(struct system *s, int64_t steps, int64_t *done)
{
    return loop(s, every_block, steps, done);
}
