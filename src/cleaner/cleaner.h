/* SPDX-License-Identifier: BSD-3-Clause */
/* The cleaner: the background thread that retires what frames and execs held. It knows nothing of
 * execs but the three functions of a tenant. */
#ifndef RD_CLEANER_CLEANER_H
#define RD_CLEANER_CLEANER_H

#include "src/machine/runtime.h"
#include "src/machine/work.h"

/* Something that holds what the cleaner retires, and that is freed by the cleaner in the end. */
struct rd_tenant {
    /* Retires what ended replays held; returns whether something in flight still holds, and then
     * fills *unmet with the oldest of it. */
    int (*sweep)(struct rd_tenant *tenant, struct rd_unmet *unmet);
    /* After rd_cleaner_retire and a grace period, called until it returns 1: nothing is in flight,
     * workers are detached, seats closed. Returns 0 with *unmet filled, or with unmet->word NULL:
     * ask again. */
    int (*closed)(struct rd_tenant *tenant, struct rd_unmet *unmet);
    /* After closed and another grace period. The tenant's memory is its own to free. */
    void (*free)(struct rd_tenant *tenant);
    rd_atomic32 queued; /* is with the cleaner for a sweep */
    rd_atomic(struct rd_tenant *) next_sweep, next_retired;
    uint64_t number;       /* of its retirement */
    struct rd_unmet waits; /* the cleaner's own */
};

/* A block to free after a grace period, for what is not a tenant. */
struct rd_garbage {
    void (*free)(struct rd_garbage *garbage);
    struct rd_garbage *next;
};

rondo_status rd_cleaner_start(struct rd_runtime *rt, const uint32_t *cpu, uint32_t cpu_count);
/* Everything was retired and drained before. */
void rd_cleaner_stop(struct rd_runtime *rt);

/* A frame of the tenant holds something from now on. Never blocks; called at most once until the
 * sweep. */
void rd_cleaner_sweep(struct rd_runtime *rt, struct rd_tenant *tenant);
/* Hands the tenant over for good. Never blocks, allocates nothing. Its id was retired before. */
void rd_cleaner_retire(struct rd_runtime *rt, struct rd_tenant *tenant);
void rd_cleaner_discard(struct rd_runtime *rt, struct rd_garbage *garbage);
/* Makes the cleaner ask its tenants again: what one of them waits for may have changed. */
void rd_cleaner_poke(struct rd_runtime *rt);
/* Returns when all that was retired and discarded before has been freed. The caller runs adopted
 * processors that nobody drives meanwhile. Not inside a task. */
void rd_cleaner_drain(struct rd_runtime *rt);

#endif
