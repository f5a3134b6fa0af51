/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs some of whose nodes are kernels, copies and fills on one device or two, which
 * may be short of memory: what is left in every buffer is, byte for byte, what the sequential
 * oracle does on the host alone. RONDO_TEST_SEED and RONDO_TEST_GRAPHS as in test_random. */
#include "tests/engine/device_util.h"
#include "tests/engine/engine_util.h"
#include "tests/engine/oracle.h"
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rg_variant variants[] = {
    { "interpreted", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO, 0 },
    { "compiled serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_STATIC, 0 },
    { "compiled pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_STATIC, 0 },
    { "interpreted pipelined", RONDO_INTERPRETED, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO, 0 },
    { "toggling pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO, 1 },
    { "dataflow pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_DATAFLOW, 0 },
    { "compiled concurrent", RONDO_COMPILED, RONDO_CONCURRENT, RONDO_STATIC, 0 },
    { "toggling concurrent", RONDO_AUTO, RONDO_CONCURRENT, RONDO_SCHEDULE_AUTO, 1 },
};
enum { VARIANTS = sizeof variants / sizeof *variants, PLACES = 4 };

/* Two devices with room, one, and two of little memory. */
static const struct {
    const char *name;
    uint32_t devices;
    uint64_t bytes;
    uint32_t workers;
} places[PLACES] = {
    { "two devices", 2, 0, 1 },
    { "one device", 1, 0, 2 },
    { "two devices of 12 KiB", 2, 12288, 1 },
    { "one device of 4 KiB", 1, 4096, 1 },
};

/* Compiled and pipelined always, and one of the others. */
static int applies(const struct rg_program *p, uint32_t v)
{
    const struct rg_variant *is = &variants[v];
    uint64_t draw = rg_mix(p->seed + 3);
    int concurrent = is->order == RONDO_CONCURRENT;
    if (p->member_count > 1 && is->schedule == RONDO_DATAFLOW)
        return 0;
    if (p->profile == RG_CONCURRENT)
        return concurrent ? v == 6 + draw % 2 : v == draw / 2 % 4;
    static const uint8_t other[] = { 0, 1, 3, 4, 5 };
    return v == 2 || v == other[draw % 5];
}

struct totals {
    uint64_t used[RG_F_COUNT];
    uint64_t programs, executions, nodes, replays, refused, by_variant[VARIANTS];
    uint64_t by_place[PLACES], chores[RG_CHORES];
};

static void tell(const struct rg_program *p, const char *variant, const char *place,
                 const char *what)
{
    fprintf(stderr,
            "RONDO_TEST_SEED=%llu RONDO_TEST_GRAPHS=1: profile %d, %u nodes, window %u, %s, %s, "
            "with",
            (unsigned long long)p->seed, p->profile, p->node_count, p->window, variant, place);
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        if (p->used >> f & 1)
            fprintf(stderr, " %s;", rg_feature_names[f]);
    fprintf(stderr, " %s\n", what);
    if (et_number("RONDO_TEST_GRAPHS", 0) == 1)
        rg_print(p);
}

static int run_once(const struct rg_program *p, uint32_t v, uint32_t at, rondo_runtime runtime,
                    const struct rg_expected *expected, struct totals *t)
{
    const struct rg_place place = { runtime, places[at].workers, places[at].workers,
                                    du_devices(runtime), places[at].bytes != 0 };
    struct rg_run *run = rg_run_new(p, place.used);
    run->devices = place.devices;
    run->limited = place.limited;
    et_alarm(60, "stuck: RONDO_TEST_SEED=%llu RONDO_TEST_GRAPHS=1, %s, %s\n",
             (unsigned long long)p->seed, variants[v].name, places[at].name);
    int wrong = rg_play(run, &place, &variants[v], expected);
    if (wrong)
        tell(p, variants[v].name, places[at].name, run->what);
    t->refused += (uint64_t)(run->refused && variants[v].order != RONDO_CONCURRENT);
    t->executions++;
    t->by_variant[v]++;
    t->by_place[at]++;
    t->replays += expected->replays;
    t->nodes += expected->replays * p->node_count;
    rg_run_free(run);
    return wrong;
}

static int run_program(uint64_t seed, const rondo_runtime *runtimes, struct totals *t)
{
    struct rg_program *p = rg_program_new(seed);
    struct rg_expected *expected = rg_oracle_run(p);
    int wrong = 0;
    for (uint32_t v = 0; v < VARIANTS && !wrong; v++) {
        uint32_t at = (uint32_t)(rg_mix(seed ^ v) % PLACES);
        if (applies(p, v))
            wrong = run_once(p, v, at, runtimes[at], expected, t);
    }
    t->programs++;
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        t->used[f] += p->used >> f & 1;
    for (uint32_t s = 0; s < p->step_count; s++)
        t->chores[p->step[s].chore]++;
    rg_expected_free(expected);
    rg_program_free(p);
    return wrong;
}

static void say(const struct totals *t)
{
    printf("%llu programs, %llu executions (%llu refused), %llu replays, "
           "%llu node runs;",
           (unsigned long long)t->programs, (unsigned long long)t->executions,
           (unsigned long long)t->refused, (unsigned long long)t->replays,
           (unsigned long long)t->nodes);
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        printf(" %llu %s,", (unsigned long long)t->used[f], rg_feature_names[f]);
    printf("\n");
}

Test(engine_random_device, every_executor_does_what_the_oracle_does, .timeout = 3600)
{
    uint64_t first = et_number("RONDO_TEST_SEED", 1), wrong = 0;
    uint64_t programs = et_scaled(et_number("RONDO_TEST_GRAPHS", 200), 1);
    rondo_runtime runtimes[PLACES];
    struct totals t = { 0 };
    DU_NEEDS_DEVICE();
    rg_devices = 1;
    rg_helper_start();
    for (uint32_t i = 0; i < PLACES; i++) {
        kit_submit_by(i);
        runtimes[i] = du_runtime(places[i].workers, places[i].devices, places[i].bytes);
    }
    for (uint64_t k = 0; k < programs && wrong < 5; k++)
        wrong += run_program(first + k, runtimes, &t) != 0;
    et_alarm(60, "stuck while closing\n");
    for (uint32_t i = 0; i < PLACES; i++) {
        const char *left = du_close_clean(runtimes[i]);
        cr_expect(!left, "%s: %s", places[i].name, left ? left : "");
    }
    rg_helper_stop();
    et_alarm(0, " ");
    say(&t);
    cr_assert_eq(wrong, 0, "%llu programs differ, see above", (unsigned long long)wrong);
    for (uint32_t v = 0; v < VARIANTS && programs >= 200; v++)
        cr_assert(t.by_variant[v] > 0, "nothing ran %s", variants[v].name);
    for (uint32_t c = 0; c < RG_CHORES && programs >= 200; c++)
        cr_assert(t.chores[c] > 0, "no chore %u", c);
    cr_assert(programs < 200 || t.refused < t.executions / 4, "%llu of %llu refused",
              (unsigned long long)t.refused, (unsigned long long)t.executions);
}
