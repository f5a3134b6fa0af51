/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in the devices' arenas: given by first fit, taken back when of no more use; where there is
 * no room the one that is used last again gives its place up. */
#include "compile/residency_parts.h"

#include <string.h>

enum { ALIGN = 256 };

uint64_t rd_resid_place_bytes(const struct rd_line *l, const rondo_region *box)
{
    return ((uint64_t)rd_box_span(l->shape, box) + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* ---- zones: boxes of one line that meet are taken together, so that no element is in two places
 * of one memory */

static void add_zone(struct rd_resid *w, struct rd_boxes *zone, const rondo_region *box)
{
    rondo_region all = *box;
    uint32_t i;
    for (i = 0; i < zone->count && !w->failed;) {
        if (!rd_box_meets(&zone->item[i], &all)) {
            i++;
            continue;
        }
        if (rd_box_holds(&zone->item[i], &all))
            return;
        all = rd_region_hull(&zone->item[i], &all);
        zone->item[i] = zone->item[--zone->count];
        i = 0;
    }
    if (zone->count < RD_ZONES_MOST)
        rd_resid_add(w, zone, &all);
}

void rd_resid_zones(struct rd_resid *w)
{
    uint32_t l, i;
    for (l = 0; l < w->lines; l++)
        for (i = w->line[l].visit; i < w->line[l].visit + w->line[l].visits; i++) {
            const struct rd_visit *v = &w->visit[i];
            size_t at = (size_t)l * w->memories + v->memory;
            if (v->memory && v->memory != RD_UNDECIDED && !w->instance[at])
                add_zone(w, &w->zone[at], &v->hull);
        }
}

/* The zone that holds a box; the box itself where there is none. */
static rondo_region zone_of(const struct rd_resid *w, uint32_t line, uint32_t memory,
                            const rondo_region *box)
{
    const struct rd_boxes *zone = &w->zone[(size_t)line * w->memories + memory];
    uint32_t i;
    for (i = 0; i < zone->count; i++)
        if (rd_box_holds(&zone->item[i], box))
            return zone->item[i];
    return *box;
}

/* ---- room */

/* The first gap of so many bytes; *at: where in the list of the living. UINT64_MAX: none. */
static uint64_t find_gap(const struct rd_resid *w, const struct rd_arena *a, uint64_t bytes,
                         size_t *at)
{
    uint64_t end = 0;
    for (*at = 0; *at < a->live.count; ++*at) {
        const struct rd_resid_place *p = &w->places.item[a->live.item[*at]];
        if (p->offset - end >= bytes)
            return end;
        end = p->offset + p->bytes;
    }
    return end <= a->budget && bytes <= a->budget - end ? end : UINT64_MAX;
}

/* By slot and offset. */
static uint32_t *bucket_of(struct rd_resid *w, uint32_t slot, uint64_t offset)
{
    uint64_t key = (offset / ALIGN + (uint64_t)slot * 0x9e3779b9u) * 0x9e3779b97f4a7c15ull;
    return &w->twin_bucket[(key >> 32) % RD_BUCKETS];
}

/* Room for one more twin, and for its link. */
static int twin_room(struct rd_resid *w)
{
    while (w->twin_before.count <= w->twins.count) {
        if (!rd_grow(w->alloc, (void **)&w->twin_before.item, &w->twin_before.capacity,
                     w->twin_before.count, 1, sizeof *w->twin_before.item))
            return 0;
        w->twin_before.item[w->twin_before.count++] = 0;
    }
    return rd_grow(w->alloc, (void **)&w->twins.item, &w->twins.capacity, w->twins.count, 1,
                   sizeof *w->twins.item);
}

/* A twin at that place: one that there was before, if it is the same. */
static uint32_t twin_at(struct rd_resid *w, uint32_t line, uint32_t memory, uint64_t offset,
                        const rondo_region *box)
{
    uint32_t slot = w->line[line].slot, i, *bucket = bucket_of(w, slot, offset);
    struct rd_twin *t;
    for (i = *bucket; i; i = w->twin_before.item[i - 1]) {
        t = &w->twins.item[i - 1];
        if (t->slot == slot && t->memory == memory && t->offset == offset &&
            !memcmp(&t->box, box, sizeof *box))
            return i - 1;
    }
    if (!twin_room(w)) {
        w->failed = 1;
        return 0;
    }
    t = &w->twins.item[w->twins.count];
    t->slot = slot;
    t->memory = memory;
    t->arena = 1;
    t->offset = offset;
    t->box = *box;
    w->twin_before.item[w->twins.count] = *bucket;
    *bucket = (uint32_t)++w->twins.count;
    return (uint32_t)w->twins.count - 1;
}

/* Takes a place if there is a gap: index + 1. */
static uint32_t take(struct rd_resid *w, uint32_t line, uint32_t memory, const rondo_region *box)
{
    struct rd_arena *a = &w->arena[memory];
    uint64_t bytes = rd_resid_place_bytes(&w->line[line], box), offset;
    struct rd_resid_place *p;
    size_t at;
    offset = find_gap(w, a, bytes, &at);
    if (offset == UINT64_MAX)
        return 0;
    if (!rd_grow(w->alloc, (void **)&w->places.item, &w->places.capacity, w->places.count, 1,
                 sizeof *w->places.item) ||
        !rd_grow(w->alloc, (void **)&a->live.item, &a->live.capacity, a->live.count, 1,
                 sizeof *a->live.item)) {
        w->failed = 1;
        return 0;
    }
    memmove(a->live.item + at + 1, a->live.item + at, (a->live.count - at) * sizeof *a->live.item);
    a->live.item[at] = (uint32_t)w->places.count;
    a->live.count++;
    p = &w->places.item[w->places.count++];
    memset(p, 0, sizeof *p);
    p->line = line;
    p->memory = memory;
    p->offset = offset;
    p->bytes = bytes;
    p->box = *box;
    p->twin = twin_at(w, line, memory, offset, box);
    p->next = w->line[line].place;
    w->line[line].place = (uint32_t)w->places.count;
    if (offset + bytes > a->top)
        a->top = offset + bytes;
    return (uint32_t)w->places.count;
}

static void release(struct rd_resid *w, uint32_t place)
{
    struct rd_resid_place *p = &w->places.item[place - 1];
    struct rd_arena *a = &w->arena[p->memory];
    uint32_t *link = &w->line[p->line].place;
    size_t i;
    while (*link != place)
        link = &w->places.item[*link - 1].next;
    *link = p->next;
    for (i = 0; a->live.item[i] != place - 1; i++) {}
    memmove(a->live.item + i, a->live.item + i + 1, (a->live.count - i - 1) * sizeof *a->live.item);
    a->live.count--;
    rd_boxes_free(w->alloc, &p->current);
}

/* ---- giving up */

/* What of a place is nowhere else. */
static void alone_in(struct rd_resid *w, uint32_t place, struct rd_boxes *alone)
{
    const struct rd_resid_place *p = &w->places.item[place - 1];
    uint32_t m, q;
    int failed = rd_boxes_copy(w->alloc, alone, &p->current);
    for (m = 0; m < w->memories; m++)
        failed |=
            rd_boxes_subtract_all(w->alloc, alone, &w->current[(size_t)p->line * w->memories + m]);
    for (q = w->line[p->line].place; q; q = w->places.item[q - 1].next)
        if (q != place)
            failed |= rd_boxes_subtract_all(w->alloc, alone, &w->places.item[q - 1].current);
    w->failed |= failed != 0;
}

/* Whether what is in a box will be asked for, by a node from a position on or by the end of the
 * replay. */
static int is_wanted(const struct rd_resid *w, uint32_t line, const rondo_region *box,
                     uint32_t position)
{
    return !w->body[w->line[line].body].temporary ||
           rd_resid_next(w, line, box, RD_UNDECIDED, 1, position) != NULL;
}

static void give_up(struct rd_resid *w, uint32_t place)
{
    static const struct rd_store host = { 0, 0 };
    uint32_t line = w->places.item[place - 1].line, i;
    struct rd_boxes alone = { NULL, 0, 0 };
    alone_in(w, place, &alone);
    for (i = 0; i < alone.count && !w->failed; i++)
        if (is_wanted(w, line, &alone.item[i], w->position))
            rd_resid_bring(w, line, host, &alone.item[i]);
    rd_boxes_free(w->alloc, &alone);
    release(w, place);
    w->evictions++;
}

/* When a place is used, from a position on: the position of a visit, or never. It is looked for
 * again only when that has passed. */
static uint32_t next_use(const struct rd_resid *w, struct rd_resid_place *p, uint32_t position)
{
    const struct rd_visit *v;
    if (p->used < position || !p->used) {
        v = rd_resid_next(w, p->line, &p->box, p->memory, 0, position);
        p->used = v ? v->position : RD_NOWHERE;
    }
    return p->used;
}

/* Gives up the place that is used last again, none that is pinned; 0: there is none. */
static int evict(struct rd_resid *w, uint32_t memory)
{
    const struct rd_arena *a = &w->arena[memory];
    uint32_t latest = 0, victim = 0, next;
    size_t i;
    for (i = 0; i < a->live.count && latest != RD_NOWHERE; i++) {
        struct rd_resid_place *p = &w->places.item[a->live.item[i]];
        if (p->pinned == w->position + 1)
            continue;
        next = next_use(w, p, w->position);
        if (!victim || next > latest) {
            victim = a->live.item[i] + 1;
            latest = next;
        }
    }
    if (victim)
        give_up(w, victim);
    return victim != 0;
}

/* ---- what the walk asks for */

static uint32_t find(const struct rd_resid *w, uint32_t line, uint32_t memory,
                     const rondo_region *box)
{
    uint32_t p;
    for (p = w->line[line].place; p; p = w->places.item[p - 1].next)
        if (w->places.item[p - 1].memory == memory && rd_box_holds(&w->places.item[p - 1].box, box))
            return p;
    return 0;
}

uint32_t rd_resid_place(struct rd_resid *w, uint32_t line, uint32_t memory, const rondo_region *box)
{
    rondo_region zone = zone_of(w, line, memory, box);
    uint32_t p = find(w, line, memory, box);
    if (!p && !w->tight)
        p = take(w, line, memory, &zone);
    while (!p && !w->failed) {
        p = take(w, line, memory, box);
        if (!p && !evict(w, memory))
            return 0;
    }
    if (p)
        w->places.item[p - 1].pinned = w->position + 1;
    return p;
}

void rd_resid_vacate(struct rd_resid *w, uint32_t memory)
{
    while (w->arena[memory].live.count && !w->failed)
        give_up(w, w->arena[memory].live.item[0] + 1);
}

void rd_resid_drop_places(struct rd_resid *w, uint32_t line)
{
    uint32_t p, next;
    for (p = w->line[line].place; p; p = next) {
        next = w->places.item[p - 1].next;
        if (w->places.item[p - 1].pinned == w->position + 1)
            rd_boxes_free(w->alloc, &w->places.item[p - 1].current);
        else
            release(w, p);
    }
}

/* A place is kept for a later visit there, or as long as something is nowhere else. */
void rd_resid_tidy(struct rd_resid *w, uint32_t line)
{
    struct rd_boxes alone = { NULL, 0, 0 };
    uint32_t p, next, i, keep;
    for (p = w->line[line].place; p && !w->failed; p = next) {
        next = w->places.item[p - 1].next;
        if (w->places.item[p - 1].current.count &&
            next_use(w, &w->places.item[p - 1], w->position + 1) != RD_NOWHERE)
            continue;
        alone_in(w, p, &alone);
        for (i = keep = 0; i < alone.count; i++)
            keep |= (uint32_t)is_wanted(w, line, &alone.item[i], w->position + 1);
        if (!keep)
            release(w, p);
    }
    rd_boxes_free(w->alloc, &alone);
}
