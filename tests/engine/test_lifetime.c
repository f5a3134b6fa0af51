/* SPDX-License-Identifier: BSD-3-Clause */
/* Lives that cross: runtimes that hardly live, events that outlive their execs, seats that callers
 * leave, execs gated by each other's events, and the watchdog's words. */
#include "tests/engine/engine_check.h"
#include "tests/engine/random_program.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- runtimes that hardly live */

Test(engine_lifetime, a_runtime_closes_as_soon_as_it_is_open, .timeout = 300)
{
    uint64_t rounds = et_scaled(2000, 100);
    et_alarm(120, "a runtime does not close\n");
    for (uint64_t i = 0; i < rounds; i++) {
        rondo_runtime rt = et_runtime(1 + (uint32_t)(i % 3));
        ET_OK(rondo_runtime_close(rt));
        ET_IS(rondo_runtime_close(rt), RONDO_ERR_STALE);
    }
    et_alarm(0, " ");
}

/* ---- small execs */

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_exec small_exec(rondo_runtime rt, const struct et_mode *mode, rondo_task_fn *fn,
                             void *context, uint32_t nodes)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    rondo_task_desc d = { .fn = fn, .context = context, .flags = RONDO_NO_ACCESS };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (uint32_t i = 0; i < nodes; i++)
        ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

/* ---- events that outlive their execs */

enum { EVENTS = 256 };

struct watcher {
    _Atomic(uint64_t) written; /* events there are */
    rondo_event event[EVENTS];
    _Atomic(uint64_t) looks, wrong, stop;
};
static struct watcher watcher;

static void *watch_events(void *unused)
{
    struct rg_rng rng = { 99 };
    (void)unused;
    while (!atomic_load(&watcher.stop)) {
        uint64_t n = atomic_load(&watcher.written);
        rondo_result result;
        if (!n)
            continue;
        rondo_event e = watcher.event[rg_below(&rng, n)];
        if (rondo_event_wait(e, 0) != RONDO_OK) /* it was complete when it was written there */
            atomic_fetch_add(&watcher.wrong, 1);
        rondo_status status = rondo_event_result(e, &result);
        if (status != RONDO_OK && status != RONDO_ERR_STALE)
            atomic_fetch_add(&watcher.wrong, 1);
        if (rondo_event_wait(e, -1) != RONDO_OK)
            atomic_fetch_add(&watcher.wrong, 1);
        atomic_fetch_add(&watcher.looks, 1);
    }
    return NULL;
}

Test(engine_lifetime, events_are_safe_for_ever, .timeout = 300)
{
    rondo_runtime rt = et_runtime(2);
    pthread_t thread[2];
    rondo_result result;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, watch_events, NULL), 0);
    et_alarm(120, "events: stuck\n");
    for (uint64_t i = 0; i < EVENTS; i++) {
        rondo_exec exec = small_exec(rt, &et_modes[i % ET_MODES], nothing, NULL, 2);
        rondo_event event;
        ET_OK(rondo_replay(exec, NULL, NULL));
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 3 }, &event));
        ET_OK(rondo_event_wait(event, -1));
        ET_OK(rondo_event_result(event, &result));
        cr_assert(result.status == RONDO_OK && result.replay == 3 && result.replays_run == 4);
        watcher.event[i] = event;
        atomic_store(&watcher.written, i + 1);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_event_wait(event, 0));
    }
    ET_OK(rondo_runtime_drain(rt));
    uint64_t looks = atomic_load(&watcher.looks);
    cr_assert(et_await(&watcher.looks, looks + 1000));
    atomic_store(&watcher.stop, 1);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    ET_CLOSE(rt);
    cr_assert_eq(atomic_load(&watcher.wrong), 0);
    for (int i = 0; i < EVENTS; i++) {
        ET_OK(rondo_event_wait(watcher.event[i], 0));
        ET_IS(rondo_event_result(watcher.event[i], &result), RONDO_ERR_STALE);
    }
    et_alarm(0, " ");
}

/* ---- bindings, while other execs are freed */

struct churn {
    rondo_runtime rt;
    _Atomic(uint64_t) stop, lives;
};

static void *make_and_destroy(void *of)
{
    struct churn *c = of;
    while (!atomic_load(&c->stop)) {
        rondo_exec exec = small_exec(c->rt, &et_modes[1], nothing, NULL, 1);
        ET_OK(rondo_exec_destroy(exec));
        atomic_fetch_add(&c->lives, 1);
    }
    return NULL;
}

static int add_bound(rondo_task *self, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)rondo_task_write(self, 0);
    return 0;
}

/* The cleaner lets go of what frames hold and frees execs, while their slots are filled again. */
Test(engine_lifetime, bindings_while_execs_are_freed, .timeout = 300)
{
    uint64_t replays = et_scaled(40000, 2000), sum[2] = { 0, 0 };
    rondo_shape one = { 8, { 1 }, { 0 } };
    struct churn churn = { .rt = et_runtime(2) };
    pthread_t thread;
    rondo_subgraph g;
    rondo_buffer buffer[2];
    rondo_exec exec;
    ET_OK(rondo_subgraph_create(churn.rt, NULL, &g));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_create(churn.rt, &(rondo_buffer_desc){ "sum", one, &sum[i], 0, NULL },
                                  &buffer[i]));
    rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "sum", .shape = one });
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .fn = add_bound,
                               RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
    ET_OK(rondo_instantiate(g, &(rondo_instantiate_options){ .window = 2 }, &exec));
    cr_assert_eq(pthread_create(&thread, NULL, make_and_destroy, &churn), 0);
    et_alarm(120, "bindings: stuck\n");
    uint64_t done = 0;
    for (uint64_t i = 0; i < replays || atomic_load(&churn.lives) < 10; i++, done++) {
        rondo_binding bind = { slot, buffer[i % 2] };
        rondo_replay_args args = { .bindings = &bind, .binding_count = 1, .count = 1 + i % 3 };
        ET_OK(rondo_replay(exec, &args, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    atomic_store(&churn.stop, 1);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    et_alarm(0, " ");
    uint64_t expected = 0;
    for (uint64_t i = 0; i < done; i++)
        expected += 1 + i % 3;
    cr_assert_eq(sum[0] + sum[1], expected);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(buffer[0]));
    ET_OK(rondo_buffer_destroy(buffer[1]));
    ET_CLOSE(churn.rt);
}

/* ---- a worker takes over when the caller has left */

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

Test(engine_lifetime, a_worker_picks_up_what_a_caller_leaves, .timeout = 300)
{
    enum { ROUNDS = 40 };
    for (int k = 0; k < ET_MODES; k++) {
        int64_t taken[ROUNDS];
        rondo_runtime rt = et_runtime(2);
        rondo_exec exec = small_exec(rt, &et_modes[k], nothing, NULL, 3);
        for (int round = 0; round < ROUNDS; round++) {
            rondo_event event;
            for (int i = 0; i < 100; i++) /* the caller drives: the workers leave it alone */
                ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
            int64_t begin = et_now_ns();
            ET_OK(rondo_replay(exec, NULL, &event));
            while (rondo_event_wait(event, 0) != RONDO_OK) { /* a query runs nothing */
                cr_assert(et_now_ns() - begin < 60000000000, "%s: nobody took over",
                          et_modes[k].name);
                sched_yield();
            }
            taken[round] = et_now_ns() - begin;
        }
        qsort(taken, ROUNDS, sizeof *taken, by_time);
        printf("%s: taken over within %.1f us (median), %.1f us (worst)\n", et_modes[k].name,
               (double)taken[ROUNDS / 2] / 1e3, (double)taken[ROUNDS - 1] / 1e3);
        cr_assert(taken[ROUNDS / 2] < 100000000, "%s: %lld ns", et_modes[k].name,
                  (long long)taken[ROUNDS / 2]);
        ET_OK(rondo_exec_destroy(exec));
        ET_CLOSE(rt);
    }
}

/* ---- execs gated by each other's events */

struct relay {
    uint64_t ball; /* plain memory: only the events order who touches it */
    uint64_t wrong;
};

static int pass_even(rondo_task *self, const void *arg)
{
    struct relay *r = rondo_task_context(self);
    (void)arg;
    r->wrong += r->ball % 2 != 0;
    r->ball++;
    return 0;
}

static int pass_odd(rondo_task *self, const void *arg)
{
    struct relay *r = rondo_task_context(self);
    (void)arg;
    r->wrong += r->ball % 2 != 1;
    r->ball++;
    return 0;
}

static void run_relay(const struct et_mode *even, const struct et_mode *odd, uint64_t rounds)
{
    rondo_runtime rt = et_runtime(2), other = et_runtime(1);
    struct relay r = { 0, 0 };
    rondo_exec a = small_exec(rt, even, pass_even, &r, 1),
               b = small_exec(other, odd, pass_odd, &r, 1);
    rondo_event last = { 0, 0 };
    for (uint64_t i = 0; i < rounds; i++) {
        rondo_event after[2] = { { 0, 0 }, last };
        rondo_replay_args args = { .after = after, .after_count = 2 };
        ET_OK(rondo_replay(a, &args, &after[1]));
        ET_OK(rondo_replay(b, &args, &last));
    }
    ET_OK(rondo_event_wait(last, -1));
    cr_assert(r.wrong == 0 && r.ball == 2 * rounds, "%s and %s: %llu of %llu out of turn",
              even->name, odd->name, (unsigned long long)r.wrong, (unsigned long long)r.ball);
    ET_OK(rondo_exec_destroy(a));
    /* What has been destroyed is complete once it has been; who waits for it goes on. */
    ET_OK(rondo_replay(b, &(rondo_replay_args){ .after = &last, .after_count = 1 }, NULL));
    ET_OK(rondo_exec_destroy(b));
    ET_CLOSE(other);
    ET_CLOSE(rt);
}

Test(engine_lifetime, execs_are_gated_by_events, .timeout = 300)
{
    for (int k = 0; k < ET_MODES; k++)
        for (int j = 0; j < ET_MODES; j++) {
            et_alarm(120, "%s and %s: a gate does not open\n", et_modes[k].name, et_modes[j].name);
            run_relay(&et_modes[k], &et_modes[j], et_scaled(500, 50));
        }
    et_alarm(0, " ");
}

/* ---- the watchdog */

struct stall {
    _Atomic(uint64_t) open, reported;
    char text[512];
};
static struct stall stall;

static int stalled_task(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    while (!atomic_load(&stall.open))
        usleep(1000);
    return 0;
}

static void keep_message(void *context, int level, const char *message)
{
    struct stall *s = context;
    if (level <= RONDO_LOG_WARNING && strstr(message, "stalled") && !atomic_load(&s->reported)) {
        (void)snprintf(s->text, sizeof s->text, "%s", message);
        atomic_store(&s->reported, 1);
    }
}

/* In a process of its own, whose environment turns the watchdog on: a node waits for one that does
 * not end. Its status is 0 when the message names exec and node. */
static int stalled_process(void)
{
    char cpus[64];
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_exec exec;
    et_cpu_list(2, cpus, sizeof cpus);
    rondo_runtime_options o = { .cpus = cpus, .log = keep_message, .context = &stall };
    rondo_task_desc d = {
        .name = "slow one", .fn = stalled_task, .on = RONDO_CPU(0), .flags = RONDO_NO_ACCESS
    };
    if (rondo_runtime_open(&o, &rt) ||
        rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "stalled exec" }, &g))
        return 2;
    rondo_node slow = rondo_record_task(g, &d);
    d = (rondo_task_desc){ .name = "waiting one",
                           .fn = nothing,
                           .on = RONDO_CPU(1),
                           .after = &slow,
                           .after_count = 1,
                           .flags = RONDO_NO_ACCESS };
    (void)rondo_record_task(g, &d);
    rondo_instantiate_options compiled = { .mode = RONDO_COMPILED };
    if (rondo_instantiate(g, &compiled, &exec) || rondo_replay(exec, NULL, NULL))
        return 3;
    int64_t end = et_now_ns() + 30000000000;
    while (!atomic_load(&stall.reported) && et_now_ns() < end)
        usleep(10000);
    atomic_store(&stall.open, 1);
    if (rondo_exec_wait(exec, NULL) || rondo_runtime_close(rt))
        return 4;
    if (!atomic_load(&stall.reported))
        return 5;
    if (!strstr(stall.text, "stalled exec") || !strstr(stall.text, "waiting one") ||
        !strstr(stall.text, "counter")) {
        fprintf(stderr, "the watchdog says: %s\n", stall.text);
        return 6;
    }
    return 0;
}

__attribute__((constructor)) static void child_of_watchdog_test(void)
{
    if (getenv("RONDO_TEST_STALL_CHILD"))
        _exit(stalled_process());
}

Test(engine_lifetime, the_watchdog_names_exec_node_and_counter, .timeout = 120)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        setenv("RONDO_TEST_STALL_CHILD", "1", 1);
        setenv("RONDO_STALL_S", "1", 1);
        execl("/proc/self/exe", "rondo-test-child", (char *)NULL);
        _exit(99);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %d", status);
}
