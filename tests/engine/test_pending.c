/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are not over when their op is called: waits for counters and events, signals, detached
 * tasks. What does not come after one goes on, what does comes after it, in every mode. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

typedef _Atomic(uint64_t) tally;

static int count_up(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

static rondo_node counting_task(rondo_subgraph g, const char *name, tally *n, rondo_node after)
{
    return rondo_record_task(g, &(rondo_task_desc){ .name = name,
                                                    .fn = count_up,
                                                    .context = n,
                                                    .after = &after,
                                                    .after_count = after.id != 0,
                                                    .flags = RONDO_NO_ACCESS });
}

static rondo_exec instantiate(rondo_subgraph g, const struct et_mode *mode)
{
    rondo_exec exec = { 0 };
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    ET_OK(rondo_instantiate(g, &o, &exec));
    return exec;
}

/* ---- waits for a counter */

/* Three replays, the n-th waits for 10 + n: each time the counter is raised one more goes on; what
 * is beside the wait does not wait. */
static void wait_for_counter(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally before = 0, behind = 0, beside = 0;
    rondo_counter c;
    rondo_subgraph g;
    rondo_event event[3];
    rondo_result r;
    ET_OK(rondo_counter_create(rt, 9, &c));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node first = counting_task(g, "before", &before, (rondo_node){ 0 });
    rondo_node wait = rondo_record_wait(
        g, &(rondo_sync_desc){
               .counter = c, .first = 10, .step = 1, .after = &first, .after_count = 1 });
    ET_HANDLE(wait);
    ET_HANDLE(counting_task(g, "behind", &behind, wait));
    ET_HANDLE(counting_task(g, "beside", &beside, first));
    rondo_exec exec = instantiate(g, mode);
    for (uint32_t i = 0; i < 3; i++)
        ET_OK(rondo_replay(exec, NULL, &event[i]));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(et_await(&beside, i + 1), "%s: replay %u: beside", mode->name, i);
        cr_assert_eq(behind, i, "%s: replay %u went on at %llu", mode->name, i,
                     (unsigned long long)behind);
        ET_IS(rondo_event_wait(event[i], 2000000), RONDO_ERR_AGAIN);
        ET_OK(rondo_counter_raise(c, 10 + i));
        ET_OK(rondo_event_wait(event[i], -1));
        ET_OK(rondo_event_result(event[i], &r));
        cr_assert_eq(r.status, RONDO_OK);
    }
    cr_assert(before == 3 && behind == 3 && beside == 3);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_counter_destroy(c));
    ET_CLOSE(rt);
}

/* Two execs that wait for each other's signals, each wait unordered with the signal beside it. */
static void crossed(const struct et_mode *mode, uint32_t workers)
{
    enum { REPLAYS = 200 };
    rondo_runtime rt = et_runtime(workers);
    tally behind = 0;
    rondo_counter c[2];
    rondo_exec exec[2];
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_counter_create(rt, 0, &c[i]));
    for (int i = 0; i < 2; i++) {
        rondo_subgraph g;
        rondo_node wait, signal;
        rondo_sync_desc d = { .counter = c[i], .first = 1, .step = 1 };
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        wait = rondo_record_wait(g, &d);
        d.counter = c[1 - i];
        if (i) { /* the second one signals when its wait is over */
            d.after = &wait;
            d.after_count = 1;
        }
        signal = rondo_record_signal(g, &d);
        ET_HANDLE(signal);
        ET_HANDLE(counting_task(g, "behind", &behind, wait));
        exec[i] = instantiate(g, mode);
        ET_OK(rondo_subgraph_destroy(g));
    }
    for (int i = 0; i < REPLAYS; i++) {
        ET_OK(rondo_replay(exec[1], NULL, NULL));
        ET_OK(rondo_replay(exec[0], NULL, NULL));
    }
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_exec_wait(exec[i], NULL));
        ET_OK(rondo_exec_destroy(exec[i]));
        ET_OK(rondo_counter_destroy(c[i]));
    }
    cr_assert_eq(behind, 2 * REPLAYS);
    ET_CLOSE(rt);
}

/* ---- waits for an event */

static void wait_for_event(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally behind = 0;
    rondo_counter c;
    rondo_subgraph g;
    rondo_param p;
    rondo_event until, event, bogus = { 77ull << 40 | 12345, 3 };
    rondo_result r;
    ET_OK(rondo_counter_create(rt, 0, &c));
    ET_OK(rondo_counter_event(c, 5, &until));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    p = rondo_subgraph_param(g, "until", sizeof until, &(rondo_event){ 0, 0 });
    ET_HANDLE(p);
    rondo_node wait = rondo_record_wait(g, &(rondo_sync_desc){ .name = "until", .event = p });
    ET_HANDLE(wait);
    ET_HANDLE(counting_task(g, "behind", &behind, wait));
    rondo_exec exec = instantiate(g, mode);
    /* None: at once. */
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, &r));
    cr_assert_eq(behind, 1);
    rondo_value value = { p, &until, 0 };
    ET_OK(rondo_replay(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, &event));
    ET_IS(rondo_event_wait(event, 3000000), RONDO_ERR_AGAIN);
    cr_assert_eq(behind, 1);
    ET_OK(rondo_counter_add(c, 5));
    ET_OK(rondo_event_wait(event, -1));
    cr_assert_eq(behind, 2);
    /* One whose source is gone is complete. */
    ET_OK(rondo_counter_destroy(c));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 },
                                -1, &r));
    cr_assert_eq(behind, 3);
    value.value = &bogus;
    ET_IS(rondo_replay_and_wait(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 },
                                -1, &r),
          RONDO_ERR_FAILED);
    cr_assert_str_eq(r.node, "until");
    cr_assert(strstr(r.message, "no event of this process"), "%s", r.message);
    cr_assert_eq(behind, 3);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

/* A replay that fails while a later one waits for what nobody raises: the wait is called off. */
static int fail_when_told(rondo_task *self, const void *arg)
{
    tally *go = rondo_task_context(self);
    (void)arg;
    while (!atomic_load(go))
        sched_yield();
    return rondo_task_fail(self, "told to");
}

static void wait_called_off(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally go = 0, behind = 0;
    rondo_counter c;
    rondo_subgraph g;
    rondo_event event[2];
    rondo_result r;
    ET_OK(rondo_counter_create(rt, 1, &c));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    /* The token keeps the second replay's from failing first. */
    rondo_slot turn =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "turn", .shape = { 0, { 1 }, { 0 } } });
    rondo_access access = rondo_read_write(turn, rondo_whole());
    ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "fails",
                                                       .fn = fail_when_told,
                                                       .context = &go,
                                                       .accesses = &access,
                                                       .access_count = 1,
                                                       .on = RONDO_CPU(workers - 1) }));
    rondo_node wait =
        rondo_record_wait(g, &(rondo_sync_desc){ .counter = c, .first = 1, .step = 1 });
    ET_HANDLE(counting_task(g, "behind", &behind, wait));
    rondo_exec exec = instantiate(g, mode);
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_replay(exec, NULL, &event[i]));
    atomic_store(&go, 1);
    ET_OK(rondo_event_wait(event[1], -1)); /* nobody ever raises the counter to 2 */
    ET_OK(rondo_event_result(event[0], &r));
    cr_assert_eq(r.status, RONDO_ERR_FAILED);
    ET_OK(rondo_event_result(event[1], &r));
    cr_assert_eq(r.status, RONDO_ERR_CANCELLED, "%s, %u workers: %s at %s: %s", mode->name, workers,
                 rondo_status_string(r.status), r.node, r.message);
    cr_assert_eq(behind, 1);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_counter_destroy(c));
    ET_CLOSE(rt);
}

/* ---- detached tasks */

enum { IN_TASK = 1, IN_TASK_FAILED, LATER, RETURNS_ERROR, NEVER_DETACHES, TWICE };

struct detached {
    uint32_t how;          /* of the replay to come */
    tally begun;           /* functions that have returned, or are about to */
    rondo_completion open; /* of the last one begun */
    uint64_t second;       /* of a second detach */
};

static int detach(rondo_task *self, const void *arg)
{
    struct detached *d = *(struct detached *const *)arg;
    int code = 0;
    if (d->how != NEVER_DETACHES)
        d->open = rondo_task_detach(self);
    if (d->how == TWICE)
        d->second = rondo_task_detach(self).id;
    if (d->how == IN_TASK || d->how == TWICE)
        code = rondo_completion_finish(d->open, RONDO_OK, NULL) != RONDO_OK;
    if (d->how == IN_TASK_FAILED)
        code = rondo_completion_finish(d->open, RONDO_ERR_FAILED, "no luck") != RONDO_OK;
    if (d->how == RETURNS_ERROR)
        code = 7;
    atomic_fetch_add(&d->begun, 1);
    return code;
}

static rondo_exec detached_exec(rondo_runtime rt, const struct et_mode *mode, struct detached *d,
                                tally *behind)
{
    rondo_subgraph g;
    rondo_node node;
    rondo_exec exec;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    node = rondo_record_task(g, &(rondo_task_desc){ .name = "detached",
                                                    .fn = detach,
                                                    .arg = &d,
                                                    .arg_bytes = sizeof d,
                                                    .flags = RONDO_NO_ACCESS | RONDO_DETACHED });
    ET_HANDLE(node);
    ET_HANDLE(counting_task(g, "behind", behind, node));
    exec = instantiate(g, mode);
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

static void detach_at_once(const struct et_mode *mode, uint32_t workers)
{
    static const struct {
        uint32_t how;
        rondo_status status;
        uint64_t behind;
        const char *message;
    } cases[] = {
        { IN_TASK, RONDO_OK, 1, "" },
        { NEVER_DETACHES, RONDO_OK, 1, "" },
        { TWICE, RONDO_OK, 1, "" },
        { IN_TASK_FAILED, RONDO_ERR_FAILED, 0, "no luck" },
        { RETURNS_ERROR, RONDO_ERR_FAILED, 0, "returned 7" },
    };
    rondo_runtime rt = et_runtime(workers);
    struct detached d = { 0 };
    tally behind = 0;
    rondo_exec exec = detached_exec(rt, mode, &d, &behind);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rondo_result r;
        d.how = cases[i].how;
        d.second = 0;
        atomic_store(&behind, 0);
        ET_IS(rondo_replay_and_wait(exec, NULL, -1, &r), cases[i].status);
        cr_assert_eq(behind, cases[i].behind, "%s: case %zu", mode->name, i);
        cr_assert_str_eq(r.message, cases[i].message);
        cr_assert_eq(d.second, 0);
        if (d.how != NEVER_DETACHES) /* finished, or void */
            ET_IS(rondo_completion_finish(d.open, RONDO_OK, NULL), RONDO_ERR_STALE);
        ET_OK(rondo_exec_reset(exec));
    }
    ET_IS(rondo_completion_finish((rondo_completion){ 0 }, RONDO_OK, NULL), RONDO_ERR_INVALID);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

static void detach_until_later(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    struct detached d = { .how = LATER };
    tally behind = 0;
    rondo_result r;
    rondo_event event;
    rondo_exec exec = detached_exec(rt, mode, &d, &behind);
    for (uint64_t i = 0; i < 20; i++) {
        ET_OK(rondo_replay(exec, NULL, &event));
        cr_assert(et_await(&d.begun, i + 1));
        if (i % 4 == 0)
            ET_IS(rondo_event_wait(event, 1000000), RONDO_ERR_AGAIN);
        cr_assert_eq(behind, i);
        ET_IS(rondo_completion_finish(d.open, RONDO_ERR_AGAIN, NULL), RONDO_ERR_INVALID);
        ET_OK(rondo_completion_finish(d.open, RONDO_OK, NULL));
        ET_OK(rondo_event_wait(event, -1));
        cr_assert_eq(behind, i + 1);
        ET_IS(rondo_completion_finish(d.open, RONDO_OK, NULL), RONDO_ERR_STALE);
    }
    ET_OK(rondo_replay(exec, NULL, &event));
    cr_assert(et_await(&d.begun, 21));
    ET_OK(rondo_completion_finish(d.open, RONDO_ERR_FAILED, "the disk is full"));
    ET_OK(rondo_event_wait(event, -1));
    ET_OK(rondo_event_result(event, &r));
    cr_assert_eq(r.status, RONDO_ERR_FAILED);
    cr_assert_str_eq(r.node, "detached");
    cr_assert_str_eq(r.message, "the disk is full");
    cr_assert_eq(behind, 20);
    /* The exec goes while one is open: it waits for it. */
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_replay(exec, NULL, &event));
    cr_assert(et_await(&d.begun, 22));
    ET_OK(rondo_exec_destroy(exec));
    ET_IS(rondo_event_wait(event, 1000000), RONDO_ERR_AGAIN);
    ET_OK(rondo_completion_finish(d.open, RONDO_OK, NULL));
    ET_OK(rondo_event_wait(event, -1));
    ET_IS(rondo_completion_finish(d.open, RONDO_OK, NULL), RONDO_ERR_STALE);
    ET_CLOSE(rt);
    cr_assert_eq(behind, 21);
}

/* ---- scratch */

static int use_scratch(rondo_task *self, const void *arg)
{
    size_t bytes = *(const size_t *)arg;
    unsigned char *block = rondo_task_scratch(self, bytes);
    uint64_t *seen;
    if (!block || (uintptr_t)block % 64)
        return rondo_task_fail(self, "no scratch, or not aligned");
    seen = (uint64_t *)(void *)block; /* counts the tasks of this lane, whatever the size */
    if (*seen > self->replay * 2 + 1)
        return rondo_task_fail(self, "what is there is not what was left there");
    if (bytes > sizeof *seen)
        memset(block + sizeof *seen, (int)bytes, bytes - sizeof *seen);
    ++*seen;
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

/* Two tasks of one lane, then a reader that looks at what both left. */
static int read_scratch(rondo_task *self, const void *arg)
{
    uint64_t *seen = rondo_task_scratch(self, 8);
    (void)arg;
    return *seen == 2 * (self->replay + 1) ? 0 : rondo_task_fail(self, "contents were not kept");
}

static int clear_scratch(rondo_task *self, const void *arg)
{
    (void)arg;
    if (!self->replay)
        *(uint64_t *)rondo_task_scratch(self, 8) = 0;
    return 0;
}

static void scratch(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    tally used = 0;
    rondo_subgraph g;
    const size_t bytes[] = { 16, 100000 };
    rondo_node last = { 0 };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (int i = 0; i < 4; i++) {
        rondo_task_desc d = { .fn = i == 0   ? clear_scratch
                                    : i == 3 ? read_scratch
                                             : use_scratch,
                              .context = &used,
                              .on = RONDO_CPU(workers - 1),
                              .flags = RONDO_NO_ACCESS,
                              .after = &last,
                              .after_count = i != 0 };
        if (i == 1 || i == 2) {
            d.arg = &bytes[i - 1];
            d.arg_bytes = sizeof *bytes;
        }
        last = rondo_record_task(g, &d);
        ET_HANDLE(last);
    }
    /* Static: a change of plan is a change of lanes. */
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = RONDO_STATIC };
    rondo_exec exec;
    ET_OK(rondo_instantiate(g, &o, &exec));
    for (int i = 0; i < 50; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(used, 100);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

static const struct et_mode_case cases[] = {
    { "a wait for a counter", wait_for_counter },
    { "two execs wait for each other", crossed },
    { "a wait for an event", wait_for_event },
    { "a wait is called off", wait_called_off },
    { "detached, over at once", detach_at_once },
    { "detached, over later", detach_until_later },
    { "scratch", scratch },
};

Test(engine_pending, every_case_in_every_mode)
{
    et_every_mode(cases, sizeof cases / sizeof *cases);
}

/* ---- completions finished by many threads */

struct finishers {
    _Atomic(uint64_t) handle, finished, refused, stop;
};

static void *finish_what_is_open(void *context)
{
    struct finishers *f = context;
    while (!atomic_load(&f->stop)) {
        rondo_completion c = { atomic_load(&f->handle) };
        if (!c.id)
            continue;
        if (rondo_completion_finish(c, RONDO_OK, NULL) == RONDO_OK)
            atomic_fetch_add(&f->finished, 1);
        else
            atomic_fetch_add(&f->refused, 1);
    }
    return NULL;
}

static int open_completion(rondo_task *self, const void *arg)
{
    struct finishers *f = rondo_task_context(self);
    (void)arg;
    atomic_store(&f->handle, rondo_task_detach(self).id);
    return 0;
}

Test(engine_pending, a_completion_is_finished_once)
{
    const uint64_t replays = et_scaled(5000, 500);
    struct finishers f = { 0 };
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g;
    pthread_t thread[2];
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = open_completion, .context = &f, .flags = RONDO_NO_ACCESS | RONDO_DETACHED }));
    rondo_exec exec = instantiate(g, &et_modes[1]);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, finish_what_is_open, &f);
    et_alarm(120, "%s", "a completion finished by two threads: hangs\n");
    for (uint64_t i = 0; i < replays; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    et_alarm(0, "%s", "");
    atomic_store(&f.stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    cr_assert_eq(f.finished, replays);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}
