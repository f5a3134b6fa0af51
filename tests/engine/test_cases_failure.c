/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong in a replay stays there: a failing leaf, what was skipped behind a failure, edges
 * that were forgotten, buffers that overlap. */
#include "tests/engine/engine_check.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* ---- a leaf that nobody waits for fails */

struct counts {
    _Atomic(uint64_t) a, b, c, out, fail_at;
};

static int tally(rondo_task *self, const void *arg)
{
    struct counts *n = rondo_task_context(self);
    switch (*(const char *)arg) {
    case 'a': atomic_fetch_add(&n->a, 1); break;
    case 'c': atomic_fetch_add(&n->c, 1); break;
    case 'o': atomic_fetch_add(&n->out, 1); break;
    default:
        atomic_fetch_add(&n->b, 1);
        if (self->replay == atomic_load(&n->fail_at))
            return rondo_task_fail(self, "out of beans");
    }
    return 0;
}

static rondo_node tally_task(rondo_subgraph g, const char *name, struct counts *n, rondo_node after,
                             uint32_t on)
{
    return rondo_record_task(g, &(rondo_task_desc){ .name = name,
                                                    .fn = tally,
                                                    .tag = (unsigned char)name[0],
                                                    .arg = name,
                                                    .arg_bytes = 1,
                                                    .context = n,
                                                    .after = &after,
                                                    .after_count = after.id != 0,
                                                    .on = on,
                                                    .flags = RONDO_NO_ACCESS });
}

static void check_failure(const rondo_result *r, uint64_t replay, uint64_t run)
{
    cr_assert_eq(r->status, RONDO_ERR_FAILED);
    cr_assert_str_eq(r->node, "b leaf");
    cr_assert_str_eq(r->message, "out of beans");
    cr_assert(r->tag == 'b' && r->replay == replay && r->replays_run == run,
              "tag %llu, replay %llu, run %llu", (unsigned long long)r->tag,
              (unsigned long long)r->replay, (unsigned long long)r->replays_run);
}

static void failing_leaf(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    struct counts n = { .fail_at = 1 };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_event event[4];
    rondo_result r;
    rondo_instantiate_options o = { .mode = mode->mode, .order = RONDO_SERIAL };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node a = tally_task(g, "a", &n, (rondo_node){ 0 }, RONDO_ANY_CPU);
    rondo_node b = tally_task(g, "b leaf", &n, a, RONDO_CPU(workers - 1));
    rondo_node c = tally_task(g, "c", &n, a, RONDO_CPU(0));
    ET_HANDLE(b);
    ET_HANDLE(tally_task(g, "out", &n, c, RONDO_ANY_CPU));
    ET_OK(rondo_instantiate(g, &o, &exec));
    for (int i = 0; i < 4; i++)
        ET_OK(rondo_replay(exec, NULL, &event[i]));
    ET_IS(rondo_exec_wait(exec, &r), RONDO_ERR_FAILED);
    check_failure(&r, 1, 2);
    /* Replay 1: b failed, and what does not come after b ran. Replays 2 and 3: cancelled. */
    cr_assert(n.a == 2 && n.b == 2 && n.c == 2 && n.out == 2, "%s: %llu %llu %llu %llu", mode->name,
              (unsigned long long)n.a, (unsigned long long)n.b, (unsigned long long)n.c,
              (unsigned long long)n.out);
    for (int i = 0; i < 4; i++) {
        ET_OK(rondo_event_wait(event[i], 0));
        ET_OK(rondo_event_result(event[i], &r));
        cr_assert_eq(r.status, i == 0 ? RONDO_OK : i == 1 ? RONDO_ERR_FAILED : RONDO_ERR_CANCELLED);
        if (i == 1)
            check_failure(&r, 1, 2);
        cr_assert_eq(r.replays_run, i == 0 ? 1 : 2);
    }
    ET_IS(rondo_replay_and_wait(exec, NULL, -1, &r), RONDO_ERR_CANCELLED);
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_exec_wait(exec, &r));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, &r)); /* the next one is clean */
    cr_assert(r.status == RONDO_OK && n.out == 3 && n.b == 3);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(engine_failure, a_leaf_nobody_waits_for_fails)
{
    for (int k = 0; k < 2; k++) /* the serial modes: which others ran is certain there */
        for (uint32_t workers = 1; workers < 4; workers++)
            failing_leaf(&et_modes[k], workers);
}

/* In any order: the failure is told, the replay ends, no replay behind it follows the failure, and
 * the next one after the reset is clean. */
Test(engine_failure, the_exec_goes_on_after_a_reset)
{
    for (int k = 0; k < ET_MODES; k++) {
        rondo_runtime rt = et_runtime(3);
        struct counts n = { .fail_at = 20 };
        rondo_subgraph g;
        rondo_exec exec;
        rondo_result r;
        rondo_instantiate_options o = { .mode = et_modes[k].mode,
                                        .order = et_modes[k].order,
                                        .schedule = et_modes[k].schedule };
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        rondo_node a = tally_task(g, "a", &n, (rondo_node){ 0 }, RONDO_CPU(2));
        rondo_node b = tally_task(g, "b leaf", &n, a, RONDO_CPU(1));
        rondo_node c = tally_task(g, "c", &n, b, RONDO_CPU(0));
        ET_HANDLE(c);
        ET_OK(rondo_record_edge(g, b, b, 1));
        ET_OK(rondo_instantiate(g, &o, &exec));
        for (uint64_t round = 0; round < 30; round++) {
            uint64_t before = round * 40, c_before = n.c;
            atomic_store(&n.fail_at, before + 20);
            ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 40 }, NULL));
            ET_IS(rondo_exec_wait(exec, &r), RONDO_ERR_FAILED);
            check_failure(&r, before + 20, round * 21 + 21);
            cr_assert_eq(n.c, c_before + 20, "%s: %llu", et_modes[k].name, (unsigned long long)n.c);
            cr_assert_eq(n.b, 21 * (round + 1), "%s: %llu", et_modes[k].name,
                         (unsigned long long)n.b);
            ET_OK(rondo_exec_reset(exec));
        }
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(g));
        ET_CLOSE(rt);
    }
}

/* ---- order through a node that was skipped */

struct skipped {
    _Atomic(uint64_t) a_open, a_done, early;
};

static int skipped_a(rondo_task *self, const void *arg)
{
    struct skipped *s = *(struct skipped *const *)arg;
    while (atomic_load(&s->a_open) <= self->replay)
        sched_yield();
    if (atomic_load(&s->a_done) != self->replay)
        return rondo_task_fail(self, "a ran out of turn");
    atomic_fetch_add(&s->a_done, 1);
    return 0;
}

static int skipped_fail(rondo_task *self, const void *arg)
{
    (void)arg;
    return self->replay % 2 == 0 ? rondo_task_fail(self, "even") : 0;
}

/* Runs in odd replays only, behind a; `next`, in every one, behind the previous replay's c. */
static int skipped_c(rondo_task *self, const void *arg)
{
    struct skipped *s = *(struct skipped *const *)arg;
    if (atomic_load(&s->a_done) <= self->replay || self->replay % 2 == 0)
        atomic_fetch_add(&s->early, 1);
    return 0;
}

static int skipped_next(rondo_task *self, const void *arg)
{
    struct skipped *s = *(struct skipped *const *)arg;
    if (self->replay > 0 && atomic_load(&s->a_done) < self->replay)
        atomic_fetch_add(&s->early, 1);
    return 0;
}

static rondo_exec record_skipped(rondo_runtime rt, const struct et_mode *mode, struct skipped *arg)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule,
                                    .on_failure = RONDO_ON_FAILURE_CONTINUE };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_task_desc d = {
        .name = "a", .fn = skipped_a, RONDO_ARG(arg), .on = RONDO_CPU(0), .flags = RONDO_NO_ACCESS
    };
    rondo_node a = rondo_record_task(g, &d);
    d.name = "x";
    d.fn = skipped_fail;
    d.on = RONDO_CPU(1);
    rondo_node x = rondo_record_task(g, &d), both[2] = { a, x };
    d.name = "b";
    d.fn = skipped_c;
    d.after = both;
    d.after_count = 2;
    rondo_node b = rondo_record_task(g, &d);
    d.name = "c";
    d.on = RONDO_CPU(2);
    d.after = &b;
    d.after_count = 1;
    rondo_node c = rondo_record_task(g, &d);
    d.name = "next";
    d.fn = skipped_next;
    d.on = RONDO_CPU(1);
    d.after_count = 0;
    d.carried = &c;
    d.carried_count = 1;
    ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_record_edge(g, a, a, 1));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

Test(engine_failure, order_holds_through_a_skipped_node)
{
    for (int k = 0; k < ET_MODES; k++) {
        rondo_runtime rt = et_runtime(3);
        struct skipped s = { 0 };
        rondo_exec exec = record_skipped(rt, &et_modes[k], &s);
        rondo_event event;
        for (uint64_t r = 0; r < 40; r++) {
            ET_OK(rondo_replay(exec, NULL, &event));
            int64_t until = et_now_ns() + 1000000;
            do /* b is skipped as soon as x has failed; a has not even begun */
                ET_IS(rondo_event_wait(event, 0), RONDO_ERR_AGAIN);
            while (et_now_ns() < until);
            atomic_store(&s.a_open, r + 1);
            ET_OK(rondo_event_wait(event, -1));
            cr_assert_eq(atomic_load(&s.a_done), r + 1, "%s: the replay ended before a",
                         et_modes[k].name);
        }
        atomic_store(&s.a_open, UINT64_MAX);
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 400 }, NULL));
        rondo_result r;
        ET_IS(rondo_exec_wait(exec, &r), RONDO_ERR_FAILED);
        cr_assert_str_eq(r.node, "x");
        cr_assert_eq(atomic_load(&s.a_done), 440);
        cr_assert_eq(atomic_load(&s.early), 0, "%s: %llu ran early", et_modes[k].name,
                     (unsigned long long)atomic_load(&s.early));
        ET_OK(rondo_exec_destroy(exec));
        ET_CLOSE(rt);
    }
}

/* ---- explicit edges that forget one; bindings that overlap */

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

Test(engine_failure, a_forgotten_edge_is_reported)
{
    rondo_runtime rt = et_runtime(1);
    rondo_subgraph g;
    rondo_buffer buffer;
    rondo_exec exec = { 77 };
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "force", .shape = { 8, { 100 }, { 0 } } }, &buffer));
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = RONDO_EDGES_EXPLICIT }, &g));
    rondo_slot slot =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "force slot", .buffer = buffer });
    rondo_access clear = rondo_write(slot, rondo_span(10, 40)),
                 add = rondo_read_write(slot, rondo_span(30, 50));
    rondo_task_desc d = { .name = "clear", .fn = nothing, .accesses = &clear, .access_count = 1 };
    rondo_node first = rondo_record_task(g, &d);
    d.name = "accumulate";
    d.accesses = &add;
    rondo_node second = rondo_record_task(g, &d);
    ET_HANDLE(first);
    ET_HANDLE(second);
    for (uint32_t mode = RONDO_AUTO; mode <= RONDO_INTERPRETED; mode++) {
        rondo_instantiate_options o = { .mode = mode };
        ET_IS(rondo_instantiate(g, &o, &exec), RONDO_ERR_INVALID);
        cr_assert_eq(exec.id, 77, "an output was touched");
        ET_SAYS("'clear'");
        ET_SAYS("'accumulate'");
        ET_SAYS("'force slot'");
        ET_SAYS("30");
    }
    ET_OK(rondo_record_edge(g, first, second, 0));
    ET_OK(rondo_instantiate(g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(buffer));
    ET_CLOSE(rt);
}

static int add_up(rondo_task *self, const void *arg)
{
    const uint64_t *from = rondo_task_read(self, 0);
    uint64_t *to = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < 8; i++)
        to[i] += from[i] + 1;
    return 0;
}

static void overlap_case(const struct et_mode *mode, int alias)
{
    rondo_runtime rt = et_runtime(2);
    uint64_t bytes[16] = { 0 };
    rondo_shape shape = { 8, { 8 }, { 0 } };
    rondo_subgraph g;
    rondo_buffer left, middle, right;
    rondo_exec exec;
    ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ "left", shape, bytes, 0, NULL }, &left));
    ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ "middle", shape, bytes + 4, 0, NULL },
                              &middle));
    ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ "right", shape, bytes + 8, 0, NULL },
                              &right));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_slot in = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "in", .shape = shape });
    rondo_slot_desc d = { .name = "out", .shape = shape };
    if (alias)
        d.alias_of = in;
    rondo_slot out = rondo_subgraph_slot(g, &d);
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .name = "add",
                               .fn = add_up,
                               RONDO_ACCESSES(rondo_read(in, rondo_whole()),
                                              rondo_read_write(out, rondo_whole())) }));
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_instantiate(g, &o, &exec));
    rondo_binding bind[2] = { { in, left }, { out, middle } };
    rondo_replay_args args = { .bindings = bind, .binding_count = 2 };
    if (alias) {
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        cr_assert(bytes[4] == 1 && bytes[8] == 2, "%llu %llu", (unsigned long long)bytes[4],
                  (unsigned long long)bytes[8]);
    } else {
        rondo_event event = { 5, 5 };
        ET_IS(rondo_replay(exec, &args, &event), RONDO_ERR_INVALID);
        ET_SAYS("'in'");
        ET_SAYS("'out'");
        cr_assert(event.source == 5 && event.count == 5 && bytes[4] == 0);
    }
    bind[1].buffer = right;
    ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(left));
    ET_OK(rondo_buffer_destroy(middle));
    ET_OK(rondo_buffer_destroy(right));
    ET_CLOSE(rt);
}

Test(engine_failure, bindings_that_overlap_are_refused_unless_aliases)
{
    for (int k = 0; k < ET_MODES; k++)
        for (int alias = 0; alias < 2; alias++)
            overlap_case(&et_modes[k], alias);
}
