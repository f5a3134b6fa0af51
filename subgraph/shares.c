/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of RONDO_REDUCE: memory for each reducing access, nodes that fill it with the neutral
 * element, and one per run that combines them. */
#include "subgraph/memory.h"
#include "subgraph/reduce.h"

#include <math.h>
#include <string.h>

/* ---- conditions: of the run's nodes, as far as they say in which replays these run */

/* The node's k-th condition with an `every`; NULL: it has no more. */
static const struct rd_when *every_of(const struct rd_subgraph *g, uint32_t node, uint32_t k)
{
    const struct rd_extra *e = rd_node_extra(g, node);
    uint32_t i;
    for (i = 0; i < e->when_count; i++)
        if (g->whens.item[e->when + i].every > 1 && !k--)
            return &g->whens.item[e->when + i];
    return NULL;
}

static int same_replays(const struct rd_subgraph *g, uint32_t a, uint32_t b)
{
    const struct rd_when *x, *y;
    uint32_t k = 0;
    do {
        x = every_of(g, a, k);
        y = every_of(g, b, k++);
        if (!x != !y || (x && (x->every != y->every || x->phase != y->phase)))
            return 0;
    } while (x);
    return 1;
}

/* If all nodes of a run run in the same replays only: an extra with that condition. */
static rondo_status common_extra(struct rd_reductions *r, const struct rd_run *run, uint32_t *extra)
{
    struct rd_subgraph *to = r->x->to;
    uint32_t node = r->share[run->first].node, i, k;
    const struct rd_when *w;
    struct rd_extra e;
    *extra = 0;
    for (i = run->first + 1; i; i = r->share[i - 1].next)
        if (!same_replays(r->x->g, node, r->share[i - 1].node))
            return RONDO_OK;
    memset(&e, 0, sizeof e);
    e.when = (uint32_t)to->whens.count;
    for (k = 0; (w = every_of(r->x->g, node, k)); k++) {
        struct rd_when *copy;
        if (to->whens.count >= UINT32_MAX || !RD_ROOM(to, whens, 1))
            return rd_no_memory(to);
        copy = &to->whens.item[to->whens.count++];
        memset(copy, 0, sizeof *copy);
        copy->every = w->every;
        copy->phase = w->phase;
        e.when_count++;
    }
    return e.when_count ? rd_extra_add(to, &e, extra) : RONDO_OK;
}

/* ---- neutral elements */

static size_t value_bytes(uint8_t type) { return type == RONDO_F64 || type == RONDO_I64 ? 8 : 4; }

static void neutral_value(uint8_t type, uint8_t op, void *value)
{
    int sign = op == RONDO_MIN ? 1 : -1;
    double f64 = op == RONDO_SUM ? 0 : sign * (double)INFINITY;
    float f32 = (float)f64;
    int64_t i64 = op == RONDO_SUM ? 0 : sign > 0 ? INT64_MAX : INT64_MIN;
    int32_t i32 = op == RONDO_SUM ? 0 : sign > 0 ? INT32_MAX : INT32_MIN;
    if (type == RONDO_F64)
        memcpy(value, &f64, sizeof f64);
    else if (type == RONDO_F32)
        memcpy(value, &f32, sizeof f32);
    else if (type == RONDO_I64)
        memcpy(value, &i64, sizeof i64);
    else
        memcpy(value, &i32, sizeof i32);
}

static uint32_t cost_of(size_t bytes, size_t per_ns)
{
    return bytes / per_ns < UINT32_MAX ? (uint32_t)(bytes / per_ns) + 1 : UINT32_MAX;
}

/* A node that fills a box of a slot, a run's share or its own, before a node of the run. */
static rondo_status add_fill(struct rd_reductions *r, const struct rd_run *run, uint32_t target,
                             uint32_t box, uint32_t before, uint32_t extra, uint32_t *fill)
{
    struct rd_subgraph *to = r->x->to;
    const struct rd_slot *slot = &to->slots.item[target];
    size_t bytes = slot->shape.elem_bytes, at;
    char *value = rd_alloc_array(&to->rt->alloc, bytes, 1);
    struct rd_node node;
    rondo_status status;
    if (!value)
        return rd_no_memory(to);
    for (at = 0; at < bytes; at += value_bytes(run->type))
        neutral_value(run->type, run->op, value + at);
    memset(&node, 0, sizeof node);
    node.bound = to->nodes.item[before].bound;
    node.priority = to->nodes.item[before].priority;
    node.cost_ns = cost_of(slot->bytes, 8);
    node.extra = extra;
    status = rd_expansion_fill(r->x, target, box, value, bytes, &node);
    rd_free_array(&to->rt->alloc, value, bytes, 1);
    if (!status)
        status = rd_expansion_name(r->x, "neutral", slot->name, &node.name);
    if (!status)
        status = rd_expansion_add(r->x, &node, &r->x->before[before], fill);
    return status;
}

static rondo_status fill_share(struct rd_reductions *r, const struct rd_share *s, uint32_t extra)
{
    struct rd_subgraph *to = r->x->to;
    uint32_t fill, box = to->accesses.item[s->access].box;
    rondo_status status = add_fill(r, &r->run[s->run], s->slot, box, s->node, extra, &fill);
    return status || !to->edges_explicit ? status : rd_expansion_edge(r->x, fill, s->node, 0);
}

/* The whole of a slot that has no value yet. */
static rondo_status fill_fresh(struct rd_reductions *r, const struct rd_run *run)
{
    struct rd_subgraph *to = r->x->to;
    uint32_t fill;
    rd_box box;
    rondo_status status;
    memset(&box, 0, sizeof box);
    memcpy(box.count, to->slots.item[run->slot].shape.extent, sizeof box.count);
    if (to->boxes.count >= UINT32_MAX || !RD_ROOM(to, boxes, 1))
        return rd_no_memory(to);
    to->boxes.item[to->boxes.count++] = box;
    status = add_fill(r, run, run->slot, (uint32_t)to->boxes.count - 1, r->share[run->first].node,
                      0, &fill);
    r->fill[run->slot] = fill + 1;
    return status;
}

/* The memory behind a share: the hull of the access, at the slot's own pitches. */
static rondo_status add_memory(struct rd_reductions *r, struct rd_share *s)
{
    struct rd_subgraph *to = r->x->to;
    struct rd_access *a = &to->accesses.item[s->access];
    struct rd_slot slot;
    const rd_box *hull = &to->boxes.item[a->box];
    memset(&slot, 0, sizeof slot);
    slot.name = to->slots.item[a->slot].name;
    slot.kind = RD_SLOT_TEMPORARY;
    slot.shape = to->slots.item[a->slot].shape;
    slot.bytes = rd_box_span(&slot.shape, hull);
    slot.origin = (int64_t)rd_box_offset(&slot.shape, hull);
    slot.ring_stride = 1;
    slot.alias = (uint32_t)to->slots.count;
    if (to->slots.count >= RD_PARTS_MAX || !RD_ROOM(to, slots, 1))
        return rd_no_memory(to);
    s->slot = (uint32_t)to->slots.count;
    to->slots.item[to->slots.count++] = slot;
    a->slot = s->slot;
    a->mode = RONDO_READ_WRITE;
    a->type = a->op = 0;
    return RONDO_OK;
}

/* ---- combining */

static int same_boxes(const struct rd_subgraph *g, const struct rd_access *a,
                      const struct rd_access *b)
{
    uint32_t a_boxes, b_boxes;
    const rd_box *a_box = rd_access_boxes(g, a, &a_boxes), *b_box = rd_access_boxes(g, b, &b_boxes);
    return a_boxes == b_boxes && !memcmp(a_box, b_box, a_boxes * sizeof *a_box);
}

/* The combining node's accesses: to the shares one by one, and to what of the slot they are. */
static rondo_status add_accesses(struct rd_reductions *r, const struct rd_run *run,
                                 struct rd_node *node)
{
    struct rd_subgraph *to = r->x->to;
    uint32_t i, last = 0;
    if ((size_t)run->count * 2 > UINT32_MAX - to->accesses.count ||
        !RD_ROOM(to, accesses, (size_t)run->count * 2))
        return rd_no_memory(to);
    node->access = (uint32_t)to->accesses.count;
    for (i = run->first + 1; i; i = r->share[i - 1].next) {
        struct rd_access a = to->accesses.item[r->share[i - 1].access];
        a.mode = RONDO_READ;
        to->accesses.item[to->accesses.count++] = a;
    }
    for (i = run->first + 1; i; i = r->share[i - 1].next) {
        struct rd_access a = to->accesses.item[r->share[i - 1].access];
        if (last && same_boxes(to, &to->accesses.item[last], &a))
            continue;
        a.slot = run->slot;
        a.mode = RONDO_READ_WRITE;
        last = (uint32_t)to->accesses.count;
        to->accesses.item[to->accesses.count++] = a;
    }
    node->access_count = (uint32_t)to->accesses.count - node->access;
    return RONDO_OK;
}

/* The combining node's argument; *bytes: of what it reads. */
static rondo_status add_combine(struct rd_reductions *r, const struct rd_run *run,
                                struct rd_node *node, size_t *bytes)
{
    struct rd_subgraph *to = r->x->to;
    const rondo_shape *shape = &to->slots.item[run->slot].shape;
    struct rd_combine c = { run->pieces,
                            run->count,
                            run->type,
                            run->op,
                            { shape->pitch_bytes[0], shape->pitch_bytes[1] } };
    struct rd_combine_part *part;
    size_t parts = run->pieces * sizeof *part;
    uint32_t i, b, boxes, k = 0;
    *bytes = 0;
    if (parts / sizeof *part != run->pieces || parts > UINT32_MAX - sizeof c ||
        rd_take_arg(to, &c, sizeof c, &node->arg) || !RD_ROOM(to, args, parts))
        return rd_no_memory(to);
    node->arg_bytes = (uint32_t)(sizeof c + parts);
    part = (struct rd_combine_part *)(void *)(to->args.item + to->args.count);
    to->args.count += parts;
    for (i = run->first + 1; i; i = r->share[i - 1].next, k++) {
        const rd_box *box = rd_access_boxes(to, &to->accesses.item[r->share[i - 1].access], &boxes);
        for (b = 0; b < boxes; b++, part++) {
            part->share = k;
            part->at = rd_box_offset(shape, &box[b]);
            part->row = (uint64_t)box[b].count[0] * shape->elem_bytes / value_bytes(run->type);
            part->count[0] = (uint64_t)box[b].count[1];
            part->count[1] = (uint64_t)box[b].count[2];
            *bytes += part->row * part->count[0] * part->count[1] * value_bytes(run->type);
        }
    }
    return RONDO_OK;
}

static rondo_status add_run(struct rd_reductions *r, struct rd_run *run, uint32_t extra)
{
    struct rd_subgraph *to = r->x->to;
    struct rd_node node;
    uint32_t i;
    size_t bytes;
    rondo_status status;
    memset(&node, 0, sizeof node);
    node.fn = rd_combine_run;
    node.kind = RD_NODE_COMBINE;
    node.bound = RD_PROCESSOR_ANY;
    node.extra = extra;
    node.priority = to->nodes.item[r->share[run->last].node].priority;
    status = add_accesses(r, run, &node);
    if (!status)
        status = add_combine(r, run, &node, &bytes);
    if (!status)
        status = rd_expansion_name(r->x, "combine", to->slots.item[run->slot].name, &node.name);
    if (status)
        return status;
    node.cost_ns = cost_of(bytes, 4);
    status = rd_expansion_add(r->x, &node, &r->x->after[r->share[run->last].node], &run->combine);
    for (i = run->first + 1; i && to->edges_explicit && !status; i = r->share[i - 1].next)
        status = rd_expansion_edge(r->x, r->share[i - 1].node, run->combine, 0);
    return status;
}

rondo_status rd_shares_add(struct rd_reductions *r)
{
    rondo_status status = RONDO_OK;
    uint32_t extra, i;
    size_t k;
    for (k = 0; k < r->runs && !status; k++) {
        status = common_extra(r, &r->run[k], &extra);
        for (i = r->run[k].first + 1; i && !status; i = r->share[i - 1].next) {
            status = add_memory(r, &r->share[i - 1]);
            if (!status)
                status = fill_share(r, &r->share[i - 1], extra);
        }
        if (!status)
            status = add_run(r, &r->run[k], extra);
        if (!status && r->run[k].fresh)
            status = fill_fresh(r, &r->run[k]);
    }
    return status;
}
