/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a device's queue has come, as an event source: raised by callbacks of drivers, which come
 * in any order and on any thread.
 *
 * Safety. `done` is raised by compare-and-swap to a greater value, as a counter's
 * (src/event/counter.c): it only grows, and who acquires a value sees what was written before any
 * raise up to it. RD_PROGRESS_LOST is greater than every submission's value, so nothing comes after
 * it. Whoever owns the progress may free it as soon as it sees a value that it waited for: so the
 * source is read before the raise, and nothing of the progress after it; the source's record
 * outlives every use. */
#include "src/device/device.h"

#include <pthread.h>
#include <stdio.h>

void rd_progress_reach(struct rd_progress *p, uint64_t value) { rd_source_raise(p->source, value); }

void rd_progress_fail(struct rd_progress *p, const char *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the first reason stays */
    struct rd_source *s = p->source;
    pthread_mutex_lock(&lock);
    if (!rd_load_relaxed(&p->failed)) { /* written under the lock alone */
        snprintf(p->why, sizeof p->why, "%s", why);
        rd_store_release(&p->failed, 1); /* pairs with the acquire of who reads `why` */
    }
    pthread_mutex_unlock(&lock);
    rd_source_raise(s, RD_PROGRESS_LOST);
}
