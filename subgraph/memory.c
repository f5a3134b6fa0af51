/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots in use become views of memories, found by address. The boxes' maps are made in
 * memory_map.c. */
#include "subgraph/memory.h"

#include "src/base/heap.h"

#include <string.h>

/* A slot with one of its buffers, while memories are made. */
struct entry {
    uint64_t base, end;
    uint32_t slot, index;
};

struct making {
    struct rd_allocator *alloc;
    const struct rd_subgraph *g;
    struct rd_memories *m;
    struct entry *entry; /* by address; a memory's lie together */
    uint32_t entries;
};

static uint64_t gcd_of(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* After how many replays a slot's buffer recurs. */
static uint32_t period_of(const struct rd_slot *s)
{
    return s->count < 2 ? 1 : s->count / (uint32_t)gcd_of(s->count, s->ring_stride);
}

/* ---- the slots in use */

static rondo_status use_slots(struct making *k)
{
    const struct rd_subgraph *g = k->g;
    struct rd_memories *m = k->m;
    uint64_t views = 0;
    size_t i;
    m->slot = rd_zalloc_array(k->alloc, g->slots.count, sizeof *m->slot);
    if (!m->slot)
        return RONDO_ERR_MEMORY;
    for (i = 0; i < g->accesses.count; i++)
        m->slot[g->accesses.item[i].slot].mode |= g->accesses.item[i].mode;
    for (i = 0; i < g->slots.count; i++) {
        const struct rd_slot *s = &g->slots.item[i];
        struct rd_view_list *l = &m->slot[i];
        l->alias_class = s->alias;
        l->ring_first = s->ring_first;
        l->ring_stride = s->ring_stride;
        l->first = (uint32_t)views;
        l->count = l->mode ? (s->count ? s->count : 1) : 0;
        views += l->count;
        k->entries += l->mode ? s->count : 0;
    }
    if (views > UINT32_MAX)
        return RONDO_ERR_MEMORY;
    m->views = (uint32_t)views;
    m->view = rd_zalloc_array(k->alloc, views, sizeof *m->view);
    return m->view ? RONDO_OK : RONDO_ERR_MEMORY;
}

/* ---- entries in the order of their addresses */

static int entry_less(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return a->base != b->base   ? a->base < b->base
           : a->slot != b->slot ? a->slot < b->slot
                                : a->index < b->index;
}

static rondo_status list_entries(struct making *k)
{
    uint32_t s, i, n = 0;
    k->entry = rd_alloc_array(k->alloc, k->entries, sizeof *k->entry);
    if (!k->entry)
        return RONDO_ERR_MEMORY;
    for (s = 0; s < k->g->slots.count; s++) {
        const struct rd_slot *slot = &k->g->slots.item[s];
        for (i = 0; k->m->slot[s].mode && i < slot->count; i++, n++) {
            k->entry[n].base = rd_buffer_address_of(slot->buffers[i]);
            /* The slot's own span; the buffer's, so that two slots of one buffer are one memory. */
            k->entry[n].end = k->entry[n].base + slot->buffers[i]->bytes;
            k->entry[n].slot = s;
            k->entry[n].index = i;
        }
    }
    rd_heap_sort(k->entry, k->entries, sizeof *k->entry, entry_less);
    return RONDO_OK;
}

/* The entries of one memory: from i on, one behind the last. */
static uint32_t memory_end(const struct making *k, uint32_t i)
{
    uint64_t end = k->entry[i].end;
    for (i++; i < k->entries && k->entry[i].base < end; i++)
        if (k->entry[i].end > end)
            end = k->entry[i].end;
    return i;
}

/* ---- rings */

static int same_ring(const struct rd_slot *a, const struct rd_slot *b)
{
    return a->count == b->count && a->ring_stride % a->count == b->ring_stride % b->count &&
           !memcmp(a->buffers, b->buffers, a->count * sizeof *a->buffers);
}

/* After how many replays the slots' meetings in a memory recur; 1 where they are always the same:
 * all are fixed, or all go through one ring that comes to this memory with one buffer only. */
static uint32_t phases_of(const struct making *k, uint32_t first, uint32_t end)
{
    const struct rd_slot *a = &k->g->slots.item[k->entry[first].slot];
    uint64_t phases = 1;
    uint32_t i;
    int one_ring = 1;
    for (i = first; i < end; i++) {
        const struct rd_slot *s = &k->g->slots.item[k->entry[i].slot];
        uint64_t period = period_of(s);
        if (phases <= RD_PHASES_MAX)
            phases = phases / gcd_of(phases, period) * period;
        one_ring &= k->entry[i].index == k->entry[first].index && (s == a || same_ring(s, a));
    }
    return one_ring ? 1 : phases <= RD_PHASES_MAX ? (uint32_t)phases : RD_PHASES_MAX + 1;
}

static void join_classes(struct rd_memories *m, uint32_t a, uint32_t b)
{
    uint32_t from = m->slot[a].alias_class, to = m->slot[b].alias_class, s, swap;
    if (from < to) {
        swap = from;
        from = to;
        to = swap;
    }
    for (s = 0; from != to && s < m->g->slots.count; s++)
        if (m->slot[s].alias_class == from)
            m->slot[s].alias_class = to;
}

/* Takes the slots of memories with too many phases apart: each has a memory of its own from then
 * on, and those that may meet are aliases. What they meet elsewhere goes along. */
static void take_apart(struct making *k)
{
    uint32_t first, end, i;
    int more = 1, apart;
    while (more)
        for (first = 0, more = 0; first < k->entries; first = end) {
            end = memory_end(k, first);
            apart = phases_of(k, first, end) > RD_PHASES_MAX;
            for (i = first; i < end; i++)
                apart |= k->m->slot[k->entry[i].slot].apart;
            for (i = first; apart && i < end; i++) {
                struct rd_view_list *l = &k->m->slot[k->entry[i].slot];
                more |= !l->apart;
                l->apart = 1;
                join_classes(k->m, k->entry[i].slot, k->entry[first].slot);
            }
            k->m->serial |= apart;
        }
}

/* ---- memories and their coordinates */

static struct rd_memory *add_memory(struct making *k)
{
    struct rd_memories *m = k->m;
    size_t capacity = m->capacity;
    if (!rd_grow(k->alloc, (void **)&m->memory, &capacity, m->count, 1, sizeof *m->memory))
        return NULL;
    m->capacity = (uint32_t)capacity;
    memset(&m->memory[m->count], 0, sizeof *m->memory);
    m->memory[m->count].phases = m->every;
    return &m->memory[m->count++];
}

/* The pitches all views of a memory have, as far as their extents make them matter; 0: they differ.
 */
static int common_pitches(const struct making *k, uint32_t first, uint32_t end, uint64_t pitch[2])
{
    uint64_t longest = 0;
    uint32_t i;
    int d;
    pitch[0] = pitch[1] = 0;
    for (i = first; i < end; i++) {
        const rondo_shape *s = &k->g->slots.item[k->entry[i].slot].shape;
        for (d = 0; d < 2; d++) {
            if (s->extent[d + 1] == 1)
                continue;
            if (pitch[d] && pitch[d] != s->pitch_bytes[d])
                return 0;
            pitch[d] = s->pitch_bytes[d];
        }
        if (s->pitch_bytes[0] > longest)
            longest = s->pitch_bytes[0];
    }
    if (!pitch[0] && !pitch[1])
        return 0; /* lines: bytes alone are exact and simpler */
    if (!pitch[0])
        pitch[0] = longest;
    if (!pitch[1])
        pitch[1] = UINT64_MAX;
    return 1;
}

/* Places a view; 0 when it crosses the end of a row or plane. */
static int place_view(const struct making *k, const struct entry *e, uint64_t origin,
                      const uint64_t pitch[2], struct rd_view *v)
{
    const rondo_shape *s = &k->g->slots.item[e->slot].shape;
    uint64_t row = (uint64_t)s->extent[0] * s->elem_bytes, offset = e->base - origin;
    v->at[2] = offset / pitch[1];
    v->at[1] = offset % pitch[1] / pitch[0];
    v->at[0] = offset % pitch[1] % pitch[0];
    if (v->at[0] + row > pitch[0])
        return 0;
    return pitch[1] == UINT64_MAX ||
           (v->at[1] + (uint64_t)s->extent[1] - 1) * pitch[0] + v->at[0] + row <= pitch[1];
}

static struct rd_view *view_of(const struct making *k, const struct entry *e)
{
    return &k->m->view[k->m->slot[e->slot].first + e->index];
}

static void place_views(const struct making *k, uint32_t first, uint32_t end,
                        struct rd_memory *memory)
{
    uint64_t pitch[2], origin = k->entry[first].base;
    uint32_t i;
    int planar = common_pitches(k, first, end, pitch);
    for (i = first; planar && i < end; i++)
        planar = place_view(k, &k->entry[i], origin, pitch, view_of(k, &k->entry[i]));
    memory->bytes_alone = !planar;
    for (i = first; !planar && i < end; i++) {
        struct rd_view *v = view_of(k, &k->entry[i]);
        v->at[0] = k->entry[i].base - origin;
        v->at[1] = v->at[2] = 0;
    }
}

static uint32_t lcm_of(uint32_t a, uint32_t b) { return a / (uint32_t)gcd_of(a, b) * b; }

static void note_mode(struct rd_memory *memory, uint8_t mode)
{
    memory->written |= (mode & RONDO_WRITE) != 0;
    memory->commuting |= (mode & RD_COMMUTES) != 0;
}

/* One memory of buffers, from the entries [first, end). */
static rondo_status found_memory(struct making *k, uint32_t first, uint32_t end)
{
    struct rd_memory *memory = add_memory(k);
    uint32_t i, period = 1;
    if (!memory)
        return RONDO_ERR_MEMORY;
    for (i = first; i < end; i++) {
        const struct rd_slot *s = &k->g->slots.item[k->entry[i].slot];
        note_mode(memory, k->m->slot[k->entry[i].slot].mode);
        view_of(k, &k->entry[i])->memory = k->m->count - 1;
        if (lcm_of(period_of(s), k->m->every) > period)
            period = lcm_of(period_of(s), k->m->every);
    }
    if (!memory->written)
        return RONDO_OK; /* nothing conflicts in it */
    memory->phases = lcm_of(phases_of(k, first, end), k->m->every);
    if (memory->phases > k->m->phases)
        k->m->phases = memory->phases;
    if (period > k->m->period) {
        k->m->period = period;
        k->m->period_slot = k->entry[first].slot;
    }
    place_views(k, first, end, memory);
    return RONDO_OK;
}

static rondo_status found_memories(struct making *k)
{
    uint32_t first, end;
    rondo_status status = RONDO_OK;
    for (first = 0; first < k->entries && !status; first = end) {
        end = memory_end(k, first);
        if (!k->m->slot[k->entry[first].slot].apart)
            status = found_memory(k, first, end);
    }
    return status;
}

/* Memories of slots that have one each: without buffers of their own, or taken apart. */
static rondo_status own_memories(struct making *k)
{
    uint32_t s;
    for (s = 0; s < k->g->slots.count; s++) {
        const struct rd_slot *slot = &k->g->slots.item[s];
        struct rd_view_list *l = &k->m->slot[s];
        struct rd_memory *memory;
        if (!l->mode || (slot->count && !l->apart))
            continue;
        memory = add_memory(k);
        if (!memory)
            return RONDO_ERR_MEMORY;
        memory->bound = slot->kind == RD_SLOT_BOUND || slot->kind == RD_SLOT_TEMPORARY;
        note_mode(memory, l->mode);
        l->count = 1;
        k->m->view[l->first].memory = k->m->count - 1;
    }
    return RONDO_OK;
}

rondo_status rd_memories_make(struct rd_allocator *a, const struct rd_subgraph *g, uint32_t every,
                              struct rd_memories *m)
{
    struct making k = { a, g, m, NULL, 0 };
    rondo_status status;
    memset(m, 0, sizeof *m);
    m->g = g;
    m->every = m->period = m->phases = every;
    status = use_slots(&k);
    if (!status)
        status = list_entries(&k);
    if (!status) {
        take_apart(&k);
        status = found_memories(&k);
    }
    if (!status)
        status = own_memories(&k);
    rd_free_array(a, k.entry, k.entries, sizeof *k.entry);
    if (!status && !rd_memories_map(a, m))
        status = RONDO_ERR_MEMORY;
    if (status) {
        rd_memories_free(a, m);
        return rd_error(status, "subgraph '%s': no memory to analyse accesses", g->name);
    }
    return RONDO_OK;
}

void rd_memories_free(struct rd_allocator *a, struct rd_memories *m)
{
    uint32_t i;
    for (i = 0; i < m->count; i++)
        rd_map_free(a, &m->memory[i].map);
    rd_free_array(a, m->memory, m->capacity, sizeof *m->memory);
    rd_free_array(a, m->view, m->views, sizeof *m->view);
    if (m->g)
        rd_free_array(a, m->slot, m->g->slots.count, sizeof *m->slot);
    memset(m, 0, sizeof *m);
}
