/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the changes that the residency pass found to a copy of the recording: twins become slots,
 * routes copy nodes, the turns its sequence. */
#include "compile/residency.h"
#include "subgraph/expand.h"
#include "subgraph/memory.h"

#include <stdio.h>
#include <string.h>

/* A name of routes: one text per slot and pair of memories. */
struct name {
    uint32_t next; /* index + 1 of the slot's next */
    uint32_t from, to, name;
};

struct applying {
    const struct rd_subgraph *g;
    const struct rd_residency *r;
    struct rd_subgraph *to;
    uint32_t *named; /* by recorded slot: index + 1 of its first name */
    struct name *name;
    size_t names, name_capacity;
};

/* ---- slots */

static rondo_status add_twin(struct applying *x, const struct rd_twin *t,
                             struct rd_buffer *(*place)(void *, const struct rd_twin *, uint32_t),
                             void *context)
{
    struct rd_subgraph *to = x->to;
    struct rd_slot s = to->slots.item[t->slot];
    uint32_t count = t->arena ? 1 : s.count;
    s.kind = t->arena || count == 1 ? RD_SLOT_FIXED : RD_SLOT_RING;
    s.memory = (uint8_t)t->memory;
    s.alias = (uint32_t)to->slots.count;
    s.at_end = s.zeroed = 0;
    s.origin = 0;
    s.bytes = (size_t)(s.shape.extent[2] - 1) * s.shape.pitch_bytes[1] +
              (size_t)(s.shape.extent[1] - 1) * s.shape.pitch_bytes[0] +
              (size_t)s.shape.extent[0] * s.shape.elem_bytes;
    s.ring_first = t->arena ? 0 : s.ring_first;
    s.ring_stride = t->arena ? 1 : s.ring_stride;
    if (to->slots.count >= RD_PARTS_MAX || !RD_ROOM(to, slots, 1))
        return rd_no_memory(to);
    s.buffers = rd_alloc_array(&to->rt->alloc, count, sizeof *s.buffers);
    if (!s.buffers)
        return rd_no_memory(to);
    for (s.count = 0; s.count < count; s.count++) {
        s.buffers[s.count] = place(context, t, s.count);
        if (s.buffers[s.count])
            continue;
        while (s.count)
            rd_buffer_unref(s.buffers[--s.count]);
        rd_free_array(&to->rt->alloc, s.buffers, count, sizeof *s.buffers);
        return RONDO_ERR_MEMORY;
    }
    to->slots.item[to->slots.count++] = s;
    return RONDO_OK;
}

static void move_accesses(struct applying *x)
{
    size_t i;
    for (i = 0; i < x->r->accesses; i++) {
        struct rd_access *a = &x->to->accesses.item[i];
        if (a->mode == RONDO_COMMUTE && x->r->in_order[a->slot])
            a->mode = RONDO_READ_WRITE;
        a->slot = x->r->slot_of_access[i];
    }
}

/* ---- routes */

static uint32_t recorded(const struct applying *x, uint32_t slot)
{
    return slot < x->r->slots ? slot : x->r->twin[slot - x->r->slots].slot;
}

static void memory_text(char *text, size_t bytes, const char *word, uint32_t memory)
{
    if (memory)
        snprintf(text, bytes, " %s gpu %u", word, memory - 1);
    else
        text[0] = 0;
}

static rondo_status route_name(struct applying *x, uint32_t slot, uint32_t from, uint32_t to,
                               uint32_t *name)
{
    char text[160], away[24], here[24];
    rondo_status status;
    uint32_t i;
    for (i = x->named[slot]; i; i = x->name[i - 1].next)
        if (x->name[i - 1].from == from && x->name[i - 1].to == to) {
            *name = x->name[i - 1].name;
            return RONDO_OK;
        }
    memory_text(away, sizeof away, from == to ? "in" : "from", from);
    memory_text(here, sizeof here, "to", from == to ? 0 : to);
    snprintf(text, sizeof text, "copy '%.70s'%s%s",
             rd_subgraph_text(x->to, x->to->slots.item[slot].name), away, here);
    status = rd_name_add(x->to, text, name);
    if (status)
        return status;
    if (!rd_grow(&x->to->rt->alloc, (void **)&x->name, &x->name_capacity, x->names, 1,
                 sizeof *x->name))
        return rd_no_memory(x->to);
    x->name[x->names].next = x->named[slot];
    x->name[x->names].from = from;
    x->name[x->names].to = to;
    x->name[x->names++].name = *name;
    x->named[slot] = (uint32_t)x->names;
    return RONDO_OK;
}

static void route_move(const rondo_shape *shape, const rd_box *box, struct rd_move *m)
{
    memset(m, 0, sizeof *m);
    m->elem_bytes = shape->elem_bytes;
    memcpy(m->count, box->count, sizeof m->count);
    m->from = m->to = rd_box_offset(shape, box);
    memcpy(m->from_pitch, shape->pitch_bytes, sizeof m->from_pitch);
    memcpy(m->to_pitch, shape->pitch_bytes, sizeof m->to_pitch);
}

static uint32_t route_cost(const struct rd_move *m)
{
    uint64_t bytes =
        (uint64_t)m->count[0] * (uint64_t)m->count[1] * (uint64_t)m->count[2] * m->elem_bytes;
    return bytes / 8 < UINT32_MAX ? (uint32_t)(bytes / 8) + 1 : UINT32_MAX;
}

static void route_access(struct rd_subgraph *to, uint32_t slot, uint8_t mode)
{
    struct rd_access *a = &to->accesses.item[to->accesses.count++];
    memset(a, 0, sizeof *a);
    a->slot = slot;
    a->mode = mode;
    a->box = (uint32_t)to->boxes.count - 1;
}

static rondo_status add_route(struct applying *x, const struct rd_route *route)
{
    struct rd_subgraph *to = x->to;
    const struct rd_slot *from_slot = &to->slots.item[route->from],
                         *to_slot = &to->slots.item[route->to];
    struct rd_move m;
    struct rd_node n;
    uint32_t index;
    rondo_status status;
    memset(&n, 0, sizeof n);
    route_move(&from_slot->shape, &route->box, &m);
    n.fn = rd_move_copy;
    n.kind = RD_NODE_COPY;
    n.bound = (uint16_t)(RD_ON_DEVICE + route->device);
    n.cost_ns = route_cost(&m);
    n.arg_bytes = sizeof m;
    n.access = (uint32_t)to->accesses.count;
    n.access_count = 2;
    if (to->accesses.count >= UINT32_MAX - 1 || to->boxes.count >= UINT32_MAX ||
        !RD_ROOM(to, accesses, 2) || !RD_ROOM(to, boxes, 1))
        return rd_no_memory(to);
    to->boxes.item[to->boxes.count++] = route->box;
    route_access(to, route->from, RONDO_READ);
    route_access(to, route->to, RONDO_WRITE);
    status = route_name(x, recorded(x, route->from), from_slot->memory, to_slot->memory, &n.name);
    if (!status)
        status = rd_take_arg(to, &m, sizeof m, &n.arg);
    return status ? status : rd_node_add(to, &n, &index);
}

/* ---- the whole */

static rondo_status set_sequence(struct applying *x)
{
    struct rd_subgraph *to = x->to;
    const struct rd_residency *r = x->r;
    uint32_t i;
    to->sequence = rd_alloc_array(&to->rt->alloc, r->turns, sizeof *to->sequence);
    if (!to->sequence)
        return rd_no_memory(to);
    for (i = 0; i < r->turns; i++)
        to->sequence[i] = r->turn[i].index + (r->turn[i].is_route ? r->nodes : 0);
    return RONDO_OK;
}

static rondo_status apply(struct applying *x,
                          struct rd_buffer *(*place)(void *, const struct rd_twin *, uint32_t),
                          void *context)
{
    const struct rd_residency *r = x->r;
    rondo_status status = RONDO_OK;
    uint32_t i;
    rd_free_array(&x->to->rt->alloc, x->to->sequence, r->nodes, sizeof *x->to->sequence);
    x->to->sequence = NULL;
    for (i = 0; i < r->twins && !status; i++)
        status = add_twin(x, &r->twin[i], place, context);
    if (status)
        return status;
    move_accesses(x);
    for (i = 0; i < r->nodes; i++)
        x->to->nodes.item[i].bound = r->bound[i];
    for (i = 0; i < r->routes && !status; i++)
        status = add_route(x, &r->route[i]);
    x->to->edges_explicit = 0;
    return status ? status : set_sequence(x);
}

rondo_status rd_residency_apply(const struct rd_subgraph *g, const struct rd_residency *r,
                                struct rd_buffer *(*place)(void *context, const struct rd_twin *t,
                                                           uint32_t ring),
                                void *context, struct rd_subgraph **changed)
{
    struct applying x = { g, r, NULL, NULL, NULL, 0, 0 };
    struct rd_allocator *a = &g->rt->alloc;
    rondo_status status = RONDO_OK;
    x.named = rd_zalloc_array(a, r->slots, sizeof *x.named);
    x.to = rd_subgraph_copy(g);
    if (!x.named || !x.to)
        status = rd_no_memory(g);
    else
        status = apply(&x, place, context);
    rd_free_array(a, x.named, r->slots, sizeof *x.named);
    rd_free_array(a, x.name, x.name_capacity, sizeof *x.name);
    if (status && x.to)
        rd_subgraph_unref(x.to);
    if (!status)
        *changed = x.to;
    return status;
}
