/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: SPMD nodes whose ranks run at once with a barrier, hosted nodes that have a thread and all
 * CPUs of the team to themselves; failing ranks, teams called off, teams that compete. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

typedef _Atomic(uint64_t) tally;

enum { RANKS_MAX = 4, PHASES = 5 };

/* Each rank writes its cell, and behind the barrier reads the others': phase after phase. */
struct board {
    uint64_t cell[RANKS_MAX];
    tally runs, wrong, inside, two_at_once;
    tally behind;
    _Atomic(uint64_t) fail_rank; /* + 1 */
};

static int play(rondo_task *self, const void *arg)
{
    struct board *b = *(struct board *const *)arg;
    uint32_t ranks = self->team;
    if (self->rank >= ranks)
        return rondo_task_fail(self, "rank and team make no sense");
    for (uint64_t phase = 1; phase <= PHASES; phase++) {
        uint64_t sum = 0;
        b->cell[self->rank] = phase * (self->rank + 1) + self->replay;
        if (phase == 2 && atomic_load(&b->fail_rank) == self->rank + 1)
            return rondo_task_fail(self, self->rank ? "a rank behind" : "rank 0");
        rondo_task_barrier(self);
        for (uint32_t r = 0; r < ranks; r++)
            sum += b->cell[r];
        if (sum != phase * (ranks * (ranks + 1) / 2) + ranks * self->replay &&
            !atomic_load(&b->fail_rank))
            atomic_fetch_add(&b->wrong, 1);
        rondo_task_barrier(self);
    }
    atomic_fetch_add(&b->runs, 1);
    return 0;
}

static int tick(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

struct team {
    rondo_runtime rt;
    rondo_exec exec;
    struct board board[2];
    uint32_t ranks;
};

/* Two teams that nothing orders, and a task behind each. */
static void record_teams(struct team *t, rondo_subgraph g, uint32_t team)
{
    for (int i = 0; i < 2; i++) {
        struct board *b = &t->board[i];
        rondo_node node =
            rondo_record_task(g, &(rondo_task_desc){ .name = i ? "second" : "first",
                                                     .tag = (uint64_t)(5 + i),
                                                     .fn = play,
                                                     .arg = &b,
                                                     .arg_bytes = sizeof b,
                                                     .team = team,
                                                     .on = i ? RONDO_CPU(t->ranks - 1) : 0,
                                                     .flags = RONDO_SPMD | RONDO_NO_ACCESS });
        ET_HANDLE(node);
        ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "behind",
                                                           .fn = tick,
                                                           .context = &b->behind,
                                                           RONDO_AFTER(node),
                                                           .flags = RONDO_NO_ACCESS }));
    }
}

static void open_team(struct team *t, const rondo_instantiate_options *o, uint32_t workers,
                      uint32_t team)
{
    rondo_subgraph g;
    memset(t, 0, sizeof *t);
    t->rt = et_runtime(workers);
    t->ranks = team && team < workers ? team : workers;
    ET_OK(rondo_subgraph_create(t->rt, NULL, &g));
    record_teams(t, g, team);
    ET_OK(rondo_instantiate(g, o, &t->exec));
    ET_OK(rondo_subgraph_destroy(g));
}

static void close_team(struct team *t)
{
    ET_OK(rondo_exec_destroy(t->exec));
    ET_CLOSE(t->rt);
}

static void phases(const rondo_instantiate_options *o, uint32_t workers)
{
    const uint64_t replays = et_scaled(100, 20);
    for (uint32_t team = 0; team <= workers; team++) {
        struct team t;
        open_team(&t, o, workers, team);
        for (uint64_t i = 0; i < replays; i++)
            ET_OK(rondo_replay(t.exec, NULL, NULL));
        ET_OK(rondo_exec_wait(t.exec, NULL));
        for (int i = 0; i < 2; i++) {
            const struct board *b = &t.board[i];
            cr_assert(b->runs == replays * t.ranks && !b->wrong && b->behind == replays,
                      "%u of %u: %llu runs, %llu wrong, %llu behind", team, workers,
                      (unsigned long long)b->runs, (unsigned long long)b->wrong,
                      (unsigned long long)b->behind);
        }
        close_team(&t);
    }
}

/* A rank that returns early with an error: the others' barriers let them go, what comes behind does
 * not run, the rest of the replay does. */
static void failing_rank(const rondo_instantiate_options *o, uint32_t workers)
{
    for (uint32_t rank = 0; rank < workers; rank++) {
        struct team t;
        rondo_result r;
        open_team(&t, o, workers, 0);
        ET_OK(rondo_replay_and_wait(t.exec, NULL, -1, &r));
        atomic_store(&t.board[1].fail_rank, rank + 1);
        ET_IS(rondo_replay_and_wait(t.exec, NULL, -1, &r), RONDO_ERR_FAILED);
        cr_assert_str_eq(r.node, "second");
        cr_assert_str_eq(r.message, rank ? "a rank behind" : "rank 0");
        cr_assert_eq(r.tag, 6);
        cr_assert(t.board[0].behind == 2 && t.board[1].behind == 1);
        ET_IS(rondo_replay_and_wait(t.exec, NULL, -1, &r), RONDO_ERR_CANCELLED);
        atomic_store(&t.board[1].fail_rank, 0);
        ET_OK(rondo_exec_reset(t.exec));
        ET_OK(rondo_replay_and_wait(t.exec, NULL, -1, &r));
        cr_assert(t.board[0].behind == 3 && t.board[1].behind == 2);
        close_team(&t);
    }
}

/* Two execs of one runtime whose teams want the same processors at the same time. */
static void competing(const rondo_instantiate_options *o, uint32_t workers)
{
    enum { EXECS = 3 };
    const uint64_t replays = et_scaled(60, 10);
    rondo_runtime rt = et_runtime(workers);
    static struct team t[EXECS];
    for (int i = 0; i < EXECS; i++) {
        rondo_subgraph g;
        memset(&t[i], 0, sizeof t[i]);
        t[i].ranks = workers;
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        record_teams(&t[i], g, 0);
        ET_OK(rondo_instantiate(g, o, &t[i].exec));
        ET_OK(rondo_subgraph_destroy(g));
    }
    for (uint64_t r = 0; r < replays; r++)
        for (int i = 0; i < EXECS; i++)
            ET_OK(rondo_replay(t[i].exec, NULL, NULL));
    for (int i = 0; i < EXECS; i++) {
        ET_OK(rondo_exec_wait(t[i].exec, NULL));
        for (int k = 0; k < 2; k++)
            cr_assert(t[i].board[k].runs == replays * workers && !t[i].board[k].wrong &&
                      t[i].board[k].behind == replays);
        ET_OK(rondo_exec_destroy(t[i].exec));
    }
    ET_CLOSE(rt);
}

/* ---- called off */

static int fail_now_and_then(rondo_task *self, const void *arg)
{
    (void)arg;
    return self->replay % 3 == 1 ? rondo_task_fail(self, "now") : 0;
}

/* What precedes the team fails on one processor: no rank runs, nothing hangs, the next epoch does.
 */
static void called_off(const rondo_instantiate_options *o, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    struct board b = { 0 }, *p = &b;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_result r;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node first = rondo_record_task(g, &(rondo_task_desc){ .name = "fails",
                                                                .fn = fail_now_and_then,
                                                                .on = RONDO_CPU(workers - 1),
                                                                .flags = RONDO_NO_ACCESS });
    rondo_node team =
        rondo_record_task(g, &(rondo_task_desc){ .name = "team",
                                                 .fn = play,
                                                 .arg = &p,
                                                 .arg_bytes = sizeof p,
                                                 RONDO_AFTER(first),
                                                 .flags = RONDO_SPMD | RONDO_NO_ACCESS });
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = tick, .context = &b.behind, RONDO_AFTER(team), .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, o, &exec));
    for (uint64_t i = 0; i < 30; i++) {
        ET_OK(rondo_replay(exec, NULL, NULL)); /* runs */
        ET_OK(rondo_replay(exec, NULL, NULL)); /* fails */
        ET_OK(rondo_replay(exec, NULL, NULL)); /* is cancelled */
        ET_IS(rondo_exec_wait(exec, &r), RONDO_ERR_FAILED);
        cr_assert_str_eq(r.node, "fails");
        cr_assert_eq(b.behind, i + 1, "%llu", (unsigned long long)b.behind);
        cr_assert_eq(b.runs, (i + 1) * workers);
        ET_OK(rondo_exec_reset(exec));
    }
    cr_assert_eq(b.wrong, 0);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

/* ---- hosted */

struct hosted {
    tally runs, behind, cpus, failures;
    pthread_t thread;
    uint32_t team;
};

static int host(rondo_task *self, const void *arg)
{
    struct hosted *h = rondo_task_context(self);
    uint64_t *block = rondo_task_scratch(self, 1000);
    cpu_set_t set;
    (void)arg;
    if (!block)
        return rondo_task_fail(self, "no scratch");
    block[124] = 1;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    atomic_store(&h->cpus, (uint64_t)CPU_COUNT(&set));
    h->thread = pthread_self();
    h->team = self->team;
    rondo_task_barrier(self); /* of one rank: nothing to wait for */
    if (self->rank || self->processor != RONDO_ANY_CPU)
        return rondo_task_fail(self, "not rank 0 on a thread of its own");
    if (atomic_load(&h->failures))
        return rondo_task_fail(self, "hosted no more");
    atomic_fetch_add(&h->runs, 1);
    return 0;
}

static uint64_t distinct_cpus(uint32_t workers)
{
    cpu_set_t set;
    uint64_t count;
    sched_getaffinity(0, sizeof set, &set);
    count = (uint64_t)CPU_COUNT(&set);
    return count < workers ? count : workers;
}

static void hosted(const rondo_instantiate_options *o, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    struct hosted h = { 0 };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_result r;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node node = rondo_record_task(
        g,
        &(rondo_task_desc){
            .name = "hosted", .fn = host, .context = &h, .flags = RONDO_HOSTED | RONDO_NO_ACCESS });
    ET_HANDLE(node);
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .fn = tick, .context = &h.behind, RONDO_AFTER(node), .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(g, o, &exec));
    for (int i = 0; i < 50; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, &r));
    cr_assert(h.runs == 50 && h.behind == 50 && h.team == workers, "%llu, %llu, team %u",
              (unsigned long long)h.runs, (unsigned long long)h.behind, h.team);
    cr_assert_eq(h.cpus, distinct_cpus(workers), "%llu of %u", (unsigned long long)h.cpus, workers);
    cr_assert(!pthread_equal(h.thread, pthread_self()));
    atomic_store(&h.failures, 1);
    ET_IS(rondo_replay_and_wait(exec, NULL, -1, &r), RONDO_ERR_FAILED);
    cr_assert_str_eq(r.node, "hosted");
    cr_assert_str_eq(r.message, "hosted no more");
    cr_assert(h.behind == 50);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

static const struct et_schedule_case cases[] = {
    { "phases", phases },       { "a failing rank", failing_rank },
    { "competing", competing }, { "called off", called_off },
    { "hosted", hosted },
};

Test(engine_team, every_case_in_every_mode)
{
    et_every_schedule(cases, sizeof cases / sizeof *cases);
}
