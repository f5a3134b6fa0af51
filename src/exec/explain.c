/* SPDX-License-Identifier: BSD-3-Clause */
/* What a blocked lane waits for, in words: the watchdog's. Another thread may drive the lane
 * meanwhile, so that the node named is a guess. */
#include "src/exec/explain.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/exec/exec.h"

#include <stdio.h>

/* The record of events whose `done` is waited for; NULL: something else is. */
static const struct rd_source *source_of(const struct rd_unmet *u)
{
    const struct rd_source *s =
        (const void *)((const char *)u->word - offsetof(struct rd_source, done));
    return u->wake == &s->wake ? s : NULL;
}

static void explain_source(const struct rd_source *s, char *text, size_t bytes)
{
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(rd_load_relaxed(&s->exec), RD_ID_EXEC);
    if (x)
        snprintf(text, bytes, "replays of exec '%s'", x->program.exec_name);
    else
        snprintf(text, bytes, "the counter with event source 0x%llx",
                 (unsigned long long)rd_source_id(s));
    rd_rcu_read_unlock();
}

static void explain_wait(const struct rd_track *t, const struct rd_unmet *u, char *text,
                         size_t bytes)
{
    const struct rd_source *s = source_of(u);
    for (uint32_t i = 0; i < t->lanes; i++)
        if (s == t->counter[i]) {
            snprintf(text, bytes, "the counter of lane %u", i);
            return;
        }
    if (s == t->source)
        snprintf(text, bytes, "the replays before it");
    else if (s)
        explain_source(s, text, bytes);
    else
        snprintf(text, bytes, "what it began to end");
}

/* Of an executor whose lanes wait for several things at once: what the op called last, that pends,
 * waits for. */
static const struct rd_unmet *of_pending(const struct rd_lane *l, const struct rd_unmet *u)
{
    const struct rd_unmet *own = &l->self.unmet;
    const struct rd_frame *f = rd_track_frame(l->track, l->replay);
    if (!l->begun || !(l->track->flow || f->interpreted) || source_of(u))
        return u;
    return own->word && source_of(own) && !rd_unmet_is_met(own) ? own : u;
}

/* The node that the lane is at; before its replay has begun, its first. */
static const char *node_of(const struct rd_lane *l)
{
    const struct rd_track *t = l->track;
    const struct rd_frame *f = rd_track_frame(t, l->replay);
    const uint32_t *last = l->self.view.node; /* called last: it pends */
    if (l->begun && (t->flow || f->interpreted))
        return last ? rd_program_name(t->program, *last) : "(none yet)";
    return l->position < l->length ? rd_program_name(t->program, l->op[l->position].node)
                                   : "(none yet)";
}

void rd_lane_explain(struct rd_work *work, const struct rd_unmet *u, char *text, size_t bytes)
{
    const struct rd_lane *l = (const struct rd_lane *)work; /* its first member */
    const struct rd_track *t = l->track;
    /* A flow's lanes go on to the next replay before the last has ended. */
    const uint64_t replay =
        l->begun && t->flow ? l->self.view.replay : rd_track_frame(t, l->replay)->replay;
    const char *begun = l->begun ? "" : " has not begun:";
    char what[96];
    if (!u->word) {
        snprintf(text, bytes, "exec '%s', replay %llu, lane %u,%s node '%s' waits for %lld ns",
                 t->program->exec_name, (unsigned long long)replay, l->number, begun, node_of(l),
                 (long long)(u->until_ns - rd_os.now_ns()));
        return;
    }
    u = of_pending(l, u);
    explain_wait(t, u, what, sizeof what);
    snprintf(text, bytes,
             "exec '%s', replay %llu, lane %u,%s node '%s' waits for %s: at %llu, needs %llu",
             t->program->exec_name, (unsigned long long)replay, l->number, begun, node_of(l), what,
             (unsigned long long)rd_load_relaxed(u->word), (unsigned long long)u->need);
}
