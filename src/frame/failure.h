/* SPDX-License-Identifier: BSD-3-Clause */
/* Precise failure: which ops of which replays must not run, and what is told about it.
 *
 * `bad` is 0 or {epoch + 1, replay}: the least replay that failed in that epoch; RD_BAD_STOP, less
 * than any of these, once a call was stopped. Safety: a failing op records its failure, sets its
 * bit and lowers `bad` before it publishes (release); whoever runs after it has acquired that
 * publish, or one that came after it, and so sees `bad` and the bits with relaxed loads. A node
 * that stops its call lowers the frame's `stop` and makes `bad` not 0 in the same way. Bits of one
 * word belong to one lane of a static plan; the next filler of the frame clears them. */
#ifndef RD_FRAME_FAILURE_H
#define RD_FRAME_FAILURE_H

#include "src/frame/frame.h"
#include "src/frame/program.h"

#include <pthread.h>

enum {
    RD_KEPT_FAILURES = 64,
    RD_KEPT_SUCCESSES = 256,
    RD_KEPT_STOPS = 256, /* as many as successes: each has a replay of its own */
    RD_REPLAY_BITS = 40
};
#define RD_REPLAY_MASK ((1ull << RD_REPLAY_BITS) - 1)
enum { RD_BAD_STOP = 1 };

/* What is told of a failure. It stands for itself: the exec that it is of may be changed. */
struct rd_failure {
    uint64_t replay;
    uint64_t call_end; /* after the last replay of its call */
    uint64_t tag;
    uint32_t epoch, node;
    rondo_status status; /* FAILED, DEADLINE, DEVICE_LOST */
    char name[48];
    char message[208];
};

/* The least failed replay of an epoch that had one, and what was cancelled. */
struct rd_epoch_failure {
    uint32_t epoch;
    uint64_t replay, end;      /* end: the first replay of the next epoch, UINT64_MAX before it */
    uint64_t cancelled_before; /* replays cancelled in earlier epochs */
};

/* A call that was stopped: its replays [first, end) did not run; first == end: all of them did. */
struct rd_stop {
    uint64_t first, end;
};

struct rd_times {
    uint64_t count; /* replay + 1 */
    int64_t begin_ns, end_ns;
};

struct rd_failures {
    RD_ALIGNED rd_atomic64 bad;
    int run_on;           /* RONDO_ON_FAILURE_CONTINUE */
    pthread_mutex_t lock; /* of all below; of replays taken by those that fail, stop or are timed */
    struct rd_failure kept[RD_KEPT_FAILURES];
    uint64_t kept_count; /* so far; the last ones are in kept[] */
    struct rd_epoch_failure epoch[RD_KEPT_FAILURES];
    uint64_t epoch_count;
    struct rd_stop stop[RD_KEPT_STOPS];
    uint64_t stop_count;    /* so far; the last ones are in stop[] */
    uint64_t stopped_older; /* replays stopped by those no longer in stop[] */
    int has_first;          /* `first` is the least failed replay since the last reset */
    struct rd_failure first;
    struct rd_times times[RD_KEPT_SUCCESSES]; /* by replay % RD_KEPT_SUCCESSES */
    /* Where epochs begin: epoch_first[e & epoch_mask] is the first replay of epoch e. */
    uint64_t *epoch_first;
    uint32_t epoch_mask, epoch_now;
};

enum rd_badness {
    RD_BAD_NONE,
    RD_BAD_HERE,    /* look at each op's predecessors */
    RD_BAD_BEFORE,  /* skip every op, mark it bad */
    RD_BAD_STOPPED, /* skip every op: the replay does not take place */
};
enum rd_badness rd_badness_now(const struct rd_track *t, const struct rd_frame *f, uint64_t bad);

/* What the failures so far mean for a frame. */
static inline enum rd_badness rd_badness(const struct rd_track *t, const struct rd_frame *f)
{
    uint64_t bad = rd_load_relaxed(&t->failures->bad); /* see the safety argument above */
    return RD_LIKELY(!bad) ? RD_BAD_NONE : rd_badness_now(t, f, bad);
}

/* Marks an op bad. */
static inline void rd_mark_bad(struct rd_frame *f, uint32_t bit)
{
    /* Relaxed: published with the op. Atomic: in a dataflow plan lanes share words. */
    rd_or_relaxed(&f->bad[bit / 64], 1ull << bit % 64);
    rd_store_relaxed(&f->dirty, 1);
}

/* Whether a predecessor of the node is bad in this frame. */
int rd_has_bad_predecessor(const struct rd_track *t, const struct rd_frame *f, uint32_t node);
/* The op behind `bit` returned an error: records it, marks it, lowers `bad`. Before its publish. An
 * op that may pend and returned RD_CALLED_OFF is marked, and nothing is recorded of it. */
void rd_frame_fail(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node, int code);
/* The same for an op that is skipped because the frame's deadline has passed. */
void rd_frame_late(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node);
/* The same where the copies that the frame waited for failed, so that no op may run. */
void rd_frame_unfit(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node);
/* Replays of the frame's call from f->replay + 1 + lag on do not run. Inside of an op. */
void rd_frame_stop(const struct rd_track *t, struct rd_frame *f, uint32_t lag);

/* Cold. epoch_room: a power of two over the number of epochs that can have replays in flight. */
rondo_status rd_failures_init(struct rd_failures *fs, struct rd_allocator *a, uint32_t epoch_room);
void rd_failures_end(struct rd_failures *fs, struct rd_allocator *a);
/* A new epoch begins at that replay. Under the lock. */
void rd_failures_new_epoch(struct rd_failures *fs, uint64_t first_replay);
/* The call that ends before `end` was stopped: its replays [first, end) do not run. Said again of
 * the same call, the least `first` holds. Takes the lock. */
void rd_failures_note_stop(struct rd_failures *fs, uint64_t first, uint64_t end);
/* Adds the times of result->replay, if they were noted. Takes the lock. */
void rd_failures_times(struct rd_failures *fs, rondo_result *result);
/* When the replay ran. Takes the lock. */
void rd_failures_note_times(struct rd_failures *fs, uint64_t replay, int64_t begin_ns,
                            int64_t end_ns);
/* Replays before this one that were not executed: cancelled, or stopped. Exact once all of them
 * have ended. Under the lock. */
uint64_t rd_failures_cancelled_before(const struct rd_failures *fs, uint64_t replay);
/* What became of a replay that has ended; `latest` is the last one that has. Takes the lock. */
rondo_status rd_failures_result(struct rd_failures *fs, const struct rd_program *p, uint64_t replay,
                                uint64_t latest, rondo_result *result);
/* The first failure since the last reset, RONDO_OK if none. Takes the lock. */
rondo_status rd_failures_first(struct rd_failures *fs, const struct rd_program *p, uint64_t latest,
                               rondo_result *result);

#endif
