/* SPDX-License-Identifier: BSD-3-Clause */
/* What is walked, and in which order: slots that may share bytes become bodies, those that nodes on
 * devices touch are cut into lines, and each line's accesses are listed. */
#include "compile/residency_parts.h"
#include "src/base/heap.h"

#include <string.h>

rondo_region rd_resid_hull(const struct rd_subgraph *g, const struct rd_access *a)
{
    rondo_region hull = g->boxes.item[a->box];
    uint32_t count, i;
    const rd_box *box = rd_access_boxes(g, a, &count);
    for (i = 0; a->box_count && i < count; i++)
        hull = rd_region_hull(&hull, &box[i]);
    return hull;
}

/* ---- the order */

static rondo_status no_memory(const struct rd_resid *w)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place its data", w->g->name);
}

/* Whether edges by hand all lead forward in recording order. */
static int forward(const struct rd_resid *w, int *ok)
{
    const struct rd_subgraph *g = w->g;
    uint32_t *at = NULL, p;
    size_t i;
    int yes = 1;
    *ok = 1;
    if (g->sequence && g->edges.count) {
        at = rd_alloc_array(w->alloc, w->nodes, sizeof *at);
        *ok = at != NULL;
        for (p = 0; at && p < w->nodes; p++)
            at[g->sequence[p]] = p;
    }
    for (i = 0; *ok && i < g->edges.count; i++) {
        const struct rd_hand_edge *e = &g->edges.item[i];
        yes &= e->distance || (at ? at[e->from] < at[e->to] : e->from < e->to);
    }
    rd_free_array(w->alloc, at, w->nodes, sizeof *at);
    return yes;
}

/* An order that obeys all edges. */
static rondo_status sort_nodes(struct rd_resid *w)
{
    struct rd_graph graph;
    struct rd_reach reach;
    rondo_status status = rd_depend_graph(w->g, 0, 0, &graph);
    if (status)
        return status;
    status = rd_subgraph_check(w->g, &graph);
    if (!status)
        status = rd_reach_make(w->alloc, &graph, &reach);
    if (!status) {
        w->own_order = rd_alloc_array(w->alloc, w->nodes, sizeof *w->own_order);
        if (w->own_order)
            memcpy(w->own_order, reach.order, w->nodes * sizeof *w->own_order);
        else
            status = no_memory(w);
        w->order = w->own_order;
        rd_reach_free(&reach);
    }
    rd_graph_free(&w->g->rt->alloc, &graph);
    return status;
}

rondo_status rd_resid_order(struct rd_resid *w)
{
    int ok, straight = forward(w, &ok);
    uint32_t p, v;
    rondo_status status = ok ? RONDO_OK : no_memory(w);
    w->order = w->g->sequence;
    if (!status && (w->g->edges_explicit || !straight))
        status = sort_nodes(w);
    for (p = 0; p < w->nodes && !status; p++) {
        v = rd_resid_node(w, p);
        if (!w->g->nodes.item[v].everything)
            continue;
        if (!rd_grow(w->alloc, (void **)&w->fences.item, &w->fences.capacity, w->fences.count, 1,
                     sizeof *w->fences.item))
            return no_memory(w);
        w->fences.item[w->fences.count++] = p;
    }
    return status;
}

/* ---- classes of slots that may share bytes */

struct classes {
    struct rd_resid *w;
    uint32_t *up;   /* by slot: union-find, roots are the least slots */
    uint8_t *used;  /* by slot: it is accessed, also by a node that touches everything, or has to be
                       somewhere at the end */
    uint8_t *walks; /* by root: a node on a device touches one of them */
    uint32_t *body; /* by root: index + 1 */
};

static uint32_t root_of(const struct classes *c, uint32_t s)
{
    while (c->up[s] != s)
        s = c->up[s] = c->up[c->up[s]];
    return s;
}

static void join(const struct classes *c, uint32_t a, uint32_t b)
{
    a = root_of(c, a);
    b = root_of(c, b);
    if (a < b)
        c->up[b] = a;
    else
        c->up[a] = b;
}

struct range {
    uint64_t first, end;
    uint32_t slot;
};

static int range_less(const void *a, const void *b)
{
    return ((const struct range *)a)->first < ((const struct range *)b)->first;
}

static void join_ranges(const struct classes *c, struct range *r, size_t count)
{
    uint64_t end = 0;
    size_t i, first = 0;
    rd_heap_sort(r, count, sizeof *r, range_less);
    for (i = 0; i < count; i++) {
        if (i && r[i].first < end) {
            join(c, r[i].slot, r[first].slot);
        } else {
            first = i;
            end = r[i].end;
        }
        if (r[i].end > end)
            end = r[i].end;
    }
}

/* By buffer, by address, by declaration. */
static int join_slots(const struct classes *c)
{
    const struct rd_subgraph *g = c->w->g;
    struct range *r;
    size_t entries = 0, n, s, i;
    int pass;
    for (s = 0; s < g->slots.count; s++)
        entries += c->used[s] ? g->slots.item[s].count : 0;
    r = rd_alloc_array(c->w->alloc, entries, sizeof *r);
    if (!r)
        return 0;
    for (pass = 0; pass < 2; pass++) {
        for (s = n = 0; s < g->slots.count; s++)
            for (i = 0; c->used[s] && i < g->slots.item[s].count; i++) {
                const struct rd_buffer *b = g->slots.item[s].buffers[i];
                r[n].first = pass ? rd_buffer_address_of(b) : (uintptr_t)b;
                r[n].end = r[n].first + (pass ? b->bytes : 1);
                r[n++].slot = (uint32_t)s;
            }
        join_ranges(c, r, n);
    }
    rd_free_array(c->w->alloc, r, entries, sizeof *r);
    for (s = 0; s < g->slots.count; s++)
        if (c->used[s] && c->used[g->slots.item[s].alias])
            join(c, (uint32_t)s, g->slots.item[s].alias);
    return 1;
}

/* Slots of one alias class whose first slot is not in use are joined too. */
static void use_slots(const struct classes *c)
{
    const struct rd_subgraph *g = c->w->g;
    size_t i;
    for (i = 0; i < g->accesses.count; i++)
        c->used[g->accesses.item[i].slot] = 1;
    for (i = 0; i < g->slots.count; i++) {
        const struct rd_slot *s = &g->slots.item[i];
        c->used[i] |= s->at_end != 0 || (c->w->fences.count && s->count);
        c->used[s->alias] |= c->used[i];
    }
    for (i = 0; i < g->slots.count; i++)
        if (g->slots.item[i].kind == RD_SLOT_TOKEN)
            c->used[i] = 0;
}

/* ---- which are walked */

static uint8_t memory_of(const struct rd_subgraph *g, uint32_t node, uint32_t access)
{
    const struct rd_node *n = &g->nodes.item[node];
    if (access >= rd_node_own_accesses(g, node))
        return 0; /* a condition's flag: looked at by the host */
    if (rd_bound_is_device(n->bound))
        return (uint8_t)(1 + n->bound - RD_ON_DEVICE);
    return (n->kind == RD_NODE_COPY || n->kind == RD_NODE_FILL) && n->bound == RD_PROCESSOR_ANY
               ? RD_UNDECIDED
               : 0;
}

static rondo_status find_walked(const struct classes *c)
{
    const struct rd_subgraph *g = c->w->g;
    uint32_t v, i, devices = c->w->in->devices;
    for (v = 0; v < c->w->nodes; v++) {
        const struct rd_node *n = &g->nodes.item[v];
        if (!rd_bound_is_device(n->bound))
            continue;
        if ((uint32_t)n->bound - RD_ON_DEVICE >= devices)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': it is to run on RONDO_GPU(%d), of %u devices",
                            rd_subgraph_text(g, n->name), n->bound - RD_ON_DEVICE, devices);
        for (i = 0; i < n->access_count; i++)
            if (memory_of(g, v, i))
                c->walks[root_of(c, g->accesses.item[n->access + i].slot)] = 1;
    }
    for (i = 0; i < g->slots.count; i++) {
        if (!c->used[i] || g->slots.item[i].at_end < 2)
            continue;
        if (g->slots.item[i].at_end > 1 + devices)
            return rd_error(
                RONDO_ERR_INVALID, "slot '%s': at_end is RONDO_GPU_MEMORY(%d), of %u devices",
                rd_subgraph_text(g, g->slots.item[i].name), g->slots.item[i].at_end - 2, devices);
        c->walks[root_of(c, i)] = 1;
    }
    return RONDO_OK;
}

/* ---- bodies */

/* By how many places `s` lists the buffers of `a` later; RD_NOWHERE: they are others. */
static uint32_t rotation(const struct rd_slot *a, const struct rd_slot *s)
{
    uint32_t by, i;
    if (a->count != s->count || a->ring_stride % a->count != s->ring_stride % s->count)
        return RD_NOWHERE;
    for (by = 0; by < a->count && a->buffers[by] != s->buffers[0]; by++) {}
    for (i = 0; i < a->count && by < a->count; i++)
        if (a->buffers[(by + i) % a->count] != s->buffers[i])
            return RD_NOWHERE;
    return by < a->count ? by : RD_NOWHERE;
}

/* Buffers that share nothing. */
static int apart(const struct rd_slot *s)
{
    uint32_t i, k;
    for (i = 0; i < s->count; i++)
        for (k = 0; k < i; k++) {
            const struct rd_buffer *a = s->buffers[i], *b = s->buffers[k];
            uint64_t at = rd_buffer_address_of(a), bt = rd_buffer_address_of(b);
            if (a == b || (at < bt + b->bytes && bt < at + a->bytes))
                return 0;
        }
    return 1;
}

static int is_dense(const rondo_shape *s, size_t bytes)
{
    return (size_t)s->extent[0] * (size_t)s->extent[1] * (size_t)s->extent[2] * s->elem_bytes ==
           bytes;
}

/* How slot `s` fits a body that begins with slot `a`: 2: it is of one geometry with it and with its
 * buffers; 1: with it, and spans the same bytes as the buffers, all dense; 0: neither. */
static int fits(const struct rd_slot *a, const struct rd_slot *s)
{
    uint32_t i;
    int how = 2;
    if (s->kind > RD_SLOT_RING || s->kind != a->kind || !s->count ||
        memcmp(&s->shape, &a->shape, sizeof a->shape) != 0)
        return 0;
    for (i = 0; i < s->count; i++) {
        const struct rd_buffer *b = s->buffers[i];
        if (!memcmp(&b->shape, &s->shape, sizeof s->shape))
            continue;
        if (s->bytes != b->bytes || !is_dense(&s->shape, s->bytes) ||
            !is_dense(&b->shape, b->bytes))
            return 0;
        how = 1;
    }
    return s == a ? apart(s) * how : rotation(a, s) != RD_NOWHERE ? how : 0;
}

static uint32_t add_line(struct rd_resid *w, uint32_t body, uint32_t slot, uint32_t position)
{
    struct rd_line *l = &w->line[w->lines];
    l->body = body;
    l->slot = slot;
    l->position = position;
    l->shape = &w->g->slots.item[slot].shape;
    memcpy(l->whole.count, l->shape->extent, sizeof l->whole.count);
    w->body[body].lines++;
    return w->lines++;
}

/* The line of a slot, made if there is none; the body's lines are the last ones. */
static void place_slot(struct rd_resid *w, uint32_t body, uint32_t slot)
{
    struct rd_body *b = &w->body[body];
    const struct rd_slot *s = &w->g->slots.item[slot], *first;
    uint32_t position = 0, i;
    if (b->regular && b->lines) {
        first = &w->g->slots.item[w->line[b->line].slot];
        position = b->ring ? (s->ring_first + rotation(first, s)) % s->count : 0;
    } else if (b->ring) {
        position = s->ring_first;
    }
    for (i = b->line; b->regular && i < b->line + b->lines; i++)
        if (w->line[i].position == position)
            break;
    if (!b->regular || i == b->line + b->lines)
        i = add_line(w, body, slot, position);
    w->line_of[slot] = i;
    if (s->at_end)
        w->line[i].at_end |= 1u << (s->at_end - 1);
}

/* Slots of body k are list[first[k] .. first[k + 1]). */
static void make_lines(struct rd_resid *w, const uint32_t *first, const uint32_t *list)
{
    uint32_t k, i;
    int how;
    for (k = 0; k < w->bodies; k++) {
        struct rd_body *b = &w->body[k];
        const struct rd_slot *a = &w->g->slots.item[list[first[k]]];
        b->line = w->lines;
        for (i = first[k], how = 2; i < first[k + 1] && how; i++) {
            int other = fits(a, &w->g->slots.item[list[i]]);
            how = other < how ? other : how;
        }
        b->regular = how > 0;
        b->coarse = how == 1;
        b->ring = b->regular && a->kind == RD_SLOT_RING && a->count > 1;
        b->temporary = a->kind == RD_SLOT_TEMPORARY;
        b->count = b->ring ? a->count : 1;
        b->stride = b->ring ? a->ring_stride % a->count : 0;
        for (i = first[k]; i < first[k + 1]; i++)
            place_slot(w, k, list[i]);
        b->mixed = !b->regular && b->lines > 1;
    }
}

static int make_bodies(struct classes *c)
{
    struct rd_resid *w = c->w;
    uint32_t s, r, total = 0, *first, *list;
    for (s = 0; s < w->slots; s++) {
        r = root_of(c, s);
        if (!c->used[s] || !c->walks[r])
            continue;
        if (!c->body[r])
            c->body[r] = ++w->bodies;
        total++;
    }
    w->body = rd_zalloc_array(w->alloc, w->bodies, sizeof *w->body);
    w->line = rd_zalloc_array(w->alloc, total, sizeof *w->line);
    first = rd_zalloc_array(w->alloc, (size_t)w->bodies + 2, sizeof *first);
    list = rd_alloc_array(w->alloc, total, sizeof *list);
    if (w->body && w->line && first && list) {
        for (s = 0; s < w->slots; s++)
            if (c->used[s] && c->walks[root_of(c, s)])
                first[c->body[root_of(c, s)] + 1]++;
        for (r = 2; r <= w->bodies + 1; r++)
            first[r] += first[r - 1];
        for (s = 0; s < w->slots; s++)
            if (c->used[s] && c->walks[root_of(c, s)])
                list[first[c->body[root_of(c, s)]]++] = s;
        make_lines(w, first, list);
    } else {
        w->failed = 1;
    }
    w->line_room = total;
    rd_free_array(w->alloc, first, (size_t)w->bodies + 2, sizeof *first);
    rd_free_array(w->alloc, list, total, sizeof *list);
    return !w->failed;
}

/* ---- visits */

static void take_visit(struct rd_resid *w, uint32_t position, uint32_t node, uint32_t i,
                       struct rd_visit *v)
{
    const struct rd_access *a = &w->g->accesses.item[w->g->nodes.item[node].access + i];
    v->position = position;
    v->memory = memory_of(w->g, node, i);
    v->mode = a->mode & RONDO_READ_WRITE;
    if (v->mode & RONDO_WRITE && rd_resid_partial(w->g, node))
        v->mode = RONDO_READ_WRITE;
    v->hull = rd_resid_hull(w->g, a);
}

static uint32_t line_at(const struct rd_resid *w, uint32_t node, uint32_t i)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    if (n->kind == RD_NODE_RANK)
        return RD_NOWHERE; /* its accesses are those of rank 0 */
    return w->line_of[w->g->accesses.item[n->access + i].slot];
}

static int make_visits(struct rd_resid *w)
{
    uint32_t p, v, i, l, at = 0;
    for (v = 0; v < w->nodes; v++)
        for (i = 0; i < w->g->nodes.item[v].access_count; i++)
            if ((l = line_at(w, v, i)) != RD_NOWHERE) {
                w->line[l].visits++;
                w->visits++;
            }
    w->visit = rd_alloc_array(w->alloc, w->visits, sizeof *w->visit);
    if (!w->visit)
        return 0;
    for (l = 0; l < w->lines; l++) {
        w->line[l].visit = at;
        at += w->line[l].visits;
        w->line[l].visits = 0;
    }
    for (p = 0; p < w->nodes; p++) {
        v = rd_resid_node(w, p);
        for (i = 0; i < w->g->nodes.item[v].access_count; i++)
            if ((l = line_at(w, v, i)) != RD_NOWHERE)
                take_visit(w, p, v, i, &w->visit[w->line[l].visit + w->line[l].visits++]);
    }
    return 1;
}

/* ---- the whole */

static rondo_status find_bodies(struct classes *c)
{
    rondo_status status;
    uint32_t s;
    for (s = 0; s < c->w->slots; s++)
        c->up[s] = s;
    use_slots(c);
    if (!join_slots(c))
        return no_memory(c->w);
    status = find_walked(c);
    if (status)
        return status;
    return make_bodies(c) && make_visits(c->w) ? RONDO_OK : no_memory(c->w);
}

rondo_status rd_resid_bodies(struct rd_resid *w)
{
    struct classes c = { w, NULL, NULL, NULL, NULL };
    rondo_status status;
    uint32_t s;
    c.up = rd_alloc_array(w->alloc, w->slots, sizeof *c.up);
    c.used = rd_zalloc_array(w->alloc, w->slots, 1);
    c.walks = rd_zalloc_array(w->alloc, w->slots, 1);
    c.body = rd_zalloc_array(w->alloc, w->slots, sizeof *c.body);
    w->line_of = rd_alloc_array(w->alloc, w->slots, sizeof *w->line_of);
    for (s = 0; w->line_of && s < w->slots; s++)
        w->line_of[s] = RD_NOWHERE;
    status = c.up && c.used && c.walks && c.body && w->line_of ? find_bodies(&c) : no_memory(w);
    rd_free_array(w->alloc, c.up, w->slots, sizeof *c.up);
    rd_free_array(w->alloc, c.used, w->slots, 1);
    rd_free_array(w->alloc, c.walks, w->slots, 1);
    rd_free_array(w->alloc, c.body, w->slots, sizeof *c.body);
    return status;
}

void rd_resid_bodies_free(struct rd_resid *w)
{
    rd_free_array(w->alloc, w->own_order, w->nodes, sizeof *w->own_order);
    rd_free_array(w->alloc, w->fences.item, w->fences.capacity, sizeof *w->fences.item);
    rd_free_array(w->alloc, w->line_of, w->slots, sizeof *w->line_of);
    rd_free_array(w->alloc, w->body, w->bodies, sizeof *w->body);
    rd_free_array(w->alloc, w->line, w->line_room, sizeof *w->line);
    rd_free_array(w->alloc, w->visit, w->visits, sizeof *w->visit);
}
