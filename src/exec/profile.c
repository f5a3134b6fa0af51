/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: after the first replays, interpreted and timed node by node, the nodes are placed by
 * the costs that were measured. */
#include "src/exec/device.h"
#include "src/exec/tuner.h"

#include <stdio.h>

static uint32_t cost_of(struct rd_exec *x, uint32_t node, uint32_t given)
{
    struct rd_node_times times;
    uint64_t mean;
    rd_stats_read(&x->stats, node, &times);
    if (!times.runs)
        return given;
    mean = times.sum_ns / times.runs;
    if (times.runs > 2) /* one run that was preempted does not count */
        mean = (times.sum_ns - times.max_ns) / (times.runs - 1);
    return mean < 1 ? 1 : mean > UINT32_MAX ? UINT32_MAX : (uint32_t)mean;
}

/* Under `placing`: a core placed by the costs; NULL: the exec goes on as it was placed. */
static struct rd_core *place(struct rd_exec *x, enum rd_core_kind kind, uint32_t replays)
{
    struct rd_core *core = NULL;
    for (uint32_t v = 0; v < x->program.nodes; v++)
        if (!rd_exec_is_member(x, v)) /* its time is its segment's */
            x->recipe.cost[v] = cost_of(x, v, x->recipe.cost[v]);
    if (!rd_exec_make_core(x, kind, kind == RD_CORE_FLOW, &core) && rd_core_start(core)) {
        snprintf(x->placed, sizeof x->placed, "by the mean costs of %u timed replays", replays);
        return core;
    }
    snprintf(x->placed, sizeof x->placed, "by cost_ns: no plan by measured costs: %.40s",
             rd_error_text());
    if (core)
        rd_core_free(core);
    return NULL;
}

void rd_exec_place_anew(struct rd_exec *x)
{
    enum rd_core_kind kind = x->schedule == RONDO_DATAFLOW ? RD_CORE_FLOW : RD_CORE_LANES;
    struct rd_core *core, *old;
    uint32_t replays;
    pthread_mutex_lock(&x->placing);
    replays = rd_load_relaxed(&x->profile); /* written under the lock */
    if (!replays) {                         /* another thread did it */
        pthread_mutex_unlock(&x->placing);
        return;
    }
    core = place(x, kind, replays);
    pthread_mutex_lock(&x->lock);
    old = x->chosen;
    if (core)
        x->chosen = core;
    rd_store_relaxed(&x->timed, x->timed_later);
    rd_store_relaxed(&x->plain, x->plain_later);
    rd_store_relaxed(&x->profile, 0);
    pthread_mutex_unlock(&x->lock);
    rd_store_relaxed(&x->unsettled, rd_tuner_begin(x) != 0);
    rd_exec_choose(x); /* cannot fail: the interpreter is there, if it was asked for */
    if (core && kind == RD_CORE_LANES)
        rd_core_replace(old, core);
    pthread_mutex_unlock(&x->placing);
}
