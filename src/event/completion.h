/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: something is over when a thread says so, which may be any thread and at any time.
 * Process-lifetime, type-stable records, so that a handle may be finished for ever.
 *
 * Safety. word = {generation:32, stage:32} and only grows. Its owner arms it; whoever finishes
 * takes it from ARMED to FINISHING by CAS, so exactly one does, writes the outcome, releases
 * FINISHED, fences and wakes; the owner acquires FINISHED, reads the outcome, and gives the record
 * back under the next generation. After its store the finisher touches nothing but the record. */
#ifndef RD_EVENT_COMPLETION_H
#define RD_EVENT_COMPLETION_H

#include "src/machine/work.h"

#include <rondo/base.h>

enum { RD_COMPLETION_FREE, RD_COMPLETION_ARMED, RD_COMPLETION_FINISHING, RD_COMPLETION_FINISHED };

struct rd_completion {
    RD_ALIGNED rd_atomic64 word;
    rd_atomic64 wake; /* spots that wait for it */
    rondo_status status;
    char message[208]; /* "" if it ended well */
    uint32_t index;
    uint32_t next_free; /* under the lock */
};

/* An armed record; NULL when there is no memory. */
struct rd_completion *rd_completion_new(void);
rondo_completion rd_completion_handle(const struct rd_completion *c); /* by its owner */
/* Once. `why` may be NULL. Never blocks. STALE, INVALID. */
rondo_status rd_completion_finish(rondo_completion handle, rondo_status status, const char *why);
/* Whether it is finished, and else what to wait for. By its owner, or while the owner keeps it. */
int rd_completion_is_over(struct rd_completion *c, struct rd_unmet *unmet);
/* Gives the record back. One that nobody finished is void from now on. By its owner. */
void rd_completion_free(struct rd_completion *c);

#endif
