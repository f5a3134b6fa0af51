/* SPDX-License-Identifier: BSD-3-Clause */
/* A work source without a plan: progresses so often as its word allows, and says what it did. */
#ifndef TESTS_MACHINE_FAKE_H
#define TESTS_MACHINE_FAKE_H

#include "src/machine/worker.h"

struct fake_log {
    rd_atomic32 count;
    char text[256];
};

struct fake {
    struct rd_work work; /* first */
    rd_atomic64 allowed; /* steps */
    rd_atomic64 wake;
    rd_atomic64 done; /* steps so far */
    rd_atomic64 asked;
    rd_atomic32 detach, gone;
    rd_atomic32 open; /* 0: advance holds the worker up */
    char name;
    struct fake_log *log;    /* NULL: none */
    struct fake *gives;      /* is allowed one more step by each step of this one */
    int64_t until_ns;        /* IDLE until then, once */
    rd_atomic64 woken_at_ns; /* first asked since */
    rd_atomic32 depth;       /* rd_task_depth where it ran, + 1 */
    struct rd_source *ends;  /* raised by one with each step */
};

void fake_init(struct fake *f, char name, int32_t priority, uint64_t allowed);
/* Allows more steps, as a waker does. */
void fake_allow(struct fake *f, uint64_t more);
/* Lets the worker drop it, and waits until it has. */
void fake_detach(struct fake *f, struct rd_worker *w);
/* Waits a minute at most. */
int fake_await(rd_atomic64 *word, uint64_t value);
/* The runtime of a handle that stays open. */
struct rd_runtime *fake_runtime(rondo_runtime handle);

#endif
