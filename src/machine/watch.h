/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog: RONDO_STALL_S seconds without progress are logged, once per stall. */
#ifndef RD_MACHINE_WATCH_H
#define RD_MACHINE_WATCH_H

#include "src/machine/runtime.h"

/* Of the stall under way; zeroed at first. */
struct rd_watch {
    int64_t since; /* 0: none; negative: reported */
    uint64_t seen;
};

struct rd_worker;

/* `sees`: what is waited for, added up: another number is progress. 1: the stall is to be reported
 * now. */
int rd_watch_look(struct rd_watch *watch, int64_t stall_ns, int blocked, uint64_t sees,
                  int64_t now);
/* The same for all sources of a worker's agenda, which reports them. */
void rd_watch_worker(struct rd_watch *watch, struct rd_worker *w, int blocked, int64_t now);

#endif
