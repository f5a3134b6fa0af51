/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording and the exec that bad inputs are tried on. */
#include "tests/engine/bad_inputs.h"

#include <string.h>

static int count_base(rondo_task *self, const void *arg)
{
    uint64_t *u = rondo_task_write(self, 0);
    (void)arg;
    u[0] += *(const uint32_t *)rondo_task_param(self, 0);
    return 0;
}

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static int make_buffer(rondo_runtime rt, const char *name, rondo_shape shape, void *host,
                       rondo_buffer *buffer)
{
    rondo_buffer_desc d = { name, shape, host, 0, NULL };
    return rondo_buffer_create(rt, &d, buffer) != RONDO_OK;
}

static int make_buffers(struct bad *b)
{
    rondo_shape small = { 8, { 16 }, { 0 } };
    return make_buffer(b->rt, "u", (rondo_shape){ 8, { 128, 4 }, { 0 } }, b->u_bytes, &b->u) ||
           make_buffer(b->rt, "v", (rondo_shape){ 8, { 64 }, { 0 } }, NULL, &b->v) ||
           make_buffer(b->rt, "bytes", (rondo_shape){ 1, { 32 }, { 0 } }, NULL, &b->bytes) ||
           make_buffer(b->rt, "first", small, NULL, &b->ring[0]) ||
           make_buffer(b->rt, "second", small, NULL, &b->ring[1]) ||
           make_buffer(b->rt, "in", small, NULL, &b->in) ||
           make_buffer(b->rt, "out", small, NULL, &b->out) ||
           make_buffer(b->rt, "gone", small, NULL, &b->gone) ||
           make_buffer(b->rt, "narrow", (rondo_shape){ 8, { 15 }, { 0 } }, NULL, &b->narrow) ||
           make_buffer(b->other_rt, "foreign", small, NULL, &b->foreign) ||
           rondo_buffer_destroy(b->gone) != RONDO_OK;
}

static rondo_slot fixed(struct bad *b, const char *name, rondo_buffer buffer)
{
    return rondo_subgraph_slot(b->g, &(rondo_slot_desc){ .name = name, .buffer = buffer });
}

static void make_places(struct bad *b)
{
    rondo_slot_desc d = { .name = "turn", .ring = b->ring, .ring_count = 2 };
    uint64_t initial[2] = { 3, 0 };
    b->u_slot = fixed(b, "u", b->u);
    b->v_slot = fixed(b, "v", b->v);
    b->bytes_slot = fixed(b, "bytes", b->bytes);
    b->ring_slot = rondo_subgraph_slot(b->g, &d);
    d = (rondo_slot_desc){ .name = "in", .shape = { 8, { 16 }, { 0 } } };
    b->in_slot = rondo_subgraph_slot(b->g, &d);
    d.name = "out";
    b->out_slot = rondo_subgraph_slot(b->g, &d);
    b->p = rondo_subgraph_param(b->g, "p", 8, initial);
    b->n = rondo_subgraph_param(b->g, "n", 8, initial);
    b->q = rondo_subgraph_param(b->g, "q", 12, initial);
    b->must = rondo_subgraph_param(b->g, "must", 4, NULL);
    b->event = rondo_subgraph_param(b->g, "event", sizeof(rondo_event), initial);
}

/* Slots of Rondo's own memory, and of none. */
static void make_own(rondo_subgraph g, rondo_slot *token, rondo_slot *temporary, rondo_slot *zeroed)
{
    rondo_slot_desc d = { .name = "token", .shape = { 0, { 16 }, { 0 } } };
    *token = rondo_subgraph_slot(g, &d);
    d = (rondo_slot_desc){ .name = "temporary",
                           .shape = { 8, { 16 }, { 0 } },
                           .flags = RONDO_TEMPORARY };
    *temporary = rondo_subgraph_slot(g, &d);
    d.name = "zeroed";
    d.flags |= RONDO_ZEROED;
    *zeroed = rondo_subgraph_slot(g, &d);
}

static int make_inner(struct bad *b)
{
    rondo_access touched[3];
    rondo_slot temporary;
    rondo_task_desc d = { .name = "in", .fn = nothing, .accesses = touched, .access_count = 3 };
    if (rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "inner" }, &b->inner))
        return 1;
    b->inner_v = rondo_subgraph_slot(b->inner, &(rondo_slot_desc){ .name = "v", .buffer = b->v });
    make_own(b->inner, &b->inner_token, &temporary, &b->inner_zeroed);
    touched[0] = rondo_read_write(b->inner_v, rondo_span(8, 8));
    touched[1] = rondo_write(b->inner_token, rondo_whole());
    touched[2] = rondo_read_write(b->inner_zeroed, rondo_whole());
    return !rondo_record_task(b->inner, &d).id;
}

static int make_counters(struct bad *b)
{
    return rondo_counter_create(b->rt, 0, &b->counter) ||
           rondo_counter_create(b->other_rt, 0, &b->foreign_counter) ||
           rondo_counter_create(b->rt, 0, &b->gone_counter) ||
           rondo_counter_destroy(b->gone_counter) != RONDO_OK;
}

/* Six nodes: one task, a loop of four and a task on what is bound. */
static int make_nodes(struct bad *b)
{
    rondo_access access = rondo_read_write(b->u_slot, rondo_box(0, 0, 1, 1)),
                 chunk = rondo_chunk(b->v_slot, RONDO_WRITE, 0, 0),
                 bound[2] = { rondo_read(b->in_slot, rondo_whole()),
                              rondo_write(b->out_slot, rondo_whole()) };
    rondo_task_desc d = { .name = "base",
                          .fn = count_base,
                          .accesses = &access,
                          .access_count = 1,
                          .params = &b->must,
                          .param_count = 1 };
    b->base = rondo_record_task(b->g, &d);
    d = (rondo_task_desc){ .name = "loop", .fn = nothing, .accesses = &chunk, .access_count = 1 };
    rondo_for_desc f = { .task = &d, .range = rondo_span(0, 64), .chunks = { 4 } };
    b->loop = rondo_record_for(b->g, &f);
    d = (rondo_task_desc){ .name = "bound", .fn = nothing, .accesses = bound, .access_count = 2 };
    return !b->base.id || !b->loop.id || !rondo_record_task(b->g, &d).id;
}

static int make_other(struct bad *b)
{
    rondo_task_desc d = { .name = "other", .fn = nothing };
    if (rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "other" }, &b->other))
        return 1;
    b->other_slot =
        rondo_subgraph_slot(b->other, &(rondo_slot_desc){ .name = "other", .buffer = b->v });
    b->other_param = rondo_subgraph_param(b->other, "other", 8, NULL);
    b->other_node = rondo_record_task(b->other, &d);
    return !b->other_node.id || !b->other_slot.id || !b->other_param.id;
}

int bad_make(struct bad *b)
{
    rondo_runtime rt = b->rt, other_rt = b->other_rt;
    memset(b, 0, sizeof *b);
    b->rt = rt;
    b->other_rt = other_rt;
    if (make_buffers(b) ||
        rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "step" }, &b->g))
        return 1;
    make_places(b);
    make_own(b->g, &b->token, &b->temporary, &b->zeroed);
    b->argument = 5;
    b->access = rondo_read_write(b->u_slot, rondo_box(8, 0, 4, 4));
    b->task = (rondo_task_desc){ .name = "bad",
                                 .fn = nothing,
                                 .arg = &b->argument,
                                 .arg_bytes = 8,
                                 .accesses = &b->access,
                                 .access_count = 1 };
    return make_nodes(b) || make_other(b) || make_inner(b) || make_counters(b) ||
           rondo_instantiate(b->g, NULL, &b->exec) != RONDO_OK;
}

void bad_end(struct bad *b)
{
    rondo_buffer buffers[] = { b->u,  b->v,   b->bytes,   b->ring[0], b->ring[1],
                               b->in, b->out, b->foreign, b->narrow };
    (void)rondo_exec_wait(b->exec, NULL); /* what the call submitted writes into `b` */
    (void)rondo_exec_destroy(b->exec);
    (void)rondo_subgraph_destroy(b->g);
    (void)rondo_subgraph_destroy(b->other);
    (void)rondo_subgraph_destroy(b->inner);
    (void)rondo_counter_destroy(b->counter);
    (void)rondo_counter_destroy(b->foreign_counter);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        (void)rondo_buffer_destroy(buffers[i]);
}

rondo_replay_args bad_args(struct bad *b, rondo_value *value, rondo_binding binding[2],
                           uint32_t *step)
{
    *value = (rondo_value){ b->must, step, 0 };
    binding[0] = (rondo_binding){ b->in_slot, b->in };
    binding[1] = (rondo_binding){ b->out_slot, b->out };
    return (rondo_replay_args){
        .values = value, .value_count = 1, .bindings = binding, .binding_count = 2
    };
}

rondo_status bad_built(struct bad *b, uint64_t id)
{
    return id ? RONDO_OK : rondo_subgraph_status(b->g);
}
