/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's edges by hand, and what they say of its nodes. Where edges are explicit,
 * every conflict between two records gets one, and its way back over one replay. */
#include "tests/engine/random_program.h"

#include <stdlib.h>

static void add_edge(struct rg_program *p, uint32_t from, uint32_t to, uint32_t distance,
                     enum rg_edge_how how)
{
    if (p->edge_count == p->edge_capacity) {
        p->edge_capacity = p->edge_capacity ? 2 * p->edge_capacity : 64;
        p->edge = realloc(p->edge, p->edge_capacity * sizeof *p->edge);
        if (!p->edge)
            abort();
    }
    p->edge[p->edge_count++] = (struct rg_edge){ from, to, distance, how };
}

/* How an edge within a replay can be given: a plain call takes no list. */
static enum rg_edge_how random_how(const struct rg_program *p, struct rg_rng *rng, uint32_t from,
                                   uint32_t to)
{
    int listed = from < to && p->record[to].kind != RG_CALL;
    return listed && rg_chance(rng, 60) ? RG_AFTER : RG_EDGE;
}

/* The carried edges in a task's own list have one distance. */
static void add_carried(struct rg_program *p, struct rg_rng *rng, uint32_t to)
{
    uint32_t from = rg_below(rng, p->record_count), distance = 1 + rg_below(rng, 3);
    int listed = from < to && rg_stamps(&p->record[to]) && rg_chance(rng, 50);
    for (uint32_t e = 0; listed && e < p->edge_count; e++)
        if (p->edge[e].to == to && p->edge[e].how == RG_CARRIED)
            distance = p->edge[e].distance;
    add_edge(p, from, to, distance, listed ? RG_CARRIED : RG_EDGE);
}

static void some_edges(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t to = 0; to < p->record_count; to++) {
        if (to > 0 && rg_chance(rng, 25)) {
            uint32_t from = rg_below(rng, to);
            add_edge(p, from, to, 0, random_how(p, rng, from, to));
        }
        if (p->profile != RG_CONCURRENT && rg_chance(rng, 10))
            add_carried(p, rng, to);
    }
}

/* Edges along a random order of the nodes, which may be another than that of recording. */
static void edges_by_hand(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t dense = 1 + rg_below(rng, 4), carried = rg_below(rng, 3), n = p->record_count;
    if (rg_chance(rng, 30))
        for (uint32_t i = n - 1; i > 0; i--) {
            uint32_t k = rg_below(rng, i + 1), other = p->order[k];
            p->order[k] = p->order[i];
            p->order[i] = other;
        }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = i ? rg_below(rng, dense + 1) : 0; k > 0; k--) {
            uint32_t from = p->order[rg_below(rng, i)], to = p->order[i];
            add_edge(p, from, to, 0, random_how(p, rng, from, to));
        }
        for (uint32_t k = carried ? rg_below(rng, carried + 1) : 0; k > 0; k--)
            add_carried(p, rng, i);
    }
}

static int boxes_meet(const struct rg_program *p, const struct rg_boxes *a,
                      const struct rg_boxes *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++) {
            const rondo_region *x = &p->box[a->first + i], *y = &p->box[b->first + k];
            int meet = 1;
            for (int d = 0; d < 3; d++)
                meet = meet && x->first[d] < y->first[d] + y->count[d] &&
                       y->first[d] < x->first[d] + x->count[d];
            if (meet)
                return 1;
        }
    return 0;
}

/* At least where two records touch the same bytes and one writes them. */
static int conflict(const struct rg_program *p, uint32_t a, uint32_t b)
{
    const struct rg_record *x = &p->record[a], *y = &p->record[b];
    for (uint32_t i = 0; i < x->access_count; i++)
        for (uint32_t k = 0; k < y->access_count; k++) {
            uint32_t s = x->access[i].slot, t = y->access[k].slot;
            if (!((x->access[i].mode | y->access[k].mode) & RONDO_WRITE) || !rg_slots_meet(p, s, t))
                continue;
            if (s != t ||
                boxes_meet(p, &p->node[x->first_node].boxes[i], &p->node[y->first_node].boxes[k]))
                return 1;
        }
    return 0;
}

static void edges_of_conflicts(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t to = 0; to < p->record_count; to++)
        for (uint32_t from = 0; from <= to; from++)
            if (conflict(p, from, to)) {
                if (from < to)
                    add_edge(p, from, to, 0, random_how(p, rng, from, to));
                add_edge(p, to, from, 1, RG_EDGE);
            }
}

/* By node, its predecessors by hand. */
static void make_preds(struct rg_program *p)
{
    size_t most = 0;
    for (uint32_t e = 0; e < p->edge_count; e++)
        most += (size_t)p->record[p->edge[e].from].node_count * p->record[p->edge[e].to].node_count;
    p->pred = calloc(most + 1, sizeof *p->pred);
    if (!p->pred)
        abort();
    for (uint32_t v = 0; v < p->node_count; v++) {
        struct rg_node *n = &p->node[v];
        n->pred_first = p->pred_count;
        for (uint32_t e = 0; e < p->edge_count; e++) {
            const struct rg_record *from = &p->record[p->edge[e].from];
            if (p->edge[e].to != n->record)
                continue;
            for (uint32_t i = 0; i < from->node_count; i++)
                p->pred[p->pred_count++] =
                    (struct rg_pred){ from->first_node + i, p->edge[e].distance };
        }
        n->pred_count = p->pred_count - n->pred_first;
    }
}

void rg_edges_make(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t v = 0; v < p->node_count; v++)
        p->order[v] = v;
    if (p->profile == RG_BY_HAND) {
        edges_by_hand(p, rng);
    } else {
        if (p->profile == RG_CHECKED)
            edges_of_conflicts(p, rng);
        some_edges(p, rng);
    }
    make_preds(p);
}
