/* SPDX-License-Identifier: BSD-3-Clause */
/* Precise failure: which ops of which replays must not run, and what is told about it.
 *
 * `bad` is 0 or {epoch + 1, replay}: the least replay that failed in that epoch. Safety: a failing
 * op records its failure, sets its bit and lowers `bad` before it publishes (release); whoever runs
 * after it has acquired that publish, or one that came after it, and so sees `bad` and the bits
 * with relaxed loads. Bits of one word belong to one lane; the next filler of the frame clears
 * them. */
#ifndef RD_FRAME_FAILURE_H
#define RD_FRAME_FAILURE_H

#include "src/frame/frame.h"
#include "src/frame/program.h"

#include <pthread.h>

enum { RD_KEPT_FAILURES = 64, RD_KEPT_SUCCESSES = 256, RD_REPLAY_BITS = 40 };
#define RD_REPLAY_MASK ((1ull << RD_REPLAY_BITS) - 1)

struct rd_failure {
    uint64_t replay;
    uint32_t epoch, node;
    char message[208];
};

/* The least failed replay of an epoch that had one, and what was cancelled. */
struct rd_epoch_failure {
    uint32_t epoch;
    uint64_t replay, cancelled_before; /* replays cancelled in earlier epochs */
};

struct rd_failures {
    RD_ALIGNED rd_atomic64 bad;
    int run_on;           /* RONDO_ON_FAILURE_CONTINUE */
    pthread_mutex_t lock; /* of all below; never taken by a replay that does not fail */
    struct rd_failure kept[RD_KEPT_FAILURES];
    uint64_t kept_count; /* so far; the last ones are in kept[] */
    struct rd_epoch_failure epoch[RD_KEPT_FAILURES];
    uint64_t epoch_count;
    int has_first; /* `first` is the least failed replay since the last reset */
    struct rd_failure first;
    /* Where epochs begin: epoch_first[e & epoch_mask] is the first replay of epoch e. */
    uint64_t *epoch_first;
    uint32_t epoch_mask, epoch_now;
};

enum rd_badness { RD_BAD_NONE, RD_BAD_HERE, RD_BAD_BEFORE };

/* What the failures so far mean for a frame: nothing; look at each op's predecessors; skip every
 * op. */
static inline enum rd_badness rd_badness(const struct rd_track *t, const struct rd_frame *f)
{
    uint64_t bad = rd_load_relaxed(&t->failures->bad); /* see the safety argument above */
    if (RD_LIKELY(!bad) || bad >> RD_REPLAY_BITS != f->epoch + 1ull)
        return RD_BAD_NONE;
    if (t->failures->run_on)
        return rd_load_relaxed(&f->dirty) ? RD_BAD_HERE : RD_BAD_NONE;
    bad &= RD_REPLAY_MASK;
    return bad > f->replay ? RD_BAD_NONE : bad == f->replay ? RD_BAD_HERE : RD_BAD_BEFORE;
}

/* Marks an op bad. Only the lane that the bit belongs to. */
static inline void rd_mark_bad(struct rd_frame *f, uint32_t bit)
{
    rd_atomic64 *word = &f->bad[bit / 64];
    rd_store_relaxed(word, rd_load_relaxed(word) | 1ull << bit % 64); /* published with the op */
    rd_store_relaxed(&f->dirty, 1);
}

/* Whether a predecessor of the node is bad in this frame. */
int rd_has_bad_predecessor(const struct rd_track *t, const struct rd_frame *f, uint32_t node);
/* The op behind `bit` returned an error: records it, marks it, lowers `bad`. Before its publish. */
void rd_frame_fail(struct rd_lane *l, struct rd_frame *f, uint32_t bit, uint32_t node, int code);

/* Cold. epoch_room: a power of two over the number of epochs that can have replays in flight. */
rondo_status rd_failures_init(struct rd_failures *fs, struct rd_allocator *a, uint32_t epoch_room);
void rd_failures_end(struct rd_failures *fs, struct rd_allocator *a);
/* A new epoch begins at that replay. Under the lock. */
void rd_failures_new_epoch(struct rd_failures *fs, uint64_t first_replay);
/* Replays before this one that were cancelled. Exact once all of them have ended. Under the lock.
 */
uint64_t rd_failures_cancelled_before(const struct rd_failures *fs, uint64_t replay);
/* What became of a replay that has ended; `latest` is the last one that has. Takes the lock. */
rondo_status rd_failures_result(struct rd_failures *fs, const struct rd_program *p, uint64_t replay,
                                uint64_t latest, rondo_result *result);
/* The first failure since the last reset, RONDO_OK if none. Takes the lock. */
rondo_status rd_failures_first(struct rd_failures *fs, const struct rd_program *p, uint64_t latest,
                               rondo_result *result);

#endif
