/* SPDX-License-Identifier: BSD-3-Clause */
/* Where copies and fills run that may run anywhere, and in which memory the two sides of a device's
 * copy are: a copy that crosses memories itself saves the route that would bring one side first. */
#include "compile/residency_parts.h"

/* One side of a copy, or a fill's. */
struct side {
    uint32_t line; /* RD_NOWHERE: the host's alone */
    rondo_region box;
};

static struct side side_of(const struct rd_resid *w, const struct rd_node *n, uint32_t i)
{
    const struct rd_access *a = &w->g->accesses.item[n->access + i];
    struct side s = { w->line_of[a->slot], w->g->boxes.item[a->box] };
    return s;
}

static int in_host(struct rd_resid *w, const struct side *s)
{
    static const struct rd_store host = { 0, 0 };
    return s->line == RD_NOWHERE || rd_resid_covers(w, s->line, host, &s->box);
}

/* Wholly current in one store of a device's memory. */
static int in_memory(struct rd_resid *w, const struct side *s, uint32_t memory)
{
    struct rd_store store = { memory, 0 };
    if (s->line == RD_NOWHERE)
        return 0;
    if (rd_resid_covers(w, s->line, store, &s->box))
        return 1;
    for (store.place = w->line[s->line].place; store.place;
         store.place = w->places.item[store.place - 1].next)
        if (w->places.item[store.place - 1].memory == memory &&
            rd_resid_covers(w, s->line, store, &s->box))
            return 1;
    return 0;
}

static uint32_t memory_with(struct rd_resid *w, const struct side *s)
{
    uint32_t m;
    for (m = 1; m < w->memories; m++)
        if (in_memory(w, s, m))
            return m;
    return 0;
}

static uint32_t reader_of(struct rd_resid *w, const struct side *s)
{
    return s->line == RD_NOWHERE ? 0 : rd_resid_next_reader(w, s->line, &s->box);
}

/* Whether a side may be in a device's memory: nodes on it touch the line anyway. */
static int can_be(const struct rd_resid *w, const struct side *s, uint32_t memory)
{
    return s->line != RD_NOWHERE && (w->instance[(size_t)s->line * w->memories + memory] ||
                                     w->zone[(size_t)s->line * w->memories + memory].count);
}

/* Bytes that a side takes of a device's arena. */
static uint64_t arena_bytes(const struct rd_resid *w, const struct side *s, uint32_t memory)
{
    if (s->line == RD_NOWHERE || w->instance[(size_t)s->line * w->memories + memory])
        return 0;
    return rd_resid_place_bytes(&w->line[s->line], &s->box);
}

/* The memory of a source for a copy on the device of `memory`: there, or as it is in the host's,
 * unless the device reads the same again. */
static uint32_t source_memory(struct rd_resid *w, const struct side *from, const struct side *to,
                              uint32_t memory)
{
    uint64_t budget = w->arena[memory].budget, bytes = arena_bytes(w, from, memory);
    if (from->line == RD_NOWHERE)
        return 0;
    if (in_memory(w, from, memory))
        return memory;
    if (bytes && (bytes > budget || arena_bytes(w, to, memory) > budget - bytes))
        return 0;
    if (!in_host(w, from) || !can_be(w, from, memory))
        return in_host(w, from) ? 0 : memory;
    return rd_resid_read_again(w, from->line, &from->box, memory) ? memory : 0;
}

static uint32_t target_memory(struct rd_resid *w, const struct side *from, const struct side *to,
                              uint32_t memory, uint32_t source)
{
    uint64_t budget = w->arena[memory].budget, bytes = arena_bytes(w, to, memory);
    if (to->line == RD_NOWHERE)
        return 0;
    if (bytes > budget - (source == memory ? arena_bytes(w, from, memory) : 0))
        return 0;
    if (!source)
        return memory;
    return reader_of(w, to) == 0 || !can_be(w, to, memory) ? 0 : memory;
}

/* The memory of the device that a copy runs on; 0: the host copies. */
static uint32_t copier(struct rd_resid *w, const struct side *from, const struct side *to)
{
    uint32_t there, reader;
    if (!in_host(w, from)) {
        there = memory_with(w, from);
        if (there)
            return there;
    }
    reader = reader_of(w, to);
    if (reader == RD_NOWHERE || !reader || !can_be(w, to, reader))
        return 0;
    return in_host(w, from) || in_memory(w, from, reader) ? reader : 0;
}

static void choose_copy(struct rd_resid *w, const struct rd_node *n, struct rd_choice *c)
{
    struct side from = side_of(w, n, 0), to = side_of(w, n, 1);
    uint32_t memory = rd_bound_is_device(n->bound) ? 1u + n->bound - RD_ON_DEVICE
                      : from.line == RD_NOWHERE && to.line == RD_NOWHERE ? 0
                                                                         : copier(w, &from, &to);
    c->side[0] = c->side[1] = 0;
    c->bound = n->bound;
    if (!memory)
        return;
    c->side[0] = (uint8_t)source_memory(w, &from, &to, memory);
    c->side[1] = (uint8_t)target_memory(w, &from, &to, memory, c->side[0]);
    if (c->side[0] || c->side[1] || rd_bound_is_device(n->bound))
        c->bound = (uint16_t)(RD_ON_DEVICE + memory - 1);
}

static void choose_fill(struct rd_resid *w, const struct rd_node *n, struct rd_choice *c)
{
    struct side to = side_of(w, n, 0);
    uint32_t reader =
        rd_bound_is_device(n->bound) ? 1u + n->bound - RD_ON_DEVICE : reader_of(w, &to);
    c->bound = n->bound;
    c->side[0] = 0;
    if (reader == RD_NOWHERE || !reader ||
        (!rd_bound_is_device(n->bound) &&
         (!can_be(w, &to, reader) || arena_bytes(w, &to, reader) > w->arena[reader].budget)))
        return;
    c->side[0] = (uint8_t)reader;
    c->bound = (uint16_t)(RD_ON_DEVICE + reader - 1);
}

void rd_resid_choose(struct rd_resid *w, uint32_t node, struct rd_choice *c)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    if (n->kind == RD_NODE_COPY)
        choose_copy(w, n, c);
    else
        choose_fill(w, n, c);
}
