/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of replays, as users see it. */
#include "src/exec/exec.h"

#include <string.h>

uint64_t rd_exec_ended(struct rd_exec *x) { return rd_load_acquire(&x->series->all->done); }

rondo_event rd_exec_latest(const struct rd_exec *x)
{
    const struct rd_series *s = x->series;
    return (rondo_event){ rd_source_id(s->all), RD_WORD_TICKET(rd_load_acquire(&s->word)) };
}

rondo_status rd_exec_result(struct rd_exec *x, struct rd_source *s, uint64_t count,
                            rondo_result *result)
{
    uint32_t which = rd_load_relaxed(&s->track); /* written before the exec's id */
    uint64_t done = rd_load_acquire(&s->done), replay = count - 1, latest = done - 1;
    if (!rd_series_has(x->series, s))
        return rd_error(RONDO_ERR_INVALID, "exec '%s': the event is a node's, not a replay's",
                        x->program.exec_name);
    if (which != RD_SOURCE_ALL && x->tracks > 1) {
        replay = replay * x->tracks + which;
        latest = latest * x->tracks + which;
    }
    return rd_failures_result(&x->series->failures, &x->program, replay, latest, result);
}

void rd_result_success(uint64_t end, rondo_result *result)
{
    memset(result, 0, sizeof *result);
    result->replay = end - 1;
    result->replays_run = end;
}

rondo_status rd_exec_result_of(struct rd_exec *x, uint64_t first, uint64_t end,
                               rondo_result *result)
{
    rondo_status status = RONDO_OK;
    rd_result_success(end, result);
    if (!rd_load_relaxed(
            &x->series->failures.bad)) { /* nothing ever failed; the replays' end was acquired */
        rd_failures_times(&x->series->failures, result);
        return RONDO_OK;
    }
    for (uint64_t r = first; r < end && !status; r++) {
        if (rd_failures_result(&x->series->failures, &x->program, r, end - 1, result))
            result->status = RONDO_OK; /* too long ago to be kept: it did not fail lately */
        status = result->status;
    }
    return status;
}
