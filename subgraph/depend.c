/* SPDX-License-Identifier: BSD-3-Clause */
/* What must come before what: edges by hand, and those that accesses imply.
 *
 * The recording is walked in order, appended to itself as often as the slowest ring needs to
 * recur, while each memory's map tells the last writer and the readers since of every cell. Edges
 * into the copies behind those first ones are the graph's: one copy where slots always meet alike,
 * else one for each way they meet, and then the union of all is right for every replay. */
#include "subgraph/memory.h"
#include "subgraph/reach.h"
#include "subgraph/walk.h"

#include <string.h>

enum { PERIOD_MAX = 1024 };

/* ---- what the walk finds */

void rd_walk_edge(struct rd_walk *w, uint32_t from, uint32_t distance, enum rd_edge_source source,
                  uint32_t slot)
{
    if (!w->found || w->status)
        return; /* only the order is followed, or it is over */
    if (!rd_edges_add(w->alloc, w->found, w->to, rd_edge_key(from, distance, source, slot)))
        w->status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for %zu edges", w->g->name,
                             w->found->count);
}

static rondo_status too_far(const struct rd_walk *w, uint32_t from, uint32_t distance)
{
    const struct rd_subgraph *g = w->g;
    return rd_error(RONDO_ERR_INVALID,
                    "slot '%s': node '%s' depends on node '%s' of %u replays before, more than %d",
                    rd_subgraph_text(g, g->slots.item[w->slot].name),
                    rd_subgraph_text(g, g->nodes.item[w->node].name),
                    rd_subgraph_text(g, g->nodes.item[from].name), distance, RD_DISTANCE_MAX);
}

void rd_walk_follow(struct rd_walk *w, uint32_t from, uint32_t distance, uint64_t *mark)
{
    if (*mark == (w->stamp ^ distance))
        return;
    *mark = w->stamp ^ distance;
    if (distance > RD_DISTANCE_MAX)
        w->status = too_far(w, from, distance);
    else if (w->reach)
        w->status = rd_explicit_check(w, from, distance);
    else
        rd_walk_edge(w, from, distance, RD_EDGE_ACCESS, w->slot);
}

void rd_walk_before(struct rd_walk *w, uint64_t time)
{
    uint32_t from = rd_walk_node(w, time);
    if (w->fences)
        rd_fences_pass(w, time);
    if (w->keep && !w->status)
        rd_walk_follow(w, from, w->copy + 1 - (uint32_t)(time >> 32), &w->mark[from]);
}

/* ---- the walk */

static int touch_stretch(struct rd_walk *w, enum rd_touch how, uint64_t from, uint64_t to)
{
    switch (how) {
    case RD_TOUCH_READ: return rd_cells_read(w, from, to);
    case RD_TOUCH_WRITE: return rd_cells_write(w, from, to);
    case RD_TOUCH_MIXED_READ: return rd_cells_mixed_read(w, from, to);
    case RD_TOUCH_MIXED_WRITE: return rd_cells_mixed_write(w, from, to);
    default: return rd_cells_commute(w, from, to);
    }
}

/* At most three levels deep. */
static int touch_cells(struct rd_walk *w, const struct rd_map *map, uint32_t level, uint64_t index,
                       const struct rd_extent *e, enum rd_touch how)
{
    const struct rd_axis *x = &map->axis[level][index];
    size_t i, end;
    rd_axis_find(x, e->lo[map->dim[level]], e->hi[map->dim[level]], &i, &end);
    if (level + 1 == map->levels)
        return touch_stretch(w, how, x->child + i, x->child + end);
    for (; i < end; i++)
        if (!touch_cells(w, map, level + 1, x->child + i, e, how))
            return 0;
    return 1;
}

static int touch_box(struct rd_walk *w, const struct rd_memory *memory, const struct rd_view *v,
                     const rd_box *box, enum rd_touch how)
{
    const rondo_shape *shape = &w->g->slots.item[w->slot].shape;
    struct rd_extent e;
    struct rd_rows r;
    uint64_t y, z;
    if (!memory->bytes_alone) {
        e = rd_extent_of(v, shape, box);
        return touch_cells(w, &memory->map, 0, 0, &e, how);
    }
    r = rd_rows_of(v, shape, box);
    for (z = 0; z < r.count[1]; z++)
        for (y = 0; y < r.count[0]; y++) {
            e = rd_row_at(&r, y, z);
            if (!touch_cells(w, &memory->map, 0, 0, &e, how))
                return 0;
        }
    return 1;
}

int rd_walk_boxes(struct rd_walk *w, const struct rd_access *a, enum rd_touch how)
{
    const struct rd_view *v = rd_view_at(w->memories, a->slot, w->copy);
    const struct rd_memory *memory = &w->memories->memory[v->memory];
    uint32_t boxes, b;
    const rd_box *box = rd_access_boxes(w->g, a, &boxes);
    for (b = 0; b < boxes; b++)
        if (!touch_box(w, memory, v, &box[b], how))
            return 0;
    return 1;
}

static int touch_memory(struct rd_walk *w, const struct rd_memory *memory,
                        const struct rd_access *a)
{
    int write = (a->mode & RONDO_WRITE) != 0;
    w->keep = w->copy >= w->warm && w->copy - w->warm < memory->phases;
    w->floor = memory->bound && w->begin > w->base ? w->begin : w->base;
    if (!memory->commuting)
        return rd_walk_boxes(w, a, write ? RD_TOUCH_WRITE : RD_TOUCH_READ);
    if (a->mode == RONDO_COMMUTE)
        return rd_commute_touch(w, a);
    return rd_walk_boxes(w, a, write ? RD_TOUCH_MIXED_WRITE : RD_TOUCH_MIXED_READ);
}

static int touch(struct rd_walk *w, const struct rd_access *a)
{
    const struct rd_view *v = rd_view_at(w->memories, a->slot, w->copy);
    const struct rd_memory *memory = &w->memories->memory[v->memory];
    w->slot = a->slot;
    if (memory->written && !touch_memory(w, memory, a))
        return 0;
    return !w->alias || rd_alias_touch(w, a->slot, a->mode);
}

static void walk_node(struct rd_walk *w)
{
    const struct rd_node *n = &w->g->nodes.item[w->node];
    uint32_t i;
    for (i = 0; w->touching && i < n->access_count && !w->status; i++)
        if (!touch(w, &w->g->accesses.item[n->access + i]))
            w->status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to analyse accesses",
                                 w->g->name);
    if (w->fences && !w->status)
        rd_fences_node(w);
}

/* Whether the present node takes part in the present copy. The ranks of a team but the first get
 * their edges from it. */
static int runs(const struct rd_walk *w)
{
    return (!w->active || w->active[w->node] >> w->copy % w->phases & 1) &&
           w->g->nodes.item[w->node].kind != RD_NODE_RANK;
}

static rondo_status walk(struct rd_walk *w)
{
    uint32_t n = (uint32_t)w->g->nodes.count, i;
    for (w->copy = 0; w->copy < w->copies; w->copy++) {
        w->begin = ((uint64_t)w->copy + 1) << 32;
        w->found = w->list ? &w->list[w->copy % w->phases] : NULL;
        if (!w->carried || !w->copy) {
            w->base = w->begin;
            if (w->fences)
                rd_fences_begin(w);
        }
        for (i = 0; i < n && !w->status; i++) {
            w->now = w->begin | i;
            w->stamp = w->now << 9; /* copy + 1 is below 2^23 */
            w->node = w->to = rd_walk_node(w, i);
            if (runs(w))
                walk_node(w);
        }
    }
    return w->status;
}

/* The first cell of each axis is a head from the beginning. */
static int make_cells(struct rd_walk *w)
{
    const struct rd_memories *m = w->memories;
    uint32_t i, last;
    size_t k;
    if (!rd_cells_init(w->alloc, &w->cells, m->cells))
        return 0;
    for (i = 0; i < m->count; i++) {
        const struct rd_map *map = &m->memory[i].map;
        if (!map->levels)
            continue;
        last = map->levels - 1;
        for (k = 0; k < map->axes[last]; k++)
            rd_cells_head(&w->cells, map->axis[last][k].child);
    }
    return 1;
}

/* Walks with what `w` has been given; its tables live for the walk. */
static rondo_status walk_accesses(struct rd_walk *w)
{
    size_t n = w->g->nodes.count;
    rondo_status status;
    rd_commute_begin(w);
    w->mark = rd_zalloc_array(w->alloc, n, sizeof *w->mark);
    if (!w->mark || !make_cells(w))
        status =
            rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to analyse accesses", w->g->name);
    else
        status = rd_alias_make(w);
    if (!status)
        status = rd_fences_make(w);
    if (!status)
        status = walk(w);
    rd_fences_free(w);
    rd_alias_free(w);
    rd_cells_free(w->alloc, &w->cells);
    rd_free_array(w->alloc, w->mark, n, sizeof *w->mark);
    return status;
}

/* ---- the analysis */

static int has_fences(const struct rd_subgraph *g)
{
    size_t i;
    for (i = 0; i < g->nodes.count; i++)
        if (g->nodes.item[i].everything)
            return 1;
    return 0;
}

static rondo_status check_period(const struct rd_subgraph *g, const struct rd_memories *m)
{
    if (m->period <= PERIOD_MAX)
        return RONDO_OK;
    return rd_error(
        RONDO_ERR_INVALID, "slot '%s': its ring recurs after %u replays; an edge may reach over %d",
        rd_subgraph_text(g, g->slots.item[m->period_slot].name), m->period, RD_DISTANCE_MAX);
}

/* Where edges are explicit accesses only check whether what conflicts is ordered. The walk is in an
 * order that obeys the edges: then each access found to come last before another must be reached
 * from it, and if all are, all conflicts are ordered through them. */
static rondo_status check_conflicts(struct rd_walk *w, const struct rd_graph *graph)
{
    struct rd_reach reach;
    struct rd_edges *list = w->list;
    rondo_status status = rd_reach_make(w->alloc, graph, &reach);
    if (status)
        return status;
    w->reach = &reach;
    w->order = reach.order;
    w->list = w->commute ? list : NULL; /* of classes there are edges to be found */
    w->touching = 1;
    status = walk_accesses(w);
    if (!status && w->commute)
        status = rd_commute_resolve(w);
    w->list = list;
    rd_reach_free(&reach);
    return status;
}

/* The graph as it is now, refused if it runs in a circle. */
static rondo_status settle(struct rd_walk *w, int carried, int check, struct rd_graph *graph)
{
    rondo_status status = rd_team_edges(w);
    if (!status)
        status = rd_phases_build(w, carried, graph);
    if (status || !check)
        return status;
    status = rd_subgraph_check(w->g, graph);
    if (status)
        rd_graph_free(w->alloc, graph);
    return status;
}

static rondo_status check_explicit(struct rd_walk *w, int carried, struct rd_graph *graph)
{
    rondo_status status = check_conflicts(w, graph);
    if (status || w->commute) /* else the graph is what it was */
        rd_graph_free(w->alloc, graph);
    return status || !w->commute ? status : settle(w, carried, 1, graph);
}

/* The edges that are not by hand, in w->list. */
static rondo_status find_edges(struct rd_walk *w, int carried)
{
    const struct rd_subgraph *g = w->g;
    rondo_status status = RONDO_OK;
    if (w->touching || has_fences(g))
        status = walk_accesses(w);
    if (!status && w->commute && w->touching)
        status = rd_commute_resolve(w);
    if (!status && carried)
        status = rd_stop_edges(w);
    return status;
}

/* The graph; `check`: and what is wrong with it. */
static rondo_status find_graph(struct rd_walk *w, int carried, int check, struct rd_graph *graph)
{
    const struct rd_subgraph *g = w->g;
    int flow = carried && !w->memories->serial;
    rondo_status status = flow ? check_period(g, w->memories) : RONDO_OK;
    w->carried = flow;
    w->warm = flow ? w->memories->period : 0;
    w->copies = w->warm + w->memories->phases;
    w->touching = !g->edges_explicit && g->accesses.count;
    if (!status)
        status = rd_commute_make(w);
    if (!status)
        status = find_edges(w, carried);
    if (!status)
        status = settle(w, carried, check, graph);
    if (!status && check && g->edges_explicit && g->accesses.count)
        status = check_explicit(w, carried, graph);
    rd_commute_free(w);
    return status;
}

/* ---- what the walk stands on */

/* Memories, with as many phases as the conditions of nodes ask for: if these and the rings'
 * together are too many, nodes count as running in each replay. */
static rondo_status make_memories(struct rd_walk *w, struct rd_memories *m)
{
    uint32_t every = rd_every(w->g);
    rondo_status status = rd_memories_make(w->alloc, w->g, every ? every : 1, m);
    if (!status && every > 1 && (m->phases > RD_PHASES_MAX || m->period > RD_DISTANCE_MAX)) {
        rd_memories_free(w->alloc, m);
        status = rd_memories_make(w->alloc, w->g, 1, m);
    }
    w->memories = m;
    w->phases = status ? 1 : m->every;
    return status;
}

rondo_status rd_depend_graph(const struct rd_subgraph *g, int carried, int check,
                             struct rd_graph *graph)
{
    struct rd_memories memories;
    struct rd_walk w;
    uint64_t *active = NULL;
    uint32_t i;
    rondo_status status;
    memset(&w, 0, sizeof w);
    w.g = g;
    w.alloc = &g->rt->alloc;
    w.order = g->sequence;
    status = make_memories(&w, &memories);
    if (status)
        return status;
    w.list = rd_zalloc_array(w.alloc, w.phases, sizeof *w.list);
    if (w.phases > 1)
        w.active = active = rd_active(w.alloc, g, w.phases);
    if (!w.list || (w.phases > 1 && !active))
        status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to analyse it", g->name);
    else
        status = find_graph(&w, carried, check, graph);
    for (i = 0; w.list && i < w.phases; i++)
        rd_edges_free(w.alloc, &w.list[i]);
    rd_free_array(w.alloc, w.list, w.phases, sizeof *w.list);
    rd_free_array(w.alloc, active, g->nodes.count, sizeof *active);
    rd_memories_free(w.alloc, &memories);
    return status;
}

rondo_status rd_subgraph_analyse(const struct rd_subgraph *g, int carried, struct rd_graph *graph)
{
    return rd_depend_graph(g, carried, 1, graph);
}
