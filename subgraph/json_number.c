/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for what a recording knows by address: buffers, the memories that several of them share,
 * counters; and the edges by hand sorted to the nodes they lead to. */
#include "src/event/counter.h"
#include "subgraph/json_writer.h"
#include "subgraph/sort.h"

#include <string.h>

/* Unique keys, sorted, while things are numbered by them. */
struct ranks {
    uint64_t *key, *scratch;
    uint32_t *number;
    size_t count, room;
};

static void ranks_free(struct rd_allocator *a, struct ranks *r)
{
    rd_free_array(a, r->key, r->room, sizeof *r->key);
    rd_free_array(a, r->scratch, r->room, sizeof *r->scratch);
    rd_free_array(a, r->number, r->room, sizeof *r->number);
}

static size_t rank_of(const struct ranks *r, uint64_t key)
{
    size_t low = 0, high = r->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->key[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int ranks_make(struct rd_allocator *a, struct ranks *r, const uint64_t *key, size_t count)
{
    size_t i;
    memset(r, 0, sizeof *r);
    r->room = count;
    r->key = rd_alloc_array(a, count, sizeof *r->key);
    r->scratch = rd_alloc_array(a, count, sizeof *r->scratch);
    r->number = rd_alloc_array(a, count, sizeof *r->number);
    if (!r->key || !r->scratch || !r->number)
        return 0;
    if (count)
        memcpy(r->key, key, count * sizeof *key);
    rd_sort(r->key, count, r->scratch);
    for (i = 0; i < count; i++)
        if (!i || r->key[i] != r->key[r->count - 1])
            r->key[r->count++] = r->key[i];
    for (i = 0; i < r->count; i++)
        r->number[i] = UINT32_MAX;
    return 1;
}

/* number[i]: how many different keys come before the first that is key[i]. */
static int number_keys(struct rd_allocator *a, const uint64_t *key, size_t count, uint32_t *number,
                       uint32_t *different)
{
    struct ranks r;
    size_t i;
    int made = ranks_make(a, &r, key, count);
    *different = 0;
    for (i = 0; made && i < count; i++) {
        uint32_t *n = &r.number[rank_of(&r, key[i])];
        if (*n == UINT32_MAX)
            *n = (*different)++;
        number[i] = *n;
    }
    ranks_free(a, &r);
    return made;
}

/* ---- buffers */

static int number_buffers(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    struct rd_allocator *a = &g->rt->alloc;
    uint64_t *key;
    size_t i, k, n = 0;
    int made;
    w->use_first = rd_zalloc_array(a, g->slots.count + 1, sizeof *w->use_first);
    if (!w->use_first)
        return 0;
    for (i = 0; i < g->slots.count; i++)
        w->use_first[i + 1] = w->use_first[i] + g->slots.item[i].count;
    w->uses = w->use_first[g->slots.count];
    key = rd_alloc_array(a, w->uses, sizeof *key);
    w->buffer_of_use = rd_alloc_array(a, w->uses, sizeof *w->buffer_of_use);
    w->buffer = rd_alloc_array(a, w->uses, sizeof *w->buffer);
    w->memory = rd_alloc_array(a, w->uses, sizeof *w->memory);
    w->offset = rd_zalloc_array(a, w->uses, sizeof *w->offset);
    made = key && w->buffer_of_use && w->buffer && w->memory && w->offset;
    for (i = 0; made && i < g->slots.count; i++)
        for (k = 0; k < g->slots.item[i].count; k++)
            key[n++] = (uint64_t)(uintptr_t)g->slots.item[i].buffers[k];
    made = made && number_keys(a, key, n, w->buffer_of_use, &w->buffers);
    for (i = 0; made && i < n; i++)
        w->buffer[w->buffer_of_use[i]] = (struct rd_buffer *)(uintptr_t)key[i];
    rd_free_array(a, key, w->uses, sizeof *key);
    return made;
}

/* Buffers in the order of their addresses; those of one address in any. */
static int sort_buffers(struct rd_json_writer *w, uint32_t *order)
{
    struct rd_allocator *a = &w->g->rt->alloc;
    uint64_t *base = rd_alloc_array(a, w->buffers, sizeof *base);
    uint32_t *place = rd_zalloc_array(a, w->buffers, sizeof *place), i;
    struct ranks r;
    int made = base && place;
    for (i = 0; made && i < w->buffers; i++)
        base[i] = rd_buffer_address_of(w->buffer[i]);
    if (made) {
        made = ranks_make(a, &r, base, w->buffers);
        /* A counting sort by rank. */
        for (i = 0; made && i < w->buffers; i++)
            if (rank_of(&r, base[i]) + 1 < r.count)
                place[rank_of(&r, base[i]) + 1]++;
        for (i = 1; made && i < r.count; i++)
            place[i] += place[i - 1];
        for (i = 0; made && i < w->buffers; i++)
            order[place[rank_of(&r, base[i])]++] = i;
        ranks_free(a, &r);
    }
    rd_free_array(a, base, w->buffers, sizeof *base);
    rd_free_array(a, place, w->buffers, sizeof *place);
    return made;
}

/* The buffers order[first .. end) share bytes, one with the next that has not ended. */
static void note_memory(struct rd_json_writer *w, const uint32_t *order, uint32_t first,
                        uint32_t end)
{
    uint64_t base = rd_buffer_address_of(w->buffer[order[first]]);
    uint32_t i, least = UINT32_MAX;
    for (i = first; i < end; i++) {
        least = order[i] < least ? order[i] : least;
        w->offset[order[i]] = rd_buffer_address_of(w->buffer[order[i]]) - base;
    }
    /* For now by the number of its first buffer. */
    for (i = first; i < end; i++)
        w->memory[order[i]] = end - first > 1 ? least : (uint32_t)RD_JSON_ALONE;
}

static int find_memories(struct rd_json_writer *w)
{
    struct rd_allocator *a = &w->g->rt->alloc;
    uint32_t *order = rd_alloc_array(a, w->buffers, sizeof *order), i, first = 0, next = 0;
    int made = order && sort_buffers(w, order);
    uint64_t end = 0;
    for (i = 0; made && i <= w->buffers; i++) {
        const struct rd_buffer *b = i < w->buffers ? w->buffer[order[i]] : NULL;
        if (i && (!b || rd_buffer_address_of(b) >= end)) {
            note_memory(w, order, first, i);
            first = i;
            end = 0;
        }
        if (b && rd_buffer_address_of(b) + b->bytes > end)
            end = rd_buffer_address_of(b) + b->bytes;
    }
    /* A memory's first buffer comes before its others. */
    for (i = 0; made && i < w->buffers; i++)
        if (w->memory[i] != RD_JSON_ALONE)
            order[i] = w->memory[i] = w->memory[i] == i ? next++ : order[w->memory[i]];
    rd_free_array(a, order, w->buffers, sizeof *order);
    return made;
}

/* ---- counters, edges */

static int number_counters(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    struct rd_allocator *a = &g->rt->alloc;
    size_t n = g->nodes.count, i, k = 0, syncs = g->syncs.count;
    uint64_t *key = rd_alloc_array(a, syncs, sizeof *key);
    uint32_t *node_sync = rd_alloc_array(a, syncs, sizeof *node_sync), counters;
    uint32_t *number = rd_alloc_array(a, syncs, sizeof *number);
    int made;
    w->counter_of = rd_zalloc_array(a, syncs, sizeof *w->counter_of);
    made = key && node_sync && number && w->counter_of;
    /* In the order of the nodes. */
    for (i = 0; made && i < n; i++) {
        const uint32_t sync = rd_node_extra(g, (uint32_t)i)->sync;
        if (sync && g->syncs.item[sync - 1].counter && k < syncs) {
            key[k] = (uint64_t)(uintptr_t)g->syncs.item[sync - 1].counter;
            node_sync[k++] = sync - 1;
        }
    }
    made = made && number_keys(a, key, k, number, &counters);
    for (i = 0; made && i < k; i++)
        w->counter_of[node_sync[i]] = number[i];
    rd_free_array(a, key, syncs, sizeof *key);
    rd_free_array(a, node_sync, syncs, sizeof *node_sync);
    rd_free_array(a, number, syncs, sizeof *number);
    return made;
}

static int sort_edges(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    struct rd_allocator *a = &g->rt->alloc;
    size_t i, nodes = g->nodes.count;
    uint32_t v;
    w->after_first = rd_zalloc_array(a, nodes + 2, sizeof *w->after_first);
    w->after = rd_alloc_array(a, g->edges.count, sizeof *w->after);
    if (!w->after_first || !w->after)
        return 0;
    /* Counted two places on, so that placing them moves each list's begin to where it belongs. */
    for (i = 0; i < g->edges.count; i++)
        if (rd_json_is_after(&g->edges.item[i]))
            w->after_first[g->edges.item[i].to + 2]++;
    for (v = 2; v <= nodes + 1; v++)
        w->after_first[v] += w->after_first[v - 1];
    for (i = 0; i < g->edges.count; i++)
        if (rd_json_is_after(&g->edges.item[i]))
            w->after[w->after_first[g->edges.item[i].to + 1]++] = g->edges.item[i].from;
    return 1;
}

static int name_all(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    uint32_t i;
    for (i = 0; i < g->slots.count; i++)
        if (!rd_names_add(g, &w->slot_names, g->slots.item, sizeof *g->slots.item, i))
            return 0;
    for (i = 0; i < g->params.count; i++)
        if (!rd_names_add(g, &w->param_names, g->params.item, sizeof *g->params.item, i))
            return 0;
    return 1;
}

rondo_status rd_json_numbers_make(struct rd_json_writer *w)
{
    if (number_buffers(w) && find_memories(w) && number_counters(w) && sort_edges(w) && name_all(w))
        return RONDO_OK;
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to write it", w->g->name);
}

void rd_json_numbers_free(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    struct rd_allocator *a = &g->rt->alloc;
    rd_names_free(g, &w->slot_names);
    rd_names_free(g, &w->param_names);
    rd_free_array(a, w->use_first, g->slots.count + 1, sizeof *w->use_first);
    rd_free_array(a, w->buffer_of_use, w->uses, sizeof *w->buffer_of_use);
    rd_free_array(a, w->buffer, w->uses, sizeof *w->buffer);
    rd_free_array(a, w->memory, w->uses, sizeof *w->memory);
    rd_free_array(a, w->offset, w->uses, sizeof *w->offset);
    rd_free_array(a, w->counter_of, g->syncs.count, sizeof *w->counter_of);
    rd_free_array(a, w->after_first, g->nodes.count + 2, sizeof *w->after_first);
    rd_free_array(a, w->after, g->edges.count, sizeof *w->after);
}
