/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers: what turns to the sources on an agenda. One per processor, with a pinned thread of its
 * own or (adopted) driven by the user's threads; and helpers, an exec's own, whose tasks may wait.
 */
#ifndef RD_MACHINE_WORKER_H
#define RD_MACHINE_WORKER_H

#include "src/event/source.h"
#include "src/machine/thread.h"
#include "src/machine/work.h"

enum rd_worker_kind { RD_WORKER_PINNED, RD_WORKER_ADOPTED, RD_WORKER_HELPER };

struct rd_worker {
    RD_ALIGNED rd_atomic(struct rd_work *) inbox;
    /* Grows with every push and poke; a parked worker has seen its value. */
    rd_atomic64 attention;
    rd_atomic32 spot; /* of the thread that runs it, + 1; 0: none */
    rd_atomic32 stop;
    RD_ALIGNED struct rd_runtime *rt;
    enum rd_worker_kind kind;
    uint32_t processor, cpu;
    struct rd_work *agenda; /* by falling priority */
    int mixed;              /* its sources may differ in priority */
    rd_atomic32 wheel;      /* adopted: who may touch the agenda, see worker.c */
    rd_atomic32 driver;     /* adopted: the kernel's number of the thread that drives; 0: none */
    /* For who looks from a signal handler (src/machine/where.h). */
    rd_atomic(struct rd_work *) asked; /* the source it is turning to; NULL: none */
    rd_atomic(struct rd_worker *) next_helper;
    struct rd_thread thread; /* not of an adopted one */
};

/* What a driver waits for. */
struct rd_until {
    struct rd_source *source; /* NULL: only the time */
    uint64_t id, count;
    int64_t deadline; /* rd_os.now_ns time; negative: none */
    int once;         /* one look */
};

/* Starts the worker of a processor: `adopted` ones have no thread. Else rd_worker_await has to
 * follow. SYSTEM. */
rondo_status rd_worker_start(struct rd_worker *w, struct rd_runtime *rt, uint32_t processor,
                             uint32_t cpu, int adopted);
/* Waits until its thread runs. On an error the worker is as if it had not been started. */
rondo_status rd_worker_await(struct rd_worker *w);
/* Starts an exec's helper, of zeroed memory: it runs anywhere the runtime's opener might, tasks on
 * it may wait, and it sleeps as soon as it has nothing to do. Blocks until it runs. SYSTEM, or what
 * the thread_start hook returned. */
rondo_status rd_worker_start_helper(struct rd_worker *w, struct rd_runtime *rt, uint32_t number);
/* Joins it; its agenda is empty. */
void rd_worker_stop(struct rd_worker *w);

/* Puts a source on the agenda. Any thread. */
void rd_worker_push(struct rd_worker *w, struct rd_work *work);
/* Makes a parked worker look at all its sources again. The caller's change came before. */
void rd_worker_poke(struct rd_worker *w);

/* Adopted workers. Takes the right to run it, if nobody has it: 0 else. Inside an RCU read section
 * that found the runtime. */
int rd_worker_take(struct rd_worker *w);
/* The caller, who took it, is the worker until then, and gives it back. OK: the event is complete;
 * AGAIN: the time is over; STALE: the runtime is closing. */
rondo_status rd_worker_drive(struct rd_worker *w, const struct rd_until *until);
/* Returns when nobody touches the adopted workers any more, who were all stopped. */
void rd_worker_drivers_left(struct rd_runtime *rt);
/* The caller runs what adopted workers that nobody drives have to do, once; whether that was
 * anything. Not inside a task. */
int rd_worker_help(struct rd_runtime *rt);

#endif
