/* SPDX-License-Identifier: BSD-3-Clause */
/* Building the interval map. */
#include "subgraph/interval.h"

#include "subgraph/sort.h"

#include <string.h>

void rd_map_note_extent(struct rd_map *map, const struct rd_extent *box)
{
    int d;
    if (!map->levels) {
        map->levels = 1; /* until it is opened: some box was noted */
        map->least = map->most = *box;
        return;
    }
    for (d = 0; d < 3; d++) {
        if (box->lo[d] < map->least.lo[d])
            map->least.lo[d] = box->lo[d];
        if (box->lo[d] > map->most.lo[d])
            map->most.lo[d] = box->lo[d];
        if (box->hi[d] < map->least.hi[d])
            map->least.hi[d] = box->hi[d];
        if (box->hi[d] > map->most.hi[d])
            map->most.hi[d] = box->hi[d];
    }
}

int rd_map_open(struct rd_allocator *a, struct rd_map *map)
{
    uint32_t d;
    if (!map->levels)
        return 1;
    map->levels = 0;
    for (d = 3; d-- > 0;)
        if (map->least.lo[d] != map->most.lo[d] || map->least.hi[d] != map->most.hi[d])
            map->dim[map->levels++] = d;
    if (!map->levels)
        map->dim[map->levels++] = 0;
    map->axis[0] = rd_zalloc_array(a, 1, sizeof *map->axis[0]);
    map->axes[0] = map->axis[0] != NULL;
    return map->axis[0] != NULL;
}

/* Sorts the cuts and keeps one of each; 0: no memory. */
static int axis_settle(struct rd_allocator *a, struct rd_axis *x)
{
    uint64_t *scratch = rd_alloc_array(a, x->count, sizeof *scratch);
    size_t i, kept = 0;
    if (!scratch)
        return 0;
    rd_sort(x->cut, x->count, scratch);
    rd_free_array(a, scratch, x->count, sizeof *scratch);
    for (i = 0; i < x->count; i++)
        if (!kept || x->cut[kept - 1] != x->cut[i])
            x->cut[kept++] = x->cut[i];
    x->count = kept;
    return 1;
}

static int axis_note(struct rd_allocator *a, struct rd_axis *x, uint64_t lo, uint64_t hi)
{
    if (x->count > 1 && x->cut[x->count - 2] == lo && x->cut[x->count - 1] == hi)
        return 1;
    if (x->count + 2 > x->capacity) {
        /* Boxes recur from step to step: what is known already makes room first. */
        if (x->count > 64 && !axis_settle(a, x))
            return 0;
        if (x->count + 2 > x->capacity / 2 &&
            !rd_grow(a, (void **)&x->cut, &x->capacity, x->count, x->capacity + 2, sizeof *x->cut))
            return 0;
    }
    x->cut[x->count++] = lo;
    x->cut[x->count++] = hi;
    return 1;
}

/* At most three levels deep. */
static int note_below(struct rd_allocator *a, struct rd_map *map, uint32_t level, uint64_t index,
                      uint32_t until, const struct rd_extent *box)
{
    struct rd_axis *x = &map->axis[level][index];
    uint64_t lo = box->lo[map->dim[level]], hi = box->hi[map->dim[level]];
    size_t i, end;
    if (level == until)
        return axis_note(a, x, lo, hi);
    rd_axis_find(x, lo, hi, &i, &end);
    for (; i < end; i++)
        if (!note_below(a, map, level + 1, x->child + i, until, box))
            return 0;
    return 1;
}

int rd_map_note(struct rd_allocator *a, struct rd_map *map, uint32_t level,
                const struct rd_extent *box)
{
    return note_below(a, map, 0, 0, level, box);
}

int rd_map_close_level(struct rd_allocator *a, struct rd_map *map, uint32_t level, uint64_t *cells)
{
    uint64_t below = 0;
    uint64_t *next = level + 1 == map->levels ? cells : &below;
    size_t i;
    for (i = 0; i < map->axes[level]; i++) {
        struct rd_axis *x = &map->axis[level][i];
        if (!axis_settle(a, x))
            return 0;
        x->child = *next;
        *next += x->count ? x->count - 1 : 0;
    }
    if (next == cells)
        return 1;
    map->axis[level + 1] = rd_zalloc_array(a, below, sizeof *map->axis[level + 1]);
    map->axes[level + 1] = map->axis[level + 1] ? below : 0;
    return map->axis[level + 1] != NULL;
}

void rd_map_free(struct rd_allocator *a, struct rd_map *map)
{
    uint32_t level;
    size_t i;
    for (level = 0; level < 3; level++) {
        for (i = 0; i < map->axes[level]; i++)
            rd_free_array(a, map->axis[level][i].cut, map->axis[level][i].capacity,
                          sizeof *map->axis[level][i].cut);
        rd_free_array(a, map->axis[level], map->axes[level], sizeof *map->axis[level]);
    }
    memset(map, 0, sizeof *map);
}
