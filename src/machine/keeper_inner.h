/* SPDX-License-Identifier: BSD-3-Clause */
/* What the keeper's files share.
 *
 * Two locks. `turn` is held by who changes what is current, also over a grace period; `lock`,
 * inside of it, guards what is looked at and added to by anybody, also in read sections: the list
 * of keeps, instances, users, the queue of copies. */
#ifndef RD_MACHINE_KEEPER_INNER_H
#define RD_MACHINE_KEEPER_INNER_H

#include "src/machine/keeper.h"

#include <pthread.h>

/* Boxes of a buffer that are copied from one instance to another. from == to: they are overwritten
 * by a pattern, since they are out of date there (RONDO_DEVICE_POISON). */
struct rd_carry {
    struct rd_keep *keep; /* its buffer is referenced */
    uint32_t from, to;
    struct rd_boxes boxes;
};

/* An instance that has to be right: if copies to it fail, so does what uses it. */
struct rd_use {
    const struct rd_keep *keep;
    uint32_t memory;
};

struct rd_wait_for {
    struct rd_source *source;
    rondo_event event;
};

/* Copies as the keeper has them: what they are, and what they follow. */
struct rd_job {
    struct rd_fetch fetch; /* first */
    struct rd_keeper *keeper;
    struct rd_job *next;   /* in the queue; under `lock` */
    struct rd_job *doomed; /* keeper.c: of those that fail together */
    struct rd_carry *carry;
    size_t carries, carry_room;
    struct rd_use *use;
    size_t uses, use_room;
    struct rd_wait_for *wait;
    size_t waits, wait_room;
    struct rd_job **before; /* referenced; queued before */
    size_t befores, before_room;
};

struct rd_keep {
    struct rd_buffer *buffer;
    struct rd_keep *next, **link;                 /* all of a runtime's; under `lock` */
    struct rd_instance instance[RD_MEMORIES_MAX]; /* under `lock`; once made they stay */
    struct rd_boxes current[RD_MEMORIES_MAX];     /* in one's turn */
    struct rd_job *last;    /* referenced; the last copies queued that touch it; under `lock` */
    struct rd_taker **user; /* under `lock` */
    size_t users, user_room;
    struct rd_subject *subject; /* of the plan that is being made, in one's turn */
};

struct rd_keeper {
    struct rd_runtime *rt;
    pthread_t thread;
    rd_atomic64 attention;
    rd_atomic32 spot; /* + 1 */
    rd_atomic32 stop;
    uint32_t memories; /* 1 + devices */
    int poison;
    pthread_mutex_t turn, lock;
    struct rd_keep *keeps;
    struct rd_taker *takers;
    struct rd_job *first, **end; /* the queue */
};

static inline struct rd_device *rd_keeper_device(const struct rd_keeper *k, uint32_t memory)
{
    return &k->rt->devices->device[memory - 1];
}
static inline rondo_region rd_keep_whole(const struct rd_buffer *b)
{
    return (rondo_region){ { 0, 0, 0 },
                           { b->shape.extent[0], b->shape.extent[1], b->shape.extent[2] } };
}
/* Element (0,0,0) in a memory, or NULL. */
static inline char *rd_keep_address(const struct rd_keep *k, uint32_t memory)
{
    if (!memory)
        return rd_buffer_base(k->buffer);
    return k->instance[memory].shadow ? rd_buffer_base(k->instance[memory].shadow) : NULL;
}
/* "the host" or "RONDO_GPU(1)" */
const char *rd_memory_name(uint32_t memory, char text[24]);

/* ---- keeper_instance.c; under `lock` */
struct rd_keep *rd_keep_of(struct rd_buffer *b); /* made if there is none; NULL: no memory */
rondo_status rd_keep_instance(struct rd_keep *k, uint32_t memory);

/* ---- keeper_overlap.c */
/* The memory of which both have the same bytes in part, -1: none. Under `lock`. */
int rd_keep_home(const struct rd_buffer *b, const struct rd_keep *k);
/* Adds to `meet` the elements of `k` that share bytes with those boxes of `b` in memory `home`;
 * exact. -1: no memory. */
int rd_keep_meet(const struct rd_keep *k, const struct rd_buffer *b, const struct rd_boxes *boxes,
                 uint32_t home, struct rd_boxes *meet);

/* ---- keeper_copy.c */
/* Makes the copies of a job, in order. FAILED, DEVICE_LOST with the message. */
rondo_status rd_job_copy(struct rd_job *job);

/* ---- keeper.c */
struct rd_job *rd_job_new(struct rd_keeper *k); /* one reference; NULL: no memory */
void rd_job_drop(struct rd_job *job);           /* one that was never queued */
/* Under `lock`. Takes a reference of its own. */
void rd_job_queue(struct rd_job *job);
void rd_keeper_poke(struct rd_keeper *k);

#endif
