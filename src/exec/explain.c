/* SPDX-License-Identifier: BSD-3-Clause */
/* What a blocked lane waits for, in words: the watchdog's. Another thread may drive the lane
 * meanwhile: it is read as a signal handler would read it (src/frame/where.h), and the node named
 * is a guess. */
#include "src/exec/explain.h"

#include "src/base/id.h"
#include "src/base/os.h"
#include "src/exec/device.h"
#include "src/frame/where.h"

#include <stdio.h>
#include <string.h>

/* The record of events whose `done` is waited for; NULL: something else is. */
static const struct rd_source *source_of(const struct rd_unmet *u)
{
    const char *record = (const char *)u->word - offsetof(struct rd_source, done);
    if (!u->word || (const char *)u->wake != record + offsetof(struct rd_source, wake))
        return NULL;
    return (const void *)record;
}

static void explain_source(const struct rd_source *s, char *text, size_t bytes)
{
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_exec_of_source(s);
    if (x)
        snprintf(text, bytes, "replays of exec '%s'", x->program.exec_name);
    else if (!rd_load_relaxed(&s->exec))
        snprintf(text, bytes, "copies of its buffers from memory to memory");
    else
        snprintf(text, bytes, "the counter with event source 0x%llx",
                 (unsigned long long)rd_source_id(s));
    rd_rcu_read_unlock();
}

/* The device whose queue's progress it is, + 1; 0: none's of the exec. */
static uint32_t device_of(const struct rd_exec *x, const struct rd_source *s)
{
    const struct rd_exec_devices *d = x->devices;
    for (uint32_t i = 0; d && i < d->places; i++)
        if (d->place[i].queue.progress.source == s)
            return d->place[i].queue.device->number + 1;
    return 0;
}

static void explain_wait(const struct rd_track *t, const struct rd_unmet *u, char *text,
                         size_t bytes)
{
    const struct rd_source *s = source_of(u);
    uint32_t device;
    for (uint32_t i = 0; i < t->lanes; i++)
        if (s == t->counter[i]) {
            snprintf(text, bytes, "the counter of lane %u", i);
            return;
        }
    if (s == t->source)
        snprintf(text, bytes, "the replays before it");
    else if (s && (device = device_of(t->exec, s)) != 0)
        snprintf(text, bytes, "gpu %u to come to an end", device - 1);
    else if (s)
        explain_source(s, text, bytes);
    else
        snprintf(text, bytes, "what it began to end");
}

/* What a lane says of itself. */
struct lane_says {
    struct rd_where where;
    int begun;
    struct rd_unmet pends; /* of the op called last, if it pends */
};

/* The node is the one that comes next; where the order is not known, the one called last. */
static void ask(struct rd_work *work, struct lane_says *says)
{
    const struct rd_lane *l = (const struct rd_lane *)work; /* its first member */
    struct rd_where last;
    memset(says, 0, sizeof *says);
    memset(&last, 0, sizeof last);
    rd_lane_where(work, 0, &says->where);
    rd_where_read(&says->begun, &l->begun, sizeof says->begun);
    if (says->where.node[0] || !says->begun)
        return;
    if (rd_lane_where(work, 1, &last))
        says->where = last;
    rd_where_read(&says->pends, &l->self.unmet, sizeof says->pends);
}

void rd_lane_explain(struct rd_work *work, const struct rd_unmet *u, char *text, size_t bytes)
{
    const struct rd_lane *l = (const struct rd_lane *)work;
    struct lane_says says;
    char what[96], who[320];
    ask(work, &says);
    snprintf(
        who, sizeof who, "exec '%s', replay %llu, lane %u,%s node '%s' waits for", says.where.exec,
        (unsigned long long)says.where.replay, says.where.lane,
        says.begun ? "" : " has not begun:", says.where.node[0] ? says.where.node : "(none yet)");
    if (!u->word) {
        snprintf(text, bytes, "%s %lld ns", who, (long long)(u->until_ns - rd_os.now_ns()));
        return;
    }
    /* An executor whose lanes wait for several things at once. */
    if (!source_of(u) && source_of(&says.pends) && !rd_unmet_is_met(&says.pends))
        u = &says.pends;
    explain_wait(l->track, u, what, sizeof what);
    snprintf(text, bytes, "%s %s: at %llu, needs %llu", who, what,
             (unsigned long long)rd_load_relaxed(u->word), (unsigned long long)u->need);
}
