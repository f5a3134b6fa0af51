/* SPDX-License-Identifier: BSD-3-Clause */
/* A private copy of a recording, for passes that add to it. */
#include "src/event/counter.h"
#include "subgraph/record.h"

#include <string.h>

/* Items that hold nothing themselves. */
static int copy_items(struct rd_allocator *a, void **to, size_t *to_count, size_t *to_capacity,
                      const void *from, size_t count, size_t size)
{
    if (!count)
        return 1;
    if (!rd_grow(a, to, to_capacity, 0, count, size))
        return 0;
    memcpy(*to, from, count * size);
    *to_count = count;
    return 1;
}
#define COPY(pool)                                                                           \
    copy_items(&to->rt->alloc, (void **)&to->pool.item, &to->pool.count, &to->pool.capacity, \
               g->pool.item, g->pool.count, sizeof *g->pool.item)

static int copy_plain(const struct rd_subgraph *g, struct rd_subgraph *to)
{
    return COPY(names) && COPY(args) && COPY(params) && COPY(params_initial) && COPY(nodes) &&
           COPY(accesses) && COPY(boxes) && COPY(chunks) && COPY(param_uses) && COPY(patches) &&
           COPY(edges) && COPY(groups) && COPY(extras) && COPY(whens) && COPY(kernels) &&
           COPY(kernel_args) && COPY(images) && COPY(sources) && COPY(image_table) && COPY(inner);
}

static int copy_slots(const struct rd_subgraph *g, struct rd_subgraph *to)
{
    size_t i;
    uint32_t b;
    if (g->slots.count && !RD_ROOM(to, slots, g->slots.count))
        return 0;
    for (i = 0; i < g->slots.count; i++) {
        struct rd_slot s = g->slots.item[i];
        if (s.count) {
            s.buffers = rd_alloc_array(&to->rt->alloc, s.count, sizeof *s.buffers);
            if (!s.buffers)
                return 0;
        }
        for (b = 0; b < s.count; b++) {
            s.buffers[b] = g->slots.item[i].buffers[b];
            rd_buffer_ref(s.buffers[b]);
        }
        to->slots.item[to->slots.count++] = s;
    }
    return 1;
}

static int copy_counted(const struct rd_subgraph *g, struct rd_subgraph *to)
{
    size_t i;
    if (!COPY(holders))
        return 0;
    for (i = 0; i < to->holders.count; i++) /* relaxed: g has a reference of its own */
        rd_add_relaxed(&to->holders.item[i]->refs, 1);
    if (!COPY(syncs))
        return 0;
    for (i = 0; i < to->syncs.count; i++)
        if (to->syncs.item[i].counter)
            rd_counter_ref(to->syncs.item[i].counter);
    return 1;
}

static int copy_sequence(const struct rd_subgraph *g, struct rd_subgraph *to)
{
    if (!g->sequence)
        return 1;
    to->sequence = rd_alloc_array(&to->rt->alloc, g->nodes.count, sizeof *to->sequence);
    if (to->sequence)
        memcpy(to->sequence, g->sequence, g->nodes.count * sizeof *to->sequence);
    return to->sequence != NULL;
}

struct rd_subgraph *rd_subgraph_copy(const struct rd_subgraph *g)
{
    struct rd_subgraph *to = rd_zalloc(&g->rt->alloc, sizeof *to, _Alignof(struct rd_subgraph));
    if (!to)
        return NULL;
    rd_runtime_ref(g->rt);
    rd_add_relaxed(&g->rt->subgraphs, 1); /* a statistic */
    to->rt = g->rt;
    to->serial = g->serial;
    to->edges_explicit = g->edges_explicit;
    to->tokens_end = g->tokens_end;
    rd_store_relaxed(&to->refs, 1); /* not shared yet */
    to->name = rd_strdup(&g->rt->alloc, g->name);
    if (to->name && copy_plain(g, to) && copy_slots(g, to) && copy_counted(g, to) &&
        copy_sequence(g, to))
        return to;
    rd_subgraph_unref(to);
    return NULL;
}
