/* SPDX-License-Identifier: BSD-3-Clause */
/* One op of a frame, whichever executor has come to it: run, skipped, late or pending. */
#ifndef RD_FRAME_OP_H
#define RD_FRAME_OP_H

#include "src/frame/failure.h"

/* The op of a frame that something concerns: a failure, a stop, a deadline, or f->slow. Skips it
 * (marked bad as need be) or calls it by src/frame/slow.h. As rd_op_run. */
int rd_op_run_slow(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e, uint32_t bit);
/* What the op returned, other than 0. As rd_op_run. */
int rd_op_returned(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e, uint32_t bit,
                   int code);

/* Runs an op whose waits are met in the lane's view. 1: it is over, well or not. 0: it pends;
 * l->unmet says what for, and it is to be run again when that is met, or at any time. `bit`: its
 * bad bit. */
static inline int rd_op_run(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e,
                            uint32_t bit)
{
    struct rd_track *t = l->track;
    rd_atomic64 *over;
    int code;
    if (RD_UNLIKELY(f->slow) || RD_UNLIKELY(rd_badness(t, f))) {
        if (!rd_op_run_slow(l, f, e, bit))
            return 0;
    } else {
        l->self.view.node = &e->node;
        code = e->fn(&l->self.view, e->arg);
        if (RD_UNLIKELY(code) && !rd_op_returned(l, f, e, bit, code))
            return 0;
    }
    over = rd_load_acquire(&t->over); /* its zeroes; made with the first interpreter */
    if (over)                         /* release: what the op did; pairs with src/exec/event_at.c */
        rd_store_release(&over[(f->count & t->over_mask) * t->plan->nodes + e->node], f->count);
    return 1;
}

#endif
