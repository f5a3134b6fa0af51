/* SPDX-License-Identifier: BSD-3-Clause */
/* Who keeps the instances of a runtime's buffers: which parts of which are current, and how they
 * get there between replays.
 *
 * What is current is told in the order of submission, not of time: a replay that is submitted
 * changes it as its exec says, a sync or a map finds what the replays submitted so far will leave.
 * One lock guards it all; a steady replay of one exec takes none (see rd_keeper_epoch).
 *
 * An exec's `stays` are what it relies on and leaves behind, buffer by buffer: with respect to a
 * buffer b and memory m,
 *   need[m]    boxes that have to be current in m before its first replay;
 *   hold[m]    boxes that are current in m between its replays (need is a part of hold);
 *   written    boxes that its replays write, in whatever memory.
 * Taking a buffer over: copy need[m] less what is current in m, from wherever it is current; then
 * current[m] becomes (current[m] less written) with hold[m]. The exec that took it over last is its
 * holder, and stays that until another exec, a sync, a map or rondo_buffer_touched changes
 * something: then it takes over anew with its next replay. */
#ifndef RD_MACHINE_KEEPER_H
#define RD_MACHINE_KEEPER_H

#include "src/base/boxes.h"
#include "src/device/devices.h"
#include "src/machine/buffer.h"

/* What an exec relies on and leaves behind of one of its buffers. */
struct rd_stay {
    struct rd_buffer *buffer;                                           /* referenced by the exec */
    struct rd_boxes need[1 + RD_DEVICES_MAX], hold[1 + RD_DEVICES_MAX]; /* by memory */
    struct rd_boxes written;
};

rondo_status rd_keeper_start(struct rd_runtime *rt); /* where rt->devices is not NULL */
void rd_keeper_stop(struct rd_runtime *rt);

/* The instance of a buffer in a device's memory (memory >= 1), made if there is none: allocated
 * within the device's limit, nothing of it current. Memory 0: the host instance. *shadow: what a
 * slot of that memory names (memory 0: the buffer itself). MEMORY naming buffer and device. */
rondo_status rd_keeper_instance(struct rd_buffer *b, uint32_t memory, struct rd_buffer **shadow);
/* Whether there is one already. */
int rd_keeper_has(const struct rd_buffer *b, uint32_t memory);

/* Changes whenever any buffer changes hands: an exec whose last take-over saw this number is still
 * the holder of all its buffers. */
uint64_t rd_keeper_epoch(const struct rd_runtime *rt);
/* An exec is about to be given a ticket: takes `stays` over for it, in the name of the event source
 * of its series, and the `bound` buffers of this call (whole, `written` by bit: which are written).
 * *gate: what the replay has to wait for until the copies have been made; {0, 0}: nothing.
 * `after`: events that the copies have to wait for, beside what is in flight of earlier holders and
 * of this series. *epoch: see above. *failed: NULL, or where the copies' failure will be told
 * before the gate opens (0: none): the replay may not run then. */
struct rd_takeover {
    struct rd_source *series; /* whose latest ticket is rd_series' own business: done and word */
    uint64_t series_count;    /* what it has to reach until all replays before have ended */
    const struct rd_stay *stay;
    uint32_t stays;
    struct rd_buffer *const *bound;
    const uint8_t *bound_written;
    uint32_t bounds;
    const rondo_event *after;
    uint32_t after_count;
};
rondo_status rd_keeper_take(struct rd_runtime *rt, const struct rd_takeover *t, uint64_t *epoch,
                            rondo_event *gate);
/* Why the copies behind a gate failed, if they did: 1 and the message. Once the gate is open. */
int rd_keeper_failed(struct rd_runtime *rt, rondo_event gate, char *why, size_t bytes);

rondo_status rd_keeper_sync(struct rd_buffer *b, uint32_t memory, rondo_event *event);
rondo_status rd_keeper_touched(struct rd_buffer *b, uint32_t memory);
/* The end of a buffer: its instances are freed. */
void rd_keeper_forget(struct rd_buffer *b);

#endif
