/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that touch everything, here called fences. One comes after all touching nodes before it and
 * before all after it; a call does so for nodes without accesses too.
 *
 * Between two fences lies a section. A fence follows those of the section before it that nothing in
 * the section follows, and precedes those of the section behind it that follow nothing in it: the
 * others are ordered through them. */
#include "subgraph/walk.h"

#include <string.h>

enum { CALL = 2 };

struct rd_fences {
    uint64_t *time;  /* by node: when the walk was there last */
    uint8_t *sink;   /* by node: nothing of its section follows it */
    uint64_t *touch; /* the section's touching nodes, as times */
    uint64_t *aloof; /* nodes without accesses since the last call; kept only if there are calls */
    uint32_t touches, aloofs;
    uint64_t last, last_call;    /* times; 0: none */
    int calls, followed;         /* followed: the present node follows one of its section */
    uint32_t *hand_first, *hand; /* edges by hand within a replay: predecessors by node */
    size_t hand_count;
};

static int touches(const struct rd_node *n) { return n->access_count || n->everything; }

/* Predecessors by hand within a replay, by counting. */
static int list_hand(struct rd_walk *w, struct rd_fences *f)
{
    const struct rd_subgraph *g = w->g;
    size_t i, n = g->nodes.count;
    uint32_t total = 0;
    f->hand_count = g->edges.count;
    f->hand_first = rd_zalloc_array(w->alloc, n + 1, sizeof *f->hand_first);
    f->hand = rd_alloc_array(w->alloc, f->hand_count, sizeof *f->hand);
    if (!f->hand_first || !f->hand)
        return 0;
    for (i = 0; i < g->edges.count; i++)
        if (!g->edges.item[i].distance)
            f->hand_first[g->edges.item[i].to + 1]++;
    for (i = 0; i <= n; i++)
        f->hand_first[i] = total += f->hand_first[i];
    for (i = 0; i < g->edges.count; i++)
        if (!g->edges.item[i].distance)
            f->hand[f->hand_first[g->edges.item[i].to]++] = g->edges.item[i].from;
    /* Each now tells its own end, which is the next one's beginning. */
    memmove(f->hand_first + 1, f->hand_first, n * sizeof *f->hand_first);
    f->hand_first[0] = 0;
    return 1;
}

rondo_status rd_fences_make(struct rd_walk *w)
{
    const struct rd_subgraph *g = w->g;
    size_t i, n = g->nodes.count;
    struct rd_fences *f;
    int any = 0, calls = 0;
    for (i = 0; i < n; i++) {
        any |= g->nodes.item[i].everything;
        calls |= g->nodes.item[i].everything == CALL;
    }
    if (!any)
        return RONDO_OK;
    f = w->fences = rd_zalloc(w->alloc, sizeof *f, _Alignof(struct rd_fences));
    if (!f)
        goto no_memory;
    f->calls = calls;
    f->time = rd_zalloc_array(w->alloc, n, sizeof *f->time);
    f->sink = rd_zalloc_array(w->alloc, n, sizeof *f->sink);
    f->touch = rd_alloc_array(w->alloc, n, sizeof *f->touch);
    f->aloof = rd_alloc_array(w->alloc, n, sizeof *f->aloof);
    if (f->time && f->sink && f->touch && f->aloof && list_hand(w, f))
        return RONDO_OK;
no_memory:
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to order its nodes", g->name);
}

void rd_fences_free(struct rd_walk *w)
{
    struct rd_fences *f = w->fences;
    size_t n = w->g->nodes.count;
    if (!f)
        return;
    rd_free_array(w->alloc, f->time, n, sizeof *f->time);
    rd_free_array(w->alloc, f->sink, n, sizeof *f->sink);
    rd_free_array(w->alloc, f->touch, n, sizeof *f->touch);
    rd_free_array(w->alloc, f->aloof, n, sizeof *f->aloof);
    rd_free_array(w->alloc, f->hand_first, n + 1, sizeof *f->hand_first);
    rd_free_array(w->alloc, f->hand, f->hand_count, sizeof *f->hand);
    rd_free(w->alloc, f, sizeof *f);
    w->fences = NULL;
}

void rd_fences_begin(struct rd_walk *w)
{
    struct rd_fences *f = w->fences;
    f->touches = f->aloofs = 0;
    f->last = f->last_call = 0;
}

void rd_fences_pass(struct rd_walk *w, uint64_t before)
{
    w->fences->followed = 1;
    w->fences->sink[rd_walk_node(w, before)] = 0;
}

static void edge_from(struct rd_walk *w, uint64_t time)
{
    if (w->copy >= w->warm)
        rd_walk_edge(w, rd_walk_node(w, time), w->copy + 1 - (uint32_t)(time >> 32), RD_EDGE_ORDER,
                     0);
}

/* What edges by hand say about the section; whether the present node follows one of it. */
static int look_at_hand(struct rd_walk *w, int touching)
{
    struct rd_fences *f = w->fences;
    const struct rd_node *node = w->g->nodes.item;
    uint32_t i;
    int follows = 0;
    for (i = f->hand_first[w->node]; i < f->hand_first[w->node + 1]; i++) {
        uint32_t u = f->hand[i];
        int u_touches = touches(&node[u]);
        uint64_t since = touching && u_touches ? f->last : f->last_call;
        if (f->time[u] < w->begin || f->time[u] <= since)
            continue; /* further on in this replay, or before the section */
        if (touching == u_touches) {
            follows = 1;
            f->sink[u] = 0;
        } else if (touching) {
            f->sink[u] = 0; /* a call will follow this node, and so the aloof one */
        } else {
            follows = 1;
        }
    }
    return follows;
}

static void fence(struct rd_walk *w, int call)
{
    struct rd_fences *f = w->fences;
    uint32_t i;
    for (i = 0; i < f->touches; i++)
        if (f->sink[rd_walk_node(w, f->touch[i])])
            edge_from(w, f->touch[i]);
    if (!f->touches && f->last)
        edge_from(w, f->last);
    for (i = 0; call && i < f->aloofs; i++)
        if (f->sink[rd_walk_node(w, f->aloof[i])])
            edge_from(w, f->aloof[i]);
    f->touches = 0;
    f->last = w->base = w->now;
    if (call) {
        f->aloofs = 0;
        f->last_call = w->now;
    }
}

void rd_fences_node(struct rd_walk *w)
{
    struct rd_fences *f = w->fences;
    const struct rd_node *n = &w->g->nodes.item[w->node];
    int follows = f->followed;
    f->followed = 0;
    if (n->everything) {
        fence(w, n->everything == CALL);
    } else if (touches(n)) {
        follows |= look_at_hand(w, 1);
        if (f->last && !follows)
            edge_from(w, f->last);
        f->touch[f->touches++] = w->now;
    } else {
        follows = look_at_hand(w, 0);
        if (f->last_call && !follows)
            edge_from(w, f->last_call);
        if (f->calls)
            f->aloof[f->aloofs++] = w->now;
    }
    f->sink[w->node] = 1;
    f->time[w->node] = w->now;
}
