/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of plan_check. Each says in `why` what is wrong, the first thing only, and returns OK;
 * MEMORY is the only error. None uses the algorithms of the passes. */
#ifndef RD_COMPILE_CHECK_H
#define RD_COMPILE_CHECK_H

#include "compile/passes.h"

/* The edges of a variant of the graph, and the plan's ops and waits for it. Of a graph without
 * variants there is one. */
struct rd_check_variant {
    const uint32_t *first;
    const struct rd_edge *pred;
    const struct rd_op *op;
    const struct rd_wait *wait;
    uint32_t *further; /* by op: its first further wait */
};

struct rd_check {
    const struct rd_graph *graph;
    const struct rd_compile_input *in;
    const struct rd_plan *plan;
    struct rd_scratch scratch;
    struct rd_check_variant *variant;
    uint32_t variants;
    uint16_t *lane; /* by op */
    uint32_t *run;  /* ops in the order in which one replay on its own ran them */
    uint32_t *when; /* by op: its place in `run` */
    char *why;
    size_t why_bytes;
};

/* Wait k of an op, 0 being the inline one; there are rd_check_waits. */
static inline uint32_t rd_check_waits(const struct rd_check_variant *v, uint32_t op)
{
    return v->op[op].wait ? 1u + v->op[op].more : 0;
}
static inline struct rd_wait rd_check_wait(const struct rd_check_variant *v, uint32_t op,
                                           uint32_t k)
{
    const struct rd_op *o = &v->op[op];
    return k ? v->wait[v->further[op] + k - 1] : (struct rd_wait){ o->wait, o->peer, o->dist, 0 };
}

void rd_check_say(struct rd_check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* check_form.c: lanes, positions, bits, predecessors, waits and publish flags are well-formed. */
rondo_status rd_check_form(struct rd_check *c);
/* check_run.c: runs `replays` replays with at most `window` in flight, each in the variant of its
 * phase; every op must find what it depends on done, a replay may only complete when all its ops
 * ran, and all must end. */
rondo_status rd_check_run(struct rd_check *c, uint32_t window, uint32_t replays);
/* Runs one replay of variant v on its own and records `run` and `when`. */
rondo_status rd_check_run_once(struct rd_check *c, uint32_t v);
/* check_reach.c: every edge of variant v is implied by lanes and waits (all, or of sampled nodes),
 * and every op by the sinks. Of several variants only the waits of the replay itself count: the
 * replays before may have been of any. `run` is of v. */
rondo_status rd_check_reach(struct rd_check *c, uint32_t v);
/* check_sets.c: the nodes of a lane have the same external nodes before them in variant v. `run` is
 * of v. */
rondo_status rd_check_sets(struct rd_check *c, uint32_t v);

#endif
