/* SPDX-License-Identifier: BSD-3-Clause */
/* The segments pass: its output has no cycle and keeps every edge of its input, as its header's
 * table says, in every variant; and small graphs are cut where one expects it. */
#include "compile/segments.h"
#include "src/base/error.h"
#include "tests/compile/graphs.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { NODES = 64, HOST = RD_PROCESSOR_ANY, SUBMIT_NS = 1000 };

/* A graph, and a recording that says of its nodes where they are. */
struct subject {
    struct maker m;
    struct rd_subgraph g;
    struct rd_node node[NODES];
    struct rd_extra extra;
    struct rd_when when;
    struct rd_access access;
    struct rd_slot slot;
    uint8_t looks[NODES], writes[NODES]; /* at a flag; where flags are */
    struct rd_segments *s;
    struct rd_graph out;
};

/* A node on `device`, or the HOST. */
static uint32_t add_node(struct subject *x, int device, uint32_t cost_ns)
{
    uint32_t v = x->m.g.nodes;
    maker_node(&x->m);
    x->node[v].bound = device == HOST ? HOST : (uint16_t)(RD_ON_DEVICE + device);
    x->node[v].cost_ns = cost_ns;
    return v;
}

static void cut(struct subject *x)
{
    x->m.g.phases = x->m.g.phases ? x->m.g.phases : 1;
    x->when.flag = 1;
    x->extra.when_count = 1;
    x->access.mode = RONDO_WRITE;
    x->g.nodes.item = x->node;
    x->g.nodes.count = x->m.g.nodes;
    x->g.extras.item = &x->extra;
    x->g.whens.item = &x->when;
    x->g.accesses.item = &x->access;
    x->g.slots.item = &x->slot;
    for (uint32_t v = 0; v < x->m.g.nodes; v++) {
        x->node[v].extra = x->looks[v];
        x->node[v].access_count = x->writes[v];
    }
    cr_assert_eq(rd_segments(rd_allocator_system(), &x->g, &x->m.g, SUBMIT_NS, &x->s, &x->out),
                 RONDO_OK, "%s", rd_error_text());
}

static void drop(struct subject *x)
{
    rd_graph_free(rd_allocator_system(), &x->out);
    rd_segments_free(x->s);
    maker_free(&x->m);
    free(x);
}

static struct subject *new_subject(void) { return calloc(1, sizeof(struct subject)); }

/* ---- the table, edge by edge */

static int is_on(const struct subject *x, uint32_t v) { return x->node[v].bound != HOST; }

/* How often an output list has an edge. */
static uint32_t count_edge(const uint32_t *first, const struct rd_edge *pred, uint32_t from,
                           uint32_t to, uint32_t distance)
{
    uint32_t count = 0;
    for (uint32_t e = first[to]; e < first[to + 1]; e++)
        count += pred[e].from == from && pred[e].distance == distance;
    return count;
}

struct expected {
    uint32_t from, to, distance;
};

static void expect_once(struct expected *list, uint32_t *count, uint32_t from, uint32_t to,
                        uint32_t distance)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i].from == from && list[i].to == to && list[i].distance == distance)
            return;
    list[(*count)++] = (struct expected){ from, to, distance };
}

static void expect_edge(const struct subject *x, const struct rd_edge *e, uint32_t v,
                        struct expected *list, uint32_t *count)
{
    const uint32_t u = e->from, *of = x->s->segment_of;
    const int flag = x->writes[u] && x->looks[v];
    if (!is_on(x, v)) {
        expect_once(list, count, u, v, e->distance);
    } else if (!is_on(x, u) || x->node[u].bound != x->node[v].bound || flag) {
        expect_once(list, count, u, x->s->segment[of[v] - 1].submit, e->distance);
    } else {
        expect_once(list, count, u, v, e->distance);
        if (of[u] != of[v] || e->distance)
            expect_once(list, count, x->s->segment[of[u] - 1].submit,
                        x->s->segment[of[v] - 1].submit, e->distance);
    }
}

static void check_lists(const struct subject *x, const uint32_t *first, const struct rd_edge *pred,
                        const uint32_t *to_first, const struct rd_edge *to)
{
    static struct expected list[8 * NODES * NODES];
    const uint32_t nodes = x->m.g.nodes;
    uint32_t count = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        for (uint32_t e = first[v]; e < first[v + 1]; e++)
            expect_edge(x, &pred[e], v, list, &count);
        if (is_on(x, v))
            expect_once(list, &count, x->s->segment[x->s->segment_of[v] - 1].settle, v, 0);
    }
    for (uint32_t i = 0; i < x->s->segments; i++)
        expect_once(list, &count, x->s->segment[i].submit, x->s->segment[i].settle, 0);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(count_edge(to_first, to, list[i].from, list[i].to, list[i].distance), 1,
                     "%u -> %u over %u replays, of %u nodes", list[i].from, list[i].to,
                     list[i].distance, nodes);
    cr_assert_eq(to_first[x->s->nodes], count, "%u edges, %u expected", to_first[x->s->nodes],
                 count);
}

static void check_acyclic(const struct rd_graph *g)
{
    uint8_t *done = calloc(g->nodes, 1);
    uint32_t left = g->nodes, before;
    do {
        before = left;
        for (uint32_t v = 0; v < g->nodes; v++) {
            int ready = !done[v];
            for (uint32_t e = g->first[v]; e < g->first[v + 1] && ready; e++)
                ready = g->pred[e].distance || done[g->pred[e].from];
            if (ready) {
                done[v] = 1;
                left--;
            }
        }
    } while (left && left < before);
    free(done);
    cr_assert_eq(left, 0, "%u nodes are on a cycle or behind one", left);
}

/* ---- the segments themselves */

static int has_edge(const struct subject *x, uint32_t u, uint32_t v)
{
    return count_edge(x->m.g.first, x->m.g.pred, u, v, 0) > 0;
}

static void check_members(const struct subject *x)
{
    const struct rd_segments *s = x->s;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < s->segments; i++) {
        const struct rd_segment_plan *p = &s->segment[i];
        cr_assert(p->count > 0 && p->first == seen && p->submit == x->m.g.nodes + 2 * i &&
                  p->settle == p->submit + 1 && p->dep_first == s->dep_first[p->first]);
        for (uint32_t k = 0; k < p->count; k++) {
            uint32_t v = s->member[p->first + k], at = s->dep_first[p->first + k];
            cr_assert_eq(x->node[v].bound, RD_ON_DEVICE + p->device);
            cr_assert_eq(s->segment_of[v], i + 1);
            for (uint32_t j = 0; j < p->count; j++) {
                if (!has_edge(x, s->member[p->first + j], v))
                    continue;
                cr_assert_lt(j, k);
                cr_assert_eq(s->dep[at++], j);
            }
            cr_assert_eq(at, s->dep_first[p->first + k + 1]);
        }
        seen += p->count;
    }
    cr_assert_eq(seen, s->members);
    for (uint32_t v = 0; v < x->m.g.nodes; v++)
        seen -= is_on(x, v) != 0 ? 1u : 0u;
    cr_assert_eq(seen, 0);
}

static void check_all(const struct subject *x)
{
    check_members(x);
    check_acyclic(&x->out);
    cr_assert_eq(x->out.nodes, x->s->nodes);
    cr_assert_eq(x->out.distance, x->m.g.distance);
    cr_assert_eq(x->out.phases, x->m.g.phases);
    cr_assert_eq(x->out.variants, x->m.g.variants);
    check_lists(x, x->m.g.first, x->m.g.pred, x->out.first, x->out.pred);
    for (uint32_t i = 0; i < x->m.g.variants; i++)
        check_lists(x, x->m.g.variant[i].first, x->m.g.variant[i].pred, x->out.variant[i].first,
                    x->out.variant[i].pred);
    for (uint32_t i = 0; i < x->m.g.phases && x->m.g.variants; i++)
        cr_assert_eq(x->out.variant_of_phase[i], x->m.g.variant_of_phase[i]);
}

/* ---- any graph */

static void draw(struct subject *x, uint64_t *seed)
{
    const uint32_t nodes = 1 + below(seed, NODES), devices = 1 + below(seed, 3);
    const uint32_t hosts = below(seed, 5), flags = below(seed, 2);
    make_random(&x->m, nodes, 1 + below(seed, 4), below(seed, 3), (int)below(seed, 2), seed);
    if (below(seed, 3) == 0)
        make_variants(&x->m, 2 + below(seed, 4), 2, seed);
    for (uint32_t v = 0; v < nodes; v++) {
        x->node[v].bound = HOST;
        x->node[v].cost_ns = below(seed, 3) ? below(seed, 5000) : 0;
        x->node[v].priority = (int32_t)below(seed, 3);
        if (below(seed, 5) >= hosts)
            x->node[v].bound = (uint16_t)(RD_ON_DEVICE + below(seed, devices));
        x->looks[v] = flags && below(seed, 6) == 0;
        x->writes[v] = flags && below(seed, 3) == 0;
    }
}

Test(segments, any_graph)
{
    uint64_t seed = 20261130;
    for (int i = 0; i < 3000; i++) {
        struct subject *x = new_subject();
        draw(x, &seed);
        cut(x);
        check_all(x);
        drop(x);
    }
}

/* ---- known graphs */

/* Fails unless exactly these are a segment's members, in this order. */
static void expect_segment(const struct subject *x, uint32_t segment, uint32_t count,
                           const uint32_t *member)
{
    const struct rd_segment_plan *p = &x->s->segment[segment];
    cr_assert_lt(segment, x->s->segments);
    cr_assert_eq(p->count, count, "segment %u has %u nodes", segment, p->count);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(x->s->member[p->first + i], member[i]);
}
#define EXPECT(segment, ...)                                                             \
    expect_segment(x, (segment), sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
                   (uint32_t[]){ __VA_ARGS__ })

Test(segments, a_chain_is_one)
{
    struct subject *x = new_subject();
    for (uint32_t v = 0; v < 5; v++) {
        add_node(x, 0, 100);
        if (v)
            maker_edge(&x->m, v - 1, 0);
    }
    cut(x);
    check_all(x);
    cr_assert_eq(x->s->segments, 1);
    EXPECT(0, 0, 1, 2, 3, 4);
    drop(x);
}

/* The host reads what node 0 makes: node 1, which nobody waits for, does not hold it up. */
Test(segments, what_the_host_reads_goes_first)
{
    struct subject *x = new_subject();
    add_node(x, 0, 100);
    add_node(x, 0, 100000);
    add_node(x, HOST, 100);
    maker_edge(&x->m, 0, 0);
    cut(x);
    check_all(x);
    cr_assert_eq(x->s->segments, 2);
    EXPECT(0, 0);
    EXPECT(1, 1);
    drop(x);
}

/* Device, host, device: two levels, whatever else there is. */
Test(segments, through_the_host_and_back)
{
    struct subject *x = new_subject();
    add_node(x, 0, 100);
    add_node(x, HOST, 100);
    maker_edge(&x->m, 0, 0);
    add_node(x, 0, 100);
    maker_edge(&x->m, 1, 0);
    add_node(x, 0, 100);
    maker_edge(&x->m, 0, 0);
    maker_edge(&x->m, 2, 0);
    cut(x);
    check_all(x);
    cr_assert_eq(x->s->segments, 2);
    EXPECT(0, 0);
    EXPECT(1, 2, 3);
    drop(x);
}

/* Two kernels that wait for the host, one ten times as long: apart; about as long: together. */
Test(segments, what_waits_longer_goes_behind)
{
    for (int longer = 0; longer < 2; longer++) {
        struct subject *x = new_subject();
        add_node(x, HOST, 1000);
        add_node(x, HOST, longer ? 10000 : 1500);
        add_node(x, 0, 100);
        maker_edge(&x->m, 0, 0);
        add_node(x, 0, 100);
        maker_edge(&x->m, 1, 0);
        cut(x);
        check_all(x);
        cr_assert_eq(x->s->segments, longer ? 2 : 1);
        drop(x);
    }
}

/* Each of two devices reads what the other made: without levels common to both that is a cycle. */
Test(segments, two_devices_exchange)
{
    struct subject *x = new_subject();
    add_node(x, 0, 100);
    add_node(x, 1, 100);
    maker_edge(&x->m, 0, 0);
    add_node(x, 1, 100);
    add_node(x, 0, 100);
    maker_edge(&x->m, 2, 0);
    cut(x);
    check_all(x);
    cr_assert_eq(x->s->segments, 4);
    drop(x);
}

/* A flag that a device's copy brings to the host is looked at after that copy. */
Test(segments, a_flag_is_looked_at_by_the_host)
{
    struct subject *x = new_subject();
    add_node(x, 0, 100);
    x->writes[0] = 1;
    add_node(x, 0, 100);
    maker_edge(&x->m, 0, 0);
    x->looks[1] = 1;
    cut(x);
    check_all(x);
    cr_assert_eq(x->s->segments, 2);
    drop(x);
}

/* The greatest priority first, of what may be. */
Test(segments, members_by_priority)
{
    struct subject *x = new_subject();
    for (int i = 0; i < 3; i++)
        add_node(x, 0, 100);
    maker_edge(&x->m, 0, 0);
    x->node[1].priority = 7;
    x->node[2].priority = 9;
    cut(x);
    check_all(x);
    EXPECT(0, 1, 0, 2);
    drop(x);
}

/* ---- its cost */

Test(segments, scales)
{
    enum { WIDTH = 64, STEPS = 2000 };
    struct maker m = { 0 };
    struct rd_subgraph g = { 0 };
    struct rd_segments *s;
    struct rd_graph out;
    make_stencil(&m, WIDTH, STEPS, 1);
    m.g.phases = 1;
    g.nodes.count = m.g.nodes;
    g.nodes.item = calloc(m.g.nodes, sizeof *g.nodes.item);
    for (uint32_t v = 0; v < m.g.nodes; v++) /* each tenth step the host's */
        g.nodes.item[v].bound = v / WIDTH % 10 == 9 ? HOST : RD_ON_DEVICE;
    cr_assert_eq(rd_segments(rd_allocator_system(), &g, &m.g, SUBMIT_NS, &s, &out), RONDO_OK);
    cr_assert_eq(s->segments, STEPS / 10);
    cr_assert_lt(out.first[out.nodes], 2 * m.g.first[m.g.nodes] + 2 * m.g.nodes);
    rd_graph_free(rd_allocator_system(), &out);
    rd_segments_free(s);
    free(g.nodes.item);
    maker_free(&m);
}
