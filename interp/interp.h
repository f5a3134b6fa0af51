/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter: walks the graph by counts of unfinished predecessors. Obviously right; the
 * oracle for the static executor and home of what cannot be compiled. Interpreted replays are
 * serial. */
#ifndef RD_INTERP_INTERP_H
#define RD_INTERP_INTERP_H

#include "src/frame/frame.h"

/* Built from a plan alone; one per track. MEMORY. Freed by rd_interpreter_free. */
rondo_status rd_interpreter_new(struct rd_allocator *a, const struct rd_plan *plan,
                                struct rd_interpreter **interpreter);
void rd_interpreter_free(struct rd_allocator *a, struct rd_interpreter *in); /* may be NULL */

/* rd_track.interpret: advances an interpreted frame in one lane. RD_DONE: the lane did all its
 * nodes. */
enum rd_advance rd_interpret(struct rd_lane *lane, struct rd_frame *frame, uint32_t polls);

#endif
