/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses that commute: what meets whom is found by the walk. commute_order.c puts them in order.
 *
 * Members of a class see the same elements with the same past, so only the first is walked over
 * the cells; what comes before it comes before the class, and what follows a member follows the
 * class. A class ends with the copy, with a node that touches everything, and when an access of
 * another kind meets it. Two classes that share elements exclude each other. */
#include "subgraph/commute.h"
#include "subgraph/bytes.h"

#include <string.h>

enum { NOTED = 1, LOOKED = 2 }; /* in `seen` */

/* ---- kinds, by hashing */

static uint64_t hash_of(const struct rd_subgraph *g, const struct rd_access *a)
{
    uint32_t boxes, b;
    const rd_box *box = rd_access_boxes(g, a, &boxes);
    uint64_t hash = a->slot;
    int d;
    for (b = 0; b < boxes; b++)
        for (d = 0; d < 3; d++) { /* Fibonacci hashing, folded */
            hash = (hash ^ (uint64_t)box[b].first[d]) * 0x9e3779b97f4a7c15u;
            hash = (hash ^ hash >> 29 ^ (uint64_t)box[b].count[d]) * 0x9e3779b97f4a7c15u;
        }
    return hash ^ hash >> 32;
}

static int same_kind(const struct rd_subgraph *g, const struct rd_access *a,
                     const struct rd_access *b)
{
    uint32_t a_boxes, b_boxes;
    const rd_box *a_box = rd_access_boxes(g, a, &a_boxes), *b_box = rd_access_boxes(g, b, &b_boxes);
    return a->slot == b->slot && a_boxes == b_boxes &&
           !memcmp(a_box, b_box, a_boxes * sizeof *a_box);
}

static int find_kinds(struct rd_walk *w, struct rd_commute *x, size_t commuting)
{
    const struct rd_subgraph *g = w->g;
    size_t size = 4, i, at;
    uint32_t *table; /* access + 1 */
    while (size < 2 * commuting)
        size *= 2;
    table = rd_zalloc_array(w->alloc, size, sizeof *table);
    if (!table)
        return 0;
    for (i = 0; i < g->accesses.count; i++) {
        const struct rd_access *a = &g->accesses.item[i];
        if (a->mode != RONDO_COMMUTE)
            continue;
        at = (size_t)hash_of(g, a) & (size - 1);
        while (table[at] && !same_kind(g, a, &g->accesses.item[table[at] - 1]))
            at = (at + 1) & (size - 1);
        if (!table[at]) {
            table[at] = (uint32_t)i + 1;
            x->kind_of[i] = x->kinds++;
        }
        x->kind_of[i] = x->kind_of[table[at] - 1];
    }
    rd_free_array(w->alloc, table, size, sizeof *table);
    return 1;
}

rondo_status rd_commute_make(struct rd_walk *w)
{
    const struct rd_subgraph *g = w->g;
    struct rd_commute *x;
    size_t commuting = 0, i;
    for (i = 0; i < g->accesses.count; i++)
        commuting += g->accesses.item[i].mode == RONDO_COMMUTE;
    if (!commuting)
        return RONDO_OK;
    x = w->commute = rd_zalloc(w->alloc, sizeof *x, _Alignof(struct rd_commute));
    if (!x)
        goto no_memory;
    x->kind_of = rd_alloc_array(w->alloc, g->accesses.count, sizeof *x->kind_of);
    x->open = rd_alloc_array(w->alloc, g->accesses.count, sizeof *x->open);
    for (i = 0; i < g->nodes.count; i++)
        if (g->nodes.item[i].access_count > x->most)
            x->most = g->nodes.item[i].access_count;
    x->seen = rd_alloc_array(w->alloc, x->most, sizeof *x->seen);
    if (!x->kind_of || !x->open || !x->seen || !find_kinds(w, x, commuting) ||
        !rd_grow(w->alloc, (void **)&x->member, &x->member_capacity, 0, 1, sizeof *x->member))
        goto no_memory;
    return RONDO_OK;
no_memory:
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to order what commutes", g->name);
}

void rd_commute_free(struct rd_walk *w)
{
    struct rd_commute *x = w->commute;
    size_t accesses = w->g->accesses.count;
    if (!x)
        return;
    rd_free_array(w->alloc, x->kind_of, accesses, sizeof *x->kind_of);
    rd_free_array(w->alloc, x->open, accesses, sizeof *x->open);
    rd_free_array(w->alloc, x->seen, x->most, sizeof *x->seen);
    rd_free_array(w->alloc, x->found, x->class_capacity, sizeof *x->found);
    rd_free_array(w->alloc, x->member, x->member_capacity, sizeof *x->member);
    rd_free_array(w->alloc, x->pair, x->pair_capacity, sizeof *x->pair);
    rd_free(w->alloc, x, sizeof *x);
    w->commute = NULL;
}

void rd_commute_begin(struct rd_walk *w)
{
    struct rd_commute *x = w->commute;
    if (!x)
        return;
    memset(x->open, 0, x->kinds * sizeof *x->open);
    x->classes = x->pairs = 0;
    x->members = 1;
}

/* ---- the walk */

static uint64_t base_of(const struct rd_walk *w, uint32_t slot)
{
    const struct rd_slot *s = &w->g->slots.item[slot];
    return s->count
               ? rd_buffer_address_of(
                     s->buffers[(s->ring_first + (uint64_t)w->copy * s->ring_stride) % s->count])
               : 0; /* its memory is its own */
}

/* Whether two accesses to one memory share bytes in the present copy. */
static int meet(const struct rd_walk *w, const struct rd_access *a, const struct rd_access *b)
{
    const struct rd_slot *slot = w->g->slots.item;
    uint32_t a_boxes, b_boxes, i, k;
    const rd_box *a_box = rd_access_boxes(w->g, a, &a_boxes),
                 *b_box = rd_access_boxes(w->g, b, &b_boxes);
    for (i = 0; i < a_boxes; i++)
        for (k = 0; k < b_boxes; k++)
            if (rd_bytes_overlap(base_of(w, a->slot), &slot[a->slot].shape, &a_box[i],
                                 base_of(w, b->slot), &slot[b->slot].shape, &b_box[k]))
                return 1;
    return 0;
}

/* Looks from access i of the present node at those it meets: whether one of them does not commute.
 * Others are noted for a look of their own. */
static int look_around(struct rd_walk *w, uint32_t i, uint32_t memory)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_node *n = &g->nodes.item[w->node];
    const struct rd_access *a = &g->accesses.item[n->access];
    uint8_t *seen = w->commute->seen;
    uint32_t k;
    seen[i] = LOOKED;
    for (k = 0; k < n->access_count; k++) {
        if (seen[k] || rd_view_at(w->memories, a[k].slot, w->copy)->memory != memory ||
            !meet(w, &a[i], &a[k]))
            continue;
        if (a[k].mode != RONDO_COMMUTE)
            return 1;
        seen[k] = NOTED;
    }
    return 0;
}

/* The node touches what it commutes on in another way too; or what another of its commuting
 * accesses does so meets it. Then it reads and writes. */
static int touches_otherwise(struct rd_walk *w, const struct rd_access *a)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_node *n = &g->nodes.item[w->node];
    const struct rd_access *own = &g->accesses.item[n->access];
    uint32_t memory = rd_view_at(w->memories, a->slot, w->copy)->memory, i, others = 0;
    for (i = 0; i < n->access_count; i++)
        others += own[i].mode != RONDO_COMMUTE &&
                  rd_view_at(w->memories, own[i].slot, w->copy)->memory == memory;
    if (!others)
        return 0;
    memset(w->commute->seen, 0, n->access_count);
    w->commute->seen[a - own] = NOTED;
    for (i = 0; i < n->access_count; i++) {
        if (w->commute->seen[i] != NOTED)
            continue;
        if (look_around(w, i, memory))
            return 1;
        i = UINT32_MAX; /* from the beginning */
    }
    return 0;
}

static int add_member(struct rd_walk *w, struct rd_class *c)
{
    struct rd_commute *x = w->commute;
    if (c->last && x->member[c->last].time == w->now)
        return 1;
    if (x->members >= UINT32_MAX || !rd_grow(w->alloc, (void **)&x->member, &x->member_capacity,
                                             x->members, 1, sizeof *x->member))
        return 0;
    x->member[x->members].time = w->now;
    x->member[x->members].next = 0;
    if (c->last)
        x->member[c->last].next = (uint32_t)x->members;
    else
        c->first = (uint32_t)x->members;
    c->last = (uint32_t)x->members++;
    return 1;
}

/* A class with the present node as its member. */
static struct rd_class *add_class(struct rd_walk *w, const struct rd_access *a)
{
    struct rd_commute *x = w->commute;
    struct rd_class *c;
    if (x->classes >= UINT32_MAX - w->g->nodes.count ||
        !rd_grow(w->alloc, (void **)&x->found, &x->class_capacity, x->classes, 1, sizeof *x->found))
        return NULL;
    c = &x->found[x->classes];
    memset(c, 0, sizeof *c);
    c->time = w->now;
    c->slot = a->slot;
    c->keep = w->keep != 0;
    if (!add_member(w, c))
        return NULL;
    x->open[x->kind_of[a - w->g->accesses.item]] = (uint32_t)++x->classes;
    return c;
}

/* Over the cells for class k. What is found leads to the class, not the node. */
static int walk_class(struct rd_walk *w, const struct rd_access *a, uint32_t k)
{
    struct rd_commute *x = w->commute;
    int follows = w->fences ? rd_fences_follows(w, 0) : 0, ok;
    w->to = (uint32_t)w->g->nodes.count + k;
    if (!w->reach)
        w->stamp = 1ull << 63 | ((uint64_t)k + 1) << 9;
    ok = rd_walk_boxes(w, a, RD_TOUCH_COMMUTE);
    w->to = w->node;
    w->stamp = w->now << 9;
    if (w->fences) {
        x->found[k].followed |= (uint8_t)rd_fences_follows(w, 0);
        rd_fences_follows(w, follows | x->found[k].followed);
    }
    return ok;
}

int rd_commute_touch(struct rd_walk *w, const struct rd_access *a)
{
    struct rd_commute *x = w->commute;
    uint32_t k = x->open[x->kind_of[a - w->g->accesses.item]];
    struct rd_class *c = k ? &x->found[k - 1] : NULL;
    if (touches_otherwise(w, a))
        return rd_walk_boxes(w, a, RD_TOUCH_MIXED_WRITE);
    if (!c || c->closed || c->time < w->base || c->time < w->begin)
        return add_class(w, a) && walk_class(w, a, (uint32_t)x->classes - 1);
    if (!add_member(w, c))
        return 0;
    if (w->reach) /* each member is looked at: is it ordered with what was there before? */
        return walk_class(w, a, k - 1);
    if (w->fences && c->followed)
        rd_fences_follows(w, 1);
    return 1;
}

int rd_commute_now(const struct rd_walk *w, uint32_t k)
{
    return w->commute->found[k].time >= w->begin;
}

int rd_commute_pair(struct rd_walk *w, uint32_t k)
{
    struct rd_commute *x = w->commute;
    uint32_t own = w->to - (uint32_t)w->g->nodes.count;
    const struct rd_class_pair *last = x->pairs ? &x->pair[x->pairs - 1] : NULL;
    if (!w->keep || x->found[k].time < w->floor || (last && last->a == k && last->b == own))
        return 1;
    if (!rd_grow(w->alloc, (void **)&x->pair, &x->pair_capacity, x->pairs, 1, sizeof *x->pair))
        return 0;
    x->pair[x->pairs].a = k;
    x->pair[x->pairs++].b = own;
    return 1;
}

/* Each member by itself: a fence need not wait for it, and edges by hand must order it. */
static void follow_members(struct rd_walk *w, const struct rd_class *c)
{
    struct rd_commute *x = w->commute;
    uint32_t i;
    for (i = c->first; i; i = x->member[i].next) {
        uint64_t time = x->member[i].time;
        if (w->fences)
            rd_fences_pass(w, time);
        if (w->reach && w->to == w->node && w->keep && !w->status && time != w->now)
            rd_walk_follow(w, rd_walk_node(w, time), w->copy + 1 - (uint32_t)(time >> 32),
                           &w->mark[rd_walk_node(w, time)]);
    }
}

int rd_commute_follow(struct rd_walk *w, uint32_t k)
{
    struct rd_commute *x = w->commute;
    struct rd_class *c = &x->found[k];
    struct rd_reach *reach = w->reach;
    uint32_t distance = w->copy + 1 - (uint32_t)(c->time >> 32), first;
    if (c->time < w->floor)
        return 0;
    c->closed = 1;
    if (w->fences)
        rd_fences_follows(w, 1);
    if ((w->fences && !c->passed) || w->reach)
        follow_members(w, c);
    c->passed = 1;
    if (!w->keep || w->status || (w->reach && w->to == w->node))
        return 1;
    first = rd_walk_node(w, c->time);
    w->reach = NULL; /* classes are ordered by edges of their own */
    if (distance > RD_DISTANCE_MAX)
        rd_walk_follow(w, first, distance, &w->mark[first]); /* which refuses it */
    else
        rd_walk_follow(w, (uint32_t)w->g->nodes.count + k, distance, &c->mark);
    w->reach = reach;
    return 1;
}
