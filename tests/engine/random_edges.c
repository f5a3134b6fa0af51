/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's edges by hand, and what they say of its nodes. Where edges are explicit,
 * every conflict between two records gets one, and its way back over one replay. */
#include "tests/engine/random_program.h"

#include <stdlib.h>

/* In a nest that is another's twin: edges inside of it are that one's. */
static int in_twin(const struct rg_program *p, uint32_t record)
{
    uint32_t nest = p->record[record].nest;
    return nest && p->nest[nest - 1].twin != nest - 1;
}

/* A signal behind something that may fail, or be late, might never come. */
static int may_hang(const struct rg_program *p, uint32_t to, uint32_t distance)
{
    return p->record[to].kind == RG_SIGNAL && distance == 0 && (p->fails || p->late);
}

static void put_edge(struct rg_program *p, uint32_t from, uint32_t to, uint32_t distance,
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

static void add_edge(struct rg_program *p, uint32_t from, uint32_t to, uint32_t distance,
                     enum rg_edge_how how)
{
    int inside = p->record[from].nest && !rg_crosses(p, from, to);
    if ((inside && in_twin(p, to)) || may_hang(p, to, distance))
        return;
    put_edge(p, from, to, distance, how);
}

/* How an edge within a replay can be given: a plain call takes no list. */
static enum rg_edge_how random_how(const struct rg_program *p, struct rg_rng *rng, uint32_t from,
                                   uint32_t to)
{
    int listed = from < to &&
                 (p->record[to].kind != RG_CALL || (p->record[to].nest && rg_crosses(p, from, to)));
    return listed && rg_chance(rng, 60) ? RG_AFTER : RG_EDGE;
}

/* The carried edges in a task's own list have one distance. */
static void add_carried(struct rg_program *p, struct rg_rng *rng, uint32_t to)
{
    uint32_t low = p->member[p->record[to].member].first_record;
    uint32_t high = p->member[p->record[to].member].end_record;
    uint32_t from = low + rg_below(rng, high - low), distance = 1 + rg_below(rng, 3);
    int listed =
        from < to && rg_is_task(&p->record[to]) && !rg_crosses(p, from, to) && rg_chance(rng, 50);
    for (uint32_t e = 0; listed && e < p->edge_count; e++)
        if (p->edge[e].to == to && p->edge[e].how == RG_CARRIED)
            distance = p->edge[e].distance;
    add_edge(p, from, to, distance, listed ? RG_CARRIED : RG_EDGE);
}

/* A pair of records of the same member with from < to, or 0. */
static int random_before(const struct rg_program *p, struct rg_rng *rng, uint32_t to,
                         uint32_t *from)
{
    uint32_t low = p->member[p->record[to].member].first_record;
    if (to == low)
        return 0;
    *from = low + rg_below(rng, to - low);
    return 1;
}

static void some_edges(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t to = 0; to < p->record_count; to++) {
        uint32_t from;
        if (rg_chance(rng, 25) && random_before(p, rng, to, &from))
            add_edge(p, from, to, 0, random_how(p, rng, from, to));
        if (p->profile != RG_CONCURRENT && rg_chance(rng, 10))
            add_carried(p, rng, to);
    }
}

/* Edges along a random order of the nodes, which may be another than that of recording. */
static void edges_by_hand(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t dense = 1 + rg_below(rng, 4), carried = rg_below(rng, 3), n = p->record_count;
    if (!p->plain_edges && rg_chance(rng, 30))
        for (uint32_t i = n - 1; i > 0; i--) {
            uint32_t k = rg_below(rng, i + 1), other = p->order[k];
            p->order[k] = p->order[i];
            p->order[i] = other;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = i; /* of its member, which then is in the order of recording */
        if (p->plain_edges)
            before = i - p->member[p->record[i].member].first_record;
        for (uint32_t k = before ? rg_below(rng, dense + 1) : 0; k > 0; k--) {
            uint32_t at = i - 1 - rg_below(rng, before);
            uint32_t from = p->plain_edges ? at : p->order[at];
            uint32_t to = p->plain_edges ? i : p->order[i];
            add_edge(p, from, to, 0, random_how(p, rng, from, to));
        }
        for (uint32_t k = carried ? rg_below(rng, carried + 1) : 0; k > 0; k--)
            add_carried(p, rng, i);
    }
}

/* A signal follows itself, or a later replay's might let an earlier one's wait go; and what waits
 * for something comes after something else now and then. */
static void edges_of_signals(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t i = 0; i < p->record_count; i++) {
        uint32_t from, low = p->member[p->record[i].member].first_record;
        uint32_t end = p->member[p->record[i].member].end_record;
        if (p->record[i].kind != RG_SIGNAL && p->record[i].kind != RG_AWAIT)
            continue;
        if (p->record[i].kind == RG_SIGNAL && p->profile != RG_CONCURRENT)
            put_edge(p, i, i, 1, RG_EDGE);
        for (uint32_t n = rg_below(rng, 3); n > 0 && i > low; n--)
            if (random_before(p, rng, i, &from))
                add_edge(p, from, i, 0, random_how(p, rng, from, i));
        for (uint32_t n = rg_below(rng, 3); n > 0 && i + 1 < end; n--) {
            uint32_t to = i + 1 + rg_below(rng, end - i - 1);
            add_edge(p, i, to, 0, random_how(p, rng, i, to));
        }
    }
}

/* The edges inside a nest that is recorded again. */
static void edges_of_twins(struct rg_program *p)
{
    for (uint32_t k = 0; k < p->nest_count; k++) {
        const struct rg_nest *n = &p->nest[k], *of = &p->nest[n->twin];
        uint32_t edges = n->twin == k ? 0 : p->edge_count;
        for (uint32_t e = 0; e < edges; e++) {
            struct rg_edge edge = p->edge[e];
            if (p->record[edge.from].nest == n->twin + 1 && p->record[edge.to].nest == n->twin + 1)
                put_edge(p, edge.from - of->first + n->first, edge.to - of->first + n->first,
                         edge.distance, edge.how);
        }
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

int rg_touch(const struct rg_program *p, uint32_t node, uint32_t i, struct rg_access *access,
             struct rg_boxes *boxes)
{
    const struct rg_node *n = &p->node[node];
    const struct rg_record *r = &p->record[n->record];
    const struct rg_when *nest = r->nest ? &p->nest[r->nest - 1].when : &r->when;
    int32_t flag[2] = { r->when.flag, r->nest ? nest->flag : -1 };
    if (i < r->access_count) {
        *access = r->access[i];
        *boxes = n->boxes[i];
        return 1;
    }
    if (i >= r->access_count + 2)
        return 0;
    *access = (struct rg_access){ .slot = 0, .mode = 0 };
    *boxes = (struct rg_boxes){ 0, 0, { { 0 }, { 0 } } };
    if (flag[i - r->access_count] >= 0) {
        access->slot = (uint32_t)flag[i - r->access_count];
        access->mode = RONDO_READ;
        boxes->first = p->flag_box;
        boxes->count = 1;
    }
    return 1;
}

static int reduce_alike(const struct rg_access *a, const struct rg_access *b)
{
    return a->mode == RONDO_REDUCE && b->mode == RONDO_REDUCE && a->type == b->type &&
           a->op == b->op && a->slot == b->slot;
}

/* At least where two nodes touch the same bytes and one writes them. RG_WITHIN: of a replay, where
 * those that reduce alike do not meet. RG_TOKENS: where they touch the same elements of a token. */
enum { RG_WITHIN = 1, RG_TOKENS = 2 };
static int conflict(const struct rg_program *p, uint32_t a, uint32_t b, int what)
{
    struct rg_access x, y;
    struct rg_boxes bx, by;
    for (uint32_t i = 0; rg_touch(p, a, i, &x, &bx); i++)
        for (uint32_t k = 0; rg_touch(p, b, k, &y, &by); k++) {
            if (!((x.mode | y.mode) & RONDO_WRITE) || !x.mode || !y.mode ||
                !rg_slots_meet(p, x.slot, y.slot) ||
                (what & RG_TOKENS && p->slot[x.slot].kind != RG_TOKEN) ||
                (what & RG_WITHIN && reduce_alike(&x, &y)))
                continue;
            if (x.slot != y.slot || boxes_meet(p, &bx, &by))
                return 1;
        }
    return 0;
}

static void edges_of_conflicts(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t to = 0; to < p->record_count; to++)
        for (uint32_t from = p->member[p->record[to].member].first_record; from <= to; from++) {
            uint32_t a = p->record[from].first_node, b = p->record[to].first_node;
            if (from < to && conflict(p, a, b, RG_WITHIN))
                add_edge(p, from, to, 0, random_how(p, rng, from, to));
            if (conflict(p, a, b, 0))
                add_edge(p, to, from, 1, RG_EDGE);
        }
}

/* ---- what each node can be seen to follow */

static void put_pred(struct rg_program *p, uint32_t node, uint32_t distance)
{
    if (p->pred_count == p->pred_capacity) {
        p->pred_capacity = p->pred_capacity ? 2 * p->pred_capacity : 256;
        p->pred = realloc(p->pred, p->pred_capacity * sizeof *p->pred);
        if (!p->pred)
            abort();
    }
    p->pred[p->pred_count++] = (struct rg_pred){ node, distance };
}

/* By node, its predecessors by hand. */
static void preds_by_hand(struct rg_program *p, uint32_t v)
{
    const struct rg_node *n = &p->node[v];
    uint32_t nest = p->record[n->record].nest;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const struct rg_edge *edge = &p->edge[e];
        uint32_t from = edge->from, end = from + 1;
        int crosses = rg_crosses(p, edge->from, edge->to);
        if (edge->to != n->record && !(crosses && nest && p->record[edge->to].nest == nest))
            continue;
        if (crosses && p->record[from].nest) {
            end = p->nest[p->record[from].nest - 1].end;
            from = p->nest[p->record[from].nest - 1].first;
        }
        for (; from < end; from++)
            for (uint32_t i = 0; i < p->record[from].node_count; i++)
                put_pred(p, p->record[from].first_node + i, edge->distance);
    }
}

/* The signal of a wait node, which comes first as well; of tracks another one's may. */
static uint32_t signal_of(const struct rg_program *p, const struct rg_record *r)
{
    int sure = r->kind == RG_AWAIT && r->event < 0 && p->profile != RG_CONCURRENT;
    for (uint32_t i = 0; sure && i < p->record_count; i++)
        if (p->record[i].kind == RG_SIGNAL &&
            p->record[i].counter + p->record[i].partner == r->counter)
            return i;
    return p->record_count;
}

/* Through what leaves no stamp, or not always. Edges by hand hold through a node that does not
 * run. */
static void preds_through(struct rg_program *p, uint32_t v)
{
    struct rg_node *n = &p->node[v];
    uint32_t budget = 40;
    for (uint32_t k = n->pred_first; k < p->pred_count && budget; k++) {
        struct rg_pred pred = p->pred[k];
        const struct rg_node *from = &p->node[pred.node];
        const struct rg_record *r = &p->record[from->record];
        uint32_t signal = signal_of(p, r);
        if (rg_stamps(r) && !rg_sometimes(p, r))
            continue;
        if (signal < p->record_count)
            put_pred(p, p->record[signal].first_node, pred.distance);
        for (uint32_t i = 0; i < from->hand_count && budget; i++, budget--) {
            struct rg_pred more = p->pred[from->pred_first + i];
            if (more.distance + pred.distance <= 3)
                put_pred(p, more.node, more.distance + pred.distance);
        }
    }
}

/* Nodes that touch the same elements of a token, within a replay and from one to the next. */
static void preds_over_tokens(struct rg_program *p, uint32_t v)
{
    const uint32_t m = p->record[p->node[v].record].member;
    for (uint32_t u = p->member[m].first_node; u < p->member[m].end_node; u++)
        if (conflict(p, u, v, RG_TOKENS))
            put_pred(p, u, u < v ? 0 : 1);
}

static void make_preds(struct rg_program *p)
{
    for (uint32_t v = 0; v < p->node_count; v++) {
        p->node[v].pred_first = p->pred_count;
        preds_by_hand(p, v);
        p->node[v].hand_count = p->node[v].pred_count = p->pred_count - p->node[v].pred_first;
    }
    if (!p->plain_edges && !p->sometimes && !rg_has(p, RG_F_TOKEN))
        return;
    for (uint32_t v = 0; v < p->node_count; v++) {
        uint32_t first = p->pred_count, hand = p->node[v].hand_count;
        struct rg_node *n = &p->node[v];
        for (uint32_t k = 0; k < hand; k++)
            put_pred(p, p->pred[n->pred_first + k].node, p->pred[n->pred_first + k].distance);
        n->pred_first = first;
        preds_through(p, v);
        if (rg_has(p, RG_F_TOKEN))
            preds_over_tokens(p, v);
        n->pred_count = p->pred_count - first;
    }
}

void rg_edges_make(struct rg_program *p, struct rg_rng *rng)
{
    const struct rg_access whole = { .slot = 0 };
    struct rg_boxes first = { 0 };
    if (p->slot_count) {
        rg_boxes_of(p, &whole, NULL, &first);
        p->flag_box = first.first;
        p->box[p->flag_box] = (rondo_region){ { 0, 0, 0 }, { 1, 1, 1 } };
    }
    for (uint32_t v = 0; v < p->node_count; v++)
        p->order[v] = v;
    if (p->profile == RG_BY_HAND) {
        edges_by_hand(p, rng);
    } else {
        if (p->profile == RG_CHECKED)
            edges_of_conflicts(p, rng);
        some_edges(p, rng);
    }
    edges_of_signals(p, rng);
    edges_of_twins(p);
    make_preds(p);
}
