/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of an exec that say where and how much: cpus, priority, window, tracks, helpers. */
#include "tests/engine/every_mode.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 12, MOST = 4096 };

struct seen {
    _Atomic(uint64_t) open, begun, most, now, runs[MOST];
};
static struct seen seen;

static int see(rondo_task *self, const void *arg)
{
    uint64_t now, most;
    (void)arg;
    atomic_fetch_add(&seen.begun, 1);
    now = atomic_fetch_add(&seen.now, 1) + 1;
    most = atomic_load(&seen.most);
    while (now > most && !atomic_compare_exchange_weak(&seen.most, &most, now))
        ;
    while (!atomic_load(&seen.open))
        sched_yield();
    atomic_fetch_add(&seen.runs[self->replay], 1);
    atomic_fetch_sub(&seen.now, 1);
    return 0;
}

static rondo_subgraph record(rondo_runtime rt, uint64_t nodes, rondo_processor on)
{
    rondo_subgraph g;
    memset(&seen, 0, sizeof seen);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "seen" }, &g));
    for (uint64_t i = 0; i < nodes; i++)
        ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "see",
                                                           .fn = see,
                                                           RONDO_ARG(i),
                                                           .on = on,
                                                           .cost_ns = 50000,
                                                           .flags = RONDO_NO_ACCESS }));
    return g;
}

/* ---- cpus */

static void use_cpus(const struct em_mode *m, int which)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    char both[64], one[16];
    rondo_subgraph g;
    rondo_exec exec;
    rondo_exec_counts counts;
    int cpu[2];
    et_cpu_list(2, both, sizeof both);
    cr_assert_eq(sscanf(both, "%d,%d", &cpu[0], &cpu[1]), 2);
    if (cpu[0] == cpu[1])
        return; /* one CPU for both */
    (void)snprintf(one, sizeof one, "%d", cpu[which]);
    o.cpus = one;
    g = record(rt, NODES, RONDO_CPU(0)); /* the exec's first */
    atomic_store(&seen.open, 1);
    ET_OK(rondo_instantiate(g, &o, &exec));
    for (int i = 0; i < 40; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_update(exec, g)); /* on the same ones */
    for (int i = 0; i < 40; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_exec_touch(exec));
    ET_OK(rondo_exec_count(exec, &counts));
    cr_assert_eq(counts.processors, 1);
    for (int i = 0; i < 80; i++)
        cr_assert_eq(atomic_load(&seen.runs[i]), NODES, "%s: replay %d", m->name, i);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    g = record(rt, 1, RONDO_CPU(1)); /* has no second one */
    ET_IS(rondo_instantiate(g, &o, &exec), RONDO_ERR_INVALID);
    ET_SAYS("RONDO_CPU(1)");
    o.cpus = "4000";
    ET_IS(rondo_instantiate(g, &o, &exec), RONDO_ERR_INVALID);
    ET_SAYS("4000");
    o.cpus = "none";
    ET_IS(rondo_instantiate(g, &o, &exec), RONDO_ERR_INVALID);
    ET_SAYS("none");
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(engine_options, an_exec_uses_the_cpus_it_was_given)
{
    for (uint32_t k = 0; k < EM_MODES; k++)
        for (int which = 0; which < 2; which++) {
            EM_TRY(&em_modes[k], 2);
            use_cpus(&em_modes[k], which);
        }
    et_alarm(0, "done");
}

/* ---- windows and tracks */

static void fill(const struct em_mode *m, uint32_t window, uint32_t tracks)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record(rt, 2, RONDO_ANY_CPU);
    rondo_instantiate_options o = em_options(m, window);
    uint64_t taken = 0, room, rounds = et_scaled(200, 40);
    rondo_exec_counts counts;
    rondo_status status;
    rondo_exec exec;
    if (m->order != RONDO_CONCURRENT)
        tracks = 1;
    else
        o.tracks = tracks;
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    room = (window ? window : 4) * (uint64_t)(tracks ? tracks : 4);
    do {
        status = rondo_replay(exec, &(rondo_replay_args){ .flags = RONDO_NO_WAIT }, NULL);
        taken += !status;
    } while (!status && taken <= room);
    cr_assert_eq(status, RONDO_ERR_AGAIN);
    cr_assert_eq(taken, room, "%s: window %u, %u tracks: %llu", m->name, window, tracks,
                 (unsigned long long)taken);
    atomic_store(&seen.open, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    for (uint64_t i = 0; i < rounds; i++) { /* cores are tried, and the window goes round */
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = i % 9 == 8 ? 12 : 1 }, NULL));
        taken += i % 9 == 8 ? 12 : 1;
        if (i % 50 == 49)
            ET_OK(rondo_exec_set_mode(exec, i % 100 == 49 ? RONDO_INTERPRETED : RONDO_AUTO));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    for (uint64_t i = 0; i < taken && i < MOST; i++)
        cr_assert_eq(atomic_load(&seen.runs[i]), 2);
    ET_OK(rondo_exec_count(exec, &counts));
    cr_assert_eq(counts.window, window ? window : 4);
    cr_assert_eq(counts.tracks, tracks ? tracks : 4);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_options, windows_and_tracks_hold_what_they_say)
{
    static const uint32_t windows[] = { 0, 1, 3, 8 }, tracks[] = { 0, 1, 3, 8 };
    for (uint32_t k = 0; k < EM_MODES; k++)
        for (uint32_t w = 0; w < 4; w++)
            for (uint32_t t = 0; t < 4; t++)
                if (!t || em_modes[k].order == RONDO_CONCURRENT) {
                    et_alarm(60, "%s: window %u, %u tracks", em_modes[k].name, windows[w],
                             tracks[t]);
                    fill(&em_modes[k], windows[w], tracks[t]);
                }
    et_alarm(0, "done");
}

/* ---- priority */

struct order {
    _Atomic(uint64_t) open, begun, ended[2], first;
};
static struct order order;

static int block(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    atomic_fetch_add(&order.begun, 1);
    while (!atomic_load(&order.open))
        sched_yield();
    return 0;
}
static int end_in_turn(rondo_task *self, const void *arg)
{
    uint64_t which = *(const uint64_t *)arg;
    (void)self;
    if (!atomic_load(&order.ended[1 - which]))
        atomic_fetch_add(&order.ended[which], 1);
    return 0;
}

static rondo_exec one_task(rondo_runtime rt, rondo_task_fn *fn, uint64_t which, int32_t priority,
                           const struct em_mode *m)
{
    rondo_instantiate_options o = em_options(m, 4);
    rondo_subgraph g;
    rondo_exec exec;
    o.priority = priority;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = fn, RONDO_ARG(which), .on = RONDO_CPU(1), .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

/* A worker that is free turns to the exec of greater priority first, whichever was submitted first
 * and made first. */
static void prefer(const struct em_mode *m, uint64_t greater, int first)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec[2], busy = one_task(rt, block, 0, 0, m);
    memset(&order, 0, sizeof order);
    for (uint64_t i = 0; i < 2; i++)
        exec[i] = one_task(rt, end_in_turn, i, i == greater ? 7 : -7, m);
    ET_OK(rondo_replay(busy, NULL, NULL));
    cr_assert(et_await(&order.begun, 1));
    ET_OK(rondo_replay(exec[first], NULL, NULL));
    ET_OK(rondo_replay(exec[1 - first], NULL, NULL));
    atomic_store(&order.open, 1);
    ET_OK(rondo_runtime_drain(rt));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_exec_wait(exec[i], NULL));
    cr_assert_eq(atomic_load(&order.ended[greater]), 1, "%s", m->name);
    cr_assert_eq(atomic_load(&order.ended[1 - greater]), 0, "%s", m->name);
    ET_OK(rondo_exec_destroy(busy));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_CLOSE(rt);
}

Test(engine_options, workers_prefer_execs_of_greater_priority)
{
    for (uint32_t k = 0; k < EM_ORDERED; k++)
        if (em_modes[k].schedule != RONDO_DATAFLOW) /* its lanes are everybody's */
            for (uint64_t greater = 0; greater < 2; greater++)
                for (int first = 0; first < 2; first++) {
                    EM_TRY(&em_modes[k], 2);
                    prefer(&em_modes[k], greater, first);
                }
    et_alarm(0, "done");
}

/* ---- helpers */

static rondo_subgraph record_blocking(rondo_runtime rt, uint64_t count)
{
    rondo_subgraph g;
    memset(&seen, 0, sizeof seen);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "blocking" }, &g));
    for (uint64_t i = 0; i < count; i++)
        ET_HANDLE(rondo_record_task(
            g, &(rondo_task_desc){
                   .fn = see, RONDO_ARG(i), .flags = RONDO_NO_ACCESS | RONDO_MAY_BLOCK }));
    return g;
}

Test(engine_options, there_are_so_many_helpers_and_no_more)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g = record_blocking(rt, 257);
    rondo_exec exec;
    et_alarm(110, "%s", __func__);
    for (uint32_t s = RONDO_STATIC; s <= RONDO_DATAFLOW; s++) {
        ET_IS(rondo_instantiate(g, &(rondo_instantiate_options){ .schedule = s }, &exec),
              RONDO_ERR_INVALID);
        ET_SAYS("257");
        ET_SAYS("256");
    }
    ET_OK(rondo_subgraph_destroy(g));
    g = record_blocking(rt, 256);
    ET_OK(rondo_instantiate(g, &(rondo_instantiate_options){ .schedule = RONDO_DATAFLOW }, &exec));
    ET_OK(rondo_replay(exec, NULL, NULL));
    cr_assert(et_await(&seen.begun, 256)); /* all of them at once */
    atomic_store(&seen.open, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&seen.most), 256);
    cr_assert_eq(atomic_load(&seen.runs[0]), 256);
    ET_OK(rondo_exec_update(exec, g)); /* with helpers of its own */
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 3 }, -1, NULL));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}
