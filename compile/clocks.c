/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact waits by vector clocks, for up to 64 lanes.
 *
 * A lane's clock says for each other lane how many of its ops are known to have ended when the lane
 * stands where it stands. The sweep goes over the global order, copy after copy of the replay, with
 * counts that grow from copy to copy as the executor's counters do. A dependence whose peer's clock
 * already suffices is dropped; otherwise it is kept and the clock of the op waited for is merged.
 * Candidates are tried latest first: what another one implies lies before it in the global order,
 * so greedy is exact and at most one wait per peer remains.
 *
 * A clock is the same whether a dependence is kept or dropped: it is the whole of what happened
 * before, and it only grows (relative to its copy) from copy to copy, as there is more history. So
 * the lists of any copy are sound for every replay: in replay r an op's clock holds by induction
 * over the global order, what lies before replay 0 having ended; and once copies repeat they are
 * exact.
 *
 * Of a plan with variants one copy is swept, the first: what it knows, this replay itself waited
 * for, and that is true whatever variants the replays before were.
 *
 * Clocks are kept as snapshots, one for each stretch of a lane between two merges, as long as an
 * unswept consumer on another lane may ask for it. */
#include "compile/waits.h"

#include <string.h>

/* Sweeping more than this many edges is not worth a few waits that a further copy could drop. */
static const uint64_t sweep_budget = 1u << 26;

#define NONE UINT32_MAX

struct clocks {
    struct rd_waits *w;
    uint32_t lanes, copy;
    uint64_t *now;  /* [lane][lane]; the lane's own entry is not used */
    uint64_t *base; /* count of each lane at the copy's start */
    uint64_t *exit; /* `now` at the end of the copy before */
    uint64_t *sum;  /* of a lane's clock, relative to the copy; see settled() */
    uint64_t total, total_before;
    uint32_t repeats;
    /* Snapshots: blocks of 1 + lanes words; the first counts who may ask, or is the next free. */
    uint64_t *pool;
    size_t pool_capacity, pool_count;
    uint32_t pool_free;
    uint32_t *current;    /* snapshot of each lane's present clock, NONE: changed since */
    uint64_t *kept_first; /* by node: in `kept`; NULL: one each, for one copy or no carried edge */
    uint32_t *kept;       /* snapshots of producers, a ring over copies for carried consumers */
    struct rd_need need[RD_CLOCK_LANES]; /* by peer */
    uint32_t *cross;                     /* edges from other lanes of the op at hand */
    uint32_t cross_count;
};

static uint64_t *snapshot(struct clocks *c, uint32_t index)
{
    return c->pool + (size_t)index * (1 + c->lanes);
}

static void release(struct clocks *c, uint32_t index)
{
    uint64_t *s = snapshot(c, index);
    if (--s[0])
        return;
    s[0] = c->pool_free;
    c->pool_free = index;
}

/* Where the snapshot of u in a copy is kept. */
static uint32_t *kept_at(const struct clocks *c, uint32_t u, uint32_t copy)
{
    uint64_t first;
    if (!c->kept_first)
        return &c->kept[u];
    first = c->kept_first[u];
    return &c->kept[first + copy % (c->kept_first[u + 1] - first)];
}

static int take_snapshot(struct clocks *c, uint32_t lane)
{
    uint32_t index = c->pool_free;
    uint64_t *s;
    if (index == NONE) {
        if (!rd_grow(c->w->p->scratch.a, (void **)&c->pool, &c->pool_capacity, c->pool_count, 1,
                     (1 + c->lanes) * sizeof *c->pool))
            return 0;
        index = (uint32_t)c->pool_count++;
        s = snapshot(c, index);
    } else {
        s = snapshot(c, index);
        c->pool_free = (uint32_t)s[0];
    }
    s[0] = 1; /* the lane */
    memcpy(s + 1, c->now + (size_t)lane * c->lanes, c->lanes * sizeof *s);
    c->current[lane] = index;
    return 1;
}

/* The most a producer's consumers ask for is known: its snapshot outlives exactly them. */
static int keep_snapshot(struct clocks *c, uint32_t v, uint32_t lane)
{
    if (c->current[lane] == NONE && !take_snapshot(c, lane))
        return 0;
    snapshot(c, c->current[lane])[0] += c->w->p->crossing_out[v];
    *kept_at(c, v, c->copy) = c->current[lane];
    c->total += c->sum[lane];
    return 1;
}

static uint64_t known(uint64_t count, uint64_t base)
{
    return count ? count - base + (1ull << 40) : 0;
}

static void raise_to(struct clocks *c, uint32_t lane, uint32_t peer, uint64_t count)
{
    uint64_t *at = &c->now[(size_t)lane * c->lanes + peer];
    if (*at >= count)
        return;
    c->sum[lane] += known(count, c->base[peer]) - known(*at, c->base[peer]);
    *at = count;
}

/* The lane waits for `need`: it knows what the op waited for knew. */
static void merge(struct clocks *c, uint32_t lane, const struct rd_need *need)
{
    const struct rd_edge *edge = &c->w->pred[need->edge];
    if (c->current[lane] != NONE)
        release(c, c->current[lane]);
    c->current[lane] = NONE;
    if (edge->distance <= c->copy) {
        const uint64_t *s = snapshot(c, *kept_at(c, edge->from, c->copy - edge->distance)) + 1;
        for (uint32_t z = 0; z < c->lanes; z++)
            if (z != lane && z != need->peer)
                raise_to(c, lane, z, s[z]);
    }
    raise_to(c, lane, need->peer, need->value);
}

/* Lists v's edges from other lanes and finds the latest on each; the set of those lanes comes back.
 */
static uint64_t gather(struct clocks *c, uint32_t v, uint32_t lane)
{
    const struct rd_waits *g = c->w;
    const struct rd_plan *plan = c->w->plan;
    uint64_t peers = 0;
    uint32_t count = 0;
    for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
        c->cross[count] = e; /* no branch: it would go either way half of the time */
        count += c->w->lane_of_node[g->pred[e].from] != lane;
    }
    c->cross_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct rd_edge *edge = &g->pred[c->cross[i]];
        uint32_t b = c->w->lane_of_node[edge->from];
        uint64_t value = c->base[b] + (plan->op_of_node[edge->from] - plan->lane[b].first) + 1 -
                         (uint64_t)edge->distance * plan->lane[b].length;
        if (!(peers >> b & 1) || value > c->need[b].value)
            c->need[b] = (struct rd_need){ value, c->cross[i], (uint16_t)b };
        peers |= 1ull << b;
    }
    return peers;
}

static rondo_status settle(struct clocks *c, uint32_t v, uint32_t lane, uint64_t peers)
{
    const uint64_t *now = c->now + (size_t)lane * c->lanes;
    while (peers) {
        uint32_t latest = NONE;
        for (uint64_t left = peers; left; left &= left - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(left);
            if (now[b] >= c->need[b].value)
                peers &= ~(1ull << b);
            else if (latest == NONE || rd_waits_later(c->w, &c->need[b], &c->need[latest]))
                latest = b;
        }
        if (latest == NONE)
            break;
        rondo_status s = rd_waits_keep(c->w, c->w->plan->op_of_node[v], &c->need[latest]);
        if (s)
            return s;
        merge(c, lane, &c->need[latest]);
        peers &= ~(1ull << latest);
    }
    return RONDO_OK;
}

/* The op whose edges were gathered has been settled. */
static void stop_asking(struct clocks *c)
{
    for (uint32_t i = 0; i < c->cross_count; i++) {
        const struct rd_edge *edge = &c->w->pred[c->cross[i]];
        if (edge->distance <= c->copy)
            release(c, *kept_at(c, edge->from, c->copy - edge->distance));
    }
}

static rondo_status sweep(struct clocks *c)
{
    struct rd_waits *w = c->w;
    w->further_count = 0;
    w->wait_count = 0;
    for (uint32_t i = 0; i < w->p->nodes; i++) {
        uint32_t v = w->order ? w->order[i] : i, lane = w->lane_of_node[v];
        uint64_t peers = gather(c, v, lane);
        rd_waits_clear(&w->op[w->plan->op_of_node[v]]);
        if (peers) {
            rondo_status s = settle(c, v, lane, peers);
            if (s)
                return s;
            stop_asking(c);
        }
        if (c->w->p->crossing_out[v] && !keep_snapshot(c, v, lane))
            return rd_pass_memory();
    }
    return RONDO_OK;
}

/* Begins the next copy. */
static void advance(struct clocks *c)
{
    memcpy(c->exit, c->now, (size_t)c->lanes * c->lanes * sizeof *c->now);
    c->total_before = c->total;
    c->total = 0;
    c->copy++;
    for (uint32_t z = 0; z < c->lanes; z++)
        c->base[z] += c->w->plan->lane[z].length;
    for (uint32_t a = 0; a < c->lanes; a++) {
        c->sum[a] = 0;
        for (uint32_t z = 0; z < c->lanes; z++)
            c->sum[a] += known(c->now[(size_t)a * c->lanes + z], c->base[z]);
    }
}

/* Whether another copy could change a list. Relative clocks only grow from copy to copy, so equal
 * sums over all producers and equal exits mean equal clocks; the state reaches `distance` copies
 * back. */
static int settled(struct clocks *c)
{
    uint64_t edges = c->w->p->edges + c->w->p->carried_edges;
    int same = c->copy > 0 && c->total == c->total_before;
    for (uint32_t a = 0; a < c->lanes && same; a++)
        for (uint32_t z = 0; z < c->lanes && same; z++) {
            uint64_t was = c->exit[(size_t)a * c->lanes + z], is = c->now[(size_t)a * c->lanes + z];
            same = was ? is == was + c->w->plan->lane[z].length : !is;
        }
    c->repeats = same ? c->repeats + 1 : 0;
    if (c->repeats >= c->w->p->crossing_distance)
        return 1;
    return (c->copy + 2ull) * edges > sweep_budget;
}

/* A virtual END waits for the lanes' last ops, latest first, where no clock covers them yet. */
static void set_sinks(struct clocks *c)
{
    struct rd_waits *w = c->w;
    uint64_t seen = 0, end[RD_CLOCK_LANES] = { 0 };
    uint32_t left = c->lanes;
    for (uint32_t i = w->p->nodes; left && i-- > 0;) {
        uint32_t lane = w->lane_of_node[w->order ? w->order[i] : i];
        struct rd_plan_lane *l = &w->plan->lane[lane];
        if (seen >> lane & 1)
            continue;
        seen |= 1ull << lane;
        left--;
        if (end[lane] >= c->base[lane] + l->length)
            continue;
        l->sink = 1;
        w->plan->sinks++;
        for (uint32_t z = 0; z < c->lanes; z++)
            if (c->now[(size_t)lane * c->lanes + z] > end[z])
                end[z] = c->now[(size_t)lane * c->lanes + z];
        end[lane] = c->base[lane] + l->length;
    }
}

/* Rings of snapshots, as long as each producer's farthest consumer needs. */
static int prepare_rings(struct clocks *c, struct rd_scratch *s)
{
    const struct rd_waits *g = c->w;
    uint32_t n = c->w->p->nodes;
    uint64_t all = 0, *first = rd_scratch_zeroed(s, (size_t)n + 1, sizeof *first);
    if (!first)
        return 0;
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from;
            if (c->w->lane_of_node[u] != c->w->lane_of_node[v] &&
                first[u] < g->pred[e].distance + 1u)
                first[u] = g->pred[e].distance + 1u;
        }
    for (uint32_t v = 0; v <= n; v++) {
        uint64_t length = first[v];
        first[v] = all;
        all += length;
    }
    c->kept_first = first;
    c->kept = rd_scratch_array(s, all, sizeof *c->kept);
    return c->kept != NULL;
}

static int prepare(struct clocks *c, struct rd_scratch *s)
{
    uint32_t n = c->w->p->nodes, lanes = c->lanes;
    c->now = rd_scratch_zeroed(s, (size_t)lanes * lanes, sizeof *c->now);
    c->exit = rd_scratch_zeroed(s, (size_t)lanes * lanes, sizeof *c->exit);
    c->base = rd_scratch_array(s, lanes, sizeof *c->base);
    c->sum = rd_scratch_zeroed(s, lanes, sizeof *c->sum);
    c->current = rd_scratch_array(s, lanes, sizeof *c->current);
    c->cross = rd_scratch_array(s, c->w->p->most_preds, sizeof *c->cross);
    if (!c->now || !c->exit || !c->base || !c->sum || !c->current || !c->cross)
        return 0;
    c->pool_free = NONE;
    for (uint32_t z = 0; z < lanes; z++) {
        c->current[z] = NONE;
        c->base[z] = (uint64_t)c->w->p->crossing_distance * c->w->plan->lane[z].length;
    }
    if (c->w->p->crossing_distance && !c->w->varies)
        return prepare_rings(c, s);
    c->kept = rd_scratch_array(s, n, sizeof *c->kept);
    return c->kept != NULL;
}

rondo_status rd_waits_by_clocks(struct rd_waits *w)
{
    struct clocks c = { .w = w, .lanes = w->plan->lanes };
    struct rd_scratch scratch = rd_scratch_part(&w->p->scratch);
    rondo_status s = RONDO_OK;
    if (!prepare(&c, &scratch)) {
        s = rd_pass_memory();
        goto free_scratch;
    }
    for (;;) {
        s = sweep(&c);
        if (s)
            goto free_scratch;
        if (w->varies || settled(&c))
            break;
        advance(&c);
    }
    if (!w->varies)
        set_sinks(&c);
free_scratch:
    rd_free_array(w->p->scratch.a, c.pool, c.pool_capacity, (1 + c.lanes) * sizeof *c.pool);
    rd_scratch_free(&scratch);
    return s;
}
