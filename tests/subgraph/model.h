/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings, and their conflicts found byte by byte over several replays. */
#ifndef TESTS_SUBGRAPH_MODEL_H
#define TESTS_SUBGRAPH_MODEL_H

#include "subgraph/subgraph.h"
#include "tests/subgraph/brute.h"
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = 9,
    SLOTS = 6,
    BUFFERS = 6,
    ARENA = 400,
    ACCESSES = 3,
    REPLAYS = 20,
    HAND = 6,
    HANDS = 400
};
enum { TOUCHES = 1, ALL = 2 }; /* of node kinds: has accesses; a fence; else aloof */
/* What else recordings have, beside the flags of a subgraph's description. */
enum { COMMUTING = 0x100, CONDITIONS = 0x200, OWN_SLOTS = 0x400, SHARES = 0x800 };

struct slot_model {
    rondo_slot handle;
    rondo_shape shape; /* complete */
    int buffers[3], count, first, stride, alias;
    int bound; /* or temporary: another in each replay */
    int token, temporary, written;
};

struct node_model {
    int kind, call, accesses, every, phase;
    rondo_access access[ACCESSES];
    int slot[ACCESSES];
};

struct model {
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_buffer buffer[BUFFERS];
    rondo_shape buffer_shape[BUFFERS];
    size_t offset[BUFFERS]; /* in the arena */
    int buffers, slots, nodes, hands, any_bound, any_alias, edges_explicit, has;
    struct slot_model slot[SLOTS];
    struct node_model node[NODES];
    struct rd_hand_edge hand[HANDS];
};

static char arena[ARENA];
static rondo_runtime rt;

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

/* ---- recordings */

static void complete(rondo_shape *s)
{
    int d;
    for (d = 1; d < 3; d++)
        if (!s->extent[d])
            s->extent[d] = 1;
    if (!s->pitch_bytes[0])
        s->pitch_bytes[0] = (size_t)s->extent[0] * s->elem_bytes;
    if (!s->pitch_bytes[1])
        s->pitch_bytes[1] = s->pitch_bytes[0] * (size_t)s->extent[1];
}

static size_t span(const rondo_shape *s)
{
    return (size_t)(s->extent[2] - 1) * s->pitch_bytes[1] +
           (size_t)(s->extent[1] - 1) * s->pitch_bytes[0] + (size_t)s->extent[0] * s->elem_bytes;
}

static rondo_shape random_shape(struct random *r)
{
    static const uint8_t elem[] = { 1, 2, 4, 4 };
    rondo_shape s = { 0, { 0, 0, 0 }, { 0, 0 } };
    int d, dims = 1 + (int)random_below(r, 3);
    s.elem_bytes = elem[random_below(r, 4)];
    for (d = 0; d < dims; d++)
        s.extent[d] = 1 + random_below(r, 4);
    complete(&s);
    if (random_below(r, 3) == 0)
        s.pitch_bytes[0] += random_below(r, 5);
    s.pitch_bytes[1] = s.pitch_bytes[0] * (size_t)s.extent[1] + (random_below(r, 4) == 0);
    return s;
}

static void add_buffers(struct random *r, struct model *m)
{
    rondo_shape common = random_shape(r);
    int i;
    m->buffers = 2 + (int)random_below(r, BUFFERS - 1);
    for (i = 0; i < m->buffers; i++) {
        m->buffer_shape[i] = random_below(r, 3) ? common : random_shape(r);
        /* Often aligned to one another, so that equal geometries meet too. */
        m->offset[i] = random_below(r, (uint32_t)(ARENA - span(&m->buffer_shape[i])));
        if (random_below(r, 2))
            m->offset[i] -= m->offset[i] % 48;
        cr_assert_eq(rondo_buffer_create(rt,
                                         &(rondo_buffer_desc){ .shape = m->buffer_shape[i],
                                                               .host = arena + m->offset[i] },
                                         &m->buffer[i]),
                     RONDO_OK, "%s", rondo_error_message());
    }
}

static void add_slot(struct random *r, struct model *m, int aliases)
{
    struct slot_model *s = &m->slot[m->slots];
    rondo_slot_desc d = { 0 };
    rondo_buffer ring[3];
    uint32_t pick = random_below(r, 8);
    int i;
    memset(s, 0, sizeof *s);
    s->alias = m->slots;
    s->stride = 1;
    s->count = 1;
    if (pick >= 5 && m->has & OWN_SLOTS) {
        s->bound = pick == 5;
        s->temporary = s->bound;
        s->token = !s->bound;
        s->shape = random_shape(r);
        if (s->token)
            s->shape = (rondo_shape){ 1, { s->shape.extent[0], s->shape.extent[1] }, { 0, 0 } };
        complete(&s->shape);
        d.shape = s->shape;
        d.flags = s->bound ? RONDO_TEMPORARY : 0;
        if (s->token)
            d.shape = (rondo_shape){ 0, { s->shape.extent[0], s->shape.extent[1] }, { 0, 0 } };
        aliases = 0;
    } else if (pick == 0) {
        s->bound = 1;
        d.shape = s->shape = random_shape(r);
        m->any_bound = 1;
    } else {
        s->count = pick < 4 ? 1 + (int)random_below(r, 3) : 1;
        for (i = 0; i < s->count; i++) {
            s->buffers[i] = m->slots && pick < 3 && m->slot[0].count > i && !m->slot[0].bound &&
                                    !m->slot[0].token
                                ? m->slot[0].buffers[i]
                                : (int)random_below(r, (uint32_t)m->buffers);
            ring[i] = m->buffer[s->buffers[i]];
        }
        s->shape = m->buffer_shape[s->buffers[0]];
        for (i = 1; i < s->count; i++)
            if (span(&s->shape) > span(&m->buffer_shape[s->buffers[i]]))
                s->shape = m->buffer_shape[s->buffers[i]];
        for (i = 0; i < s->count; i++)
            if (span(&s->shape) > span(&m->buffer_shape[s->buffers[i]]))
                s->count = i; /* no shape fits all: a shorter ring */
        if (!s->count)
            s->count = 1;
        s->shape = s->count == 1 ? m->buffer_shape[s->buffers[0]] : s->shape;
        d.shape = s->shape;
        if (pick < 4) {
            d.ring = ring;
            d.ring_count = (uint32_t)s->count;
            d.ring_first = random_below(r, d.ring_count);
            d.ring_stride = random_below(r, 3);
            s->first = (int)d.ring_first;
            s->stride = d.ring_stride ? (int)d.ring_stride : 1;
        } else {
            d.buffer = ring[0];
        }
    }
    if (aliases && m->slots && random_below(r, 3) == 0) {
        i = (int)random_below(r, (uint32_t)m->slots);
        if (!(m->has & OWN_SLOTS) || (!m->slot[i].bound && !m->slot[i].token)) {
            d.alias_of = m->slot[i].handle;
            s->alias = m->slot[i].alias;
            m->any_alias = 1;
        }
    }
    s->handle = rondo_subgraph_slot(m->handle, &d);
    cr_assert(s->handle.id, "%s", rondo_error_message());
    m->slots++;
}

static rondo_access random_access(struct random *r, const struct slot_model *s)
{
    static const uint8_t modes[] = { RONDO_READ, RONDO_READ, RONDO_WRITE, RONDO_READ_WRITE };
    rondo_access a = rondo_access_of(s->handle, modes[random_below(r, 4)], rondo_whole());
    int d;
    for (d = 0; d < 3; d++)
        if (random_below(r, 3)) {
            a.region.first[d] = random_below(r, (uint32_t)s->shape.extent[d]);
            a.region.count[d] =
                1 + random_below(r, (uint32_t)(s->shape.extent[d] - a.region.first[d]));
        }
    if (random_below(r, 4) == 0) {
        a.flags = random_below(r, 2) ? RONDO_CLIP : RONDO_WRAP;
        if (random_below(r, 2))
            a.flags |= RONDO_STAR;
        for (d = 0; d < 3; d++)
            a.halo[d] = (int16_t)(d == 0 || random_below(r, 2));
    }
    return a;
}

/* The same access as one before, or any; some commute. */
static rondo_access next_access(struct random *r, const struct model *m, struct node_model *n)
{
    const struct node_model *other = &m->node[random_below(r, (uint32_t)m->nodes + 1)];
    rondo_access a;
    uint32_t i;
    if (m->has & COMMUTING && other != n && other->accesses && random_below(r, 2)) {
        i = random_below(r, (uint32_t)other->accesses);
        n->slot[n->accesses] = other->slot[i];
        a = other->access[i];
    } else {
        n->slot[n->accesses] = (int)random_below(r, (uint32_t)m->slots);
        a = random_access(r, &m->slot[n->slot[n->accesses]]);
    }
    if (m->has & COMMUTING && random_below(r, 2))
        a.mode = RONDO_COMMUTE;
    if (a.mode == RONDO_COMMUTE)
        a.type = a.op = 0;
    if (m->has & SHARES && m->slot[n->slot[n->accesses]].shape.elem_bytes == 4 &&
        !(a.flags & RONDO_WRAP) && random_below(r, 2)) {
        a.mode = RONDO_REDUCE;
        a.type = RONDO_I32;
        a.op = RONDO_SUM;
    }
    if (m->slot[n->slot[n->accesses]].temporary && !m->slot[n->slot[n->accesses]].written) {
        a.mode = RONDO_WRITE;
        a.type = a.op = 0;
    }
    return a;
}

static void add_node(struct random *r, struct model *m, int fences)
{
    struct node_model *n = &m->node[m->nodes];
    uint32_t pick = random_below(r, 12);
    rondo_task_desc d = { .fn = nothing };
    rondo_node node;
    int i;
    memset(n, 0, sizeof *n);
    n->every = 1;
    if (m->has & CONDITIONS && random_below(r, 2)) {
        d.when.every = 1 + random_below(r, 3);
        d.when.phase = random_below(r, d.when.every);
        n->every = (int)d.when.every;
        n->phase = (int)d.when.phase;
    }
    if (pick < 2 && fences) {
        n->kind = ALL;
        n->call = pick == 0;
        if (n->call)
            n->every = 1;
        node = n->call ? rondo_record_call(m->handle, "call", no_call, NULL)
                       : rondo_record_task(m->handle, &d);
    } else if (pick == 2) {
        d.flags = RONDO_NO_ACCESS;
        node = rondo_record_task(m->handle, &d);
    } else {
        n->kind = TOUCHES;
        for (n->accesses = 0; n->accesses < 1 + (int)random_below(r, ACCESSES); n->accesses++)
            n->access[n->accesses] = next_access(r, m, n);
        d.accesses = n->access;
        d.access_count = (uint32_t)n->accesses;
        node = rondo_record_task(m->handle, &d);
    }
    if (n->every == 1)
        n->phase = 0;
    for (i = 0; i < n->accesses; i++)
        m->slot[n->slot[i]].written |= n->access[i].mode != RONDO_READ;
    cr_assert(node.id, "%s", rondo_error_message());
    m->nodes++;
}

static void add_edge(struct model *m, uint32_t from, uint32_t to, uint32_t distance)
{
    rondo_node f = { rd_part_id(m->g->serial, RD_PART_NODE, from) },
               t = { rd_part_id(m->g->serial, RD_PART_NODE, to) };
    struct rd_hand_edge e = { from, to, distance };
    cr_assert_eq(rondo_record_edge(m->handle, f, t, distance), RONDO_OK);
    m->hand[m->hands++] = e;
}

static inline void add_hand(struct random *r, struct model *m)
{
    uint32_t a = random_below(r, (uint32_t)m->nodes), b = random_below(r, (uint32_t)m->nodes);
    uint32_t distance = random_below(r, 3), from = distance || a < b ? a : b;
    if (distance || a != b)
        add_edge(m, from, from == a ? b : a, distance);
}

/* The same seed makes the same recording but for `flags`. */
static void make(uint64_t seed, uint32_t flags, struct model *m)
{
    struct random r = { seed };
    int slots, nodes, fences = random_below(&r, 2) == 0, aliases = random_below(&r, 4) == 0;
    rondo_status status;
    memset(m, 0, sizeof *m);
    m->has = (int)flags & ~RONDO_EDGES_EXPLICIT;
    flags &= RONDO_EDGES_EXPLICIT;
    m->edges_explicit = (int)flags;
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, &m->handle),
                 RONDO_OK);
    m->g = rd_subgraph_get(m->handle, &status);
    add_buffers(&r, m);
    for (slots = 1 + (int)random_below(&r, SLOTS); slots; slots--)
        add_slot(&r, m, aliases);
    for (nodes = 1 + (int)random_below(&r, NODES); nodes; nodes--)
        add_node(&r, m, fences);
}

static void end(struct model *m)
{
    int i;
    rd_subgraph_unref(m->g);
    rondo_subgraph_destroy(m->handle);
    for (i = 0; i < m->buffers; i++)
        rondo_buffer_destroy(m->buffer[i]);
}

/* ---- the oracle */

/* Relations between executions, {replay * nodes + node}, as bits. */
enum { TIMES = NODES * REPLAYS, WORDS = (TIMES + 63) / 64 };
struct relation {
    uint64_t row[TIMES][WORDS]; /* row[b]: all that comes before b */
};

static void relate(struct relation *x, int a, int b) { x->row[b][a / 64] |= 1ull << a % 64; }
static int related(const struct relation *x, int a, int b)
{
    return (int)(x->row[b][a / 64] >> a % 64 & 1);
}

/* Until nothing changes; at once where what comes before has the lesser number. */
static inline void close_relation(struct relation *x, int times)
{
    int a, b, w, more = 1;
    while (more)
        for (b = 0, more = 0; b < times; b++)
            for (a = 0; a < times; a++)
                for (w = 0; related(x, a, b) && w < WORDS; w++) {
                    more |= a > b && (x->row[a][w] & ~x->row[b][w]);
                    x->row[b][w] |= x->row[a][w];
                }
}

/* The bytes an access touches in a replay, in the arena or in the bound slot's own. */
static void bytes_of(const struct model *m, const struct node_model *n, int i, int replay,
                     uint8_t bytes[ARENA])
{
    const struct slot_model *s = &m->slot[n->slot[i]];
    int buffer = s->buffers[(s->first + replay * s->stride) % s->count];
    size_t base = s->bound || s->token ? 0 : m->offset[buffer];
    int64_t at[3];
    memset(bytes, 0, ARENA);
    for (at[2] = 0; at[2] < s->shape.extent[2]; at[2]++)
        for (at[1] = 0; at[1] < s->shape.extent[1]; at[1]++)
            for (at[0] = 0; at[0] < s->shape.extent[0]; at[0]++)
                if (brute_touches(s->shape.extent, &n->access[i], NULL, at))
                    memset(bytes + base + (size_t)at[0] * s->shape.elem_bytes +
                               (size_t)at[1] * s->shape.pitch_bytes[0] +
                               (size_t)at[2] * s->shape.pitch_bytes[1],
                           1, s->shape.elem_bytes);
}

static uint8_t touched[TIMES][ACCESSES][ARENA];

static int share_bytes(const struct model *m, int t, int i, int u, int k)
{
    const struct node_model *a = &m->node[t % m->nodes], *b = &m->node[u % m->nodes];
    const struct slot_model *s = &m->slot[a->slot[i]], *v = &m->slot[b->slot[k]];
    int byte;
    if (s->bound != v->bound || s->token != v->token || ((s->bound || s->token) && s != v))
        return 0;
    for (byte = 0; byte < ARENA; byte++)
        if (touched[t][i][byte] && touched[u][k][byte])
            return 1;
    return 0;
}

/* What a node touches in another way too it does not commute on, nor on what meets that. */
static uint8_t commutes[TIMES][ACCESSES];

static void find_commuting(const struct model *m, int t)
{
    const struct node_model *n = &m->node[t % m->nodes];
    int i, k, round;
    for (i = 0; i < n->accesses; i++)
        commutes[t][i] = n->access[i].mode == RONDO_COMMUTE;
    for (round = 0; round < n->accesses; round++)
        for (i = 0; i < n->accesses; i++)
            for (k = 0; k < n->accesses; k++)
                if (!commutes[t][k] && share_bytes(m, t, i, t, k))
                    commutes[t][i] = 0;
}

/* With `commute` only whether they exclude each other without an order. */
static int accesses_conflict(const struct model *m, int t, int i, int u, int k, int commute)
{
    const struct node_model *a = &m->node[t % m->nodes], *b = &m->node[u % m->nodes];
    const struct slot_model *s = &m->slot[a->slot[i]], *v = &m->slot[b->slot[k]];
    int same_replay = t / m->nodes == u / m->nodes;
    int both = same_replay && commutes[t][i] && commutes[u][k] && (s == v || s->alias != v->alias);
    if (both != commute || !((a->access[i].mode | b->access[k].mode) & RONDO_WRITE))
        return 0;
    if ((s->bound || v->bound) && !same_replay)
        return 0;
    return (s != v && s->alias == v->alias) || share_bytes(m, t, i, u, k);
}

static int runs(const struct model *m, int t)
{
    const struct node_model *n = &m->node[t % m->nodes];
    return t / m->nodes % n->every == n->phase;
}

static inline int excludes(const struct model *m, int t, int u)
{
    const struct node_model *a = &m->node[t % m->nodes], *b = &m->node[u % m->nodes];
    int i, k;
    if (!runs(m, t) || !runs(m, u) || t == u)
        return 0;
    for (i = 0; i < a->accesses; i++)
        for (k = 0; k < b->accesses; k++)
            if (accesses_conflict(m, t, i, u, k, 1))
                return 1;
    return 0;
}

/* Whether two nodes of different replays conflict in another way than by accesses that commute. */
static inline int conflict_otherwise(const struct model *m, int t, int u)
{
    const struct node_model *a = &m->node[t % m->nodes], *b = &m->node[u % m->nodes];
    int i, k;
    if (a->call || b->call)
        return 1;
    for (i = 0; i < a->accesses; i++)
        for (k = 0; k < b->accesses; k++)
            if ((!commutes[t][i] || !commutes[u][k] ||
                 (a->slot[i] != b->slot[k] &&
                  m->slot[a->slot[i]].alias == m->slot[b->slot[k]].alias)) &&
                accesses_conflict(m, t, i, u, k, 0))
                return 1;
    return 0;
}

static int conflict(const struct model *m, int t, int u)
{
    const struct node_model *a = &m->node[t % m->nodes], *b = &m->node[u % m->nodes];
    int i, k;
    if (!runs(m, t) || !runs(m, u))
        return 0;
    if (a->call || b->call)
        return 1;
    if (!m->edges_explicit && (a->kind == ALL || b->kind == ALL))
        return a->kind && b->kind;
    for (i = 0; i < a->accesses; i++)
        for (k = 0; k < b->accesses; k++)
            if (accesses_conflict(m, t, i, u, k, 0))
                return 1;
    return 0;
}

/* All that conflicts: over all replays, or within each. */
static inline void find_conflicts(const struct model *m, int carried, struct relation *x)
{
    int times = REPLAYS * m->nodes, t, u, i;
    for (t = 0; t < times; t++)
        for (i = 0; i < m->node[t % m->nodes].accesses; i++)
            bytes_of(m, &m->node[t % m->nodes], i, t / m->nodes, touched[t][i]);
    for (t = 0; t < times; t++)
        find_commuting(m, t);
    memset(x, 0, sizeof *x);
    for (u = 0; u < times; u++)
        for (t = 0; t < u; t++)
            if ((carried || t / m->nodes == u / m->nodes) && conflict(m, t, u))
                relate(x, t, u);
}

static inline void add_hand_edges(const struct model *m, int carried, struct relation *x)
{
    int times = REPLAYS * m->nodes, t, u, i;
    for (i = 0; i < m->hands; i++)
        for (t = (int)m->hand[i].from; t < times; t += m->nodes) {
            u = (t / m->nodes + (int)m->hand[i].distance) * m->nodes + (int)m->hand[i].to;
            if (u < times && (carried || !m->hand[i].distance))
                relate(x, t, u);
        }
}

/* ---- what was found */

/* How often the buffers' meetings recur: all rings have 1 to 3 buffers. */
enum { PHASES = 6 };

/* The edges into a replay. */
static inline void edges_into(const struct rd_graph *g, int replay, const uint32_t **first,
                              const struct rd_edge **pred)
{
    *first = g->first;
    *pred = g->pred;
    if (g->phases > 1) {
        const struct rd_variant *v = &g->variant[g->variant_of_phase[(uint32_t)replay % g->phases]];
        *first = v->first;
        *pred = v->pred;
    }
}

static inline void relate_found(const struct model *m, const struct rd_graph *graph,
                                struct relation *found)
{
    int times = REPLAYS * m->nodes, t, u, v;
    uint32_t i;
    memset(found, 0, sizeof *found);
    for (u = 0; u < times; u++) {
        const uint32_t *first;
        const struct rd_edge *pred;
        v = u % m->nodes;
        edges_into(graph, u / m->nodes, &first, &pred);
        for (i = first[v]; i < first[v + 1]; i++) {
            t = (u / m->nodes - pred[i].distance) * m->nodes + (int)pred[i].from;
            if (t >= 0)
                relate(found, t, u);
        }
    }
}

#endif
