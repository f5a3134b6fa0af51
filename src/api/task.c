/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/task.h: what a running task may ask. */
#include "src/base/error.h"
#include "src/event/completion.h"
#include "src/exec/exec.h"
#include "src/frame/node.h"

#include <stdio.h>
#include <string.h>

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

/* Of a node that was not recorded RONDO_MAY_STOP: nothing orders what it would stop behind it. */
void rondo_task_stop(rondo_task *self)
{
    struct rd_self *s = (struct rd_self *)self;
    const uint32_t *lag = s->program->stop_lag;
    if (lag && lag[*self->node])
        rd_frame_stop(s->lane->track, s->frame, lag[*self->node] - 1);
}

void rondo_task_barrier(rondo_task *self) { rd_team_barrier((struct rd_self *)self); }

void *rondo_task_scratch(rondo_task *self, size_t bytes)
{
    struct rd_self *s = (struct rd_self *)self;
    struct rd_allocator *a = &s->lane->track->core->series->rt->alloc;
    size_t room = bytes <= SIZE_MAX - 63 ? (bytes + 63) & ~(size_t)63 : 0;
    void *block;
    if (s->scratch && bytes <= s->scratch_bytes)
        return s->scratch;
    block = room || !bytes ? rd_alloc(a, room, 64) : NULL;
    if (!block) {
        rd_error(RONDO_ERR_MEMORY, "node '%s': no memory for %zu bytes of scratch",
                 rd_program_name(s->program, *self->node), bytes);
        return NULL;
    }
    if (s->scratch_bytes)
        memcpy(block, s->scratch, s->scratch_bytes);
    rd_self_end(a, s);
    s->scratch = block;
    s->scratch_bytes = room;
    return block;
}

rondo_completion rondo_task_detach(rondo_task *self)
{
    return rd_node_detach((struct rd_self *)self);
}

rondo_status rondo_completion_finish(rondo_completion completion, rondo_status status,
                                     const char *why)
{
    return rd_completion_finish(completion, status, why);
}
