/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: generations, types, and that an id is retired exactly once. */
#include "src/base/atomic.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "tests/support/scale.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(uint64_t id, enum rd_id_type type)
{
    void *object;
    rd_rcu_read_lock();
    object = rd_id_find(id, type);
    rd_rcu_read_unlock();
    return object;
}

Test(id, life)
{
    int one, two;
    uint64_t a = rd_id_new(RD_ID_BUFFER, &one), b = rd_id_new(RD_ID_BUFFER, &two), again;
    cr_assert(a && b && a != b);
    cr_assert_eq(find(a, RD_ID_BUFFER), (void *)&one);
    cr_assert_eq(find(b, RD_ID_BUFFER), (void *)&two);
    cr_assert_null(find(a, RD_ID_EXEC), "an id of another type");
    cr_assert_null(rd_id_retire(a, RD_ID_EXEC), "an id of another type");
    cr_assert_eq(rd_id_retire(a, RD_ID_BUFFER), (void *)&one);
    cr_assert_null(rd_id_retire(a, RD_ID_BUFFER), "retired twice");
    cr_assert_null(find(a, RD_ID_BUFFER));
    cr_assert_eq(find(b, RD_ID_BUFFER), (void *)&two);
    /* The entry is used again, for any type, under another generation. */
    again = rd_id_new(RD_ID_EXEC, &two);
    cr_assert_eq((uint32_t)again & 0xfffffffu, (uint32_t)a & 0xfffffffu);
    cr_assert_neq(again >> 32, a >> 32);
    cr_assert_null(find(a, RD_ID_BUFFER));
    cr_assert_null(find(a, RD_ID_EXEC));
    cr_assert_eq(find(again, RD_ID_EXEC), (void *)&two);
    rd_id_retire(again, RD_ID_EXEC);
    rd_id_retire(b, RD_ID_BUFFER);
}

Test(id, foreign)
{
    static const uint64_t bad[] = { 0, 1, UINT64_MAX, 1ull << 32,
                                    5ull << 32 | 2u << 28 | 0xfffffff };
    int object;
    uint64_t id = rd_id_new(RD_ID_RUNTIME, &object);
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int type = RD_ID_RUNTIME; type <= RD_ID_EXEC; type++) {
            cr_assert_null(find(bad[i], (enum rd_id_type)type));
            cr_assert_null(rd_id_retire(bad[i], (enum rd_id_type)type));
        }
    /* A generation never given out. */
    cr_assert_null(find(id + (1ull << 32), RD_ID_RUNTIME));
    cr_assert_null(rd_id_retire(id + (1ull << 32), RD_ID_RUNTIME));
    cr_assert_eq(rd_id_retire(id, RD_ID_RUNTIME), (void *)&object);
}

Test(id, errors)
{
    int object;
    char expected[128];
    uint64_t id = rd_id_new(RD_ID_BUFFER, &object);
    cr_assert_eq(rd_id_error(0, RD_ID_EXEC), RONDO_ERR_INVALID);
    cr_assert_str_eq(rd_error_text(), "exec: the handle is {0}");
    cr_assert_eq(rd_id_error(id, RD_ID_EXEC), RONDO_ERR_INVALID);
    snprintf(expected, sizeof expected, "exec: handle 0x%llx is buffer's", (unsigned long long)id);
    cr_assert_str_eq(rd_error_text(), expected);
    rd_id_retire(id, RD_ID_BUFFER);
    cr_assert_eq(rd_id_error(id, RD_ID_BUFFER), RONDO_ERR_STALE);
    snprintf(expected, sizeof expected, "buffer: handle 0x%llx is stale, its object was destroyed",
             (unsigned long long)id);
    cr_assert_str_eq(rd_error_text(), expected);
    cr_assert_eq(rd_id_error(UINT64_MAX, RD_ID_BUFFER), RONDO_ERR_INVALID);
}

/* More than a chunk of entries at once, each found. */
Test(id, many)
{
    enum { MANY = 10000 };
    static uint64_t id[MANY];
    static char object[MANY];
    size_t i;
    for (i = 0; i < MANY; i++)
        cr_assert((id[i] = rd_id_new(RD_ID_SUBGRAPH, &object[i])));
    for (i = 0; i < MANY; i++)
        cr_assert_eq(find(id[i], RD_ID_SUBGRAPH), (void *)&object[i]);
    for (i = 0; i < MANY; i++)
        cr_assert_eq(rd_id_retire(id[i], RD_ID_SUBGRAPH), (void *)&object[i]);
}

/* Four threads share a few places. In a round each thread makes an object for its own place, looks
 * at all places and tries to retire all of them. Whoever gets an object frees it after a grace
 * period, so a reader that sees a freed one, or two retirers of one id, are caught. */
enum { THREADS = 4, ALIVE = 0x600d };

struct object {
    rd_atomic32 alive;
    uint64_t id;
};

static rd_atomic64 place[THREADS];
static rd_atomic64 made, retired, seen;

static void look(uint64_t id)
{
    struct object *o;
    rd_rcu_read_lock();
    o = rd_id_find(id, RD_ID_EXEC);
    if (o) {
        if (rd_load_relaxed(&o->alive) != ALIVE || o->id != id)
            abort();
        rd_add_relaxed(&seen, 1);
    }
    rd_rcu_read_unlock();
}

static void *churn(void *argument)
{
    size_t mine = (size_t)(uintptr_t)argument, i;
    uint64_t round, rounds = rd_test_scaled(20000);
    for (round = 0; round < rounds; round++) {
        struct object *o = malloc(sizeof *o);
        if (!o)
            abort();
        rd_store_relaxed(&o->alive, ALIVE);
        o->id = 0;
        /* The id is known only after the object can be found, so it is written before it is told
         * to the others. */
        o->id = rd_id_new(RD_ID_EXEC, o);
        rd_add_relaxed(&made, 1);
        rd_store_release(&place[mine], o->id);
        for (i = 0; i < THREADS; i++)
            look(rd_load_acquire(&place[(mine + i) % THREADS]));
        for (i = 0; i < THREADS; i++) {
            uint64_t id = rd_load_acquire(&place[(mine + 1 + i) % THREADS]);
            o = rd_id_retire(id, RD_ID_EXEC);
            if (!o)
                continue;
            rd_rcu_synchronize();
            if (rd_exchange_acq_rel(&o->alive, 0) != ALIVE)
                abort();
            free(o);
            rd_add_relaxed(&retired, 1);
        }
    }
    return NULL;
}

Test(id, freed_once, .timeout = 60)
{
    pthread_t thread[THREADS];
    uintptr_t i;
    for (i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, churn, (void *)i), 0);
    for (i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    cr_assert_eq(rd_load_relaxed(&retired), rd_load_relaxed(&made));
    cr_assert_eq(rd_load_relaxed(&made), THREADS * rd_test_scaled(20000));
    cr_assert_gt(rd_load_relaxed(&seen), 0u);
}

/* All threads retire the same ids in the same order, so they meet at most of them. */
enum { BATCH = 512 };

static uint64_t batch[BATCH];
static rd_atomic32 winners[BATCH];
static pthread_barrier_t meet;

static void *retire_batches(void *argument)
{
    int is_first = !argument;
    uint64_t round, rounds = rd_test_scaled(2000);
    for (round = 0; round < rounds; round++) {
        size_t i;
        for (i = 0; is_first && i < BATCH; i++) {
            batch[i] = rd_id_new(RD_ID_EXEC, &batch[i]);
            rd_store_relaxed(&winners[i], 0);
        }
        pthread_barrier_wait(&meet);
        for (i = 0; i < BATCH; i++)
            if (rd_id_retire(batch[i], RD_ID_EXEC) == &batch[i])
                rd_add_relaxed(&winners[i], 1);
        pthread_barrier_wait(&meet);
        for (i = 0; is_first && i < BATCH; i++)
            if (rd_load_relaxed(&winners[i]) != 1)
                abort();
    }
    return NULL;
}

Test(id, retired_once, .timeout = 60)
{
    pthread_t thread[THREADS];
    uintptr_t i;
    cr_assert_eq(pthread_barrier_init(&meet, NULL, THREADS), 0);
    for (i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, retire_batches, (void *)i), 0);
    for (i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    pthread_barrier_destroy(&meet);
}
