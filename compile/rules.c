/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists for list.c: by rank; by rank and then the number of successors; by rank and a little
 * chance, drawn from fixed numbers. Each is a rule that often does well; the best of them is kept.
 */
#include "compile/passes.h"

enum { NODES_TRIED = 1 << 16, RULES_MOST = 16 };

uint32_t rd_rules_count(uint32_t nodes)
{
    uint32_t rules = NODES_TRIED / (nodes ? nodes : 1);
    return rules < 1 ? 1 : rules > RULES_MOST ? RULES_MOST : rules;
}

/* A number from 0 to 255 that looks drawn. */
static uint32_t draw(uint32_t v, uint32_t rule)
{
    uint32_t x = (v + 1) * 0x9e3779b1u ^ rule * 0x85ebca6bu;
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return x >> 24;
}

/* `rule` from 2 on: up to 1/16, 1/8 or 1/4 more. */
static uint64_t weigh(const struct rd_pass *p, uint32_t v, uint64_t rank, uint32_t rule)
{
    if (rule == 0)
        return rank;
    if (rule == 1)
        return rank + (p->succ_first[v + 1] - p->succ_first[v]);
    return rank + ((rank * draw(v, rule)) >> (12 - rule % 3));
}

static rondo_status prepare(struct rd_pass *p, struct rd_rules *r)
{
    r->weight = rd_scratch_array(&p->scratch, p->nodes, sizeof *r->weight);
    r->key = rd_scratch_array(&p->scratch, p->nodes, sizeof *r->key);
    r->spare = rd_scratch_array(&p->scratch, p->nodes, sizeof *r->spare);
    r->sorted = rd_scratch_array(&p->scratch, p->nodes, sizeof *r->sorted);
    return r->weight && r->key && r->spare && r->sorted ? rd_order_successors(p) : rd_pass_memory();
}

rondo_status rd_rules_try(struct rd_pass *p, struct rd_rules *r, const uint64_t *rank,
                          uint32_t rule, uint32_t count, struct rd_placement *placement)
{
    struct rd_keyed *sorted;
    rondo_status s = r->sorted ? RONDO_OK : prepare(p, r);
    if (s)
        return s;
    for (uint32_t v = 0; v < p->nodes; v++)
        r->weight[v] = weigh(p, v, rank[v], rule);
    sorted = rd_order_sort(p, r->weight, r->key, r->spare);
    for (uint32_t i = 0; i < p->nodes; i++)
        r->sorted[i] = sorted[i].node;
    return rd_list_schedule(p, r->sorted, count, placement);
}
