/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording as an object: its life, its pools, its names, its first error, and what its
 * handles stand for. */
#include "subgraph/record.h"

#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/event/counter.h"

#include <stdio.h>
#include <string.h>

static rd_atomic32 last_serial;

#define FREE_POOL(g, pool) \
    rd_free_array(&(g)->rt->alloc, (g)->pool.item, (g)->pool.capacity, sizeof *(g)->pool.item)

static void slot_free(struct rd_subgraph *g, struct rd_slot *s)
{
    uint32_t i;
    for (i = 0; i < s->count; i++)
        rd_buffer_unref(s->buffers[i]);
    rd_free_array(&g->rt->alloc, s->buffers, s->count, sizeof *s->buffers);
}

static void sync_free(struct rd_sync *s)
{
    if (s->counter)
        rd_counter_unref(s->counter);
}

static void subgraph_free(struct rd_subgraph *g)
{
    struct rd_runtime *rt = g->rt;
    size_t i;
    for (i = 0; i < g->slots.count; i++)
        slot_free(g, &g->slots.item[i]);
    for (i = 0; i < g->holders.count; i++)
        rd_holder_unref(&rt->alloc, g->holders.item[i]);
    for (i = 0; i < g->syncs.count; i++)
        sync_free(&g->syncs.item[i]);
    FREE_POOL(g, names);
    FREE_POOL(g, args);
    FREE_POOL(g, slots);
    FREE_POOL(g, params);
    FREE_POOL(g, params_initial);
    FREE_POOL(g, nodes);
    FREE_POOL(g, accesses);
    FREE_POOL(g, boxes);
    FREE_POOL(g, chunks);
    FREE_POOL(g, param_uses);
    FREE_POOL(g, patches);
    FREE_POOL(g, edges);
    FREE_POOL(g, holders);
    FREE_POOL(g, groups);
    FREE_POOL(g, extras);
    FREE_POOL(g, whens);
    FREE_POOL(g, syncs);
    FREE_POOL(g, inner);
    FREE_POOL(g, kernels);
    FREE_POOL(g, kernel_args);
    FREE_POOL(g, images);
    FREE_POOL(g, sources);
    FREE_POOL(g, image_table);
    rd_free_array(&rt->alloc, g->sequence, g->nodes.count, sizeof *g->sequence);
    rd_free(&rt->alloc, g->name, g->name ? strlen(g->name) + 1 : 0);
    rd_free(&rt->alloc, g, sizeof *g);
    rd_sub_relaxed(&rt->subgraphs, 1); /* a statistic */
    rd_runtime_unref(rt);
}

static rondo_status no_memory(const char *name)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory", name);
}

rondo_status rd_subgraph_new(struct rd_runtime *rt, const rondo_subgraph_desc *desc,
                             struct rd_subgraph **subgraph)
{
    const char *name = desc->name ? desc->name : "subgraph";
    struct rd_subgraph *g;
    if (desc->flags & ~(uint32_t)RONDO_EDGES_EXPLICIT)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': flags 0x%x: unknown bits", name,
                        desc->flags);
    g = rd_zalloc(&rt->alloc, sizeof *g, _Alignof(struct rd_subgraph));
    if (!g)
        return no_memory(name);
    rd_runtime_ref(rt); /* subgraph_free drops one: the caller keeps its own until success */
    rd_add_relaxed(&rt->subgraphs, 1);
    g->rt = rt;
    g->edges_explicit = (desc->flags & RONDO_EDGES_EXPLICIT) != 0;
    g->serial = rd_add_relaxed(&last_serial, 1) + 1; /* only to differ */
    rd_store_relaxed(&g->refs, 1);                   /* not shared yet */
    g->name = rd_strdup(&rt->alloc, name);
    if (!g->name || !RD_ROOM(g, names, 1) || !RD_ROOM(g, chunks, 1))
        goto free_subgraph;
    g->names.item[g->names.count++] = 0;
    memset(&g->chunks.item[g->chunks.count++], 0, sizeof *g->chunks.item);
    rd_runtime_unref(rt);
    *subgraph = g;
    return RONDO_OK;
free_subgraph:
    subgraph_free(g);
    return no_memory(name);
}

rondo_status rd_subgraph_publish(struct rd_subgraph *g)
{
    g->id = rd_id_new(RD_ID_SUBGRAPH, g);
    return g->id ? RONDO_OK : no_memory(g->name);
}

rondo_status rd_subgraph_create(struct rd_runtime *rt, const rondo_subgraph_desc *desc,
                                struct rd_subgraph **subgraph)
{
    struct rd_subgraph *g;
    rondo_status status = rd_subgraph_new(rt, desc, &g);
    if (status)
        return status;
    status = rd_subgraph_publish(g);
    if (status) {
        rd_runtime_ref(rt); /* the caller keeps its own */
        subgraph_free(g);
        return status;
    }
    *subgraph = g;
    return RONDO_OK;
}

struct rd_subgraph *rd_subgraph_get(rondo_subgraph handle, rondo_status *status)
{
    struct rd_subgraph *g;
    rd_rcu_read_lock();
    g = rd_id_find(handle.id, RD_ID_SUBGRAPH);
    if (g) /* relaxed: the handle's own reference goes after a grace period */
        rd_add_relaxed(&g->refs, 1);
    rd_rcu_read_unlock();
    if (!g)
        *status = rd_id_error(handle.id, RD_ID_SUBGRAPH);
    return g;
}

void rd_subgraph_unref(struct rd_subgraph *g)
{
    /* acq_rel: every holder's use of the recording is before its freeing. */
    if (rd_sub_acq_rel(&g->refs, 1) == 1)
        subgraph_free(g);
}

void rd_holder_unref(struct rd_allocator *a, struct rd_holder *h)
{
    /* acq_rel: every task's use of the context is before its release. */
    if (rd_sub_acq_rel(&h->refs, 1) != 1)
        return;
    if (h->release)
        h->release(h->context);
    rd_free(a, h, sizeof *h);
}

rondo_status rd_subgraph_error(const struct rd_subgraph *g)
{
    return g->error ? rd_error(g->error, "%s", g->error_message) : RONDO_OK;
}

rondo_status rd_subgraph_stick(struct rd_subgraph *g, rondo_status status)
{
    if (status && !g->error) {
        g->error = status;
        snprintf(g->error_message, sizeof g->error_message, "%s", rd_error_text());
    }
    return status;
}

void rd_mark_take(const struct rd_subgraph *g, struct rd_mark *mark)
{
    mark->names = g->names.count;
    mark->args = g->args.count;
    mark->slots = g->slots.count;
    mark->params = g->params.count;
    mark->params_initial = g->params_initial.count;
    mark->nodes = g->nodes.count;
    mark->accesses = g->accesses.count;
    mark->boxes = g->boxes.count;
    mark->chunks = g->chunks.count;
    mark->param_uses = g->param_uses.count;
    mark->patches = g->patches.count;
    mark->edges = g->edges.count;
    mark->holders = g->holders.count;
    mark->groups = g->groups.count;
    mark->extras = g->extras.count;
    mark->whens = g->whens.count;
    mark->syncs = g->syncs.count;
    mark->inner = g->inner.count;
    mark->kernels = g->kernels.count;
    mark->kernel_args = g->kernel_args.count;
    mark->images = g->images.count;
    mark->sources = g->sources.count;
}

/* One of a refused call: made by it and nobody else's yet, or shared with an inner subgraph. */
static void holder_take_back(struct rd_subgraph *g, struct rd_holder *h)
{
    if (rd_sub_acq_rel(&h->refs, 1) == 1)
        rd_free(&g->rt->alloc, h, sizeof *h);
}

void rd_mark_restore(struct rd_subgraph *g, const struct rd_mark *mark)
{
    while (g->slots.count > mark->slots)
        slot_free(g, &g->slots.item[--g->slots.count]);
    while (g->holders.count > mark->holders)
        holder_take_back(g, g->holders.item[--g->holders.count]);
    while (g->syncs.count > mark->syncs)
        sync_free(&g->syncs.item[--g->syncs.count]);
    rd_images_cut(g, mark->images, mark->sources);
    g->names.count = mark->names;
    if (g->last_name >= g->names.count)
        g->last_name = 0;
    g->args.count = mark->args;
    g->params.count = mark->params;
    g->params_initial.count = mark->params_initial;
    g->nodes.count = mark->nodes;
    g->accesses.count = mark->accesses;
    g->boxes.count = mark->boxes;
    g->chunks.count = mark->chunks;
    g->param_uses.count = mark->param_uses;
    g->patches.count = mark->patches;
    g->edges.count = mark->edges;
    g->groups.count = mark->groups;
    g->extras.count = mark->extras;
    g->whens.count = mark->whens;
    g->inner.count = mark->inner;
    g->kernels.count = mark->kernels;
    g->kernel_args.count = mark->kernel_args;
}

int rd_pool_grow(struct rd_subgraph *g, void **items, size_t *capacity, size_t count, size_t more,
                 size_t size)
{
    if (count > more && rd_grow(&g->rt->alloc, items, capacity, count, count, size))
        return 1;
    return rd_grow(&g->rt->alloc, items, capacity, count, more, size);
}

rondo_status rd_no_memory(const struct rd_subgraph *g)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to record more", g->name);
}

rondo_status rd_name_add(struct rd_subgraph *g, const char *text, uint32_t *name)
{
    size_t bytes;
    if (!strcmp(text, rd_subgraph_text(g, g->last_name))) {
        *name = g->last_name;
        return RONDO_OK;
    }
    bytes = strlen(text) + 1;
    if (bytes > UINT32_MAX - g->names.count || !RD_ROOM(g, names, bytes))
        return rd_no_memory(g);
    memcpy(g->names.item + g->names.count, text, bytes);
    *name = g->last_name = (uint32_t)g->names.count;
    g->names.count += bytes;
    return RONDO_OK;
}

/* Says what is wrong with a handle that rd_part_is refused. */
static rondo_status part_error(const struct rd_subgraph *g, uint64_t id, const char *what,
                               const char *part)
{
    if (!id)
        return rd_error(RONDO_ERR_INVALID, "%s: the %s handle is {0}", what, part);
    if (id >> 32 != g->serial)
        return rd_error(RONDO_ERR_INVALID, "%s: handle 0x%llx is of another subgraph than '%s'",
                        what, (unsigned long long)id, g->name);
    return rd_error(RONDO_ERR_INVALID, "%s: handle 0x%llx is no %s of subgraph '%s'", what,
                    (unsigned long long)id, part, g->name);
}

rondo_status rd_subgraph_slot_of(const struct rd_subgraph *g, rondo_slot handle, const char *what,
                                 uint32_t *index)
{
    uint32_t i;
    if (!rd_part_is(g, handle.id, RD_PART_SLOT, g->slots.count, &i))
        return part_error(g, handle.id, what, "slot");
    *index = i;
    return RONDO_OK;
}

rondo_status rd_subgraph_nodes_of(const struct rd_subgraph *g, rondo_node handle, const char *what,
                                  uint32_t *first, uint32_t *count)
{
    uint32_t i;
    if (rd_part_is(g, handle.id, RD_PART_NODE, g->nodes.count, &i)) {
        *first = i;
        *count = 1;
        return RONDO_OK;
    }
    if (!rd_part_is(g, handle.id, RD_PART_GROUP, g->groups.count, &i))
        return part_error(g, handle.id, what, "node");
    *first = g->groups.item[i].first;
    *count = g->groups.item[i].count;
    return RONDO_OK;
}
