/* SPDX-License-Identifier: BSD-3-Clause */
/* What bounds a call of several replays: a node that stops it, a deadline, a time before which it
 * does not begin; what it tells at its end. And the conditions that keep single nodes from running.
 */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

typedef _Atomic(uint64_t) tally;

/* ---- stops */

/* A time loop x <- x + 1 over two buffers by turns; `stop` looks at what `step` wrote and stops at
 * `at`. Between them a node that only uses a temporary, and so may run ahead. */
struct loop {
    rondo_runtime rt;
    rondo_exec exec;
    double a[64], b[64];
    rondo_buffer buffer[2];
    tally stop_at; /* the value at which to stop */
    tally steps;
};

static int step(rondo_task *self, const void *arg)
{
    struct loop *l = rondo_task_context(self);
    const double *from = rondo_task_read(self, 0);
    double *to = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < 64; i++)
        to[i] = from[i] + 1;
    atomic_fetch_add(&l->steps, 1);
    return 0;
}

static int stop_when_there(rondo_task *self, const void *arg)
{
    struct loop *l = rondo_task_context(self);
    const double *x = rondo_task_read(self, 0);
    (void)arg;
    if (x[0] == (double)atomic_load(&l->stop_at))
        rondo_task_stop(self);
    return 0;
}

static rondo_buffer wrap(rondo_runtime rt, void *values, size_t bytes, int64_t count)
{
    rondo_buffer b = { 0 };
    rondo_buffer_desc d = { .shape = { .elem_bytes = bytes, .extent = { count } }, .host = values };
    ET_OK(rondo_buffer_create(rt, &d, &b));
    return b;
}

static void open_loop(struct loop *l, const struct et_mode *mode, uint32_t workers, uint32_t lag)
{
    rondo_subgraph g;
    rondo_slot from, to;
    memset(l, 0, sizeof *l);
    l->rt = et_runtime(workers);
    l->buffer[0] = wrap(l->rt, l->a, sizeof *l->a, 64);
    l->buffer[1] = wrap(l->rt, l->b, sizeof *l->b, 64);
    ET_OK(rondo_subgraph_create(l->rt, NULL, &g));
    from = rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = l->buffer, .ring_count = 2 });
    to = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .ring = l->buffer, .ring_count = 2, .ring_first = 1 });
    ET_HANDLE(
        rondo_record_task(g, &(rondo_task_desc){ .name = "step",
                                                 .fn = step,
                                                 .context = l,
                                                 .on = RONDO_CPU(0),
                                                 RONDO_ACCESSES(rondo_read(from, rondo_whole()),
                                                                rondo_write(to, rondo_whole())) }));
    ET_HANDLE(
        rondo_record_task(g, &(rondo_task_desc){ .name = "stop",
                                                 .fn = stop_when_there,
                                                 .context = l,
                                                 .on = RONDO_CPU(workers - 1),
                                                 .flags = RONDO_MAY_STOP,
                                                 .stop_lag = lag,
                                                 RONDO_ACCESSES(rondo_read(to, rondo_whole())) }));
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_instantiate(g, &o, &l->exec));
    ET_OK(rondo_subgraph_destroy(g));
}

static void close_loop(struct loop *l)
{
    ET_OK(rondo_exec_destroy(l->exec));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(l->buffer[i]));
    ET_CLOSE(l->rt);
}

/* The value in whichever buffer was written last. */
static double value_of(const struct loop *l) { return l->a[0] > l->b[0] ? l->a[0] : l->b[0]; }

static void call_loop(struct loop *l, const char *what, uint64_t count, uint64_t run,
                      uint32_t stopped)
{
    const double before = value_of(l);
    const uint64_t steps = l->steps;
    rondo_result r;
    rondo_event event;
    ET_OK(rondo_replay(l->exec, &(rondo_replay_args){ .count = count }, &event));
    ET_OK(rondo_event_wait(event, -1));
    ET_OK(rondo_event_result(event, &r));
    cr_assert_eq(r.status, RONDO_OK, "%s: %s", what, r.message);
    cr_assert(l->steps - steps == run && value_of(l) == before + (double)run,
              "%s: %llu of %llu ran, value %g after %g", what,
              (unsigned long long)(l->steps - steps), (unsigned long long)run, value_of(l), before);
    cr_assert(r.stopped == stopped && r.replays_run == steps + run,
              "%s: stopped %u, run %llu, %llu", what, r.stopped, (unsigned long long)r.replays_run,
              (unsigned long long)steps + run);
}

static void stops(const struct et_mode *mode, uint32_t workers)
{
    for (uint32_t lag = 0; lag < 3; lag++) {
        struct loop l;
        open_loop(&l, mode, workers, lag);
        atomic_store(&l.stop_at, 7);
        call_loop(&l, "stopped", 40, 7 + lag, 1);
        call_loop(&l, "the ring goes on from where it is", 10, 10, 0);
        atomic_store(&l.stop_at, (uint64_t)value_of(&l) + 5);
        call_loop(&l, "by its last replay", 5, 5, 1);
        atomic_store(&l.stop_at, (uint64_t)value_of(&l) + 1);
        call_loop(&l, "a single replay", 1, 1, 1);
        for (uint64_t i = 1; i < 12; i++) { /* many stops in a row, at different places */
            atomic_store(&l.stop_at, (uint64_t)value_of(&l) + i);
            call_loop(&l, "again", 12 + lag, i + lag, 1);
        }
        call_loop(&l, "not any more", 3, 3, 0);
        close_loop(&l);
    }
}

/* A node that may not stop does not. */
static int stop_all_the_same(rondo_task *self, const void *arg)
{
    (void)arg;
    rondo_task_stop(self);
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

static void may_not_stop(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally n = 0;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_result r;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .fn = stop_all_the_same, .context = &n, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 9 }, -1, &r));
    cr_assert(n == 9 && !r.stopped && r.replays_run == 9);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

/* ---- times */

static int tick(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

/* Past the time in its parameter it returns. */
static int until(rondo_task *self, const void *arg)
{
    int64_t end;
    (void)arg;
    memcpy(&end, rondo_task_param(self, 0), sizeof end);
    while (et_now_ns() < end)
        sched_yield();
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

struct timed {
    rondo_runtime rt;
    rondo_exec exec;
    rondo_param end;
    tally first, second, beside;
};

static void open_timed(struct timed *t, const struct et_mode *mode, uint32_t workers)
{
    rondo_subgraph g;
    rondo_node first;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    const int64_t now = 0;
    memset(t, 0, sizeof *t);
    t->rt = et_runtime(workers);
    ET_OK(rondo_subgraph_create(t->rt, NULL, &g));
    t->end = rondo_subgraph_param(g, "end", sizeof now, &now);
    first = rondo_record_task(g, &(rondo_task_desc){ .name = "first",
                                                     .fn = until,
                                                     .tag = 11,
                                                     .context = &t->first,
                                                     RONDO_PARAMS(t->end),
                                                     .flags = RONDO_NO_ACCESS });
    ET_HANDLE(first);
    ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "second",
                                                       .fn = tick,
                                                       .tag = 12,
                                                       .context = &t->second,
                                                       RONDO_AFTER(first),
                                                       .on = RONDO_CPU(workers - 1),
                                                       .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &t->exec));
    ET_OK(rondo_subgraph_destroy(g));
}

static void close_timed(struct timed *t)
{
    ET_OK(rondo_exec_destroy(t->exec));
    ET_CLOSE(t->rt);
}

/* The second node has not begun at the deadline, which the first one runs past. */
static void deadline(const struct et_mode *mode, uint32_t workers)
{
    struct timed t;
    rondo_result r;
    rondo_event event;
    int64_t end;
    open_timed(&t, mode, workers);
    rondo_value value = { t.end, &end, 0 };
    rondo_replay_args args = { .values = &value, .value_count = 1 };
    end = et_now_ns();
    args.deadline_ns = end + 60000000000;
    ET_OK(rondo_replay_and_wait(t.exec, &args, -1, &r));
    cr_assert(t.first == 1 && t.second == 1);
    end = et_now_ns() + 120000000; /* a busy machine begins with it in time, too */
    args.deadline_ns = end - 10000000;
    ET_IS(rondo_replay_and_wait(t.exec, &args, -1, &r), RONDO_ERR_DEADLINE);
    cr_assert(t.first == 2 && t.second == 1, "%s: %llu, %llu", mode->name,
              (unsigned long long)t.first, (unsigned long long)t.second);
    cr_assert(r.status == RONDO_ERR_DEADLINE && r.replay == 1 && r.tag == 12, "%d, %llu, %llu",
              (int)r.status, (unsigned long long)r.replay, (unsigned long long)r.tag);
    cr_assert_str_eq(r.node, "second");
    /* Like any failure it keeps later replays from running, and those of its call are late too. */
    ET_OK(rondo_exec_reset(t.exec));
    args.deadline_ns = 1;
    args.count = 3;
    ET_OK(rondo_replay(t.exec, &args, &event));
    ET_OK(rondo_event_wait(event, -1));
    ET_OK(rondo_event_result(event, &r));
    cr_assert(r.status == RONDO_ERR_DEADLINE && r.replay == 4, "%d, %llu", (int)r.status,
              (unsigned long long)r.replay);
    cr_assert_str_eq(r.node, "first");
    ET_IS(rondo_replay_and_wait(t.exec, NULL, -1, &r), RONDO_ERR_CANCELLED);
    cr_assert(t.first == 2 && t.second == 1);
    ET_OK(rondo_exec_reset(t.exec));
    ET_OK(rondo_replay_and_wait(t.exec, NULL, -1, &r));
    cr_assert(t.first == 3 && t.second == 2);
    close_timed(&t);
}

/* A wait that nobody meets, and an event that gates the call: the deadline ends both. */
static void deadline_of_a_wait(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally behind = 0;
    rondo_counter c;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_event never;
    rondo_result r;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_counter_create(rt, 0, &c));
    ET_OK(rondo_counter_event(c, 100, &never));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node wait =
        rondo_record_wait(g, &(rondo_sync_desc){ .name = "waits", .counter = c, .first = 1 });
    ET_HANDLE(wait);
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = tick, .context = &behind, RONDO_AFTER(wait), .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_IS(rondo_replay_and_wait(exec, &(rondo_replay_args){ .deadline_ns = et_now_ns() + 5000000 },
                                -1, &r),
          RONDO_ERR_DEADLINE);
    cr_assert_str_eq(r.node, "waits");
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_counter_raise(c, 1));
    ET_IS(rondo_replay_and_wait(exec,
                                &(rondo_replay_args){ .deadline_ns = et_now_ns() + 5000000,
                                                      .after = &never,
                                                      .after_count = 1 },
                                -1, &r),
          RONDO_ERR_DEADLINE);
    cr_assert_eq(behind, 0);
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, &r));
    cr_assert_eq(behind, 1);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_counter_destroy(c));
    ET_CLOSE(rt);
}

struct told {
    _Atomic(uint64_t) times, source, count;
};

static void tell(void *context, rondo_event event)
{
    struct told *told = context;
    atomic_store(&told->source, event.source);
    atomic_store(&told->count, event.count);
    cr_assert_eq(rondo_event_wait(event, 0), RONDO_OK); /* it is complete */
    atomic_fetch_add(&told->times, 1);
}

static void begin_and_end(const struct et_mode *mode, uint32_t workers)
{
    struct timed t;
    struct told told = { 0 };
    rondo_event event;
    rondo_result r;
    open_timed(&t, mode, workers);
    for (uint64_t count = 1; count < 12; count += 5) {
        const int64_t begin = et_now_ns() + 5000000;
        ET_OK(rondo_replay(t.exec,
                           &(rondo_replay_args){ .count = count,
                                                 .not_before_ns = begin,
                                                 .done = tell,
                                                 .context = &told,
                                                 .flags = RONDO_TIMED },
                           &event));
        ET_OK(rondo_event_wait(event, -1));
        cr_assert(et_now_ns() >= begin);
        cr_assert(et_await(&told.times, 1 + count / 5), "%s: %llu", mode->name,
                  (unsigned long long)count);
        cr_assert(told.source == event.source && told.count == event.count);
        ET_OK(rondo_event_result(event, &r));
        cr_assert(r.begin_ns >= begin && r.end_ns >= r.begin_ns && r.end_ns <= et_now_ns(),
                  "%s: begin %lld, end %lld, asked for %lld", mode->name, (long long)r.begin_ns,
                  (long long)r.end_ns, (long long)begin);
    }
    cr_assert_eq(told.times, 3);
    ET_OK(rondo_replay(t.exec, NULL, &event));
    ET_OK(rondo_event_wait(event, -1));
    ET_OK(rondo_event_result(event, &r));
    cr_assert(r.begin_ns == 0 && r.end_ns == 0 && told.times == 3);
    close_timed(&t);
}

/* ---- conditions */

static void conditions(const struct et_mode *mode, uint32_t workers)
{
    enum { REPLAYS = 30 };
    rondo_runtime rt = et_runtime(workers);
    tally by_param = 0, by_flag = 0, third = 0, rare = 0, after = 0;
    int32_t flags[4] = { 0 };
    rondo_buffer buffer = wrap(rt, flags, sizeof *flags, 4);
    rondo_subgraph g;
    rondo_exec exec;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    const uint8_t off[5] = { 0 };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer });
    rondo_param p = rondo_subgraph_param(g, "on", sizeof off, off);
    const struct {
        tally *n;
        rondo_when when;
    } nodes[] = { { &by_param, { .param = p } },
                  { &by_flag, { .flag = slot } },
                  { &third, { .every = 3, .phase = 1 } },
                  { &rare, { .param = p, .every = 97, .phase = 5 } } };
    rondo_node last = { 0 };
    for (size_t i = 0; i < 4; i++) {
        last = rondo_record_task(g, &(rondo_task_desc){ .fn = tick,
                                                        .context = nodes[i].n,
                                                        .when = nodes[i].when,
                                                        .after = &last,
                                                        .after_count = i > 0,
                                                        .flags = RONDO_NO_ACCESS });
        ET_HANDLE(last);
    }
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = tick, .context = &after, RONDO_AFTER(last), .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    for (int i = 0; i < REPLAYS; i++) {
        uint8_t on[5] = { 0, 0, 0, 0, (uint8_t)(i % 5 == 0) };
        rondo_value value = { p, on, 0 };
        flags[0] = i % 2;
        flags[1] = 1;
        ET_OK(rondo_replay_and_wait(
            exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, -1, NULL));
    }
    cr_assert(by_param == 6 && by_flag == 15 && third == 10 && rare == 1 && after == REPLAYS,
              "%s: %llu, %llu, %llu, %llu, %llu", mode->name, (unsigned long long)by_param,
              (unsigned long long)by_flag, (unsigned long long)third, (unsigned long long)rare,
              (unsigned long long)after);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(buffer));
    ET_CLOSE(rt);
}

static const struct et_mode_case cases[] = {
    { "stops", stops },
    { "a node that may not stop", may_not_stop },
    { "a deadline", deadline },
    { "the deadline of a wait", deadline_of_a_wait },
    { "begin and end of a call", begin_and_end },
    { "conditions", conditions },
};

Test(engine_calls, every_case_in_every_mode) { et_every_mode(cases, sizeof cases / sizeof *cases); }
