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

/* How much of the level each processor has room for: equal shares less what is bound to it. */
static uint64_t room(const struct rd_pass *p, const uint32_t *node, uint32_t nodes, uint32_t count,
                     uint64_t *load)
{
    uint64_t all = 0, share, sum = 0;
    memset(load, 0, count * sizeof *load);
    for (uint32_t i = 0; i < nodes; i++) {
        all += rd_pass_cost(p, node[i]);
        if (!is_free(p, node[i]) && p->in->bound[node[i]] < count)
            load[p->in->bound[node[i]]] += rd_pass_cost(p, node[i]);
    }
    share = all / count + 1;
    for (uint32_t i = 0; i < count; i++) {
        load[i] = load[i] < share ? share - load[i] : 0;
        sum += load[i];
    }
    return sum;
}

static void place_level(const struct rd_pass *p, const uint32_t *node, uint32_t nodes,
                        uint32_t count, uint64_t *load, uint16_t *processor)
{
    uint64_t cost = 0, before = 0, rooms = count, upto = 1;
    uint32_t unbound = 0, at = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        if (is_free(p, node[i])) {
            cost += rd_pass_cost(p, node[i]);
            unbound++;
        } else {
            processor[node[i]] = p->in->bound[node[i]];
        }
    }
    if (!unbound)
        return;
    if (unbound < nodes) {
        rooms = room(p, node, nodes, count, load);
        upto = load[0];
    } else if (nodes < count) {
        count = nodes;
        rooms = count;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        uint64_t here = rd_pass_cost(p, node[i]);
        if (!is_free(p, node[i]))
            continue;
        /* The processor in whose share the node's middle lies. */
        while (at + 1 < count && (product)(2 * before + here) * rooms >= (product)upto * cost * 2) {
            at++;
            upto += unbound < nodes ? load[at] : 1;
        }
        processor[node[i]] = (uint16_t)at;
        before += here;
    }
}

rondo_status rd_block_place(struct rd_pass *p, const struct rd_levels *levels, uint32_t count,
                            uint16_t *processor)
{
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    uint64_t *load = rd_scratch_array(&temporary, count, sizeof *load);
    if (!load)
        return rd_pass_memory();
    for (uint32_t l = 0; l < levels->count; l++)
        place_level(p, levels->node + levels->first[l], levels->first[l + 1] - levels->first[l],
                    count, load, processor);
    rd_scratch_free(&temporary);
    return RONDO_OK;
}
