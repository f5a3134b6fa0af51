/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs a processor to take another's results, beside the time they are on their way: it
 * reads the other's counter, a line that the other has written since, and stands still meanwhile.
 * Half a hand-over, unless it stood waiting for that line anyway. One look shows all that the other
 * has done so far, so what comes soon after costs nothing.
 *
 * Only worth while where such looks are a noticeable part of the work. */
#ifndef RD_COMPILE_TAKE_H
#define RD_COMPILE_TAKE_H

#include "compile/passes.h"

enum { RD_TAKE_PROCESSORS = 1024, RD_TAKE_COSTS = 32 };

struct rd_take {
    uint32_t *seen;   /* [processor][peer]: of the peer's ops; NULL: looks are free */
    uint32_t *ended;  /* by processor: its ops so far */
    uint32_t *number; /* by node: how many ops its processor had ended with it */
};

/* Looks are counted where overheads are (op_ns), and nodes take less than RD_TAKE_COSTS hand-overs.
 */
static inline int rd_take_counts(const struct rd_pass *p)
{
    return p->in->op_ns && p->handover_ns && p->in->processors <= RD_TAKE_PROCESSORS &&
           p->work_ns / RD_TAKE_COSTS < (uint64_t)p->nodes * p->handover_ns;
}

/* 0 when there is no memory. */
static inline int rd_take_init(struct rd_take *t, const struct rd_pass *p, struct rd_scratch *s)
{
    size_t processors = p->in->processors;
    t->seen = NULL;
    if (!rd_take_counts(p))
        return 1;
    t->seen = rd_scratch_zeroed(s, processors * processors, sizeof *t->seen);
    t->ended = rd_scratch_zeroed(s, processors, sizeof *t->ended);
    t->number = rd_scratch_array(s, p->nodes, sizeof *t->number);
    return t->seen && t->ended && t->number;
}

static inline void rd_take_ended(struct rd_take *t, uint32_t node, uint32_t processor)
{
    if (t->seen)
        t->number[node] = ++t->ended[processor];
}

/* How long node v's processor looks before it starts it; `waited`: it had nothing else to do. */
static inline uint64_t rd_take_inputs(struct rd_take *t, const struct rd_pass *p, uint32_t v,
                                      const uint16_t *on, int waited)
{
    const struct rd_graph *g = p->graph;
    uint64_t looks = 0;
    if (!t->seen)
        return 0;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint32_t u = g->pred[e].from;
        uint32_t *seen = &t->seen[(size_t)on[v] * p->in->processors + on[u]];
        if (g->pred[e].distance || on[u] == on[v] || *seen >= t->number[u])
            continue;
        *seen = t->ended[on[u]];
        looks++;
    }
    return waited ? 0 : looks * (p->handover_ns / 2);
}

#endif
