/* SPDX-License-Identifier: BSD-3-Clause */
/* Records a member of a random program into a subgraph of Rondo, its nests into ones of their own.
 */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (p->memory_hidden[p->buffer[i].memory])
            continue;
        (void)snprintf(name, sizeof name, "b%u", i);
        rondo_buffer_desc d = { .name = name,
                                .shape = p->buffer[i].shape,
                                .host = run->memory[p->buffer[i].memory] + p->buffer[i].offset };
        if (p->memory_kind[p->buffer[i].memory] != RG_WRAPPED
                ? rg_device_buffer(run, out, i, &d)
                : rondo_buffer_create(runtime, &d, &out->buffer[i]))
            return 1;
    }
    return 0;
}

static rondo_slot_desc slot_desc(const struct rg_program *p, const struct rg_recorded *out,
                                 uint32_t i, rondo_buffer *ring)
{
    const struct rg_slot *s = &p->slot[i];
    rondo_slot_desc d = { .name = NULL };
    if (s->kind >= RG_BOUND || (p->seed + i) % 2)
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
    if (s->home)
        d.at_end = RONDO_HOST;
    if (s->kind == RG_TEMPORARY)
        d.flags = s->zeroed ? RONDO_TEMPORARY | RONDO_ZEROED : RONDO_TEMPORARY;
    if (s->kind == RG_TOKEN)
        d.shape =
            (rondo_shape){ .extent = { d.shape.extent[0], d.shape.extent[1], d.shape.extent[2] } };
    return d;
}

/* The slots of a subgraph, the nest's own or (nest NULL) the outer one's; by index, {0} where it
 * has none. */
static int record_slots(const struct rg_program *p, const struct rg_recorded *out,
                        rondo_subgraph subgraph, const uint8_t *has, rondo_slot *slot)
{
    for (uint32_t i = 0; i < p->slot_count; i++) {
        rondo_buffer ring[RG_RING];
        char name[16];
        if (has && !has[i])
            continue;
        rondo_slot_desc d = slot_desc(p, out, i, ring);
        (void)snprintf(name, sizeof name, "s%u", i);
        d.name = name;
        if (p->slot[i].alias != i)
            d.alias_of = slot[p->slot[i].alias];
        slot[i] = rondo_subgraph_slot(subgraph, &d);
        if (!slot[i].id)
            return 1;
    }
    return 0;
}

static int record_params(const struct rg_program *p, rondo_subgraph subgraph, rondo_param *param)
{
    for (uint32_t i = 0; i < p->param_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%u", i);
        const struct rg_param *q = &p->param[i];
        param[i] =
            rondo_subgraph_param(subgraph, name, q->bytes, q->has_initial ? q->initial : NULL);
        if (!param[i].id)
            return 1;
    }
    return 0;
}

/* Where records go: the member's own subgraph, or a nest's. */
struct target {
    struct rg_run *run;
    struct rg_recorded *out;
    rondo_subgraph subgraph;
    const rondo_slot *slot;
    const rondo_param *param;
    uint32_t nest; /* + 1, or 0 */
};

static rondo_access access_of(const struct target *t, const struct rg_access *a)
{
    rondo_access access = rondo_access_of(t->slot[a->slot], a->mode, a->region);
    access.flags = (uint8_t)a->flags;
    access.type = (uint8_t)a->type;
    access.op = (uint8_t)a->op;
    memcpy(access.halo, a->halo, sizeof access.halo);
    return access;
}

static rondo_when when_of(const struct target *t, const struct rg_when *w)
{
    rondo_when when = { .every = w->every, .phase = w->phase };
    if (w->param >= 0)
        when.param = t->param[w->param];
    if (w->flag >= 0)
        when.flag = t->slot[w->flag];
    return when;
}

/* Both lists of nodes before a record, and what its accesses are; copied by the recording call. */
struct lists {
    rondo_node *after, *carried;
    uint32_t after_count, carried_count, distance;
    rondo_access access[RG_ACCESSES];
    rondo_param param[3];
    rondo_patch patch[3];
};

/* The nodes before a record, or (`crossing`) before the whole nest that it is in. */
static void gather_edges(const struct target *t, uint32_t record, int crossing, struct lists *l)
{
    const struct rg_program *p = t->run->program;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const struct rg_edge *edge = &p->edge[e];
        int inside = p->record[edge->to].nest && rg_crosses(p, edge->from, edge->to);
        int here = crossing ? inside && p->record[edge->to].nest == p->record[record].nest
                            : !inside && edge->to == record;
        if (here && edge->how == RG_AFTER)
            l->after[l->after_count++] = t->out->node[edge->from];
        if (here && edge->how == RG_CARRIED) {
            l->carried[l->carried_count++] = t->out->node[edge->from];
            l->distance = edge->distance;
        }
    }
}

static void gather(const struct target *t, uint32_t record, struct lists *l)
{
    const struct rg_record *r = &t->run->program->record[record];
    l->after_count = l->carried_count = l->distance = 0;
    gather_edges(t, record, 0, l);
    for (uint32_t i = 0; i < r->access_count; i++)
        l->access[i] = access_of(t, &r->access[i]);
    for (uint32_t i = 0; i < r->param_count; i++)
        l->param[i] = t->param[r->param[i]];
    for (uint32_t i = 0; i < r->patch_count; i++) {
        l->patch[i] = r->patch[i];
        l->patch[i].param = t->param[r->patch[i].param.id];
        l->patch[i].to += (uint32_t)offsetof(struct rg_arg, patched);
    }
}

static rondo_processor processor_of(const struct rg_run *run, const struct rg_record *r)
{
    if (r->device >= 0)
        return RONDO_GPU((uint32_t)r->device % run->devices);
    return r->on < 0 ? RONDO_ANY_CPU : RONDO_CPU((uint32_t)r->on % run->workers);
}

static void take_context(const struct rg_record *r, rondo_task_desc *d)
{
    if (!r->has_context)
        return;
    d->context = malloc(16);
    d->release = rg_release_context;
    atomic_fetch_add(&rg_contexts_made, 1);
}

static rondo_node record_task(const struct target *t, uint32_t record, const char *name,
                              const struct lists *l)
{
    const struct rg_record *r = &t->run->program->record[record];
    struct rg_arg arg = { .run = t->run, .record = record, .version = t->out->version[record] };
    rondo_task_desc d = { .name = name,
                          .tag = 1000 + record,
                          .fn = rg_run_task,
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
                          .on = processor_of(t->run, r),
                          .priority = r->priority,
                          .cost_ns = r->cost_ns,
                          .flags = r->flags | (r->kind == RG_NOTHING ? RONDO_NO_ACCESS : 0),
                          .team = r->team,
                          .stop_lag = r->stop_lag,
                          .when = when_of(t, &r->when) };
    take_context(r, &d);
    rondo_for_desc f = { .task = &d, .task_bytes = sizeof d, .range = r->span };
    memcpy(f.chunks, r->chunks, sizeof f.chunks);
    rondo_node node =
        r->kind == RG_FOR ? rondo_record_for(t->subgraph, &f) : rondo_record_task(t->subgraph, &d);
    memset(&arg, 0x5a, sizeof arg); /* the recorded copy is what counts */
    return node;
}

static rondo_node record_kernel(const struct target *t, uint32_t record, const char *name,
                                const struct lists *l)
{
    const struct rg_record *r = &t->run->program->record[record];
    rondo_kernel_desc d = { .name = name,
                            .tag = 1000 + record,
                            .flags = r->access_count ? 0 : RONDO_NO_ACCESS,
                            .accesses = l->access,
                            .access_count = r->access_count,
                            .after = l->after,
                            .after_count = l->after_count,
                            .carried = l->carried,
                            .carried_count = l->carried_count,
                            .carried_distance = l->distance,
                            .priority = r->priority,
                            .cost_ns = r->cost_ns,
                            .when = when_of(t, &r->when) };
    return rg_device_kernel(t->run, record, t->out->version[record], t->param, t->subgraph, &d);
}

rondo_status rg_record_again(struct rg_run *run, rondo_exec exec, rondo_node node, uint32_t record,
                             uint32_t version)
{
    const struct rg_record *r = &run->program->record[record];
    struct rg_arg arg = { .run = run, .record = record, .version = version };
    rondo_task_desc d = { .name = "again",
                          .fn = rg_run_task,
                          .arg = &arg,
                          .arg_bytes = sizeof arg,
                          .cost_ns = r->cost_ns };
    take_context(r, &d);
    return rondo_exec_update_task(exec, node, &d);
}

static rondo_node record_move(const struct target *t, uint32_t record, const char *name,
                              const struct lists *l)
{
    const struct rg_program *p = t->run->program;
    const struct rg_record *r = &p->record[record];
    rondo_move_desc d = { .name = name,
                          .tag = 1000 + record,
                          .to = { .slot = { 0 } },
                          .after = l->after,
                          .after_count = l->after_count,
                          .priority = r->priority,
                          .cost_ns = r->cost_ns,
                          .on = processor_of(t->run, r),
                          .when = when_of(t, &r->when) };
    if (r->count_param >= 0)
        d.count = t->param[r->count_param];
    if (r->kind != RG_FILL)
        d.from = l->access[0];
    if (r->kind == RG_FILL || r->access_count > 1)
        d.to = l->access[r->kind != RG_FILL];
    if (r->access_count == 1)
        d.from.mode = 0;
    d.type = (uint8_t)r->type;
    d.op = (uint8_t)r->op;
    if (r->kind == RG_COPY)
        return rondo_record_copy(t->subgraph, &d);
    if (r->kind == RG_ALLREDUCE)
        return rondo_record_allreduce(t->subgraph, &d);
    d.value = r->value;
    d.value_bytes = p->slot[r->access[0].slot].shape.elem_bytes;
    return rondo_record_fill(t->subgraph, &d);
}

static rondo_node record_sync(const struct target *t, uint32_t record, const char *name,
                              const struct lists *l)
{
    const struct rg_record *r = &t->run->program->record[record];
    rondo_sync_desc d = { .name = name,
                          .tag = 1000 + record,
                          .after = l->after,
                          .after_count = l->after_count,
                          .priority = r->priority,
                          .when = when_of(t, &r->when) };
    if (r->event >= 0) {
        d.event = t->param[r->event];
    } else {
        d.counter = t->run->counter[r->counter];
        d.first = r->first;
        d.step = r->step;
    }
    return r->kind == RG_AWAIT ? rondo_record_wait(t->subgraph, &d)
                               : rondo_record_signal(t->subgraph, &d);
}

static int record_record(const struct target *t, uint32_t i, struct lists *l)
{
    struct rg_recorded *out = t->out;
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", i);
    gather(t, i, l);
    out->context[i] = (struct rg_call_context){ t->run, i };
    switch (t->run->program->record[i].kind) {
    case RG_CALL:
        out->node[i] = rondo_record_call(t->subgraph, name, run_call, &out->context[i]);
        break;
    case RG_COPY:
    case RG_ALLREDUCE:
    case RG_FILL: out->node[i] = record_move(t, i, name, l); break;
    case RG_SIGNAL:
    case RG_AWAIT: out->node[i] = record_sync(t, i, name, l); break;
    default:
        out->node[i] = t->run->program->record[i].device >= 0 ? record_kernel(t, i, name, l)
                                                              : record_task(t, i, name, l);
        break;
    }
    return !out->node[i].id;
}

/* The edges of their own call: those of this member, inside of the nest or outside of all. */
static int record_edges(const struct target *t, uint32_t member)
{
    const struct rg_program *p = t->run->program;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const struct rg_edge *edge = &p->edge[e];
        int crosses = rg_crosses(p, edge->from, edge->to);
        uint32_t in = crosses ? 0 : p->record[edge->to].nest;
        if (edge->how == RG_EDGE && in == t->nest && p->record[edge->to].member == member &&
            rondo_record_edge(t->subgraph, t->out->node[edge->from], t->out->node[edge->to],
                              edge->distance))
            return 1;
    }
    return 0;
}

/* ---- nests */

static void slots_in(const struct rg_program *p, const struct rg_nest *n, uint8_t *has)
{
    memset(has, 0, RG_SLOTS);
    for (uint32_t i = n->first; i < n->end; i++) {
        for (uint32_t a = 0; a < p->record[i].access_count; a++)
            has[p->record[i].access[a].slot] = 1;
        if (p->record[i].when.flag >= 0)
            has[p->record[i].when.flag] = 1;
    }
    for (uint32_t s = 0; s < p->slot_count; s++)
        if (has[s])
            has[p->slot[s].alias] = 1;
}

static int record_inner(struct rg_run *run, struct rg_recorded *out, uint32_t nest, struct lists *l)
{
    const struct rg_program *p = run->program;
    const struct rg_nest *n = &p->nest[nest];
    uint32_t at = out->inner_count++;
    uint8_t has[RG_SLOTS];
    rondo_subgraph_desc d = { .name = "inner",
                              .flags = p->profile == RG_CHECKED ? RONDO_EDGES_EXPLICIT : 0 };
    out->inner[at].nest = nest;
    struct target t = { run, out, { 0 }, out->inner[at].slot, out->inner[at].param, nest + 1 };
    slots_in(p, n, has);
    if (rondo_subgraph_create(out->runtime, &d, &out->inner[at].subgraph))
        return 1;
    t.subgraph = out->inner[at].subgraph;
    if (record_slots(p, out, t.subgraph, has, out->inner[at].slot) ||
        record_params(p, t.subgraph, out->inner[at].param))
        return 1;
    for (uint32_t i = n->first; i < n->end; i++)
        if (record_record(&t, i, l))
            return 1;
    return record_edges(&t, n->member);
}

static int record_nest(const struct target *t, uint32_t nest, struct lists *l)
{
    const struct rg_program *p = t->run->program;
    const struct rg_nest *n = &p->nest[nest];
    rondo_slot_map map[RG_SLOTS];
    uint32_t at = 0;
    char name[16];
    if (n->twin == nest && record_inner(t->run, t->out, nest, l))
        return 1;
    while (t->out->inner[at].nest != n->twin)
        at++;
    (void)snprintf(name, sizeof name, "i%u", nest);
    rondo_inner_desc d = { .name = name, .map = map, .when = when_of(t, &n->when) };
    for (uint32_t s = 0; s < p->slot_count; s++)
        if (n->map[s] != RG_UNMAPPED)
            map[d.map_count++] = (rondo_slot_map){ t->out->inner[at].slot[s], t->slot[n->map[s]] };
    l->after_count = l->carried_count = 0;
    gather_edges(t, n->first, 1, l);
    d.after = l->after;
    d.after_count = l->after_count;
    rondo_node node = rondo_record_subgraph(t->subgraph, t->out->inner[at].subgraph, &d);
    for (uint32_t i = n->first; i < n->end; i++)
        t->out->node[i] = node;
    return !node.id;
}

static int record_nodes(const struct target *t, uint32_t member, struct lists *l)
{
    const struct rg_program *p = t->run->program;
    uint32_t end = p->member[member].end_record;
    for (uint32_t i = p->member[member].first_record; i < end; i++) {
        uint32_t nest = p->record[i].nest;
        if (nest ? record_nest(t, nest - 1, l) : record_record(t, i, l))
            return 1;
        if (nest)
            i = p->nest[nest - 1].end - 1;
    }
    return record_edges(t, member);
}

int rg_record(struct rg_run *run, rondo_runtime runtime, uint32_t member, const uint32_t *version,
              struct rg_recorded *out)
{
    const struct rg_program *p = run->program;
    struct lists l = { .after = calloc(p->edge_count + 1, sizeof *l.after),
                       .carried = calloc(p->edge_count + 1, sizeof *l.carried) };
    rondo_subgraph_desc d = { .name = "random",
                              .flags = p->profile == RG_CHECKED ? RONDO_EDGES_EXPLICIT : 0 };
    struct target t = { run, out, { 0 }, out->slot, out->param, 0 };
    memset(out, 0, sizeof *out);
    out->runtime = runtime;
    out->version = version;
    out->node = calloc(p->record_count, sizeof *out->node);
    out->context = calloc(p->record_count, sizeof *out->context);
    if (!l.after || !l.carried || !out->node || !out->context)
        abort();
    int wrong = rondo_subgraph_create(runtime, &d, &out->subgraph) != RONDO_OK;
    t.subgraph = out->subgraph;
    wrong = wrong || record_buffers(run, runtime, out) ||
            record_slots(p, out, out->subgraph, NULL, out->slot) ||
            record_params(p, out->subgraph, out->param) || record_nodes(&t, member, &l);
    if (wrong)
        rg_run_wrong(run, "recording: %s", rondo_error_message());
    free(l.after);
    free(l.carried);
    return wrong;
}

void rg_recorded_free(struct rg_recorded *out)
{
    (void)rondo_subgraph_destroy(out->subgraph); /* STALE where the program ended it early */
    for (uint32_t i = 0; i < out->inner_count; i++)
        (void)rondo_subgraph_destroy(out->inner[i].subgraph);
    for (uint32_t i = 0; i < RG_BUFFERS; i++)
        (void)rondo_buffer_destroy(out->buffer[i]);
    for (uint32_t i = 0; i < RG_MEMORIES; i++)
        (void)rondo_buffer_destroy(out->holder[i]);
    free(out->node);
    free(out->context);
}
