/* SPDX-License-Identifier: BSD-3-Clause */
/* What lives how long: destroying while a task spins, contexts and their release, thousands of
 * short lives, a process that ends with replays in flight, and what a task may not do. */
#include "tests/engine/engine_check.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct gate {
    _Atomic(uint64_t) begun, open, ended;
};

static int pass_gate(rondo_task *self, const void *arg)
{
    struct gate *g = *(struct gate *const *)arg;
    (void)self;
    atomic_fetch_add(&g->begun, 1);
    while (!atomic_load(&g->open))
        sched_yield();
    atomic_fetch_add(&g->ended, 1);
    return 0;
}

static rondo_exec gated_exec(rondo_runtime rt, struct gate *gate, rondo_processor on,
                             const struct et_mode *mode, uint32_t window)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_task_desc d = {
        .name = "gate", .fn = pass_gate, RONDO_ARG(gate), .on = on, .flags = RONDO_NO_ACCESS
    };
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = window
    };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

/* ---- destroying while a task runs */

Test(engine_lives, destroy_returns_at_once_and_frees_once)
{
    for (int k = 0; k < ET_MODES; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            rondo_runtime rt = et_runtime(workers);
            struct gate gate = { 0 }, *arg = &gate;
            rondo_subgraph g;
            rondo_buffer buffer;
            rondo_exec exec;
            rondo_event event;
            rondo_buffer_desc bd = { .shape = { 8, { 16 }, { 0 } } };
            rondo_instantiate_options o = { .mode = et_modes[k].mode,
                                            .order = et_modes[k].order,
                                            .schedule = et_modes[k].schedule };
            ET_OK(rondo_subgraph_create(rt, NULL, &g));
            ET_OK(rondo_buffer_create(rt, &bd, &buffer));
            rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer });
            rondo_task_desc d = { .fn = pass_gate,
                                  RONDO_ARG(arg),
                                  RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) };
            ET_HANDLE(rondo_record_task(g, &d));
            ET_OK(rondo_instantiate(g, &o, &exec));
            ET_OK(rondo_replay(exec, NULL, &event));
            cr_assert(et_await(&gate.begun, 1));
            ET_OK(rondo_exec_destroy(exec));
            ET_OK(rondo_subgraph_destroy(g));
            ET_OK(rondo_buffer_destroy(buffer));
            ET_IS(rondo_replay(exec, NULL, NULL), RONDO_ERR_STALE);
            ET_IS(rondo_event_wait(event, 0), RONDO_ERR_AGAIN);
            atomic_store(&gate.open, 1);
            ET_OK(rondo_runtime_drain(rt));
            cr_assert_eq(atomic_load(&gate.ended), 1);
            ET_OK(rondo_event_wait(event, 0));
            ET_CLOSE(rt);
            ET_OK(rondo_event_wait(event, 0));
        }
}

/* ---- a context with a destructor */

struct resource {
    _Atomic(uint64_t) calls, released, calls_at_release;
    struct gate gate;
};

static int use_resource(rondo_task *self, const void *arg)
{
    struct resource *r = rondo_task_context(self);
    (void)arg;
    atomic_fetch_add(&r->gate.begun, 1);
    while (!atomic_load(&r->gate.open))
        sched_yield();
    atomic_fetch_add(&r->calls, 1);
    return 0;
}

static void release_resource(void *context)
{
    struct resource *r = context;
    atomic_store(&r->calls_at_release, atomic_load(&r->calls));
    atomic_fetch_add(&r->released, 1);
}

/* `order`: which of exec and subgraph goes first, and whether replays are still in flight. */
static void context_case(const struct et_mode *mode, int order)
{
    rondo_runtime rt = et_runtime(2);
    struct resource r = { .gate.open = order < 2 };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_task_desc d = {
        .fn = use_resource, .context = &r, .release = release_resource, .flags = RONDO_NO_ACCESS
    };
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = 8
    };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_instantiate(g, &o, &exec));
    if (order % 2)
        ET_OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 5; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    if (order < 2)
        ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&r.released), 0);
    ET_OK(rondo_exec_destroy(exec));
    if (order % 2 == 0)
        ET_OK(rondo_subgraph_destroy(g));
    if (order >= 2) {
        cr_assert_eq(atomic_load(&r.released), 0, "%s: released under a task", mode->name);
        atomic_store(&r.gate.open, 1);
    }
    ET_OK(rondo_runtime_drain(rt));
    cr_assert_eq(atomic_load(&r.calls), 5);
    cr_assert_eq(atomic_load(&r.released), 1, "%s: released %llu times", mode->name,
                 (unsigned long long)atomic_load(&r.released));
    cr_assert_eq(atomic_load(&r.calls_at_release), 5);
    ET_CLOSE(rt);
}

Test(engine_lives, contexts_are_released_once_after_the_last_replay)
{
    for (int k = 0; k < ET_MODES; k++)
        for (int order = 0; order < 4; order++)
            context_case(&et_modes[k], order);
}

/* ---- short lives, and one long one */

static int count_up(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    (void)arg;
    *sum += *(const uint64_t *)rondo_task_param(self, 0);
    return 0;
}

struct counter {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_buffer buffer;
    rondo_param step;
    uint64_t sum;
};

static void counter_open(struct counter *c, uint32_t workers)
{
    c->rt = et_runtime(workers);
    c->sum = 0;
    rondo_buffer_desc bd = { .name = "sum", .shape = { 8, { 1 }, { 0 } }, .host = &c->sum };
    ET_OK(rondo_subgraph_create(c->rt, NULL, &c->g));
    ET_OK(rondo_buffer_create(c->rt, &bd, &c->buffer));
    rondo_slot slot = rondo_subgraph_slot(c->g, &(rondo_slot_desc){ .buffer = c->buffer });
    c->step = rondo_subgraph_param(c->g, "step", sizeof(uint64_t), NULL);
    for (int i = 0; i < 3; i++)
        ET_HANDLE(rondo_record_task(
            c->g, &(rondo_task_desc){ .fn = count_up,
                                      RONDO_PARAMS(c->step),
                                      RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
}

static void counter_close(struct counter *c)
{
    ET_OK(rondo_subgraph_destroy(c->g));
    ET_OK(rondo_buffer_destroy(c->buffer));
    ET_CLOSE(c->rt);
}

static uint64_t live_bytes(rondo_runtime rt)
{
    rondo_runtime_statistics s;
    ET_OK(rondo_runtime_drain(rt));
    ET_OK(rondo_runtime_trim(rt));
    ET_OK(rondo_runtime_stats(rt, &s));
    cr_assert(s.execs == 0 && s.frames == 0 && s.held == 0, "%llu execs, %llu frames, %llu held",
              (unsigned long long)s.execs, (unsigned long long)s.frames,
              (unsigned long long)s.held);
    return s.bytes;
}

Test(engine_lives, ten_thousand_execs_leave_nothing, .timeout = 600)
{
    uint64_t lives = et_scaled(10000, 400), begun = 0, resident = 0, bytes = 0;
    struct counter c;
    counter_open(&c, 2);
    for (uint64_t i = 0; i < lives; i++) {
        const struct et_mode *mode = &et_modes[i % ET_MODES];
        rondo_instantiate_options o = { .mode = mode->mode,
                                        .order = mode->order,
                                        .schedule = mode->schedule };
        rondo_value value = { c.step, &i, 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1, .count = 1 + i % 3 };
        rondo_exec exec;
        ET_OK(rondo_instantiate(c.g, &o, &exec));
        if (i % 4 < 2)
            ET_OK(rondo_replay(exec, &args, NULL));
        else
            ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        ET_OK(rondo_exec_destroy(exec));
        if (i % 4 < 2)
            ET_OK(rondo_runtime_drain(c.rt)); /* execs of one buffer are not ordered */
        begun += 3 * i * args.count;
        if (i == lives / 4) {
            bytes = live_bytes(c.rt);
            resident = et_resident_bytes();
        }
    }
    cr_assert_eq(live_bytes(c.rt), bytes, "bytes from %llu to %llu", (unsigned long long)bytes,
                 (unsigned long long)live_bytes(c.rt));
    uint64_t now = et_resident_bytes();
    cr_assert(SANITIZED || now < resident + (2u << 20), "resident from %llu to %llu",
              (unsigned long long)resident, (unsigned long long)now);
    cr_assert_eq(c.sum, begun, "%llu instead of %llu", (unsigned long long)c.sum,
                 (unsigned long long)begun);
    counter_close(&c);
}

static void long_life(const struct et_mode *mode, uint64_t replays, uint32_t workers)
{
    struct counter c;
    rondo_exec exec;
    rondo_runtime_statistics warm, after;
    uint64_t expected = 0, resident = 0;
    counter_open(&c, workers);
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_instantiate(c.g, &o, &exec));
    for (uint64_t i = 0; i < replays; i++) {
        rondo_value value = { c.step, &i, 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1 };
        if (i == replays / 10) {
            ET_OK(rondo_exec_wait(exec, NULL));
            ET_OK(rondo_runtime_stats(c.rt, &warm));
            resident = et_resident_bytes();
        }
        ET_OK(rondo_replay(exec, &args, NULL));
        expected += 3 * i;
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_runtime_stats(c.rt, &after));
    cr_assert_eq(c.sum, expected, "%s: %llu", mode->name, (unsigned long long)c.sum);
    cr_assert_eq(warm.allocations, after.allocations, "%s: %llu allocations in %llu replays",
                 mode->name, (unsigned long long)(after.allocations - warm.allocations),
                 (unsigned long long)replays);
    cr_assert(SANITIZED || et_resident_bytes() < resident + (1u << 20), "%s: resident grew",
              mode->name);
    ET_OK(rondo_exec_destroy(exec));
    counter_close(&c);
}

Test(engine_lives, a_million_replays_allocate_nothing, .timeout = 600)
{
    uint64_t share = et_scaled(1000000, 20000) / 10;
    long_life(&et_modes[0], share, 2);
    long_life(&et_modes[1], 4 * share, 1);
    long_life(&et_modes[2], 4 * share, 2);
    long_life(&et_modes[3], share, 1);
}

/* ---- what a task may not do, and handles of what is gone */

struct forbidden {
    rondo_runtime rt;
    rondo_exec full; /* its window is full */
    rondo_exec own;  /* that of the task */
    rondo_event pending;
    _Atomic(uint64_t) ready;
    rondo_status wait, query, replay, own_replay, wait_exec, both, drain, close;
};

static int forbidden_task(rondo_task *self, const void *arg)
{
    struct forbidden *f = *(struct forbidden *const *)arg;
    (void)self;
    while (!atomic_load(&f->ready))
        sched_yield();
    f->wait = rondo_event_wait(f->pending, -1);
    f->query = rondo_event_wait(f->pending, 0);
    f->replay = rondo_replay(f->full, NULL, NULL);
    f->own_replay = rondo_replay(f->own, NULL, NULL);
    f->wait_exec = rondo_exec_wait(f->full, NULL);
    f->both = rondo_replay_and_wait(f->full, NULL, -1, NULL);
    f->drain = rondo_runtime_drain(f->rt);
    f->close = rondo_runtime_close(f->rt);
    return 0;
}

static void forbidden_case(const struct et_mode *mode)
{
    rondo_runtime rt = et_runtime(2);
    struct gate gate = { 0 };
    struct forbidden f = { .rt = rt }, *arg = &f;
    rondo_subgraph g;
    rondo_event done;
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = 1
    };
    rondo_task_desc d = {
        .fn = forbidden_task, RONDO_ARG(arg), .on = RONDO_CPU(0), .flags = RONDO_NO_ACCESS
    };
    f.full = gated_exec(rt, &gate, RONDO_CPU(1), mode, 1);
    ET_OK(rondo_replay(f.full, NULL, &f.pending));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_instantiate(g, &o, &f.own));
    ET_OK(rondo_replay(f.own, NULL, &done));
    atomic_store(&f.ready, 1);
    ET_OK(rondo_event_wait(done, -1));
    ET_IS(f.wait, RONDO_ERR_WOULD_BLOCK);
    cr_assert(f.query == RONDO_ERR_WOULD_BLOCK || f.query == RONDO_ERR_AGAIN, "%d", f.query);
    ET_IS(f.replay, RONDO_ERR_AGAIN);
    ET_IS(f.own_replay, RONDO_ERR_AGAIN);
    ET_IS(f.wait_exec, RONDO_ERR_WOULD_BLOCK);
    cr_assert(f.both == RONDO_ERR_WOULD_BLOCK || f.both == RONDO_ERR_AGAIN, "%d", f.both);
    ET_IS(f.drain, RONDO_ERR_WOULD_BLOCK);
    ET_IS(f.close, RONDO_ERR_WOULD_BLOCK);
    atomic_store(&gate.open, 1);
    ET_OK(rondo_exec_wait(f.full, NULL));
    cr_assert_eq(atomic_load(&gate.ended), 1, "%s: refused replays ran", mode->name);
    ET_OK(rondo_exec_destroy(f.full));
    ET_OK(rondo_exec_destroy(f.own));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(engine_lives, a_task_may_not_block)
{
    for (int k = 0; k < ET_MODES; k++)
        forbidden_case(&et_modes[k]);
}

Test(engine_lives, half_recordings_leave_nothing)
{
    rondo_runtime rt = et_runtime(1);
    struct gate gate = { .open = 1 }, *arg = &gate;
    rondo_subgraph g, other;
    rondo_task_desc d = { .fn = pass_gate, RONDO_ARG(arg), .flags = RONDO_NO_ACCESS };
    for (int i = 0; i < 20; i++) {
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        rondo_buffer buffer;
        ET_OK(
            rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 4 }, { 0 } } }, &buffer));
        rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer });
        ET_HANDLE(slot);
        ET_HANDLE(rondo_record_task(g, &d));
        if (i % 2) { /* with an error that sticks */
            rondo_access access = rondo_write(slot, rondo_span(0, 5));
            rondo_task_desc bad = { .fn = pass_gate, .accesses = &access, .access_count = 1 };
            cr_assert_eq(rondo_record_task(g, &bad).id, 0);
            ET_IS(rondo_subgraph_status(g), RONDO_ERR_INVALID);
        }
        ET_OK(rondo_subgraph_destroy(g));
        ET_IS(rondo_subgraph_status(g), RONDO_ERR_STALE);
        ET_IS(rondo_subgraph_destroy(g), RONDO_ERR_STALE);
        cr_assert_eq(rondo_record_task(g, &d).id, 0);
        ET_SAYS("subgraph");
        ET_OK(rondo_subgraph_create(rt, NULL, &other)); /* the next recording works */
        ET_HANDLE(rondo_record_task(other, &d));
        rondo_exec exec;
        ET_OK(rondo_instantiate(other, NULL, &exec));
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(other));
        ET_OK(rondo_buffer_destroy(buffer));
        ET_IS(rondo_buffer_destroy(buffer), RONDO_ERR_STALE);
    }
    cr_assert_eq(atomic_load(&gate.ended), 20);
    ET_CLOSE(rt);
}

/* ---- a process that ends with replays in flight */

static int sleepless(rondo_task *self, const void *arg)
{
    (void)arg;
    (void)self;
    for (volatile int i = 0; i < 20000; i++) {}
    return 0;
}

/* In the child: never closes the runtime. */
static void end_with_replays(const struct et_mode *mode, int how)
{
    rondo_runtime rt = et_runtime(2);
    struct gate gate = { 0 };
    rondo_subgraph g;
    rondo_exec exec, stuck = gated_exec(rt, &gate, RONDO_CPU(1), mode, 2);
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = 64
    };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (int i = 0; i < 12; i++)
        ET_HANDLE(
            rondo_record_task(g, &(rondo_task_desc){ .fn = sleepless, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    rondo_replay_args many = { .count = how == 1 ? 1000000 : 50 };
    ET_OK(rondo_replay(exec, &many, NULL));
    if (how == 2)
        ET_OK(rondo_exec_destroy(exec));
    if (how == 3)
        ET_OK(rondo_replay(stuck, NULL, NULL));
    exit(0);
}

/* The test's own program is started again for a child: it runs this before anything else. */
__attribute__((constructor)) static void child_of_exit_test(void)
{
    const char *which = getenv("RONDO_TEST_EXIT_CHILD");
    if (!which)
        return;
    int n = atoi(which);
    end_with_replays(&et_modes[n % ET_MODES], n / ET_MODES);
}

static int run_child(int n, int64_t limit_ns)
{
    char which[16];
    (void)snprintf(which, sizeof which, "%d", n);
    pid_t child = fork();
    if (child == 0) {
        setenv("RONDO_TEST_EXIT_CHILD", which, 1);
        execl("/proc/self/exe", "rondo-test-child", (char *)NULL);
        _exit(99);
    }
    int64_t end = et_now_ns() + limit_ns;
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (et_now_ns() > end) {
            kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            return -1;
        }
        usleep(1000);
    }
    return status;
}

Test(engine_lives, a_process_ends_with_replays_in_flight)
{
    for (int n = 0; n < 4 * ET_MODES; n++) {
        int status = run_child(n, 30000000000);
        cr_assert_eq(status, 0, "%s, ending %d: %s %d", et_modes[n % ET_MODES].name, n / ET_MODES,
                     status < 0 ? "hung" : "status", status);
    }
}
