/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: after the first replays, interpreted and timed node by node, the nodes are placed by
 * the costs that were measured. */
#include "src/exec/exec.h"

#include <stdio.h>

static uint32_t cost_of(struct rd_exec *x, uint32_t node, uint32_t given)
{
    struct rd_node_times times;
    uint64_t mean;
    rd_stats_read(&x->stats, node, &times);
    if (!times.runs)
        return given;
    mean = times.sum_ns / times.runs;
    return mean < 1 ? 1 : mean > UINT32_MAX ? UINT32_MAX : (uint32_t)mean;
}

void rd_exec_place_anew(struct rd_exec *x)
{
    enum rd_core_kind kind = x->schedule == RONDO_DATAFLOW ? RD_CORE_FLOW : RD_CORE_LANES;
    struct rd_core *core = NULL, *old;
    pthread_mutex_lock(&x->placing);
    if (!x->profile) { /* another thread did it */
        pthread_mutex_unlock(&x->placing);
        return;
    }
    for (uint32_t v = 0; v < x->program.nodes; v++)
        x->recipe.cost[v] = cost_of(x, v, x->recipe.cost[v]);
    if (!rd_exec_make_core(x, kind, kind == RD_CORE_FLOW, &core) && rd_core_start(core)) {
        snprintf(x->placed, sizeof x->placed, "by the mean costs of %u timed replays", x->profile);
    } else {
        if (core)
            rd_core_free(core);
        core = NULL;
        snprintf(x->placed, sizeof x->placed, "by cost_ns: no plan by measured costs: %.40s",
                 rd_error_text());
    }
    pthread_mutex_lock(&x->lock);
    old = x->chosen;
    if (core)
        x->chosen = core;
    x->timed = x->timed_always;
    x->profile = 0;
    x->unsettled = x->tuner != NULL;
    pthread_mutex_unlock(&x->lock);
    rd_exec_choose(x, x->mode == RONDO_INTERPRETED);
    if (core && kind == RD_CORE_LANES)
        rd_core_replace(old, core);
    pthread_mutex_unlock(&x->placing);
}
