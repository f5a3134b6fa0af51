/* SPDX-License-Identifier: BSD-3-Clause */
/* One walk through a replay: each node's regions are made current where it runs, before it; what it
 * writes is current there alone, after it. */
#include "compile/residency_parts.h"
#include "src/base/error.h"

#include <string.h>

/* Whether what the walk finds is final in the choices too: else they might change for ever. */
enum { CHOICES_OPEN = 3 };

static void add_turn(struct rd_resid *w, uint32_t node)
{
    if (!rd_grow(w->alloc, (void **)&w->turns.item, &w->turns.capacity, w->turns.count, 1,
                 sizeof *w->turns.item)) {
        w->failed = 1;
        return;
    }
    w->turns.item[w->turns.count].index = node;
    w->turns.item[w->turns.count++].is_route = 0;
}

/* ---- the beginning */

static void begin_line(struct rd_resid *w, uint32_t line)
{
    const struct rd_line *l = &w->line[line];
    const struct rd_body *b = &w->body[l->body];
    struct rd_boxes *current = &w->current[(size_t)line * w->memories];
    uint32_t m;
    for (m = 0; m < w->memories; m++) {
        rd_boxes_free(w->alloc, &current[m]);
        if (b->regular &&
            rd_boxes_copy(w->alloc, &current[m], &w->keep[(size_t)l->body * w->memories + m]))
            w->failed = 1;
        if (m && current[m].count)
            rd_resid_away(w, line);
    }
    if (!b->regular && !b->temporary)
        rd_resid_add(w, &current[0], &l->whole);
    w->line[line].place = 0;
}

static void free_places(struct rd_resid *w)
{
    size_t i;
    for (i = 0; i < w->places.count; i++)
        rd_boxes_free(w->alloc, &w->places.item[i].current);
    w->places.count = 0;
}

static void forget_accounts(struct rd_resid *w)
{
    size_t i, each = (size_t)w->bodies * w->memories;
    for (i = 0; i < each; i++) {
        rd_boxes_free(w->alloc, &w->touched[i]);
        rd_boxes_free(w->alloc, &w->need[i]);
    }
    for (i = 0; i < w->bodies; i++) {
        rd_boxes_free(w->alloc, &w->written[i]);
        w->body[i].wide = 0;
    }
    memset(w->moved, 0, sizeof w->moved);
    w->evictions = 0;
}

static void begin(struct rd_resid *w)
{
    uint32_t i, m;
    free_places(w);
    forget_accounts(w);
    for (m = 0; m < w->memories; m++) {
        w->arena[m].live.count = 0;
        w->arena[m].top = 0;
    }
    w->twins.count = w->twin_before.count = w->routes.count = w->turns.count = 0;
    memset(w->twin_bucket, 0, sizeof w->twin_bucket);
    memset(w->twin_of, 0, (size_t)w->lines * w->memories * sizeof *w->twin_of);
    for (i = 0; i < w->away.count; i++)
        w->line[w->away.item[i]].away = 0;
    w->away.count = 0;
    for (i = 0; i < w->g->accesses.count; i++)
        w->slot_of_access[i] = w->g->accesses.item[i].slot;
    w->position = 0;
    for (i = 0; i < w->lines && !w->failed; i++)
        begin_line(w, i);
}

/* ---- one access */

static uint32_t line_of(const struct rd_resid *w, uint32_t access)
{
    return w->line_of[w->g->accesses.item[access].slot];
}

/* Where a node's access is: the host's store, an instance or its place. */
static struct rd_store store_of(const struct rd_resid *w, uint32_t access)
{
    struct rd_store s = { w->memory_of[access], 0 };
    if (s.memory && !w->instance[(size_t)line_of(w, access) * w->memories + s.memory])
        s.place = w->place_of[access];
    return s;
}

int rd_resid_needs_place(const struct rd_resid *w, uint32_t access)
{
    uint32_t line = line_of(w, access), m = w->memory_of[access];
    return line != RD_NOWHERE && m && !w->instance[(size_t)line * w->memories + m];
}

/* ---- places of a node */

int rd_resid_cluster(const struct rd_resid *w, const struct rd_node *n, uint32_t access,
                     rondo_region *hull)
{
    uint32_t i, more = 1, first = access;
    *hull = rd_resid_hull(w->g, &w->g->accesses.item[access]);
    while (more)
        for (i = n->access, more = 0; i < n->access + n->access_count; i++) {
            rondo_region box;
            if (i == access || !rd_resid_needs_place(w, i) || line_of(w, i) != line_of(w, access) ||
                w->memory_of[i] != w->memory_of[access])
                continue;
            box = rd_resid_hull(w->g, &w->g->accesses.item[i]);
            if (!rd_box_meets(&box, hull))
                continue;
            if (i < first)
                first = i;
            if (rd_box_holds(hull, &box))
                continue;
            *hull = rd_region_hull(hull, &box);
            more = 1;
        }
    return first == access;
}

/* Gives each access that needs one its place; 0: there is no room beside what has been given. */
static int take_places(struct rd_resid *w, const struct rd_node *n)
{
    uint32_t i;
    rondo_region hull;
    for (i = n->access; i < n->access + n->access_count && !w->failed; i++) {
        if (!rd_resid_needs_place(w, i))
            continue;
        rd_resid_cluster(w, n, i, &hull);
        w->place_of[i] = rd_resid_place(w, line_of(w, i), w->memory_of[i], &hull);
        if (!w->place_of[i])
            return 0;
    }
    return 1;
}

/* Where places of other nodes, or gaps between this node's, leave no room, all are given up: beside
 * each other the node's own fit, as has been seen to before. */
static void give_places(struct rd_resid *w, uint32_t node)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    int given = take_places(w, n);
    if (given || w->failed)
        return;
    rd_resid_vacate(w, 1u + w->bound[node] - RD_ON_DEVICE);
    w->tight = 1;
    given = take_places(w, n);
    w->tight = 0;
    RD_ASSERT(given || w->failed);
}

/* ---- a node */

/* What other lines over the same bytes have changed in places goes home. */
static void flush_others(struct rd_resid *w, uint32_t line)
{
    const struct rd_body *b = &w->body[w->line[line].body];
    uint32_t i;
    for (i = b->line; b->mixed && i < b->line + b->lines; i++)
        if (i != line && w->line[i].place)
            rd_resid_flush(w, i);
}

static void drop_others(struct rd_resid *w, uint32_t line)
{
    const struct rd_body *b = &w->body[w->line[line].body];
    uint32_t i;
    for (i = b->line; b->mixed && i < b->line + b->lines; i++)
        if (i != line && w->line[i].place)
            rd_resid_drop_places(w, i);
}

static void read_access(struct rd_resid *w, uint32_t access, int partial)
{
    const struct rd_access *a = &w->g->accesses.item[access];
    uint32_t count, i, mode = a->mode;
    const rd_box *box = rd_access_boxes(w->g, a, &count);
    if (!(mode & RONDO_READ || partial))
        return;
    for (i = 0; i < count && !w->failed; i++)
        rd_resid_fetch(w, line_of(w, access), store_of(w, access), &box[i]);
}

static void write_access(struct rd_resid *w, uint32_t access)
{
    const struct rd_access *a = &w->g->accesses.item[access];
    uint32_t count, i;
    const rd_box *box = rd_access_boxes(w->g, a, &count);
    for (i = 0; i < count && !w->failed; i++)
        rd_resid_write(w, line_of(w, access), store_of(w, access), &box[i]);
}

/* Where the node runs, and its accesses are. */
static void place_node(struct rd_resid *w, uint32_t node)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    uint32_t i, own = rd_node_own_accesses(w->g, node);
    int device = rd_bound_is_device(n->bound);
    struct rd_choice *c = &w->choice[node];
    int moves = (n->kind == RD_NODE_COPY && (device || n->bound == RD_PROCESSOR_ANY)) ||
                (n->kind == RD_NODE_FILL && n->bound == RD_PROCESSOR_ANY);
    w->bound[node] = n->bound;
    if (moves && (w->walk < CHOICES_OPEN || !c->made)) {
        rd_resid_choose(w, node, c);
        c->made = 1;
    }
    if (moves)
        w->bound[node] = c->bound;
    for (i = 0; i < n->access_count; i++)
        w->memory_of[n->access + i] = (uint8_t)(i >= own ? 0
                                                : moves  ? c->side[i]
                                                : device ? 1 + n->bound - RD_ON_DEVICE
                                                         : 0);
}

static int touches_walked(const struct rd_resid *w, const struct rd_node *n)
{
    uint32_t i;
    for (i = n->access; i < n->access + n->access_count; i++)
        if (line_of(w, i) != RD_NOWHERE)
            return 1;
    return 0;
}

static void move_to_node(struct rd_resid *w, uint32_t node)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    int partial = rd_resid_partial(w->g, node);
    uint32_t i, end = n->access + n->access_count;
    for (i = n->access; i < end; i++)
        if (line_of(w, i) != RD_NOWHERE)
            flush_others(w, line_of(w, i));
    give_places(w, node);
    for (i = n->access; i < end && !w->failed; i++)
        if (line_of(w, i) != RD_NOWHERE)
            read_access(w, i, partial && w->g->accesses.item[i].mode & RONDO_WRITE);
    for (i = n->access; i < end && !w->failed; i++)
        if (line_of(w, i) != RD_NOWHERE)
            w->slot_of_access[i] = w->memory_of[i] ? rd_resid_slot(w, line_of(w, i), store_of(w, i))
                                                   : w->g->accesses.item[i].slot;
}

static void move_from_node(struct rd_resid *w, const struct rd_node *n)
{
    uint32_t i, end = n->access + n->access_count;
    for (i = n->access; i < end; i++)
        if (line_of(w, i) != RD_NOWHERE && w->g->accesses.item[i].mode & RONDO_WRITE)
            drop_others(w, line_of(w, i));
    for (i = n->access; i < end && !w->failed; i++)
        if (line_of(w, i) != RD_NOWHERE && w->g->accesses.item[i].mode & RONDO_WRITE)
            write_access(w, i);
    for (i = n->access; i < end && !w->failed; i++)
        if (line_of(w, i) != RD_NOWHERE) {
            rd_resid_consolidate(w, line_of(w, i));
            rd_resid_tidy(w, line_of(w, i));
        }
}

/* Bytes that a copy moves from memory to memory itself. */
static void count_crossing(struct rd_resid *w, const struct rd_node *n)
{
    const struct rd_access *to;
    uint8_t *side = &w->memory_of[n->access];
    if (n->kind != RD_NODE_COPY || side[0] == side[1])
        return;
    to = &w->g->accesses.item[n->access + 1];
    w->moved[side[0]][side[1]] += (uint64_t)w->g->boxes.item[to->box].count[0] *
                                  (uint64_t)w->g->boxes.item[to->box].count[1] *
                                  (uint64_t)w->g->boxes.item[to->box].count[2] *
                                  w->g->slots.item[to->slot].shape.elem_bytes;
}

/* ---- nodes that touch everything: on the host */

static void gather(struct rd_resid *w)
{
    static const struct rd_store host = { 0, 0 };
    size_t i;
    for (i = 0; i < w->away.count && !w->failed; i++) {
        uint32_t line = w->away.item[i];
        if (!w->body[w->line[line].body].temporary)
            rd_resid_fetch(w, line, host, &w->line[line].whole);
    }
}

static void scatter(struct rd_resid *w)
{
    static const struct rd_store host = { 0, 0 };
    size_t i, kept = 0;
    for (i = 0; i < w->away.count && !w->failed; i++) {
        uint32_t line = w->away.item[i];
        if (w->body[w->line[line].body].temporary) {
            w->away.item[kept++] = line;
            continue;
        }
        rd_resid_write(w, line, host, &w->line[line].whole);
        rd_resid_drop_places(w, line);
        w->line[line].away = 0;
    }
    w->away.count = kept;
}

/* ---- the walk */

static void walk_node(struct rd_resid *w, uint32_t node)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    int walked = n->kind != RD_NODE_RANK && touches_walked(w, n);
    if (n->everything)
        gather(w);
    place_node(w, node);
    if (walked)
        move_to_node(w, node);
    add_turn(w, node);
    if (w->failed)
        return;
    count_crossing(w, n);
    if (walked)
        move_from_node(w, n);
    if (n->everything)
        scatter(w);
}

static void finish_line(struct rd_resid *w, uint32_t line)
{
    const struct rd_line *l = &w->line[line];
    const struct rd_body *b = &w->body[l->body];
    struct rd_store s = { 0, 0 };
    if (!b->temporary)
        rd_resid_flush(w, line);
    for (; s.memory < w->memories && !w->failed; s.memory++)
        if (l->at_end >> s.memory & 1 || (b->home && !s.memory)) {
            rd_resid_fetch(w, line, s, &l->whole);
            rd_resid_slot(w, line, s); /* there is one, also where nothing moves */
        }
}

void rd_resid_walk(struct rd_resid *w)
{
    uint32_t p, l;
    begin(w);
    for (p = 0; p < w->nodes && !w->failed; p++) {
        w->position = p;
        walk_node(w, rd_resid_node(w, p));
    }
    w->position = w->nodes;
    for (l = 0; l < w->lines && !w->failed; l++)
        finish_line(w, l);
    w->walk++;
}

void rd_resid_walk_free(struct rd_resid *w)
{
    size_t i, each = (size_t)w->lines * w->memories;
    free_places(w);
    for (i = 0; w->current && i < each; i++)
        rd_boxes_free(w->alloc, &w->current[i]);
    if (w->touched && w->need && w->written)
        forget_accounts(w);
    for (i = 0; i < RD_MEMORIES_MAX; i++)
        rd_free_array(w->alloc, w->arena[i].live.item, w->arena[i].live.capacity,
                      sizeof *w->arena[i].live.item);
    rd_free_array(w->alloc, w->current, each, sizeof *w->current);
    rd_free_array(w->alloc, w->twin_of, each, sizeof *w->twin_of);
    rd_free_array(w->alloc, w->places.item, w->places.capacity, sizeof *w->places.item);
    rd_free_array(w->alloc, w->away.item, w->away.capacity, sizeof *w->away.item);
    rd_free_array(w->alloc, w->twin_before.item, w->twin_before.capacity,
                  sizeof *w->twin_before.item);
}
