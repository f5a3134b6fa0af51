/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for more lanes than clocks are worth. Lane by lane; a dependence is dropped if an earlier
 * wait of the same lane, or a direct predecessor of an op that it waited for, reaches as far. Both
 * are facts whatever else is dropped: every dependence holds, kept or implied, by induction over
 * the global order. Some waits that are implied in longer ways stay. */
#include "compile/waits.h"

#include <string.h>

struct covers {
    struct rd_waits *w;
    uint64_t *known;      /* of each peer, the present lane's */
    uint32_t *stamp;      /* `known` is of lane stamp - 1 */
    uint64_t *round;      /* see gather */
    struct rd_need *need; /* by peer */
    uint16_t *peer;       /* the candidates */
    uint32_t peers;
    uint64_t rounds;
    uint32_t lane, copy;
};

static uint64_t known(const struct covers *c, uint32_t peer)
{
    return c->stamp[peer] == c->lane + 1 ? c->known[peer] : 0;
}

static void know(struct covers *c, uint32_t peer, uint64_t value)
{
    if (peer == c->lane || known(c, peer) >= value)
        return;
    c->stamp[peer] = c->lane + 1;
    c->known[peer] = value;
}

/* As in clocks.c: the counts of copy 0 begin at distance * length. 0 if before replay
 * -(distance + 1) ended. */
static uint64_t value_of(const struct covers *c, uint32_t from, uint32_t distance, uint32_t *peer)
{
    uint32_t b = c->w->lane_of_node[from];
    const struct rd_plan_lane *l = &c->w->plan->lane[b];
    *peer = b;
    if (distance > c->copy + c->w->p->crossing_distance)
        return 0;
    return (uint64_t)(c->copy + c->w->p->crossing_distance - distance) * l->length +
           rd_waits_position(c->w, from) + 1;
}

static void gather(struct covers *c, uint32_t v)
{
    const struct rd_waits *g = c->w;
    c->rounds++;
    c->peers = 0;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        uint32_t b;
        uint64_t value = value_of(c, g->pred[e].from, g->pred[e].distance, &b);
        if (b == c->lane || known(c, b) >= value)
            continue;
        if (c->round[b] != c->rounds)
            c->peer[c->peers++] = (uint16_t)b;
        else if (value <= c->need[b].value)
            continue;
        c->round[b] = c->rounds;
        c->need[b] = (struct rd_need){ value, e, (uint16_t)b };
    }
}

/* Latest first: a shell sort, the lists being short. */
static void sort(struct covers *c)
{
    uint32_t gap = 1;
    while (gap < c->peers / 3)
        gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (uint32_t i = gap; i < c->peers; i++) {
            uint16_t here = c->peer[i];
            uint32_t j = i;
            for (; j >= gap && rd_waits_later(c->w, &c->need[here], &c->need[c->peer[j - gap]]);
                 j -= gap)
                c->peer[j] = c->peer[j - gap];
            c->peer[j] = here;
        }
}

static void learn(struct covers *c, const struct rd_need *need)
{
    const struct rd_waits *g = c->w;
    const struct rd_edge *edge = &g->pred[need->edge];
    know(c, need->peer, need->value);
    if (g->varies && edge->distance)
        return; /* that replay may have had other edges */
    for (uint32_t e = g->first[edge->from]; e < g->first[edge->from + 1]; e++) {
        uint32_t b;
        uint64_t value = value_of(c, g->pred[e].from, edge->distance + g->pred[e].distance, &b);
        know(c, b, value);
    }
}

static rondo_status walk(struct covers *c, int keep)
{
    const struct rd_plan_lane *l = &c->w->plan->lane[c->lane];
    for (uint32_t op = l->first; op < l->first + l->length; op++) {
        gather(c, c->w->op[op].node);
        sort(c);
        if (keep)
            rd_waits_clear(&c->w->op[op]);
        for (uint32_t i = 0; i < c->peers; i++) {
            const struct rd_need *need = &c->need[c->peer[i]];
            rondo_status s;
            if (known(c, need->peer) >= need->value)
                continue;
            learn(c, need);
            if (keep && (s = rd_waits_keep(c->w, op, need)))
                return s;
        }
    }
    return RONDO_OK;
}

/* With carried edges a lane is walked twice: what it waited for in one replay it knows in the next,
 * unless that may have waited for other things. */
static rondo_status walk_lanes(struct covers *c)
{
    for (c->lane = 0; c->lane < c->w->plan->lanes; c->lane++) {
        uint32_t copies = c->w->p->crossing_distance && !c->w->varies ? 2 : 1;
        for (c->copy = 0; c->copy < copies; c->copy++) {
            rondo_status s = walk(c, c->copy + 1 == copies);
            if (s)
                return s;
        }
    }
    return RONDO_OK;
}

rondo_status rd_waits_by_covers(struct rd_waits *w)
{
    struct covers c = { .w = w };
    struct rd_scratch scratch = rd_scratch_part(&w->p->scratch);
    uint32_t lanes = w->plan->lanes;
    rondo_status s;
    c.known = rd_scratch_array(&scratch, lanes, sizeof *c.known);
    c.stamp = rd_scratch_zeroed(&scratch, lanes, sizeof *c.stamp);
    c.round = rd_scratch_zeroed(&scratch, lanes, sizeof *c.round);
    c.need = rd_scratch_array(&scratch, lanes, sizeof *c.need);
    c.peer = rd_scratch_array(&scratch, lanes, sizeof *c.peer);
    if (c.known && c.stamp && c.round && c.need && c.peer)
        s = walk_lanes(&c);
    else
        s = rd_pass_memory();
    rd_scratch_free(&scratch);
    return s;
}
