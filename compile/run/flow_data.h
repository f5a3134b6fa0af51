/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flow consists of: shared by its building and its running. Nodes are numbered as their ops
 * are in the plan. An item, {array, op}, is an op in the replay that uses that array of counts. */
#ifndef RD_COMPILE_RUN_FLOW_DATA_H
#define RD_COMPILE_RUN_FLOW_DATA_H

#include "compile/run/deque.h"
#include "compile/run/flow.h"

enum {
    RD_FLOW_CELLS_MAX = 8192, /* of a deque; what does not fit goes to the lane's own stack */
    RD_FLOW_BATCH = 4,        /* ops taken from the lane's deque at once */
    RD_FLOW_FAN_MIN = 8       /* inputs from which on a node's inputs are summed up */
};
#define RD_FLOW_NO_FAN  UINT32_MAX
#define RD_FLOW_NO_ITEM UINT64_MAX

/* What the loop reads of an op beside the op itself. */
struct rd_flow_node {
    uint32_t succ; /* first entry in `succ`; the end is where the next op's begin */
    /* The one successor that has so many inputs that they are summed up before they are counted;
     * not in `succ`. `nodes`, the END that every sink precedes, for a sink. */
    uint32_t fan;
    uint32_t bit;
    uint16_t bound;   /* lane, or RD_PLACE_ANY */
    uint16_t carries; /* has carried successors */
};

/* A successor, and the number of inputs that make it ready. Of a list the best comes last: the one
 * found ready last runs first. */
struct rd_flow_edge {
    uint32_t op, deps;
};
struct rd_flow_carried {
    uint32_t op, deps, distance;
};

/* A replay that uses an array of counts. Written by whoever starts the replay, before its first
 * item is given to anyone. */
struct rd_flow_use {
    RD_ALIGNED uint64_t replay; /* local */
    struct rd_frame *frame;
    uint32_t times;    /* the array was used, this one included: a count is full at deps * times */
    rd_atomic64 ended; /* local replay + 1: all its nodes have run; kept if not serial */
};

struct rd_flow_pending {
    uint64_t item;
    struct rd_unmet unmet;
};

struct rd_flow_lane {
    struct rd_deque deque;
    /* A stack of items that only this lane may run, or was asked to; taken as a whole. */
    RD_ALIGNED rd_atomic64 inbox;
    rd_atomic64 calls; /* grows when something was put there for a lane that asked to be called */
    rd_atomic64 wake;  /* spots that wait for it */
    /* The driver's own. */
    RD_ALIGNED uint32_t number;
    uint32_t array; /* of the replay that the fields below are of; UINT32_MAX: none */
    uint32_t times;
    rd_atomic32 *count;
    struct rd_frame *frame;
    uint64_t stack; /* items not for others: RD_FLOW_NO_ITEM or the first, the others by `link` */
    uint64_t fan;   /* item whose inputs are being summed up, fan_count so far */
    uint32_t fan_count;
    int32_t budget;
    uint32_t pending_count;
    int helper, awaits_frame;
    struct rd_flow_pending *pending;
    uint64_t random;
    /* Ops of its deque that it has taken already, while ops are short. */
    uint32_t batch_count;
    uint64_t batch[RD_FLOW_BATCH];
    /* Whom it watches while that one has less than is worth stealing: for so many looks it has not
     * moved. */
    uint32_t watched, looks;
    uint64_t mark;
    /* The stretch of ops being timed: since when, 0: none, and the budget then. */
    int64_t since_ns;
    int32_t since_budget;
    uint32_t drives;
    int64_t dry_since_ns; /* it has no op since then; 0: it has, or had when asked last */
    uint32_t rest;        /* polls that the last pause took, since the lane had an op */
};

struct rd_flow {
    /* As built. */
    uint32_t nodes, lanes, workers; /* workers: lanes that are no helpers */
    uint32_t arrays, root_count, hungry_words;
    uint32_t end_deps; /* inputs of END: the sinks */
    int serial, bounded;
    struct rd_flow_node *node; /* nodes + 1 */
    struct rd_flow_edge *succ, *root;
    uint32_t *deps, *carried_first; /* by op; carried_first nodes + 1 */
    struct rd_flow_carried *carried;
    uint16_t *home;          /* by op, a worker; if there are helpers */
    size_t stride;           /* of the arrays in `count` and `link` */
    rd_atomic32 *count;      /* arrays * stride */
    uint64_t *link;          /* by item: the next in its stack; NULL if there are no stacks */
    struct rd_flow_use *use; /* by array */
    struct rd_flow_lane *lane;
    rd_atomic64 *hungry; /* bit: the lane's worker is about to park or parked */
    size_t succ_room, carried_room;
    uint32_t pend_room, cells;
    /* Starting: next << 1 | locked. The other fields are the lock's holder's. */
    RD_ALIGNED rd_atomic64 next;
    uint32_t next_array;
    uint64_t class; /* of the replay started last */
    RD_ALIGNED rd_atomic32
        op_ns; /* what an op takes, as a lane measured last; 0: not known. A hint */
    /* Ending. */
    RD_ALIGNED rd_atomic64 ended; /* local replays; the holder of `ending` raises it */
    rd_atomic32 ending;
};

#endif
