/* SPDX-License-Identifier: BSD-3-Clause */
/* Event sources: the records behind {source, count}. Process-lifetime, type-stable memory, so that
 * an event may be asked for ever.
 *
 * Safety. A record is used again under a new generation. rd_source_retire makes the generation new
 * first and resets `done` afterwards; an observer acquires `done` first and reads the generation
 * then: if it is still the event's, `done` was this use's; if not, the use is over and the event
 * complete. `done` is raised by one thread at a time, in order, by release stores of growing
 * values; a counter's (src/event/counter.h) by any, by compare-and-swap to a greater one. */
#ifndef RD_EVENT_SOURCE_H
#define RD_EVENT_SOURCE_H

#include "src/base/park.h"

#include <rondo/base.h>

struct rd_source {
    RD_ALIGNED rd_atomic64 done; /* alone on its line: written at the end of every replay */
    /* A lane's progress is a source too: whoever raises its `done` wakes only if that has reached
     * `at`, the least value any registered waiter needs (RD_AT_NONE: nobody). Other sources are
     * woken whenever `wake` is not 0. Waiters register by rd_unmet_register with `at` in any case.
     */
    RD_ALIGNED rd_atomic64 at;
    rd_atomic64 wake; /* spots that wait for `done` */
    /* The greatest count that a caller waited for. While it moves, callers drive the exec
     * themselves. */
    RD_ALIGNED rd_atomic64 waited;
    rd_atomic64 generation;
    rd_atomic64 exec;  /* id of the exec it counts for; RD_SOURCE_COUNTER: a counter's */
    rd_atomic32 track; /* of that exec; RD_SOURCE_ALL for all of them together */
    rd_atomic32 awake; /* not 0: who waits for it never sleeps */
    uint32_t index;
    uint32_t next_free; /* under the lock */
};
enum { RD_SOURCE_ALL = 0x7fffffff };
enum { RD_SOURCE_COUNTER = -1 }; /* as uint64_t: no exec's id */
enum { RD_AT_NONE = -1 };        /* as uint64_t: nobody is registered */

/* NULL when there is no memory. done is 0. */
struct rd_source *rd_source_new(void);
/* Every event of this use is complete from now on. */
void rd_source_retire(struct rd_source *s);

static inline uint64_t rd_source_id(const struct rd_source *s)
{
    return rd_load_relaxed(&s->generation) << 32 | (s->index + 1); /* by the owner of the use */
}
/* The record of an event; NULL for {0, ...} and for what was never a source. */
struct rd_source *rd_source_find(uint64_t source);
/* Whether the use that the event belongs to is over. */
static inline int rd_source_is_old(struct rd_source *s, uint64_t source)
{
    return rd_load_acquire(&s->generation) != source >> 32;
}

/* Raises `done` to a value if it is less, and wakes who waits: by any number of threads at once. */
void rd_source_raise(struct rd_source *s, uint64_t value);
/* The fence and the look that follow a change of `done` made otherwise. */
void rd_source_wake(struct rd_source *s);

/* Whether the event {source, count} is complete; `s` is its record. */
static inline int rd_source_reached(struct rd_source *s, uint64_t source, uint64_t count)
{
    /* The acquire of done orders the look at the generation behind it. */
    return rd_load_acquire(&s->done) >= count || rd_source_is_old(s, source);
}

#endif
