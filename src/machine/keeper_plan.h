/* SPDX-License-Identifier: BSD-3-Clause */
/* A change to what is current, worked out in full before any of it is made: what is current
 * afterwards, buffer by buffer, and the copies. In one's turn; under the keeper's `lock` but for
 * begin and end. Functions that return int: 0, or -1: no memory, and rd_plan_drop is next. */
#ifndef RD_MACHINE_KEEPER_PLAN_H
#define RD_MACHINE_KEEPER_PLAN_H

#include "src/machine/keeper_inner.h"

/* A buffer that the change concerns. */
struct rd_subject {
    struct rd_keep *keep; /* its buffer is referenced */
    struct rd_subject *next;
    struct rd_boxes will[RD_MEMORIES_MAX];  /* be current */
    struct rd_boxes stale[RD_MEMORIES_MAX]; /* is to be overwritten, as it is current no more */
    struct rd_job *last;                    /* referenced: the keep's before */
    int copied;                             /* a copy touches it */
};

struct rd_plan {
    struct rd_keeper *keeper;
    struct rd_allocator *alloc;
    struct rd_taker *holder; /* NULL: none */
    struct rd_subject *subjects;
    struct rd_job *job; /* NULL: none was needed */
    int may_wait;
    int poison; /* what is out of date is overwritten: whoever made it so waits for that */
    int copies, follows, patterns, changes;
    rondo_status status; /* of what failed, if it was not memory for lists */
};

void rd_plan_begin(struct rd_plan *p, struct rd_keeper *k, struct rd_taker *holder, int may_wait);
/* The buffer as a subject; NULL: no memory, or it is about to end (*gone). */
struct rd_subject *rd_plan_subject(struct rd_plan *p, struct rd_keep *k, int *gone);
/* Copies to `memory` what of `boxes` is not current there. */
int rd_plan_bring(struct rd_plan *p, struct rd_subject *s, uint32_t memory,
                  const struct rd_boxes *boxes);
/* The instance is relied on. */
int rd_plan_use(struct rd_plan *p, struct rd_keep *k, uint32_t memory);
/* Of other buffers that share bytes with these boxes of the buffer: what strayed comes home, and of
 * what is written (NULL: nothing) only home is current. */
int rd_plan_share(struct rd_plan *p, const struct rd_buffer *b, const struct rd_boxes *boxes,
                  const struct rd_boxes *written);
/* Of those only home is current, and nothing is copied: their bytes there were written. */
int rd_plan_share_touched(struct rd_plan *p, const struct rd_buffer *b);
/* The last step: what there is to wait for, to overwrite, and whether anything changes at all. */
int rd_plan_finish(struct rd_plan *p);
/* Makes the change, and queues its copies. Nothing can fail any more. Outside of the lock.
 * *fetch: NULL: there is nothing to wait for. */
void rd_plan_commit(struct rd_plan *p, const rondo_event *after, uint32_t after_count,
                    struct rd_fetch **fetch);
/* Whether there are copies to wait for: these, or some under way. */
int rd_plan_waits(const struct rd_plan *p);
/* Outside of the lock. */
void rd_plan_drop(struct rd_plan *p);
/* Room for the events that the copies wait for: `more` of the call. */
int rd_plan_room(struct rd_plan *p, uint32_t more);

#endif
