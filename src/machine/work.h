/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker turns to: work sources, and the waits they cannot meet. */
#ifndef RD_MACHINE_WORK_H
#define RD_MACHINE_WORK_H

#include "src/base/park.h"

#include <stddef.h>

enum rd_advance {
    RD_PROGRESSED,
    RD_BLOCKED, /* work in flight, waiting for the unmet wait */
    RD_IDLE,    /* nothing in flight, waiting for the unmet wait */
    RD_BUSY,    /* another thread holds the seat */
    RD_DONE,    /* detached: leaves the agenda */
};

/* An unmet wait: *word has not reached `need`. Whoever raises the word wakes the spots registered
 * in `wake`, if `at` is NULL or the word has reached *at. */
struct rd_unmet {
    const rd_atomic64 *word; /* NULL: only the time is waited for */
    uint64_t need;
    rd_atomic64 *wake;
    rd_atomic64 *at;
    int64_t until_ns; /* met at this time at the latest; 0: no time */
};

int rd_unmet_is_met(const struct rd_unmet *u);

/* A parker's step 2 (src/base/park.h). The bit before `at`: a waker sets *at to "none" and then
 * takes the bits, so a parker whose bit came too late for it sees "none" and lowers it again. */
static inline void rd_unmet_register(const struct rd_unmet *u)
{
    uint64_t bit = rd_park_bit(), at;
    if (!u->word)
        return;
    if (!u->at) {
        rd_park_register(u->wake);
        return;
    }
    if (!(rd_load_relaxed(u->wake) & bit))
        rd_or_acq_rel(u->wake,
                      bit); /* acquire: sees the "none" of a waker that took the bits before */
    at = rd_load_relaxed(u->at);
    while (at > u->need && !rd_cas_relaxed(u->at, &at, u->need))
        ;
}

/* What kind of source it is, for who looks from a signal handler: src/machine/where.h. */
enum { RD_WORK_OTHER, RD_WORK_LANE, RD_WORK_FLOW, RD_WORK_KINDS };

struct rd_work {
    /* Called by the worker of the agenda the source is on, over and over. Fills *unmet on BLOCKED
     * and IDLE. */
    enum rd_advance (*advance)(struct rd_work *work, struct rd_unmet *unmet);
    /* The worker's last touch, after DONE. */
    void (*detached)(struct rd_work *work);
    /* What an unmet wait of this source means, for the log: exec, node and counter. */
    void (*explain)(struct rd_work *work, const struct rd_unmet *unmet, char *text, size_t bytes);
    /* Before the worker parks with the source asked in vain, between steps 1 and 3 of
     * src/base/park.h: registers in what else ends its wait, fences, and looks; 1: there is work
     * after all. NULL: the unmet wait says all. */
    int (*parks)(struct rd_work *work);
    int32_t priority; /* greater is asked first */
    uint32_t kind;    /* RD_WORK_... */
    /* Not 0: advance would return DONE. For who may not advance: an agenda whose worker has no
     * thread is cleared of such sources by whoever pokes it. NULL: the source never leaves so. */
    const rd_atomic32 *detach;
    /* Changes while callers wait and so drive the source themselves; NULL: they never do. */
    const rd_atomic64 *waited;
    rd_atomic(struct rd_work *) next; /* in a worker's inbox */
    /* The worker's own, while the source is on its agenda. */
    struct {
        struct rd_work *next;
        struct rd_unmet unmet;
        enum rd_advance last;
        uint64_t waited; /* *waited at the last look */
        uint32_t calm;   /* looks since it changed */
    } own;
};

#endif
