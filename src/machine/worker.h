/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers: one pinned thread per processor that turns to the sources on its agenda. */
#ifndef RD_MACHINE_WORKER_H
#define RD_MACHINE_WORKER_H

#include "src/machine/runtime.h"
#include "src/machine/work.h"

#include <pthread.h>

struct rd_worker {
    RD_ALIGNED rd_atomic(struct rd_work *) inbox;
    /* Grows with every push and poke; a parked worker has seen its value. */
    rd_atomic64 attention;
    rd_atomic32 spot; /* of its thread, + 1 */
    rd_atomic32 stop;
    RD_ALIGNED struct rd_runtime *rt;
    uint32_t processor, cpu;
    pthread_t thread;
    struct rd_work *agenda;
    int64_t stall_ns; /* of the watchdog, 0: off */
};

/* Greater than 0 while this thread runs tasks. */
extern _Thread_local int rd_task_depth;

/* Starts a worker's thread, bound to its CPU, signals blocked. SYSTEM, MEMORY. */
rondo_status rd_worker_start(struct rd_worker *w, struct rd_runtime *rt, uint32_t processor,
                             uint32_t cpu);
/* Joins it; its agenda is empty. */
void rd_worker_stop(struct rd_worker *w);

/* Puts a source on the agenda. Any thread. */
void rd_worker_push(struct rd_worker *w, struct rd_work *work);
/* Makes a parked worker look at all its sources again. The caller's change came before. */
void rd_worker_poke(struct rd_worker *w);

#endif
