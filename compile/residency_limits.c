/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lines have instances in which memory, and how much of it is left for places. */
#include "compile/residency_parts.h"
#include "src/base/heap.h"

#include <stdio.h>
#include <string.h>

/* ---- all that can have one */

static void set_instance(struct rd_resid *w, uint32_t body, uint32_t memory, int yes)
{
    uint32_t l;
    for (l = w->body[body].line; l < w->body[body].line + w->body[body].lines; l++)
        w->instance[(size_t)l * w->memories + memory] = (uint8_t)yes;
}

/* Memories in which a line's slots have to be at the end of a replay. */
static rondo_status ask_for_ends(struct rd_resid *w, uint32_t line)
{
    const struct rd_line *l = &w->line[line];
    uint32_t m;
    for (m = 1; m < w->memories; m++) {
        if (!(l->at_end >> m & 1))
            continue;
        if (!w->body[l->body].regular)
            return rd_error(RONDO_ERR_INVALID,
                            "slot '%s': at_end is RONDO_GPU_MEMORY(%u), and it shares bytes with "
                            "slots of another geometry or ring, or has not its buffers' shape",
                            rd_subgraph_text(w->g, w->g->slots.item[l->slot].name), m - 1);
        set_instance(w, l->body, m, 1);
    }
    return RONDO_OK;
}

rondo_status rd_resid_instances(struct rd_resid *w)
{
    uint32_t l, i;
    rondo_status status = RONDO_OK;
    for (l = 0; l < w->lines && !status; l++) {
        status = ask_for_ends(w, l);
        for (i = w->line[l].visit; i < w->line[l].visit + w->line[l].visits; i++)
            if (w->body[w->line[l].body].regular && w->visit[i].memory &&
                w->visit[i].memory != RD_UNDECIDED)
                set_instance(w, w->line[l].body, w->visit[i].memory, 1);
    }
    for (i = 0; i < w->memories; i++)
        w->arena[i].budget = UINT64_MAX;
    return status;
}

/* ---- what instances take */

static size_t at_slot(const struct rd_resid *w, uint32_t body, uint32_t memory)
{
    return (size_t)w->line[w->body[body].line].slot * w->memories + memory;
}

static uint64_t body_bytes(const struct rd_resid *w, uint32_t body, uint32_t memory)
{
    size_t at = at_slot(w, body, memory);
    if (w->in->external && w->in->external[at])
        return 0;
    return w->in->instance_bytes ? w->in->instance_bytes[at] : 0;
}

static uint64_t whole_bytes(const struct rd_resid *w, uint32_t body)
{
    const struct rd_slot *s = &w->g->slots.item[w->line[w->body[body].line].slot];
    uint64_t bytes = 0;
    uint32_t i;
    for (i = 0; i < s->count; i++)
        bytes += s->buffers[i]->bytes;
    return bytes;
}

static int has_twin(const struct rd_resid *w, uint32_t body, uint32_t memory)
{
    uint32_t l;
    for (l = w->body[body].line; l < w->body[body].line + w->body[body].lines; l++)
        if (w->twin_of[(size_t)l * w->memories + memory])
            return 1;
    return 0;
}

uint64_t rd_resid_instance_bytes(const struct rd_resid *w, uint32_t memory, int all)
{
    uint64_t bytes = 0;
    uint32_t b;
    for (b = 0; b < w->bodies; b++)
        if (has_twin(w, b, memory))
            bytes += all ? whole_bytes(w, b) : body_bytes(w, b, memory);
    return bytes;
}

int rd_resid_fits(const struct rd_resid *w)
{
    uint32_t m;
    for (m = 1; m < w->memories; m++) {
        uint64_t room = w->in->room[m - 1], made = rd_resid_instance_bytes(w, m, 0);
        if (made > room || w->arena[m].top > room - made)
            return 0;
    }
    return 1;
}

/* ---- fewer */

struct offer {
    uint32_t body;
    int asked;       /* it has to be there at the end */
    uint64_t bytes;  /* of an instance */
    double per_byte; /* bytes that nodes touch there, by byte */
};

struct offers {
    struct rd_resid *w;
    uint32_t memory;
    struct offer *offer; /* the best first */
    uint32_t count;
};

static int is_better(const void *x, const void *y)
{
    const struct offer *a = x, *b = y;
    if (a->asked != b->asked)
        return a->asked;
    return a->per_byte > b->per_byte || (a->per_byte == b->per_byte && a->body < b->body);
}

static void make_offer(const struct offers *x, uint32_t body, struct offer *o)
{
    const struct rd_resid *w = x->w;
    double touched = 0;
    uint32_t l, i;
    o->body = body;
    o->asked = 0;
    o->bytes = body_bytes(w, body, x->memory);
    for (l = w->body[body].line; l < w->body[body].line + w->body[body].lines; l++) {
        o->asked |= (int)(w->line[l].at_end >> x->memory & 1);
        for (i = w->line[l].visit; i < w->line[l].visit + w->line[l].visits; i++)
            if (w->visit[i].memory == x->memory)
                touched += (double)rd_resid_bytes(&w->line[l], &w->visit[i].hull);
    }
    o->per_byte = touched / (double)(o->bytes ? o->bytes : 1);
}

/* What of the arena a node takes at the same time; *largest: the access that takes most. */
static uint64_t node_bytes(struct rd_resid *w, uint32_t node, uint32_t *largest)
{
    const struct rd_node *n = &w->g->nodes.item[node];
    uint32_t i, own = rd_node_own_accesses(w->g, node);
    uint64_t bytes, sum = 0, most = 0;
    rondo_region hull;
    for (i = 0; i < n->access_count; i++) /* a copy reads in the host's memory if need be */
        w->memory_of[n->access + i] =
            (uint8_t)(i < own && (n->kind != RD_NODE_COPY || i) ? 1 + n->bound - RD_ON_DEVICE : 0);
    for (i = n->access; i < n->access + n->access_count; i++) {
        if (!rd_resid_needs_place(w, i) || !rd_resid_cluster(w, n, i, &hull))
            continue;
        bytes = rd_resid_place_bytes(&w->line[w->line_of[w->g->accesses.item[i].slot]], &hull);
        sum += bytes;
        if (bytes > most) {
            most = bytes;
            *largest = i;
        }
    }
    return sum;
}

/* The node that takes most of the arena. */
static uint64_t most_bytes(const struct offers *x, uint32_t *node, uint32_t *largest)
{
    uint64_t bytes, most = 0;
    uint32_t v, access = 0;
    for (v = 0; v < x->w->nodes; v++) {
        if (x->w->g->nodes.item[v].bound != RD_ON_DEVICE + x->memory - 1)
            continue;
        bytes = node_bytes(x->w, v, &access);
        if (bytes > most) {
            most = bytes;
            *node = v;
            *largest = access;
        }
    }
    return most;
}

static void region_text(const rondo_region *r, const rondo_shape *s, char *text, size_t bytes)
{
    int d, dims = s->extent[2] > 1 ? 3 : s->extent[1] > 1 ? 2 : 1;
    size_t used = 0;
    for (d = 0; d < dims && used < bytes; d++)
        used += (size_t)snprintf(text + used, bytes - used, "%s[%lld, %lld)", d ? " x " : "",
                                 (long long)r->first[d], (long long)(r->first[d] + r->count[d]));
}

static rondo_status refuse_node(const struct offers *x, uint32_t node, uint32_t access,
                                uint64_t bytes, uint64_t left)
{
    const struct rd_subgraph *g = x->w->g;
    const struct rd_access *a = &g->accesses.item[access];
    const struct rd_slot *s = &g->slots.item[a->slot];
    char region[160];
    region_text(&g->boxes.item[a->box], &s->shape, region, sizeof region);
    return rd_error(
        RONDO_ERR_INVALID,
        "node '%.80s': region %s of slot '%.80s' and what else it touches take %llu "
        "bytes of RONDO_GPU_MEMORY(%u), which has room for %llu: %llu bytes are missing",
        rd_subgraph_text(g, g->nodes.item[node].name), region, rd_subgraph_text(g, s->name),
        (unsigned long long)bytes, x->memory - 1, (unsigned long long)left,
        (unsigned long long)(bytes - left));
}

static rondo_status refuse_end(const struct offers *x, const struct offer *o, uint64_t left)
{
    const struct rd_subgraph *g = x->w->g;
    const struct rd_line *l = &x->w->line[x->w->body[o->body].line];
    return rd_error(RONDO_ERR_INVALID,
                    "slot '%.80s': at_end is RONDO_GPU_MEMORY(%u), where it takes %llu bytes, and "
                    "there is room for %llu: %llu bytes are missing",
                    rd_subgraph_text(g, g->slots.item[l->slot].name), x->memory - 1,
                    (unsigned long long)o->bytes, (unsigned long long)left,
                    (unsigned long long)(o->bytes - left));
}

/* Gives the best `keep` offers their instances, the others none. 0: they do not fit, *over being
 * the first that does not. *left: the bytes left. */
static int give(const struct offers *x, uint32_t keep, const struct offer **over, uint64_t *left)
{
    uint32_t i;
    *left = x->w->in->room[x->memory - 1];
    for (i = 0; i < x->count; i++)
        set_instance(x->w, x->offer[i].body, x->memory, i < keep);
    for (i = 0; i < keep; i++) {
        *over = &x->offer[i];
        if (x->offer[i].bytes > *left)
            return 0;
        *left -= x->offer[i].bytes;
    }
    return 1;
}

/* As many instances as leave each node its room. */
static rondo_status settle(const struct offers *x)
{
    const struct offer *over = NULL;
    uint32_t keep = x->count, asked = 0, step = x->count / 64 + 1, node = 0, access = 0;
    uint64_t left = 0, most;
    while (asked < x->count && x->offer[asked].asked)
        asked++;
    for (;; keep = keep > asked + step ? keep - step : asked) {
        if (give(x, keep, &over, &left)) {
            most = most_bytes(x, &node, &access);
            if (most <= left)
                break;
            if (keep == asked)
                return refuse_node(x, node, access, most, left);
        } else if (keep == asked) {
            return refuse_end(x, over, left);
        }
    }
    x->w->arena[x->memory].budget = left;
    return RONDO_OK;
}

static rondo_status limit_memory(struct rd_resid *w, uint32_t memory)
{
    struct offers x = { w, memory, NULL, 0 };
    rondo_status status;
    uint32_t b;
    x.offer = rd_alloc_array(w->alloc, w->bodies, sizeof *x.offer);
    if (!x.offer)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place its data", w->g->name);
    for (b = 0; b < w->bodies; b++)
        if (w->instance[(size_t)w->body[b].line * w->memories + memory] && body_bytes(w, b, memory))
            make_offer(&x, b, &x.offer[x.count++]);
    rd_heap_sort(x.offer, x.count, sizeof *x.offer, is_better);
    status = settle(&x);
    rd_free_array(w->alloc, x.offer, w->bodies, sizeof *x.offer);
    return status;
}

rondo_status rd_resid_limit(struct rd_resid *w)
{
    uint32_t m;
    rondo_status status = RONDO_OK;
    for (m = 1; m < w->memories && !status; m++)
        status = limit_memory(w, m);
    return status;
}
