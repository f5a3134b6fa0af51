/* SPDX-License-Identifier: BSD-3-Clause */
/* The residency pass as a whole: walks the recording behind itself until what is current between
 * replays does not change, with as many instances as there is room for. */
#include "compile/residency_parts.h"

#include <string.h>

/* After so many walks a body that still changes is relied upon in host memory alone. */
enum { WALKS_MOST = 8 };

static rondo_status no_memory(const struct rd_subgraph *g)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place its data", g->name);
}

/* ---- what is current between replays */

static struct rd_boxes *kept(const struct rd_resid *w, uint32_t body, uint32_t memory)
{
    return &w->keep[(size_t)body * w->memories + memory];
}

/* To begin with everything is current everywhere (that is of use). */
static void expect(struct rd_resid *w, uint32_t body)
{
    const struct rd_body *b = &w->body[body];
    uint32_t m;
    for (m = 0; m < w->memories; m++) {
        rd_boxes_free(w->alloc, kept(w, body, m));
        if (b->regular && (!m || (b->home < 2 && w->instance[(size_t)b->line * w->memories + m])))
            rd_resid_add(w, kept(w, body, m), &w->line[b->line].whole);
    }
}

/* Keeps of what was expected what the walk has left so. Returns whether that is less. */
static int shrink(struct rd_resid *w, uint32_t body)
{
    const struct rd_body *b = &w->body[body];
    uint32_t l, m, i;
    int less = 0;
    for (l = b->line; l < b->line + b->lines; l++)
        for (m = 0; m < w->memories; m++) {
            struct rd_boxes *keep = kept(w, body, m),
                            *end = &w->current[(size_t)l * w->memories + m];
            int changed = 0, yes;
            for (i = 0; i < keep->count && !changed; i++) {
                if (rd_boxes_cover(w->alloc, end, &keep->item[i], &yes))
                    w->failed = 1;
                changed = !yes;
            }
            if (changed && b->coarse)
                rd_boxes_free(w->alloc, keep);
            else if (changed && rd_boxes_intersect(w->alloc, keep, end))
                w->failed = 1;
            less |= changed;
        }
    return less;
}

/* Whether each element is current somewhere. */
static int is_whole(struct rd_resid *w, uint32_t body)
{
    struct rd_boxes left = { NULL, 0, 0 };
    uint32_t m;
    int whole;
    rd_resid_add(w, &left, &w->line[w->body[body].line].whole);
    for (m = 0; m < w->memories; m++)
        if (rd_boxes_subtract_all(w->alloc, &left, kept(w, body, m)))
            w->failed = 1;
    whole = !left.count;
    rd_boxes_free(w->alloc, &left);
    return whole;
}

static int is_many(const struct rd_resid *w, uint32_t body)
{
    uint32_t m;
    for (m = 0; m < w->memories; m++)
        if (kept(w, body, m)->count > RD_BOXES_MOST)
            return 1;
    return 0;
}

/* Whether another walk is needed. */
static int learn(struct rd_resid *w)
{
    uint32_t b;
    int more = 0;
    for (b = 0; b < w->bodies && !w->failed; b++) {
        if (!w->body[b].regular || !shrink(w, b))
            continue;
        more = 1;
        if (w->walk >= WALKS_MOST || is_many(w, b))
            w->body[b].home = 2;
        else if (!is_whole(w, b))
            w->body[b].home = 1;
        else
            continue;
        expect(w, b);
    }
    return more;
}

/* ---- the walks */

static void forget_zones(struct rd_resid *w)
{
    size_t i;
    for (i = 0; i < (size_t)w->lines * w->memories; i++)
        rd_boxes_free(w->alloc, &w->zone[i]);
}

static rondo_status settle(struct rd_resid *w)
{
    uint32_t b;
    forget_zones(w);
    rd_resid_zones(w);
    memset(w->choice, 0, w->nodes * sizeof *w->choice);
    w->walk = 0;
    for (b = 0; b < w->bodies; b++) {
        /* A node that touches everything touches what a ring shows in other replays, too. */
        w->body[b].home = w->body[b].ring && w->fences.count ? 2 : 0;
        expect(w, b);
    }
    do
        rd_resid_walk(w);
    while (!w->failed && learn(w));
    return w->failed ? no_memory(w->g) : RONDO_OK;
}

static int make_arrays(struct rd_resid *w)
{
    size_t lines = (size_t)w->lines * w->memories, bodies = (size_t)w->bodies * w->memories;
    w->instance = rd_zalloc_array(w->alloc, lines, 1);
    w->zone = rd_zalloc_array(w->alloc, lines, sizeof *w->zone);
    w->current = rd_zalloc_array(w->alloc, lines, sizeof *w->current);
    w->twin_of = rd_zalloc_array(w->alloc, lines, sizeof *w->twin_of);
    w->keep = rd_zalloc_array(w->alloc, bodies, sizeof *w->keep);
    w->touched = rd_zalloc_array(w->alloc, bodies, sizeof *w->touched);
    w->need = rd_zalloc_array(w->alloc, bodies, sizeof *w->need);
    w->written = rd_zalloc_array(w->alloc, w->bodies, sizeof *w->written);
    w->choice = rd_zalloc_array(w->alloc, w->nodes, sizeof *w->choice);
    w->bound = rd_zalloc_array(w->alloc, w->nodes, sizeof *w->bound);
    w->slot_of_access = rd_zalloc_array(w->alloc, w->g->accesses.count, sizeof *w->slot_of_access);
    w->place_of = rd_zalloc_array(w->alloc, w->g->accesses.count, sizeof *w->place_of);
    w->memory_of = rd_zalloc_array(w->alloc, w->g->accesses.count, 1);
    return w->instance && w->zone && w->current && w->twin_of && w->keep && w->touched && w->need &&
           w->written && w->choice && w->bound && w->slot_of_access && w->place_of && w->memory_of;
}

static void free_arrays(struct rd_resid *w)
{
    size_t lines = (size_t)w->lines * w->memories, bodies = (size_t)w->bodies * w->memories, i;
    rd_resid_walk_free(w);
    if (w->zone)
        forget_zones(w);
    for (i = 0; w->keep && i < bodies; i++)
        rd_boxes_free(w->alloc, &w->keep[i]);
    rd_free_array(w->alloc, w->instance, lines, 1);
    rd_free_array(w->alloc, w->zone, lines, sizeof *w->zone);
    rd_free_array(w->alloc, w->keep, bodies, sizeof *w->keep);
    rd_free_array(w->alloc, w->touched, bodies, sizeof *w->touched);
    rd_free_array(w->alloc, w->need, bodies, sizeof *w->need);
    rd_free_array(w->alloc, w->written, w->bodies, sizeof *w->written);
    rd_free_array(w->alloc, w->choice, w->nodes, sizeof *w->choice);
    rd_free_array(w->alloc, w->bound, w->nodes, sizeof *w->bound);
    rd_free_array(w->alloc, w->slot_of_access, w->g->accesses.count, sizeof *w->slot_of_access);
    rd_free_array(w->alloc, w->place_of, w->g->accesses.count, sizeof *w->place_of);
    rd_free_array(w->alloc, w->memory_of, w->g->accesses.count, 1);
    rd_free_array(w->alloc, w->twins.item, w->twins.capacity, sizeof *w->twins.item);
    rd_free_array(w->alloc, w->routes.item, w->routes.capacity, sizeof *w->routes.item);
    rd_free_array(w->alloc, w->turns.item, w->turns.capacity, sizeof *w->turns.item);
}

static rondo_status find(struct rd_resid *w)
{
    rondo_status status = rd_resid_order(w);
    if (!status)
        status = rd_resid_bodies(w);
    if (!status)
        status = rd_resid_refuse(w);
    if (!status && !make_arrays(w))
        status = no_memory(w->g);
    if (!status)
        status = rd_resid_instances(w);
    if (!status)
        status = settle(w);
    if (!status && !rd_resid_fits(w)) {
        status = rd_resid_limit(w);
        if (!status)
            status = settle(w);
    }
    return status;
}

/* ---- the result */

/* An array of its own length; what it was stays the walk's. */
static void *copy(struct rd_allocator *a, const void *from, size_t count, size_t size, int *failed)
{
    void *to = rd_alloc_array(a, count, size);
    if (!to)
        *failed = 1;
    else if (count)
        memcpy(to, from, count * size);
    return to;
}

static void note_modes(const struct rd_resid *w, struct rd_residency *r)
{
    uint32_t s;
    for (s = 0; s < w->slots; s++)
        r->in_order[s] = w->line_of[s] != RD_NOWHERE;
}

static rondo_status tell(struct rd_resid *w, struct rd_residency *r)
{
    int failed = 0;
    uint32_t m;
    r->twin = copy(w->alloc, w->twins.item, w->twins.count, sizeof *r->twin, &failed);
    r->twins = (uint32_t)w->twins.count;
    r->route = copy(w->alloc, w->routes.item, w->routes.count, sizeof *r->route, &failed);
    r->routes = (uint32_t)w->routes.count;
    r->turn = copy(w->alloc, w->turns.item, w->turns.count, sizeof *r->turn, &failed);
    r->turns = (uint32_t)w->turns.count;
    r->accesses = w->g->accesses.count;
    r->slot_of_access =
        copy(w->alloc, w->slot_of_access, r->accesses, sizeof *r->slot_of_access, &failed);
    r->nodes = w->nodes;
    r->bound = copy(w->alloc, w->bound, w->nodes, sizeof *r->bound, &failed);
    r->slots = w->slots;
    r->in_order = rd_alloc_array(w->alloc, w->slots, 1);
    if (failed || !r->in_order)
        return no_memory(w->g);
    note_modes(w, r);
    for (m = 1; m < w->memories; m++) {
        r->arena_bytes[m] = w->arena[m].top;
        r->peak_bytes[m] = w->arena[m].top + rd_resid_instance_bytes(w, m, 1);
    }
    memcpy(r->moved_bytes, w->moved, sizeof r->moved_bytes);
    r->evictions = w->evictions;
    return rd_resid_stays(w, r);
}

rondo_status rd_residency(struct rd_allocator *a, const struct rd_residency_input *in,
                          struct rd_residency **residency)
{
    struct rd_residency *r = rd_zalloc(a, sizeof *r, _Alignof(struct rd_residency));
    struct rd_resid *w = rd_zalloc(a, sizeof *w, _Alignof(struct rd_resid));
    rondo_status status = r && w ? RONDO_OK : no_memory(in->g);
    if (r)
        r->alloc = a;
    if (!status) {
        w->alloc = a;
        w->in = in;
        w->g = in->g;
        r->memories = w->memories = 1 + in->devices;
        w->slots = (uint32_t)in->g->slots.count;
        w->nodes = (uint32_t)in->g->nodes.count;
        status = find(w);
        if (!status)
            status = tell(w, r);
        free_arrays(w);
        rd_resid_bodies_free(w);
    }
    rd_free(a, w, sizeof *w);
    if (status && r)
        rd_residency_free(r);
    if (!status)
        *residency = r;
    return status;
}

void rd_residency_free(struct rd_residency *r)
{
    struct rd_allocator *a;
    uint32_t i, m;
    if (!r)
        return;
    a = r->alloc;
    for (i = 0; i < r->stays; i++) {
        for (m = 0; m < r->memories; m++) {
            rd_boxes_free(a, &r->stay[i].need[m]);
            rd_boxes_free(a, &r->stay[i].hold[m]);
        }
        rd_boxes_free(a, &r->stay[i].written);
    }
    rd_free_array(a, r->stay, r->stay_room, sizeof *r->stay);
    rd_free_array(a, r->twin, r->twins, sizeof *r->twin);
    rd_free_array(a, r->route, r->routes, sizeof *r->route);
    rd_free_array(a, r->turn, r->turns, sizeof *r->turn);
    rd_free_array(a, r->slot_of_access, r->accesses, sizeof *r->slot_of_access);
    rd_free_array(a, r->bound, r->nodes, sizeof *r->bound);
    rd_free_array(a, r->in_order, r->slots, 1);
    rd_free(a, r, sizeof *r);
}
