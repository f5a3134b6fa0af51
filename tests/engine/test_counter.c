/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: raised from several threads and from tasks, waited for as events and as gates of
 * replays; they only grow, and their memory goes with the last that names them. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 20000, PAIRS = 200 };

static rondo_runtime rt;
static rondo_counter counter;

static void begin(uint64_t initial)
{
    rt = et_runtime(2);
    ET_OK(rondo_counter_create(rt, initial, &counter));
}

static void end(void)
{
    ET_OK(rondo_counter_destroy(counter));
    ET_IS(rondo_counter_destroy(counter), RONDO_ERR_STALE);
    ET_CLOSE(rt);
}

static uint64_t value_of(rondo_counter c)
{
    uint64_t value = 0;
    ET_OK(rondo_counter_value(c, &value));
    return value;
}

Test(counter, adds_and_raises, .timeout = 60)
{
    rondo_event event;
    rondo_result result;
    uint64_t value;
    begin(5);
    cr_assert_eq(value_of(counter), 5);
    ET_OK(rondo_counter_add(counter, 3));
    ET_OK(rondo_counter_raise(counter, 7)); /* less: nothing */
    cr_assert_eq(value_of(counter), 8);
    ET_OK(rondo_counter_raise(counter, UINT64_MAX - 1));
    ET_IS(rondo_counter_add(counter, 2), RONDO_ERR_INVALID);
    ET_SAYS("its value 18446744073709551614 and 2 more exceed 64 bits");
    cr_assert_eq(value_of(counter), UINT64_MAX - 1);
    ET_OK(rondo_counter_add(counter, 1));
    ET_OK(rondo_counter_add(counter, 0));
    ET_OK(rondo_counter_event(counter, UINT64_MAX, &event));
    ET_OK(rondo_event_wait(event, 0));
    ET_IS(rondo_event_result(event, &result), RONDO_ERR_INVALID);
    ET_SAYS("is a counter's, of no replay");
    ET_IS(rondo_counter_value(counter, NULL), RONDO_ERR_INVALID);
    ET_IS(rondo_counter_event(counter, 1, NULL), RONDO_ERR_INVALID);
    ET_IS(rondo_counter_create(rt, 0, NULL), RONDO_ERR_INVALID);
    ET_IS(rondo_counter_value((rondo_counter){ 0 }, &value), RONDO_ERR_INVALID);
    ET_SAYS("counter: the handle is {0}");
    ET_IS(rondo_counter_raise((rondo_counter){ rt.id }, 1), RONDO_ERR_INVALID);
    ET_SAYS("is runtime's");
    end();
    ET_IS(rondo_counter_add(counter, 1), RONDO_ERR_STALE);
    ET_IS(rondo_counter_value(counter, &value), RONDO_ERR_STALE);
    ET_OK(rondo_event_wait(event, -1)); /* for ever */
    ET_IS(rondo_event_result(event, &result), RONDO_ERR_STALE);
}

static void *add_many(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < et_scaled(ROUNDS, 100); i++)
        ET_OK(rondo_counter_add(counter, 1));
    return NULL;
}

/* Of racing additions none is lost, and a waiter for each value is woken. */
Test(counter, from_many_threads, .timeout = 120)
{
    pthread_t thread[THREADS];
    uint64_t all = THREADS * et_scaled(ROUNDS, 100), last = 0, now;
    begin(0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, add_many, NULL), 0);
    while ((now = value_of(counter)) < all) {
        rondo_event event;
        cr_assert_geq(now, last, "it shrank");
        last = now;
        ET_OK(rondo_counter_event(counter, now + 1, &event));
        ET_OK(rondo_event_wait(event, 10000000000));
        cr_assert_gt(value_of(counter), now);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    cr_assert_eq(value_of(counter), all);
    end();
}

static rondo_counter ping, pong;

static void *answer(void *arg)
{
    uint64_t pairs = et_scaled(PAIRS, 20);
    (void)arg;
    for (uint64_t i = 1; i <= pairs; i++) {
        rondo_event event;
        ET_OK(rondo_counter_event(ping, i, &event));
        ET_OK(rondo_event_wait(event, -1));
        ET_OK(rondo_counter_raise(pong, i));
    }
    return NULL;
}

/* Two threads that wait for each other's raises, asleep in between: a lost wake-up would show. */
Test(counter, back_and_forth, .timeout = 120)
{
    uint64_t pairs = et_scaled(PAIRS, 20);
    pthread_t thread;
    begin(0);
    ET_OK(rondo_counter_create(rt, 0, &ping));
    ET_OK(rondo_counter_create(rt, 0, &pong));
    cr_assert_eq(pthread_create(&thread, NULL, answer, NULL), 0);
    for (uint64_t i = 1; i <= pairs; i++) {
        rondo_event event;
        ET_OK(rondo_counter_raise(ping, i));
        ET_OK(rondo_counter_event(pong, i, &event));
        ET_OK(rondo_event_wait(event, -1));
    }
    pthread_join(thread, NULL);
    ET_OK(rondo_counter_destroy(ping));
    ET_OK(rondo_counter_destroy(pong));
    end();
}

static int raise_it(rondo_task *self, const void *arg)
{
    const rondo_counter *c = arg;
    return rondo_counter_add(*c, 1) ? rondo_task_fail(self, rondo_error_message()) : 0;
}

/* Tasks raise a counter that gates the replays of another exec. */
Test(counter, from_tasks_gating_replays, .timeout = 120)
{
    for (int m = 0; m < ET_MODES; m++) {
        rondo_instantiate_options o = { .mode = et_modes[m].mode,
                                        .order = et_modes[m].order,
                                        .schedule = et_modes[m].schedule };
        rondo_subgraph g;
        rondo_exec exec[2];
        rondo_counter second;
        rondo_event event, last;
        begin(0);
        ET_OK(rondo_counter_create(rt, 0, &second));
        for (int i = 0; i < 2; i++) {
            rondo_counter c = i ? second : counter;
            ET_OK(rondo_subgraph_create(rt, NULL, &g));
            ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .fn = raise_it, RONDO_ARG(c) }));
            ET_OK(rondo_instantiate(g, &o, &exec[i]));
            ET_OK(rondo_subgraph_destroy(g));
        }
        ET_OK(rondo_counter_event(counter, 3, &event));
        rondo_replay_args args = { .after = &event, .after_count = 1 };
        ET_OK(rondo_replay(exec[1], &args, &last));
        for (int i = 0; i < 2; i++)
            ET_OK(rondo_replay_and_wait(exec[0], NULL, -1, NULL));
        ET_IS(rondo_event_wait(last, 1000000), RONDO_ERR_AGAIN);
        cr_assert_eq(value_of(second), 0);
        ET_OK(rondo_replay(exec[0], NULL, NULL));
        ET_OK(rondo_event_wait(last, -1));
        cr_assert_eq(value_of(second), 1);
        for (int i = 0; i < 2; i++)
            ET_OK(rondo_exec_destroy(exec[i]));
        ET_OK(rondo_counter_destroy(second));
        end();
    }
}

/* A destroyed counter's events are complete, and its record may be another's by then. */
Test(counter, events_outlive_it, .timeout = 60)
{
    rondo_event event;
    rondo_counter next;
    begin(0);
    ET_OK(rondo_counter_event(counter, 1000, &event));
    ET_IS(rondo_event_wait(event, 0), RONDO_ERR_AGAIN);
    ET_OK(rondo_counter_destroy(counter));
    ET_OK(rondo_event_wait(event, 0));
    for (int i = 0; i < 10; i++) {
        ET_OK(rondo_counter_create(rt, 7, &next));
        ET_OK(rondo_event_wait(event, 0));
        cr_assert_eq(value_of(next), 7);
        ET_OK(rondo_counter_destroy(next));
    }
    ET_OK(rondo_counter_create(rt, 0, &counter));
    end();
    /* Left to the runtime's close. */
    begin(0);
    ET_OK(rondo_runtime_close(rt));
    ET_IS(rondo_counter_raise(counter, 1), RONDO_ERR_STALE);
}
