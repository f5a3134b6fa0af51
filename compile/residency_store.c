/* SPDX-License-Identifier: BSD-3-Clause */
/* What is current where, while the recording is walked: reads bring what is missing, by routes;
 * writes leave one store current. */
#include "compile/residency_parts.h"

void rd_resid_add(struct rd_resid *w, struct rd_boxes *to, const rondo_region *box)
{
    if (rd_boxes_add(w->alloc, to, box))
        w->failed = 1;
}

void rd_resid_subtract(struct rd_resid *w, struct rd_boxes *from, const rondo_region *box)
{
    if (rd_boxes_subtract(w->alloc, from, box))
        w->failed = 1;
}

int rd_resid_covers(struct rd_resid *w, uint32_t line, struct rd_store s, const rondo_region *box)
{
    int yes = 0;
    if (rd_boxes_cover(w->alloc, rd_resid_current(w, line, s), box, &yes))
        w->failed = 1;
    return yes;
}

void rd_resid_away(struct rd_resid *w, uint32_t line)
{
    if (w->line[line].away)
        return;
    if (!rd_grow(w->alloc, (void **)&w->away.item, &w->away.capacity, w->away.count, 1,
                 sizeof *w->away.item)) {
        w->failed = 1;
        return;
    }
    w->line[line].away = 1;
    w->away.item[w->away.count++] = line;
}

/* ---- what the keeper will be told */

/* A list that is only told whole when it has too many boxes. */
static void note(struct rd_resid *w, uint32_t body, struct rd_boxes *list, const rondo_region *box)
{
    rondo_region hull;
    rd_resid_add(w, list, box);
    if (list->count <= RD_BOXES_MOST)
        return;
    rd_boxes_hull(list, &hull);
    w->body[body].wide = 1;
    rd_resid_add(w, list, &hull); /* takes the others in */
}

static void note_touch(struct rd_resid *w, uint32_t line, struct rd_store s,
                       const rondo_region *box)
{
    uint32_t body = w->line[line].body;
    if (!s.place && w->body[body].regular)
        note(w, body, &w->touched[(size_t)body * w->memories + s.memory], box);
}

/* A read needs what was current before the replay and has not been written in it. */
static void note_read(struct rd_resid *w, uint32_t line, struct rd_store s, const rondo_region *box)
{
    uint32_t body = w->line[line].body, i;
    struct rd_boxes old = { NULL, 0, 0 };
    size_t at = (size_t)body * w->memories + s.memory;
    note_touch(w, line, s, box);
    if (s.place || !w->body[body].regular || w->body[body].ring)
        return; /* of rings all that is held is needed */
    rd_resid_add(w, &old, box);
    if (rd_boxes_subtract_all(w->alloc, &old, &w->written[body]) ||
        rd_boxes_intersect(w->alloc, &old, &w->keep[at]))
        w->failed = 1;
    for (i = 0; i < old.count; i++)
        note(w, body, &w->need[at], &old.item[i]);
    rd_boxes_free(w->alloc, &old);
}

/* ---- routes */

static uint32_t add_twin(struct rd_resid *w, uint32_t line, uint32_t memory)
{
    struct rd_twin *t;
    if (!rd_grow(w->alloc, (void **)&w->twins.item, &w->twins.capacity, w->twins.count, 1,
                 sizeof *w->twins.item)) {
        w->failed = 1;
        return 0;
    }
    t = &w->twins.item[w->twins.count++];
    t->slot = w->line[line].slot;
    t->memory = memory;
    t->arena = 0;
    t->offset = 0;
    t->box = w->line[line].whole;
    return (uint32_t)w->twins.count;
}

uint32_t rd_resid_slot(struct rd_resid *w, uint32_t line, struct rd_store s)
{
    uint32_t *twin = &w->twin_of[(size_t)line * w->memories + s.memory];
    if (s.place)
        return w->slots + w->places.item[s.place - 1].twin;
    if (!s.memory)
        return w->line[line].slot;
    if (!*twin)
        *twin = add_twin(w, line, s.memory);
    return *twin ? w->slots + *twin - 1 : w->line[line].slot;
}

static void add_route(struct rd_resid *w, uint32_t line, struct rd_store from, struct rd_store to,
                      const rondo_region *box)
{
    struct rd_route *r;
    struct rd_turn *t;
    if (!rd_grow(w->alloc, (void **)&w->routes.item, &w->routes.capacity, w->routes.count, 1,
                 sizeof *w->routes.item) ||
        !rd_grow(w->alloc, (void **)&w->turns.item, &w->turns.capacity, w->turns.count, 1,
                 sizeof *w->turns.item)) {
        w->failed = 1;
        return;
    }
    t = &w->turns.item[w->turns.count++];
    t->index = (uint32_t)w->routes.count;
    t->is_route = 1;
    r = &w->routes.item[w->routes.count++];
    r->from = rd_resid_slot(w, line, from);
    r->to = rd_resid_slot(w, line, to);
    r->box = *box;
    r->device = (to.memory ? to.memory : from.memory) - 1;
    w->moved[from.memory][to.memory] += rd_resid_bytes(&w->line[line], box);
}

/* One box from where it is current to where it is not. */
static void move(struct rd_resid *w, uint32_t line, struct rd_store from, struct rd_store to,
                 const rondo_region *box)
{
    static const struct rd_store host = { 0, 0 };
    if (from.memory && to.memory && from.memory != to.memory &&
        !rd_resid_peers(w, to.memory, from.memory)) {
        move(w, line, from, host, box);
        from = host;
    }
    note_read(w, line, from, box);
    note_touch(w, line, to, box);
    add_route(w, line, from, to, box);
    rd_resid_add(w, rd_resid_current(w, line, to), box);
    if (to.memory)
        rd_resid_away(w, line);
}

/* Takes from `missing` what is current in a store, and moves it. */
static void move_from(struct rd_resid *w, uint32_t line, struct rd_store from, struct rd_store to,
                      struct rd_boxes *missing)
{
    struct rd_boxes there = { NULL, 0, 0 }, joined = { NULL, 0, 0 };
    uint32_t i;
    if (!missing->count || !rd_resid_current(w, line, from)->count)
        return;
    if (rd_boxes_copy(w->alloc, &there, missing) ||
        rd_boxes_intersect(w->alloc, &there, rd_resid_current(w, line, from)))
        w->failed = 1;
    for (i = 0; i < there.count; i++) { /* adjacent ones become one */
        rd_resid_add(w, &joined, &there.item[i]);
        rd_resid_subtract(w, missing, &there.item[i]);
    }
    for (i = 0; i < joined.count && !w->failed; i++)
        move(w, line, from, to, &joined.item[i]);
    rd_boxes_free(w->alloc, &there);
    rd_boxes_free(w->alloc, &joined);
}

/* From all stores of a memory. */
static void move_from_memory(struct rd_resid *w, uint32_t line, uint32_t memory, struct rd_store to,
                             struct rd_boxes *missing)
{
    struct rd_store from = { memory, 0 };
    uint32_t p;
    if (from.memory != to.memory || to.place)
        move_from(w, line, from, to, missing);
    for (p = w->line[line].place; p && missing->count; p = w->places.item[p - 1].next) {
        from.place = p;
        if (w->places.item[p - 1].memory == memory && p != to.place)
            move_from(w, line, from, to, missing);
    }
}

/* In the order of what it costs: the same memory, devices that are peers, the host, others. What is
 * current nowhere is not defined. */
static void bring_all(struct rd_resid *w, uint32_t line, struct rd_store to,
                      struct rd_boxes *missing)
{
    uint32_t m;
    if (to.memory)
        move_from_memory(w, line, to.memory, to, missing);
    for (m = 1; m < w->memories && to.memory && missing->count; m++)
        if (m != to.memory && rd_resid_peers(w, to.memory, m))
            move_from_memory(w, line, m, to, missing);
    if (to.memory || to.place)
        move_from_memory(w, line, 0, to, missing);
    for (m = 1; m < w->memories && missing->count; m++)
        if (m != to.memory)
            move_from_memory(w, line, m, to, missing);
}

void rd_resid_bring(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box)
{
    struct rd_boxes missing = { NULL, 0, 0 };
    if (w->failed || rd_resid_covers(w, line, to, box))
        return;
    rd_resid_add(w, &missing, box);
    if (rd_boxes_subtract_all(w->alloc, &missing, rd_resid_current(w, line, to)))
        w->failed = 1;
    if (!w->failed)
        bring_all(w, line, to, &missing);
    rd_boxes_free(w->alloc, &missing);
}

void rd_resid_fetch(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box)
{
    rd_resid_bring(w, line, to, box);
    note_read(w, line, to, box);
}

/* ---- writes */

void rd_resid_write(struct rd_resid *w, uint32_t line, struct rd_store to, const rondo_region *box)
{
    uint32_t m, p, body = w->line[line].body;
    for (m = 0; m < w->memories; m++)
        if (m != to.memory || to.place)
            rd_resid_subtract(w, &w->current[(size_t)line * w->memories + m], box);
    for (p = w->line[line].place; p; p = w->places.item[p - 1].next)
        if (p != to.place)
            rd_resid_subtract(w, &w->places.item[p - 1].current, box);
    rd_resid_add(w, rd_resid_current(w, line, to), box);
    note_touch(w, line, to, box);
    if (w->body[body].regular)
        note(w, body, &w->written[body], box);
    if (to.memory)
        rd_resid_away(w, line);
}

static void consolidate(struct rd_resid *w, uint32_t line, struct rd_store s)
{
    rondo_region hull;
    if (rd_resid_current(w, line, s)->count <= RD_BOXES_MOST)
        return;
    rd_boxes_hull(rd_resid_current(w, line, s), &hull);
    rd_resid_bring(w, line, s, &hull);
    if (w->body[w->line[line].body].temporary) /* what is not defined may count as current */
        rd_resid_add(w, rd_resid_current(w, line, s), &hull);
}

void rd_resid_consolidate(struct rd_resid *w, uint32_t line)
{
    struct rd_store s = { 0, 0 };
    for (; s.memory < w->memories; s.memory++)
        consolidate(w, line, s);
    for (s.place = w->line[line].place; s.place; s.place = w->places.item[s.place - 1].next) {
        s.memory = w->places.item[s.place - 1].memory;
        consolidate(w, line, s);
    }
}

void rd_resid_flush(struct rd_resid *w, uint32_t line)
{
    static const struct rd_store host = { 0, 0 };
    struct rd_boxes alone = { NULL, 0, 0 };
    uint32_t m, p, i;
    for (p = w->line[line].place; p && !w->failed; p = w->places.item[p - 1].next) {
        if (rd_boxes_copy(w->alloc, &alone, &w->places.item[p - 1].current))
            w->failed = 1;
        for (m = 0; m < w->memories; m++)
            if (rd_boxes_subtract_all(w->alloc, &alone,
                                      &w->current[(size_t)line * w->memories + m]))
                w->failed = 1;
        for (i = 0; i < alone.count && !w->failed; i++)
            rd_resid_bring(w, line, host, &alone.item[i]);
    }
    rd_boxes_free(w->alloc, &alone);
}
