/* SPDX-License-Identifier: BSD-3-Clause */
/* The memories that the tests of the residency pass play on: real bytes, places that are shared. */
#include "tests/compile/residency_world.h"
#include "subgraph/memory.h"
#include "tests/compile/graphs.h"

#include <stdarg.h>
#include <stdio.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15ull;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

static int wrong(struct world *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!w->why[0])
        vsnprintf(w->why, sizeof w->why, format, list);
    va_end(list);
    return 0;
}

int world_has(const struct world *w, const struct rd_buffer *b, uint32_t memory)
{
    return w->had && mix(rd_buffer_address_of(b) - (uintptr_t)w->host, w->had + memory) % 4 == 0;
}

/* ---- addresses */

char *world_host(const struct world *w, uint32_t slot, uint32_t replay)
{
    const struct rd_slot *s = &w->g->slots.item[slot];
    if (!s->count)
        return w->host + w->place[slot][replay] - s->origin;
    return rd_buffer_base(s->buffers[(s->ring_first + replay * s->ring_stride) % s->count]);
}

static char *base_of(const struct world *w, uint32_t slot, uint32_t replay)
{
    const struct rd_slot *s;
    if (slot < w->g->slots.count)
        return world_host(w, slot, replay);
    s = &w->applied->slots.item[slot];
    return rd_buffer_base(s->buffers[(s->ring_first + replay * s->ring_stride) % s->count]);
}

static size_t at(const rondo_shape *s, int64_t x, int64_t y, int64_t z)
{
    return (size_t)x * s->elem_bytes + (size_t)y * s->pitch_bytes[0] +
           (size_t)z * s->pitch_bytes[1];
}

/* ---- nodes */

/* Who runs: the reference on its own bytes, or the applied recording. */
struct runner {
    struct world *w;
    const struct rd_subgraph *g;
    int reference;
};

static char *address(const struct runner *x, uint32_t slot, uint32_t replay)
{
    char *base = base_of(x->w, slot, replay);
    if (slot < x->w->g->slots.count && x->w->g->slots.item[slot].kind == RD_SLOT_TOKEN)
        return NULL;
    return x->reference ? x->w->reference + (base - x->w->host) : base;
}

/* Rows of an access's boxes: called with each, in the same order whatever memory they are in. */
struct rows {
    const struct runner *x;
    uint64_t hash, key;
    int write, add;
};

static void do_row(struct rows *r, char *p, size_t bytes)
{
    size_t i;
    for (i = 0; i < bytes; i++) {
        r->key++;
        if (r->write && r->add)
            p[i] = (char)(p[i] + (char)mix(r->hash, r->key));
        else if (r->write)
            p[i] = (char)mix(r->hash, r->key);
        else
            r->hash = mix(r->hash, (uint8_t)p[i]);
    }
}

/* An arena's twin holds its box and nothing else. */
static int in_place(const struct runner *x, uint32_t slot, const char *p, size_t bytes)
{
    struct world *w = x->w;
    const struct rd_twin *t;
    const char *arena;
    if (x->reference || slot < w->g->slots.count)
        return 1;
    t = &w->r->twin[slot - w->g->slots.count];
    arena = w->arena[t->memory];
    return !t->arena ||
           (p >= arena + t->offset && p + bytes <= arena + w->r->arena_bytes[t->memory]);
}

static int do_access(struct rows *r, const struct rd_access *a, uint32_t replay)
{
    const rondo_shape *s = &r->x->g->slots.item[a->slot].shape;
    char *base = address(r->x, a->slot, replay), *p;
    uint32_t count, i;
    const rd_box *box = rd_access_boxes(r->x->g, a, &count);
    int64_t y, z;
    for (i = 0; i < count && base; i++)
        for (z = 0; z < box[i].count[2]; z++)
            for (y = 0; y < box[i].count[1]; y++) {
                size_t bytes = (size_t)box[i].count[0] * s->elem_bytes;
                p = base + at(s, box[i].first[0], box[i].first[1] + y, box[i].first[2] + z);
                if (!in_place(r->x, a->slot, p, bytes))
                    return wrong(r->x->w, "slot %u is used outside of its place", a->slot);
                do_row(r, p, bytes);
            }
    return 1;
}

/* The elements of all slots with buffers, and of those bound: what a node without accesses sees. */
static void do_everything(struct rows *r, uint32_t replay)
{
    const struct rd_subgraph *g = r->x->w->g;
    uint8_t *used = calloc(g->slots.count + 1, 1);
    for (size_t i = 0; i < g->accesses.count; i++)
        used[g->accesses.item[i].slot] = 1;
    for (uint32_t s = 0; s < g->slots.count; s++) {
        const struct rd_slot *slot = &g->slots.item[s];
        if (!used[s] || slot->kind > RD_SLOT_BOUND)
            continue;
        for (int64_t z = 0; z < slot->shape.extent[2]; z++)
            for (int64_t y = 0; y < slot->shape.extent[1]; y++)
                do_row(r, address(r->x, s, replay) + at(&slot->shape, 0, y, z),
                       (size_t)slot->shape.extent[0] * slot->shape.elem_bytes);
    }
    free(used);
}

static int runs(const struct runner *x, uint32_t v, uint32_t replay, uint64_t *hash)
{
    const struct rd_extra *e = rd_node_extra(x->g, v);
    const struct rd_node *n = &x->g->nodes.item[v];
    uint32_t flag = n->access + rd_node_own_accesses(x->g, v);
    int yes = 1;
    for (uint32_t i = 0; i < e->when_count; i++) {
        const struct rd_when *when = &x->g->whens.item[e->when + i];
        if (when->every && replay % when->every != when->phase)
            yes = 0;
        if (when->param && mix(when->param, replay) % 3 == 0)
            yes = 0;
        if (when->flag) {
            int32_t value;
            memcpy(&value, address(x, x->g->accesses.item[flag++].slot, replay), sizeof value);
            *hash = mix(*hash, (uint32_t)value);
            if (value % 3 == 0)
                yes = 0;
        }
    }
    return yes;
}

static void do_move(const struct runner *x, uint32_t v, uint32_t replay, uint64_t *hash)
{
    const struct rd_node *n = &x->g->nodes.item[v];
    const struct rd_move *m = (const void *)(x->g->args.item + n->arg);
    const struct rd_access *to = &x->g->accesses.item[n->access + (n->kind == RD_NODE_COPY)];
    char *to_base = address(x, to->slot, replay) + m->to,
         *from_base = address(x, x->g->accesses.item[n->access].slot, replay) + m->from;
    int64_t count[3];
    for (int d = 0; d < 3; d++) {
        count[d] = m->count[d];
        if (m->count_values > (uint32_t)d)
            count[d] = (int64_t)(mix(v, replay + (uint64_t)d) % (uint64_t)(count[d] + 1));
    }
    for (int64_t z = 0; z < count[2]; z++)
        for (int64_t y = 0; y < count[1]; y++) {
            size_t bytes = (size_t)count[0] * m->elem_bytes;
            char *t = to_base + z * (int64_t)m->to_pitch[1] + y * (int64_t)m->to_pitch[0];
            const char *f =
                from_base + z * (int64_t)m->from_pitch[1] + y * (int64_t)m->from_pitch[0];
            if (!in_place(x, to->slot, t, bytes) ||
                (n->kind == RD_NODE_COPY &&
                 !in_place(x, x->g->accesses.item[n->access].slot, f, bytes)))
                wrong(x->w, "node %u moves outside of its place", v);
            for (size_t i = 0; i < bytes; i++) {
                t[i] = n->kind == RD_NODE_COPY ? f[i] : ((const char *)(m + 1))[i % m->elem_bytes];
                *hash = mix(*hash, (uint8_t)t[i]);
            }
        }
}

static void do_task(const struct runner *x, uint32_t v, uint32_t replay, uint64_t *hash)
{
    const struct rd_node *n = &x->g->nodes.item[v];
    uint32_t own = rd_node_own_accesses(x->g, v), i;
    struct rows r = { x, mix(mix(x->w->seed, v), mix(replay, *hash)), 0, 0, 0 };
    for (i = 0; i < own; i++) {
        const struct rd_access *a = &x->g->accesses.item[n->access + i];
        if (a->mode & RONDO_READ && x->w->g->accesses.item[n->access + i].mode != RONDO_COMMUTE)
            do_access(&r, a, replay);
    }
    if (n->everything)
        do_everything(&r, replay);
    *hash = r.hash;
    for (i = 0; i < own; i++) {
        const struct rd_access *a = &x->g->accesses.item[n->access + i];
        r.write = 1;
        r.add = x->w->g->accesses.item[n->access + i].mode == RONDO_COMMUTE;
        r.key = (uint64_t)i << 32;
        if (a->mode & RONDO_WRITE)
            do_access(&r, a, replay);
    }
    r.write = r.add = n->everything != 0;
    if (n->everything)
        do_everything(&r, replay);
}

static uint64_t run_node(const struct runner *x, uint32_t v, uint32_t replay)
{
    uint64_t hash = 1;
    if (!runs(x, v, replay, &hash))
        return hash;
    if (x->g->nodes.item[v].kind == RD_NODE_COPY || x->g->nodes.item[v].kind == RD_NODE_FILL)
        do_move(x, v, replay, &hash);
    else
        do_task(x, v, replay, &hash);
    return hash;
}

/* ---- instances and what the keeper knows */

static struct world_instance *instance_of(struct world *w, struct rd_buffer *b, uint32_t memory)
{
    struct world_instance *k;
    size_t elements =
        (size_t)b->shape.extent[0] * (size_t)b->shape.extent[1] * (size_t)b->shape.extent[2];
    for (uint32_t i = 0; i < w->instances; i++)
        if (w->instance[i].buffer == b && w->instance[i].memory == memory)
            return &w->instance[i];
    if (w->instances == WORLD_INSTANCES)
        return NULL;
    k = &w->instance[w->instances++];
    memset(k, 0, sizeof *k);
    k->buffer = b;
    k->memory = memory;
    k->current = calloc(elements, 1);
    if (memory) {
        k->bytes = malloc(b->bytes);
        for (size_t i = 0; i < b->bytes; i++)
            k->bytes[i] = (char)mix(i, memory);
        rondo_buffer_desc desc = { .name = "twin", .shape = b->shape, .host = k->bytes };
        rd_runtime_ref(b->rt);
        if (rd_buffer_create(b->rt, &desc, &k->shadow))
            abort();
    } else {
        k->bytes = rd_buffer_base(b);
        memset(k->current, 1, elements);
    }
    return k;
}

static struct rd_buffer *place(void *context, const struct rd_twin *t, uint32_t ring)
{
    struct world *w = context;
    const struct rd_slot *s = &w->g->slots.item[t->slot];
    struct rd_buffer *b;
    if (!t->arena) {
        b = instance_of(w, s->buffers[ring], t->memory)->shadow;
        rd_buffer_ref(b);
        return b;
    }
    rondo_buffer_desc desc = { .name = "place",
                               .shape = s->shape,
                               .host = w->arena[t->memory] + t->offset -
                                       at(&s->shape, t->box.first[0], t->box.first[1],
                                          t->box.first[2]) };
    rd_runtime_ref(w->g->rt);
    if (rd_buffer_create(w->g->rt, &desc, &b))
        abort();
    return b;
}

/* Calls for each element of a box of a buffer. */
typedef int each_fn(struct world *w, struct world_instance *k, size_t index, size_t offset);
static int each_element(struct world *w, struct world_instance *k, const rondo_region *box,
                        each_fn *fn)
{
    const rondo_shape *s = &k->buffer->shape;
    for (int64_t z = box->first[2]; z < box->first[2] + box->count[2]; z++)
        for (int64_t y = box->first[1]; y < box->first[1] + box->count[1]; y++)
            for (int64_t x = box->first[0]; x < box->first[0] + box->count[0]; x++) {
                if (x >= s->extent[0] || y >= s->extent[1] || z >= s->extent[2])
                    continue;
                if (!fn(w, k, (size_t)(x + s->extent[0] * (y + s->extent[1] * z)), at(s, x, y, z)))
                    return 0;
            }
    return 1;
}
static int each_of(struct world *w, struct world_instance *k, const struct rd_boxes *boxes,
                   each_fn *fn)
{
    for (uint32_t i = 0; i < boxes->count; i++)
        if (!each_element(w, k, &boxes->item[i], fn))
            return 0;
    return 1;
}

static int bring(struct world *w, struct world_instance *k, size_t index, size_t offset)
{
    if (k->current[index])
        return 1;
    for (uint32_t i = 0; i < w->instances; i++) {
        struct world_instance *from = &w->instance[i];
        if (from->buffer != k->buffer || !from->current[index])
            continue;
        memcpy(k->bytes + offset, from->bytes + offset, k->buffer->shape.elem_bytes);
        k->current[index] = 1;
        return 1;
    }
    return wrong(w, "buffer '%s': element %zu is needed and nowhere", k->buffer->name, index);
}
static int forget(struct world *w, struct world_instance *k, size_t index, size_t offset)
{
    (void)w, (void)offset;
    k->current[index] = 0;
    return 1;
}
static int hold(struct world *w, struct world_instance *k, size_t index, size_t offset)
{
    (void)w, (void)offset;
    k->current[index] = 1;
    return 1;
}

static int each_stay(struct world *w, int what)
{
    for (uint32_t i = 0; i < w->r->stays; i++) {
        const struct rd_residency_stay *stay = &w->r->stay[i];
        const struct rd_slot *s = &w->g->slots.item[stay->slot];
        for (uint32_t b = 0; b < s->count; b++)
            for (uint32_t m = 0; m < w->r->memories; m++) {
                const struct rd_boxes *boxes = what == 0   ? &stay->need[m]
                                               : what == 1 ? &stay->written
                                                           : &stay->hold[m];
                struct world_instance *k;
                if (!boxes->count)
                    continue;
                k = instance_of(w, s->buffers[b], m);
                if (!k)
                    return wrong(w, "too many instances");
                if (!each_of(w, k, boxes, what == 0 ? bring : what == 1 ? forget : hold))
                    return 0;
            }
    }
    return 1;
}

/* What rd_keeper_take does. */
static int take_over(struct world *w)
{
    return each_stay(w, 0) && each_stay(w, 1) && each_stay(w, 2);
}

static size_t elements_of(const struct rd_buffer *b)
{
    return (size_t)b->shape.extent[0] * (size_t)b->shape.extent[1] * (size_t)b->shape.extent[2];
}

static int check_element(struct world *w, struct world_instance *k, size_t index, size_t offset)
{
    const char *right = w->reference + (rd_buffer_base(k->buffer) - w->host) + offset;
    int somewhere = 0;
    for (uint32_t i = 0; i < w->instances; i++)
        somewhere |= w->instance[i].buffer == k->buffer && w->instance[i].current[index];
    if (!somewhere)
        return wrong(w, "buffer '%s': element %zu is nowhere", k->buffer->name, index);
    if (k->current[index] && memcmp(k->bytes + offset, right, k->buffer->shape.elem_bytes) != 0)
        return wrong(w, "buffer '%s': element %zu in memory %u is not what it should be",
                     k->buffer->name, index, k->memory);
    return 1;
}
static int poison_element(struct world *w, struct world_instance *k, size_t index, size_t offset)
{
    if (!k->current[index])
        for (size_t i = 0; i < k->buffer->shape.elem_bytes; i++)
            k->bytes[offset + i] = (char)mix(w->seed + offset, i);
    return 1;
}

static int each_instance(struct world *w, each_fn *fn)
{
    for (uint32_t i = 0; i < w->instances; i++) {
        struct world_instance *k = &w->instance[i];
        rondo_region whole = { { 0, 0, 0 }, { 0, 0, 0 } };
        memcpy(whole.count, k->buffer->shape.extent, sizeof whole.count);
        if (!each_element(w, k, &whole, fn))
            return 0;
    }
    return 1;
}

static void poison(struct world *w)
{
    each_instance(w, poison_element);
    for (uint32_t m = 1; m < w->r->memories; m++)
        for (uint64_t i = 0; i < w->r->arena_bytes[m]; i++)
            w->arena[m][i] = (char)mix(i, w->seed);
}

/* ---- making */

/* Every access is in its processor's memory; of a device's copy one side may be in the host's, or
 * come from a peer. */
static int check_sides(struct world *w, uint32_t v)
{
    const struct rd_node *n = &w->applied->nodes.item[v];
    uint32_t own = rd_node_own_accesses(w->applied, v), hosts = 0;
    for (uint32_t i = 0; i < n->access_count; i++) {
        uint32_t there =
            w->applied->slots.item[w->applied->accesses.item[n->access + i].slot].memory;
        uint32_t here = rd_bound_is_device(n->bound) ? 1u + n->bound - RD_ON_DEVICE : 0;
        int copies = n->kind == RD_NODE_COPY && here && i < own;
        if (i >= own)
            here = 0;
        if (w->applied->slots.item[w->applied->accesses.item[n->access + i].slot].kind ==
            RD_SLOT_TOKEN)
            continue;
        hosts += copies && !there;
        if (there != here && !(copies && !there && hosts == 1) &&
            !(copies && !i && there && w->peers[(here - 1) * w->devices + there - 1]))
            return wrong(w, "node %u in memory %u has access %u in memory %u", v, here, i, there);
    }
    return 1;
}

static int check_limits(struct world *w)
{
    for (uint32_t m = 1; m < w->r->memories; m++) {
        uint64_t bytes = w->r->arena_bytes[m];
        uint8_t *counted = calloc(w->instances + 1, 1);
        for (uint32_t t = 0; t < w->r->twins; t++) {
            size_t at_slot = (size_t)w->r->twin[t].slot * (1 + w->devices) + m;
            const struct rd_slot *s = &w->g->slots.item[w->r->twin[t].slot];
            if (w->r->twin[t].memory != m || w->r->twin[t].arena || !w->instance_bytes[at_slot])
                continue;
            for (uint32_t b = 0; b < s->count; b++) {
                size_t k = (size_t)(instance_of(w, s->buffers[b], m) - w->instance);
                bytes += counted[k] || world_has(w, s->buffers[b], m) ? 0 : s->buffers[b]->bytes;
                counted[k] = 1;
            }
        }
        free(counted);
        if (bytes > w->room[m - 1])
            return wrong(w, "memory %u: %llu bytes of %llu", m, (unsigned long long)bytes,
                         (unsigned long long)w->room[m - 1]);
    }
    return 1;
}

rondo_status world_make(struct world *w)
{
    struct rd_residency_input in = { w->g,     w->devices,        w->room,
                                     w->peers, w->instance_bytes, w->external };
    rondo_status status = rd_residency(rd_allocator_system(), &in, &w->r);
    if (status)
        return status;
    for (uint32_t m = 1; m < w->r->memories; m++)
        w->arena[m] = calloc(w->r->arena_bytes[m] + 1, 1);
    status = rd_residency_apply(w->g, w->r, place, w, &w->applied);
    if (status)
        wrong(w, "apply: %s", rondo_error_message());
    for (uint32_t v = 0; !status && v < w->applied->nodes.count && check_sides(w, v); v++) {}
    if (!status)
        check_limits(w);
    return status;
}

void world_free(struct world *w)
{
    if (w->applied)
        rd_subgraph_unref(w->applied);
    for (uint32_t i = 0; i < w->instances; i++) {
        struct world_instance *k = &w->instance[i];
        free(k->current);
        if (k->shadow)
            rd_buffer_unref(k->shadow);
        if (k->memory)
            free(k->bytes);
    }
    for (uint32_t m = 1; w->r && m < w->r->memories; m++)
        free(w->arena[m]);
    rd_residency_free(w->r);
    free(w->seen);
    free(w->ends);
    w->ends = NULL;
    w->applied = NULL;
    w->r = NULL;
    w->seen = NULL;
    w->instances = 0;
}

/* ---- ends of replays */

/* What a slot that has to be somewhere at the end holds there. */
static uint64_t end_of(const struct world *w, uint32_t slot, uint32_t replay, int reference)
{
    const struct rd_slot *s = &w->g->slots.item[slot];
    struct rd_buffer *b = s->buffers[(s->ring_first + replay * s->ring_stride) % s->count];
    char *base = rd_buffer_base(b);
    uint64_t hash = 1;
    if (reference)
        base = w->reference + (base - w->host);
    for (uint32_t i = 0; i < w->instances && !reference; i++)
        if (w->instance[i].buffer == b && w->instance[i].memory == s->at_end - 1u)
            base = w->instance[i].bytes;
    for (int64_t z = 0; z < s->shape.extent[2]; z++)
        for (int64_t y = 0; y < s->shape.extent[1]; y++)
            for (size_t i = 0; i < (size_t)s->shape.extent[0] * s->shape.elem_bytes; i++)
                hash = mix(hash, (uint8_t)base[at(&s->shape, 0, y, z) + i]);
    return hash;
}

static int check_ends(struct world *w, uint32_t replay)
{
    for (uint32_t s = 0; s < w->g->slots.count; s++) {
        const struct rd_slot *slot = &w->g->slots.item[s];
        if (!slot->at_end || !slot->count)
            continue;
        if (end_of(w, s, replay, 0) != w->ends[replay * w->g->slots.count + s])
            return wrong(w, "replay %u: slot %u is not at the end in memory %d", replay, s,
                         slot->at_end - 1);
    }
    return 1;
}

/* ---- playing */

static void play_reference(struct world *w)
{
    struct runner x = { w, w->g, 1 };
    uint32_t n = (uint32_t)w->g->nodes.count, slots = (uint32_t)w->g->slots.count;
    const uint32_t *order = w->order ? w->order : w->g->sequence;
    w->seen = malloc((size_t)n * w->replays * sizeof *w->seen);
    w->ends = calloc((size_t)slots * w->replays + 1, sizeof *w->ends);
    for (uint32_t i = 0; i < w->replays; i++) {
        for (uint32_t p = 0; p < n; p++) {
            uint32_t v = order ? order[p] : p;
            w->seen[i * n + v] = run_node(&x, v, i);
        }
        for (uint32_t s = 0; s < slots; s++)
            if (w->g->slots.item[s].at_end && w->g->slots.item[s].count)
                w->ends[i * slots + s] = end_of(w, s, i, 1);
    }
}

static int play_node(struct world *w, uint32_t v, uint32_t replay)
{
    struct runner x = { w, w->applied, 0 };
    uint32_t n = (uint32_t)w->g->nodes.count;
    uint64_t seen = run_node(&x, v, replay);
    if (v < n && seen != w->seen[replay * n + v])
        return wrong(w, "replay %u: node %u '%s' reads what it should not", replay, v,
                     rd_subgraph_text(w->g, w->g->nodes.item[v].name));
    return !w->why[0];
}

/* At random, what the buffers' newest bytes are in before the first replay. */
static void scatter(struct world *w, uint64_t *seed)
{
    uint32_t count;
    for (uint32_t i = 0; i < w->r->stays; i++)
        for (uint32_t b = 0; b < w->g->slots.item[w->r->stay[i].slot].count; b++)
            instance_of(w, w->g->slots.item[w->r->stay[i].slot].buffers[b], 0);
    count = w->instances;
    for (uint32_t i = 0; i < count; i++) {
        struct world_instance *k = &w->instance[i], *home;
        rondo_region whole = { { 0, 0, 0 }, { 0, 0, 0 } };
        if (!k->memory || below(seed, 3))
            continue;
        home = instance_of(w, k->buffer, 0);
        memcpy(whole.count, k->buffer->shape.extent, sizeof whole.count);
        each_element(w, k, &whole, bring);
        if (below(seed, 2))
            memset(home->current, 0, elements_of(k->buffer));
    }
}

static int play_in_order(struct world *w)
{
    uint32_t n = (uint32_t)w->applied->nodes.count;
    for (uint32_t i = 0; i < w->replays; i++) {
        poison(w);
        for (uint32_t p = 0; p < n; p++)
            if (!play_node(w, w->applied->sequence[p], i))
                return 0;
        if (!check_ends(w, i))
            return 0;
    }
    return 1;
}

/* Nodes of replays in flight, in any order of those that may begin. */
struct flight {
    struct world *w;
    struct rd_graph graph;
    uint8_t *done;         /* [replay * nodes + node] */
    uint32_t nodes, *left; /* by replay */
};

static int may_begin(const struct flight *f, uint32_t v, uint32_t replay)
{
    const uint32_t *first = f->graph.first;
    const struct rd_edge *pred = f->graph.pred;
    if (f->graph.variants) {
        const struct rd_variant *x =
            &f->graph.variant[f->graph.variant_of_phase[replay % f->graph.phases]];
        first = x->first;
        pred = x->pred;
    }
    if (f->graph.serial_boundaries && replay && f->left[replay - 1])
        return 0;
    for (uint32_t e = first[v]; e < first[v + 1]; e++)
        if (pred[e].distance <= replay &&
            !f->done[(replay - pred[e].distance) * f->nodes + pred[e].from])
            return 0;
    return 1;
}

static int play_overlapped(struct world *w, uint64_t *seed)
{
    struct flight f = { w, { 0 }, NULL, (uint32_t)w->applied->nodes.count, NULL };
    uint32_t begun = 0, total = f.nodes * w->replays, tries = 0;
    int ok = 1;
    if (rd_subgraph_analyse(w->applied, 1, &f.graph))
        return wrong(w, "analysis: %s", rondo_error_message());
    f.done = calloc(total, 1);
    f.left = malloc(w->replays * sizeof *f.left);
    for (uint32_t i = 0; i < w->replays; i++)
        f.left[i] = f.nodes;
    poison(w);
    while (begun < total && ok) {
        uint32_t start = below(seed, total), k = 0, replay = 0, v = 0;
        int latest = (int)below(seed, 2); /* the last that may run, or any */
        for (; k < total; k++) {
            uint32_t i = latest ? total - 1 - (start + k) % total : (start + k) % total;
            replay = i / f.nodes;
            v = i % f.nodes;
            if (!f.done[i] && may_begin(&f, v, replay))
                break;
        }
        if (k == total || tries++ > 4 * total) {
            ok = wrong(w, "no node may begin");
            break;
        }
        ok = play_node(w, v, replay);
        f.done[replay * f.nodes + v] = 1;
        f.left[replay]--;
        begun++;
    }
    free(f.done);
    free(f.left);
    rd_graph_free(&w->g->rt->alloc, &f.graph);
    return ok;
}

int world_play(struct world *w, int overlapped)
{
    uint64_t seed = w->seed | 1;
    memcpy(w->reference, w->host, w->host_bytes);
    play_reference(w);
    scatter(w, &seed);
    return !w->why[0] && take_over(w) &&
           (overlapped ? play_overlapped(w, &seed) : play_in_order(w)) &&
           each_instance(w, check_element);
}
