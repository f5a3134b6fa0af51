/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/machine/fake.h"

#include "src/base/os.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum rd_advance advance(struct rd_work *work, struct rd_unmet *unmet)
{
    struct fake *f = (struct fake *)work;
    uint64_t done = rd_load_relaxed(&f->done);
    rd_add_relaxed(&f->asked, 1);
    if (rd_load_acquire(&f->detach))
        return RD_DONE;
    while (!rd_load_acquire(&f->open))
        rd_pause();
    if (f->until_ns) {
        int64_t now = rd_os.now_ns();
        if (now < f->until_ns) {
            *unmet = (struct rd_unmet){ NULL, 0, NULL, NULL, f->until_ns };
            return RD_IDLE;
        }
        f->until_ns = 0;
        rd_store_release(&f->woken_at_ns, (uint64_t)now);
    }
    if (done >= rd_load_acquire(&f->allowed)) {
        *unmet = (struct rd_unmet){ &f->allowed, done + 1, &f->wake, NULL, 0 };
        return RD_IDLE;
    }
    rd_store_relaxed(&f->depth, (uint32_t)rd_task_depth + 1);
    if (f->log) {
        uint32_t at = rd_add_relaxed(&f->log->count, 1);
        if (at + 1 < sizeof f->log->text)
            f->log->text[at] = f->name;
    }
    if (f->gives)
        fake_allow(f->gives, 1);
    rd_store_release(&f->done, done + 1);
    if (f->ends) {
        rd_store_release(&f->ends->done, done + 1);
        rd_fence();
        rd_park_wake(&f->ends->wake);
    }
    return RD_PROGRESSED;
}

static void detached(struct rd_work *work) { rd_store_release(&((struct fake *)work)->gone, 1); }

void fake_init(struct fake *f, char name, int32_t priority, uint64_t allowed)
{
    memset(f, 0, sizeof *f);
    f->work.advance = advance;
    f->work.detached = detached;
    f->work.priority = priority;
    f->work.detach = &f->detach;
    f->name = name;
    rd_store_relaxed(&f->open, 1);
    rd_store_relaxed(&f->allowed, allowed);
}

void fake_allow(struct fake *f, uint64_t more)
{
    rd_add_acq_rel(&f->allowed, more);
    rd_fence(); /* partner: the worker's before it sleeps */
    if (rd_load_relaxed(&f->wake))
        rd_park_wake(&f->wake);
}

int fake_await(rd_atomic64 *word, uint64_t value)
{
    const struct timespec nap = { 0, 100000 };
    for (int i = 0; i < 600000; i++) {
        if (rd_load_acquire(word) >= value)
            return 1;
        nanosleep(&nap, NULL);
    }
    return 0;
}

void fake_detach(struct fake *f, struct rd_worker *w)
{
    const struct timespec nap = { 0, 100000 };
    rd_store_release(&f->detach, 1);
    rd_worker_poke(w);
    for (int i = 0; i < 600000 && !rd_load_acquire(&f->gone); i++)
        nanosleep(&nap, NULL);
    if (!rd_load_acquire(&f->gone))
        abort();
}

struct rd_runtime *fake_runtime(rondo_runtime handle)
{
    rondo_status status;
    struct rd_runtime *rt = rd_runtime_get(handle, &status);
    if (!rt)
        abort();
    rd_runtime_unref(rt); /* the handle's own reference stays */
    return rt;
}
