/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings whose tasks compute: played as the recording says, node after node, and by the
 * expanded recording's graph in random orders. */
#ifndef TESTS_SUBGRAPH_SIMULATE_H
#define TESTS_SUBGRAPH_SIMULATE_H

#include "subgraph/subgraph.h"
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <rondo/rondo.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIM_NODES = 12,
    SIM_SLOTS = 5,
    SIM_ACCESSES = 3,
    SIM_REPLAYS = 7,
    SIM_BYTES = 2048, /* of a buffer, at least */
    SIM_BUFFERS = 3,
    SIM_TABLE = 256 /* nodes, accesses and slots of an expanded recording, at most */
};

struct sim_slot {
    rondo_slot handle;
    rondo_shape shape; /* complete */
    int type, temporary, zeroed, count, first, buffers[2], touched;
};

struct sim_node {
    int accesses, every, phase;
    rondo_access access[SIM_ACCESSES];
    int slot[SIM_ACCESSES];
};

struct sim {
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_buffer buffer[SIM_BUFFERS];
    int slots, nodes;
    int type[2]; /* of the ring's buffers, and of the third: one value is of one type */
    struct sim_slot slot[SIM_SLOTS];
    struct sim_node node[SIM_NODES];
};

static rondo_runtime rt;
static double sim_memory[SIM_BUFFERS][SIM_BYTES / sizeof(double)];
static const struct sim *sim_now; /* whose tasks run */
static int sim_replay;

static inline size_t sim_value_bytes(int type)
{
    return type == RONDO_F64 || type == RONDO_I64 ? 8 : 4;
}

static inline uint64_t sim_mix(uint64_t h, uint64_t more)
{
    struct random r = { h ^ more * 0x9e3779b97f4a7c15u };
    return random_next(&r);
}

/* Values whose sums depend on the order. */
static inline void sim_value(int type, uint64_t h, void *to)
{
    double f64 = (double)(int)(h % 20001 - 10000) / 7;
    float f32 = (float)f64;
    int64_t i64 = (int64_t)(h % 20001) - 10000;
    int32_t i32 = (int32_t)i64;
    memcpy(to,
           type == RONDO_F64   ? (void *)&f64
           : type == RONDO_F32 ? (void *)&f32
           : type == RONDO_I64 ? (void *)&i64
                               : (void *)&i32,
           sim_value_bytes(type));
}

/* to = to op value */
static inline void sim_combine(int type, int op, void *to, const void *value)
{
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
    } a, b;
    memcpy(&a, to, sim_value_bytes(type));
    memcpy(&b, value, sim_value_bytes(type));
#define SIM_CASE(x, sum)                              \
    a.x = op == RONDO_SUM   ? (sum)                   \
          : op == RONDO_MIN ? (b.x < a.x ? b.x : a.x) \
                            : (b.x > a.x ? b.x : a.x)
    if (type == RONDO_F64)
        SIM_CASE(f64, a.f64 + b.f64);
    else if (type == RONDO_F32)
        SIM_CASE(f32, a.f32 + b.f32);
    else if (type == RONDO_I64)
        SIM_CASE(i64, (int64_t)((uint64_t)a.i64 + (uint64_t)b.i64));
    else
        SIM_CASE(i32, (int32_t)((uint32_t)a.i32 + (uint32_t)b.i32));
    memcpy(to, &a, sim_value_bytes(type));
}

static inline void sim_neutral(int type, int op, void *to)
{
    double f64 = op == RONDO_SUM ? 0 : op == RONDO_MIN ? (double)INFINITY : -(double)INFINITY;
    float f32 = (float)f64;
    int64_t i64 = op == RONDO_SUM ? 0 : op == RONDO_MIN ? INT64_MAX : INT64_MIN;
    int32_t i32 = op == RONDO_SUM ? 0 : op == RONDO_MIN ? INT32_MAX : INT32_MIN;
    memcpy(to,
           type == RONDO_F64   ? (void *)&f64
           : type == RONDO_F32 ? (void *)&f32
           : type == RONDO_I64 ? (void *)&i64
                               : (void *)&i32,
           sim_value_bytes(type));
}

/* The next value of an access's region, or NULL: `at` counts values. */
static inline char *sim_next(const rondo_shape *s, const rondo_access *a, int type, char *base,
                             uint64_t *at)
{
    uint64_t per = s->elem_bytes / sim_value_bytes(type), k = (*at)++, x;
    const rondo_region *r = &a->region;
    x = k % (per * (uint64_t)r->count[0]);
    k /= per * (uint64_t)r->count[0];
    if (k >= (uint64_t)(r->count[1] * r->count[2]))
        return NULL;
    return base + (uint64_t)r->first[0] * s->elem_bytes + x * sim_value_bytes(type) +
           ((uint64_t)r->first[1] + k % (uint64_t)r->count[1]) * s->pitch_bytes[0] +
           ((uint64_t)r->first[2] + k / (uint64_t)r->count[1]) * s->pitch_bytes[1];
}

/* A node's work: what it reads decides what it writes and adds. */
static inline int sim_task(rondo_task *self, const void *arg)
{
    int v, i;
    uint64_t h, at;
    const struct sim_node *n;
    char *p, value[8];
    memcpy(&v, arg, sizeof v);
    n = &sim_now->node[v];
    h = sim_mix((uint64_t)v, (uint64_t)sim_replay);
    for (i = 0; i < n->accesses; i++) {
        const struct sim_slot *s = &sim_now->slot[n->slot[i]];
        if (n->access[i].mode != RONDO_READ && n->access[i].mode != RONDO_READ_WRITE)
            continue;
        for (at = 0; (p = sim_next(&s->shape, &n->access[i], s->type,
                                   (char *)(uintptr_t)rondo_task_read(self, (unsigned)i), &at));) {
            uint64_t bits = 0;
            memcpy(&bits, p, sim_value_bytes(s->type));
            h = sim_mix(h, bits);
        }
    }
    for (i = 0; i < n->accesses; i++) {
        const struct sim_slot *s = &sim_now->slot[n->slot[i]];
        if (n->access[i].mode == RONDO_READ)
            continue;
        for (at = 0; (p = sim_next(&s->shape, &n->access[i], s->type,
                                   rondo_task_write(self, (unsigned)i), &at));) {
            /* What commutes must not depend on what was there, nor on the order. */
            sim_value(s->type, sim_mix(n->access[i].mode == RONDO_COMMUTE ? (uint64_t)v : h, at),
                      value);
            if (n->access[i].mode == RONDO_REDUCE)
                sim_combine(s->type, n->access[i].op, p, value);
            else if (n->access[i].mode == RONDO_COMMUTE)
                sim_combine(s->type, RONDO_SUM, p, value);
            else
                memcpy(p, value, sim_value_bytes(s->type));
        }
    }
    return 0;
}

/* ---- recordings */

static inline void sim_add_slot(struct random *r, struct sim *m, int i)
{
    static const size_t values[] = { 1, 1, 2 };
    struct sim_slot *s = &m->slot[m->slots];
    rondo_buffer ring[2];
    rondo_slot_desc d = { 0 };
    int dims = 1 + (int)random_below(r, 3), k, kind = (int)random_below(r, 5);
    memset(s, 0, sizeof *s);
    s->type = m->type[kind != 1 && i % SIM_BUFFERS == 2];
    s->shape.elem_bytes = sim_value_bytes(s->type) * values[random_below(r, 3)];
    for (k = 0; k < 3; k++)
        s->shape.extent[k] = k < dims ? 1 + random_below(r, 4) : 1;
    s->shape.pitch_bytes[0] =
        s->shape.elem_bytes * (size_t)(s->shape.extent[0] + random_below(r, 2));
    s->shape.pitch_bytes[1] = s->shape.pitch_bytes[0] * (size_t)s->shape.extent[1];
    d.shape = s->shape;
    s->count = 1;
    switch (kind) {
    case 0:
        s->temporary = 1;
        s->zeroed = (int)random_below(r, 2);
        d.flags = RONDO_TEMPORARY | (s->zeroed ? RONDO_ZEROED : 0u);
        break;
    case 1: /* the first two slots are in the ring's buffers too */
        s->count = 2;
        for (k = 0; k < 2; k++) {
            s->buffers[k] = k;
            ring[k] = m->buffer[k];
        }
        d.ring = ring;
        d.ring_count = 2;
        d.ring_first = (uint32_t)(s->first = (int)random_below(r, 2));
        break;
    default: s->buffers[0] = i % SIM_BUFFERS; d.buffer = m->buffer[s->buffers[0]];
    }
    s->handle = rondo_subgraph_slot(m->handle, &d);
    cr_assert(s->handle.id, "%s", rondo_error_message());
    m->slots++;
}

static inline rondo_access sim_access(struct random *r, struct sim_slot *s)
{
    static const uint8_t modes[] = { RONDO_READ,   RONDO_WRITE,  RONDO_READ_WRITE, RONDO_COMMUTE,
                                     RONDO_REDUCE, RONDO_REDUCE, RONDO_REDUCE,     RONDO_REDUCE };
    rondo_access a = rondo_access_of(s->handle, modes[random_below(r, 8)], rondo_whole());
    int k;
    if (a.mode == RONDO_COMMUTE && s->type < RONDO_I64)
        a.mode = RONDO_REDUCE; /* sums of integers alone do not depend on the order */
    for (k = 0; k < 3; k++) {
        a.region.first[k] = random_below(r, 2) ? random_below(r, (uint32_t)s->shape.extent[k]) : 0;
        a.region.count[k] = 1 + random_below(r, (uint32_t)(s->shape.extent[k] - a.region.first[k]));
    }
    if (s->temporary && !s->zeroed && !s->touched && a.mode != RONDO_REDUCE) {
        a.mode = RONDO_WRITE; /* of all: nothing reads what nobody wrote */
        for (k = 0; k < 3; k++) {
            a.region.first[k] = 0;
            a.region.count[k] = s->shape.extent[k];
        }
    }
    if (a.mode == RONDO_REDUCE) {
        a.type = (uint8_t)s->type;
        a.op = (uint8_t)(random_below(r, 4) ? RONDO_SUM : 1 + random_below(r, 3));
    }
    return a;
}

/* An access of a node that meets another of it: only reductions may. */
static inline int sim_meets(const struct sim_node *n, int slot, const rondo_access *a)
{
    int i, any = 0;
    for (i = 0; i < n->accesses; i++)
        any |= n->slot[i] == slot && (a->mode != RONDO_REDUCE || n->access[i].mode != RONDO_REDUCE);
    return any;
}

static inline void sim_add_node(struct random *r, struct sim *m, int conditions)
{
    struct sim_node *n = &m->node[m->nodes];
    rondo_task_desc d = { .fn = sim_task, .arg = &m->nodes, .arg_bytes = sizeof m->nodes };
    int want = 1 + (int)random_below(r, SIM_ACCESSES), i;
    rondo_node node;
    memset(n, 0, sizeof *n);
    n->every = 1;
    if (conditions && random_below(r, 3) == 0) {
        d.when.every = 2 + random_below(r, 2);
        d.when.phase = random_below(r, d.when.every);
        n->every = (int)d.when.every;
        n->phase = (int)d.when.phase;
    }
    while (want--) {
        int slot = (int)random_below(r, (uint32_t)m->slots);
        rondo_access a = sim_access(r, &m->slot[slot]);
        if (sim_meets(n, slot, &a) ||
            (n->every > 1 && m->slot[slot].temporary && !m->slot[slot].touched))
            continue;
        n->slot[n->accesses] = slot;
        n->access[n->accesses++] = a;
    }
    if (!n->accesses)
        return;
    for (i = 0; i < n->accesses; i++)
        m->slot[n->slot[i]].touched = 1;
    d.accesses = n->access;
    d.access_count = (uint32_t)n->accesses;
    node = rondo_record_task(m->handle, &d);
    cr_assert(node.id, "%s", rondo_error_message());
    m->nodes++;
}

static inline void sim_make(uint64_t seed, uint32_t flags, struct sim *m)
{
    struct random r = { seed };
    rondo_status status;
    int i, slots = 1 + (int)random_below(&r, SIM_SLOTS), tries = 2 + (int)random_below(&r, 11),
           conditions = random_below(&r, 3) == 0;
    memset(m, 0, sizeof *m);
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, &m->handle),
                 RONDO_OK);
    m->g = rd_subgraph_get(m->handle, &status);
    for (i = 0; i < 2; i++)
        m->type[i] = RONDO_F64 + (int)random_below(&r, 4);
    for (i = 0; i < SIM_BUFFERS; i++)
        rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .shape = { 1, { SIM_BYTES }, { 0 } }, .host = sim_memory[i] },
            &m->buffer[i]);
    for (i = 0; i < slots; i++)
        sim_add_slot(&r, m, i);
    while (tries-- && m->nodes < SIM_NODES)
        sim_add_node(&r, m, conditions);
}

static inline void sim_end(struct sim *m)
{
    int i;
    rd_subgraph_unref(m->g);
    rondo_subgraph_destroy(m->handle);
    for (i = 0; i < SIM_BUFFERS; i++)
        rondo_buffer_destroy(m->buffer[i]);
}

/* ---- playing */

static inline void sim_begin(const struct sim *m, uint64_t seed)
{
    struct random r = { seed };
    int i, k;
    sim_now = m;
    for (i = 0; i < SIM_BUFFERS; i++)
        for (k = 0; k < (int)(SIM_BYTES / sizeof(double)); k++)
            sim_memory[i][k] = (double)random_below(&r, 1000) / 3;
}

/* As the recording says: a node's share is combined at once, behind the node. */
static inline void sim_reference(const struct sim *m, int replays)
{
    static char temporary[SIM_SLOTS][SIM_BYTES], share[SIM_ACCESSES][SIM_BYTES];
    int v, i, fresh[SIM_SLOTS], slot;
    uint64_t at;
    for (sim_replay = 0; sim_replay < replays; sim_replay++) {
        void *base[SIM_SLOTS];
        for (i = 0; i < m->slots; i++) {
            const struct sim_slot *s = &m->slot[i];
            memset(temporary[i], 0, SIM_BYTES);
            base[i] = s->temporary ? (void *)temporary[i]
                                   : sim_memory[s->buffers[(s->first + sim_replay) % s->count]];
            fresh[i] = s->temporary && !s->zeroed;
        }
        for (v = 0; v < m->nodes; v++) {
            const struct sim_node *n = &m->node[v];
            const uint32_t places[SIM_ACCESSES] = { 0, 1, 2 }, number = 0;
            const rondo_task_node table[1] = { { 0, 0, 0, 0 } };
            void *seen[SIM_ACCESSES];
            char *p, neutral[8];
            rondo_task self = { .node = &number, .nodes = table, .base = seen, .places = places };
            for (i = 0; i < n->accesses; i++) {
                const struct sim_slot *s = &m->slot[slot = n->slot[i]];
                rondo_access whole = rondo_read_write(s->handle, rondo_whole());
                seen[i] = base[slot];
                memcpy(whole.region.count, s->shape.extent, sizeof whole.region.count);
                if (n->access[i].mode == RONDO_REDUCE) {
                    sim_neutral(s->type, n->access[i].op, neutral);
                    for (at = 0; fresh[slot] &&
                                 (p = sim_next(&s->shape, &whole, s->type, base[slot], &at));)
                        memcpy(p, neutral, sim_value_bytes(s->type));
                    for (at = 0; (p = sim_next(&s->shape, &n->access[i], s->type, share[i], &at));)
                        memcpy(p, neutral, sim_value_bytes(s->type));
                    seen[i] = share[i];
                }
                if (n->access[i].mode != RONDO_READ)
                    fresh[slot] = 0;
            }
            if (sim_replay % n->every != n->phase)
                continue;
            sim_task(&self, &v);
            for (i = 0; i < n->accesses; i++) {
                const struct sim_slot *s = &m->slot[slot = n->slot[i]];
                uint64_t from = 0;
                for (at = 0; n->access[i].mode == RONDO_REDUCE &&
                             (p = sim_next(&s->shape, &n->access[i], s->type, base[slot], &at));)
                    sim_combine(s->type, n->access[i].op, p,
                                sim_next(&s->shape, &n->access[i], s->type, share[i], &from));
            }
        }
    }
}

#endif
