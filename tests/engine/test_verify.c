/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_VERIFY: a replay that comes out the same in every order passes and leaves what it would
 * have left; one that does not names the first node that differs. */
#include "tests/engine/engine_check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };

struct rig {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_buffer buffer[3];
    rondo_slot slot[3];
    int64_t *at[3];
};

static void open_rig(struct rig *r)
{
    static const char *const names[] = { "u", "v", "w" };
    r->rt = et_runtime(2);
    ET_OK(rondo_subgraph_create(r->rt, NULL, &r->g));
    for (int i = 0; i < 3; i++) {
        rondo_buffer_desc d = { .shape = { .elem_bytes = sizeof(int64_t), .extent = { N } } };
        ET_OK(rondo_buffer_create(r->rt, &d, &r->buffer[i]));
        ET_OK(rondo_buffer_map(r->buffer[i], RONDO_WRITE, (void **)&r->at[i]));
        r->slot[i] = rondo_subgraph_slot(
            r->g, &(rondo_slot_desc){ .name = names[i], .buffer = r->buffer[i] });
        ET_HANDLE(r->slot[i]);
    }
}

static void close_rig(struct rig *r, rondo_exec exec)
{
    for (int i = 0; i < 3; i++) {
        ET_OK(rondo_buffer_unmap(r->buffer[i]));
        ET_OK(rondo_buffer_destroy(r->buffer[i]));
    }
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r->g));
    ET_CLOSE(r->rt);
}

/* ---- what comes out the same */

static int increase(rondo_task *self, const void *arg)
{
    int64_t *u = rondo_task_write(self, 0);
    (void)arg;
    for (int i = 0; i < N; i++)
        u[i] += i + 1;
    return 0;
}
static int multiply(rondo_task *self, const void *arg)
{
    const int64_t *u = rondo_task_read(self, 0);
    int64_t *v = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < N; i++)
        v[i] = 3 * v[i] + u[i];
    return 0;
}

/* Three nodes over two processors, one of them only in every third replay. */
static void three_nodes(struct rig *r)
{
    ET_HANDLE(rondo_record_task(
        r->g, &(rondo_task_desc){ .name = "increase",
                                  .fn = increase,
                                  .on = RONDO_CPU(1),
                                  RONDO_ACCESSES(rondo_read_write(r->slot[0], rondo_whole())) }));
    ET_HANDLE(rondo_record_task(
        r->g, &(rondo_task_desc){ .name = "multiply",
                                  .fn = multiply,
                                  .on = RONDO_CPU(0),
                                  RONDO_ACCESSES(rondo_read(r->slot[0], rondo_whole()),
                                                 rondo_read_write(r->slot[1], rondo_whole())) }));
    ET_HANDLE(rondo_record_task(
        r->g, &(rondo_task_desc){ .name = "sometimes",
                                  .fn = multiply,
                                  .on = RONDO_CPU(1),
                                  .when = { .every = 3, .phase = 1 },
                                  RONDO_ACCESSES(rondo_read(r->slot[1], rondo_whole()),
                                                 rondo_read_write(r->slot[2], rondo_whole())) }));
}

static void right_recording(uint32_t order, const char *every)
{
    struct rig r;
    rondo_exec exec;
    int64_t u[N] = { 0 }, v[N] = { 0 }, w[N] = { 0 };
    setenv("RONDO_VERIFY", every, 1);
    open_rig(&r);
    three_nodes(&r);
    ET_OK(rondo_instantiate(r.g, &(rondo_instantiate_options){ .order = order }, &exec));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 20 }, -1, NULL));
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < N; i++) {
            u[i] += i + 1;
            v[i] = 3 * v[i] + u[i];
            if (k % 3 == 1)
                w[i] = 3 * w[i] + v[i];
        }
    cr_assert(!memcmp(u, r.at[0], sizeof u) && !memcmp(v, r.at[1], sizeof v) &&
              !memcmp(w, r.at[2], sizeof w));
    close_rig(&r, exec);
}

Test(verify, right_recordings_stay_right, .timeout = 60)
{
    static const char *const every[] = { "1", "3", "7", "1000", "0" };
    for (int i = 0; i < 5; i++) {
        right_recording(RONDO_SERIAL, every[i]);
        right_recording(RONDO_PIPELINED, every[i]);
    }
}

/* A node that does not run is ordered with nothing: what others have written to its region by its
 * turn is not the same in both runs, and no fault of its. */
Test(verify, a_node_that_does_not_run_is_not_compared, .timeout = 60)
{
    struct rig r;
    rondo_exec exec;
    setenv("RONDO_VERIFY", "1", 1);
    open_rig(&r);
    for (int n = 0; n < 3; n++)
        ET_HANDLE(rondo_record_task(
            r.g, &(rondo_task_desc){ .name = n == 1 ? "sometimes" : "always",
                                     .fn = increase,
                                     .on = RONDO_CPU(n == 1),
                                     .when = { .every = n == 1 ? 3 : 0 },
                                     RONDO_ACCESSES(rondo_read_write(r.slot[0], rondo_whole())) }));
    ET_OK(rondo_instantiate(r.g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 6 }, -1, NULL));
    for (int i = 0; i < N; i++)
        cr_assert_eq(r.at[0][i], (int64_t)14 * (i + 1));
    close_rig(&r, exec);
}

/* ---- what does not */

static int count_calls(rondo_task *self, const void *arg)
{
    _Atomic(int64_t) *calls = rondo_task_context(self);
    int64_t *out = rondo_task_write(self, 1);
    (void)arg;
    out[5] = atomic_fetch_add(calls, 1);
    return 0;
}

Test(verify, names_the_first_node_that_differs, .timeout = 60)
{
    struct rig r;
    rondo_exec exec;
    rondo_result result;
    _Atomic(int64_t) calls = 0;
    setenv("RONDO_VERIFY", "4", 1);
    open_rig(&r);
    three_nodes(&r);
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .name = "counts",
                                 .tag = 77,
                                 .fn = count_calls,
                                 .context = &calls,
                                 RONDO_ACCESSES(rondo_read(r.slot[0], rondo_whole()),
                                                rondo_read_write(r.slot[2], rondo_span(5, 1))) }));
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .name = "after it",
                                 .fn = multiply,
                                 RONDO_ACCESSES(rondo_read(r.slot[2], rondo_whole()),
                                                rondo_read_write(r.slot[1], rondo_whole())) }));
    ET_OK(rondo_instantiate(r.g, NULL, &exec));
    ET_IS(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 10 }, -1, &result),
          RONDO_ERR_FAILED);
    cr_assert(result.replay == 3 && result.tag == 77);
    cr_assert_str_eq(result.node, "counts");
    cr_assert_str_eq(result.message, "slot 'w' differs between interpreted and compiled");
    cr_assert_eq(calls, 5, "%lld calls: 4 replays, the last one twice", (long long)calls);
    close_rig(&r, exec);
}

/* A dependence that nobody recorded: the reader does not say that it reads v. */
static int write_v(rondo_task *self, const void *arg)
{
    int64_t *v = rondo_task_write(self, 0);
    (void)arg;
    for (int i = 0; i < N; i++)
        v[i]++;
    return 0;
}
static int read_v(rondo_task *self, const void *arg)
{
    int64_t *const *v = arg;
    int64_t *w = rondo_task_write(self, 0);
    for (int i = 0; i < N; i++)
        w[i] = (*v)[i];
    return 0;
}

Test(verify, finds_a_dependence_nobody_recorded, .timeout = 60)
{
    struct rig r;
    rondo_exec exec;
    rondo_result result;
    setenv("RONDO_VERIFY", "1", 1);
    open_rig(&r);
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .name = "writer",
                                 .fn = write_v,
                                 .on = RONDO_CPU(0),
                                 RONDO_ACCESSES(rondo_read_write(r.slot[1], rondo_whole())) }));
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .name = "reader",
                                 .fn = read_v,
                                 .on = RONDO_CPU(1),
                                 RONDO_ARG(r.at[1]),
                                 RONDO_ACCESSES(rondo_write(r.slot[2], rondo_whole())) }));
    ET_OK(rondo_instantiate(r.g, &(rondo_instantiate_options){ .mode = RONDO_COMPILED }, &exec));
    ET_IS(rondo_replay_and_wait(exec, NULL, -1, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "reader");
    cr_assert_str_eq(result.message, "slot 'w' differs between interpreted and compiled");
    close_rig(&r, exec);
}

/* A node that touches everything is compared by all that the slots reach, rings too. */
static int touch_all(rondo_task *self, const void *arg)
{
    struct rig *r = rondo_task_context(self);
    static int64_t calls;
    r->at[*(const int *)arg][1] += *(const int *)arg == 2 ? ++calls : 1;
    return 0;
}

Test(verify, nodes_that_touch_everything, .timeout = 60)
{
    for (int which = 1; which <= 2; which++) {
        struct rig r;
        rondo_exec exec;
        rondo_result result;
        rondo_slot ring;
        setenv("RONDO_VERIFY", "1", 1);
        open_rig(&r);
        ring = rondo_subgraph_slot(
            r.g, &(rondo_slot_desc){ .name = "ring", .ring = r.buffer, .ring_count = 3 });
        ET_HANDLE(ring);
        ET_HANDLE(rondo_record_task(
            r.g, &(rondo_task_desc){ .fn = increase,
                                     RONDO_ACCESSES(rondo_read_write(ring, rondo_whole())) }));
        ET_HANDLE(rondo_record_task(
            r.g,
            &(rondo_task_desc){ .name = "all", .fn = touch_all, RONDO_ARG(which), .context = &r }));
        ET_OK(rondo_instantiate(r.g, NULL, &exec));
        if (which == 1) {
            ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 6 }, -1, NULL));
            cr_assert(r.at[1][1] == 6 + 2 * 2 && r.at[0][1] == 2 * 2, "%lld and %lld",
                      (long long)r.at[1][1], (long long)r.at[0][1]);
        } else {
            ET_IS(rondo_replay_and_wait(exec, NULL, -1, &result), RONDO_ERR_FAILED);
            cr_assert_str_eq(result.node, "all");
            cr_assert_str_eq(result.message,
                             "what it can reach differs between interpreted and compiled");
        }
        close_rig(&r, exec);
    }
}

/* ---- failures are the node's own, and come from one run */

static int fail_once(rondo_task *self, const void *arg)
{
    _Atomic(int64_t) *calls = rondo_task_context(self);
    (void)arg;
    atomic_fetch_add(calls, 1);
    return self->replay == 1 ? rondo_task_fail(self, "as asked") : 0;
}

Test(verify, a_failing_node, .timeout = 60)
{
    struct rig r;
    rondo_exec exec;
    rondo_result result;
    _Atomic(int64_t) calls = 0;
    setenv("RONDO_VERIFY", "1", 1);
    open_rig(&r);
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .name = "fails",
                                 .fn = fail_once,
                                 .context = &calls,
                                 RONDO_ACCESSES(rondo_read_write(r.slot[0], rondo_whole())) }));
    ET_OK(rondo_instantiate(r.g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    ET_IS(rondo_replay_and_wait(exec, NULL, -1, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.message, "as asked");
    cr_assert_eq(calls, 3);
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert_eq(calls, 5);
    close_rig(&r, exec);
}

/* ---- when it does not happen */

static void gather(void *context, const char *text)
{
    char *page = context;
    snprintf(page + strlen(page), 8192 - strlen(page), "%s", text);
}

static int finish(rondo_task *self, const void *arg)
{
    rondo_completion c = rondo_task_detach(self);
    (void)arg;
    atomic_fetch_add((_Atomic(int64_t) *)rondo_task_context(self), 1);
    return rondo_completion_finish(c, RONDO_OK, NULL);
}

static int count(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((_Atomic(int64_t) *)rondo_task_context(self), 1);
    return 0;
}

static const struct off {
    uint32_t flags, mode, schedule;
    const char *says, *variable;
} offs[] = {
    { 0, RONDO_COMPILED, RONDO_STATIC, "RONDO_VERIFY=1, so often", NULL },
    { RONDO_DETACHED, RONDO_AUTO, RONDO_STATIC, "off: node 'once' is detached", NULL },
    { RONDO_MAY_BLOCK, RONDO_AUTO, RONDO_STATIC, "off: node 'once' may block", NULL },
    { RONDO_HOSTED, RONDO_AUTO, RONDO_STATIC, "off: node 'once' has a team", NULL },
    { 0, RONDO_INTERPRETED, RONDO_STATIC, "off: every replay is interpreted", NULL },
    { 0, RONDO_AUTO, RONDO_DATAFLOW, "off: dataflow was asked for", NULL },
    { 0, RONDO_COMPILED, RONDO_STATIC, "off: every replay is interpreted", "RONDO_SHUFFLE" },
};

Test(verify, says_why_it_is_off, .timeout = 60)
{
    for (size_t i = 0; i < sizeof offs / sizeof offs[0]; i++) {
        struct rig r;
        rondo_exec exec;
        char page[8192] = "";
        _Atomic(int64_t) calls = 0;
        rondo_instantiate_options o = { .mode = offs[i].mode, .schedule = offs[i].schedule };
        setenv("RONDO_VERIFY", "1", 1);
        if (offs[i].variable)
            setenv(offs[i].variable, "1", 1);
        open_rig(&r);
        ET_HANDLE(rondo_record_task(
            r.g, &(rondo_task_desc){ .name = "once",
                                     .fn = offs[i].flags == RONDO_DETACHED ? finish : count,
                                     .context = &calls,
                                     .flags = offs[i].flags | RONDO_NO_ACCESS }));
        ET_OK(rondo_instantiate(r.g, &o, &exec));
        ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 3 }, -1, NULL));
        ET_OK(rondo_exec_describe(exec, gather, page));
        cr_assert(strstr(page, offs[i].says), "row %zu:\n%s", i, page);
        cr_assert_eq(calls, i ? 3 : 6, "row %zu: %lld calls", i, (long long)calls);
        close_rig(&r, exec);
        if (offs[i].variable)
            unsetenv(offs[i].variable);
    }
}

Test(verify, refuses_what_is_no_number, .timeout = 60)
{
    static const char *const values[] = { "every", "-1", "1x", "1000000001" };
    struct rig r;
    rondo_exec exec;
    open_rig(&r);
    three_nodes(&r);
    for (int i = 0; i < 4; i++) {
        setenv("RONDO_VERIFY", values[i], 1);
        ET_IS(rondo_instantiate(r.g, NULL, &exec), RONDO_ERR_INVALID);
        ET_SAYS("RONDO_VERIFY is '");
        ET_SAYS(values[i]);
    }
    unsetenv("RONDO_VERIFY");
    ET_OK(rondo_instantiate(r.g, NULL, &exec));
    close_rig(&r, exec);
}
