/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an exec's buffers are: what it tells the keeper of buffers (src/machine/keeper.h) of them,
 * and how its replays take them over. Only in runtimes with devices. */
#ifndef RD_EXEC_STAY_H
#define RD_EXEC_STAY_H

#include "src/exec/batch.h"
#include "src/machine/keeper.h"

struct rd_residency;
struct rd_subgraph;

struct rd_exec_stays {
    struct rd_taker holder;
    struct rd_stay *stay; /* buffers referenced; room for `room` */
    uint32_t stays;
    size_t room;
    uint8_t *written; /* by slot */
    rd_atomic64
        epoch;      /* in this one there is nothing to take over and nothing under way; 0: none */
    uint64_t taken; /* the epoch of the last take-over; in one's turn, as what follows */
    struct rd_fetch *fetch; /* referenced; what that one had to wait for */
};

/* x->stays of an exec that was lowered: r's. MEMORY. */
rondo_status rd_exec_stay_make(struct rd_exec *x, const struct rd_residency *r);
/* The same where no node is on a device. */
rondo_status rd_exec_stay_host(struct rd_exec *x, const struct rd_subgraph *e);
void rd_exec_stay_free(struct rd_exec *x);
/* Before it is lowered: host instances of all buffers that the recording's accesses name. */
rondo_status rd_exec_stay_hosts(const struct rd_subgraph *e);

/* A submitter's turn, from a look that found something to take over until it has its ticket. */
struct rd_take_turn {
    struct rd_exec *x;      /* referenced; whose turn it is. NULL: none */
    struct rd_fetch *fetch; /* referenced; what the call's replays wait for, or NULL */
    /* What the call binds: referenced, and whether it is written. */
    struct rd_buffer **bound;
    uint8_t *written;
    uint32_t bounds;
    size_t room; /* of these two; 0: those below */
    struct rd_buffer *bound_inline[RD_REQUEST_INLINE];
    uint8_t written_inline[RD_REQUEST_INLINE];
};

/* Whether a call has nothing to take over; in the read section in which it gets its ticket. */
int rd_exec_stay_bound(const struct rd_exec_stays *s, const struct rd_request *call);
static inline int rd_exec_stay_holds(const struct rd_exec_stays *s, const struct rd_runtime *rt)
{
    /* Acquire: pairs with rd_take_begin; what was copied. The read section orders the rest. */
    return rd_load_acquire(&((struct rd_exec_stays *)(uintptr_t)s)->epoch) == rd_keeper_epoch(rt);
}
/* Notes what the call binds, for rd_take_begin, outside of the read section. MEMORY. */
rondo_status rd_take_note(struct rd_take_turn *turn, struct rd_exec *x,
                          const struct rd_request *call);
/* Takes over for a call of the exec; the caller's reference becomes the turn's. When it fails the
 * turn is over. */
rondo_status rd_take_begin(struct rd_take_turn *turn, struct rd_exec *x, const rondo_event *after,
                           uint32_t after_count);
void rd_take_over(struct rd_take_turn *turn);
static inline void rd_take_end(struct rd_take_turn *turn)
{
    if (RD_UNLIKELY(turn->x != NULL))
        rd_take_over(turn);
}

#endif
