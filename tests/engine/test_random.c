/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs: what every executor leaves in memory is, byte for byte, what a sequential oracle
 * does. RONDO_TEST_GRAPHS says how many, RONDO_TEST_SEED where to begin: program k has seed
 * RONDO_TEST_SEED + k, so that one is reproduced alone by its seed and RONDO_TEST_GRAPHS=1. */
#include "tests/engine/engine_util.h"
#include "tests/engine/oracle.h"
#include "tests/engine/random_program.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct rg_variant variants[] = {
    { "interpreted", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO, 0 },
    { "compiled serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO, 0 },
    { "compiled pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO, 0 },
    { "toggling serial", RONDO_AUTO, RONDO_SERIAL, RONDO_SCHEDULE_AUTO, 1 },
    { "toggling pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO, 1 },
    { "dataflow serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_DATAFLOW, 0 },
    { "dataflow pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_DATAFLOW, 0 },
    { "toggling dataflow", RONDO_AUTO, RONDO_PIPELINED, RONDO_DATAFLOW, 1 },
    { "compiled concurrent", RONDO_COMPILED, RONDO_CONCURRENT, RONDO_SCHEDULE_AUTO, 0 },
    { "interpreted concurrent", RONDO_INTERPRETED, RONDO_CONCURRENT, RONDO_SCHEDULE_AUTO, 0 },
    { "toggling concurrent", RONDO_AUTO, RONDO_CONCURRENT, RONDO_SCHEDULE_AUTO, 1 },
    { "dataflow concurrent", RONDO_COMPILED, RONDO_CONCURRENT, RONDO_DATAFLOW, 0 },
};
enum { VARIANTS = sizeof variants / sizeof *variants, WORKERS = 4 };

/* Each program is interpreted, compiled in both orders, and run in one of the other ways. */
static int applies(const struct rg_program *p, const struct rg_variant *v)
{
    uint64_t draw = rg_mix(p->seed + 3);
    if (p->member_count > 1 && v->schedule == RONDO_DATAFLOW)
        return 0;
    if (v->order == RONDO_CONCURRENT)
        return p->profile == RG_CONCURRENT &&
               (v->toggles ? draw % 2 : v->schedule != RONDO_DATAFLOW || draw % 2 == 0);
    if (v->order == RONDO_PIPELINED && v->mode == RONDO_COMPILED && !v->schedule)
        return 1;
    uint32_t at = (uint32_t)(v - variants), serial = p->profile == RG_CONCURRENT ? 0 : draw % 2;
    return at == serial || at == 3 + draw / 2 % 5;
}

/* More workers than CPUs now and then: whoever waits then waits for the scheduler, too. */
static uint32_t workers_of(uint64_t seed, uint32_t variant)
{
    static const uint8_t choice[] = { 1, 1, 2, 2, 2, 2, 3, WORKERS };
    return choice[rg_mix(seed ^ variant) % sizeof choice];
}

struct totals {
    uint64_t used[RG_F_COUNT], plain, cancelled, stopped;
    uint64_t programs, executions, nodes, replays, failing, by_variant[VARIANTS];
};

static void tell(const struct rg_program *p, const struct rg_variant *v, const struct rg_place *at,
                 const char *what)
{
    fprintf(stderr,
            "RONDO_TEST_SEED=%llu RONDO_TEST_GRAPHS=1: profile %d, %u nodes, window %u, %s, "
            "%u of %u workers, with",
            (unsigned long long)p->seed, p->profile, p->node_count, p->window, v->name, at->used,
            at->workers);
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        if (p->used >> f & 1)
            fprintf(stderr, " %s;", rg_feature_names[f]);
    fprintf(stderr, " %s\n", what);
    if (et_number("RONDO_TEST_GRAPHS", 0) == 1)
        rg_print(p);
}

static int run_program(uint64_t seed, const rondo_runtime runtimes[WORKERS], struct totals *t)
{
    struct rg_program *p = rg_program_new(seed);
    struct rg_expected *expected = rg_oracle_run(p);
    int wrong = atomic_load(&expected->run->failed);
    if (wrong)
        tell(p, &(struct rg_variant){ .name = "the oracle itself" }, &(struct rg_place){ 0 },
             expected->run->what);
    for (uint32_t v = 0; v < VARIANTS && !wrong; v++) {
        if (!applies(p, &variants[v]))
            continue;
        uint32_t workers = workers_of(seed, v), used = workers;
        if (rg_has(p, RG_F_CPUS) && workers > 1)
            used = 1 + (uint32_t)(rg_mix(seed * 3 + v) % workers);
        struct rg_run *run = rg_run_new(p, used);
        const struct rg_place place = { .runtime = runtimes[workers - 1],
                                        .workers = workers,
                                        .used = used };
        et_alarm(60, "stuck: RONDO_TEST_SEED=%llu RONDO_TEST_GRAPHS=1, %s, %u workers\n",
                 (unsigned long long)seed, variants[v].name, workers);
        wrong = rg_play(run, &place, &variants[v], expected);
        if (wrong)
            tell(p, &variants[v], &place, run->what);
        rg_run_free(run);
        t->executions++;
        t->by_variant[v]++;
        t->replays += expected->replays;
        t->nodes += expected->replays * p->node_count;
    }
    t->programs++;
    t->failing += expected->cancelled > 0;
    t->cancelled += expected->cancelled;
    t->stopped += expected->stopped;
    t->plain += p->used == 0;
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        t->used[f] += p->used >> f & 1;
    rg_expected_free(expected);
    rg_program_free(p);
    return wrong;
}

Test(engine_random, every_executor_does_what_the_oracle_does, .timeout = 3600)
{
    uint64_t first = et_number("RONDO_TEST_SEED", 1), wrong = 0;
    uint64_t programs = et_scaled(et_number("RONDO_TEST_GRAPHS", 5000), 1);
    rondo_runtime runtimes[WORKERS];
    struct totals t = { 0 };
    rg_helper_start();
    for (uint32_t w = 0; w < WORKERS; w++)
        runtimes[w] = et_runtime(w + 1);
    for (uint64_t k = 0; k < programs && wrong < 5; k++)
        wrong += run_program(first + k, runtimes, &t) != 0;
    et_alarm(60, "stuck while closing\n");
    for (uint32_t w = 0; w < WORKERS; w++) {
        const char *left = et_close_clean(runtimes[w]);
        cr_expect(!left, "%u workers: %s", w + 1, left ? left : "");
    }
    rg_helper_stop();
    et_alarm(0, " ");
    printf("%llu programs (%llu with cancelled replays), %llu executions, %llu replays, "
           "%llu node runs, %llu contexts\n",
           (unsigned long long)t.programs, (unsigned long long)t.failing,
           (unsigned long long)t.executions, (unsigned long long)t.replays,
           (unsigned long long)t.nodes, atomic_load(&rg_contexts_released));
    printf(
        "%llu replays cancelled, %llu stopped; %llu executions not compiled; programs: %llu plain",
        (unsigned long long)t.cancelled, (unsigned long long)t.stopped,
        (unsigned long long)rg_not_compiled, (unsigned long long)t.plain);
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        printf(", %llu %s", (unsigned long long)t.used[f], rg_feature_names[f]);
    printf("\n");
    cr_assert_eq(wrong, 0, "%llu programs differ, see above", (unsigned long long)wrong);
    cr_assert_eq(atomic_load(&rg_contexts_made), atomic_load(&rg_contexts_released));
    for (uint32_t v = 0; v < VARIANTS && programs >= 500; v++)
        cr_assert(t.by_variant[v] > 0, "nothing ran %s", variants[v].name);
    for (uint32_t f = 0; f < RG_F_DEVICE && programs >= 2000; f++)
        cr_assert(t.used[f] > 0, "nothing used %s", rg_feature_names[f]);
}
