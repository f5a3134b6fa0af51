/* SPDX-License-Identifier: BSD-3-Clause */
/* One node per chunk of a range. */
#include "subgraph/record.h"

#include <string.h>

/* The k-th of `chunks` parts of [first, first + count): sizes differ by at most one, larger first.
 */
static void part_of(int64_t first, int64_t count, uint32_t chunks, uint32_t k, int64_t *part_first,
                    int64_t *part_count)
{
    int64_t base = count / chunks, larger = count % chunks;
    *part_first = first + base * k + (k < larger ? k : larger);
    *part_count = base + (k < larger);
}

static rondo_status check_range(const char *name, const rondo_for_desc *d, uint32_t chunks[3],
                                uint32_t *nodes)
{
    uint64_t all = 1;
    int i, absent = 0;
    for (i = 0; i < 3; i++) {
        int64_t first = d->range.first[i], count = d->range.count[i];
        chunks[i] = d->chunks[i] ? d->chunks[i] : 1;
        if (first < 0 || count < 0 || first > INT64_MAX - count)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': range: first %lld, count %lld in dimension %d", name,
                            (long long)first, (long long)count, i);
        if (!count && !i)
            return rd_error(RONDO_ERR_INVALID, "node '%s': range is empty: count[0] is 0", name);
        if (count ? absent : first != 0)
            return rd_error(
                RONDO_ERR_INVALID, "node '%s': range: first %lld, count %lld in dimension %d%s",
                name, (long long)first, (long long)count, i, count ? " behind an absent one" : "");
        absent |= !count;
        if (chunks[i] > (count ? count : 1))
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': %u chunks of %lld elements in dimension %d", name,
                            chunks[i], (long long)count, i);
        if (__builtin_mul_overflow(all, (uint64_t)chunks[i], &all) || all > RD_PARTS_MAX)
            return rd_error(RONDO_ERR_INVALID, "node '%s': %u x %u x %u chunks are too many", name,
                            d->chunks[0], d->chunks[1], d->chunks[2]);
    }
    *nodes = (uint32_t)all;
    return RONDO_OK;
}

/* "relax[3]". */
static rondo_status chunk_name(struct rd_subgraph *g, uint32_t base, size_t base_length, uint32_t k,
                               uint32_t *name)
{
    char digits[12];
    size_t n = sizeof digits, bytes;
    char *to;
    digits[--n] = 0;
    digits[--n] = ']';
    do
        digits[--n] = (char)('0' + k % 10);
    while (k /= 10);
    bytes = base_length + 1 + sizeof digits - n;
    if (bytes > UINT32_MAX - g->names.count || !RD_ROOM(g, names, bytes))
        return rd_no_memory(g);
    to = g->names.item + g->names.count;
    memcpy(to, g->names.item + base, base_length);
    to[base_length] = '[';
    memcpy(to + base_length + 1, digits + n, sizeof digits - n);
    *name = g->last_name = (uint32_t)g->names.count;
    g->names.count += bytes;
    return RONDO_OK;
}

static int any_chunk(const rondo_task_desc *task)
{
    uint32_t i;
    for (i = 0; i < task->access_count; i++)
        if (task->accesses[i].flags & RONDO_CHUNK)
            return 1;
    return 0;
}

/* The chunk of node k, dimension 0 fastest; an absent dimension has count 0. */
static rondo_region chunk_of(const rondo_region *range, const uint32_t chunks[3], uint32_t k)
{
    rondo_region chunk;
    int d;
    for (d = 0; d < 3; d++) {
        part_of(range->first[d], range->count[d], chunks[d], k % chunks[d], &chunk.first[d],
                &chunk.count[d]);
        k /= chunks[d];
    }
    return chunk;
}

static rondo_status add_nodes(struct rd_subgraph *g, const rondo_task_desc *task,
                              const rondo_region *range, const uint32_t chunks[3],
                              struct rd_node *n, uint32_t nodes)
{
    uint32_t base = n->name, k, index;
    size_t base_length = strlen(rd_subgraph_text(g, base));
    int each = any_chunk(task); /* else the nodes share their accesses */
    rondo_status status = RONDO_OK;
    if (!RD_ROOM(g, chunks, nodes) || !RD_ROOM(g, nodes, nodes))
        return rd_no_memory(g);
    for (k = 0; k < nodes && !status; k++) {
        rondo_region chunk = chunk_of(range, chunks, k);
        n->chunk = (uint32_t)g->chunks.count;
        g->chunks.item[g->chunks.count++] = chunk;
        status = chunk_name(g, base, base_length, k, &n->name);
        if (!status && (each || !k))
            status = rd_take_accesses(g, task, &chunk, n);
        if (!status)
            status = rd_node_add(g, n, &index);
    }
    return status;
}

rondo_status rd_group_add(struct rd_subgraph *g, uint32_t first, uint32_t count, rondo_node *handle)
{
    struct rd_group *group;
    if (g->groups.count >= RD_PARTS_MAX || !RD_ROOM(g, groups, 1))
        return rd_no_memory(g);
    group = &g->groups.item[g->groups.count];
    group->first = first;
    group->count = count;
    handle->id = rd_part_id(g->serial, RD_PART_GROUP, g->groups.count++);
    return RONDO_OK;
}

rondo_status rd_record_for(struct rd_subgraph *g, const rondo_task_desc *task,
                           const rondo_for_desc *desc, rondo_node *group)
{
    const char *name = task->name ? task->name : "task";
    struct rd_mark mark;
    struct rd_node n;
    uint32_t chunks[3], nodes = 0, first = (uint32_t)g->nodes.count;
    rondo_status status = check_range(name, desc, chunks, &nodes);
    if (status)
        return status;
    memset(&n, 0, sizeof n);
    rd_mark_take(g, &mark);
    status = rd_name_add(g, name, &n.name);
    if (!status)
        status = rd_take_task(g, task, &n);
    if (!status)
        status = rd_take_after(g, task, n.name, first, nodes);
    if (!status)
        status = add_nodes(g, task, &desc->range, chunks, &n, nodes);
    if (!status)
        status = rd_group_add(g, first, nodes, group);
    if (status)
        rd_mark_restore(g, &mark);
    return status;
}
