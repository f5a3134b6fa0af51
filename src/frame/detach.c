/* SPDX-License-Identifier: BSD-3-Clause */
/* Detached tasks: the node is over when its completion is finished, not when its function returns.
 * The completion's record outlives the exec; the op holds it from detaching to its end. */
#include "src/base/error.h"
#include "src/event/completion.h"
#include "src/frame/node_kinds.h"
#include "src/frame/program.h"

static struct rd_pend *pend_of(const struct rd_self *self)
{
    return rd_node_pend(self->frame, self->work->pend);
}

rondo_completion rd_node_detach(struct rd_self *self)
{
    const rondo_completion none = { 0 };
    const char *name = rd_program_name(self->program, *self->view.node);
    struct rd_completion *c;
    if (!self->work || self->work->does != RD_DO_DETACHED) {
        rd_error(RONDO_ERR_INVALID, "node '%s': rondo_task_detach: not recorded RONDO_DETACHED",
                 name);
        return none;
    }
    if (pend_of(self)->record) {
        rd_error(RONDO_ERR_INVALID, "node '%s': rondo_task_detach: it has detached before", name);
        return none;
    }
    c = rd_completion_new();
    if (!c) {
        rd_error(RONDO_ERR_MEMORY, "node '%s': no memory for a completion", name);
        return none;
    }
    pend_of(self)->record = c;
    return rd_completion_handle(c);
}

int rd_node_detached(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own)
{
    struct rd_completion *c;
    int code = 0;
    if (!rd_node_stage(own)) {
        rd_node_set_stage(own, RD_STAGE_BEGUN);
        own->record = NULL;
        code = rd_node_call(self, w);
    }
    c = own->record;
    if (!c)
        return code;
    if (!code) {
        if (!rd_completion_is_over(c, &self->unmet))
            return RD_PENDING;
        if (c->status)
            code = rd_node_fail(
                self, "%s", c->message[0] ? c->message : "its completion was finished as failed");
    }
    rd_completion_free(c); /* of a function that failed: void */
    own->record = NULL;
    return code;
}
