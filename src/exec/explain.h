/* SPDX-License-Identifier: BSD-3-Clause */
/* rd_work.explain of lanes. */
#ifndef RD_EXEC_EXPLAIN_H
#define RD_EXEC_EXPLAIN_H

#include "src/machine/work.h"

/* The exec, replay, lane and node that wait, and what for. By the worker, or inside a read section
 * in which the lane is known to be there. */
void rd_lane_explain(struct rd_work *work, const struct rd_unmet *unmet, char *text, size_t bytes);

#endif
