/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams in the global order. A rank's op is not over before all ranks have come to theirs, so two
 * lanes that came to two teams in different orders would wait for each other for ever. All ranks of
 * a team are therefore moved to where the last of them stands. That is a linear order of the graph
 * again: a rank only goes back, what it waits for stays in front of it; and what waits for it waits
 * for all ranks, so it stands behind the last one. */
#include "compile/passes.h"

#include <string.h>

enum { NONE = -1 };

rondo_status rd_together(struct rd_pass *p, struct rd_placement *placement)
{
    struct rd_scratch *s = &p->scratch;
    const uint32_t *team = p->in->team;
    uint32_t *left = rd_scratch_zeroed(s, p->nodes, sizeof *left); /* ranks to come, by team */
    uint32_t *rank = rd_scratch_array(s, p->nodes, sizeof *rank);  /* the one before, by rank */
    uint32_t *last = rd_scratch_array(s, p->nodes, sizeof *last);  /* by team */
    uint32_t *order = rd_scratch_array(s, p->nodes, sizeof *order), count = 0;
    if (!left || !rank || !last || !order)
        return rd_pass_memory();
    memset(last, NONE, p->nodes * sizeof *last);
    for (uint32_t v = 0; v < p->nodes; v++)
        left[team[v]]++;
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = placement->ids ? i : placement->order[i], t = team[v];
        rank[v] = last[t];
        last[t] = v;
        if (--left[t])
            continue;
        for (v = last[t]; v != (uint32_t)NONE; v = rank[v])
            order[count++] = v;
    }
    placement->order = order;
    placement->ids = 0;
    return RONDO_OK;
}
