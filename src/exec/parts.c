/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/exec/parts.h"

#include "src/base/heap.h"

/* A handle names one part, so no two items are equal. */
static int part_less(const void *a, const void *b)
{
    return ((const struct rd_exec_part *)a)->id < ((const struct rd_exec_part *)b)->id;
}

int rd_exec_parts_make(struct rd_allocator *a, const struct rd_subgraph *g,
                       struct rd_exec_parts *parts)
{
    size_t i;
    if (!g->inner.count)
        return 1;
    parts->item = rd_alloc_array(a, g->inner.count, sizeof *parts->item);
    if (!parts->item)
        return 0;
    parts->count = g->inner.count;
    for (i = 0; i < parts->count; i++) {
        const struct rd_inner_part *p = &g->inner.item[i];
        parts->item[i].id = rd_part_id(p->serial, (enum rd_part)p->part, p->inner);
        parts->item[i].index = p->outer;
    }
    rd_heap_sort(parts->item, parts->count, sizeof *parts->item, part_less);
    return 1;
}

void rd_exec_parts_free(struct rd_allocator *a, struct rd_exec_parts *parts)
{
    rd_free_array(a, parts->item, parts->count, sizeof *parts->item);
    parts->item = NULL;
    parts->count = 0;
}

uint32_t rd_exec_parts_find(const struct rd_exec_parts *parts, uint64_t id)
{
    size_t low = 0, high = parts->count, mid;
    for (uint32_t i = 0; i < sizeof parts->older / sizeof *parts->older; i++)
        if (parts->older[i] && parts->older[i] == id >> 32)
            return (uint32_t)id & 0x3fffffff;
    while (low < high) {
        mid = low + (high - low) / 2;
        if (parts->item[mid].id == id)
            return parts->item[mid].index + 1;
        if (parts->item[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}
