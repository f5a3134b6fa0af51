/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's records: tasks with accesses, fences, plain calls, chunked loops, copies
 * and fills. */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdlib.h>
#include <string.h>

static int shares_memory(const struct rg_program *p, const struct rg_slot *a,
                         const struct rg_slot *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++)
            if (p->buffer[a->buffer[i]].memory == p->buffer[b->buffer[k]].memory)
                return 1;
    return 0;
}

int rg_slots_meet(const struct rg_program *p, uint32_t a, uint32_t b)
{
    return a == b || shares_memory(p, &p->slot[a], &p->slot[b]);
}

/* A halo that the flags allow around `region`, which may be a whole range of chunks. */
static void random_halo(const struct rg_program *p, struct rg_rng *rng, struct rg_access *a,
                        const rondo_region *region)
{
    const struct rg_slot *s = &p->slot[a->slot];
    a->flags |= rg_chance(rng, 50) ? RONDO_STAR : 0;
    uint32_t border = rg_below(rng, 3);
    a->flags |= border == 0 ? RONDO_CLIP : border == 1 ? RONDO_WRAP : 0;
    for (int d = 0; d < s->dims; d++) {
        int64_t halo = rg_below(rng, 4), extent = s->shape.extent[d], first = region->first[d];
        int64_t count = region->count[d] ? region->count[d] : extent - first;
        if (halo > extent)
            halo = extent;
        if (border == 1 && count + 2 * halo > extent)
            halo = (extent - count) / 2;
        if (border == 2 && halo > first)
            halo = first;
        if (border == 2 && halo > extent - first - count)
            halo = extent - first - count;
        a->halo[d] = (int16_t)halo;
    }
    if (!a->halo[0] && !a->halo[1] && !a->halo[2])
        a->flags &= ~(uint32_t)RONDO_WRAP; /* means nothing then, and is refused */
}

static rondo_region random_region(const struct rg_program *p, struct rg_rng *rng, uint32_t slot)
{
    const struct rg_slot *s = &p->slot[slot];
    rondo_region region = rondo_whole();
    if (rg_chance(rng, 20))
        return region;
    for (int d = 0; d < s->dims; d++) {
        int64_t extent = s->shape.extent[d];
        if (rg_chance(rng, 25))
            continue;
        region.first[d] = rg_below(rng, (uint64_t)extent);
        int64_t rest = extent - region.first[d];
        region.count[d] = rg_chance(rng, 15) ? 0 : 1 + rg_below(rng, (uint64_t)rest);
    }
    return region;
}

static int may_write(const struct rg_program *p, uint32_t slot)
{
    return p->profile != RG_CONCURRENT || p->slot[slot].kind == RG_BOUND ||
           p->slot[slot].kind == RG_TEMPORARY;
}

/* Whether reading the slot would read what nothing has written. */
static int undefined(const struct rg_program *p, uint32_t slot)
{
    return p->slot[slot].kind == RG_TEMPORARY && !p->slot[slot].zeroed && !p->ready[slot];
}

/* A slot whose bytes are there to be read. */
static uint32_t random_slot(const struct rg_program *p, struct rg_rng *rng)
{
    uint32_t slot = rg_below(rng, p->slot_count);
    return undefined(p, slot) ? 0 : slot; /* the first is a plain one */
}

static uint32_t random_mode(const struct rg_program *p, struct rg_rng *rng, uint32_t slot)
{
    if (!may_write(p, slot))
        return RONDO_READ;
    uint32_t kind = rg_below(rng, 10);
    return kind < 4 ? RONDO_READ : kind < 8 ? RONDO_WRITE : RONDO_READ_WRITE;
}

/* Whether access `i` alone touches its slot's memory. */
static int alone(const struct rg_program *p, const struct rg_record *r, uint32_t i)
{
    for (uint32_t k = 0; k < r->access_count; k++)
        if (k != i && rg_slots_meet(p, r->access[k].slot, r->access[i].slot))
            return 0;
    return 1;
}

/* Now and then what is written is commuted on or reduced into instead. */
static void soften(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    for (uint32_t i = 0; i < r->access_count; i++) {
        struct rg_access *a = &r->access[i];
        const struct rg_slot *s = &p->slot[a->slot];
        if (!(a->mode & RONDO_WRITE) || s->flag || s->kind == RG_TOKEN || undefined(p, a->slot) ||
            !alone(p, r, i))
            continue;
        if (rg_has(p, RG_F_REDUCE) && s->type && !(a->flags & (RONDO_WRAP | RONDO_STAR)) &&
            rg_chance(rng, 70)) {
            a->mode = RONDO_REDUCE;
            a->type = s->type;
            a->op = 1 + rg_below(rng, 3);
            rg_use(p, RG_F_REDUCE);
        } else if (rg_has(p, RG_F_COMMUTE) && rg_chance(rng, 50)) {
            a->mode = RONDO_COMMUTE;
            rg_use(p, RG_F_COMMUTE);
        }
    }
}

/* Slots that the program has for its features are taken more often. */
static uint32_t task_slot(const struct rg_program *p, struct rg_rng *rng)
{
    uint32_t slot = rg_below(rng, p->slot_count);
    for (int tries = 0; tries < 2; tries++)
        if (!p->slot[slot].type && p->slot[slot].kind < RG_TEMPORARY)
            slot = rg_below(rng, p->slot_count);
    return slot;
}

static void make_task(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    int maybe = p->open && rg_conditional(&p->nest[p->open - 1].when);
    r->access_count = 1 + rg_below(rng, RG_ACCESSES);
    for (uint32_t i = 0; i < r->access_count; i++) {
        struct rg_access *a = &r->access[i];
        a->slot = maybe ? random_slot(p, rng) : task_slot(p, rng);
        a->mode = RONDO_WRITE;
        if (undefined(p, a->slot)) {
            r->must_run = 1;
            continue;
        }
        a->mode = random_mode(p, rng, a->slot);
        a->region = random_region(p, rng, a->slot);
        if (rg_chance(rng, 35))
            random_halo(p, rng, a, &a->region);
    }
    soften(p, rng, r);
    for (uint32_t i = 0; i < r->access_count; i++)
        p->ready[r->access[i].slot] = 1;
}

static void make_ranges(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    r->range_count = rg_below(rng, 4);
    for (uint32_t i = 0; i < r->range_count; i++) {
        struct rg_range *range = &r->range[i];
        do
            range->memory = rg_below(rng, p->memory_count);
        while (p->memory_hidden[range->memory] || p->memory_type[range->memory]);
        size_t bytes = p->memory_bytes[range->memory];
        range->offset = rg_below(rng, bytes);
        range->bytes = 1 + rg_below(rng, bytes - range->offset);
    }
}

/* Whether a range fits in a slot; the dimensions must be the same, so that what an absent one means
 * is no question. */
static int span_fits(const struct rg_program *p, uint32_t slot, const rondo_region *span, int dims)
{
    for (int d = 0; d < dims; d++)
        if (span->first[d] + span->count[d] > p->slot[slot].shape.extent[d])
            return 0;
    return p->slot[slot].dims == dims;
}

static void chunk_access(struct rg_program *p, struct rg_rng *rng, struct rg_record *r,
                         uint32_t slot, int halo)
{
    struct rg_access *a = &r->access[r->access_count++];
    a->slot = slot;
    a->mode = random_mode(p, rng, slot);
    a->flags = RONDO_CHUNK;
    if (halo)
        random_halo(p, rng, a, &r->span);
}

static void make_for(struct rg_program *p, struct rg_rng *rng, struct rg_record *r, uint32_t room)
{
    uint32_t slot = random_slot(p, rng);
    int dims = p->slot[slot].dims;
    r->node_count = 1;
    for (int d = 0; d < dims; d++) {
        int64_t extent = p->slot[slot].shape.extent[d];
        r->span.first[d] = rg_below(rng, (uint64_t)extent);
        r->span.count[d] = 1 + rg_below(rng, (uint64_t)(extent - r->span.first[d]));
        uint32_t chunks = 1 + rg_below(rng, 5);
        if (chunks > r->span.count[d])
            chunks = (uint32_t)r->span.count[d];
        if (r->node_count * chunks > room || r->node_count * chunks > 16)
            chunks = 1;
        r->chunks[d] = chunks == 1 && rg_chance(rng, 50) ? 0 : chunks;
        r->node_count *= chunks;
    }
    chunk_access(p, rng, r, slot, rg_chance(rng, 30));
    for (uint32_t tries = rg_below(rng, 5); tries > 0 && r->access_count < 3; tries--) {
        uint32_t other = random_slot(p, rng);
        if (span_fits(p, other, &r->span, dims))
            chunk_access(p, rng, r, other, rg_chance(rng, 60));
    }
    if (rg_chance(rng, 30)) {
        struct rg_access *a = &r->access[r->access_count++];
        a->slot = random_slot(p, rng);
        a->mode = RONDO_READ;
        a->region = random_region(p, rng, a->slot);
    }
    soften(p, rng, r);
}

/* A parameter that says how much a copy or fill moves. */
static void make_count(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    r->count_param = -1;
    if (p->param_count == RG_PARAMS || !rg_chance(rng, 40))
        return;
    struct rg_param *q = &p->param[p->param_count];
    uint32_t slot = r->access[r->kind == RG_FILL ? 0 : 1].slot;
    q->bytes = 8 * (uint32_t)p->slot[slot].dims;
    q->gate = q->event = 0;
    q->has_initial = 1;
    q->counts = (int32_t)(r - p->record);
    r->count_param = (int32_t)p->param_count++;
    rg_param_value(p, (uint32_t)r->count_param, rg_next(rng), 0, q->initial);
}

/* Two slots that a copy can go between; 0 when none was found. */
static int pick_slots(const struct rg_program *p, struct rg_rng *rng, uint32_t *from, uint32_t *to)
{
    for (int tries = 0; tries < 12; tries++) {
        *from = random_slot(p, rng);
        *to = random_slot(p, rng);
        const struct rg_slot *f = &p->slot[*from], *t = &p->slot[*to];
        if (f->shape.elem_bytes == t->shape.elem_bytes && f->dims == t->dims &&
            f->type == t->type && f->flag == t->flag && f->kind != RG_TOKEN &&
            t->kind != RG_TOKEN && !rg_slots_meet(p, *from, *to) && may_write(p, *to))
            return 1;
    }
    return 0;
}

static void make_copy(const struct rg_program *p, struct rg_rng *rng, struct rg_record *r,
                      uint32_t from, uint32_t to)
{
    r->access_count = 2;
    r->access[0] = (struct rg_access){ .slot = from, .mode = RONDO_READ };
    r->access[1] = (struct rg_access){ .slot = to, .mode = RONDO_WRITE };
    for (int d = 0; d < p->slot[to].dims; d++) {
        int64_t fe = p->slot[from].shape.extent[d], te = p->slot[to].shape.extent[d];
        int64_t count = 1 + rg_below(rng, (uint64_t)(fe < te ? fe : te));
        r->access[0].region.count[d] = r->access[1].region.count[d] = count;
        r->access[0].region.first[d] = rg_below(rng, (uint64_t)(fe - count + 1));
        r->access[1].region.first[d] = rg_below(rng, (uint64_t)(te - count + 1));
    }
}

static void fill_value(const struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    const struct rg_slot *s = &p->slot[r->access[0].slot];
    for (size_t b = 0; b < sizeof r->value; b++)
        r->value[b] = (unsigned char)rg_below(rng, 256);
    if (s->type)
        rg_number_write(r->value, s->type, s->flag ? (int32_t)rg_below(rng, 2) : 5);
}

static int make_move(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    uint32_t from, to = random_slot(p, rng);
    for (int tries = 0; tries < 30 && r->kind == RG_ALLREDUCE && !p->slot[to].type; tries++)
        to = random_slot(p, rng);
    if (r->kind == RG_FILL) {
        if (!may_write(p, to) || p->slot[to].kind == RG_TOKEN)
            return 0;
        r->access_count = 1;
        r->access[0] = (struct rg_access){ .slot = to, .mode = RONDO_WRITE };
        r->access[0].region = random_region(p, rng, to);
        fill_value(p, rng, r);
    } else if (r->kind == RG_ALLREDUCE && rg_chance(rng, 60)) {
        if (!p->slot[to].type || !may_write(p, to))
            return 0;
        r->access_count = 1; /* in place */
        r->access[0] = (struct rg_access){ .slot = to, .mode = RONDO_READ_WRITE };
        r->access[0].region = random_region(p, rng, to);
    } else {
        if (!pick_slots(p, rng, &from, &to) || (r->kind == RG_ALLREDUCE && !p->slot[to].type))
            return 0;
        make_copy(p, rng, r, from, to);
    }
    if (r->kind == RG_ALLREDUCE) {
        r->type = p->slot[to].type;
        r->op = 1 + rg_below(rng, 3);
        rg_use(p, RG_F_ALLREDUCE);
    }
    if (r->access_count == 1 + (r->kind != RG_FILL))
        make_count(p, rng, r);
    return 1;
}

static enum rg_kind random_kind(const struct rg_program *p, struct rg_rng *rng, uint32_t nodes)
{
    uint32_t kind = rg_below(rng, 100);
    if (p->profile == RG_BY_HAND || kind < 8)
        return RG_NOTHING;
    if (rg_has(p, RG_F_ALLREDUCE) && rg_chance(rng, 20))
        return RG_ALLREDUCE;
    if (p->profile == RG_INFERRED && kind < 16 && rg_below(rng, nodes / 8 + 1) == 0)
        return kind < 12 ? RG_FENCE : RG_CALL;
    if (p->profile != RG_CHECKED && kind < 28)
        return RG_FOR;
    return kind < 36 ? RG_COPY : kind < 44 ? RG_FILL : RG_TASK;
}

static void make_uses(struct rg_program *p, struct rg_rng *rng, struct rg_record *r,
                      uint32_t plain_params)
{
    rg_traits_make(p, rng, r);
    r->priority = rg_chance(rng, 30) ? (int32_t)rg_below(rng, 7) - 3 : 0;
    r->cost_ns = rg_chance(rng, 60) ? 0 : 100.0 * rg_below(rng, 200);
    r->on = r->kind != RG_CALL && !(r->flags & RONDO_MAY_BLOCK) && rg_chance(rng, 15)
                ? (int32_t)rg_below(rng, 4)
                : -1;
    r->spin = rg_chance(rng, 85) ? 0 : rg_chance(rng, 30) ? 1 : rg_below(rng, 1500);
    if (!rg_is_task(r))
        return;
    r->has_context = rg_chance(rng, 10);
    /* Of a stop by who fails nothing is said. */
    r->fail_every =
        p->fails && !(r->flags & RONDO_MAY_STOP) && rg_chance(rng, 30) ? 2 + rg_below(rng, 12) : 0;
    r->param_count = plain_params ? rg_below(rng, 4) : 0;
    r->patch_count = plain_params && rg_chance(rng, 30) ? 1 + rg_below(rng, 3) : 0;
    for (uint32_t i = 0; i < r->param_count; i++)
        r->param[i] = rg_below(rng, plain_params);
    for (uint32_t i = 0; i < r->patch_count; i++) {
        rondo_patch *patch = &r->patch[i];
        patch->param.id = rg_below(rng, plain_params);
        uint32_t bytes = p->param[patch->param.id].bytes;
        patch->from = rg_below(rng, bytes);
        patch->bytes = 1 + rg_below(rng, bytes - patch->from);
        patch->to = rg_below(rng, RG_PATCH_BYTES - patch->bytes + 1);
    }
}

static void add_nodes(struct rg_program *p, struct rg_record *r)
{
    r->first_node = p->node_count;
    for (uint32_t i = 0; i < r->node_count; i++) {
        struct rg_node *n = &p->node[p->node_count];
        n->record = p->record_count;
        n->twin = p->node_count++;
        if (r->kind == RG_FOR)
            n->chunk = rg_chunk_of(&r->span, r->chunks, i);
        for (uint32_t a = 0; a < r->access_count; a++)
            rg_boxes_of(p, &r->access[a], &n->chunk, &n->boxes[a]);
    }
    r->twin = p->record_count++;
}

static struct rg_record *begin_record(struct rg_program *p, enum rg_kind kind)
{
    struct rg_record *r = &p->record[p->record_count];
    *r = (struct rg_record){
        .kind = kind, .node_count = 1, .nest = p->open, .on = -1, .device = -1
    };
    r->count_param = r->event = r->when.param = r->when.flag = -1;
    r->member = p->members_made;
    return r;
}

static void make_record(struct rg_program *p, struct rg_rng *rng, uint32_t nodes,
                        uint32_t plain_params)
{
    struct rg_record *r = begin_record(p, random_kind(p, rng, nodes));
    switch (r->kind) {
    case RG_TASK: make_task(p, rng, r); break;
    case RG_FENCE:
    case RG_CALL: make_ranges(p, rng, r); break;
    case RG_FOR: make_for(p, rng, r, nodes - p->node_count); break;
    case RG_COPY:
    case RG_ALLREDUCE:
    case RG_FILL:
        if (!make_move(p, rng, r))
            return;
        break;
    default: break;
    }
    make_uses(p, rng, r, plain_params);
    add_nodes(p, r);
    if (p->devices)
        rg_device_make(p, rng, r);
}

/* A signal, or a wait for a counter that an earlier one raises or for an event. */
static void make_sync(struct rg_program *p, struct rg_rng *rng)
{
    int partner = rg_has(p, RG_F_PARTNER) && !(p->used >> RG_F_PARTNER & 1);
    int counters = partner || (rg_has(p, RG_F_COUNTER) && p->counter_count < RG_COUNTERS - 2);
    if (rg_has(p, RG_F_EVENT_PARAM) && (!counters || rg_chance(rng, 50))) {
        if (rg_externals(p) > 3 || p->param_count == RG_PARAMS)
            return;
        struct rg_record *r = begin_record(p, RG_AWAIT);
        r->event = (int32_t)rg_add_param(p, rng, sizeof(rondo_event));
        p->param[r->event].event = 1;
        p->param[r->event].has_initial = 0;
        rg_when_make(p, rng, &r->when);
        rg_use(p, RG_F_EVENT_PARAM);
        add_nodes(p, r);
    } else if (counters && rg_externals(p) <= 3) {
        struct rg_record *r = begin_record(p, RG_SIGNAL);
        r->counter = p->counter_count;
        r->partner = (uint32_t)partner;
        p->counter_count += 1 + r->partner;
        r->first = 1 + rg_below(rng, 3);
        r->step = 1 + rg_below(rng, 3);
        rg_use(p, partner ? RG_F_PARTNER : RG_F_COUNTER);
        add_nodes(p, r);
    }
}

/* Signals that wait for their wait node: one in three records or so behind them gives it. */
static void make_awaits(struct rg_program *p, struct rg_rng *rng, int all)
{
    for (uint32_t i = p->member[p->members_made].first_record; i < p->record_count; i++) {
        const struct rg_record *s = &p->record[i];
        int done = s->kind != RG_SIGNAL || (!all && !rg_chance(rng, 30));
        for (uint32_t k = i; k < p->record_count && !done; k++)
            done = p->record[k].kind == RG_AWAIT && p->record[k].event < 0 &&
                   p->record[k].counter == s->counter + s->partner;
        if (done)
            continue;
        struct rg_record *r = begin_record(p, RG_AWAIT);
        r->counter = s->counter + s->partner;
        r->partner = s->partner;
        r->first = s->first;
        r->step = s->step;
        add_nodes(p, r);
    }
}

static void make_member(struct rg_program *p, struct rg_rng *rng, uint32_t nodes,
                        uint32_t plain_params)
{
    memset(p->ready, 0, sizeof p->ready);
    while (p->node_count < nodes) {
        int room = nodes - p->node_count > 1;
        if (room && rg_has(p, RG_F_NESTED) && rg_chance(rng, 25) && rg_nest_open(p, rng)) {
            for (uint32_t n = 1 + rg_below(rng, 6); n > 0 && p->node_count < nodes; n--)
                make_record(p, rng, nodes, plain_params);
            rg_nest_close(p, rng);
            continue;
        }
        if (p->node_count + 2 * RG_COUNTERS < RG_NODES && rg_chance(rng, 20))
            make_sync(p, rng);
        make_record(p, rng, nodes, plain_params);
        if (p->node_count + RG_COUNTERS < RG_NODES)
            make_awaits(p, rng, 0);
    }
    make_awaits(p, rng, 1);
}

void rg_records_make(struct rg_program *p, struct rg_rng *rng, uint32_t nodes)
{
    uint32_t plain_params = p->param_count, members = p->member_count;
    if (nodes > RG_NODES - 60)
        nodes = RG_NODES - 60; /* for waits, and for nests again */
    for (uint32_t m = 0; m < members; m++) {
        p->members_made = m;
        p->member[m].first_record = p->record_count;
        p->member[m].first_node = p->node_count;
        make_member(p, rng, p->node_count + (nodes + members - 1) / members, plain_params);
        if (p->member[m].first_node == p->node_count)
            add_nodes(p, begin_record(p, RG_NOTHING));
        p->member[m].end_record = p->record_count;
        p->member[m].end_node = p->node_count;
    }
    rg_edges_make(p, rng);
}
