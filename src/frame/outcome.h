/* SPDX-License-Identifier: BSD-3-Clause */
/* What failure.c and outcome.c share. */
#ifndef RD_FRAME_OUTCOME_H
#define RD_FRAME_OUTCOME_H

#include "src/frame/failure.h"

/* The failure kept of a replay, or NULL. Under the lock. */
struct rd_failure *rd_failures_find(struct rd_failures *fs, uint64_t replay);

#endif
