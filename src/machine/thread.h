/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads that run user code: started with signals blocked, bound, scheduled and greeted by the
 * user's hook before anyone relies on them. */
#ifndef RD_MACHINE_THREAD_H
#define RD_MACHINE_THREAD_H

#include "src/machine/runtime.h"

#include <pthread.h>

struct rd_thread {
    /* Set by who starts it. */
    struct rd_runtime *rt;
    char what[24]; /* for messages: "worker 3" */
    const uint32_t *cpu;
    uint32_t cpu_count;        /* bound to cpu[0 .. cpu_count) as far as possible; 0: not bound */
    rondo_processor processor; /* what the hooks are told */
    int scheduled;             /* by the runtime's policy */
    void (*run)(void *argument);
    void *argument;
    /* The thread's. */
    pthread_t id;
    rd_atomic32 tid; /* the kernel's; 0: not running */
    rd_atomic32 ready;
    rd_atomic64 wake; /* spots that wait for `ready` */
    rondo_status status;
    char message[208];
};

/* Greater than 0 while this thread runs tasks. */
extern _Thread_local int rd_task_depth;

/* A thread with all signals blocked but faults. What pthread_create returned. */
int rd_thread_begin(pthread_t *thread, void *(*main)(void *argument), void *argument);

/* Creates it. SYSTEM. */
rondo_status rd_thread_create(struct rd_thread *t);
/* Waits until it runs. A thread that could not be scheduled, or whose start hook failed, has ended
 * and been joined: its status. */
rondo_status rd_thread_await(struct rd_thread *t);
/* After `run` was made to return. */
void rd_thread_join(struct rd_thread *t);
/* The kernel's number of the calling thread. */
uint32_t rd_thread_tid(void);
/* Brings the calling thread to that CPU, if it may run there; where it may run stays as it is. */
void rd_thread_go(uint32_t cpu);

#endif
