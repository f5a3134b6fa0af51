/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_REDUCE: each reducing access gets a share of its own, filled with the neutral element
 * before its node; a node that combines the shares with the slot comes after.
 *
 * Reducing accesses to a slot with one type and operation, with no other access to the elements
 * between them, are a run, combined at once behind its last node. A run that ends too early does no
 * harm: the next one goes on from what this one left, in the same order. So an access that may or
 * may not meet a run ends it. The order of adding is that of the recording, element by element,
 * whatever runs there are: the same bits always. */
#include "subgraph/reduce.h"

#include "src/base/boxes.h"
#include "subgraph/memory.h"

#include <string.h>

enum { TYPES = 5, OPS = 4, KINDS = TYPES * OPS };

/* ---- which slots may share bytes */

static uint32_t root_of(uint32_t *family, uint32_t s)
{
    while (family[s] != s)
        s = family[s] = family[family[s]];
    return s;
}

static rondo_status find_families(struct rd_reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    struct rd_allocator *a = &g->rt->alloc;
    struct rd_memories m;
    uint32_t *seen, s, v;
    rondo_status status = rd_memories_make(a, g, 1, &m);
    if (status)
        return status;
    seen = rd_zalloc_array(a, m.count, sizeof *seen); /* by memory: a slot, + 1 */
    for (s = 0; s < g->slots.count; s++)
        r->family[s] = s;
    for (s = 0; seen && s < g->slots.count; s++) {
        const struct rd_view_list *l = &m.slot[s];
        r->family[root_of(r->family, s)] = root_of(r->family, l->alias_class);
        for (v = l->first; v < l->first + l->count; v++) {
            uint32_t memory = m.view[v].memory;
            if (seen[memory])
                r->family[root_of(r->family, s)] = root_of(r->family, seen[memory] - 1);
            seen[memory] = s + 1;
        }
    }
    if (!seen)
        status = rd_no_memory(g);
    rd_free_array(a, seen, m.count, sizeof *seen);
    rd_memories_free(a, &m);
    return status;
}

/* ---- runs */

static struct rd_run *open_run(struct rd_reductions *r, uint32_t slot)
{
    uint32_t i = r->open[root_of(r->family, slot)];
    return i > r->from ? &r->run[i - 1] : NULL;
}

/* An access of another kind. */
static void end_run(struct rd_reductions *r, const struct rd_access *a)
{
    const struct rd_run *run = open_run(r, a->slot);
    uint32_t boxes, b;
    const rd_box *box = rd_access_boxes(r->x->g, a, &boxes);
    int meet = 0;
    if (!run)
        return;
    for (b = 0; b < boxes; b++)
        meet |= rd_box_meets(&run->hull, &box[b]);
    if (run->slot != a->slot || meet)
        r->open[root_of(r->family, a->slot)] = 0;
}

static void widen(rd_box *hull, const rd_box *b)
{
    int d;
    for (d = 0; d < 3; d++) {
        int64_t first = hull->first[d] < b->first[d] ? hull->first[d] : b->first[d];
        int64_t end = hull->first[d] + hull->count[d], b_end = b->first[d] + b->count[d];
        hull->first[d] = first;
        hull->count[d] = (end > b_end ? end : b_end) - first;
    }
}

/* The run of a reducing access, a new one if need be; NULL: no memory. */
static struct rd_run *run_for(struct rd_reductions *r, const struct rd_access *a)
{
    struct rd_run *run = open_run(r, a->slot);
    const rd_box *hull = &r->x->g->boxes.item[a->box];
    if (run && run->slot == a->slot && run->type == a->type && run->op == a->op) {
        widen(&run->hull, hull);
        return run;
    }
    if (!rd_grow(&r->x->g->rt->alloc, (void **)&r->run, &r->run_capacity, r->runs, 1,
                 sizeof *r->run))
        return NULL;
    run = &r->run[r->runs++];
    memset(run, 0, sizeof *run);
    run->slot = a->slot;
    run->type = a->type;
    run->op = a->op;
    run->hull = *hull;
    run->fresh = !r->written[a->slot];
    r->written[a->slot] = 1;
    r->open[root_of(r->family, a->slot)] = (uint32_t)r->runs;
    return run;
}

static int add_share(struct rd_reductions *r, uint32_t node, uint32_t access)
{
    const struct rd_access *a = &r->x->g->accesses.item[access];
    struct rd_run *run = run_for(r, a);
    struct rd_share *s;
    if (!run || !rd_grow(&r->x->g->rt->alloc, (void **)&r->share, &r->share_capacity, r->shares, 1,
                         sizeof *r->share))
        return 0;
    s = &r->share[r->shares++];
    memset(s, 0, sizeof *s);
    s->node = node;
    s->access = access;
    s->run = (uint32_t)(run - r->run);
    s->of_node = r->of_node[node];
    r->of_node[node] = (uint32_t)r->shares;
    if (run->count++)
        r->share[run->last].next = (uint32_t)r->shares;
    else
        run->first = (uint32_t)r->shares - 1;
    run->last = (uint32_t)r->shares - 1;
    run->pieces += a->box_count ? a->box_count : 1;
    return 1;
}

static rondo_status find_runs(struct rd_reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    uint32_t p, i, v;
    for (p = 0; p < r->x->nodes; p++) {
        const struct rd_node *n;
        v = rd_expansion_node(r->x, p);
        n = &g->nodes.item[v];
        if (n->everything)
            r->from = r->runs;
        for (i = n->access; i < n->access + n->access_count; i++)
            if (g->accesses.item[i].mode != RONDO_REDUCE) {
                end_run(r, &g->accesses.item[i]);
                r->written[g->accesses.item[i].slot] |= g->accesses.item[i].mode & RONDO_WRITE;
            }
        for (i = n->access; i < n->access + n->access_count; i++)
            if (g->accesses.item[i].mode == RONDO_REDUCE && !add_share(r, v, i))
                return rd_no_memory(g);
    }
    return RONDO_OK;
}

/* ---- edges by hand */

/* Where edges are explicit what fills a slot precedes all that touch it. */
static rondo_status fill_first(struct rd_reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    rondo_status status = RONDO_OK;
    uint32_t v, i;
    for (v = 0; v < r->x->nodes; v++)
        for (i = 0; i < g->nodes.item[v].access_count && !status; i++) {
            uint32_t slot = g->accesses.item[g->nodes.item[v].access + i].slot;
            if (r->fill[slot])
                status = rd_expansion_edge(r->x, r->fill[slot] - 1, v, 0);
        }
    return status;
}

/* What comes after a run's node by hand comes after the combining too: unless a later node of the
 * run comes after it in turn. */
static rondo_status follow_by_hand(struct rd_reductions *r)
{
    const struct rd_expansion *x = r->x;
    rondo_status status = RONDO_OK;
    size_t e;
    uint32_t i;
    for (e = 0; e < x->edges && !status; e++) {
        const struct rd_hand_edge h = x->g->edges.item[e];
        for (i = r->of_node[h.from]; i && !status; i = r->share[i - 1].of_node) {
            const struct rd_run *run = &r->run[r->share[i - 1].run];
            if (h.distance || x->position[h.to] > x->position[r->share[run->last].node])
                status = rd_expansion_edge(r->x, run->combine, h.to, h.distance);
        }
    }
    return status;
}

/* A node's reductions to slots that may share bytes, of several kinds: combined one after the
 * other.
 */
static rondo_status chain_in_node(struct rd_reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    rondo_status status = RONDO_OK;
    size_t k;
    memset(r->open, 0, g->slots.count * sizeof *r->open);
    for (k = 0; k < r->runs && !status; k++) {
        uint32_t *last = &r->open[root_of(r->family, r->run[k].slot)];
        if (*last && r->share[r->run[*last - 1].last].node == r->share[r->run[k].first].node)
            status = rd_expansion_edge(r->x, r->run[*last - 1].combine, r->run[k].combine, 0);
        *last = (uint32_t)k + 1;
    }
    return status;
}

/* Where edges are explicit nothing else orders the runs of slots that may share bytes among
 * themselves. */
static rondo_status chain_runs(struct rd_reductions *r)
{
    const struct rd_subgraph *g = r->x->g;
    size_t kinds = g->slots.count * KINDS, k;
    uint32_t *first = rd_zalloc_array(&g->rt->alloc, kinds, sizeof *first), /* run + 1 */
        *last = rd_zalloc_array(&g->rt->alloc, kinds, sizeof *last);
    rondo_status status = first && last ? RONDO_OK : rd_no_memory(g);
    for (k = 0; k < r->runs && !status; k++) {
        size_t kind = root_of(r->family, r->run[k].slot) * (size_t)KINDS +
                      r->run[k].type * (size_t)OPS + r->run[k].op;
        if (!first[kind])
            first[kind] = (uint32_t)k + 1;
        else
            status = rd_expansion_edge(r->x, r->run[last[kind] - 1].combine, r->run[k].combine, 0);
        last[kind] = (uint32_t)k + 1;
    }
    for (k = 0; k < kinds && !status; k++)
        if (first[k] && g->slots.item[k / KINDS].count) /* else nothing is carried */
            status = rd_expansion_edge(r->x, r->run[last[k] - 1].combine,
                                       r->run[first[k] - 1].combine, 1);
    rd_free_array(&g->rt->alloc, first, kinds, sizeof *first);
    rd_free_array(&g->rt->alloc, last, kinds, sizeof *last);
    return status;
}

static int has_reductions(const struct rd_subgraph *g)
{
    size_t i;
    for (i = 0; i < g->accesses.count; i++)
        if (g->accesses.item[i].mode == RONDO_REDUCE)
            return 1;
    return 0;
}

rondo_status rd_expand_reductions(struct rd_expansion *x)
{
    const struct rd_subgraph *g = x->g;
    struct rd_allocator *a = &g->rt->alloc;
    struct rd_reductions r;
    rondo_status status = RONDO_OK;
    size_t s;
    if (!has_reductions(g))
        return RONDO_OK;
    memset(&r, 0, sizeof r);
    r.x = x;
    r.family = rd_alloc_array(a, g->slots.count, sizeof *r.family);
    r.open = rd_zalloc_array(a, g->slots.count, sizeof *r.open);
    r.of_node = rd_zalloc_array(a, x->nodes, sizeof *r.of_node);
    r.fill = rd_zalloc_array(a, g->slots.count, sizeof *r.fill);
    r.written = rd_alloc_array(a, g->slots.count, sizeof *r.written);
    if (!r.family || !r.open || !r.of_node || !r.fill || !r.written)
        status = rd_no_memory(g);
    for (s = 0; s < g->slots.count && !status; s++)
        r.written[s] = g->slots.item[s].kind != RD_SLOT_TEMPORARY || g->slots.item[s].zeroed;
    if (!status)
        status = find_families(&r);
    if (!status)
        status = find_runs(&r);
    if (!status)
        status = rd_shares_add(&r);
    if (!status)
        status = follow_by_hand(&r);
    if (!status && g->edges_explicit)
        status = fill_first(&r);
    if (!status && g->edges_explicit)
        status = chain_in_node(&r);
    if (!status && g->edges_explicit)
        status = chain_runs(&r);
    rd_free_array(a, r.family, g->slots.count, sizeof *r.family);
    rd_free_array(a, r.open, g->slots.count, sizeof *r.open);
    rd_free_array(a, r.of_node, x->nodes, sizeof *r.of_node);
    rd_free_array(a, r.fill, g->slots.count, sizeof *r.fill);
    rd_free_array(a, r.written, g->slots.count, sizeof *r.written);
    rd_free_array(a, r.share, r.share_capacity, sizeof *r.share);
    rd_free_array(a, r.run, r.run_capacity, sizeof *r.run);
    return status;
}
