/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: the first replays are interpreted and timed, then nodes are placed by what they took.
 */
#include "tests/engine/every_mode.h"
#include "tests/engine/short_memory.h"

#include <pthread.h>
#include <stdio.h>

enum { NODES = 8 };

struct work {
    _Atomic(uint64_t) runs[NODES], sum;
    int64_t spin_ns[NODES];
};
static struct work work;

static int do_work(rondo_task *self, const void *arg)
{
    uint64_t i = *(const uint64_t *)arg, value;
    memcpy(&value, rondo_task_param(self, 0), sizeof value);
    if (work.spin_ns[i])
        for (int64_t end = et_now_ns() + work.spin_ns[i]; et_now_ns() < end;)
            ;
    atomic_fetch_add(&work.runs[i], 1);
    atomic_fetch_add(&work.sum, value);
    return 0;
}

struct recorded {
    rondo_subgraph g;
    rondo_param param;
    rondo_node node[NODES];
};

/* Independent nodes; the first two take long. */
static struct recorded record(rondo_runtime rt, int64_t long_ns)
{
    struct recorded r;
    const uint64_t one = 1;
    memset(&work, 0, sizeof work);
    work.spin_ns[0] = work.spin_ns[1] = long_ns;
    ET_OK(rondo_subgraph_create(rt, NULL, &r.g));
    r.param = rondo_subgraph_param(r.g, "p", sizeof one, &one);
    for (uint64_t i = 0; i < NODES; i++) {
        r.node[i] = rondo_record_task(r.g, &(rondo_task_desc){ .fn = do_work,
                                                               RONDO_ARG(i),
                                                               RONDO_PARAMS(r.param),
                                                               .flags = RONDO_NO_ACCESS });
        ET_HANDLE(r.node[i]);
    }
    return r;
}

static void check_runs(uint64_t replays)
{
    for (int i = 0; i < NODES; i++)
        cr_assert_eq(atomic_load(&work.runs[i]), replays, "node %d ran %llu times, not %llu", i,
                     (unsigned long long)atomic_load(&work.runs[i]), (unsigned long long)replays);
}

static void add_text(void *context, const char *text)
{
    strncat(context, text, 8191 - strlen(context));
}

static int says(rondo_exec exec, const char *text)
{
    char page[8192] = "";
    ET_OK(rondo_exec_describe(exec, add_text, page));
    return strstr(page, text) != NULL;
}

static rondo_node_info info_of(rondo_exec exec, rondo_node node)
{
    rondo_node_info info;
    ET_OK(rondo_exec_node_info(exec, node, &info));
    return info;
}

static const struct em_mode profiled[] = {
    { "static serial", RONDO_AUTO, RONDO_SERIAL, RONDO_STATIC },
    { "static pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_STATIC },
    { "dataflow serial", RONDO_AUTO, RONDO_SERIAL, RONDO_DATAFLOW },
    { "dataflow pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_DATAFLOW },
    { "static concurrent", RONDO_AUTO, RONDO_CONCURRENT, RONDO_STATIC },
    { "auto serial", RONDO_AUTO, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "interpreted", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_STATIC },
};
enum { PROFILED = sizeof profiled / sizeof *profiled };

/* Two nodes long, the others short. A preempted one takes milliseconds: beside it a second
 * processor may win too little. */
static int two_were_long(rondo_exec exec, const struct recorded *r)
{
    double a = info_of(exec, r->node[0]).mean_ns, b = info_of(exec, r->node[1]).mean_ns, sum = 0;
    for (int i = 2; i < NODES; i++)
        sum += info_of(exec, r->node[i]).mean_ns;
    return a < 2 * b && b < 2 * a && sum < (a < b ? a : b) / 2;
}

/* ---- replay by replay */

/* 1: no node was preempted for long while it was timed, so that it is known which go where. */
static int profile(const struct em_mode *m, uint32_t workers, uint32_t replays)
{
    int undisturbed;
    rondo_runtime rt = et_runtime(workers);
    struct recorded r = record(rt, 300000);
    rondo_instantiate_options o = em_options(m, 4);
    char placed[64];
    rondo_exec exec;
    o.profile = replays;
    (void)snprintf(placed, sizeof placed, "placed by the mean costs of %u timed replays", replays);
    ET_OK(rondo_instantiate(r.g, &o, &exec));
    for (uint32_t i = 0; i < replays; i++) {
        cr_assert(says(exec, "interpreted now") && !says(exec, "placed by"), "%s", m->name);
        ET_OK(rondo_replay(exec, NULL, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(info_of(exec, r.node[0]).runs, replays);
    cr_assert_geq(info_of(exec, r.node[1]).min_ns, 300000.0);
    for (int i = 0; i < 20; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 5 }, -1, NULL));
    cr_assert(says(exec, placed), "%s", m->name);
    cr_assert_eq(says(exec, "interpreted now"), m->mode == RONDO_INTERPRETED);
    for (int i = 0; i < NODES; i++) /* the rest is not timed */
        cr_assert_eq(info_of(exec, r.node[i]).runs, replays, "%s", m->name);
    check_runs(replays + 25);
    /* Said to cost the same, they were in one row of eight. Auto may be trying one lane. */
    undisturbed = two_were_long(exec, &r);
    if (workers > 1 && m->schedule != RONDO_SCHEDULE_AUTO && undisturbed)
        cr_assert(info_of(exec, r.node[0]).processor != info_of(exec, r.node[1]).processor, "%s",
                  m->name);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
    return undisturbed;
}

static void profile_undisturbed(const struct em_mode *m, uint32_t workers, uint32_t replays)
{
    int tries = 0;
    while (!profile(m, workers, replays))
        cr_assert_lt(++tries, 50, "%s: the machine never is quiet for %u replays", m->name,
                     replays);
}

Test(engine_profile, nodes_are_placed_by_what_they_took)
{
    for (uint32_t k = 0; k < PROFILED; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&profiled[k], workers);
            profile_undisturbed(&profiled[k], workers, 10);
            profile_undisturbed(&profiled[k], workers, 1);
        }
    et_alarm(0, "done");
}

/* ---- as one call */

static void call_done(void *context, rondo_event event)
{
    atomic_fetch_add((_Atomic(uint64_t) *)context, event.count);
}

static void one_call(const struct em_mode *m, int wait)
{
    enum { COUNT = 400 };
    rondo_runtime rt = et_runtime(2);
    struct recorded r = record(rt, 0);
    rondo_instantiate_options o = em_options(m, 4);
    uint64_t values[COUNT], sum = 0;
    _Atomic(uint64_t) done = 0;
    rondo_exec exec;
    rondo_event event;
    o.profile = 7;
    ET_OK(rondo_instantiate(r.g, &o, &exec));
    for (uint64_t i = 0; i < COUNT; i++)
        sum += NODES * (values[i] = i * i);
    const rondo_replay_args args = { .values = &(rondo_value){ r.param, values, sizeof *values },
                                     .value_count = 1,
                                     .count = COUNT,
                                     .done = call_done,
                                     .context = &done };
    if (wait) {
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
    } else {
        ET_OK(rondo_replay(exec, &args, &event));
        cr_assert_eq(event.count, COUNT);
        ET_OK(rondo_event_wait(event, -1));
    }
    check_runs(COUNT);
    cr_assert_eq(atomic_load(&work.sum), sum);
    cr_assert(et_await(&done, COUNT)); /* who waits may be faster */
    cr_assert_eq(atomic_load(&done), COUNT, "%s", m->name);
    cr_assert_eq(info_of(exec, r.node[3]).runs, 7, "%s", m->name);
    cr_assert(says(exec, "of 7 timed replays"), "%s", m->name);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
}

Test(engine_profile, one_call_of_many_is_profiled_at_its_begin)
{
    for (uint32_t k = 0; k < PROFILED; k++)
        for (int wait = 0; wait < 2; wait++) {
            EM_TRY(&profiled[k], 2);
            one_call(&profiled[k], wait);
        }
    et_alarm(0, "done");
}

/* Where a call may not wait, it is not split, and nothing is lost. */
Test(engine_profile, a_call_that_may_not_wait_is_told_so)
{
    rondo_runtime rt = et_runtime(2);
    struct recorded r = record(rt, 1000000);
    rondo_instantiate_options o = { .profile = 4, .window = 4 };
    rondo_replay_args no_wait = { .flags = RONDO_NO_WAIT };
    rondo_exec exec;
    rondo_status status;
    uint64_t taken = 4, refused = 0;
    et_alarm(60, "%s", __func__);
    ET_OK(rondo_instantiate(r.g, &o, &exec));
    for (int i = 0; i < 4; i++)
        ET_OK(rondo_replay(exec, &no_wait, NULL));
    while (taken < 10) {
        status = rondo_replay(exec, &no_wait, NULL);
        if (status)
            ET_IS(status, RONDO_ERR_AGAIN);
        taken += !status;
        refused += status != RONDO_OK;
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    check_runs(10);
    cr_assert(refused > 0);
    cr_assert(says(exec, "placed by the mean"));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- changes meanwhile */

static void change(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    struct recorded r = record(rt, 0);
    rondo_instantiate_options o = em_options(m, 4);
    rondo_exec exec;
    o.profile = 6;
    ET_OK(rondo_instantiate(r.g, &o, &exec));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_set_mode(exec, RONDO_INTERPRETED)); /* stays so behind the profile */
    for (int i = 0; i < 9; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert(says(exec, "placed by the mean") && says(exec, "interpreted now"), "%s", m->name);
    ET_OK(rondo_exec_set_mode(exec, RONDO_AUTO));
    ET_OK(rondo_exec_update(exec, r.g)); /* another profile */
    for (int i = 0; i < 5; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    cr_assert(!says(exec, "placed by the mean"));
    ET_OK(rondo_exec_enable(exec, r.node[7], 0)); /* has no time of its own in the last one */
    ET_OK(rondo_exec_update_task(exec, r.node[6],
                                 &(rondo_task_desc){ .fn = do_work, RONDO_ARG((uint64_t){ 5 }) }));
    for (int i = 0; i < 9; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert(says(exec, "placed by the mean"));
    cr_assert_eq(info_of(exec, r.node[0]).runs, 6);
    cr_assert_eq(info_of(exec, r.node[7]).runs, 5);
    cr_assert_eq(atomic_load(&work.runs[7]), 17);
    cr_assert_eq(atomic_load(&work.runs[5]), 26 + 9);
    cr_assert_eq(atomic_load(&work.runs[6]), 17);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
}

Test(engine_profile, an_exec_is_changed_while_it_is_profiled)
{
    for (uint32_t k = 0; k < PROFILED; k++) {
        EM_TRY(&profiled[k], 2);
        change(&profiled[k]);
    }
    et_alarm(0, "done");
}

/* An auto exec goes on to try what the profile's placement leaves open. */
Test(engine_profile, an_automatic_schedule_goes_on_from_there)
{
    rondo_runtime rt = et_runtime(2);
    struct recorded r = record(rt, 100000);
    rondo_exec exec;
    int64_t end = et_now_ns() + 60000000000;
    uint64_t n = 0;
    et_alarm(90, "%s", __func__);
    ET_OK(rondo_instantiate(r.g, &(rondo_instantiate_options){ .profile = 5 }, &exec));
    cr_assert(says(exec, "after the profile"));
    for (; !says(exec, ", the least of") && et_now_ns() < end; n++)
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert(says(exec, ", the least of lanes"));
    cr_assert(says(exec, "placed by the mean costs of 5 timed replays"));
    check_runs(n);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- threads */

struct submitter {
    rondo_exec exec;
    uint64_t rounds;
    _Atomic(uint64_t) *replays;
};

static void *submit(void *context)
{
    struct submitter *s = context;
    for (uint64_t i = 0; i < s->rounds; i++) {
        uint64_t count = i % 4 == 3 ? 30 : 1;
        if (i % 3)
            ET_OK(rondo_replay(s->exec, &(rondo_replay_args){ .count = count }, NULL));
        else
            ET_OK(rondo_replay_and_wait(s->exec, &(rondo_replay_args){ .count = count }, -1, NULL));
        atomic_fetch_add(s->replays, count);
    }
    return NULL;
}

static void crowd(const struct em_mode *m, uint32_t profile_replays)
{
    rondo_runtime rt = et_runtime(2);
    struct recorded r = record(rt, 0);
    rondo_instantiate_options o = em_options(m, 4);
    _Atomic(uint64_t) replays = 0;
    struct submitter s = { .rounds = 20, .replays = &replays };
    pthread_t thread[3];
    o.profile = profile_replays;
    ET_OK(rondo_instantiate(r.g, &o, &s.exec));
    for (int i = 0; i < 3; i++)
        cr_assert(!pthread_create(&thread[i], NULL, submit, &s));
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    ET_OK(rondo_exec_wait(s.exec, NULL));
    check_runs(atomic_load(&replays));
    cr_assert(says(s.exec, "placed by the mean"), "%s", m->name);
    ET_OK(rondo_exec_destroy(s.exec));
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
}

Test(engine_profile, threads_submit_while_it_is_profiled)
{
    for (uint32_t k = 0; k < PROFILED; k++)
        for (uint32_t n = 1; n < 50; n = 3 * n + 1) {
            EM_TRY(&profiled[k], 2);
            crowd(&profiled[k], n);
        }
    et_alarm(0, "done");
}

/* ---- memory */

Test(engine_profile, no_memory_for_another_placement_is_no_failure)
{
    char list[256];
    rondo_runtime rt;
    struct recorded r;
    uint64_t total = 0, kept = 0, enough = 0;
    int none;
    et_alarm(120, "%s", __func__);
    et_cpu_list(2, list, sizeof list);
    begin_memory(0, 0);
    ET_OK(rondo_runtime_open(
        &(rondo_runtime_options){
            .cpus = list, .allocate = allocate, .release = release, .context = &hooks },
        &rt));
    r = record(rt, 0);
    for (long long i = 1; enough < 8 && i < 2000; i++) {
        rondo_exec exec;
        rondo_instantiate_options o = em_options(&profiled[i % 4], 4);
        o.profile = 3;
        ET_OK(rondo_instantiate(r.g, &o, &exec));
        for (int n = 0; n < 3; n++, total++)
            ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        begin_memory(i, i % 8 < 4);
        for (int n = 0; n < 10; n++, total++)
            ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        begin_memory(0, 0);
        none = says(exec, "placed by cost_ns: no plan by measured costs");
        kept += (uint64_t)none;
        enough += (uint64_t)!none;
        /* The lanes that dataflow profiles on are there to be interpreted only. */
        cr_assert_eq(says(exec, "compiled now"),
                     !none || profiled[i % 4].schedule != RONDO_DATAFLOW, "%s, block %lld",
                     profiled[i % 4].name, i);
        ET_OK(rondo_exec_destroy(exec));
    }
    check_runs(total);
    cr_assert(kept > 0 && enough == 8, "%llu", (unsigned long long)kept);
    ET_OK(rondo_subgraph_destroy(r.g));
    ET_CLOSE(rt);
    cr_assert_eq(atomic_load(&hooks.live), 0);
    et_alarm(0, "done");
}
