/* SPDX-License-Identifier: BSD-3-Clause */
/* The host thread: one per runtime, not pinned, that runs code which starts threads itself with the
 * CPUs of a whole team (in a pinned worker all of those threads would share one CPU). */
#ifndef RD_MACHINE_HOST_H
#define RD_MACHINE_HOST_H

#include "src/machine/runtime.h"

struct rd_host_job {
    void (*run)(struct rd_host_job *job); /* tells itself that it is over; then the job may go */
    const uint32_t *cpu; /* of the team, operating system's numbers; live until `run` */
    uint32_t count;
    rd_atomic(struct rd_host_job *) next; /* the queue's */
};

/* Sees to it that the thread runs, so that rd_host_run starts none. Blocks until it does. SYSTEM,
 * MEMORY, or what the thread_start hook returned. */
rondo_status rd_host_need(struct rd_runtime *rt);
/* Has a job run on cpu[0 .. count). Jobs run one after the other, in the order given. Any thread;
 * rd_host_need has succeeded before. Neither blocks nor allocates. */
void rd_host_run(struct rd_runtime *rt, const uint32_t *cpu, uint32_t count,
                 struct rd_host_job *job);
/* All jobs have ended. */
void rd_host_stop(struct rd_runtime *rt);

#endif
