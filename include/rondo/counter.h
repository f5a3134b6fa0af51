/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: how replays of different execs, and the user's own threads, wait for each other. */
#ifndef RONDO_COUNTER_H
#define RONDO_COUNTER_H

#include <rondo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a counter that begins at `initial`. It only ever grows. Wait and signal nodes name it; its
 * memory lives until the handle and every subgraph and exec that names it are gone. Ended by
 * rondo_counter_destroy. Any thread. */
RONDO_API rondo_status rondo_counter_create(rondo_runtime runtime, uint64_t initial,
                                            rondo_counter *counter);
/* The handle is gone at once. Replays that wait for a value nobody raises it to wait for ever:
 * raise it before. */
RONDO_API rondo_status rondo_counter_destroy(rondo_counter counter);
/* Adds; wakes who waits. INVALID: the sum exceeds 64 bits. Any thread, never blocks. */
RONDO_API rondo_status rondo_counter_add(rondo_counter counter, uint64_t more);
/* Raises it to `value` if it is less. Any thread, never blocks. */
RONDO_API rondo_status rondo_counter_raise(rondo_counter counter, uint64_t value);
/* Any thread, never blocks. */
RONDO_API rondo_status rondo_counter_value(rondo_counter counter, uint64_t *value);
/* The event that is complete when the counter has reached `value`: for rondo_event_wait and for
 * rondo_replay_args.after. */
RONDO_API rondo_status rondo_counter_event(rondo_counter counter, uint64_t value,
                                           rondo_event *event);

#ifdef __cplusplus
}
#endif
#endif
