/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_SCHEDULE_AUTO: live replays are tried on every core, the best is kept, and whatever happens
 * meanwhile each node runs once per replay. */
#include "tests/engine/every_mode.h"
#include "tests/engine/short_memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { MOST = 512 };

struct work {
    _Atomic(uint64_t) runs[MOST], sum;
    _Atomic(int64_t) spin_ns[MOST];
};
static struct work work;

static int do_work(rondo_task *self, const void *arg)
{
    uint64_t i = *(const uint64_t *)arg;
    int64_t ns = atomic_load(&work.spin_ns[i]);
    (void)self;
    if (ns)
        for (int64_t end = et_now_ns() + ns; et_now_ns() < end;)
            ;
    atomic_fetch_add(&work.runs[i], 1);
    return 0;
}

/* `chains` chains of `length` nodes which are said to cost much. */
static rondo_subgraph record(rondo_runtime rt, uint64_t chains, uint64_t length, double cost_ns)
{
    rondo_subgraph g;
    rondo_node before = { 0 };
    memset(&work, 0, sizeof work);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "tried" }, &g));
    for (uint64_t i = 0; i < chains * length; i++) {
        before = rondo_record_task(g, &(rondo_task_desc){ .fn = do_work,
                                                          RONDO_ARG(i),
                                                          .after = i % length ? &before : NULL,
                                                          .after_count = i % length != 0,
                                                          .cost_ns = cost_ns,
                                                          .flags = RONDO_NO_ACCESS });
        ET_HANDLE(before);
    }
    return g;
}

static void check_runs(uint64_t nodes, uint64_t replays)
{
    for (uint64_t i = 0; i < nodes; i++)
        cr_assert_eq(atomic_load(&work.runs[i]), replays, "node %llu ran %llu times, not %llu",
                     (unsigned long long)i, (unsigned long long)atomic_load(&work.runs[i]),
                     (unsigned long long)replays);
}

/* ---- what the description says */

static void add_text(void *context, const char *text)
{
    strncat(context, text, 8191 - strlen(context));
}

struct told {
    int settled;
    char best[32];
    double figure[4]; /* lanes, one lane, dataflow, interpreted; 0: not tried */
    uint32_t trials;
    char page[8192];
};

static const char *const candidates[] = { "lanes", "one lane", "dataflow", "interpreted" };

static struct told ask(rondo_exec exec)
{
    struct told t = { 0 };
    const char *at, *end;
    ET_OK(rondo_exec_describe(exec, add_text, t.page));
    at = strstr(t.page, "auto: ");
    if (!at || !(end = strstr(at, ", the least of")))
        return t;
    t.settled = 1;
    (void)snprintf(t.best, sizeof t.best, "%.*s", (int)(end - at - 6), at + 6);
    at = end + strlen(", the least of");
    for (int i = 0; i < 4; i++) {
        char name[32];
        const char *found;
        (void)snprintf(name, sizeof name, " %s ", candidates[i]);
        found = strstr(at, name);
        if (i == 0 && found != at)
            found = NULL;
        if (found)
            t.figure[i] = strtod(found + strlen(name), NULL);
    }
    at = strstr(at, "trials: ");
    cr_assert(at != NULL, "%s", t.page);
    t.trials = (uint32_t)strtoul(at + 8, NULL, 10);
    return t;
}

/* It chose the candidate that its own figures say. */
static void check_told(const struct told *t)
{
    int best = -1;
    cr_assert(t->settled, "%s", t->page);
    for (int i = 0; i < 4; i++)
        if (t->figure[i] > 0 && (best < 0 || t->figure[i] < t->figure[best]))
            best = i;
    cr_assert(best >= 0, "%s", t->page);
    for (int i = 0; i < 4; i++)
        if (!strcmp(t->best, candidates[i])) /* printed to two digits */
            cr_assert(t->figure[i] <= t->figure[best] + 0.011, "%s", t->page);
}

static uint64_t replay_until_settled(rondo_exec exec, uint32_t trials, int wait)
{
    uint64_t n = 0;
    int64_t end = et_now_ns() + 60000000000;
    struct told t;
    do {
        for (int i = 0; i < 50; i++, n++)
            if (wait)
                ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
            else
                ET_OK(rondo_replay(exec, NULL, NULL));
        t = ask(exec);
    } while ((!t.settled || t.trials < trials) && et_now_ns() < end);
    check_told(&t);
    return n;
}

static const struct em_mode auto_modes[] = {
    { "auto serial", RONDO_AUTO, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "auto pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO },
};

/* ---- case 13 */

Test(engine_auto, one_tiny_node_has_no_choice_and_says_why)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 1, 1, 0);
    rondo_exec exec;
    struct told t;
    et_alarm(60, "%s", __func__);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 100 }, -1, NULL));
    t = ask(exec);
    cr_assert(strstr(t.page, "auto: one lane"), "%s", t.page);
    cr_assert(strstr(t.page, "ns predicted"), "%s", t.page);
    check_runs(1, 100);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* Costs that are wrong: what is said to take long takes nothing, or one node takes all. */
static void choose(const struct em_mode *m, uint64_t chains, uint64_t length, int64_t first_ns,
                   int wait)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, chains, length, 100000);
    rondo_instantiate_options o = em_options(m, 4);
    rondo_exec exec;
    uint64_t n;
    atomic_store(&work.spin_ns[0], first_ns);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    n = replay_until_settled(exec, 1, wait);
    ET_OK(rondo_exec_wait(exec, NULL));
    check_runs(chains * length, n);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_auto, the_best_by_its_own_figures_is_kept)
{
    for (int k = 0; k < 2; k++)
        for (int wait = 0; wait < 2; wait++) {
            EM_TRY(&auto_modes[k], 2);
            choose(&auto_modes[k], 2, 1, 0, wait);
            choose(&auto_modes[k], 8, 4, 0, wait);
            choose(&auto_modes[k], 16, 1, 100000, wait);
        }
    et_alarm(0, "done");
}

/* Where one lane does everything in no time, two that hand over are not chosen. */
Test(engine_auto, figures_of_all_are_there)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 4, 8, 100000);
    rondo_exec exec;
    struct told t;
    et_alarm(60, "%s", __func__);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    replay_until_settled(exec, 1, 1);
    t = ask(exec);
    for (int i = 0; i < 4; i++)
        cr_assert(t.figure[i] > 0, "%s: %s", candidates[i], t.page);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- one call of very many */

static int add_value(rondo_task *self, const void *arg)
{
    uint64_t value;
    (void)arg;
    memcpy(&value, rondo_task_param(self, 0), sizeof value);
    if (value != self->replay)
        return rondo_task_fail(self, "another replay's value");
    atomic_fetch_add(&work.sum, value);
    atomic_fetch_add(&work.runs[MOST - 1], 1);
    return 0;
}

static void call_done(void *context, rondo_event event)
{
    atomic_fetch_add((_Atomic(uint64_t) *)context, event.count);
}

static void many(const struct em_mode *m, int wait)
{
    const uint64_t count = et_scaled(100000, 3000);
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 2, 2, 100000);
    rondo_param p = rondo_subgraph_param(g, "value", sizeof(uint64_t), NULL);
    rondo_instantiate_options o = em_options(m, 4);
    uint64_t *values = malloc(count * sizeof *values);
    _Atomic(uint64_t) done = 0;
    rondo_exec exec;
    rondo_event event;
    rondo_result result;
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = add_value, RONDO_PARAMS(p), .cost_ns = 100000, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (uint64_t i = 0; i < count; i++)
        values[i] = i;
    atomic_store(&work.spin_ns[0], 1000);
    const rondo_replay_args args = { .values = &(rondo_value){ p, values, sizeof *values },
                                     .value_count = 1,
                                     .count = count,
                                     .done = call_done,
                                     .context = &done };
    if (wait) {
        ET_OK(rondo_replay_and_wait(exec, &args, -1, &result));
    } else {
        ET_OK(rondo_replay(exec, &args, &event));
        memset(values, 0xff, count * sizeof *values); /* copied */
        ET_OK(rondo_event_wait(event, -1));
        cr_assert_eq(event.count, count);
        ET_OK(rondo_event_result(event, &result));
    }
    cr_assert_eq(result.replay, count - 1);
    cr_assert_eq(result.replays_run, count);
    check_runs(4, count);
    cr_assert_eq(atomic_load(&work.sum), count * (count - 1) / 2);
    cr_assert(et_await(&done, count)); /* who waits may be faster */
    cr_assert_eq(atomic_load(&done), count);
    /* How soon the other cores are there is the scheduler's business. */
    cr_assert(strstr(ask(exec).page, "auto: "), "%s", ask(exec).page);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
    free(values);
}

Test(engine_auto, one_call_of_many_tries_with_its_first)
{
    for (int k = 0; k < 2; k++)
        for (int wait = 0; wait < 2; wait++) {
            EM_TRY(&auto_modes[k], 2);
            many(&auto_modes[k], wait);
        }
    et_alarm(0, "done");
}

/* A call that may end early is all or nothing. */
Test(engine_auto, a_call_with_a_time_limit_is_not_split)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 2, 1, 100000);
    rondo_exec exec;
    et_alarm(60, "%s", __func__);
    atomic_store(&work.spin_ns[0], 20000);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    ET_IS(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 2000 }, 1000000, NULL),
          RONDO_ERR_AGAIN);
    ET_OK(rondo_exec_wait(exec, NULL));
    check_runs(2, 2000);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- drift */

Test(engine_auto, it_tries_again_when_replays_take_longer)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 2, 1, 100000);
    rondo_exec exec;
    et_alarm(110, "%s", __func__);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    replay_until_settled(exec, 1, 1);
    atomic_store(&work.spin_ns[0], 100000);
    atomic_store(&work.spin_ns[1], 100000);
    replay_until_settled(exec, ask(exec).trials + 1, 1);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- changes meanwhile */

static void set_modes(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 4, 2, 100000);
    rondo_instantiate_options o = em_options(m, 4);
    rondo_exec exec;
    uint64_t n = 0;
    ET_OK(rondo_instantiate(g, &o, &exec));
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t mode = i % 5 == 0 ? RONDO_INTERPRETED : i % 5 == 1 ? RONDO_COMPILED : RONDO_AUTO;
        ET_OK(rondo_exec_set_mode(exec, mode));
        for (uint32_t k = 0; k < i; k++, n++)
            ET_OK(rondo_replay(exec, NULL, NULL));
        if (mode == RONDO_INTERPRETED)
            cr_assert(strstr(ask(exec).page, "interpreted now"), "%s", ask(exec).page);
        if (mode == RONDO_COMPILED)
            cr_assert(strstr(ask(exec).page, "compiled now"), "%s", ask(exec).page);
        if (i == 40)
            ET_OK(rondo_exec_update(exec, g));
    }
    n += replay_until_settled(exec, 1, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    check_runs(8, n);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(engine_auto, modes_are_set_while_it_tries)
{
    for (int k = 0; k < 2; k++) {
        EM_TRY(&auto_modes[k], 2);
        set_modes(&auto_modes[k]);
    }
    et_alarm(0, "done");
}

/* Programs set the mode before every replay; the trial goes on all the same. */
Test(engine_auto, the_mode_that_stands_is_no_change)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 4, 2, 100000);
    rondo_exec exec;
    int64_t end = et_now_ns() + 60000000000;
    uint64_t n = 0;
    et_alarm(120, "%s", __func__);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    for (; !ask(exec).settled && et_now_ns() < end; n++) {
        ET_OK(rondo_exec_set_mode(exec, RONDO_AUTO));
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    }
    cr_assert(ask(exec).settled, "%s", ask(exec).page);
    check_runs(8, n);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

Test(engine_auto, an_exec_ends_or_changes_while_its_cores_are_made)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, MOST / 8, 4, 100000);
    et_alarm(120, "%s", __func__);
    for (uint64_t i = 0; i < et_scaled(80, 16); i++) {
        rondo_instantiate_options o = em_options(&auto_modes[i % 2], 4);
        rondo_exec exec;
        ET_OK(rondo_instantiate(g, &o, &exec));
        for (uint64_t n = 0; n < 5 + i % 8; n++)
            ET_OK(rondo_replay(exec, NULL, NULL));
        if (i % 3 == 1) {
            ET_OK(rondo_exec_update(exec, g));
            for (uint64_t n = 0; n < 5 + i % 8; n++)
                ET_OK(rondo_replay(exec, NULL, NULL));
        }
        if (i % 3 == 2)
            ET_OK(rondo_exec_wait(exec, NULL));
        ET_OK(rondo_exec_destroy(exec));
    }
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- threads */

struct submitter {
    rondo_exec exec;
    _Atomic(uint64_t) *replays;
    uint64_t rounds;
};

static void *submit(void *context)
{
    struct submitter *s = context;
    for (uint64_t i = 0; i < s->rounds; i++) {
        uint64_t count = i % 16 == 7 ? 3 : i % 32 == 11 ? 20 : i == 50 ? 1500 : 1;
        if (i % 3)
            ET_OK(rondo_replay(s->exec, &(rondo_replay_args){ .count = count }, NULL));
        else
            ET_OK(rondo_replay_and_wait(s->exec, &(rondo_replay_args){ .count = count }, -1, NULL));
        atomic_fetch_add(s->replays, count);
    }
    return NULL;
}

static void crowd(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 4, 2, 100000);
    rondo_instantiate_options o = em_options(m, 4);
    _Atomic(uint64_t) replays = 0;
    struct submitter s = { .replays = &replays, .rounds = et_scaled(1000, 100) };
    pthread_t thread[3];
    ET_OK(rondo_instantiate(g, &o, &s.exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 3; i++)
        cr_assert(!pthread_create(&thread[i], NULL, submit, &s));
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    ET_OK(rondo_exec_wait(s.exec, NULL));
    check_runs(8, atomic_load(&replays));
    ET_OK(rondo_exec_destroy(s.exec));
    ET_CLOSE(rt);
}

Test(engine_auto, threads_submit_while_it_tries)
{
    for (int k = 0; k < 2; k++) {
        EM_TRY(&auto_modes[k], 2);
        crowd(&auto_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- memory */

static rondo_runtime short_runtime(void)
{
    char list[256];
    rondo_runtime rt;
    et_cpu_list(2, list, sizeof list);
    begin_memory(0, 0);
    ET_OK(rondo_runtime_open(
        &(rondo_runtime_options){
            .cpus = list, .allocate = allocate, .release = release, .context = &hooks },
        &rt));
    return rt;
}

Test(engine_auto, no_memory_for_other_cores_is_no_failure)
{
    rondo_runtime rt = short_runtime();
    rondo_subgraph g = record(rt, 4, 2, 100000);
    const uint64_t most = et_scaled(80, 20);
    uint64_t total = 0;
    et_alarm(120, "%s", __func__);
    for (uint64_t i = 0; i <= most; i++) {
        rondo_exec exec;
        rondo_instantiate_options o = em_options(&auto_modes[i % 2], 4);
        ET_OK(rondo_instantiate(g, &o, &exec));
        for (int n = 0; n < 4; n++, total++) /* it begins with the fourth */
            ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        /* At the i-th block from here on, or none at all. */
        begin_memory(i == most ? 1 : (long long)i + 1, i % 2 || i == most);
        total += replay_until_settled(exec, 1, 1);
        begin_memory(0, 0);
        check_runs(8, total);
        ET_OK(rondo_exec_destroy(exec));
    }
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    cr_assert_eq(atomic_load(&hooks.live), 0);
    et_alarm(0, "done");
}

Test(engine_auto, once_settled_nothing_is_allocated)
{
    et_alarm(120, "%s", __func__);
    for (int k = 0; k < 2; k++) {
        rondo_runtime rt = et_runtime(2);
        rondo_subgraph g = record(rt, 4, 2, 100000);
        rondo_instantiate_options o = em_options(&auto_modes[k], 4);
        rondo_runtime_statistics before, after;
        rondo_exec exec;
        ET_OK(rondo_instantiate(g, &o, &exec));
        replay_until_settled(exec, 1, 1);
        ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 100 }, -1, NULL));
        ET_OK(rondo_runtime_stats(rt, &before));
        for (uint64_t i = 0; i < et_scaled(3000, 600); i++)
            ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 3000 }, -1, NULL));
        ET_OK(rondo_runtime_stats(rt, &after));
        cr_assert_eq(after.allocations, before.allocations);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(g));
        ET_CLOSE(rt);
    }
    et_alarm(0, "done");
}

/* ---- nodes of every kind */

struct kind {
    const char *name;
    uint32_t flags, bound, when;
};
static const struct kind kinds[] = {
    { "bound", 0, 1, 0 },
    { "blocking", RONDO_MAY_BLOCK, 0, 0 },
    { "detached", RONDO_DETACHED, 0, 0 },
    { "ranks", RONDO_SPMD, 0, 0 },
    { "hosted", RONDO_HOSTED, 0, 0 },
    { "every other", 0, 0, 2 },
    { "stopping", RONDO_MAY_STOP, 0, 0 },
};

static int do_kind(rondo_task *self, const void *arg)
{
    uint64_t flags = *(const uint64_t *)arg;
    atomic_fetch_add(&work.sum, 1);
    if (flags & RONDO_SPMD)
        rondo_task_barrier(self);
    if (flags & RONDO_DETACHED)
        return rondo_completion_finish(rondo_task_detach(self), RONDO_OK, NULL);
    return 0;
}

static void try_kind(const struct em_mode *m, const struct kind *k)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 4, 2, 100000);
    rondo_instantiate_options o = em_options(m, 4);
    uint64_t flags = k->flags, n, want;
    rondo_exec exec;
    ET_HANDLE(
        rondo_record_task(g, &(rondo_task_desc){ .fn = do_kind,
                                                 RONDO_ARG(flags),
                                                 .cost_ns = 50000,
                                                 .on = k->bound ? RONDO_CPU(1) : RONDO_ANY_CPU,
                                                 .when = { .every = k->when },
                                                 .flags = k->flags | RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    n = replay_until_settled(exec, 1, 1);
    n += replay_until_settled(exec, 1, 0);
    for (int i = 0; i < 5; i++, n += 30)
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 30 }, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    check_runs(8, n);
    want = k->flags == RONDO_SPMD ? 2 * n : k->when ? (n + k->when - 1) / k->when : n;
    cr_assert_eq(atomic_load(&work.sum), want, "%s: %llu, not %llu", k->name,
                 (unsigned long long)atomic_load(&work.sum), (unsigned long long)want);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_auto, nodes_of_every_kind_are_tried)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            et_alarm(60, "%s: %s", auto_modes[k].name, kinds[i].name);
            try_kind(&auto_modes[k], &kinds[i]);
        }
    et_alarm(0, "done");
}
