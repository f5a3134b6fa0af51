/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node on a device cannot do: slots that share bytes and not a geometry are apart there, so
 * that of two writes to the same bytes neither would know of the other. A read beside a write sees
 * what was there before the node. */
#include "compile/residency_parts.h"
#include "subgraph/bytes.h"

/* Whether two accesses may touch the same bytes. What is bound per replay and declared as an alias
 * may. */
static int meet(const struct rd_subgraph *g, const struct rd_access *a, const struct rd_access *b)
{
    uint32_t a_count, b_count, i, k;
    const rd_box *x = rd_access_boxes(g, a, &a_count), *y = rd_access_boxes(g, b, &b_count);
    const struct rd_slot *s = &g->slots.item[a->slot], *t = &g->slots.item[b->slot];
    if (!s->count || !t->count)
        return s->alias == t->alias;
    for (i = 0; i < a_count; i++)
        for (k = 0; k < b_count; k++)
            if (rd_slots_overlap(g, a->slot, &x[i], b->slot, &y[k]))
                return 1;
    return 0;
}

static int is_apart(const struct rd_resid *w, const struct rd_access *a, const struct rd_access *b)
{
    uint32_t x = w->line_of[a->slot], y = w->line_of[b->slot];
    return x != RD_NOWHERE && y != RD_NOWHERE && x != y && w->line[x].body == w->line[y].body &&
           w->body[w->line[x].body].mixed;
}

static rondo_status refuse(const struct rd_resid *w, uint32_t node)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_node *n = &g->nodes.item[node];
    uint32_t i, k;
    for (i = n->access; i < n->access + n->access_count; i++)
        for (k = n->access; k < i && g->accesses.item[i].mode & RONDO_WRITE; k++) {
            const struct rd_access *a = &g->accesses.item[k], *b = &g->accesses.item[i];
            if (a->mode & RONDO_WRITE && is_apart(w, a, b) && meet(g, a, b))
                return rd_error(RONDO_ERR_INVALID,
                                "node '%.80s': it writes the same bytes through slots '%.80s' and "
                                "'%.80s', which on a device are apart: they differ in geometry, "
                                "buffer or ring",
                                rd_subgraph_text(g, n->name),
                                rd_subgraph_text(g, g->slots.item[a->slot].name),
                                rd_subgraph_text(g, g->slots.item[b->slot].name));
        }
    return RONDO_OK;
}

rondo_status rd_resid_refuse(const struct rd_resid *w)
{
    rondo_status status = RONDO_OK;
    uint32_t v;
    for (v = 0; v < w->nodes && !status; v++)
        if (rd_bound_is_device(w->g->nodes.item[v].bound))
            status = refuse(w, v);
    return status;
}
