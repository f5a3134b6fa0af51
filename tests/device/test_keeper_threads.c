/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers that change hands while several threads submit, sync and map. */
#include "tests/support/fake_device.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 32, THREADS = 4, MB = 1 << 20 };
#define OK(call) cr_assert_eq((call), RONDO_OK, "%s: %s", #call, rondo_error_message())

/* ---- adds the first slot's elements to the second's, or one to each */

static int add_on_host(rondo_task *self, const void *arg)
{
    const int64_t *from = rondo_task_read(self, 0);
    int64_t *to = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < N; i++)
        to[i] += from[i];
    return 0;
}

static void add_on_device(const struct fake_call *c)
{
    const int64_t *from = c->arg[0];
    int64_t *to = c->arg[1];
    for (int i = 0; i < N; i++)
        to[i] += from[i];
}
static const struct fake_kernel kernels[] = { { "add", add_on_device, 2 }, { NULL, NULL, 0 } };

static rondo_exec exec_of(rondo_runtime rt, rondo_buffer from, rondo_buffer to, int device,
                          uint32_t order)
{
    const rondo_instantiate_options options = { .order = order, .window = 8 };
    rondo_subgraph g;
    rondo_slot f, t;
    rondo_node n;
    rondo_exec x;
    OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "add" }, &g));
    f = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "from", .buffer = from });
    t = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "to", .buffer = to });
    if (device < 0)
        n = rondo_record_task(
            g, &(rondo_task_desc){ .fn = add_on_host,
                                   RONDO_ACCESSES(rondo_read(f, rondo_whole()),
                                                  rondo_read_write(t, rondo_whole())) });
    else
        n = rondo_record_kernel(
            g, &(rondo_kernel_desc){ .format = RONDO_OPENCL_C,
                                     .image = "fake",
                                     .image_bytes = 4,
                                     .entry = "add",
                                     .on = RONDO_GPU((uint32_t)device),
                                     RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_access(1)),
                                     .dimensions = 1,
                                     .global = { 1 },
                                     RONDO_ACCESSES(rondo_read(f, rondo_whole()),
                                                    rondo_read_write(t, rondo_whole())) });
    cr_assert(n.id, "%s", rondo_error_message());
    OK(rondo_instantiate(g, &options, &x));
    OK(rondo_subgraph_destroy(g));
    return x;
}

static rondo_buffer buffer_of(rondo_runtime rt, const char *name, int64_t value)
{
    rondo_buffer b;
    void *p;
    OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = name, .shape = { 8, { N }, { 0 } } },
                           &b));
    OK(rondo_buffer_map(b, RONDO_WRITE, &p));
    for (int i = 0; i < N; i++)
        ((int64_t *)p)[i] = value;
    OK(rondo_buffer_unmap(b));
    return b;
}

static void expect(rondo_buffer b, int64_t value)
{
    void *p;
    OK(rondo_buffer_map(b, RONDO_READ, &p));
    for (int i = 0; i < N; i++)
        cr_assert_eq(((int64_t *)p)[i], value, "element %d is %lld, expected %lld", i,
                     (long long)((int64_t *)p)[i], (long long)value);
    OK(rondo_buffer_unmap(b));
}

/* Assertions of Criterion's are for its own thread. */
#define GOOD(call)                        \
    do {                                  \
        if ((call) != RONDO_OK)           \
            atomic_store(&me->failed, 1); \
    } while (0)

/* ---- each thread its own buffer, all of them one that they read */

struct own {
    pthread_t thread;
    rondo_runtime rt;
    rondo_buffer shared, mine;
    rondo_exec exec[3];
    int number, rounds;
    _Atomic int failed;
};

static void *hand_over(void *argument)
{
    struct own *me = argument;
    rondo_event last = { 0, 0 }, synced;
    for (int i = 0; i < me->rounds; i++) {
        const rondo_replay_args args = { .after = &last, .after_count = 1 };
        GOOD(rondo_replay(me->exec[(i + me->number) % 3], &args, &last));
        if (i % 7 == 0)
            GOOD(rondo_buffer_sync(me->mine, RONDO_GPU_MEMORY((uint32_t)i & 1), &synced));
        if (i % 11 == 0)
            GOOD(rondo_buffer_sync(me->shared, RONDO_GPU_MEMORY((uint32_t)i & 1), &synced));
    }
    GOOD(rondo_event_wait(last, -1));
    return NULL;
}

Test(keeper_threads, each_hands_over_its_own)
{
    rondo_runtime rt = fake_open(NULL, 2, MB, kernels);
    rondo_buffer shared = buffer_of(rt, "shared", 1);
    struct own own[THREADS];
    for (int t = 0; t < THREADS; t++) {
        own[t] = (struct own){ .rt = rt, .shared = shared, .number = t, .rounds = 150 };
        own[t].mine = buffer_of(rt, "mine", t);
        for (int i = 0; i < 3; i++)
            own[t].exec[i] = exec_of(rt, shared, own[t].mine, i - 1, RONDO_SERIAL);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_create(&own[t].thread, NULL, hand_over, &own[t]);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(own[t].thread, NULL);
        cr_assert(!own[t].failed);
    }
    for (int t = 0; t < THREADS; t++) {
        expect(own[t].mine, t + 150);
        for (int i = 0; i < 3; i++)
            OK(rondo_exec_destroy(own[t].exec[i]));
        OK(rondo_buffer_destroy(own[t].mine));
    }
    OK(rondo_buffer_destroy(shared));
    OK(rondo_runtime_close(rt));
}

/* ---- all threads submit to execs over one buffer, in an order that a lock gives */

struct crowd {
    pthread_mutex_t lock;
    rondo_event last; /* under the lock */
    rondo_exec exec[3];
    rondo_buffer sum;
};

struct one {
    pthread_t thread;
    struct crowd *crowd;
    int number;
    _Atomic int failed;
};

static void *in_turn(void *argument)
{
    struct one *me = argument;
    struct crowd *c = me->crowd;
    rondo_event e;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&c->lock);
        GOOD(rondo_replay(c->exec[(i + me->number) % 3],
                          &(rondo_replay_args){ .after = &c->last, .after_count = 1 }, &c->last));
        pthread_mutex_unlock(&c->lock);
        if (i % 9 == me->number)
            GOOD(rondo_buffer_sync(c->sum, RONDO_HOST, &e));
    }
    return NULL;
}

Test(keeper_threads, all_hand_over_one)
{
    rondo_runtime rt = fake_open(NULL, 2, MB, kernels);
    rondo_buffer ones = buffer_of(rt, "ones", 1);
    struct crowd c = { .lock = PTHREAD_MUTEX_INITIALIZER, .sum = buffer_of(rt, "sum", 0) };
    struct one one[THREADS];
    for (int i = 0; i < 3; i++)
        c.exec[i] = exec_of(rt, ones, c.sum, i - 1, RONDO_PIPELINED);
    for (int t = 0; t < THREADS; t++) {
        one[t] = (struct one){ .crowd = &c, .number = t };
        pthread_create(&one[t].thread, NULL, in_turn, &one[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(one[t].thread, NULL);
        cr_assert(!one[t].failed);
    }
    OK(rondo_event_wait(c.last, -1));
    expect(c.sum, 100 * THREADS);
    for (int i = 0; i < 3; i++)
        OK(rondo_exec_destroy(c.exec[i]));
    OK(rondo_buffer_destroy(ones));
    OK(rondo_buffer_destroy(c.sum));
    OK(rondo_runtime_close(rt));
}

/* ---- several threads submit to one exec while its buffer is carried away under it */

struct many {
    pthread_t thread;
    rondo_exec exec;
    _Atomic int failed;
};

static void *submit(void *argument)
{
    struct many *me = argument;
    rondo_event e = { 0, 0 };
    for (int i = 0; i < 200; i++) {
        GOOD(rondo_replay(me->exec, i % 5 ? NULL : &(rondo_replay_args){ .count = 1 }, &e));
        if (i % 16 == 0)
            GOOD(rondo_event_wait(e, -1));
    }
    GOOD(rondo_event_wait(e, -1));
    return NULL;
}

Test(keeper_threads, one_exec_of_many_submitters)
{
    for (int device = -1; device < 2; device++) {
        rondo_runtime rt = fake_open(NULL, 2, MB, kernels);
        rondo_buffer ones = buffer_of(rt, "ones", 1), total = buffer_of(rt, "total", 0);
        rondo_exec x = exec_of(rt, ones, total, device, RONDO_SERIAL);
        struct many many[THREADS];
        rondo_event e = { 0, 0 };
        for (int t = 0; t < THREADS; t++) {
            many[t] = (struct many){ .exec = x };
            pthread_create(&many[t].thread, NULL, submit, &many[t]);
        }
        for (int i = 0; i < 100; i++) {
            const rondo_memory memories[] = { RONDO_HOST, RONDO_GPU_MEMORY(0),
                                              RONDO_GPU_MEMORY(1) };
            OK(rondo_buffer_sync(total, memories[i % 3], &e));
            OK(rondo_event_wait(e, -1));
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(many[t].thread, NULL);
            cr_assert(!many[t].failed);
        }
        expect(total, 200 * THREADS);
        OK(rondo_exec_destroy(x));
        OK(rondo_buffer_destroy(ones));
        OK(rondo_buffer_destroy(total));
        OK(rondo_runtime_close(rt));
    }
}
