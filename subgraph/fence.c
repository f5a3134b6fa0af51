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

/* A node in a section. Where fences run in some replays only, it is there for each of several. */
struct place {
    uint64_t time;
    uint32_t earlier; /* the same node's place before, + 1; 0: none */
    uint8_t sink;     /* nothing of the section follows it */
};

struct nodes {
    struct place *item;
    size_t count, capacity;
};

struct rd_fences {
    uint64_t *time;     /* by node: when the walk was there last */
    uint32_t *at;       /* by node: its latest in `touch` or `aloof`, + 1, if it is still there */
    struct nodes touch; /* the section's touching nodes */
    struct nodes aloof; /* nodes without accesses since the last call; kept only if there are calls
                         */
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
    f->at = rd_zalloc_array(w->alloc, n, sizeof *f->at);
    if (f->time && f->at && list_hand(w, f))
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
    rd_free_array(w->alloc, f->at, n, sizeof *f->at);
    rd_free_array(w->alloc, f->touch.item, f->touch.capacity, sizeof *f->touch.item);
    rd_free_array(w->alloc, f->aloof.item, f->aloof.capacity, sizeof *f->aloof.item);
    rd_free_array(w->alloc, f->hand_first, n + 1, sizeof *f->hand_first);
    rd_free_array(w->alloc, f->hand, f->hand_count, sizeof *f->hand);
    rd_free(w->alloc, f, sizeof *f);
    w->fences = NULL;
}

void rd_fences_begin(struct rd_walk *w)
{
    struct rd_fences *f = w->fences;
    f->touch.count = f->aloof.count = 0;
    f->last = f->last_call = 0;
}

/* The place of a node's visit, if it is among these. */
static struct place *find(const struct rd_walk *w, const struct nodes *nodes, uint64_t time)
{
    uint32_t i = w->fences->at[rd_walk_node(w, time)];
    while (i && i <= nodes->count && nodes->item[i - 1].time > time)
        i = nodes->item[i - 1].earlier;
    return i && i <= nodes->count && nodes->item[i - 1].time == time ? &nodes->item[i - 1] : NULL;
}

static void unsink(const struct rd_walk *w, const struct nodes *nodes, uint64_t time)
{
    struct place *p = find(w, nodes, time);
    if (p)
        p->sink = 0;
}

static int add_place(struct rd_walk *w, struct nodes *nodes)
{
    struct rd_fences *f = w->fences;
    uint32_t i = f->at[w->node];
    int there = i && i <= nodes->count && rd_walk_node(w, nodes->item[i - 1].time) == w->node;
    if (nodes->count >= UINT32_MAX || !rd_grow(w->alloc, (void **)&nodes->item, &nodes->capacity,
                                               nodes->count, 1, sizeof *nodes->item))
        return 0;
    nodes->item[nodes->count].time = w->now;
    nodes->item[nodes->count].earlier = there ? i : 0;
    nodes->item[nodes->count].sink = 1;
    f->at[w->node] = (uint32_t)++nodes->count;
    return 1;
}

void rd_fences_pass(struct rd_walk *w, uint64_t before)
{
    w->fences->followed = 1;
    unsink(w, &w->fences->touch, before);
}

int rd_fences_follows(struct rd_walk *w, int follows)
{
    int was = w->fences->followed;
    w->fences->followed = follows;
    return was;
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
            continue;               /* further on in this replay, or before the section */
        if (touching || !u_touches) /* a call that follows a touching node follows the aloof too */
            unsink(w, u_touches ? &f->touch : &f->aloof, f->time[u]);
        follows |= u_touches || !touching;
    }
    return follows;
}

static void edges_from_sinks(struct rd_walk *w, struct nodes *nodes)
{
    size_t i;
    for (i = 0; i < nodes->count; i++)
        if (nodes->item[i].sink)
            edge_from(w, nodes->item[i].time);
    nodes->count = 0;
}

static void fence(struct rd_walk *w, int call)
{
    struct rd_fences *f = w->fences;
    if (!f->touch.count && f->last)
        edge_from(w, f->last);
    edges_from_sinks(w, &f->touch);
    f->last = w->base = w->now;
    if (call) {
        edges_from_sinks(w, &f->aloof);
        f->last_call = w->now;
    }
}

void rd_fences_node(struct rd_walk *w)
{
    struct rd_fences *f = w->fences;
    const struct rd_node *n = &w->g->nodes.item[w->node];
    int follows = f->followed, ok = 1;
    f->followed = 0;
    if (n->everything) {
        fence(w, n->everything == CALL);
    } else if (touches(n)) {
        follows |= look_at_hand(w, 1);
        if (f->last && !follows)
            edge_from(w, f->last);
        ok = add_place(w, &f->touch);
    } else {
        follows = look_at_hand(w, 0);
        if (f->last_call && !follows)
            edge_from(w, f->last_call);
        if (f->calls)
            ok = add_place(w, &f->aloof);
    }
    f->time[w->node] = w->now;
    if (!ok)
        w->status =
            rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to order its nodes", w->g->name);
}
