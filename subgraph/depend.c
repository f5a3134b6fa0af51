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
    if (!rd_edges_add(w->alloc, w->found, w->node, rd_edge_key(from, distance, source, slot)))
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

void rd_walk_before(struct rd_walk *w, uint64_t time)
{
    uint32_t from = rd_walk_node(w, time), distance = w->copy + 1 - (uint32_t)(time >> 32);
    uint64_t mark = w->now << 9 ^ distance; /* copy + 1 is below 2^23 */
    if (w->fences)
        rd_fences_pass(w, time);
    if (!w->keep || w->status)
        return;
    if (distance > RD_DISTANCE_MAX) {
        w->status = too_far(w, from, distance);
        return;
    }
    if (w->mark[from] == mark)
        return;
    w->mark[from] = mark;
    if (w->reach)
        w->status = rd_explicit_check(w, from, distance);
    else
        rd_walk_edge(w, from, distance, RD_EDGE_ACCESS, w->slot);
}

/* ---- the walk */

/* At most three levels deep. */
static int touch_cells(struct rd_walk *w, const struct rd_map *map, uint32_t level, uint64_t index,
                       const struct rd_extent *e, int write)
{
    const struct rd_axis *x = &map->axis[level][index];
    size_t i, end;
    rd_axis_find(x, e->lo[map->dim[level]], e->hi[map->dim[level]], &i, &end);
    if (level + 1 == map->levels)
        return write ? rd_cells_write(w, x->child + i, x->child + end)
                     : rd_cells_read(w, x->child + i, x->child + end);
    for (; i < end; i++)
        if (!touch_cells(w, map, level + 1, x->child + i, e, write))
            return 0;
    return 1;
}

static int touch_box(struct rd_walk *w, const struct rd_memory *memory, const struct rd_view *v,
                     const rd_box *box, int write)
{
    const rondo_shape *shape = &w->g->slots.item[w->slot].shape;
    struct rd_extent e;
    struct rd_rows r;
    uint64_t y, z;
    if (!memory->bytes_alone) {
        e = rd_extent_of(v, shape, box);
        return touch_cells(w, &memory->map, 0, 0, &e, write);
    }
    r = rd_rows_of(v, shape, box);
    for (z = 0; z < r.count[1]; z++)
        for (y = 0; y < r.count[0]; y++) {
            e = rd_row_at(&r, y, z);
            if (!touch_cells(w, &memory->map, 0, 0, &e, write))
                return 0;
        }
    return 1;
}

static int touch(struct rd_walk *w, const struct rd_access *a)
{
    const struct rd_view *v = rd_view_at(w->memories, a->slot, w->copy);
    const struct rd_memory *memory = &w->memories->memory[v->memory];
    uint32_t boxes, b;
    const rd_box *box = rd_access_boxes(w->g, a, &boxes);
    w->slot = a->slot;
    if (memory->written) {
        w->keep = w->copy >= w->warm && w->copy - w->warm < memory->phases;
        w->floor = memory->bound && w->begin > w->base ? w->begin : w->base;
        for (b = 0; b < boxes; b++)
            if (!touch_box(w, memory, v, &box[b], (a->mode & RONDO_WRITE) != 0))
                return 0;
    }
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

static rondo_status walk(struct rd_walk *w)
{
    uint32_t n = (uint32_t)w->g->nodes.count, i;
    for (w->copy = 0; w->copy < w->copies; w->copy++) {
        w->begin = ((uint64_t)w->copy + 1) << 32;
        if (!w->carried || !w->copy) {
            w->base = w->begin;
            if (w->fences)
                rd_fences_begin(w);
        }
        for (i = 0; i < n && !w->status; i++) {
            w->now = w->begin | i;
            w->node = rd_walk_node(w, i);
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

static rondo_status build(const struct rd_walk *w, const struct rd_edges *found, int carried,
                          struct rd_graph *graph)
{
    const struct rd_subgraph *g = w->g;
    struct rd_edge_lists lists = { g->edges.item, g->edges.count, carried ? RD_DISTANCE_MAX : 0,
                                   found };
    rondo_status status = rd_graph_build(w->alloc, &lists, (uint32_t)g->nodes.count, graph);
    if (!status)
        graph->serial_boundaries = carried && w->memories->serial;
    return status;
}

/* Where edges are explicit accesses only check whether what conflicts is ordered. The walk is in an
 * order that obeys the edges: then each access found to come last before another must be reached
 * from it, and if all are, all conflicts are ordered through them. */
static rondo_status check_conflicts(struct rd_walk *w, const struct rd_graph *graph)
{
    struct rd_reach reach;
    rondo_status status = rd_reach_make(w->alloc, graph, &reach);
    if (status)
        return status;
    w->reach = &reach;
    w->order = reach.order;
    w->found = NULL;
    w->touching = 1;
    status = walk_accesses(w);
    rd_reach_free(&reach);
    return status;
}

/* The graph; `check`: and what is wrong with it. */
static rondo_status find_graph(struct rd_walk *w, int carried, int check, struct rd_graph *graph)
{
    struct rd_edges found = { NULL, NULL, 0, 0, 0 };
    const struct rd_subgraph *g = w->g;
    int flow = carried && !w->memories->serial;
    rondo_status status = flow ? check_period(g, w->memories) : RONDO_OK;
    w->carried = flow;
    w->warm = flow ? w->memories->period : 0;
    w->copies = w->warm + w->memories->phases;
    w->touching = !g->edges_explicit && g->accesses.count;
    w->found = &found;
    if (!status && (w->touching || has_fences(g)))
        status = walk_accesses(w);
    if (!status)
        status = build(w, &found, carried, graph);
    rd_edges_free(w->alloc, &found);
    if (status || !check)
        return status;
    status = rd_subgraph_check(g, graph);
    if (!status && g->edges_explicit && g->accesses.count)
        status = check_conflicts(w, graph);
    if (status)
        rd_graph_free(w->alloc, graph);
    return status;
}

rondo_status rd_depend_graph(const struct rd_subgraph *g, int carried, int check,
                             struct rd_graph *graph)
{
    struct rd_memories memories;
    struct rd_walk w;
    rondo_status status = rd_memories_make(&g->rt->alloc, g, &memories);
    if (status)
        return status;
    memset(&w, 0, sizeof w);
    w.g = g;
    w.alloc = &g->rt->alloc;
    w.memories = &memories;
    status = find_graph(&w, carried, check, graph);
    rd_memories_free(w.alloc, &memories);
    return status;
}

rondo_status rd_subgraph_analyse(const struct rd_subgraph *g, int carried, struct rd_graph *graph)
{
    return rd_depend_graph(g, carried, 1, graph);
}
