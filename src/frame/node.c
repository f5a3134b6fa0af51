/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one node that is more than a plain function: whether it is to run at all, with which
 * argument bytes, and as what. */
#include "src/frame/node_kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int any_byte(const char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bytes[i])
            return 1;
    return 0;
}

static int holds(const struct rd_node_when *c, const struct rd_self *self)
{
    int32_t flag;
    if (c->param_bytes && !any_byte(self->view.params + c->param_at, c->param_bytes))
        return 0;
    if (c->every && self->frame->index % c->every != c->phase)
        return 0;
    if (!c->flag)
        return 1;
    memcpy(&flag, self->view.base[c->flag - 1], sizeof flag);
    return flag != 0;
}

int rd_node_holds(const struct rd_node_when *when, uint32_t count, const struct rd_self *self)
{
    for (uint32_t i = 0; i < count; i++)
        if (!holds(&when[i], self))
            return 0;
    return 1;
}

void rd_node_patch(char *arg, const struct rd_node_patch *patch, uint32_t count,
                   const struct rd_self *self)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(arg + patch[i].to, self->view.params + patch[i].from, patch[i].bytes);
}

int rd_node_fail(struct rd_self *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(self->message, sizeof self->message, format, args);
    va_end(args);
    self->told = 1;
    return 1;
}

int rd_node_call(struct rd_self *self, const struct rd_node_work *w)
{
    int code;
    self->work = w;
    code = w->fn(&self->view, w->arg);
    self->work = NULL;
    if (code == RD_PENDING || code == RD_CALLED_OFF)
        return self->told ? 1 : rd_node_fail(self, "returned %d", code);
    return code;
}

int rd_node_run(rondo_task *view, const void *work)
{
    const struct rd_node_work *w = work;
    struct rd_self *self = (struct rd_self *)view;
    struct rd_pend *own = w->pend ? rd_node_pend(self->frame, w->pend) : NULL;
    /* What is under way was found to run, and its argument is in use. */
    if (!own || !rd_node_stage(own)) {
        if (!rd_node_holds(w->when, w->when_count, self)) {
            self->skipped = 1;
            return 0;
        }
        rd_node_patch(w->arg, w->patch, w->patch_count, self);
    }
    switch (w->does) {
    case RD_DO_WAIT: return rd_node_wait(self, w);
    case RD_DO_SIGNAL: return rd_node_signal(self, w);
    case RD_DO_DETACHED: return rd_node_detached(self, w, own);
    case RD_DO_SPMD:
    case RD_DO_HOSTED: return rd_team_run(self, w, own);
    case RD_DO_SUBMIT: return rd_node_submit(self, w);
    case RD_DO_SETTLE: return rd_node_settle(self, w, own);
    case RD_DO_CALL: break;
    }
    return rd_node_call(self, w);
}

int rd_node_under_way(const struct rd_frame *f, const struct rd_op *e)
{
    const struct rd_node_work *w = e->arg;
    if (w->does == RD_DO_SPMD || w->does == RD_DO_HOSTED)
        return rd_team_under_way(f, w);
    return rd_node_stage(rd_node_pend(f, w->pend)) != 0;
}

int rd_node_skip(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    const struct rd_node_work *w = e->arg;
    (void)l;
    if (w->does == RD_DO_SPMD || w->does == RD_DO_HOSTED)
        return rd_team_skip(f, w);
    return !rd_node_under_way(f, e);
}

void rd_self_end(struct rd_allocator *a, struct rd_self *self)
{
    rd_free(a, self->scratch, self->scratch_bytes);
    self->scratch = NULL;
    self->scratch_bytes = 0;
}
