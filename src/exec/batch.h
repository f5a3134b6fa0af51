/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of rondo_replay, resolved; and the record of a call with a count, whose later frames are
 * filled as earlier replays end.
 *
 * Safety of the record. A call takes all its tickets at once. Tickets of the record are filled in
 * order: the right to fill ticket i is taken by CAS of `next` from i to i + 1, when the frame's
 * last replay has ended. Both the submitter and whoever ends a replay try; an end stores done,
 * fences, and looks at `end`; the submitter stores `end`, fences, and looks at done: one of the two
 * sees that a ticket can be filled. The record is written again only when `filled` has gone beyond
 * `end`: every filler is through with it then. A record is seen only through an acquire of `end`
 * that is greater than `next`, and `next` is set to the first ticket before `end` is. Whether there
 * is room is asked before the CAS, by words of the series alone: until then the record may be
 * written for the next call, and the core it names may be gone. */
#ifndef RD_EXEC_BATCH_H
#define RD_EXEC_BATCH_H

#include "src/frame/frame.h"

#include <pthread.h>

struct rd_exec;
struct rd_fetch;
struct rd_core;
struct rd_series;
struct rd_buffer;

enum { RD_REQUEST_INLINE = 16 };

/* A resolved call: everything was checked. */
struct rd_request {
    const rondo_value *value;
    uint32_t value_count, binding_count, gate_count;
    uint32_t *slot;            /* of each binding */
    struct rd_buffer **buffer; /* referenced by the call, if binding_count */
    const rondo_event *after;
    struct rd_fetch *fetch; /* what its replays wait for, or NULL; of a record referenced */
    const char *sticky;     /* block of values that the call does not give */
    struct rd_core *core;
    uint64_t first, count; /* tickets */
    rd_atomic64 *stop;     /* of the call, or NULL */
    int64_t not_before_ns, deadline_ns;
    void (*done)(void *context, rondo_event event);
    void *context;
    uint32_t epoch;
    int interpreted, timed;
    int plain; /* gives nothing, to an exec whose frames hold nothing */
    uint32_t slot_inline[RD_REQUEST_INLINE];
    struct rd_buffer *buffer_inline[RD_REQUEST_INLINE];
    size_t room; /* of slot and buffer when allocated, else 0 */
};

struct rd_batch {
    pthread_mutex_t lock;          /* of setting it up */
    rd_atomic64 next, end, filled; /* tickets; filled goes to end + 1 */
    rd_atomic64 floor;             /* ticket from which on the call's core runs, as of `next` */
    struct rd_exec *x;             /* of the call; its tickets keep it from being freed */
    struct rd_request call;
    rondo_value *value;
    size_t value_capacity;
    char *bytes; /* values and the sticky block */
    size_t bytes_capacity;
    rondo_event *after;
    size_t after_capacity;
};

/* Submits args->count > 1 replays. `room`: what to wait for when there is none (status AGAIN). */
rondo_status rd_batch_submit(struct rd_exec *x, const rondo_replay_args *args,
                             struct rd_request *call, struct rd_source **room,
                             uint64_t *room_count);
/* Fills what can be filled. */
void rd_batch_fill(struct rd_series *s);
void rd_batch_free(struct rd_series *s);
/* rd_track.ended */
void rd_exec_track_ended(struct rd_track *t);

#endif
