/* SPDX-License-Identifier: BSD-3-Clause */
/* Expanded recordings: played by their graph in random orders they compute, bit for bit, what the
 * recording says; teams have the edges of their first rank; nodes that may stop precede all that
 * leaves a trace. */
#include "tests/subgraph/simulate.h"

/* ---- the graph, played */

struct play {
    const struct sim *m;
    const struct rd_subgraph *e;
    const struct rd_graph *graph;
    rondo_task_node node[SIM_TABLE];
    uint32_t places[SIM_TABLE];
    void *base[SIM_REPLAYS][SIM_TABLE];
    char *memory[SIM_REPLAYS][SIM_TABLE]; /* of temporaries */
};

static void open_play(struct play *p, struct random *r)
{
    uint32_t v, i, n, place = 0, s, b;
    cr_assert(p->e->nodes.count <= SIM_TABLE && p->e->slots.count <= SIM_TABLE &&
              p->e->accesses.count <= SIM_TABLE);
    for (v = 0; v < p->e->nodes.count; v++) {
        p->node[v] = (rondo_task_node){ place, 0, 0, 0 };
        for (i = 0; i < p->e->nodes.item[v].access_count; i++)
            p->places[place++] = p->e->accesses.item[p->e->nodes.item[v].access + i].slot;
    }
    for (n = 0; n < SIM_REPLAYS; n++)
        for (s = 0; s < p->e->slots.count; s++) {
            const struct rd_slot *slot = &p->e->slots.item[s];
            p->memory[n][s] = NULL;
            if (slot->kind == RD_SLOT_TEMPORARY) {
                p->memory[n][s] = malloc(slot->bytes);
                for (b = 0; b < slot->bytes; b++)
                    p->memory[n][s][b] = (char)random_below(r, 256);
                p->base[n][s] = (void *)((uintptr_t)p->memory[n][s] - (uintptr_t)slot->origin);
            } else {
                p->base[n][s] =
                    slot->buffers[(slot->ring_first + n * slot->ring_stride) % slot->count]->base;
            }
        }
}

static void close_play(struct play *p)
{
    uint32_t n, s;
    for (n = 0; n < SIM_REPLAYS; n++)
        for (s = 0; s < p->e->slots.count; s++)
            free(p->memory[n][s]);
}

static int runs(const struct rd_subgraph *e, uint32_t v, uint32_t replay)
{
    const struct rd_extra *x = rd_node_extra(e, v);
    uint32_t i;
    for (i = 0; i < x->when_count; i++) {
        const struct rd_when *w = &e->whens.item[x->when + i];
        if (w->every > 1 && replay % w->every != w->phase)
            return 0;
    }
    return 1;
}

static void run_node(struct play *p, uint32_t v, uint32_t replay)
{
    const struct rd_node *n = &p->e->nodes.item[v];
    rondo_task self = {
        .node = &v, .nodes = p->node, .base = p->base[replay], .places = p->places
    };
    if (!runs(p->e, v, replay))
        return;
    sim_replay = (int)replay;
    cr_assert_eq(n->fn(&self, n->arg_bytes ? p->e->args.item + n->arg : NULL), 0);
}

static int is_ready(const struct play *p, const uint8_t *done, uint32_t v, uint32_t replay,
                    int serial)
{
    const struct rd_graph *g = p->graph;
    const uint32_t *first = g->first;
    const struct rd_edge *pred = g->pred;
    uint32_t i, nodes = g->nodes;
    if (g->phases > 1) {
        first = g->variant[g->variant_of_phase[replay % g->phases]].first;
        pred = g->variant[g->variant_of_phase[replay % g->phases]].pred;
    }
    for (i = first[v]; i < first[v + 1]; i++)
        if (pred[i].distance <= replay && !done[(replay - pred[i].distance) * nodes + pred[i].from])
            return 0;
    for (i = 0; serial && replay && i < nodes; i++)
        if (!done[(replay - 1) * nodes + i])
            return 0;
    return 1;
}

/* Always a random one of those that may run. */
static void play(struct play *p, struct random *r, int serial, uint64_t seed)
{
    static uint8_t done[SIM_REPLAYS * SIM_TABLE];
    static uint32_t ready[SIM_REPLAYS * SIM_TABLE];
    uint32_t nodes = p->graph->nodes, left = nodes * SIM_REPLAYS, count, t;
    memset(done, 0, sizeof done);
    for (; left; left--) {
        for (t = 0, count = 0; t < nodes * SIM_REPLAYS; t++)
            if (!done[t] && is_ready(p, done, t % nodes, t / nodes, serial))
                ready[count++] = t;
        cr_assert(count, "seed %llu: nothing may run", (unsigned long long)seed);
        t = ready[random_below(r, 2) ? random_below(r, count) : count - 1];
        run_node(p, t % nodes, t / nodes);
        done[t] = 1;
    }
}

static void check_sequence(const struct rd_subgraph *g, const struct rd_subgraph *e)
{
    uint8_t seen[SIM_TABLE] = { 0 };
    uint32_t i, last = 0;
    for (i = 0; e->sequence && i < e->nodes.count; i++) {
        uint32_t v = e->sequence[i];
        cr_assert(v < e->nodes.count && !seen[v]);
        seen[v] = 1;
        if (v < g->nodes.count && !g->edges_explicit) {
            cr_assert(v >= last, "recorded nodes keep their order");
            last = v;
        }
    }
    for (i = 0; i < g->nodes.count; i++)
        cr_assert(e->nodes.item[i].arg_bytes == g->nodes.item[i].arg_bytes &&
                  e->nodes.item[i].access_count == g->nodes.item[i].access_count);
}

static void compare(const struct sim *m, int carried, uint64_t seed)
{
    static double expected[SIM_BUFFERS][SIM_BYTES / sizeof(double)];
    static struct play p;
    struct random r = { seed * 31 + (uint64_t)carried };
    struct rd_subgraph *e;
    struct rd_graph graph;
    rondo_status status = rd_subgraph_expand(m->g, 2, &e);
    cr_assert_eq(status, RONDO_OK, "seed %llu: %s", (unsigned long long)seed,
                 rondo_error_message());
    check_sequence(m->g, e);
    status = rd_subgraph_analyse(e, carried, &graph);
    cr_assert_eq(status, RONDO_OK, "seed %llu, carried %d: %s", (unsigned long long)seed, carried,
                 rondo_error_message());
    sim_begin(m, seed);
    sim_reference(m, SIM_REPLAYS);
    memcpy(expected, sim_memory, sizeof expected);
    p.m = m;
    p.e = e;
    p.graph = &graph;
    open_play(&p, &r);
    sim_begin(m, seed);
    play(&p, &r, !carried, seed);
    close_play(&p);
    cr_assert_eq(memcmp(expected, sim_memory, sizeof expected), 0,
                 "seed %llu, carried %d: another result", (unsigned long long)seed, carried);
    rd_graph_free(&e->rt->alloc, &graph);
    rd_subgraph_unref(e);
}

/* Edges by hand between all that conflict, as far as slots go: reductions of one kind do not. */
static int conflict(const struct sim *m, int a, int b)
{
    const struct sim_node *x = &m->node[a], *y = &m->node[b];
    int i, k;
    for (i = 0; i < x->accesses; i++)
        for (k = 0; k < y->accesses; k++) {
            const struct sim_slot *s = &m->slot[x->slot[i]], *v = &m->slot[y->slot[k]];
            int both = x->access[i].mode & y->access[k].mode;
            if ((s->temporary || v->temporary) && s != v)
                continue;
            if (s == v && both == RONDO_REDUCE && x->access[i].op == y->access[k].op)
                continue;
            if (s == v && both == RONDO_COMMUTE)
                continue;
            if ((x->access[i].mode | y->access[k].mode) & RONDO_WRITE)
                return 1;
        }
    return 0;
}

static void give_edges(struct sim *m)
{
    int a, b;
    for (a = 0; a < m->nodes; a++)
        for (b = 0; b < m->nodes; b++) {
            rondo_node x = { rd_part_id(m->g->serial, RD_PART_NODE, (size_t)a) },
                       y = { rd_part_id(m->g->serial, RD_PART_NODE, (size_t)b) };
            if (!conflict(m, a, b))
                continue;
            if (a < b)
                cr_assert_eq(rondo_record_edge(m->handle, x, y, 0), RONDO_OK);
            cr_assert_eq(rondo_record_edge(m->handle, x, y, 1), RONDO_OK);
        }
}

static void compare_many(uint32_t flags, uint64_t seeds)
{
    static struct sim m;
    uint64_t seed, bytes;
    int expanded = 0;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= seeds; seed++) {
        sim_make(seed, flags, &m);
        if (!m.nodes) {
            sim_end(&m);
            continue;
        }
        if (flags & RONDO_EDGES_EXPLICIT)
            give_edges(&m);
        bytes = rd_load_relaxed(&m.g->rt->alloc.bytes);
        compare(&m, 0, seed);
        compare(&m, 1, seed);
        cr_assert_eq(rd_load_relaxed(&m.g->rt->alloc.bytes), bytes);
        expanded += m.g->accesses.count != 0;
        sim_end(&m);
    }
    cr_assert_gt(expanded, (int)seeds / 2);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

Test(expand, reductions_compute_what_was_recorded) { compare_many(0, 1500); }

Test(expand, reductions_with_edges_by_hand) { compare_many(RONDO_EDGES_EXPLICIT, 800); }

/* ---- teams, and nodes that may stop */

static int has_edge(const struct rd_graph *g, uint32_t from, uint32_t to, uint32_t distance)
{
    uint32_t i;
    for (i = g->first[to]; i < g->first[to + 1]; i++)
        if (g->pred[i].from == from && g->pred[i].distance == distance)
            return 1;
    return 0;
}

/* Rank r of a team; rank 0 is the node itself. */
static uint32_t rank_node(const struct rd_subgraph *e, uint32_t main, uint32_t rank)
{
    uint32_t v;
    for (v = 0; rank && v < e->nodes.count; v++)
        if (e->nodes.item[v].kind == RD_NODE_RANK && rd_node_extra(e, v)->main == main &&
            rd_node_extra(e, v)->rank == rank)
            return v;
    return main;
}

static uint32_t ranks_of(const struct rd_subgraph *e, uint32_t v)
{
    const struct rd_extra *x = rd_node_extra(e, v);
    return x->flags & (RONDO_HOSTED | RONDO_SPMD) ? x->team : 1;
}

static uint32_t main_of(const struct rd_subgraph *e, uint32_t v)
{
    return e->nodes.item[v].kind == RD_NODE_RANK ? rd_node_extra(e, v)->main : v;
}

/* A random task: of a team, one that may stop, a call, or neither. */
static void add_any(struct random *r, rondo_subgraph h, const rondo_slot slots[3],
                    const rondo_node *before, uint32_t count)
{
    rondo_access a[2];
    uint32_t i;
    rondo_task_desc d = { .fn = sim_task, .accesses = a, .access_count = 1 + random_below(r, 2) };
    for (i = 0; i < 2; i++)
        a[i] = rondo_access_of(slots[random_below(r, 3)], 1 + random_below(r, 3),
                               rondo_span(random_below(r, 4), 1 + random_below(r, 4)));
    if (random_below(r, 4) == 0) {
        d.access_count = 0;
        d.flags = random_below(r, 2) ? RONDO_NO_ACCESS : 0;
    }
    if (random_below(r, 3) == 0) {
        d.flags |= random_below(r, 2) ? RONDO_SPMD : RONDO_HOSTED;
        d.team = random_below(r, 6);
        d.on = random_below(r, 2) ? RONDO_CPU(random_below(r, 2)) : RONDO_ANY_CPU;
    } else if (random_below(r, 4) == 0) {
        d.flags |= RONDO_MAY_STOP;
        d.stop_lag = random_below(r, 3);
    }
    if (count && random_below(r, 4) == 0) {
        d.after = d.carried = before + random_below(r, count);
        d.after_count = 1;
        d.carried_count = random_below(r, 2);
    }
    cr_assert(rondo_record_task(h, &d).id, "%s", rondo_error_message());
}

static void check_team(const struct rd_subgraph *e, const struct rd_graph *graph, uint32_t v,
                       uint32_t processors, uint64_t seed)
{
    uint32_t rank, k, i, f;
    for (rank = 1; rank < ranks_of(e, v); rank++) {
        uint32_t node = rank_node(e, v, rank);
        cr_assert_neq(node, v, "seed %llu: no rank %u", (unsigned long long)seed, rank);
        cr_assert_eq(e->nodes.item[node].access, e->nodes.item[v].access);
        cr_assert_eq(e->nodes.item[node].access_count, e->nodes.item[v].access_count);
        cr_assert_eq(e->nodes.item[node].bound, (e->nodes.item[v].bound + rank) % processors);
        cr_assert_eq(graph->first[node + 1] - graph->first[node],
                     graph->first[v + 1] - graph->first[v], "seed %llu, rank %u",
                     (unsigned long long)seed, rank);
    }
    for (rank = 0; rank < ranks_of(e, v); rank++) {
        uint32_t node = rank_node(e, v, rank);
        for (i = graph->first[v]; i < graph->first[v + 1]; i++)
            for (k = 0, f = main_of(e, graph->pred[i].from); k < ranks_of(e, f); k++)
                cr_assert(has_edge(graph, rank_node(e, f, k), node, graph->pred[i].distance),
                          "seed %llu: rank %u of %u does not follow rank %u of %u",
                          (unsigned long long)seed, rank, v, k, f);
    }
}

static void check_stop(const struct rd_subgraph *e, const struct rd_graph *graph, uint32_t v,
                       uint64_t seed)
{
    uint32_t u, i;
    for (u = 0; u < e->nodes.count; u++) {
        const struct rd_node *n = &e->nodes.item[u];
        int leaves = n->everything || !n->access_count;
        for (i = 0; i < n->access_count; i++)
            leaves |= (e->accesses.item[n->access + i].mode & RONDO_WRITE) != 0 &&
                      e->slots.item[e->accesses.item[n->access + i].slot].kind != RD_SLOT_TEMPORARY;
        if (leaves && n->kind != RD_NODE_RANK)
            cr_assert(has_edge(graph, v, u, 1 + rd_node_extra(e, v)->stop_lag),
                      "seed %llu: %u may stop %u", (unsigned long long)seed, v, u);
    }
}

static void draw(struct random *r, uint32_t flags, rondo_buffer buffer, rondo_subgraph *h)
{
    rondo_slot slots[3];
    rondo_node node[10];
    uint32_t i, nodes = 1 + random_below(r, 9);
    struct rd_subgraph *g;
    rondo_status status;
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, h), RONDO_OK);
    g = rd_subgraph_get(*h, &status);
    slots[0] = rondo_subgraph_slot(*h, &(rondo_slot_desc){ .buffer = buffer });
    slots[1] = rondo_subgraph_slot(*h, &(rondo_slot_desc){ .shape = { 0, { 8 }, { 0 } } });
    slots[2] =
        rondo_subgraph_slot(*h, &(rondo_slot_desc){ .shape = { 8, { 8 }, { 0 } },
                                                    .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    for (i = 0; i < nodes; i++) {
        add_any(r, *h, slots, node, i);
        node[i].id = rd_part_id(g->serial, RD_PART_NODE, i);
    }
    rd_subgraph_unref(g);
}

Test(expand, teams_and_stops)
{
    rondo_buffer buffer;
    uint64_t seed;
    int carried, teams = 0, stops = 0;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 8 }, { 0 } } }, &buffer);
    for (seed = 1; seed <= 2000; seed++) {
        struct random r = { seed };
        uint32_t processors = 1 + random_below(&r, 4), v;
        rondo_subgraph h;
        struct rd_subgraph *g, *e;
        struct rd_graph graph;
        rondo_status status;
        draw(&r, 0, buffer, &h);
        g = rd_subgraph_get(h, &status);
        cr_assert_eq(rd_subgraph_expand(g, processors, &e), RONDO_OK);
        for (carried = 0; carried < 2; carried++) {
            cr_assert_eq(rd_subgraph_analyse(e, carried, &graph), RONDO_OK, "seed %llu: %s",
                         (unsigned long long)seed, rondo_error_message());
            for (v = 0; v < g->nodes.count; v++) {
                cr_assert_leq(ranks_of(e, v), processors);
                check_team(e, &graph, v, processors, seed);
                if (carried && rd_node_extra(e, v)->flags & RONDO_MAY_STOP)
                    check_stop(e, &graph, v, seed);
                teams += ranks_of(e, v) > 1;
                stops += rd_node_extra(e, v)->flags & RONDO_MAY_STOP;
            }
            rd_graph_free(&g->rt->alloc, &graph);
        }
        rd_subgraph_unref(e);
        rd_subgraph_unref(g);
        rondo_subgraph_destroy(h);
    }
    cr_assert(teams > 500 && stops > 500, "%d teams, %d stops", teams, stops);
    rondo_buffer_destroy(buffer);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
