/* SPDX-License-Identifier: BSD-3-Clause */
/* Large recordings: a chain, independent nodes, many that precede one, many bands of one buffer.
 * Instantiated in about linear time and memory, on a small stack, and replayed. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum shape { CHAIN, INDEPENDENT, FAN_IN, BANDS, SHAPES };
static const char *const shape_names[] = { "chain", "independent", "fan-in", "bands" };

struct link {
    _Atomic(uint64_t) *ran;
    uint64_t position;
};

/* A node of a chain sees that all before it have run in this replay. */
static int in_turn(rondo_task *self, const void *arg)
{
    const struct link *l = arg;
    uint64_t *next = rondo_task_write(self, 0);
    if (*next != l->position)
        return rondo_task_fail(self, "out of turn");
    *next = l->position + 1;
    atomic_fetch_add_explicit(l->ran, 1, memory_order_relaxed);
    return 0;
}

static int count_node(rondo_task *self, const void *arg)
{
    const struct link *l = arg;
    (void)self;
    atomic_fetch_add_explicit(l->ran, 1, memory_order_relaxed);
    return 0;
}

/* Runs after all others of its replay. */
static int last_node(rondo_task *self, const void *arg)
{
    const struct link *l = arg;
    uint64_t ran = atomic_fetch_add_explicit(l->ran, 1, memory_order_relaxed);
    return ran == self->replay * (l->position + 1) + l->position ? 0
                                                                 : rondo_task_fail(self, "early");
}

/* The thread's own time, so that a busy machine counts little. */
static int64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct large {
    enum shape shape;
    uint64_t nodes;
    const struct et_mode *mode;
    int64_t record_ns, instantiate_ns;
    uint64_t bytes;
};

static void record_shape(const struct large *l, rondo_subgraph g, rondo_slot turn, rondo_slot bands,
                         _Atomic(uint64_t) *ran)
{
    rondo_node *all = calloc(l->nodes, sizeof *all);
    cr_assert(all);
    for (uint64_t i = 0; i < l->nodes; i++) {
        struct link link = { ran, i };
        rondo_access access = rondo_read_write(turn, rondo_whole());
        rondo_task_desc d = { .fn = count_node, RONDO_ARG(link), .flags = RONDO_NO_ACCESS };
        if (l->shape == CHAIN || l->shape == BANDS) {
            d.flags = 0;
            d.accesses = &access;
            d.access_count = 1;
        }
        if (l->shape == CHAIN) {
            d.fn = in_turn;
            d.access_count = 1;
        } else if (l->shape == BANDS) {
            access = rondo_read_write(bands, rondo_span((int64_t)i, 1));
        } else if (l->shape == FAN_IN && i + 1 == l->nodes) {
            d.fn = last_node;
            d.after = all;
            d.after_count = (uint32_t)i;
        }
        all[i] = rondo_record_task(g, &d);
        ET_HANDLE(all[i]);
    }
    free(all);
}

/* Turns the chain's counter back: a node of its own, before the chain. */
static int turn_back(rondo_task *self, const void *arg)
{
    (void)arg;
    *(uint64_t *)rondo_task_write(self, 0) = 0;
    return 0;
}

static void *run_large(void *of)
{
    struct large *l = of;
    enum { REPLAYS = 3 };
    _Atomic(uint64_t) ran = 0;
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g;
    rondo_buffer turn, bands;
    rondo_exec exec;
    rondo_runtime_statistics stats;
    rondo_buffer_desc one = { .shape = { 8, { 1 }, { 0 } } },
                      many = { .shape = { 1, { (int64_t)l->nodes }, { 0 } } };
    rondo_instantiate_options o = {
        .mode = l->mode->mode, .order = l->mode->order, .schedule = l->mode->schedule, .window = 2
    };
    ET_OK(rondo_buffer_create(rt, &one, &turn));
    ET_OK(rondo_buffer_create(rt, &many, &bands));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_slot t = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "turn", .buffer = turn }),
               b = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "bands", .buffer = bands });
    if (l->shape == CHAIN)
        ET_HANDLE(rondo_record_task(
            g,
            &(rondo_task_desc){ .fn = turn_back, RONDO_ACCESSES(rondo_write(t, rondo_whole())) }));
    int64_t begin = thread_ns();
    record_shape(l, g, t, b, &ran);
    l->record_ns = thread_ns() - begin;
    begin = thread_ns();
    ET_OK(rondo_instantiate(g, &o, &exec));
    l->instantiate_ns = thread_ns() - begin;
    ET_OK(rondo_runtime_stats(rt, &stats));
    l->bytes = stats.bytes;
    for (int i = 0; i < REPLAYS; i++)
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert_eq(atomic_load(&ran), REPLAYS * l->nodes, "%s: %llu", shape_names[l->shape],
                 (unsigned long long)atomic_load(&ran));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(turn));
    ET_OK(rondo_buffer_destroy(bands));
    ET_CLOSE(rt);
    return NULL;
}

/* On a stack that recursion over the nodes would not fit in. */
static struct large large(enum shape shape, uint64_t nodes, const struct et_mode *mode)
{
    struct large l = { .shape = shape, .nodes = nodes, .mode = mode };
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256u << 10);
    cr_assert_eq(pthread_create(&thread, &small, run_large, &l), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    return l;
}

static void check_linear(enum shape shape, uint64_t nodes, const struct et_mode *mode)
{
    struct large part = large(shape, nodes / 10, mode), whole = large(shape, nodes, mode);
    printf("%s, %s, %llu nodes: record %.0f ns, instantiate %.0f ns, %.0f bytes a node\n",
           shape_names[shape], mode->name, (unsigned long long)nodes,
           (double)whole.record_ns / (double)nodes, (double)whole.instantiate_ns / (double)nodes,
           (double)whole.bytes / (double)nodes);
    cr_assert(whole.bytes < 14 * part.bytes, "%s: %llu and %llu bytes", shape_names[shape],
              (unsigned long long)part.bytes, (unsigned long long)whole.bytes);
    /* Quadratic would be 100 times; cache misses and a busy machine stay far below half of that.
     * Debug builds check plans of more than 4,096 nodes by a search whose cost is bounded, not
     * proportional. */
#ifdef NDEBUG
    const int64_t more = 50000000;
#else
    const int64_t more = 3000000000;
#endif
    cr_assert(whole.instantiate_ns < 50 * part.instantiate_ns + more, "%s, %s: %lld and %lld ns",
              shape_names[shape], mode->name, (long long)part.instantiate_ns,
              (long long)whole.instantiate_ns);
    cr_assert(whole.record_ns < 50 * part.record_ns + 50000000, "%s: %lld and %lld ns",
              shape_names[shape], (long long)part.record_ns, (long long)whole.record_ns);
}

Test(engine_large, a_chain, .timeout = 900)
{
    check_linear(CHAIN, et_scaled(1000000, 20000), &et_modes[1]);
    check_linear(CHAIN, et_scaled(100000, 20000), &et_modes[0]);
    check_linear(CHAIN, et_scaled(100000, 20000), &et_modes[2]);
}

Test(engine_large, independent_nodes, .timeout = 900)
{
    check_linear(INDEPENDENT, et_scaled(1000000, 20000), &et_modes[2]);
    check_linear(INDEPENDENT, et_scaled(100000, 20000), &et_modes[0]);
    check_linear(INDEPENDENT, et_scaled(100000, 20000), &et_modes[1]);
}

Test(engine_large, many_that_precede_one, .timeout = 900)
{
    for (int k = 0; k < 3; k++)
        check_linear(FAN_IN, et_scaled(100000, 20000), &et_modes[k]);
}

Test(engine_large, many_bands_of_one_buffer, .timeout = 900)
{
    for (int k = 0; k < 3; k++)
        check_linear(BANDS, et_scaled(100000, 20000), &et_modes[k]);
}
