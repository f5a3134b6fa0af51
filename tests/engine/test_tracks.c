/* SPDX-License-Identifier: BSD-3-Clause */
/* Concurrent replays keep apart what is each one's own: patched arguments in every phase, and
 * failures of before a reset from those after it. */
#include "tests/engine/engine_check.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

enum { TRACKS = 4, WORKERS = 4 };

/* ---- arguments */

struct patched {
    atomic_ullong *wrong;
    uint64_t value;
};

static int look_twice(rondo_task *self, const void *arg)
{
    const struct patched *a = arg;
    const volatile uint64_t *value = &a->value;
    uint64_t given;
    memcpy(&given, rondo_task_param(self, 0), sizeof given);
    for (int i = 0; i < 20; i++) {
        if (*value != given)
            atomic_fetch_add(a->wrong, 1);
        sched_yield();
    }
    return 0;
}

static int do_nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

/* A node that runs every other time, so that the plan has two variants, and one that is patched. */
static rondo_param record_patched(rondo_subgraph g, atomic_ullong *wrong)
{
    struct patched arg = { wrong, 0 };
    rondo_param param = rondo_subgraph_param(g, "value", sizeof arg.value, NULL);
    rondo_patch patch = { param, 0, offsetof(struct patched, value), sizeof arg.value, 0 };
    rondo_node before = rondo_record_task(g, &(rondo_task_desc){ .name = "sometimes",
                                                                 .fn = do_nothing,
                                                                 .flags = RONDO_NO_ACCESS,
                                                                 .when = { .every = 2 } });
    ET_HANDLE(before);
    ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "patched",
                                                       .fn = look_twice,
                                                       .arg = &arg,
                                                       .arg_bytes = sizeof arg,
                                                       .params = &param,
                                                       .param_count = 1,
                                                       .patches = &patch,
                                                       .patch_count = 1,
                                                       RONDO_AFTER(before),
                                                       .flags = RONDO_NO_ACCESS }));
    return param;
}

static void arguments(uint32_t mode)
{
    const uint64_t replays = et_scaled(400, 40);
    atomic_ullong wrong = 0;
    rondo_runtime rt = et_runtime(WORKERS);
    rondo_subgraph g;
    rondo_exec exec;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_param param = record_patched(g, &wrong);
    ET_OK(rondo_instantiate(
        g,
        &(rondo_instantiate_options){ .mode = mode, .order = RONDO_CONCURRENT, .tracks = TRACKS },
        &exec));
    for (uint64_t i = 0; i < replays; i++) {
        rondo_value value = { param, &i, 0 };
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&wrong), 0, "mode %u: %llu values of other replays", mode,
                 (unsigned long long)atomic_load(&wrong));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(tracks, arguments_are_each_tracks_own)
{
    arguments(RONDO_COMPILED);
    arguments(RONDO_INTERPRETED);
}

/* ---- failures */

enum { ROUNDS = 60, PER_ROUND = 9 };

struct pair {
    atomic_uchar first[ROUNDS * PER_ROUND];
    atomic_ullong alone;
};

static int first(rondo_task *self, const void *arg)
{
    struct pair *pair = *(struct pair *const *)arg;
    atomic_store(&pair->first[self->replay], 1);
    sched_yield();
    return 0;
}

static int second(rondo_task *self, const void *arg)
{
    struct pair *pair = *(struct pair *const *)arg;
    if (!atomic_load(&pair->first[self->replay]))
        atomic_fetch_add(&pair->alone, 1);
    return 0;
}

static int fail_early(rondo_task *self, const void *arg)
{
    (void)arg;
    return self->replay % PER_ROUND < 2;
}

static void record_pair(rondo_subgraph g, struct pair *pair)
{
    rondo_node node = { 0 };
    for (int i = 0; i < 6; i++) {
        rondo_task_desc d = { .name = i % 2 ? "second" : "first",
                              .fn = i % 2 ? second : first,
                              .arg = &pair,
                              .arg_bytes = sizeof pair,
                              .after = &node,
                              .after_count = (uint32_t)(i % 2),
                              .flags = RONDO_NO_ACCESS };
        node = rondo_record_task(g, &d);
        ET_HANDLE(node);
    }
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .name = "fails", .fn = fail_early, .flags = RONDO_NO_ACCESS }));
}

/* Replays of several rounds are in flight at once; what fails in a later one says nothing of those
 * that were cancelled before. */
static void rounds(uint32_t mode)
{
    static struct pair pair;
    rondo_runtime rt = et_runtime(WORKERS);
    rondo_subgraph g;
    rondo_exec exec;
    memset(&pair, 0, sizeof pair);
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    record_pair(g, &pair);
    ET_OK(rondo_instantiate(
        g,
        &(rondo_instantiate_options){
            .mode = mode, .order = RONDO_CONCURRENT, .tracks = TRACKS, .window = 8 },
        &exec));
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < PER_ROUND; i++)
            ET_OK(rondo_replay(exec, NULL, NULL));
        ET_OK(rondo_exec_reset(exec));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&pair.alone), 0, "mode %u: %llu ran behind a skipped one", mode,
                 (unsigned long long)atomic_load(&pair.alone));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(tracks, a_reset_is_between_all_tracks)
{
    for (int i = 0; i < 5; i++) {
        rounds(RONDO_COMPILED);
        rounds(RONDO_INTERPRETED);
    }
}
