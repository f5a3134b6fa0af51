/* SPDX-License-Identifier: BSD-3-Clause */
/* What a lane is at, for rondo_where. */
#ifndef RD_FRAME_WHERE_H
#define RD_FRAME_WHERE_H

#include "src/machine/where.h"

int rd_lane_where(const struct rd_work *work, int running, struct rd_where *where);

#endif
