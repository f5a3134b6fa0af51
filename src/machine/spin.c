/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/machine/spin.h"

#include "src/base/os.h"
#include "src/machine/topology.h"

#include <pthread.h>

enum { SPIN_NS = 2000 };

/* Three pauses between polls: with one, the poll takes the line away from the lane that is about to
 * write it; with many, a hand-over is noticed late. */
struct rd_spin rd_spin = { 3, 0, 0 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int workers;     /* under the lock */
static uint32_t two_us; /* under the lock; polls that take SPIN_NS */

/* The best of a few short runs: a pause takes 10 to 140 cycles, depending on the CPU. */
static uint32_t measure_polls(void)
{
    enum { TRIES = 5, POLLS = 64 };
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t begin = rd_os.now_ns(), took;
        for (int k = 0; k < POLLS; k++)
            rd_spin_pause();
        took = rd_os.now_ns() - begin;
        if (took < best)
            best = took;
    }
    return best > 0 ? (uint32_t)(SPIN_NS * POLLS / best + 1) : SPIN_NS;
}

void rd_spin_workers(int more)
{
    int spare;
    pthread_mutex_lock(&lock);
    if (!two_us)
        two_us = measure_polls();
    workers += more;
    spare = (int)rd_cpus_allowed() - workers;
    /* Relaxed: hints. */
    rd_store_relaxed(&rd_spin.polls, spare >= 0 ? two_us : 0);
    rd_store_relaxed(&rd_spin.spare, spare > 0 ? (uint32_t)spare : 0);
    pthread_mutex_unlock(&lock);
}
