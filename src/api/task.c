/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/task.h: what a running task may ask. */
#include "src/base/error.h"
#include "src/frame/frame.h"
#include "src/frame/program.h"

#include <stdio.h>

rondo_status rondo_task_view(const rondo_task *self, unsigned access, rondo_shape *shape,
                             rondo_region *region)
{
    const struct rd_program *p = ((const struct rd_self *)self)->program;
    const rondo_task_node *n = &p->node[*self->node];
    uint32_t count = n[1].place - n->place;
    if (access >= count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': rondo_task_view: access %u, it has %u",
                        rd_program_name(p, *self->node), access, count);
    if (shape)
        *shape = p->shapes[p->places[n->place + access]];
    if (region)
        *region = p->views[n->place + access];
    return RONDO_OK;
}

int rondo_task_fail(rondo_task *self, const char *why)
{
    struct rd_self *s = (struct rd_self *)self;
    snprintf(s->message, sizeof s->message, "%s", why ? why : "");
    s->told = 1;
    return 1;
}
