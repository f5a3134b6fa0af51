/* SPDX-License-Identifier: BSD-3-Clause */
/* A series: one numbering of replays, shared by the cores they run on.
 *
 * word = {core:6, epoch:18, ticket:40}. A submitter takes a ticket by CAS; the core in the word is
 * the one whose frame the ticket gets, reset adds one to the epoch, and a change of core happens in
 * the same word, so all three say exactly which tickets they cover.
 *
 * A change of core is a serial boundary: the first frame of the new core is gated on the event that
 * all replays before it have ended. A core comes back only when the last replay it ran has ended,
 * so its frames and counters are at rest; its own count of replays goes on from where it was, and
 * the number of the series' ticket less the core's offset is that count. Offsets change under the
 * lock, before the word names the core; who reads one that is about to change loses its CAS. */
#ifndef RD_EXEC_SERIES_H
#define RD_EXEC_SERIES_H

#include "src/exec/batch.h"
#include "src/frame/failure.h"

struct rd_core;
struct rd_exec;

enum { RD_GROUP_MOST = 16 };
enum { RD_CORE_BITS = 6, RD_EPOCH_BITS = 64 - RD_CORE_BITS - RD_REPLAY_BITS };
enum { RD_CORES_MAX = (1 << RD_CORE_BITS) - 1, RD_EPOCH_MAX = (1 << RD_EPOCH_BITS) - 2 };
#define RD_WORD_TICKET(word) ((word)&RD_REPLAY_MASK)
#define RD_WORD_EPOCH(word)  ((uint32_t)((word) >> RD_REPLAY_BITS) & ((1u << RD_EPOCH_BITS) - 1))
#define RD_WORD_CORE(word)   ((uint32_t)((word) >> (RD_REPLAY_BITS + RD_EPOCH_BITS)))

/* What a call with a count, whose replays end on several tracks, wants called. */
struct rd_call_done {
    uint64_t end; /* when all before this ticket have ended */
    void (*done)(void *context, rondo_event event);
    void *context;
};

struct rd_series {
    struct rd_runtime *rt;
    rd_atomic64 refs; /* execs of it */
    uint32_t window, tracks;
    struct rd_source **source; /* by track */
    struct rd_source *all;     /* of all tracks together; with one track that one's */
    struct rd_failures failures;
    /* {epoch:24, not executed before it:40}: valid for replays of that epoch. Used by execs whose
     * replays have an index. */
    rd_atomic64 ring_word;
    struct rd_batch batch;
    /* By call number & stop_mask: replays beyond this one are stopped (rd_frame.stop). */
    rd_atomic64 *stop;
    uint32_t stop_mask;
    int stoppable; /* an exec of it has nodes that may stop; set before any is published */
    pthread_mutex_t stops_lock; /* of taking tickets then */
    uint64_t calls;             /* of execs with such nodes; under stops_lock */
    /* The ticket after the last call of several replays, and up to where ring_word counts. */
    uint64_t many_end, counted_end;
    /* With several tracks; as many as calls can be under way. */
    struct rd_call_done *call_done;
    rd_atomic32 call_dones;
    uint32_t call_done_room;
    pthread_mutex_t call_done_lock;
    pthread_mutex_t lock; /* changes of core, and the table of cores; members */
    /* Handles of the execs of it that are not destroyed; the sources name one of them. */
    uint64_t member[RD_GROUP_MOST];
    uint32_t members;
    pthread_mutex_t change; /* held by who changes what an exec of it runs, while it is frozen */
    /* While an exec changes what its ops run, the word names no core, and this is the one that ran
     * last, for callers that wait for its replays. */
    rd_atomic32 frozen; /* its number + 1; 0: not frozen */
    struct rd_core *core[RD_CORES_MAX];
    /* For waiting callers, inside a read section: those that have been attached, NULL from before
     * the grace period that precedes a core's end. One more, which stays NULL, for a word that
     * names no core. */
    rd_atomic(struct rd_core *) live[RD_CORES_MAX + 1];
    RD_ALIGNED rd_atomic64 word;
};

/* One reference. MEMORY. */
rondo_status rd_series_new(struct rd_runtime *rt, uint32_t window, uint32_t tracks,
                           const char *name, struct rd_series **series);
void rd_series_unref(struct rd_series *s);
/* Room in the table. AGAIN when it is full: `name` is the exec's. */
rondo_status rd_series_add(struct rd_series *s, struct rd_core *core, const char *name);
void rd_series_remove(struct rd_series *s, struct rd_core *core);
/* Whether the table is full, but not for long: the cleaner is about to end a core of it. */
int rd_series_will_have_room(struct rd_series *s);
/* Makes tickets from now on those of `core`. AGAIN: *source has to reach *count first. */
rondo_status rd_series_switch(struct rd_series *s, struct rd_core *core, struct rd_source **source,
                              uint64_t *count);
/* Gives out no tickets until rd_series_thaw: submitters wait, or are told to try again. Returns
 * what `all` has to reach until nothing is in flight. Waits for another thread to thaw it. */
uint64_t rd_series_freeze(struct rd_series *s);
void rd_series_thaw(struct rd_series *s);
/* The exec has its handle. */
void rd_series_join(struct rd_series *s, uint64_t exec);
/* It is about to be destroyed: the sources name another one, if there is one. */
void rd_series_leave(struct rd_series *s, uint64_t exec);
/* An exec that the source's events are of; NULL: there is none any more. Inside a read section. */
struct rd_exec *rd_exec_of_source(const struct rd_source *source);
/* Whether a source counts replays of the series. */
static inline int rd_series_has(const struct rd_series *s, const struct rd_source *source)
{
    uint32_t track = rd_load_relaxed(&((struct rd_source *)(uintptr_t)source)->track);
    return source == s->all || (track < s->tracks && source == s->source[track]);
}
/* The core whose lanes a waiting caller may drive; NULL: none. Inside a read section. */
static inline struct rd_core *rd_series_live(struct rd_series *s)
{
    uint32_t frozen, core = RD_WORD_CORE(rd_load_acquire(&s->word));
    if (RD_UNLIKELY(core == RD_CORES_MAX) && (frozen = rd_load_acquire(&s->frozen)) != 0)
        core = frozen - 1;
    return rd_load_acquire(&s->live[core]); /* pairs with rd_core_attach */
}

#endif
