/* SPDX-License-Identifier: BSD-3-Clause */
/* The interval maps of all memories written, built from every box any view of a slot takes. */
#include "subgraph/memory.h"

enum { EXTENTS = -1 }; /* pass: no level yet */

struct mapping {
    struct rd_allocator *alloc;
    struct rd_memories *m;
    int level; /* or EXTENTS */
};

static int note(const struct mapping *k, struct rd_map *map, const struct rd_extent *e)
{
    if (k->level == EXTENTS) {
        rd_map_note_extent(map, e);
        return 1;
    }
    return (uint32_t)k->level >= map->levels || rd_map_note(k->alloc, map, (uint32_t)k->level, e);
}

static int note_box(const struct mapping *k, struct rd_memory *memory, const struct rd_view *v,
                    const rondo_shape *shape, const rd_box *box)
{
    struct rd_extent e;
    struct rd_rows r;
    uint64_t y, z;
    if (!memory->bytes_alone) {
        e = rd_extent_of(v, shape, box);
        return note(k, &memory->map, &e);
    }
    r = rd_rows_of(v, shape, box);
    for (z = 0; z < r.count[1]; z++)
        for (y = 0; y < r.count[0]; y++) {
            e = rd_row_at(&r, y, z);
            if (!note(k, &memory->map, &e))
                return 0;
        }
    return 1;
}

/* One pass over all boxes. */
static int note_all(const struct mapping *k)
{
    const struct rd_subgraph *g = k->m->g;
    uint32_t boxes, b, v;
    size_t i;
    for (i = 0; i < g->accesses.count; i++) {
        const struct rd_access *a = &g->accesses.item[i];
        const struct rd_view_list *l = &k->m->slot[a->slot];
        const rondo_shape *shape = &g->slots.item[a->slot].shape;
        const rd_box *box = rd_access_boxes(g, a, &boxes);
        for (v = l->first; v < l->first + l->count; v++) {
            struct rd_memory *memory = &k->m->memory[k->m->view[v].memory];
            for (b = 0; memory->written && b < boxes; b++)
                if (!note_box(k, memory, &k->m->view[v], shape, &box[b]))
                    return 0;
        }
    }
    return 1;
}

int rd_memories_map(struct rd_allocator *a, struct rd_memories *m)
{
    struct mapping k = { a, m, EXTENTS };
    uint32_t i;
    int deepest = 0;
    if (!note_all(&k))
        return 0;
    for (i = 0; i < m->count; i++) {
        if (!rd_map_open(a, &m->memory[i].map))
            return 0;
        if ((int)m->memory[i].map.levels > deepest)
            deepest = (int)m->memory[i].map.levels;
    }
    for (k.level = 0; k.level < deepest; k.level++) {
        if (!note_all(&k))
            return 0;
        for (i = 0; i < m->count; i++)
            if ((uint32_t)k.level < m->memory[i].map.levels &&
                !rd_map_close_level(a, &m->memory[i].map, (uint32_t)k.level, &m->cells))
                return 0;
    }
    return 1;
}
