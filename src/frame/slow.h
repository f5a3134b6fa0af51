/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op of a slow frame is called: timed, traced, framed by a check. The executors that walk
 * frames op by op call it; the fast loop never does. */
#ifndef RD_FRAME_SLOW_H
#define RD_FRAME_SLOW_H

#include "src/frame/frame.h"

/* What stands around every op of RD_SLOW_CHECK frames (src/check/). The first member of who
 * implements it. */
struct rd_check {
    /* Before each call of an op, also one called again after RD_PENDING. */
    void (*before)(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                   const struct rd_op *e);
    /* After it: returns what the op is to have returned, `code` if there is nothing to say. */
    int (*after)(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                 const struct rd_op *e, int code);
};

/* Runs one op of a frame with f->slow set and returns its code, RD_PENDING and RD_CALLED_OFF among
 * them. Sets the view's node. The op's waits are met and it is not to be skipped for a failure or a
 * deadline. An op that sets self->skipped (its conditions do not hold) leaves no trace. */
int rd_slow_call(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e);

/* The end of the lane's last op serves as the begin of the next, to read the clock once per op:
 * until the lane waits, turns to something else, or begins to walk. Whoever does that says so. */
static inline void rd_slow_waited(struct rd_lane *l) { l->noted_ns = 0; }

/* Lets go of a lane's spans; nobody drives it any more. The trace keeps them. */
void rd_slow_end(struct rd_lane *l);

#endif
