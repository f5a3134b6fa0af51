/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/machine/watch.h"

#include "src/machine/worker.h"

int rd_watch_look(struct rd_watch *watch, int64_t stall_ns, int blocked, uint64_t sees, int64_t now)
{
    if (!blocked) {
        watch->since = 0;
    } else if (!watch->since || sees != watch->seen) {
        watch->since = now;
        watch->seen = sees;
    } else if (watch->since > 0 && now - watch->since >= stall_ns) {
        watch->since = -1;
        return 1;
    }
    return 0;
}

/* A time that has not come yet is no stall. */
static int is_stuck(const struct rd_work *work)
{
    return work->own.last == RD_BLOCKED && work->own.unmet.word;
}

void rd_watch_worker(struct rd_watch *watch, struct rd_worker *w, int blocked, int64_t now)
{
    uint64_t sees = 1;
    struct rd_work *work;
    char text[256];
    for (work = w->agenda; work; work = work->own.next) {
        if (work->own.last == RD_BUSY)
            return; /* a caller has it just now: neither progress nor a stall */
        if (is_stuck(work))
            sees += rd_load_relaxed(work->own.unmet.word);
    }
    if (!rd_watch_look(watch, w->rt->stall_ns, blocked, sees, now))
        return;
    for (work = w->agenda; work; work = work->own.next) {
        if (!is_stuck(work))
            continue;
        work->explain(work, &work->own.unmet, text, sizeof text);
        rd_log(&w->rt->log, RONDO_LOG_WARNING, "stalled for %lld s: %s",
               (long long)(w->rt->stall_ns / 1000000000), text);
    }
}
