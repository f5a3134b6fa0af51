/* SPDX-License-Identifier: BSD-3-Clause */
/* What the slots and parameters of a subgraph become in the one that it is recorded into: a slot
 * the caller maps them to, the same as in an earlier recording, or a new one. The outer recording
 * keeps a list of what is what, so that the inner one's handles name it. */
#include "src/device/devices.h"
#include "subgraph/inner.h"

#include <stdio.h>
#include <string.h>

enum { WHO_BYTES = 160 };
static const uint32_t conflict = UINT32_MAX;

static const char *in_slot(const struct rd_nesting *k, uint32_t slot)
{
    return rd_subgraph_text(k->in, k->in->slots.item[slot].name);
}

static const char *out_slot(const struct rd_nesting *k, uint32_t slot)
{
    return rd_subgraph_text(k->g, k->g->slots.item[slot].name);
}

/* ---- what the caller says */

static int same_shape(const rondo_shape *a, const rondo_shape *b)
{
    return a->elem_bytes == b->elem_bytes && !memcmp(a->extent, b->extent, sizeof a->extent) &&
           !memcmp(a->pitch_bytes, b->pitch_bytes, sizeof a->pitch_bytes);
}

static rondo_status check_pair(const struct rd_nesting *k, uint32_t i, uint32_t inner,
                               uint32_t outer)
{
    const struct rd_slot *a = &k->in->slots.item[inner], *b = &k->g->slots.item[outer];
    const rondo_shape *s = &a->shape, *t = &b->shape;
    if ((a->kind == RD_SLOT_TOKEN) != (b->kind == RD_SLOT_TOKEN))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': map[%u]: of slots '%s' and '%s' one is a token", k->name, i,
                        in_slot(k, inner), out_slot(k, outer));
    if (a->zeroed && !b->zeroed)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': map[%u]: slot '%s' is RONDO_ZEROED, slot '%s' is not", k->name,
                        i, in_slot(k, inner), out_slot(k, outer));
    /* Where the inner recording's bytes are at the end is for whoever looks at them to rely on. */
    if (a->at_end && a->at_end != (b->kind == RD_SLOT_BOUND ? RD_MEMORY_HOST + 1 : b->at_end))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': map[%u]: slot '%s' has an at_end that slot '%s' has not",
                        k->name, i, in_slot(k, inner), out_slot(k, outer));
    if (same_shape(s, t))
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID,
                    "node '%s': map[%u]: slot '%s' is %lldx%lldx%lld elements of %zu bytes, slot "
                    "'%s' %lldx%lldx%lld of %zu (pitches included)",
                    k->name, i, in_slot(k, inner), (long long)s->extent[0], (long long)s->extent[1],
                    (long long)s->extent[2], s->elem_bytes, out_slot(k, outer),
                    (long long)t->extent[0], (long long)t->extent[1], (long long)t->extent[2],
                    t->elem_bytes);
}

static rondo_status take_pair(struct rd_nesting *k, const rondo_slot_map *map, uint32_t i)
{
    char what[WHO_BYTES];
    uint32_t inner, outer;
    rondo_status status;
    snprintf(what, sizeof what, "node '%.100s': map[%u].inner", k->name, i);
    status = rd_subgraph_slot_of(k->in, map->inner, what, &inner);
    if (status)
        return status;
    snprintf(what, sizeof what, "node '%.100s': map[%u].outer", k->name, i);
    status = rd_subgraph_slot_of(k->g, map->outer, what, &outer);
    if (!status)
        status = check_pair(k, i, inner, outer);
    if (status)
        return status;
    if (k->slot[inner])
        return rd_error(RONDO_ERR_INVALID, "node '%s': map[%u]: slot '%s' is mapped twice", k->name,
                        i, in_slot(k, inner));
    k->slot[inner] = outer + 1;
    k->mapped[inner] = 1;
    return RONDO_OK;
}

/* ---- what is known from earlier recordings */

static void know(struct rd_nesting *k, uint32_t part, uint32_t inner, uint32_t outer)
{
    uint32_t *at = part == RD_PART_SLOT ? &k->slot[inner] : &k->param[inner];
    if (!*at)
        *at = outer + 1;
}

/* What a part of a subgraph is in g; 0: nothing, else its index + 1. */
static uint32_t known_as(const struct rd_subgraph *g, const struct rd_inner_part *p)
{
    size_t i;
    for (i = 0; i < g->inner.count; i++) {
        const struct rd_inner_part *q = &g->inner.item[i];
        if (q->serial == p->serial && q->part == p->part && q->inner == p->inner)
            return q->outer + 1;
    }
    return 0;
}

/* Parts of this subgraph, and parts of those that it holds itself: they are the same wherever they
 * came from. */
static void know_all(struct rd_nesting *k)
{
    uint32_t outer;
    size_t i;
    for (i = 0; i < k->g->inner.count; i++) {
        const struct rd_inner_part *p = &k->g->inner.item[i];
        if (p->serial == k->in->serial)
            know(k, p->part, p->inner, p->outer);
    }
    for (i = 0; i < k->in->inner.count; i++) {
        outer = known_as(k->g, &k->in->inner.item[i]);
        if (outer)
            know(k, k->in->inner.item[i].part, k->in->inner.item[i].outer, outer - 1);
    }
}

static rondo_status note(struct rd_nesting *k, uint32_t serial, uint32_t part, uint32_t inner,
                         uint32_t outer)
{
    struct rd_inner_part p = { serial, part, inner, outer };
    if (known_as(k->g, &p))
        return RONDO_OK;
    if (!RD_ROOM(k->g, inner, 1))
        return rd_no_memory(k->g);
    k->g->inner.item[k->g->inner.count++] = p;
    return RONDO_OK;
}

/* What the caller mapped has a name in g already; all else is named by the inner handles. */
static rondo_status note_all(struct rd_nesting *k)
{
    rondo_status status = RONDO_OK;
    uint32_t i;
    for (i = 0; i < k->in->slots.count && !status; i++)
        if (!k->mapped[i])
            status = note(k, k->in->serial, RD_PART_SLOT, i, k->slot[i] - 1);
    for (i = 0; i < k->in->params.count && !status; i++)
        status = note(k, k->in->serial, RD_PART_PARAM, i, k->param[i] - 1);
    for (i = 0; i < k->in->inner.count && !status; i++) {
        const struct rd_inner_part *p = &k->in->inner.item[i];
        if (p->part == RD_PART_PARAM)
            status = note(k, p->serial, p->part, p->inner, k->param[p->outer] - 1);
        else if (!k->mapped[p->outer])
            status = note(k, p->serial, p->part, p->inner, k->slot[p->outer] - 1);
    }
    return status;
}

/* ---- aliases: a class of the inner subgraph is one class here too */

static rondo_status alias_error(const struct rd_nesting *k, uint32_t slot)
{
    return rd_error(RONDO_ERR_INVALID,
                    "node '%s': slot '%s' is an alias of slots that are mapped to slots which are "
                    "no aliases of it or of each other",
                    k->name, in_slot(k, slot));
}

static void join_mapped(struct rd_nesting *k)
{
    uint32_t i, c, class;
    for (i = 0; i < k->in->slots.count; i++) {
        if (!k->mapped[i])
            continue;
        c = k->in->slots.item[i].alias;
        class = k->g->slots.item[k->slot[i] - 1].alias + 1;
        if (!k->alias_class[c])
            k->alias_class[c] = class;
        else if (k->alias_class[c] != class)
            k->alias_class[c] = conflict; /* an error if a slot not mapped is of the class too */
    }
}

static rondo_status join_known(struct rd_nesting *k)
{
    uint32_t i, c, class;
    for (i = 0; i < k->in->slots.count; i++) {
        if (k->mapped[i] || !k->slot[i])
            continue;
        c = k->in->slots.item[i].alias;
        class = k->g->slots.item[k->slot[i] - 1].alias + 1;
        if (!k->alias_class[c])
            k->alias_class[c] = class;
        else if (k->alias_class[c] != class)
            return alias_error(k, i);
    }
    return RONDO_OK;
}

/* ---- new slots and parameters */

static rondo_status add_slot(struct rd_nesting *k, uint32_t i)
{
    struct rd_subgraph *g = k->g;
    const struct rd_slot *from = &k->in->slots.item[i];
    struct rd_slot s = *from;
    uint32_t b, *class = &k->alias_class[from->alias];
    char who[WHO_BYTES];
    rondo_status status;
    if (*class == conflict)
        return alias_error(k, i);
    if (!*class)
        *class = (uint32_t)g->slots.count + 1;
    s.alias = *class - 1;
    status = rd_name_add(g, in_slot(k, i), &s.name);
    snprintf(who, sizeof who, "node '%.60s': slot '%.60s'", k->name, in_slot(k, i));
    if (!status && s.kind == RD_SLOT_TOKEN)
        status = rd_token_place(g, who, &s);
    if (status)
        return status;
    if (g->slots.count >= RD_PARTS_MAX || !RD_ROOM(g, slots, 1))
        return rd_no_memory(g);
    s.buffers = s.count ? rd_alloc_array(&g->rt->alloc, s.count, sizeof *s.buffers) : NULL;
    if (s.count && !s.buffers)
        return rd_no_memory(g);
    for (b = 0; b < s.count; b++) {
        s.buffers[b] = from->buffers[b];
        rd_buffer_ref(s.buffers[b]);
    }
    g->slots.item[g->slots.count++] = s;
    k->slot[i] = (uint32_t)g->slots.count;
    return RONDO_OK;
}

static rondo_status add_param(struct rd_nesting *k, uint32_t i)
{
    const struct rd_param *p = &k->in->params.item[i];
    rondo_param handle;
    rondo_status status =
        rd_param_add(k->g, rd_subgraph_text(k->in, p->name), p->bytes,
                     p->has_initial ? k->in->params_initial.item + p->offset : NULL, &handle);
    k->param[i] = (uint32_t)k->g->params.count; /* it is the last */
    return status;
}

static rondo_status add_all(struct rd_nesting *k)
{
    rondo_status status = RONDO_OK;
    uint32_t i;
    for (i = 0; i < k->in->slots.count && !status; i++)
        if (!k->slot[i])
            status = add_slot(k, i);
    for (i = 0; i < k->in->params.count && !status; i++)
        if (!k->param[i])
            status = add_param(k, i);
    return status;
}

rondo_status rd_nesting_parts(struct rd_nesting *k, const rondo_inner_desc *desc)
{
    struct rd_allocator *a = &k->g->rt->alloc;
    size_t slots = k->in->slots.count, params = k->in->params.count;
    rondo_status status = RONDO_OK;
    uint32_t i;
    k->slot = rd_zalloc_array(a, slots, sizeof *k->slot);
    k->param = rd_zalloc_array(a, params, sizeof *k->param);
    k->alias_class = rd_zalloc_array(a, slots, sizeof *k->alias_class);
    k->mapped = rd_zalloc_array(a, slots, sizeof *k->mapped);
    if (!k->slot || !k->param || !k->alias_class || !k->mapped)
        return rd_no_memory(k->g);
    for (i = 0; i < desc->map_count && !status; i++)
        status = take_pair(k, &desc->map[i], i);
    if (status)
        return status;
    know_all(k);
    join_mapped(k);
    status = join_known(k);
    if (!status)
        status = add_all(k);
    return status ? status : note_all(k);
}

void rd_nesting_free(struct rd_nesting *k)
{
    struct rd_allocator *a = &k->g->rt->alloc;
    size_t slots = k->in->slots.count, params = k->in->params.count;
    rd_free_array(a, k->slot, slots, sizeof *k->slot);
    rd_free_array(a, k->param, params, sizeof *k->param);
    rd_free_array(a, k->alias_class, slots, sizeof *k->alias_class);
    rd_free_array(a, k->mapped, slots, sizeof *k->mapped);
    rd_free_array(a, k->image, k->in->images.count, sizeof *k->image);
}
