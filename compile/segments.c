/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts the nodes on devices into segments: an order of all nodes, the class of each node on a
 * device, runs of equal classes.
 *
 * No edge leads back. A class is {level, device, late, time}. An edge between nodes of one device
 * and level keeps the class or goes to a later one, since `late` and the time the host takes grow
 * along it; every other edge from a device's node leads to a greater level, and a level never falls
 * along an edge. So by class all edges between segments go forward, whatever they go through. */
#include "compile/segments_graph.h"

#include "compile/compile.h"
#include "compile/scratch.h"
#include "compile/sort.h"
#include "src/base/error.h"

struct cut {
    struct rd_scratch scratch;
    const struct rd_subgraph *g;
    const struct rd_graph *graph;
    uint32_t nodes, submit_ns;
    uint16_t *place; /* by node: 0 the host, 1 + a device */
    uint8_t *traits;
    uint32_t *succ_first, *succ; /* within a replay */
    uint32_t *order;             /* topological */
    uint32_t *level;
    uint8_t *late;   /* of a device's node: nothing outside waits for it or what it leads to */
    uint32_t *wait;  /* how long the host takes until it can be handed over; saturated */
    uint32_t *ready; /* by node: when its work has ended */
};

static rondo_status no_memory(const struct cut *c)
{
    return rd_error(RONDO_ERR_MEMORY, "no memory for the segments of %u nodes", c->nodes);
}

/* ---- what is known of each node */

static uint8_t traits_of(const struct rd_subgraph *g, uint32_t v)
{
    const struct rd_node *n = &g->nodes.item[v];
    const struct rd_extra *extra = rd_node_extra(g, v);
    uint8_t traits = 0;
    for (uint32_t i = 0; i < extra->when_count; i++)
        if (g->whens.item[extra->when + i].flag)
            traits |= RD_LOOKS_AT_FLAG;
    for (uint32_t i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &g->accesses.item[n->access + i];
        if ((a->mode & RONDO_WRITE) && !g->slots.item[a->slot].memory)
            traits |= RD_WRITES_HOST;
    }
    return traits;
}

static void look_at_nodes(struct cut *c)
{
    for (uint32_t v = 0; v < c->nodes; v++) {
        uint16_t bound = c->g->nodes.item[v].bound;
        c->place[v] = 0;
        c->traits[v] = traits_of(c->g, v);
        if (rd_bound_is_device(bound))
            c->place[v] = (uint16_t)(1 + bound - RD_ON_DEVICE);
    }
}

/* Whether an edge leaves the device that its first node is on. */
static int leaves(const struct cut *c, uint32_t from, uint32_t to)
{
    return c->place[from] &&
           (c->place[from] != c->place[to] || rd_segments_by_host(c->traits, from, to));
}

/* ---- the order: always the node of greatest priority that can be next, of equal ones the one that
 * comes first in the recording */

static rondo_status find_successors(struct cut *c, uint32_t *preds)
{
    const struct rd_graph *g = c->graph;
    uint32_t sum = 0;
    c->succ_first = rd_scratch_zeroed(&c->scratch, c->nodes + 1ull, sizeof *c->succ_first);
    c->succ = rd_scratch_array(&c->scratch, g->first[c->nodes], sizeof *c->succ);
    if (!c->succ_first || !c->succ)
        return no_memory(c);
    for (uint32_t v = 0; v < c->nodes; v++) {
        preds[v] = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (!g->pred[e].distance) {
                preds[v]++;
                c->succ_first[g->pred[e].from]++;
            }
    }
    for (uint32_t v = 0; v <= c->nodes; v++) { /* the ends: filling takes each to its begin */
        sum += v < c->nodes ? c->succ_first[v] : 0;
        c->succ_first[v] = sum;
    }
    for (uint32_t v = c->nodes; v-- > 0;)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (!g->pred[e].distance)
                c->succ[--c->succ_first[g->pred[e].from]] = v;
    return RONDO_OK;
}

/* A heap of nodes: the parent comes before both children. */
struct heap {
    const struct cut *c;
    const uint32_t *turn; /* by node */
    uint32_t *item, count;
};

static int before(const struct heap *h, uint32_t a, uint32_t b)
{
    const struct rd_node *node = h->c->g->nodes.item;
    if (node[a].priority != node[b].priority)
        return node[a].priority > node[b].priority;
    return h->turn[a] < h->turn[b];
}

static void heap_add(struct heap *h, uint32_t v)
{
    uint32_t at = h->count++;
    for (; at && before(h, v, h->item[(at - 1) / 2]); at = (at - 1) / 2)
        h->item[at] = h->item[(at - 1) / 2];
    h->item[at] = v;
}

static uint32_t heap_take(struct heap *h)
{
    const uint32_t first = h->item[0], last = h->item[--h->count];
    uint32_t at = 0, child;
    for (; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && before(h, h->item[child + 1], h->item[child]))
            child++;
        if (before(h, last, h->item[child]))
            break;
        h->item[at] = h->item[child];
    }
    h->item[at] = last;
    return first;
}

static rondo_status find_order(struct cut *c)
{
    uint32_t *preds = rd_scratch_array(&c->scratch, c->nodes, sizeof *preds);
    uint32_t *turn = rd_scratch_array(&c->scratch, c->nodes, sizeof *turn), done = 0;
    struct heap h = { c, turn, rd_scratch_array(&c->scratch, c->nodes, sizeof *h.item), 0 };
    rondo_status status = preds && turn && h.item ? find_successors(c, preds) : no_memory(c);
    if (status)
        return status;
    for (uint32_t i = 0; i < c->nodes; i++)
        turn[c->g->sequence ? c->g->sequence[i] : i] = i;
    for (uint32_t v = 0; v < c->nodes; v++)
        if (!preds[v])
            heap_add(&h, v);
    while (h.count) {
        uint32_t v = heap_take(&h);
        c->order[done++] = v;
        for (uint32_t i = c->succ_first[v]; i < c->succ_first[v + 1]; i++)
            if (!--preds[c->succ[i]])
                heap_add(&h, c->succ[i]);
    }
    return done == c->nodes ? RONDO_OK
                            : rd_error(RONDO_ERR_INVALID, "the graph to cut has a cycle");
}

/* ---- classes */

static uint32_t plus(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t cost_of(const struct cut *c, uint32_t v)
{
    uint32_t cost = c->g->nodes.item[v].cost_ns;
    return cost ? cost : RD_UNKNOWN_COST_NS;
}

static void find_levels_and_times(struct cut *c)
{
    const struct rd_graph *g = c->graph;
    for (uint32_t i = 0; i < c->nodes; i++) {
        uint32_t v = c->order[i], level = 0, wait = 0, ready = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from;
            const int same = c->place[v] && c->place[u] == c->place[v] && !leaves(c, u, v);
            if (g->pred[e].distance)
                continue;
            level = most(level, c->level[u] + (uint32_t)leaves(c, u, v));
            wait = most(wait, same ? c->wait[u] : c->ready[u]);
            ready = most(ready, c->ready[u]);
        }
        c->level[v] = level;
        c->wait[v] = wait;
        c->ready[v] = plus(ready, cost_of(c, v));
    }
}

static void find_late(struct cut *c)
{
    for (uint32_t i = c->nodes; i-- > 0;) {
        uint32_t v = c->order[i];
        c->late[v] = 1;
        for (uint32_t k = c->succ_first[v]; k < c->succ_first[v + 1]; k++) {
            uint32_t w = c->succ[k];
            if (leaves(c, v, w) || (c->level[w] == c->level[v] && !c->late[w]))
                c->late[v] = 0;
        }
    }
}

/* ---- segments */

/* The devices' nodes by class; *count of them. */
static struct rd_keyed *sort_nodes(struct cut *c, uint32_t *count)
{
    struct rd_keyed *item = rd_scratch_array(&c->scratch, c->nodes, sizeof *item);
    struct rd_keyed *spare = rd_scratch_array(&c->scratch, c->nodes, sizeof *spare), *other;
    uint32_t n = 0;
    if (!item || !spare)
        return NULL;
    for (uint32_t i = 0; i < c->nodes; i++) {
        uint32_t v = c->order[i];
        if (c->place[v])
            item[n++] = (struct rd_keyed){ c->wait[v], v };
    }
    for (int pass = 0; pass < 3; pass++) { /* the least digit was set above */
        other = rd_sort_keyed(item, spare, n);
        spare = other == item ? spare : item;
        item = other;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t v = item[i].node;
            item[i].key = pass ? c->level[v] : 2u * c->place[v] + c->late[v];
        }
    }
    *count = n;
    return item;
}

/* Whether two nodes that follow each other in the order of classes are cut apart; `since`: the time
 * of the segment's first node. */
static int is_cut(const struct cut *c, uint32_t v, uint32_t w, uint32_t since)
{
    return c->level[v] != c->level[w] || c->place[v] != c->place[w] || c->late[v] != c->late[w] ||
           c->wait[w] > plus(since, c->submit_ns);
}

static rondo_status make_segments(struct cut *c, struct rd_segments *s)
{
    uint32_t count = 0, since = 0;
    const struct rd_keyed *item = sort_nodes(c, &count);
    if (!item)
        return no_memory(c);
    s->members = count;
    s->segment = rd_alloc_array(s->alloc, count, sizeof *s->segment);
    s->member = rd_alloc_array(s->alloc, count, sizeof *s->member);
    s->segment_of = rd_zalloc_array(s->alloc, c->nodes, sizeof *s->segment_of);
    if (!s->segment || !s->member || !s->segment_of)
        return no_memory(c);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = item[i].node;
        if (!i || is_cut(c, item[i - 1].node, v, since)) {
            s->segment[s->segments++] =
                (struct rd_segment_plan){ .device = c->place[v] - 1u, .first = i };
            since = c->wait[v];
        }
        s->segment[s->segments - 1].count++;
        s->segment_of[v] = s->segments;
    }
    s->nodes = c->nodes + 2 * s->segments;
    return RONDO_OK;
}

/* Members in the order of all nodes. */
static void place_members(const struct cut *c, struct rd_segments *s)
{
    for (uint32_t i = 0; i < s->segments; i++) {
        struct rd_segment_plan *plan = &s->segment[i];
        plan->submit = c->nodes + 2 * i;
        plan->settle = plan->submit + 1;
        plan->count = 0;
    }
    for (uint32_t i = 0; i < c->nodes; i++) {
        uint32_t v = c->order[i];
        if (s->segment_of[v]) {
            struct rd_segment_plan *plan = &s->segment[s->segment_of[v] - 1];
            s->member[plan->first + plan->count++] = v;
        }
    }
}

/* What each member follows of its segment. Taken from the front, each list is ascending. */
static rondo_status find_deps(struct cut *c, struct rd_segments *s)
{
    const struct rd_graph *g = c->graph;
    const uint32_t members = s->members;
    uint32_t *next = rd_scratch_array(&c->scratch, members, sizeof *next), sum = 0;
    uint32_t *at = rd_scratch_array(&c->scratch, c->nodes, sizeof *at);
    s->dep_first = rd_zalloc_array(s->alloc, members + 1ull, sizeof *s->dep_first);
    if (!next || !at || !s->dep_first)
        return no_memory(c);
    for (uint32_t i = 0; i < members; i++)
        at[s->member[i]] = i;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t v = s->member[i];
        next[i] = s->dep_first[i] = sum;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            sum += !g->pred[e].distance && s->segment_of[g->pred[e].from] == s->segment_of[v];
    }
    s->dep_first[members] = sum;
    s->dep = rd_alloc_array(s->alloc, sum, sizeof *s->dep);
    if (!s->dep)
        return no_memory(c);
    for (uint32_t i = 0; i < members; i++) {
        uint32_t v = s->member[i], segment = s->segment_of[v];
        for (uint32_t k = c->succ_first[v]; k < c->succ_first[v + 1]; k++)
            if (s->segment_of[c->succ[k]] == segment)
                s->dep[next[at[c->succ[k]]]++] = i - s->segment[segment - 1].first;
    }
    return RONDO_OK;
}

static rondo_status fill(struct cut *c, struct rd_segments *s)
{
    rondo_status status = make_segments(c, s);
    if (status)
        return status;
    place_members(c, s);
    status = find_deps(c, s);
    for (uint32_t i = 0; i < s->segments && !status; i++)
        s->segment[i].dep_first = s->dep_first[s->segment[i].first];
    return status;
}

static rondo_status begin(struct cut *c)
{
    struct rd_scratch *s = &c->scratch;
    c->place = rd_scratch_array(s, c->nodes, sizeof *c->place);
    c->traits = rd_scratch_array(s, c->nodes, sizeof *c->traits);
    c->order = rd_scratch_array(s, c->nodes, sizeof *c->order);
    c->level = rd_scratch_array(s, c->nodes, sizeof *c->level);
    c->late = rd_scratch_array(s, c->nodes, sizeof *c->late);
    c->wait = rd_scratch_array(s, c->nodes, sizeof *c->wait);
    c->ready = rd_scratch_array(s, c->nodes, sizeof *c->ready);
    if (!c->place || !c->traits || !c->order || !c->level || !c->late || !c->wait || !c->ready)
        return no_memory(c);
    look_at_nodes(c);
    return find_order(c);
}

void rd_segments_free(struct rd_segments *s)
{
    if (!s)
        return;
    if (s->dep_first)
        rd_free_array(s->alloc, s->dep, s->dep_first[s->members], sizeof *s->dep);
    rd_free_array(s->alloc, s->dep_first, s->members + 1ull, sizeof *s->dep_first);
    rd_free_array(s->alloc, s->segment, s->members, sizeof *s->segment);
    rd_free_array(s->alloc, s->member, s->members, sizeof *s->member);
    rd_free_array(s->alloc, s->segment_of, s->nodes - 2 * s->segments, sizeof *s->segment_of);
    rd_free_array(s->alloc, s, 1, sizeof *s);
}

rondo_status rd_segments(struct rd_allocator *a, const struct rd_subgraph *g,
                         const struct rd_graph *graph, uint32_t submit_ns,
                         struct rd_segments **segments, struct rd_graph *out)
{
    struct cut c = {
        .scratch = { .a = a }, .g = g, .graph = graph, .nodes = graph->nodes, .submit_ns = submit_ns
    };
    struct rd_segments *s = rd_zalloc_array(a, 1, sizeof *s);
    rondo_status status;
    if (!s)
        return no_memory(&c);
    s->alloc = a;
    s->nodes = c.nodes;
    status = begin(&c);
    if (!status) {
        find_levels_and_times(&c);
        find_late(&c);
        status = fill(&c, s);
    }
    if (!status)
        status = rd_segments_graph(a, s, c.place, c.traits, graph, out);
    rd_scratch_free(&c.scratch);
    if (status) {
        rd_segments_free(s);
        return status;
    }
    *segments = s;
    return RONDO_OK;
}
