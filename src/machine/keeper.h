/* SPDX-License-Identifier: BSD-3-Clause */
/* Who keeps the instances of a runtime's buffers: which parts of which are current, and how they
 * get there between replays.
 *
 * What is current is told in the order of submission, not of time: a replay that is submitted
 * changes it as its exec says, a sync or a map finds what the replays submitted so far will leave.
 * So replays over one buffer whose bytes move run in the order in which they are submitted.
 *
 * An exec's `stays` are what it relies on and leaves behind, buffer by buffer: with respect to a
 * buffer b and memory m,
 *   need[m]    boxes that have to be current in m before its first replay;
 *   hold[m]    boxes that are current in m between its replays (need is a part of hold);
 *   written    boxes that its replays write, in whatever memory.
 * Taking a buffer over: copy need[m] less what is current in m, from wherever it is current; then
 * current[m] becomes (current[m] less written) with hold[m]. An exec for whose buffers nothing has
 * changed since needs to do nothing: its replays leave current what they found current.
 *
 * The epoch says whether anything has: it is raised by whatever changes what is current of any
 * buffer. A submitter looks at it and takes its ticket in one read section; who changes something
 * raises the epoch, waits for a grace period, and then reads how many tickets there are. So whoever
 * saw the old epoch has its ticket by then, is before the change in the order of submission, and
 * its replay is waited for; whoever comes later sees the new epoch. Changes exclude each other by
 * the turn (rd_keeper_turn), which a submitter that takes over keeps until it has its ticket.
 *
 * Copies are made by a thread of the keeper's, once all that they have to follow has ended: replays
 * of every user of their buffers submitted so far, the events of the call, and the copies queued
 * before them that touch a buffer of theirs. All of that was submitted before, so among copies and
 * replays nothing waits in a circle; those of other buffers overtake.
 *
 * Buffers that share bytes of a memory ("home": the host's for wraps of host memory, a device's for
 * wraps of its memory): of such bytes at most one buffer has a copy elsewhere that alone is
 * current. Before anything is done to one of them what strayed of the others is brought home; what
 * is written through one is current through the others at home alone. */
#ifndef RD_MACHINE_KEEPER_H
#define RD_MACHINE_KEEPER_H

#include "src/base/boxes.h"
#include "src/device/devices.h"
#include "src/machine/buffer.h"

/* What an exec relies on and leaves behind of one of its buffers. */
struct rd_stay {
    struct rd_buffer *buffer;                                     /* referenced by the exec */
    struct rd_boxes need[RD_MEMORIES_MAX], hold[RD_MEMORIES_MAX]; /* by memory */
    struct rd_boxes written;
};

rondo_status rd_keeper_start(struct rd_runtime *rt); /* where rt->devices is not NULL */
/* Ends what copies there still are. No exec is left. */
void rd_keeper_stop(struct rd_runtime *rt);

/* The instance of a buffer in a device's memory (memory >= 1), made if there is none: allocated
 * within the device's limit, nothing of it current. Memory 0: the host instance. *shadow: what a
 * slot of that memory names (memory 0: the buffer itself). MEMORY naming buffer and device. Any
 * thread, also inside a read section. */
rondo_status rd_keeper_instance(struct rd_buffer *b, uint32_t memory, struct rd_buffer **shadow);
/* Whether there is one already. */
int rd_keeper_has(const struct rd_buffer *b, uint32_t memory);
/* Whether it is the caller's memory. */
int rd_keeper_is_external(const struct rd_buffer *b, uint32_t memory);
/* A new buffer's bytes are in a device's memory alone, memory >= 1: zeroed ones of Rondo's, or
 * `wraps`. */
rondo_status rd_keeper_begin(struct rd_buffer *b, uint32_t memory, void *wraps);
/* The end of a buffer: its instances are freed. */
void rd_keeper_forget(struct rd_buffer *b);

/* Changes whenever anything does that is current. Never 0. */
static inline uint64_t rd_keeper_epoch(const struct rd_runtime *rt)
{
    /* Relaxed: the read section orders it, see above. */
    return rd_load_relaxed(&((struct rd_runtime *)(uintptr_t)rt)->keeper_epoch);
}

/* Copies under way. Counted. */
struct rd_fetch {
    rd_atomic64 refs;
    struct rd_source *source;
    rondo_event event;   /* complete once they have ended */
    rd_atomic32 over;    /* 1: they have; what follows was written before */
    rondo_status status; /* FAILED, DEVICE_LOST: what waits for them may not run */
    char why[208];
};
static inline void rd_fetch_ref(struct rd_fetch *f)
{
    rd_add_relaxed(&f->refs, 1); /* the caller has one */
}
void rd_fetch_unref(struct rd_fetch *f); /* NULL: nothing */
/* RONDO_OK while they are under way, too. */
static inline rondo_status rd_fetch_status(struct rd_fetch *f)
{
    /* Acquire: the status, and what was copied; pairs with the keeper's thread. */
    return rd_load_acquire(&f->over) ? f->status : RONDO_OK;
}

/* Who takes over: an exec. Its replays are the first (*word & mask) of `all`. */
struct rd_taker {
    const rd_atomic64 *word;
    uint64_t mask;
    struct rd_source *all;
    int on_device; /* it has nodes on devices */
    const struct rd_stay *stay;
    uint32_t stays;
    struct rd_taker *next, **link; /* the keeper's */
};
struct rd_takeover {
    struct rd_taker *holder;
    int holds;                      /* its own buffers, and nothing about them has changed since */
    struct rd_buffer *const *bound; /* of one call: whole, in host memory */
    const uint8_t *bound_written;
    uint32_t bounds;
    const rondo_event *after; /* of the call */
    uint32_t after_count;
};

/* Changes to what is current, one after the other. Not inside a read section. */
void rd_keeper_turn(struct rd_runtime *rt);
void rd_keeper_turn_over(struct rd_runtime *rt);
/* In one's turn, before a ticket is taken: takes over. *fetch: what the replay has to wait for, and
 * may not run if it fails; NULL: nothing. *epoch: while rd_keeper_epoch says the same, nothing has
 * to be taken over but new bound buffers. Nothing has changed when it fails. */
rondo_status rd_keeper_take(struct rd_runtime *rt, const struct rd_takeover *t, uint64_t *epoch,
                            struct rd_fetch **fetch);
/* Before the first of its replays: whatever is done to its buffers from now on follows those that
 * were submitted, wherever these buffers were so far. */
void rd_keeper_join(struct rd_runtime *rt, struct rd_taker *h);
/* Its replays have ended, and there will be none. */
void rd_keeper_leave(struct rd_runtime *rt, struct rd_taker *h);

/* Makes the instance in `memory` current. *fetch: when it is; NULL: it is already. may_wait 0:
 * WOULD_BLOCK instead. The turn is taken here, as below. */
rondo_status rd_keeper_sync(struct rd_buffer *b, uint32_t memory, int may_wait,
                            struct rd_fetch **fetch);
/* The same for host memory that is about to be written, if `write`: it alone is current then. */
rondo_status rd_keeper_map(struct rd_buffer *b, int write, int may_wait, struct rd_fetch **fetch);
/* The instance in `memory` alone is current. INVALID: there is none. *fetch: when the others have
 * been overwritten, where that is asked for; not if the caller may not wait. */
rondo_status rd_keeper_touched(struct rd_buffer *b, uint32_t memory, int may_wait,
                               struct rd_fetch **fetch);
/* The event of replays of one of the buffer's users that are under way, for who waits and may drive
 * them; 0: none any more, of the first `skip` + 1 users. */
int rd_keeper_under_way(struct rd_buffer *b, uint32_t skip, struct rd_source **source,
                        rondo_event *event);

#endif
