/* SPDX-License-Identifier: BSD-3-Clause */
/* Records a random program into a subgraph of Rondo, and the tasks that run its bodies there. */
#include "tests/engine/random_program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

atomic_ullong rg_contexts_made, rg_contexts_released;

static void release_context(void *context)
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
        else if (memcmp(&shape, &s->shape, sizeof shape) != 0)
            rg_run_wrong(run, "node %u: access %u: another shape", node, a);
        else if (!same_box(&box, &p->node[node].boxes[a].hull, s->dims))
            rg_run_wrong(run, "node %u: access %u: another box", node, a);
    }
}

static void check_self(struct rg_run *run, const rondo_task *self, uint32_t node, const void *arg)
{
    const struct rg_record *r = &run->program->record[run->program->node[node].record];
    if ((uintptr_t)arg % _Alignof(max_align_t) != 0)
        rg_run_wrong(run, "node %u: argument not aligned", node);
    if (self->rank != 0 || self->team != 1 || self->stream)
        rg_run_wrong(run, "node %u: rank %u of %u", node, self->rank, self->team);
    if (r->on >= 0 && self->processor != RONDO_CPU((uint32_t)r->on % run->workers))
        rg_run_wrong(run, "node %u: bound to processor %u, is on %x", node,
                     (uint32_t)r->on % run->workers, self->processor);
    if (!r->has_context != !rondo_task_context(self))
        rg_run_wrong(run, "node %u: context %p", node, rondo_task_context(self));
}

static int run_task(rondo_task *self, const void *arg)
{
    const struct rg_arg *a = arg;
    struct rg_run *run = a->run;
    const struct rg_record *r = &run->program->record[a->record];
    uint32_t node = node_of(run, a->record, self);
    struct rg_frame frame = { .replay = self->replay, .patched = a->patched };
    check_self(run, self, node, arg);
    check_view(run, self, node);
    for (uint32_t i = 0; i < r->access_count; i++) {
        const void *read = rondo_task_read(self, i);
        frame.base[i] = rondo_task_write(self, i);
        if (read != frame.base[i])
            rg_run_wrong(run, "node %u: access %u: two addresses", node, i);
    }
    for (uint32_t i = 0; i < r->param_count; i++)
        frame.param[i] = rondo_task_param(self, i);
    int failed = rg_body(run, node, &frame);
    if (failed && node % 2 == 0) {
        char why[64];
        (void)snprintf(why, sizeof why, "node %u in replay %llu", node,
                       (unsigned long long)self->replay);
        return rondo_task_fail(self, why);
    }
    return failed ? 7 : 0;
}

static void run_call(void *context)
{
    const struct rg_call_context *c = context;
    rg_call_body(c->run, c->record);
}

/* The shape as a caller writes it: absent dimensions and dense pitches left out. */
static rondo_shape written(const rondo_shape *complete, int dims)
{
    rondo_shape s = *complete;
    for (int d = 2; d >= dims; d--)
        s.extent[d] = 0;
    if (dims < 3 || s.pitch_bytes[1] == s.pitch_bytes[0] * (size_t)s.extent[1])
        s.pitch_bytes[1] = 0;
    if (dims < 2 || s.pitch_bytes[0] == s.elem_bytes * (size_t)s.extent[0])
        s.pitch_bytes[0] = 0;
    return s;
}

static int record_buffers(struct rg_run *run, rondo_runtime runtime, struct rg_recorded *out)
{
    const struct rg_program *p = run->program;
    for (uint32_t i = 0; i < p->buffer_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "b%u", i);
        rondo_buffer_desc d = { .name = name,
                                .shape = p->buffer[i].shape,
                                .host = run->memory[p->buffer[i].memory] + p->buffer[i].offset };
        if (rondo_buffer_create(runtime, &d, &out->buffer[i]))
            return 1;
    }
    return 0;
}

static int record_slots(const struct rg_program *p, struct rg_recorded *out)
{
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const struct rg_slot *s = &p->slot[i];
        rondo_buffer ring[RG_RING];
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", i);
        rondo_slot_desc d = { .name = name };
        if (s->kind == RG_BOUND || (p->seed + i) % 2)
            d.shape = written(&s->shape, s->dims);
        if (s->kind == RG_FIXED)
            d.buffer = out->buffer[s->buffer[0]];
        for (uint32_t k = 0; k < s->count; k++)
            ring[k] = out->buffer[s->buffer[k]];
        if (s->kind == RG_RINGED) {
            d.ring = ring;
            d.ring_count = s->count;
            d.ring_first = s->first;
            d.ring_stride = s->stride;
        }
        if (s->alias != i)
            d.alias_of = out->slot[s->alias];
        out->slot[i] = rondo_subgraph_slot(out->subgraph, &d);
        if (!out->slot[i].id)
            return 1;
    }
    for (uint32_t i = 0; i < p->param_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%u", i);
        const struct rg_param *q = &p->param[i];
        out->param[i] =
            rondo_subgraph_param(out->subgraph, name, q->bytes, q->has_initial ? q->initial : NULL);
        if (!out->param[i].id)
            return 1;
    }
    return 0;
}

static rondo_access access_of(const struct rg_recorded *out, const struct rg_access *a)
{
    rondo_access access = rondo_access_of(out->slot[a->slot], a->mode, a->region);
    access.flags = (uint8_t)a->flags;
    memcpy(access.halo, a->halo, sizeof access.halo);
    return access;
}

/* Both lists of nodes before a record, and what its accesses are; copied by the recording call. */
struct lists {
    rondo_node *after, *carried;
    uint32_t after_count, carried_count, distance;
    rondo_access access[RG_ACCESSES];
    rondo_param param[3];
    rondo_patch patch[3];
};

static void gather(const struct rg_program *p, const struct rg_recorded *out, uint32_t record,
                   struct lists *l)
{
    const struct rg_record *r = &p->record[record];
    l->after_count = l->carried_count = l->distance = 0;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const struct rg_edge *edge = &p->edge[e];
        if (edge->to == record && edge->how == RG_AFTER)
            l->after[l->after_count++] = out->node[edge->from];
        if (edge->to == record && edge->how == RG_CARRIED) {
            l->carried[l->carried_count++] = out->node[edge->from];
            l->distance = edge->distance;
        }
    }
    for (uint32_t i = 0; i < r->access_count; i++)
        l->access[i] = access_of(out, &r->access[i]);
    for (uint32_t i = 0; i < r->param_count; i++)
        l->param[i] = out->param[r->param[i]];
    for (uint32_t i = 0; i < r->patch_count; i++) {
        l->patch[i] = r->patch[i];
        l->patch[i].param = out->param[r->patch[i].param.id];
        l->patch[i].to += (uint32_t)offsetof(struct rg_arg, patched);
    }
}

static rondo_processor processor_of(const struct rg_run *run, const struct rg_record *r)
{
    return r->on < 0 ? RONDO_ANY_CPU : RONDO_CPU((uint32_t)r->on % run->workers);
}

static rondo_node record_task(struct rg_run *run, const struct rg_recorded *out, uint32_t record,
                              const char *name, const struct lists *l)
{
    const struct rg_record *r = &run->program->record[record];
    struct rg_arg arg = { .run = run, .record = record };
    rondo_task_desc d = { .name = name,
                          .tag = 1000 + record,
                          .fn = run_task,
                          .arg = &arg,
                          .arg_bytes = sizeof arg,
                          .accesses = l->access,
                          .access_count = r->access_count,
                          .params = l->param,
                          .param_count = r->param_count,
                          .patches = l->patch,
                          .patch_count = r->patch_count,
                          .after = l->after,
                          .after_count = l->after_count,
                          .carried = l->carried,
                          .carried_count = l->carried_count,
                          .carried_distance = l->distance,
                          .on = processor_of(run, r),
                          .priority = r->priority,
                          .cost_ns = r->cost_ns,
                          .flags = r->kind == RG_NOTHING ? RONDO_NO_ACCESS : 0 };
    if (r->has_context) {
        d.context = malloc(16);
        d.release = release_context;
        atomic_fetch_add(&rg_contexts_made, 1);
    }
    rondo_for_desc f = { .task = &d, .task_bytes = sizeof d, .range = r->span };
    memcpy(f.chunks, r->chunks, sizeof f.chunks);
    rondo_node node = r->kind == RG_FOR ? rondo_record_for(out->subgraph, &f)
                                        : rondo_record_task(out->subgraph, &d);
    memset(&arg, 0x5a, sizeof arg); /* the recorded copy is what counts */
    return node;
}

static rondo_node record_move(struct rg_run *run, const struct rg_recorded *out, uint32_t record,
                              const char *name, const struct lists *l)
{
    const struct rg_program *p = run->program;
    const struct rg_record *r = &p->record[record];
    rondo_move_desc d = { .name = name,
                          .tag = 1000 + record,
                          .to = l->access[r->kind == RG_COPY],
                          .after = l->after,
                          .after_count = l->after_count,
                          .priority = r->priority,
                          .cost_ns = r->cost_ns,
                          .on = processor_of(run, r) };
    if (r->count_param >= 0)
        d.count = out->param[r->count_param];
    if (r->kind == RG_COPY) {
        d.from = l->access[0];
        return rondo_record_copy(out->subgraph, &d);
    }
    d.value = r->value;
    d.value_bytes = p->slot[r->access[0].slot].shape.elem_bytes;
    return rondo_record_fill(out->subgraph, &d);
}

static int record_nodes(struct rg_run *run, struct rg_recorded *out, struct lists *l)
{
    const struct rg_program *p = run->program;
    for (uint32_t i = 0; i < p->record_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        gather(p, out, i, l);
        out->context[i] = (struct rg_call_context){ run, i };
        switch (p->record[i].kind) {
        case RG_CALL:
            out->node[i] = rondo_record_call(out->subgraph, name, run_call, &out->context[i]);
            break;
        case RG_COPY:
        case RG_FILL: out->node[i] = record_move(run, out, i, name, l); break;
        default: out->node[i] = record_task(run, out, i, name, l); break;
        }
        if (!out->node[i].id)
            return 1;
    }
    for (uint32_t e = 0; e < p->edge_count; e++)
        if (p->edge[e].how == RG_EDGE &&
            rondo_record_edge(out->subgraph, out->node[p->edge[e].from], out->node[p->edge[e].to],
                              p->edge[e].distance))
            return 1;
    return 0;
}

int rg_record(struct rg_run *run, rondo_runtime runtime, struct rg_recorded *out)
{
    const struct rg_program *p = run->program;
    struct lists l = { .after = calloc(p->edge_count + 1, sizeof *l.after),
                       .carried = calloc(p->edge_count + 1, sizeof *l.carried) };
    rondo_subgraph_desc d = { .name = "random",
                              .flags = p->profile == RG_CHECKED ? RONDO_EDGES_EXPLICIT : 0 };
    memset(out, 0, sizeof *out);
    out->node = calloc(p->record_count, sizeof *out->node);
    out->context = calloc(p->record_count, sizeof *out->context);
    if (!l.after || !l.carried || !out->node || !out->context)
        abort();
    int wrong = rondo_subgraph_create(runtime, &d, &out->subgraph) != RONDO_OK ||
                record_buffers(run, runtime, out) || record_slots(p, out) ||
                record_nodes(run, out, &l);
    if (wrong)
        rg_run_wrong(run, "recording: %s", rondo_error_message());
    free(l.after);
    free(l.carried);
    return wrong;
}

void rg_recorded_free(struct rg_recorded *out)
{
    (void)rondo_subgraph_destroy(out->subgraph); /* STALE where the program ended it early */
    for (uint32_t i = 0; i < RG_BUFFERS; i++)
        (void)rondo_buffer_destroy(out->buffer[i]);
    free(out->node);
    free(out->context);
}
