/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads on a few execs that come and go: submitted to, waited for, reset, toggled and
 * destroyed at any moment. Every node runs once per replay and behind what precedes it, nothing is
 * freed too early, and in the end nothing is left. */
#include "tests/engine/engine_check.h"
#include "tests/engine/random_program.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLACES = 6, CLIENTS = 3, LIVES = 60000 };

struct life {
    struct rg_program *program;
    struct rg_run *run;
    struct rg_recorded recorded;
    uint32_t *version; /* by record: all 0 */
    rondo_exec exec;
    atomic_ullong submitted, maybe; /* maybe: destroyed before the caller was told */
};

struct crowd {
    rondo_runtime rt;
    _Atomic(struct life *) place[PLACES]; /* NULL: empty, `making`: about to be filled */
    struct life *all[LIVES];
    atomic_uint born;
    atomic_ullong replays, waits, destroyed, stale, resets;
    uint32_t goal;
    uint64_t seed;
    atomic_int wrong;
    char what[320];
};
static struct crowd crowd;
static struct life making;

static void crowd_wrong(const char *what, rondo_status status)
{
    if (atomic_exchange(&crowd.wrong, 1) == 0)
        (void)snprintf(crowd.what, sizeof crowd.what, "%s: %s: %s", what,
                       rondo_status_string(status), rondo_error_message());
}

/* A small program ordered by hand, and an exec of it. */
static struct life *make_life(struct rg_rng *rng)
{
    struct life *l = calloc(1, sizeof *l);
    rondo_instantiate_options o = { .mode = rg_below(rng, 3) };
    if (!l)
        abort();
    do {
        rg_program_free(l->program);
        l->program = rg_program_new(rg_next(rng));
    } while (l->program->profile != RG_BY_HAND || l->program->node_count > 28 ||
             (l->program->features & ~(1ull << RG_F_FAILING | 1ull << RG_F_CONTINUE)));
    l->run = rg_run_new(l->program, 3);
    l->run->follows_failures = 1; /* somebody resets it */
    o.order = rg_below(rng, 3) ? RONDO_PIPELINED : RONDO_SERIAL;
    o.window = l->program->window;
    o.on_failure = l->program->on_failure;
    l->version = calloc(l->program->record_count, sizeof *l->version);
    if (!l->version)
        abort();
    if (rg_record(l->run, crowd.rt, 0, l->version, &l->recorded))
        crowd_wrong(l->run->what, RONDO_OK);
    rondo_status status = rondo_instantiate(l->recorded.subgraph, &o, &l->exec);
    if (status)
        crowd_wrong("instantiate", status);
    if (rg_chance(rng, 50))
        (void)rondo_subgraph_destroy(l->recorded.subgraph);
    return l;
}

static void submit(struct life *l, struct rg_rng *rng, rondo_event *event)
{
    uint64_t bytes[RG_PARAMS][RG_PARAM_BYTES / 8] = { { 0 } };
    rondo_value values[RG_PARAMS];
    rondo_replay_args args = { .values = values,
                               .count = rg_chance(rng, 80) ? 1 : 1 + rg_below(rng, 9) };
    for (uint32_t q = 0; q < l->program->param_count; q++)
        values[args.value_count++] = (rondo_value){ l->recorded.param[q], bytes[q], 0 };
    int how = (int)rg_below(rng, 10);
    rondo_result result;
    if (how == 0)
        args.flags = RONDO_NO_WAIT;
    rondo_status status = how < 3 && how > 0 ? rondo_replay_and_wait(l->exec, &args, -1, &result)
                                             : rondo_replay(l->exec, &args, event);
    if (how < 3 && how > 0 && (status == RONDO_ERR_FAILED || status == RONDO_ERR_CANCELLED))
        status = RONDO_OK;
    if (status == RONDO_ERR_STALE) {
        atomic_fetch_add(&crowd.stale, 1);
        if (how < 3 && how > 0)
            atomic_fetch_add(&l->maybe, args.count);
    } else if (status == RONDO_ERR_AGAIN && args.flags)
        sched_yield();
    else if (status)
        crowd_wrong("replay", status);
    else
        atomic_fetch_add(&l->submitted, args.count);
    atomic_fetch_add(&crowd.replays, args.count);
}

/* What the exec says must be one of what it may say. */
static void expect(const char *what, rondo_status status, rondo_status also)
{
    if (status == RONDO_ERR_STALE)
        atomic_fetch_add(&crowd.stale, 1);
    else if (status != RONDO_OK && status != also)
        crowd_wrong(what, status);
}

static void some_call(struct life *l, uint32_t place, struct rg_rng *rng, rondo_event *event)
{
    uint32_t kind = rg_below(rng, 100);
    rondo_result result;
    if (kind < 55) {
        for (uint32_t n = 1 + rg_below(rng, 6); n > 0; n--)
            submit(l, rng, event);
    } else if (kind < 75) {
        atomic_fetch_add(&crowd.waits, 1);
        expect("event", rondo_event_wait(*event, rg_chance(rng, 50) ? -1 : 20000), RONDO_ERR_AGAIN);
        expect("result", rondo_event_result(*event, &result),
               event->count ? RONDO_ERR_AGAIN : RONDO_ERR_INVALID);
    } else if (kind < 82) {
        expect("wait", rondo_exec_wait(l->exec, &result), RONDO_ERR_FAILED);
    } else if (kind < 88) {
        atomic_fetch_add(&crowd.resets, 1);
        expect("reset", rondo_exec_reset(l->exec), RONDO_OK);
    } else if (kind < 93) {
        expect("mode", rondo_exec_set_mode(l->exec, rg_below(rng, 3)), RONDO_OK);
    } else if (kind < 96) {
        struct life *here = l;
        if (atomic_compare_exchange_strong(&crowd.place[place], &here, NULL)) {
            atomic_fetch_add(&crowd.destroyed, 1);
            expect("destroy", rondo_exec_destroy(l->exec), RONDO_OK);
        }
    } else if (kind < 98) {
        usleep(rg_below(rng, 100));
    } else {
        sched_yield();
    }
}

static void *client(void *number)
{
    struct rg_rng rng = { rg_mix(crowd.seed + (uint64_t)(uintptr_t)number) };
    rondo_event event[PLACES] = { { 0, 0 } };
    while (!atomic_load(&crowd.wrong)) {
        uint32_t place = rg_below(&rng, PLACES), at;
        struct life *l = atomic_load(&crowd.place[place]), *empty = NULL;
        if (l && l != &making) {
            some_call(l, place, &rng, &event[place]);
        } else if (!l && atomic_compare_exchange_strong(&crowd.place[place], &empty, &making)) {
            if ((at = atomic_fetch_add(&crowd.born, 1)) >= crowd.goal)
                break;
            crowd.all[at] = make_life(&rng);
            atomic_store(&crowd.place[place], crowd.all[at]);
        }
        if (atomic_load(&crowd.born) >= crowd.goal)
            break;
    }
    return NULL;
}

/* After all has ended: every node ran once per replay submitted, or less often where replays
 * failed. */
static const char *check_life(const struct life *l)
{
    static char what[256];
    uint64_t submitted = atomic_load(&l->submitted), maybe = atomic_load(&l->maybe);
    for (uint32_t v = 0; v < l->program->node_count; v++) {
        uint64_t runs = atomic_load(&l->run->runs[v]);
        if (runs > submitted + maybe || (!l->program->fails && runs < submitted)) {
            (void)snprintf(what, sizeof what, "node %u ran %llu times in %llu replays (seed %llu)",
                           v, (unsigned long long)runs, (unsigned long long)submitted,
                           (unsigned long long)l->program->seed);
            return what;
        }
    }
    return atomic_load(&l->run->failed) ? l->run->what : NULL;
}

static void end_crowd(uint32_t born)
{
    for (uint32_t i = 0; i < born; i++) {
        struct life *l = crowd.all[i];
        const char *wrong = l ? check_life(l) : NULL;
        cr_assert(!wrong, "life %u: %s", i, wrong ? wrong : "");
        if (!l)
            continue;
        rg_run_free(l->run);
        rg_program_free(l->program);
        free(l->version);
        free(l);
    }
}

Test(engine_crowd, threads_share_execs_that_come_and_go, .timeout = 600)
{
    pthread_t thread[CLIENTS];
    uint64_t seed = et_number("RONDO_TEST_SEED", 1);
    crowd.rt = et_runtime(3);
    crowd.goal = (uint32_t)et_scaled(1200, 100);
    crowd.goal = crowd.goal > LIVES ? LIVES : crowd.goal;
    crowd.seed = seed;
    et_alarm(240, "stuck: RONDO_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < CLIENTS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, client, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    cr_assert(!atomic_load(&crowd.wrong), "%s", crowd.what);
    for (int p = 0; p < PLACES; p++) {
        struct life *l = atomic_load(&crowd.place[p]);
        if (l && l != &making)
            ET_OK(rondo_exec_destroy(l->exec));
    }
    for (uint32_t i = 0; i < crowd.goal; i++)
        if (crowd.all[i])
            rg_recorded_free(&crowd.all[i]->recorded);
    ET_CLOSE(crowd.rt);
    et_alarm(0, " ");
    end_crowd(crowd.goal);
    cr_assert_eq(atomic_load(&rg_contexts_made), atomic_load(&rg_contexts_released));
    printf("%u execs, %llu replays asked for, %llu waits, %llu destroyed in use, %llu resets, "
           "%llu stale\n",
           crowd.goal, atomic_load(&crowd.replays), atomic_load(&crowd.waits),
           atomic_load(&crowd.destroyed), atomic_load(&crowd.resets), atomic_load(&crowd.stale));
}
