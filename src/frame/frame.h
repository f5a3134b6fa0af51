/* SPDX-License-Identifier: BSD-3-Clause */
/* What a replay in flight is made of: tracks, lanes, counters, frames. The data that the executors
 * of interp/ and compile/run/ share and that src/exec fills; no executor's code.
 *
 * A track is one set of counters, frames and lanes; a `concurrent` exec has several, all others
 * one. Replays are counted twice: `local` within the track (what counters, frames and seq count),
 * and globally (what users see): global = local * tracks + number of the track.
 *
 * Who may write what:
 *   counter[p]->done   the driver of lane p (release; acquired by the lanes that wait for it)
 *   counter[p]->at/wake parkers register, the driver takes (src/machine/work.h)
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
struct rd_check;
struct rd_fetch;
struct rd_core;
struct rd_flow;
struct rd_failures;
struct rd_interpreter;
struct rd_frame;
struct rd_pend;
struct rd_spans;
struct rd_lane;
struct rd_program;
struct rd_trace;

/* A lane's progress is the `done` of an event source (src/event/source.h), its counter: D * length
 * before the first replay, (D + local) * length + position + 1 after an op. */

/* An event that gates a frame. */
struct rd_gate {
    struct rd_source *source;
    uint64_t id, count;
    int always; /* also waited for past a deadline: the core that ran before */
};

enum { RD_HOLD_NONE, RD_HOLD_HELD, RD_HOLD_BUSY };

struct rd_frame {
    RD_ALIGNED rd_atomic64 seq; /* local replay + 1 once published */
    uint64_t replay;            /* global */
    uint64_t count;             /* what source->done says once this replay has ended */
    uint32_t epoch;
    uint8_t odd;         /* boundaries on both sides are serial */
    uint8_t interpreted; /* which executor */
    uint8_t slow;        /* RD_SLOW_...: ops are walked one by one; 0: the fast loop */
    uint8_t special;     /* RD_SPECIAL_...: more to do at the begin and the end of the replay */
    uint32_t variant;    /* of the plan: its phase's */
    uint64_t index;      /* executed replays before it: of rings, `when every`, counters */
    int64_t not_before_ns, deadline_ns; /* 0: none */
    /* Replays of the frame's call beyond this one are stopped; NULL: no node may stop. Lowered by
     * rondo_task_stop, UINT64_MAX before. */
    rd_atomic64 *stop;
    uint64_t call_end;                              /* ticket after the last replay of its call */
    void (*done)(void *context, rondo_event event); /* the call's last replay: to be called */
    void *done_context;
    rd_atomic64 begin_ns; /* of RD_SPECIAL_TIMED: of the lane that begins first; 0 before */
    struct rd_pend *pend; /* by pending node of the program: their state in this replay */
    void *const *base;    /* by slot; own_base or the program's */
    const char *params;
    uint32_t gate_count, gate_capacity;
    struct rd_gate *gate;
    void **own_base;  /* NULL if no slot changes its buffer */
    char **temporary; /* by slot: its own instances of temporaries; NULL: none */
    char *own_params;
    rd_atomic64 *bad; /* one bit per op, the plan's `bits` in all */
    /* Buffers bound by this replay, referenced until it has ended. `hold` is taken by CAS from HELD
     * by the submitter that fills the slot again or by the cleaner: one of them lets the buffers
     * go. */
    struct rd_buffer **held;
    uint32_t held_count;
    rd_atomic32 hold;
    uint64_t held_for;           /* local replay + 1; read by who took `hold` */
    struct rd_fetch *fetch;      /* referenced; of RD_SLOW_FETCH. May be left over */
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
    struct rd_lane *lane; /* that runs it */
    struct rd_frame *frame;
    const struct rd_node_work *work; /* src/frame/node.h: while a function behind it runs */
    struct rd_unmet unmet;           /* what an op waits for that returned RD_PENDING */
    void *scratch;                   /* of rondo_task_scratch */
    size_t scratch_bytes;
    int skipped; /* set by a node whose conditions do not hold */
    int told;    /* message is set */
    char message[208];
    /* Of an op that fails for another node: that one's number + 1, and with which status; 0: its
     * own, RONDO_ERR_FAILED. */
    uint32_t blame;
    rondo_status blame_status;
};

/* Why a frame's ops are walked one by one. */
enum {
    RD_SLOW_DEADLINE = 1, /* each op looks at the time first */
    RD_SLOW_TIMED = 2,    /* each op's begin and end are noted: node statistics, traces */
    RD_SLOW_CHECK = 4,    /* RONDO_CHECK, RONDO_VERIFY: each op is framed by src/check/ */
    RD_SLOW_FETCH = 8     /* each op looks first whether the copies the frame waited for failed */
};
enum {
    RD_SPECIAL_NOT_BEFORE = 1,
    RD_SPECIAL_VARIANT = 2, /* the plan has variants: lanes take the frame's at its begin */
    RD_SPECIAL_DONE = 4,    /* a function to call at the end */
    RD_SPECIAL_TIMED = 8    /* the end is noted */
};

/* What an op of the library's own returns that is not over: self->unmet says what it waits for, and
 * it is called again when that is met. Only a node with an entry in program->pend_of may return it:
 * from a user's function it is a failure like any other number. */
enum { RD_PENDING = -2147483647 - 1 };
/* What such an op returns when it was called off: its bit is marked bad, no failure is recorded. */
enum { RD_CALLED_OFF = -2147483647 };

enum { RD_WATCHED = 1, RD_WATCHED_TUNER = 2 };

struct rd_track {
    /* Read by everyone, written before the first replay. */
    uint32_t lanes, window, ring_mask, distance, sinks;
    uint32_t number, tracks;
    int serial;                /* every boundary is serial */
    uint32_t processor0_lanes; /* lanes [0, this) belong to processor 0 */
    uint32_t device_lanes;     /* the last so many are those of devices, which processor 0 drives */
    struct rd_plan *plan;
    struct rd_op *op; /* the plan's, with functions and arguments */
    struct rd_wait *wait;
    struct rd_source **counter; /* by lane */
    struct rd_lane *lane;
    struct rd_frame *ring;
    struct rd_flow *flow; /* compile/run/flow.h; NULL: static lanes */
    struct rd_core *core; /* src/exec */
    /* source->done counts the replays of every core of the series; this one's own number of a
     * replay is that less `offset`, since the first after the last change to this core, whose
     * number is `resume` and before which `first` had ended. See src/exec/series.h. */
    rd_atomic64 offset, first, resume;
    rd_atomic64 next; /* own number of the next replay, while another core runs */
    struct rd_source *source;
    struct rd_program *program;
    struct rd_failures *failures;
    struct rd_trace *trace; /* the runtime's */
    struct rd_check *check; /* src/check, of RD_SLOW_CHECK frames; NULL: none */
    /* Where lanes' counters do not tell which nodes are over: by {f->count & over_mask, node}, the
     * count of the last replay in which the node was. NULL: nowhere. For src/exec/event_at.c. */
    rd_atomic(rd_atomic64 *) over;
    uint64_t over_mask;
    struct rd_interpreter *interpreter; /* NULL until interpretation is asked for */
    /* interp/: advances an interpreted frame in one lane; RD_DONE when the lane has done its part.
     */
    enum rd_advance (*interpret)(struct rd_lane *lane, struct rd_frame *frame, uint32_t polls);
    /* src/exec: a replay of this track has ended. Called if `watched`, after the end's fence. */
    void (*ended)(struct rd_track *track);
    void *exec;
    rd_atomic32 watched;  /* RD_WATCHED_... */
    rd_atomic32 detach;   /* workers leave the lanes alone */
    rd_atomic32 attached; /* lanes on an agenda */
    rd_atomic64
        boundaries; /* serial boundaries that made a lane wait for the whole replay before */
    RD_ALIGNED rd_atomic64 submit_wake; /* spots that wait for a frame's seq */
    rd_atomic64 to_wake; /* taken from there by a submit, for those it woke to wake */
};

/* The ops of a variant of the plan. The first track's are the plan's; others have their own, one
 * variant behind the other, since nodes may keep something in their arguments. */
static inline struct rd_op *rd_track_ops(const struct rd_track *t, uint32_t variant)
{
    if (!variant)
        return t->op;
    if (t->op == t->plan->op)
        return t->plan->variant[variant - 1].op;
    return t->op + (size_t)variant * t->plan->nodes;
}

/* The looks at wake words that a driver owes after the end of a replay, behind a fence. */
enum rd_owed { RD_OWES_NOTHING, RD_OWES_COUNTER, RD_OWES_END };

enum { RD_SEAT_FREE, RD_SEAT_HELD, RD_SEAT_CLOSED };

struct rd_lane {
    RD_ALIGNED struct rd_work work; /* on the agenda of its processor's worker */
    struct rd_track *track;
    struct rd_op *op;
    struct rd_wait *wait;
    struct rd_peer *peer; /* by lane; its own entry for base and length */
    struct rd_source *counter;
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
    struct rd_spans *spans; /* of a trace, src/trace; NULL: none */
    int64_t noted_ns;       /* src/frame/slow.h: when its last op ended; 0: some time ago */
    struct rd_self self;
    RD_ALIGNED rd_atomic32 seat;
};

/* The state of a node that may pend, in one replay. What its words mean is the node's own business
 * (src/frame/node.h); 0 when the frame is filled. */
struct rd_pend {
    RD_ALIGNED rd_atomic64 state;
    rd_atomic64 wake;
    rd_atomic64 more[4];
    void *record;
    int64_t begin_ns; /* src/frame/slow.c: of its first call, if timed */
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
