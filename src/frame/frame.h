/* SPDX-License-Identifier: BSD-3-Clause */
/* What a replay in flight is made of: tracks, lanes, counters, frames. The data that the executors
 * of interp/ and compile/run/ share and that src/exec fills; no executor's code.
 *
 * A track is one set of counters, frames and lanes; a `concurrent` exec has several, all others
 * one. Replays are counted twice: `local` within the track (what counters, frames and seq count),
 * and globally (what users see): global = local * tracks + number of the track.
 *
 * Who may write what:
 *   counter[p].value   the driver of lane p (release; acquired by the lanes that wait for it)
 *   counter[p].at/wake parkers register, the driver takes (src/machine/work.h)
 *   frame, but bad     the filler of its ticket, before it releases seq; nobody after
 *   frame.bad words    one lane each; frame.dirty, failures.bad any lane
 *   frame.left         the lanes that count, down
 *   source.done        the last lane that counts, release
 *   lane, but seat     whoever holds its seat
 *
 * A frame's slot is filled again when source.done says that its last replay ended; a replay ends
 * only when every lane has passed it: a compiled frame counts the sinks, whose waits imply all
 * lanes' last ops, an interpreted one counts every lane. After its last publish a lane that does
 * not count never touches the frame. */
#ifndef RD_FRAME_FRAME_H
#define RD_FRAME_FRAME_H

#include "compile/plan.h"
#include "src/event/source.h"
#include "src/machine/work.h"

#include <rondo/exec.h>

struct rd_buffer;
struct rd_failures;
struct rd_interpreter;
struct rd_lane;
struct rd_program;

enum { RD_AT_NONE = -1 }; /* as uint64_t: nobody is registered */

/* A lane's progress: D * length before the first replay, (D + local) * length + position + 1 after
 * an op. */
struct rd_counter {
    RD_ALIGNED rd_atomic64 value; /* alone on its line */
    RD_ALIGNED rd_atomic64 at;    /* the least value any registered waiter needs */
    rd_atomic64 wake;
};

/* An event that gates a frame. */
struct rd_gate {
    struct rd_source *source;
    uint64_t id, count;
};

enum { RD_HOLD_NONE, RD_HOLD_HELD, RD_HOLD_BUSY };

struct rd_frame {
    RD_ALIGNED rd_atomic64 seq; /* local replay + 1 once published */
    uint64_t replay;            /* global */
    uint32_t epoch;
    uint8_t odd;         /* boundaries on both sides are serial */
    uint8_t interpreted; /* which executor */
    void *const *base;   /* by slot; own_base or the program's */
    const char *params;
    uint32_t gate_count, gate_capacity;
    struct rd_gate *gate;
    void **own_base; /* NULL if no slot changes its buffer */
    char *own_params;
    rd_atomic64 *bad; /* one bit per op, the plan's `bits` in all */
    /* Buffers bound by this replay, referenced until it has ended. `hold` is taken by CAS from HELD
     * by the submitter that fills the slot again or by the cleaner: one of them lets the buffers
     * go. */
    struct rd_buffer **held;
    uint32_t held_count;
    rd_atomic32 hold;
    uint64_t held_for;           /* local replay + 1; read by who took `hold` */
    RD_ALIGNED rd_atomic32 left; /* lanes that count and have not passed yet */
    rd_atomic32 dirty;           /* a bad bit is set */
};

/* What a lane knows of a lane it waits for. `base` is the counter's value when this replay began in
 * it. */
struct rd_peer {
    uint64_t seen, base, length;
    rd_atomic64 *value;
};

/* A running task's view, and what stands behind it. */
struct rd_self {
    rondo_task view; /* first: a rondo_task * is this */
    struct rd_program *program;
    int told; /* message is set */
    char message[208];
};

struct rd_track {
    /* Read by everyone, written before the first replay. */
    uint32_t lanes, window, ring_mask, distance, sinks;
    uint32_t number, tracks;
    int serial;                /* every boundary is serial */
    uint32_t processor0_lanes; /* lanes [0, this) belong to processor 0 */
    struct rd_op *op;          /* the plan's, with functions and arguments */
    struct rd_wait *wait;
    struct rd_counter *counter;
    struct rd_lane *lane;
    struct rd_frame *ring;
    struct rd_source *source;
    struct rd_program *program;
    struct rd_failures *failures;
    struct rd_interpreter *interpreter; /* NULL until interpretation is asked for */
    /* interp/: advances an interpreted frame in one lane; RD_DONE when the lane has done its part.
     */
    enum rd_advance (*interpret)(struct rd_lane *lane, struct rd_frame *frame, uint32_t polls);
    /* src/exec: a replay of this track has ended. Called if `watched`, after the end's fence. */
    void (*ended)(struct rd_track *track);
    void *exec;
    rd_atomic32 watched;
    rd_atomic32 detach;   /* workers leave the lanes alone */
    rd_atomic32 attached; /* lanes on an agenda */
    rd_atomic64
        boundaries; /* serial boundaries that made a lane wait for the whole replay before */
    RD_ALIGNED rd_atomic64 submit_wake; /* spots that wait for a frame's seq */
    rd_atomic64 to_wake; /* taken from there by a submit, for those it woke to wake */
};

/* The looks at wake words that a driver owes after the end of a replay, behind a fence. */
enum rd_owed { RD_OWES_NOTHING, RD_OWES_COUNTER, RD_OWES_END };

enum { RD_SEAT_FREE, RD_SEAT_HELD, RD_SEAT_CLOSED };

struct rd_lane {
    RD_ALIGNED struct rd_work work; /* on the agenda of its processor's worker */
    struct rd_track *track;
    struct rd_op *op;
    struct rd_wait *wait;
    struct rd_peer *peer; /* by lane; its own entry for base and length */
    struct rd_counter *counter;
    uint32_t number, length, processor, bit_first;
    int sink;
    /* The driver's, handed on with the seat. */
    uint32_t position; /* next op; of an interpreted frame: nodes done */
    uint32_t wait_at;  /* next entry of `wait` */
    int begun;
    uint64_t replay; /* local */
    uint64_t class;  /* of the replay driven last */
    enum rd_owed owed;
    struct rd_unmet unmet;
    struct rd_self self;
    RD_ALIGNED rd_atomic32 seat;
};

static inline struct rd_frame *rd_track_frame(const struct rd_track *t, uint64_t local)
{
    return &t->ring[local & t->ring_mask];
}

/* What two neighbouring replays must have in common to overlap; bit 0: serial on both sides. */
static inline uint64_t rd_frame_class(const struct rd_frame *f)
{
    return (uint64_t)(f->odd | f->interpreted) | (uint64_t)f->interpreted << 1 |
           (uint64_t)f->epoch << 2;
}

#endif
