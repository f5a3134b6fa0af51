/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: execs that share one series, so that their replays have one numbering and a change from
 * one to another is a serial boundary. */
#include "src/exec/exec.h"

static rondo_status check(const rondo_instantiate_options *o, uint32_t count)
{
    if (!count || count > RD_GROUP_MOST)
        return rd_error(RONDO_ERR_INVALID, "group: %u subgraphs, from 1 to %d are possible", count,
                        RD_GROUP_MOST);
    if (o->order == RONDO_CONCURRENT)
        return rd_error(RONDO_ERR_INVALID,
                        "group: replays that alternate cannot be RONDO_CONCURRENT");
    if (o->schedule == RONDO_DATAFLOW)
        return rd_error(RONDO_ERR_INVALID, "group: its schedule is static, not RONDO_DATAFLOW");
    if (o->profile)
        return rd_error(RONDO_ERR_INVALID, "group: profile is %u, groups are placed by cost_ns",
                        o->profile);
    return RONDO_OK;
}

static void end(struct rd_exec *x)
{
    if (x->id)
        rd_exec_destroy((rondo_exec){ x->id });
    else
        rd_exec_unref(x);
}

rondo_status rd_exec_new_group(struct rd_subgraph *const *subgraphs, uint32_t count,
                               const rondo_instantiate_options *options, struct rd_exec **execs)
{
    rondo_instantiate_options o = *options;
    struct rd_series *series = NULL;
    uint32_t made = 0;
    rondo_status status = check(options, count);
    o.schedule = RONDO_STATIC;
    while (made < count && !status) {
        struct rd_subgraph *g = subgraphs[made];
        if (g->rt != subgraphs[0]->rt)
            status =
                rd_error(RONDO_ERR_INVALID, "group: subgraph '%s' is of another runtime than '%s'",
                         g->name, subgraphs[0]->name);
        else
            status = rd_exec_new(g, &o, series, &execs[made]);
        if (status)
            break;
        series = execs[made]->series;
        execs[made++]->in_group = count > 1;
    }
    for (uint32_t i = 0; i < made && !status; i++)
        status = rd_exec_publish(execs[i]);
    for (uint32_t i = 0; i < made && status; i++)
        end(execs[i]);
    return status;
}
