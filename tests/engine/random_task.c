/* SPDX-License-Identifier: BSD-3-Clause */
/* The function of all of a random program's tasks: checks what Rondo shows of the task, gathers
 * where its bytes are, and runs the body; in a team, detached or blocking where it is recorded so.
 */
#include "tests/engine/random_program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

atomic_ullong rg_contexts_made, rg_contexts_released;

void rg_release_context(void *context)
{
    atomic_fetch_add(&rg_contexts_released, 1);
    free(context); /* a second call is a double free */
}

static int same_box(const rondo_region *a, const rondo_region *b, int dims)
{
    for (int d = 0; d < dims; d++)
        if (a->first[d] != b->first[d] || a->count[d] != b->count[d])
            return 0;
    return 1;
}

/* The node of a record that this call is: the chunk tells. */
static uint32_t node_of(struct rg_run *run, uint32_t record, const rondo_task *self)
{
    const struct rg_program *p = run->program;
    const struct rg_record *r = &p->record[record];
    if (r->kind != RG_FOR)
        return r->first_node;
    int dims = p->slot[r->access[0].slot].dims;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (same_box(rondo_task_chunk(self), &p->node[r->first_node + i].chunk, dims))
            return r->first_node + i;
    rg_run_wrong(run, "record %u: a chunk that is none of its own", record);
    return r->first_node;
}

static void check_view(struct rg_run *run, const rondo_task *self, uint32_t node)
{
    const struct rg_program *p = run->program;
    const struct rg_record *r = &p->record[p->node[node].record];
    for (uint32_t a = 0; a < r->access_count; a++) {
        const struct rg_slot *s = &p->slot[r->access[a].slot];
        rondo_shape shape;
        rondo_region box;
        if (rondo_task_view(self, a, &shape, &box) != RONDO_OK)
            rg_run_wrong(run, "node %u: no view of access %u: %s", node, a, rondo_error_message());
        else if (s->kind != RG_TOKEN && memcmp(&shape, &s->shape, sizeof shape) != 0)
            rg_run_wrong(run, "node %u: access %u: another shape", node, a);
        else if (!same_box(&box, &p->node[node].boxes[a].hull, s->dims))
            rg_run_wrong(run, "node %u: access %u: another box", node, a);
    }
}

static void check_team(struct rg_run *run, const rondo_task *self, uint32_t node,
                       const struct rg_record *r)
{
    uint32_t all = run->workers, team = 1;
    if (r->flags & (RONDO_SPMD | RONDO_HOSTED))
        team = r->team && r->team < all ? r->team : all;
    if (self->team != team || self->rank >= (r->flags & RONDO_SPMD ? team : 1) || self->stream)
        rg_run_wrong(run, "node %u: rank %u of %u", node, self->rank, self->team);
    if (r->flags & (RONDO_HOSTED | RONDO_MAY_BLOCK))
        return;
    if (r->on >= 0 &&
        self->processor != RONDO_CPU(((uint32_t)r->on % run->workers + self->rank) % run->workers))
        rg_run_wrong(run, "node %u: bound to processor %u, rank %u is on %x", node,
                     (uint32_t)r->on % run->workers, self->rank, self->processor);
}

static void check_self(struct rg_run *run, const rondo_task *self, uint32_t node, const void *arg)
{
    const struct rg_record *r = &run->program->record[run->program->node[node].record];
    if ((uintptr_t)arg % _Alignof(max_align_t) != 0)
        rg_run_wrong(run, "node %u: argument not aligned", node);
    check_team(run, self, node, r);
    if (!r->has_context != !rondo_task_context(self))
        rg_run_wrong(run, "node %u: context %p", node, rondo_task_context(self));
}

/* ---- detached and blocking tasks */

struct detached {
    rondo_completion completion;
    struct rg_run *run;
    uint32_t node;
    int run_body, failed;
    struct rg_frame frame;
};

static void finish(void *argument)
{
    struct detached *d = argument;
    char why[64];
    if (d->run_body)
        d->failed = rg_body(d->run, d->node, &d->frame);
    (void)snprintf(why, sizeof why, "node %u in replay %llu", d->node,
                   (unsigned long long)d->frame.replay);
    if (rondo_completion_finish(d->completion, d->failed ? RONDO_ERR_FAILED : RONDO_OK,
                                d->failed ? why : NULL) != RONDO_OK)
        rg_run_wrong(d->run, "node %u: finish: %s", d->node, rondo_error_message());
}

/* By turns: without detaching; ended here; ended by the helper, which may also do the work; with a
 * failure after detaching. */
static int run_detached(struct rg_run *run, uint32_t node, const struct rg_frame *frame)
{
    const uint64_t draw = rg_mix(frame->replay * 31 + node);
    struct detached d = { .run = run, .node = node, .frame = *frame };
    if (draw % 6 == 0)
        return rg_body(run, node, frame);
    d.completion = rondo_task_detach(frame->self);
    if (!d.completion.id)
        rg_run_wrong(run, "node %u: detach: %s", node, rondo_error_message());
    /* What ends later may not stop the call, which is for a running task to do. */
    d.run_body = draw % 6 >= 4 && !(run->program->stops);
    d.frame.self = d.run_body ? NULL : frame->self;
    if (!d.run_body)
        d.failed = rg_body(run, node, frame);
    if (draw % 6 == 1 && d.failed)
        return 1; /* the completion is void */
    if (draw % 6 == 2) {
        finish(&((struct detached){ d.completion, run, node, 0, d.failed, *frame }));
        return 0;
    }
    rg_helper_call(finish, &d, sizeof d, (uint32_t)(draw >> 8) % 4);
    return 0;
}

static int run_blocking(struct rg_run *run, uint32_t node, const struct rg_frame *frame)
{
    const uint64_t draw = rg_mix(frame->replay * 37 + node);
    rondo_event event = rg_helper_promise(run, (uint32_t)draw % 4);
    if (draw % 3 && rondo_event_wait(event, -1) != RONDO_OK)
        rg_run_wrong(run, "node %u: wait: %s", node, rondo_error_message());
    return rg_body(run, node, frame);
}

int rg_run_task(rondo_task *self, const void *arg)
{
    const struct rg_arg *a = arg;
    struct rg_run *run = a->run;
    const struct rg_record *r = &run->program->record[a->record];
    uint32_t node = node_of(run, a->record, self);
    struct rg_frame frame = { .replay = self->replay, .patched = a->patched };
    frame.version = a->version;
    frame.self = self;
    frame.rank = self->rank;
    frame.team = r->flags & RONDO_SPMD ? self->team : 1;
    check_self(run, self, node, arg);
    check_view(run, self, node);
    for (uint32_t i = 0; i < r->access_count; i++) {
        const void *read = rondo_task_read(self, i);
        frame.base[i] = rondo_task_write(self, i);
        if (read != frame.base[i])
            rg_run_wrong(run, "node %u: access %u: two addresses", node, i);
        if (!read != (run->program->slot[r->access[i].slot].kind == RG_TOKEN))
            rg_run_wrong(run, "node %u: access %u: address %p", node, i, read);
    }
    for (uint32_t i = 0; i < r->param_count; i++)
        frame.param[i] = rondo_task_param(self, i);
    int failed = r->flags & RONDO_DETACHED    ? run_detached(run, node, &frame)
                 : r->flags & RONDO_MAY_BLOCK ? run_blocking(run, node, &frame)
                                              : rg_body(run, node, &frame);
    if (failed && node % 2 == 0) {
        char why[64];
        (void)snprintf(why, sizeof why, "node %u in replay %llu", node,
                       (unsigned long long)self->replay);
        return rondo_task_fail(self, why);
    }
    return failed ? 7 : 0;
}
