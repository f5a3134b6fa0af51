/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_REDUCE: each reducing access gets a share of its own, filled with the neutral element
 * before its node; a node that combines the shares with the slot comes after.
 *
 * Reducing accesses to a slot with one type and operation, with no other access to the elements
 * between them, are a run, combined at once behind its last node. A run that ends too early does no
 * harm: the next one goes on from what this one left, in the same order. So an access that may or
 * may not meet a run ends it. The order of adding is that of the recording, element by element,
 * whatever runs there are: the same bits always. */
#include "subgraph/expand.h"
#include "subgraph/memory.h"

#include <math.h>
#include <string.h>

enum { TYPES = 5, OPS = 4, KINDS = TYPES * OPS };

struct share {
    uint32_t node, access; /* recorded ones */
    uint32_t slot;         /* the share itself */
    uint32_t run;
    uint32_t next;    /* of its run, + 1 */
    uint32_t of_node; /* the node's next share, + 1 */
};

struct run {
    uint32_t slot, first, last, count; /* shares */
    uint32_t combine;                  /* its node */
    uint32_t pieces;                   /* boxes of all its shares */
    uint8_t type, op;
    uint8_t fresh; /* nothing has written the slot, a temporary: the shares are its value */
    rd_box hull;
};

struct reductions {
    struct rd_expansion *x;
    uint32_t *family;  /* by slot: slots that may share bytes are one; the number of one of them */
    uint32_t *open;    /* by family: its run, + 1 */
    uint32_t *of_node; /* by recorded node: its first share, + 1 */
    uint32_t *fill;    /* by slot: the node that gives it its first value, + 1 */
    uint8_t *written;  /* by slot: it needs no neutral element any more */
    struct share *share;
    struct run *run;
    size_t shares, share_capacity, runs, run_capacity;
    size_t from; /* runs before this one are ended by a node that touches everything */
};

/* ---- which slots may share bytes */

static uint32_t root_of(uint32_t *family, uint32_t s)
{
    while (family[s] != s)
        s = family[s] = family[family[s]];
    return s;
}

static rondo_status find_families(struct reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    struct rd_allocator *a = &g->rt->alloc;
    struct rd_memories m;
    uint32_t *seen, s, v;
    rondo_status status = rd_memories_make(a, g, 1, &m);
    if (status)
        return status;
    seen = rd_zalloc_array(a, m.count, sizeof *seen); /* by memory: a slot, + 1 */
    for (s = 0; s < g->slots.count; s++)
        r->family[s] = s;
    for (s = 0; seen && s < g->slots.count; s++) {
        const struct rd_view_list *l = &m.slot[s];
        r->family[root_of(r->family, s)] = root_of(r->family, l->alias_class);
        for (v = l->first; v < l->first + l->count; v++) {
            uint32_t memory = m.view[v].memory;
            if (seen[memory])
                r->family[root_of(r->family, s)] = root_of(r->family, seen[memory] - 1);
            seen[memory] = s + 1;
        }
    }
    if (!seen)
        status = rd_no_memory(g);
    rd_free_array(a, seen, m.count, sizeof *seen);
    rd_memories_free(a, &m);
    return status;
}

/* ---- runs */

static struct run *open_run(struct reductions *r, uint32_t slot)
{
    uint32_t i = r->open[root_of(r->family, slot)];
    return i > r->from ? &r->run[i - 1] : NULL;
}

/* An access of another kind. */
static void end_run(struct reductions *r, const struct rd_access *a)
{
    const struct run *run = open_run(r, a->slot);
    uint32_t boxes, b;
    const rd_box *box = rd_access_boxes(r->x->g, a, &boxes);
    int meet = 0;
    if (!run)
        return;
    for (b = 0; b < boxes; b++)
        meet |= rd_boxes_meet(&run->hull, &box[b]);
    if (run->slot != a->slot || meet)
        r->open[root_of(r->family, a->slot)] = 0;
}

static void widen(rd_box *hull, const rd_box *b)
{
    int d;
    for (d = 0; d < 3; d++) {
        int64_t first = hull->first[d] < b->first[d] ? hull->first[d] : b->first[d];
        int64_t end = hull->first[d] + hull->count[d], b_end = b->first[d] + b->count[d];
        hull->first[d] = first;
        hull->count[d] = (end > b_end ? end : b_end) - first;
    }
}

/* The run of a reducing access, a new one if need be; NULL: no memory. */
static struct run *run_for(struct reductions *r, const struct rd_access *a)
{
    struct run *run = open_run(r, a->slot);
    const rd_box *hull = &r->x->g->boxes.item[a->box];
    if (run && run->slot == a->slot && run->type == a->type && run->op == a->op) {
        widen(&run->hull, hull);
        return run;
    }
    if (!rd_grow(&r->x->g->rt->alloc, (void **)&r->run, &r->run_capacity, r->runs, 1,
                 sizeof *r->run))
        return NULL;
    run = &r->run[r->runs++];
    memset(run, 0, sizeof *run);
    run->slot = a->slot;
    run->type = a->type;
    run->op = a->op;
    run->hull = *hull;
    run->fresh = !r->written[a->slot];
    r->written[a->slot] = 1;
    r->open[root_of(r->family, a->slot)] = (uint32_t)r->runs;
    return run;
}

static int add_share(struct reductions *r, uint32_t node, uint32_t access)
{
    const struct rd_access *a = &r->x->g->accesses.item[access];
    struct run *run = run_for(r, a);
    struct share *s;
    if (!run || !rd_grow(&r->x->g->rt->alloc, (void **)&r->share, &r->share_capacity, r->shares, 1,
                         sizeof *r->share))
        return 0;
    s = &r->share[r->shares++];
    memset(s, 0, sizeof *s);
    s->node = node;
    s->access = access;
    s->run = (uint32_t)(run - r->run);
    s->of_node = r->of_node[node];
    r->of_node[node] = (uint32_t)r->shares;
    if (run->count++)
        r->share[run->last].next = (uint32_t)r->shares;
    else
        run->first = (uint32_t)r->shares - 1;
    run->last = (uint32_t)r->shares - 1;
    run->pieces += a->box_count ? a->box_count : 1;
    return 1;
}

static rondo_status find_runs(struct reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    uint32_t p, i, v;
    for (p = 0; p < r->x->nodes; p++) {
        const struct rd_node *n;
        v = rd_expansion_node(r->x, p);
        n = &g->nodes.item[v];
        if (n->everything)
            r->from = r->runs;
        for (i = n->access; i < n->access + n->access_count; i++)
            if (g->accesses.item[i].mode != RONDO_REDUCE) {
                end_run(r, &g->accesses.item[i]);
                r->written[g->accesses.item[i].slot] |= g->accesses.item[i].mode & RONDO_WRITE;
            }
        for (i = n->access; i < n->access + n->access_count; i++)
            if (g->accesses.item[i].mode == RONDO_REDUCE && !add_share(r, v, i))
                return rd_no_memory(g);
    }
    return RONDO_OK;
}

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
static rondo_status common_extra(struct reductions *r, const struct run *run, uint32_t *extra)
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
static rondo_status add_fill(struct reductions *r, const struct run *run, uint32_t target,
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

static rondo_status fill_share(struct reductions *r, const struct share *s, uint32_t extra)
{
    struct rd_subgraph *to = r->x->to;
    uint32_t fill, box = to->accesses.item[s->access].box;
    rondo_status status = add_fill(r, &r->run[s->run], s->slot, box, s->node, extra, &fill);
    return status || !to->edges_explicit ? status : rd_expansion_edge(r->x, fill, s->node, 0);
}

/* The whole of a slot that has no value yet. */
static rondo_status fill_fresh(struct reductions *r, const struct run *run)
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
static rondo_status add_memory(struct reductions *r, struct share *s)
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
static rondo_status add_accesses(struct reductions *r, const struct run *run, struct rd_node *node)
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
static rondo_status add_combine(struct reductions *r, const struct run *run, struct rd_node *node,
                                size_t *bytes)
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

static rondo_status add_run(struct reductions *r, struct run *run, uint32_t extra)
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

static rondo_status add_nodes(struct reductions *r)
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

/* ---- edges by hand */

/* Where edges are explicit what fills a slot precedes all that touch it. */
static rondo_status fill_first(struct reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    rondo_status status = RONDO_OK;
    uint32_t v, i;
    for (v = 0; v < r->x->nodes; v++)
        for (i = 0; i < g->nodes.item[v].access_count && !status; i++) {
            uint32_t slot = g->accesses.item[g->nodes.item[v].access + i].slot;
            if (r->fill[slot])
                status = rd_expansion_edge(r->x, r->fill[slot] - 1, v, 0);
        }
    return status;
}

/* What comes after a run's node by hand comes after the combining too: unless a later node of the
 * run comes after it in turn. */
static rondo_status follow_by_hand(struct reductions *r)
{
    const struct rd_expansion *x = r->x;
    rondo_status status = RONDO_OK;
    size_t e;
    uint32_t i;
    for (e = 0; e < x->edges && !status; e++) {
        const struct rd_hand_edge h = x->g->edges.item[e];
        for (i = r->of_node[h.from]; i && !status; i = r->share[i - 1].of_node) {
            const struct run *run = &r->run[r->share[i - 1].run];
            if (h.distance || x->position[h.to] > x->position[r->share[run->last].node])
                status = rd_expansion_edge(r->x, run->combine, h.to, h.distance);
        }
    }
    return status;
}

/* A node's reductions to slots that may share bytes, of several kinds: combined one after the
 * other.
 */
static rondo_status chain_in_node(struct reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    rondo_status status = RONDO_OK;
    size_t k;
    memset(r->open, 0, g->slots.count * sizeof *r->open);
    for (k = 0; k < r->runs && !status; k++) {
        uint32_t *last = &r->open[root_of(r->family, r->run[k].slot)];
        if (*last && r->share[r->run[*last - 1].last].node == r->share[r->run[k].first].node)
            status = rd_expansion_edge(r->x, r->run[*last - 1].combine, r->run[k].combine, 0);
        *last = (uint32_t)k + 1;
    }
    return status;
}

/* Where edges are explicit nothing else orders the runs of a slot among themselves. */
static rondo_status chain_runs(struct reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    size_t kinds = g->slots.count * KINDS, k;
    uint32_t *first = rd_zalloc_array(&g->rt->alloc, kinds, sizeof *first), /* run + 1 */
        *last = rd_zalloc_array(&g->rt->alloc, kinds, sizeof *last);
    rondo_status status = first && last ? RONDO_OK : rd_no_memory(g);
    for (k = 0; k < r->runs && !status; k++) {
        size_t kind = r->run[k].slot * (size_t)KINDS + r->run[k].type * (size_t)OPS + r->run[k].op;
        if (!first[kind])
            first[kind] = (uint32_t)k + 1;
        else
            status = rd_expansion_edge(r->x, r->run[last[kind] - 1].combine, r->run[k].combine, 0);
        last[kind] = (uint32_t)k + 1;
    }
    for (k = 0; k < kinds && !status; k++)
        if (first[k] && g->slots.item[k / KINDS].count) /* else nothing is carried */
            status = rd_expansion_edge(r->x, r->run[last[k] - 1].combine,
                                       r->run[first[k] - 1].combine, 1);
    rd_free_array(&g->rt->alloc, first, kinds, sizeof *first);
    rd_free_array(&g->rt->alloc, last, kinds, sizeof *last);
    return status;
}

static int has_reductions(const struct rd_subgraph *g)
{
    size_t i;
    for (i = 0; i < g->accesses.count; i++)
        if (g->accesses.item[i].mode == RONDO_REDUCE)
            return 1;
    return 0;
}

rondo_status rd_expand_reductions(struct rd_expansion *x)
{
    const struct rd_subgraph *g = x->g;
    struct rd_allocator *a = &g->rt->alloc;
    struct reductions r;
    rondo_status status = RONDO_OK;
    size_t s;
    if (!has_reductions(g))
        return RONDO_OK;
    memset(&r, 0, sizeof r);
    r.x = x;
    r.family = rd_alloc_array(a, g->slots.count, sizeof *r.family);
    r.open = rd_zalloc_array(a, g->slots.count, sizeof *r.open);
    r.of_node = rd_zalloc_array(a, x->nodes, sizeof *r.of_node);
    r.fill = rd_zalloc_array(a, g->slots.count, sizeof *r.fill);
    r.written = rd_alloc_array(a, g->slots.count, sizeof *r.written);
    if (!r.family || !r.open || !r.of_node || !r.fill || !r.written)
        status = rd_no_memory(g);
    for (s = 0; s < g->slots.count && !status; s++)
        r.written[s] = g->slots.item[s].kind != RD_SLOT_TEMPORARY || g->slots.item[s].zeroed;
    if (!status)
        status = find_families(&r);
    if (!status)
        status = find_runs(&r);
    if (!status)
        status = add_nodes(&r);
    if (!status)
        status = follow_by_hand(&r);
    if (!status && g->edges_explicit)
        status = fill_first(&r);
    if (!status && g->edges_explicit)
        status = chain_in_node(&r);
    if (!status && g->edges_explicit)
        status = chain_runs(&r);
    rd_free_array(a, r.family, g->slots.count, sizeof *r.family);
    rd_free_array(a, r.open, g->slots.count, sizeof *r.open);
    rd_free_array(a, r.of_node, x->nodes, sizeof *r.of_node);
    rd_free_array(a, r.fill, g->slots.count, sizeof *r.fill);
    rd_free_array(a, r.written, g->slots.count, sizeof *r.written);
    rd_free_array(a, r.share, r.share_capacity, sizeof *r.share);
    rd_free_array(a, r.run, r.run_capacity, sizeof *r.run);
    return status;
}
