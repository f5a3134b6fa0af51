/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the bytes of an exec's nodes are: asks the residency pass, and gives its twins memory. */
#include "src/exec/device.h"

#include "src/machine/keeper.h"

#include <string.h>

/* Places in arenas are known to the analysis by addresses of their own, since a place's element
 * (0,0,0) may lie far before it, in what is somebody else's. */
enum { ARENA_RANGE_BIT = 60, ARENA_MEMORY_BIT = 55, ARENA_MIDDLE_BIT = 54 };

static rondo_status no_memory(const struct rd_subgraph *e)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place its data", e->name);
}

/* ---- what the pass is told */

struct question {
    struct rd_residency_input in;
    uint64_t room[RD_DEVICES_MAX];
    uint8_t peers[RD_DEVICES_MAX * RD_DEVICES_MAX];
    uint64_t *bytes;
    uint8_t *external;
    size_t entries;
};

static void ask_devices(struct question *q, const struct rd_devices *devices)
{
    q->in.devices = devices->count;
    q->in.room = q->room;
    q->in.peers = q->peers;
    for (uint32_t i = 0; i < devices->count; i++) {
        const struct rd_device *d = &devices->device[i];
        uint64_t used = rd_load_relaxed(&((struct rd_device *)(uintptr_t)d)->used); /* a count */
        q->room[i] = d->limit > used ? d->limit - used : 0;
        for (uint32_t other = 0; other < devices->count; other++)
            q->peers[i * devices->count + other] =
                (uint8_t)(rd_devices_peers(devices, i, other) != 0);
    }
}

static void ask_slot(struct question *q, const struct rd_slot *s, size_t first)
{
    for (uint32_t m = 1; s->count && m <= q->in.devices; m++) {
        q->external[first + m] = 1;
        for (uint32_t i = 0; i < s->count; i++) {
            if (!rd_keeper_has(s->buffers[i], m))
                q->bytes[first + m] += s->buffers[i]->bytes;
            if (!rd_keeper_is_external(s->buffers[i], m))
                q->external[first + m] = 0;
        }
    }
}

static rondo_status ask(struct rd_exec *x, const struct rd_subgraph *e, struct question *q)
{
    struct rd_allocator *a = &x->rt->alloc;
    memset(q, 0, sizeof *q);
    ask_devices(q, x->rt->devices);
    q->in.g = e;
    q->entries = e->slots.count * (1u + q->in.devices);
    q->bytes = rd_zalloc_array(a, q->entries, sizeof *q->bytes);
    q->external = rd_zalloc_array(a, q->entries, 1);
    if (!q->bytes || !q->external)
        return no_memory(e);
    q->in.instance_bytes = q->bytes;
    q->in.external = q->external;
    for (size_t s = 0; s < e->slots.count; s++)
        ask_slot(q, &e->slots.item[s], s * (1u + q->in.devices));
    return RONDO_OK;
}

static void end_question(struct rd_exec *x, struct question *q)
{
    rd_free_array(&x->rt->alloc, q->bytes, q->entries, sizeof *q->bytes);
    rd_free_array(&x->rt->alloc, q->external, q->entries, 1);
}

/* ---- memory for its twins */

static rondo_status make_arenas(struct rd_exec *x)
{
    struct rd_exec_devices *d = x->devices;
    rondo_status status = RONDO_OK;
    for (uint32_t m = 1; m < d->residency->memories && !status; m++) {
        size_t bytes = d->residency->arena_bytes[m];
        if (!bytes)
            continue;
        status = rd_device_allocate(&x->rt->devices->device[m - 1], bytes, &d->arena[m - 1]);
        d->arena_bytes[m - 1] = status ? 0 : bytes;
    }
    return status;
}

struct placing {
    struct rd_exec *x;
    const struct rd_subgraph *e;
};

static struct rd_buffer *place_in_arena(struct rd_exec *x, const struct rd_slot *slot,
                                        const struct rd_twin *t)
{
    const rondo_shape *shape = &slot->shape;
    const uint64_t first = (uint64_t)t->box.first[0] * shape->elem_bytes +
                           (uint64_t)t->box.first[1] * shape->pitch_bytes[0] +
                           (uint64_t)t->box.first[2] * shape->pitch_bytes[1];
    const uint32_t device = t->memory - 1;
    rondo_buffer_desc desc = { .name = "arena", .shape = *shape };
    struct rd_buffer *b;
    desc.host = (void *)((uintptr_t)x->devices->arena[device] + t->offset - first);
    rd_runtime_ref(x->rt);
    if (rd_buffer_create(x->rt, &desc, &b)) {
        rd_runtime_unref(x->rt);
        return NULL;
    }
    b->address = (1ull << ARENA_RANGE_BIT | (uint64_t)device << ARENA_MEMORY_BIT |
                  1ull << ARENA_MIDDLE_BIT) +
                 t->offset - first;
    return b;
}

/* rd_residency_apply's. */
static struct rd_buffer *place(void *context, const struct rd_twin *t, uint32_t ring)
{
    const struct placing *p = context;
    const struct rd_slot *slot = &p->e->slots.item[t->slot];
    struct rd_buffer *shadow;
    if (t->arena)
        return place_in_arena(p->x, slot, t);
    if (rd_keeper_instance(slot->buffers[ring], t->memory, &shadow))
        return NULL;
    rd_buffer_ref(shadow);
    return shadow;
}

rondo_status rd_exec_devices_place(struct rd_exec *x, const struct rd_subgraph *e,
                                   struct rd_subgraph **changed)
{
    struct placing p = { x, e };
    struct question q;
    rondo_status status = ask(x, e, &q);
    if (!status)
        status = rd_residency(&x->rt->alloc, &q.in, &x->devices->residency);
    end_question(x, &q);
    if (!status)
        status = make_arenas(x);
    return status ? status : rd_residency_apply(e, x->devices->residency, place, &p, changed);
}

void rd_exec_devices_free_memory(struct rd_exec *x)
{
    struct rd_exec_devices *d = x->devices;
    for (uint32_t i = 0; i < RD_DEVICES_MAX; i++)
        if (d->arena_bytes[i])
            rd_device_release(&x->rt->devices->device[i], d->arena[i], d->arena_bytes[i]);
    rd_residency_free(d->residency);
}
