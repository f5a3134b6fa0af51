/* SPDX-License-Identifier: BSD-3-Clause */
/* Several of the caller's threads at once: on one exec, on several of one subgraph, on several
 * runtimes; and a caller that waits while it holds a lock that another exec's task wants. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4 };

/* The sum is plain memory: only Rondo orders those who add to it. */
static int add_one(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    uint64_t by = *(const uint64_t *)rondo_task_param(self, 0);
    (void)arg;
    sum[0] += by;
    sum[1]++;
    return 0;
}

static int square_one(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    (void)arg;
    sum[2] = sum[0] * sum[0];
    return 0;
}

struct shared {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_slot slot;
    rondo_param by;
};

/* `buffer` {0}: bound per replay. */
static struct shared shared_open(uint32_t workers, rondo_buffer_desc *desc, rondo_buffer *buffer)
{
    struct shared s = { .rt = et_runtime(workers) };
    rondo_slot_desc d = { .name = "sum", .shape = { 8, { 3 }, { 0 } } };
    ET_OK(rondo_subgraph_create(s.rt, NULL, &s.g));
    if (desc) {
        ET_OK(rondo_buffer_create(s.rt, desc, buffer));
        d.buffer = *buffer;
    }
    s.slot = rondo_subgraph_slot(s.g, &d);
    s.by = rondo_subgraph_param(s.g, "by", 8, NULL);
    rondo_access access = rondo_read_write(s.slot, rondo_whole());
    rondo_task_desc t = {
        .fn = add_one, .accesses = &access, .access_count = 1, .params = &s.by, .param_count = 1
    };
    ET_HANDLE(rondo_record_task(s.g, &t));
    t.fn = square_one;
    t.param_count = 0;
    ET_HANDLE(rondo_record_task(s.g, &t));
    return s;
}

struct client {
    rondo_exec exec;
    struct shared *s;
    rondo_buffer bound; /* {0}: the slot is fixed */
    uint64_t me, replays;
    rondo_status wrong;
};

static void *replay_many(void *of)
{
    struct client *c = of;
    rondo_binding bind = { c->s->slot, c->bound };
    for (uint64_t i = 0; i < c->replays && !c->wrong; i++) {
        uint64_t by[3] = { i + c->me, i + 1 + c->me, i + 2 + c->me };
        rondo_value value = { c->s->by, by, 8 };
        rondo_replay_args args = {
            .values = &value, .value_count = 1, .bindings = &bind, .binding_count = c->bound.id != 0
        };
        if (i % 5 == 0 && i + 3 <= c->replays) {
            args.count = 3;
            i += 2;
        }
        if (c->bound.id || i % 2)
            c->wrong = rondo_replay_and_wait(c->exec, &args, -1, NULL);
        else
            c->wrong = rondo_replay(c->exec, &args, NULL);
    }
    return NULL;
}

static uint64_t sum_of(uint64_t me, uint64_t replays)
{
    return replays * (replays - 1) / 2 + me * replays;
}

static void run_clients(struct client clients[THREADS])
{
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, replay_many, &clients[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        cr_assert_eq(pthread_join(thread[t], NULL), 0);
        cr_assert_eq(clients[t].wrong, RONDO_OK, "thread %d: %s", t,
                     rondo_status_string(clients[t].wrong));
    }
}

Test(engine_threads, four_threads_replay_one_exec, .timeout = 300)
{
    uint64_t replays = et_scaled(3000, 200);
    for (int k = 0; k < ET_MODES; k++) {
        uint64_t sum[3] = { 0 }, expected = 0;
        rondo_buffer_desc desc = { "sum", { 8, { 3 }, { 0 } }, sum, 0, NULL };
        rondo_buffer buffer;
        struct shared s = shared_open(2, &desc, &buffer);
        struct client clients[THREADS];
        rondo_instantiate_options o = { .mode = et_modes[k].mode,
                                        .order = et_modes[k].order,
                                        .schedule = et_modes[k].schedule };
        rondo_exec exec;
        rondo_result result;
        ET_OK(rondo_instantiate(s.g, &o, &exec));
        for (uint64_t t = 0; t < THREADS; t++) {
            clients[t] = (struct client){ exec, &s, { 0 }, t, replays, RONDO_OK };
            expected += sum_of(t, replays);
        }
        run_clients(clients);
        ET_OK(rondo_exec_wait(exec, &result));
        cr_assert(sum[0] == expected && sum[1] == THREADS * replays && sum[2] == sum[0] * sum[0],
                  "%s: sum %llu of %llu, %llu replays", et_modes[k].name,
                  (unsigned long long)sum[0], (unsigned long long)expected,
                  (unsigned long long)sum[1]);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(s.g));
        ET_OK(rondo_buffer_destroy(buffer));
        ET_CLOSE(s.rt);
    }
}

/* Execs of one subgraph, each thread with its own exec and buffer. */
static void execs_of_one_subgraph(const struct et_mode *mode, uint64_t replays)
{
    uint64_t sum[THREADS][3] = { { 0 } };
    struct shared s = shared_open(3, NULL, NULL);
    struct client clients[THREADS];
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    for (uint64_t t = 0; t < THREADS; t++) {
        rondo_buffer_desc desc = { "sum", { 8, { 3 }, { 0 } }, sum[t], 0, NULL };
        clients[t] = (struct client){ .s = &s, .me = t, .replays = replays };
        ET_OK(rondo_buffer_create(s.rt, &desc, &clients[t].bound));
        ET_OK(rondo_instantiate(s.g, &o, &clients[t].exec));
    }
    ET_OK(rondo_subgraph_destroy(s.g));
    run_clients(clients);
    for (uint64_t t = 0; t < THREADS; t++) {
        uint64_t expected = sum_of(t, replays);
        cr_assert(sum[t][0] == expected && sum[t][1] == replays && sum[t][2] == expected * expected,
                  "%s, thread %llu: sum %llu of %llu, %llu replays", mode->name,
                  (unsigned long long)t, (unsigned long long)sum[t][0],
                  (unsigned long long)expected, (unsigned long long)sum[t][1]);
        ET_OK(rondo_exec_destroy(clients[t].exec));
        ET_OK(rondo_buffer_destroy(clients[t].bound));
    }
    ET_CLOSE(s.rt);
}

Test(engine_threads, four_execs_of_one_subgraph, .timeout = 300)
{
    for (int k = 0; k < ET_MODES; k++)
        execs_of_one_subgraph(&et_modes[k], et_scaled(2000, 200));
}

struct apart {
    rondo_runtime rt;
    const struct et_mode *mode;
    uint64_t replays, sum[3];
    rondo_status wrong;
};

/* A thread with a runtime of its own. */
static void *live_apart(void *of)
{
    struct apart *a = of;
    rondo_buffer_desc desc = { "sum", { 8, { 3 }, { 0 } }, a->sum, 0, NULL };
    rondo_buffer buffer;
    struct shared s = shared_open(2, &desc, &buffer);
    struct client c = { .s = &s, .replays = a->replays };
    rondo_instantiate_options o = { .mode = a->mode->mode,
                                    .order = a->mode->order,
                                    .schedule = a->mode->schedule };
    a->wrong = rondo_instantiate(s.g, &o, &c.exec);
    (void)replay_many(&c);
    a->wrong = a->wrong ? a->wrong : c.wrong;
    a->wrong = a->wrong ? a->wrong : rondo_exec_wait(c.exec, NULL);
    (void)rondo_exec_destroy(c.exec);
    (void)rondo_subgraph_destroy(s.g);
    (void)rondo_buffer_destroy(buffer);
    if (et_close_clean(s.rt) && !a->wrong)
        a->wrong = RONDO_ERR_SYSTEM;
    return NULL;
}

Test(engine_threads, four_runtimes_at_once, .timeout = 300)
{
    for (int k = 0; k < ET_MODES; k++) {
        struct apart a[THREADS];
        pthread_t thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            a[t] = (struct apart){ .mode = &et_modes[k], .replays = et_scaled(1000, 100) };
            cr_assert_eq(pthread_create(&thread[t], NULL, live_apart, &a[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            cr_assert_eq(pthread_join(thread[t], NULL), 0);
            cr_assert(a[t].wrong == RONDO_OK && a[t].sum[0] == sum_of(0, a[t].replays) &&
                          a[t].sum[1] == a[t].replays,
                      "%s, runtime %d: %s, %llu replays", et_modes[k].name, t,
                      rondo_status_string(a[t].wrong), (unsigned long long)a[t].sum[1]);
        }
    }
}

/* On one concurrent exec, each thread with its own buffer and one replay in flight at a time. */
struct own {
    struct shared *s;
    rondo_exec exec;
    rondo_buffer buffer;
    uint64_t replays;
    rondo_status wrong;
};

static void *replay_own(void *of)
{
    struct own *w = of;
    rondo_binding bind = { w->s->slot, w->buffer };
    for (uint64_t i = 0; i < w->replays && !w->wrong; i++) {
        rondo_value value = { w->s->by, &i, 0 };
        rondo_replay_args args = {
            .values = &value, .value_count = 1, .bindings = &bind, .binding_count = 1
        };
        w->wrong = rondo_replay_and_wait(w->exec, &args, -1, NULL);
    }
    return NULL;
}

Test(engine_threads, a_concurrent_exec_serves_four_threads, .timeout = 300)
{
    static const uint32_t modes[] = { RONDO_COMPILED, RONDO_INTERPRETED };
    for (int k = 0; k < 2; k++) {
        uint64_t sum[THREADS][3] = { { 0 } }, replays = et_scaled(2000, 200);
        struct shared s = shared_open(3, NULL, NULL);
        struct own own[THREADS];
        pthread_t thread[THREADS];
        rondo_exec exec;
        rondo_instantiate_options o = { .mode = modes[k], .order = RONDO_CONCURRENT, .window = 2 };
        ET_OK(rondo_instantiate(s.g, &o, &exec));
        for (int t = 0; t < THREADS; t++) {
            rondo_buffer_desc desc = { "sum", { 8, { 3 }, { 0 } }, sum[t], 0, NULL };
            own[t] = (struct own){ .s = &s, .exec = exec, .replays = replays };
            ET_OK(rondo_buffer_create(s.rt, &desc, &own[t].buffer));
        }
        for (int t = 0; t < THREADS; t++)
            cr_assert_eq(pthread_create(&thread[t], NULL, replay_own, &own[t]), 0);
        for (int t = 0; t < THREADS; t++) {
            cr_assert_eq(pthread_join(thread[t], NULL), 0);
            cr_assert(own[t].wrong == RONDO_OK && sum[t][0] == sum_of(0, replays) &&
                          sum[t][1] == replays && sum[t][2] == sum[t][0] * sum[t][0],
                      "mode %d, thread %d: %s, %llu replays", k, t,
                      rondo_status_string(own[t].wrong), (unsigned long long)sum[t][1]);
            ET_OK(rondo_buffer_destroy(own[t].buffer));
        }
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(s.g));
        ET_CLOSE(s.rt);
    }
}

/* ---- a caller that holds a lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(uint64_t) locked_wrong, locked_ran;

static int want_lock(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    if (pthread_mutex_lock(&lock) != 0) { /* by the thread that holds it: EDEADLK */
        atomic_fetch_add(&locked_wrong, 1);
        return 0;
    }
    atomic_fetch_add(&locked_ran, 1);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int trivial(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_exec one_task(rondo_runtime rt, rondo_task_fn *fn, const struct et_mode *mode)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = 2
    };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (int i = 0; i < 3; i++)
        ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .fn = fn, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

/* The worker hangs in the one exec's task: what the caller waits for it must do itself, and it may
 * not begin with the other. */
Test(engine_threads, a_waiting_caller_runs_no_other_execs_tasks)
{
    pthread_mutexattr_t checked;
    pthread_mutexattr_init(&checked);
    pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &checked);
    for (int k = 0; k < ET_MODES; k++) {
        rondo_runtime rt = et_runtime(1);
        rondo_exec wants = one_task(rt, want_lock, &et_modes[k]),
                   other = one_task(rt, trivial, &et_modes[k]);
        uint64_t before = atomic_load(&locked_ran), rounds = et_scaled(200, 20);
        et_alarm(60, "a caller that holds a lock hangs: %s\n", et_modes[k].name);
        for (uint64_t i = 0; i < rounds; i++) {
            rondo_event event;
            pthread_mutex_lock(&lock);
            ET_OK(rondo_replay(wants, NULL, &event));
            if (et_modes[k].mode == RONDO_COMPILED) { /* all of it on cpu 0: the caller's to run */
                ET_OK(rondo_replay_and_wait(other, NULL, -1, NULL));
                ET_OK(rondo_replay(other, NULL, NULL));
                ET_OK(rondo_exec_wait(other, NULL));
            }
            pthread_mutex_unlock(&lock);
            ET_OK(rondo_event_wait(event, -1));
            ET_OK(rondo_exec_wait(other, NULL));
        }
        et_alarm(0, " ");
        cr_assert_eq(atomic_load(&locked_wrong), 0, "%s: a caller ran what it holds the lock of",
                     et_modes[k].name);
        cr_assert_eq(atomic_load(&locked_ran) - before, 3 * rounds);
        ET_OK(rondo_exec_destroy(wants));
        ET_OK(rondo_exec_destroy(other));
        ET_CLOSE(rt);
    }
}
