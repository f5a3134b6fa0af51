/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of plan_check. Each says in `why` what is wrong, the first thing only, and returns OK;
 * MEMORY is the only error. None uses the algorithms of the passes. */
#ifndef RD_COMPILE_CHECK_H
#define RD_COMPILE_CHECK_H

#include "compile/passes.h"

struct rd_check {
    const struct rd_graph *graph;
    const struct rd_compile_input *in;
    const struct rd_plan *plan;
    struct rd_scratch scratch;
    uint16_t *lane;    /* by op */
    uint32_t *further; /* by op: its first further wait */
    uint32_t *run;     /* ops in the order in which one replay on its own ran them */
    uint32_t *when;    /* by op: its place in `run` */
    char *why;
    size_t why_bytes;
};

/* Wait k of an op, 0 being the inline one; there are rd_check_waits. */
static inline uint32_t rd_check_waits(const struct rd_check *c, uint32_t op)
{
    const struct rd_op *o = &c->plan->op[op];
    return o->wait ? 1u + o->more : 0;
}
static inline struct rd_wait rd_check_wait(const struct rd_check *c, uint32_t op, uint32_t k)
{
    const struct rd_op *o = &c->plan->op[op];
    if (k)
        return c->plan->wait[c->further[op] + k - 1];
    return (struct rd_wait){ o->wait, o->peer, o->dist, 0 };
}

void rd_check_say(struct rd_check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* check_form.c: lanes, positions, bits, predecessors, waits and publish flags are well-formed. */
rondo_status rd_check_form(struct rd_check *c);
/* check_run.c: runs `replays` replays with at most `window` in flight; every op must find what it
 * depends on done, a replay may only complete when all its ops ran, and all must end. Records `run`
 * and `when` if `record`. */
rondo_status rd_check_run(struct rd_check *c, uint32_t window, uint32_t replays, int record);
/* check_reach.c: every edge is implied by lanes and waits (all, or of sampled nodes), and every op
 * by the sinks. */
rondo_status rd_check_reach(struct rd_check *c);

#endif
