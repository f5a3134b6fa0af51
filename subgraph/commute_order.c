/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of what commutes. All members of a class, and of two that exclude each other, are put
 * in a row: by level in the graph that does not know these rows, then by number. Every edge leads
 * on in that order, so there is no circle; and it depends on the graph within a replay alone, so it
 * is the same however replays follow each other. */
#include "subgraph/commute.h"
#include "subgraph/sort.h"

#include <string.h>

/* ---- levels: of nodes, and of where classes begin and end */

struct levels {
    const struct rd_walk *w;
    uint32_t nodes, classes;
    size_t places, edges;
    uint32_t *level;                    /* by place: a node, a class's begin, a class's end */
    uint32_t *first, *succ, *in, *list; /* successors; edges in to be seen; the places in order */
};

static void add_edge(struct levels *l, uint32_t from, uint32_t to, int place)
{
    if (!place) {
        l->first[from + 1]++;
        l->in[to]++;
        l->edges++;
    } else {
        l->succ[l->first[from]++] = to;
    }
}

/* Counts the edges, or puts them in their places. */
static void each_edge(struct levels *l, int place)
{
    const struct rd_walk *w = l->w;
    const struct rd_commute *x = w->commute;
    const struct rd_subgraph *g = w->g;
    uint32_t p, k, m, from;
    size_t i;
    for (i = 0; i < g->edges.count; i++)
        if (!g->edges.item[i].distance)
            add_edge(l, g->edges.item[i].from, g->edges.item[i].to, place);
    for (p = 0; p < w->phases; p++)
        for (i = 0; i < w->list[p].count; i++) {
            if (rd_edge_of_key(w->list[p].key[i]).distance)
                continue;
            from = rd_edge_of_key(w->list[p].key[i]).from;
            add_edge(l, from < l->nodes ? from : from + l->classes, w->list[p].to[i], place);
        }
    for (k = 0; k < l->classes; k++)
        for (m = x->found[k].first; m; m = x->member[m].next) {
            uint32_t node = rd_walk_node(w, x->member[m].time);
            add_edge(l, l->nodes + k, node, place);
            add_edge(l, node, l->nodes + l->classes + k, place);
        }
}

static void sweep(struct levels *l)
{
    size_t head = 0, tail = 0, v;
    uint32_t i;
    for (v = 0; v < l->places; v++)
        if (!l->in[v])
            l->list[tail++] = (uint32_t)v;
    for (; head < tail; head++) {
        uint32_t u = l->list[head], next = l->level[u] + (u < l->nodes);
        for (i = u ? l->first[u - 1] : 0; i < l->first[u]; i++) {
            uint32_t to = l->succ[i];
            if (l->level[to] < next)
                l->level[to] = next;
            if (!--l->in[to])
                l->list[tail++] = to;
        }
    }
}

/* By node, the longest path to it; where edges by hand run in a circle something, which does not
 * matter. NULL: no memory. */
static uint32_t *find_levels(const struct rd_walk *w)
{
    struct levels l;
    size_t i;
    memset(&l, 0, sizeof l);
    l.w = w;
    l.nodes = (uint32_t)w->g->nodes.count;
    l.classes = (uint32_t)w->commute->classes;
    l.places = (size_t)l.nodes + 2 * (size_t)l.classes;
    l.level = rd_zalloc_array(w->alloc, l.places, sizeof *l.level);
    l.first = rd_zalloc_array(w->alloc, l.places + 1, sizeof *l.first);
    l.in = rd_zalloc_array(w->alloc, l.places, sizeof *l.in);
    l.list = rd_alloc_array(w->alloc, l.places, sizeof *l.list);
    if (l.level && l.first && l.in && l.list) {
        each_edge(&l, 0);
        l.succ = rd_alloc_array(w->alloc, l.edges, sizeof *l.succ);
        for (i = 0; i < l.places; i++)
            l.first[i + 1] += l.first[i];
    }
    if (l.succ) {
        each_edge(&l, 1); /* each `first` then tells its own end */
        sweep(&l);
    } else {
        rd_free_array(w->alloc, l.level, l.places, sizeof *l.level);
        l.level = NULL;
    }
    rd_free_array(w->alloc, l.first, l.places + 1, sizeof *l.first);
    rd_free_array(w->alloc, l.in, l.places, sizeof *l.in);
    rd_free_array(w->alloc, l.list, l.places, sizeof *l.list);
    rd_free_array(w->alloc, l.succ, l.edges, sizeof *l.succ);
    return l.level;
}

/* ---- rows */

/* The members of class k: key[first[k] .. first[k + 1]), {level, node} ascending. */
struct rows {
    uint64_t *key, *scratch;
    uint32_t *first;
};

static void fill_rows(const struct rd_walk *w, const uint32_t *level, struct rows *r)
{
    const struct rd_commute *x = w->commute;
    uint32_t k, m, n = 0, node;
    for (k = 0; k < x->classes; k++) {
        r->first[k] = n;
        for (m = x->found[k].first; m; m = x->member[m].next) {
            node = rd_walk_node(w, x->member[m].time);
            r->key[n++] = (uint64_t)level[node] << 32 | node;
        }
        rd_sort(r->key + r->first[k], n - r->first[k], r->scratch);
    }
    r->first[k] = n;
}

static int add_between(struct rd_walk *w, const struct rd_class *c, uint64_t from, uint64_t to)
{
    struct rd_edges *list = &w->list[((uint32_t)(c->time >> 32) - 1) % w->phases];
    return from == to || rd_edges_add(w->alloc, list, (uint32_t)to,
                                      rd_edge_key((uint32_t)from, 0, RD_EDGE_ACCESS, c->slot));
}

/* The members of two classes, merged into one row. */
static int add_pair(struct rd_walk *w, const struct rows *r, const struct rd_class_pair *p)
{
    const struct rd_class *c = &w->commute->found[p->b];
    uint32_t i = r->first[p->a], k = r->first[p->b];
    uint64_t last = 0, next;
    int begun = 0;
    while (i < r->first[p->a + 1] || k < r->first[p->b + 1]) {
        if (k == r->first[p->b + 1] || (i < r->first[p->a + 1] && r->key[i] < r->key[k]))
            next = r->key[i++];
        else
            next = r->key[k++];
        if (begun && !add_between(w, c, last, next))
            return 0;
        last = next;
        begun = 1;
    }
    return 1;
}

static int add_rows(struct rd_walk *w, const struct rows *r)
{
    const struct rd_commute *x = w->commute;
    uint32_t k, i;
    size_t p;
    for (k = 0; k < x->classes; k++)
        for (i = r->first[k] + 1; x->found[k].keep && i < r->first[k + 1]; i++)
            if (!add_between(w, &x->found[k], r->key[i - 1], r->key[i]))
                return 0;
    for (p = 0; p < x->pairs; p++)
        if (!add_pair(w, r, &x->pair[p]))
            return 0;
    return 1;
}

/* A class that is followed is its last member, one that follows its first. */
static void replace_classes(struct rd_walk *w, const struct rows *r)
{
    uint32_t n = (uint32_t)w->g->nodes.count, p, from;
    size_t i;
    for (p = 0; p < w->phases; p++)
        for (i = 0; i < w->list[p].count; i++) {
            uint64_t *key = &w->list[p].key[i];
            uint32_t *to = &w->list[p].to[i];
            from = rd_edge_of_key(*key).from;
            if (from >= n)
                *key += ((uint64_t)(uint32_t)r->key[r->first[from - n + 1] - 1] - from) << 24;
            if (*to >= n)
                *to = (uint32_t)r->key[r->first[*to - n]];
        }
}

rondo_status rd_commute_resolve(struct rd_walk *w)
{
    const struct rd_commute *x = w->commute;
    uint32_t *level = find_levels(w);
    struct rows r;
    int ok;
    r.key = rd_alloc_array(w->alloc, x->members, sizeof *r.key);
    r.scratch = rd_alloc_array(w->alloc, x->members, sizeof *r.scratch);
    r.first = rd_alloc_array(w->alloc, x->classes + 1, sizeof *r.first);
    ok = level && r.key && r.scratch && r.first;
    if (ok) {
        fill_rows(w, level, &r);
        replace_classes(w, &r);
        ok = add_rows(w, &r);
    }
    rd_free_array(w->alloc, level, w->g->nodes.count + 2 * x->classes, sizeof *level);
    rd_free_array(w->alloc, r.key, x->members, sizeof *r.key);
    rd_free_array(w->alloc, r.scratch, x->members, sizeof *r.scratch);
    rd_free_array(w->alloc, r.first, x->classes + 1, sizeof *r.first);
    return ok ? RONDO_OK
              : rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to order what commutes",
                         w->g->name);
}
