/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop wrapper: the first iteration records, every iteration replays; what is open twice, what
 * cannot be instantiated, and what is recorded anew while replays are in flight. */
#include "tests/engine/engine_check.h"

#include <stdatomic.h>

enum { STEPS = 20, IN_FLIGHT = 3 };

struct shared {
    _Atomic(uint64_t) runs, gate, first_done_at;
    uint64_t sum[1];
};

static rondo_runtime rt;
static rondo_loop loop;
static struct shared s;

static int add(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    sum[0] += *(const uint64_t *)arg;
    atomic_fetch_add(&s.runs, 1);
    return 0;
}

/* Holds its replay up until the test opens the gate. */
static int hold(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    (void)arg;
    if (!et_await(&s.gate, 1))
        return rondo_task_fail(self, "the gate stays closed");
    sum[0] += 1;
    atomic_fetch_add(&s.runs, 1);
    return 0;
}

static int fail(rondo_task *self, const void *arg)
{
    (void)arg;
    return rondo_task_fail(self, "no");
}

static rondo_slot sum_slot(rondo_subgraph g, rondo_buffer buffer)
{
    rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "sum", .buffer = buffer });
    ET_HANDLE(slot);
    return slot;
}

static void record(rondo_subgraph g, rondo_buffer buffer, rondo_task_fn *fn, uint64_t more)
{
    rondo_access a = rondo_read_write(sum_slot(g, buffer), rondo_whole());
    rondo_node node = rondo_record_task(
        g, &(rondo_task_desc){
               .name = "add", .fn = fn, RONDO_ARG(more), .accesses = &a, .access_count = 1 });
    ET_HANDLE(node);
}

static rondo_buffer begin(const rondo_instantiate_options *options)
{
    rondo_buffer buffer;
    memset(&s, 0, sizeof s);
    rt = et_runtime(2);
    rondo_buffer_desc d = { "sum", { 8, { 1 }, { 0 } }, s.sum, 0, NULL };
    ET_OK(rondo_buffer_create(rt, &d, &buffer));
    ET_OK(rondo_loop_create(rt, &(rondo_subgraph_desc){ .name = "step" }, options, &loop));
    return buffer;
}

static void end(rondo_buffer buffer)
{
    ET_OK(rondo_loop_destroy(loop));
    ET_OK(rondo_buffer_destroy(buffer));
    ET_IS(rondo_loop_destroy(loop), RONDO_ERR_STALE);
    ET_CLOSE(rt);
}

static void go_on(rondo_buffer buffer, uint64_t more, int steps)
{
    for (int t = 0; t < steps; t++) {
        rondo_subgraph g;
        if (rondo_loop_record(loop, &g))
            record(g, buffer, add, more);
        ET_OK(rondo_loop_replay(loop, NULL, NULL));
    }
}

Test(loop, records_once_and_replays, .timeout = 60)
{
    for (int m = 0; m < ET_MODES; m++) {
        rondo_instantiate_options o = { .mode = et_modes[m].mode,
                                        .order = et_modes[m].order,
                                        .schedule = et_modes[m].schedule };
        rondo_buffer buffer = begin(&o);
        rondo_result result;
        rondo_exec exec;
        rondo_event event;
        ET_OK(rondo_loop_wait(loop, &result));
        ET_IS(rondo_loop_exec(loop, &exec), RONDO_ERR_STALE);
        ET_SAYS("loop 'step': no exec before the first replay");
        ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_INVALID);
        ET_SAYS("loop 'step': nothing is recorded: rondo_loop_record comes first");
        go_on(buffer, 3, STEPS);
        ET_OK(rondo_loop_replay(loop, &(rondo_replay_args){ .count = 5 }, &event));
        ET_OK(rondo_event_wait(event, -1));
        ET_OK(rondo_loop_wait(loop, &result));
        cr_assert_eq(result.replays_run, STEPS + 5);
        cr_assert_eq(s.sum[0], 3 * (STEPS + 5));
        ET_OK(rondo_loop_exec(loop, &exec));
        ET_OK(rondo_exec_set_mode(exec, RONDO_INTERPRETED));
        go_on(buffer, 0, 2);
        ET_OK(rondo_loop_wait(loop, NULL));
        cr_assert_eq(s.sum[0], 3 * (STEPS + 7));
        end(buffer);
    }
}

/* An open recording is opened again: an error that stays until the loop is invalidated, after which
 * the next recording works. */
Test(loop, open_twice, .timeout = 60)
{
    rondo_buffer buffer = begin(NULL);
    rondo_subgraph g, again = { 1 };
    static const char message[] =
        "loop 'step': rondo_loop_record while a recording is open: no rondo_loop_replay since";
    cr_assert_eq(rondo_loop_record(loop, &g), 1);
    record(g, buffer, add, 1);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rondo_loop_record(loop, &again), 0);
        cr_assert_str_eq(rondo_error_message(), message);
        cr_assert_eq(again.id, 1);
        ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_INVALID);
        cr_assert_str_eq(rondo_error_message(), message);
    }
    ET_OK(rondo_loop_invalidate(loop));
    ET_IS(rondo_subgraph_status(g), RONDO_ERR_STALE);
    go_on(buffer, 2, STEPS);
    ET_OK(rondo_loop_wait(loop, NULL));
    cr_assert_eq(s.sum[0], 2 * STEPS);
    cr_assert_eq(rondo_loop_record(loop, NULL), 0);
    ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_INVALID);
    ET_SAYS("`subgraph` is NULL");
    ET_OK(rondo_loop_invalidate(loop));
    end(buffer);
}

/* What cannot be instantiated is told by the replay, and by each one after it. */
Test(loop, what_cannot_be_instantiated, .timeout = 60)
{
    rondo_buffer buffer = begin(NULL);
    rondo_subgraph g;
    for (int round = 0; round < 3; round++) {
        cr_assert_eq(rondo_loop_record(loop, &g), 1);
        if (round)
            (void)rondo_record_task(g, &(rondo_task_desc){ .name = "wrong" });
        for (int i = 0; i < 2; i++) {
            ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_INVALID);
            ET_SAYS(round ? "node 'wrong': fn is NULL" : "subgraph 'step' has no nodes");
        }
        cr_assert_eq(rondo_loop_record(loop, &g), 0);
        ET_SAYS(round ? "node 'wrong': fn is NULL" : "subgraph 'step' has no nodes");
        ET_OK(rondo_loop_invalidate(loop));
    }
    go_on(buffer, 1, STEPS);
    ET_OK(rondo_loop_wait(loop, NULL));
    cr_assert_eq(s.sum[0], STEPS);
    end(buffer);
}

/* Replays in flight end as they were recorded, and before the first replay of the new recording
 * begins. */
Test(loop, invalidated_in_flight, .timeout = 120)
{
    for (int m = 0; m < ET_MODES; m++) {
        rondo_instantiate_options o = { .mode = et_modes[m].mode,
                                        .order = et_modes[m].order,
                                        .schedule = et_modes[m].schedule };
        rondo_buffer buffer = begin(&o);
        rondo_event last;
        rondo_subgraph g;
        rondo_exec exec, other;
        cr_assert_eq(rondo_loop_record(loop, &g), 1);
        record(g, buffer, hold, 0);
        for (int i = 0; i < IN_FLIGHT; i++)
            ET_OK(rondo_loop_replay(loop, NULL, NULL));
        ET_OK(rondo_loop_exec(loop, &exec));
        ET_OK(rondo_loop_invalidate(loop));
        ET_OK(rondo_loop_invalidate(loop));
        ET_IS(rondo_loop_exec(loop, &other), RONDO_ERR_STALE);
        cr_assert_eq(rondo_loop_record(loop, &g), 1);
        record(g, buffer, add, 100);
        ET_OK(rondo_loop_replay(loop, NULL, &last));
        ET_OK(rondo_loop_replay(loop, NULL, &last));
        ET_OK(rondo_loop_exec(loop, &other));
        cr_assert_neq(other.id, exec.id);
        ET_IS(rondo_exec_wait(exec, NULL), RONDO_ERR_STALE);
        ET_IS(rondo_event_wait(last, 2000000), RONDO_ERR_AGAIN);
        cr_assert_eq(atomic_load(&s.runs), 0, "nothing runs before the replays in flight");
        atomic_store(&s.gate, 1);
        ET_OK(rondo_loop_wait(loop, NULL));
        cr_assert_eq(s.sum[0], IN_FLIGHT + 200);
        end(buffer);
    }
}

/* Between an invalidation and the next replay, waiting means the replays under way. */
Test(loop, waits_for_what_is_left, .timeout = 60)
{
    rondo_buffer buffer = begin(NULL);
    rondo_subgraph g;
    rondo_result result;
    cr_assert_eq(rondo_loop_record(loop, &g), 1);
    record(g, buffer, fail, 0);
    ET_OK(rondo_loop_replay(loop, NULL, NULL));
    ET_OK(rondo_loop_invalidate(loop));
    ET_IS(rondo_loop_wait(loop, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "add");
    go_on(buffer, 1, STEPS);
    ET_OK(rondo_loop_wait(loop, &result));
    cr_assert_eq(s.sum[0], STEPS);
    end(buffer);
}

/* A call of several replays after an invalidation, in any order, and gates of the caller's own. */
Test(loop, gates_of_the_caller, .timeout = 120)
{
    static const uint32_t orders[] = { RONDO_SERIAL, RONDO_PIPELINED };
    for (int i = 0; i < 2; i++) {
        rondo_instantiate_options o = { .order = orders[i] };
        rondo_buffer buffer = begin(&o);
        rondo_subgraph g;
        rondo_counter counter;
        rondo_event after[3] = { { 0, 0 } }, last;
        ET_OK(rondo_counter_create(rt, 0, &counter));
        ET_OK(rondo_counter_event(counter, 1, &after[1]));
        go_on(buffer, 1, 2);
        ET_OK(rondo_loop_invalidate(loop));
        cr_assert_eq(rondo_loop_record(loop, &g), 1);
        record(g, buffer, add, 10);
        rondo_replay_args args = { .after = after, .after_count = 3 };
        ET_OK(rondo_loop_replay(loop, &args, &last));
        ET_IS(rondo_event_wait(last, 1000000), RONDO_ERR_AGAIN);
        ET_OK(rondo_counter_raise(counter, 1));
        ET_OK(rondo_event_wait(last, -1));
        cr_assert_eq(s.sum[0], 12);
        ET_OK(rondo_loop_invalidate(loop));
        cr_assert_eq(rondo_loop_record(loop, &g), 1);
        record(g, buffer, add, 100);
        ET_OK(rondo_loop_replay(loop, &(rondo_replay_args){ .count = 3 }, NULL));
        ET_OK(rondo_loop_wait(loop, NULL));
        cr_assert_eq(s.sum[0], 312);
        ET_OK(rondo_counter_destroy(counter));
        end(buffer);
    }
}

/* Destroyed with replays in flight, and half-recorded; closed without being destroyed. */
Test(loop, destroyed_at_any_time, .timeout = 60)
{
    rondo_buffer buffer = begin(NULL);
    rondo_subgraph g;
    cr_assert_eq(rondo_loop_record(loop, &g), 1);
    record(g, buffer, hold, 0);
    ET_OK(rondo_loop_replay(loop, NULL, NULL));
    ET_OK(rondo_loop_destroy(loop));
    cr_assert_eq(rondo_loop_record(loop, &g), 0);
    ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_STALE);
    ET_IS(rondo_loop_invalidate(loop), RONDO_ERR_STALE);
    ET_IS(rondo_loop_wait(loop, NULL), RONDO_ERR_STALE);
    ET_OK(rondo_loop_create(rt, NULL, NULL, &loop));
    cr_assert_eq(rondo_loop_record(loop, &g), 1);
    record(g, buffer, add, 1);
    atomic_store(&s.gate, 1);
    end(buffer);
    cr_assert_eq(s.sum[0], 1);
    buffer = begin(NULL);
    go_on(buffer, 1, 2);
    ET_OK(rondo_loop_wait(loop, NULL));
    ET_OK(rondo_runtime_close(rt));
    ET_IS(rondo_loop_replay(loop, NULL, NULL), RONDO_ERR_STALE);
}
