/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement by recording order: each level's nodes, in the order of their ids, are cut into one
 * contiguous block per processor, of equal cost. A node's processor thus depends only on where in
 * its level it lies, so the columns of a stencil and the chunks of a repeated loop keep their
 * processor from level to level and from replay to replay, neighbours stay together, and a level of
 * one node runs on processor 0. */
#include "compile/passes.h"

#include <string.h>

__extension__ typedef unsigned __int128 product;

rondo_status rd_block_levels(struct rd_pass *p, struct rd_levels *levels)
{
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    uint32_t *level = rd_scratch_array(&temporary, p->nodes, sizeof *level), *first;
    rondo_status s = RONDO_ERR_MEMORY;
    if (!level) {
        rd_pass_memory();
        goto free_temporary;
    }
    levels->count = rd_order_levels(p, level);
    first = rd_scratch_zeroed(&p->scratch, (size_t)levels->count + 2, sizeof *first);
    levels->node = rd_scratch_array(&p->scratch, p->nodes, sizeof *levels->node);
    if (!first || !levels->node) {
        rd_pass_memory();
        goto free_temporary;
    }
    /* As for successors: first[l + 2] counts, first[l + 1] fills, first[l + 1] ends. */
    for (uint32_t v = 0; v < p->nodes; v++)
        first[level[v] + 2]++;
    for (uint32_t l = 0; l < levels->count; l++)
        first[l + 2] += first[l + 1];
    for (uint32_t v = 0; v < p->nodes; v++)
        levels->node[first[level[v] + 1]++] = v;
    levels->first = first;
    s = RONDO_OK;
free_temporary:
    rd_scratch_free(&temporary);
    return s;
}

static int is_free(const struct rd_pass *p, uint32_t v)
{
    return !p->in->bound || p->in->bound[v] == RD_PLACE_ANY;
}

/* One call of rd_block_place. */
struct blocks {
    const struct rd_pass *p;
    uint32_t count;
    int carry;
    uint64_t *load; /* of each processor, up to the level at hand */
    uint64_t *room; /* for nodes of that level that are not bound */
    uint16_t *processor;
};

/* An equal share of the level, with `carry` of all so far, less what the processor has of it. */
static uint64_t make_room(struct blocks *b, uint64_t cost, uint32_t count)
{
    uint64_t all = cost, share, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        all += b->load[i];
    share = all / count + 1;
    for (uint32_t i = 0; i < count; i++) {
        b->room[i] = b->load[i] < share ? share - b->load[i] : 0;
        sum += b->room[i];
    }
    return sum;
}

static void place_level(struct blocks *b, const uint32_t *node, uint32_t nodes)
{
    const struct rd_pass *p = b->p;
    uint64_t cost = 0, before = 0, rooms, upto;
    uint32_t unbound = 0, at = 0, count = b->count;
    if (!b->carry)
        memset(b->load, 0, count * sizeof *b->load);
    for (uint32_t i = 0; i < nodes; i++) {
        uint64_t here = rd_pass_cost(p, node[i]);
        if (is_free(p, node[i])) {
            cost += here;
            unbound++;
            continue;
        }
        b->processor[node[i]] = p->in->bound[node[i]];
        if (p->in->bound[node[i]] < count)
            b->load[p->in->bound[node[i]]] += here;
    }
    if (unbound < count)
        count = unbound ? unbound : 1;
    rooms = make_room(b, cost, count);
    upto = b->room[0];
    for (uint32_t i = 0; i < nodes && unbound; i++) {
        uint64_t here = rd_pass_cost(p, node[i]);
        if (!is_free(p, node[i]))
            continue;
        /* The processor in whose room the node's middle lies. */
        while (at + 1 < count && (product)(2 * before + here) * rooms >= (product)upto * cost * 2)
            upto += b->room[++at];
        b->processor[node[i]] = (uint16_t)at;
        b->load[at] += here;
        before += here;
    }
}

rondo_status rd_block_place(struct rd_pass *p, const struct rd_levels *levels, uint32_t count,
                            int carry, uint16_t *processor)
{
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    struct blocks b = { .p = p, .count = count, .carry = carry, .processor = processor };
    rondo_status s = RONDO_OK;
    RD_ASSERT(count > 0);
    b.load = rd_scratch_zeroed(&temporary, count, sizeof *b.load);
    b.room = rd_scratch_array(&temporary, count, sizeof *b.room);
    if (!b.load || !b.room)
        s = rd_pass_memory();
    for (uint32_t l = 0; l < levels->count && !s; l++)
        place_level(&b, levels->node + levels->first[l], levels->first[l + 1] - levels->first[l]);
    rd_scratch_free(&temporary);
    return s;
}
