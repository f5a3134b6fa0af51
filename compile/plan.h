/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of the compile passes: lanes of ops. Plain data, no threads, no addresses but the
 * functions and arguments that the exec fills in. */
#ifndef RD_COMPILE_PLAN_H
#define RD_COMPILE_PLAN_H

#include "src/base/alloc.h"

#include <rondo/base.h>
#include <rondo/task.h>

enum { RD_LANES_MAX = 65535, RD_POSITION_MAX = 0x7fffffff };

/* One op of a lane. `wait` and `publish` are position + 1 in their lane, 0: none. */
struct rd_op {
    rondo_task_fn *fn;
    const void *arg;
    uint32_t wait;    /* may start when the peer has published this in replay - dist */
    uint16_t peer;    /* lane waited for */
    uint8_t dist;     /* replays back */
    uint8_t more;     /* further waits, in the lane's wait list */
    uint32_t publish; /* another lane waits for this op. Never set on the lane's last: its end
                         publishes */
    uint32_t node;
};

/* A further wait of an op. */
struct rd_wait {
    uint32_t wait;
    uint16_t peer;
    uint8_t dist, zero;
};

struct rd_plan_lane {
    uint32_t first;                  /* its ops are op[first .. first + length) */
    uint32_t length;                 /* at least 1 */
    uint32_t wait_first, wait_count; /* its further waits, in op order */
    uint32_t processor; /* ascending; several lanes of one where nodes may block: see lanes.c */
    uint32_t
        bit_first; /* bad bits are bit_first + position; a multiple of 512: no shared cache line */
    int sink;      /* a virtual END would wait for this lane */
};

/* The waits of replays in another phase than those of variant 0. The same ops at the same
 * positions, with the same publish flags. */
struct rd_plan_variant {
    struct rd_op *op;
    struct rd_wait *wait;
    uint32_t *wait_first; /* by lane: where its further waits begin in `wait` */
    uint64_t further_waits;
};

/* Predecessors within a replay, by node, dropped ones included: pred[first[v] .. first[v + 1]) are
 * bad-bit numbers. */
struct rd_plan_preds {
    uint32_t *first, *pred;
};

struct rd_plan {
    uint32_t nodes, lanes, sinks;
    uint32_t distance; /* largest carried distance */
    uint32_t bits;     /* bad bits in all, a multiple of 512 */
    struct rd_plan_lane *lane;
    struct rd_op *op;     /* nodes of them, lane after lane */
    struct rd_wait *wait; /* further waits, lane after lane */
    uint32_t *op_of_node; /* index in op */
    /* Replay n (of those executed) is in phase n % phases. 1 phase: no variants but op and wait
     * above, which are variant 0's. */
    uint32_t phases, variants;
    uint16_t *variant_of_phase;
    struct rd_plan_variant *variant; /* variants 1 to variants - 1, at index - 1 */
    /* As rd_plan_preds: of a plan with variants the union over them. */
    uint32_t *pred_first, *pred;
    struct rd_plan_preds *own;     /* by variant, variant 0's too; NULL with less than two */
    uint64_t edges, carried_edges; /* of the graph: the union */
    uint64_t wait_count;           /* kept, the ops' own and further ones; variant 0's */
    uint64_t further_waits;        /* length of wait */
    uint64_t makespan_ns, work_ns; /* the placement's prediction, and the sum of the costs */
    uint64_t bytes;                /* of everything above */
};

void rd_plan_free(struct rd_allocator *a, struct rd_plan *plan); /* may be NULL */
/* A node's predecessors in a replay of that variant, as bad-bit numbers; how many comes back. */
static inline uint32_t rd_plan_preds_of(const struct rd_plan *plan, uint32_t variant, uint32_t node,
                                        const uint32_t **pred)
{
    const uint32_t *first = plan->own ? plan->own[variant].first : plan->pred_first;
    *pred = (plan->own ? plan->own[variant].pred : plan->pred) + first[node];
    return first[node + 1] - first[node];
}
/* The lane of an op, by binary search. */
uint32_t rd_plan_lane_of_op(const struct rd_plan *plan, uint32_t op);

#endif
