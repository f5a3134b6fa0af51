/* SPDX-License-Identifier: BSD-3-Clause */
/* Adopted processors in the whole engine: the user's thread drives, or a waiting caller does, or
 * who closes; a loop at a fixed rate that never sleeps. */
#include "src/base/os.h"
#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static rondo_runtime open_adopting(uint32_t workers, uint32_t adopt, int64_t park_after_ns)
{
    rondo_runtime runtime;
    char list[256];
    et_cpu_list(workers, list, sizeof list);
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = list,
                                                              .adopt = adopt,
                                                              .park_after_ns = park_after_ns },
                                    &runtime),
                 RONDO_OK, "%s", rondo_error_message());
    return runtime;
}

/* ---- two rates: a block of samples every 100 us from the user's thread, a window of four of them
 * consumed by a worker; neither waits for the other but through counters */

enum { RING = 16, BLOCK = 64, WINDOWS_PER_RING = RING / 4 };

static struct {
    float block[RING][BLOCK];
    uint64_t captured; /* blocks; the driver's */
    pthread_t driver;
    _Atomic(uint64_t) elsewhere; /* captures on another thread */
    _Atomic(uint64_t) windows, wrong;
} rates;

static int capture(rondo_task *t, const void *a)
{
    float *out = rondo_task_write(t, 0);
    (void)a;
    if (!pthread_equal(pthread_self(), rates.driver))
        atomic_fetch_add(&rates.elsewhere, 1);
    for (int i = 0; i < BLOCK; i++)
        out[i] = (float)(rates.captured % 1000 * BLOCK + (uint64_t)i);
    rates.captured++;
    return 0;
}

static int check_window(rondo_task *t, const void *a)
{
    const float *in = rondo_task_read(t, 0);
    uint64_t first = atomic_load(&rates.windows) * 4;
    (void)a;
    for (uint64_t b = 0; b < 4; b++)
        for (int i = 0; i < BLOCK; i++)
            if (in[b * BLOCK + (uint64_t)i] != (float)((first + b) % 1000 * BLOCK + (uint64_t)i))
                atomic_fetch_add(&rates.wrong, 1);
    atomic_fetch_add(&rates.windows, 1);
    return 0;
}

static struct rd_os real;
static _Atomic(uint64_t) futexes;
static void counting_wait(rd_atomic32 *word, uint32_t value, int64_t timeout_ns)
{
    atomic_fetch_add(&futexes, 1);
    real.futex_wait(word, value, timeout_ns);
}
static int counting_wake(rd_atomic32 *word)
{
    atomic_fetch_add(&futexes, 1);
    return real.futex_wake_all(word);
}

struct two_rates {
    rondo_runtime rt;
    rondo_counter filled, freed;
    rondo_exec producer, consumer;
};

static void record_two_rates(struct two_rates *r)
{
    rondo_buffer one[RING], four[WINDOWS_PER_RING];
    rondo_subgraph p, c;
    rondo_instantiate_options q = { .order = RONDO_SERIAL, .window = 1, .priority = 10 };
    cr_assert_eq(rondo_counter_create(r->rt, 0, &r->filled), RONDO_OK);
    cr_assert_eq(rondo_counter_create(r->rt, RING, &r->freed), RONDO_OK);
    for (int i = 0; i < RING; i++)
        cr_assert_eq(rondo_buffer_create(r->rt,
                                         &(rondo_buffer_desc){ .shape = { 4, { BLOCK }, { 0 } },
                                                               .host = rates.block[i] },
                                         &one[i]),
                     RONDO_OK);
    for (int i = 0; i < WINDOWS_PER_RING; i++)
        cr_assert_eq(rondo_buffer_create(r->rt,
                                         &(rondo_buffer_desc){ .shape = { 4, { 4 * BLOCK }, { 0 } },
                                                               .host = rates.block[4 * i] },
                                         &four[i]),
                     RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(r->rt, &(rondo_subgraph_desc){ .name = "capture" }, &p),
                 RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(r->rt, &(rondo_subgraph_desc){ .name = "check" }, &c),
                 RONDO_OK);
    rondo_slot out = rondo_subgraph_slot(
                   p, &(rondo_slot_desc){ .name = "block", .ring = one, .ring_count = RING }),
               in = rondo_subgraph_slot(c, &(rondo_slot_desc){ .name = "window",
                                                               .ring = four,
                                                               .ring_count = WINDOWS_PER_RING });
    rondo_node n = rondo_record_wait(
        p, &(rondo_sync_desc){ .name = "space", .counter = r->freed, .first = 1, .step = 1 });
    n = rondo_record_task(p, &(rondo_task_desc){ .name = "capture",
                                                 .fn = capture,
                                                 RONDO_AFTER(n),
                                                 .on = RONDO_CPU(0),
                                                 RONDO_ACCESSES(rondo_write(out, rondo_whole())) });
    rondo_record_signal(
        p, &(rondo_sync_desc){
               .name = "filled", .counter = r->filled, .first = 1, .step = 1, RONDO_AFTER(n) });
    n = rondo_record_wait(
        c, &(rondo_sync_desc){ .name = "window", .counter = r->filled, .first = 4, .step = 4 });
    n = rondo_record_task(c, &(rondo_task_desc){ .name = "check",
                                                 .fn = check_window,
                                                 RONDO_AFTER(n),
                                                 .on = RONDO_CPU(1),
                                                 RONDO_ACCESSES(rondo_read(in, rondo_whole())) });
    rondo_record_signal(
        c,
        &(rondo_sync_desc){
            .name = "freed", .counter = r->freed, .first = RING + 4, .step = 4, RONDO_AFTER(n) });
    cr_assert_eq(rondo_instantiate(p, &q, &r->producer), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_instantiate(c, NULL, &r->consumer), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(p), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(c), RONDO_OK);
    for (int i = 0; i < RING; i++)
        cr_assert_eq(rondo_buffer_destroy(one[i]), RONDO_OK);
    for (int i = 0; i < WINDOWS_PER_RING; i++)
        cr_assert_eq(rondo_buffer_destroy(four[i]), RONDO_OK);
}

Test(drive, two_rates_without_sleep)
{
    const uint64_t blocks = et_scaled(2000, 200) / 4 * 4;
    struct two_rates r;
    rondo_event a = { 0, 0 }, b;
    int64_t t, worst = 0, late;
    et_alarm(120, "two rates: stuck\n");
    real = rd_os;
    rd_os.futex_wait = counting_wait;
    rd_os.futex_wake_all = counting_wake;
    memset(&rates, 0, sizeof rates);
    rates.driver = pthread_self();
    r.rt = open_adopting(2, 1, RONDO_NEVER);
    record_two_rates(&r);
    cr_assert_eq(rondo_replay(r.consumer, &(rondo_replay_args){ .count = blocks / 4 }, &b),
                 RONDO_OK, "%s", rondo_error_message());
    t = et_now_ns() + 50000000; /* what began before has calmed down */
    for (uint64_t i = 0; i < blocks; i++, t += 100000) {
        rondo_status status;
        if (i == 8)
            atomic_store(&futexes, 0);
        while ((status = rondo_replay(
                    r.producer, &(rondo_replay_args){ .not_before_ns = t, .flags = RONDO_NO_WAIT },
                    &a)) == RONDO_ERR_AGAIN) {}
        cr_assert_eq(status, RONDO_OK, "%s", rondo_error_message());
        while ((status = rondo_processor_drive(r.rt, RONDO_CPU(0), a, 100000)) == RONDO_ERR_AGAIN)
            ;
        cr_assert_eq(status, RONDO_OK, "%s", rondo_error_message());
        late = et_now_ns() - t;
        cr_assert_geq(late, 0, "block %llu was captured early", (unsigned long long)i);
        worst = late > worst ? late : worst;
    }
    cr_assert_eq(rondo_event_wait(b, -1), RONDO_OK);
    cr_assert_eq(atomic_load(&futexes), 0, "%llu calls of the kernel",
                 (unsigned long long)atomic_load(&futexes));
    cr_assert_eq(rates.captured, blocks);
    cr_assert_eq(atomic_load(&rates.windows), blocks / 4);
    cr_assert_eq(atomic_load(&rates.wrong), 0);
    cr_assert_eq(atomic_load(&rates.elsewhere), 0, "another thread ran the driver's task");
    cr_assert_eq(rondo_exec_destroy(r.producer), RONDO_OK);
    cr_assert_eq(rondo_exec_destroy(r.consumer), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(r.filled), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(r.freed), RONDO_OK);
    cr_assert_null(et_close_clean(r.rt));
    rd_os = real;
    fprintf(stderr, "%llu blocks, %.1f us late at worst\n", (unsigned long long)blocks,
            (double)worst / 1e3);
    et_alarm(0, "%s", "");
}

/* ---- nobody drives */

static _Atomic(uint64_t) steps;
static int step(rondo_task *t, const void *a)
{
    uint64_t expected = *(const uint64_t *)a + 4 * t->replay;
    return !atomic_compare_exchange_strong(&steps, &expected, expected + 1);
}

/* A chain of four that goes from cpu 0 to cpu 1 and back; without accesses replays follow each
 * other. */
static rondo_exec chain(rondo_runtime rt, const rondo_instantiate_options *options)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node last = { 0 };
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    for (uint64_t i = 0; i < 4; i++)
        last = rondo_record_task(g, &(rondo_task_desc){ .fn = step,
                                                        RONDO_ARG(i),
                                                        .after = &last,
                                                        .after_count = i > 0,
                                                        .on = RONDO_CPU((uint32_t)i % 2) });
    cr_assert_eq(rondo_instantiate(g, options, &exec), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    return exec;
}

static const struct {
    const char *name;
    uint32_t mode, order, schedule;
} ways[] = {
    { "compiled", RONDO_COMPILED, RONDO_SERIAL, RONDO_STATIC },
    { "pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_STATIC },
    { "interpreted", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_STATIC },
    { "dataflow", RONDO_AUTO, RONDO_SERIAL, RONDO_DATAFLOW },
};

/* The caller that waits is all there is for cpu 0: what its lane waits for wakes it. */
Test(drive, a_waiting_caller_is_enough)
{
    const uint64_t replays = et_scaled(300, 50);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        rondo_runtime rt = open_adopting(2, 1, 0);
        rondo_instantiate_options o = { .mode = ways[i].mode,
                                        .order = ways[i].order,
                                        .schedule = ways[i].schedule };
        rondo_exec exec = chain(rt, &o);
        rondo_event event;
        int64_t begin = et_now_ns(), took;
        et_alarm(60, "%s: the waiting caller is stuck\n", ways[i].name);
        atomic_store(&steps, 0);
        for (uint64_t k = 0; k < replays; k++)
            cr_assert_eq(rondo_replay_and_wait(exec, NULL, -1, NULL), RONDO_OK, "%s: %s",
                         ways[i].name, rondo_error_message());
        took = et_now_ns() - begin;
        /* Callers that sleep until the whole event is complete take 100 ms for each. */
        cr_assert_lt(took, (int64_t)replays * 30000000, "%s: %lld us per replay", ways[i].name,
                     (long long)(took / (int64_t)replays / 1000));
        /* A full window, then a call of many. */
        for (uint64_t k = 0; k < 20; k++)
            cr_assert_eq(rondo_replay(exec, NULL, &event), RONDO_OK);
        cr_assert_eq(rondo_event_wait(event, -1), RONDO_OK);
        cr_assert_eq(rondo_replay(exec, &(rondo_replay_args){ .count = 50 }, &event), RONDO_OK);
        cr_assert_eq(rondo_exec_wait(exec, NULL), RONDO_OK, "%s: %s", ways[i].name,
                     rondo_error_message());
        cr_assert_eq(atomic_load(&steps), 4 * (replays + 70));
        cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
        cr_assert_null(et_close_clean(rt));
        et_alarm(0, "%s", "");
    }
}

/* Destroying and closing end replays on processors that nobody drives. */
Test(drive, closing_drives)
{
    for (uint32_t adopt = 1; adopt <= 2; adopt++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            for (int destroyed = 0; destroyed < 2; destroyed++) {
                rondo_runtime rt = open_adopting(2, adopt, 0);
                rondo_instantiate_options o = { .mode = ways[i].mode,
                                                .order = ways[i].order,
                                                .schedule = ways[i].schedule };
                rondo_exec exec = chain(rt, &o);
                et_alarm(60, "%s: closing is stuck\n", ways[i].name);
                atomic_store(&steps, 0);
                cr_assert_eq(rondo_replay(exec, NULL, NULL), RONDO_OK);
                cr_assert_eq(rondo_replay(exec, NULL, NULL), RONDO_OK);
                if (destroyed) {
                    cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
                    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
                    cr_assert_eq(atomic_load(&steps), 8, "%s", ways[i].name);
                }
                cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
                cr_assert_eq(atomic_load(&steps), 8, "%s", ways[i].name);
                et_alarm(0, "%s", "");
            }
}

/* An exec that has ended leaves an agenda that nobody drives: drain returns, memory is back. */
Test(drive, leaving_an_agenda)
{
    rondo_runtime rt = open_adopting(2, 2, 0);
    et_alarm(60, "leaving an agenda: stuck\n");
    for (int i = 0; i < 20; i++) {
        rondo_exec exec = chain(rt, NULL);
        cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
    }
    cr_assert_null(et_close_clean(rt));
    et_alarm(0, "%s", "");
}

/* ---- inside tasks of a driver */

static struct {
    rondo_runtime rt;
    rondo_event own;
    rondo_status drive, wait;
} inside;

static int waits_inside(rondo_task *t, const void *a)
{
    (void)t;
    (void)a;
    inside.drive = rondo_processor_drive(inside.rt, RONDO_CPU(0), (rondo_event){ 0, 0 }, 0);
    inside.wait = rondo_event_wait(inside.own, -1);
    return 0;
}

Test(drive, tasks_may_not_wait)
{
    rondo_subgraph g;
    rondo_exec exec;
    inside.rt = open_adopting(1, 1, 0);
    et_alarm(60, "tasks of a driver: stuck\n");
    cr_assert_eq(rondo_subgraph_create(inside.rt, NULL, &g), RONDO_OK);
    rondo_record_task(g, &(rondo_task_desc){ .fn = waits_inside });
    cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_replay(exec, NULL, &inside.own), RONDO_OK);
    cr_assert_eq(rondo_event_wait(inside.own, 0), RONDO_ERR_AGAIN, "somebody ran it");
    cr_assert_eq(rondo_processor_drive(inside.rt, RONDO_CPU(0), inside.own, -1), RONDO_OK);
    cr_assert_eq(inside.drive, RONDO_ERR_WOULD_BLOCK);
    cr_assert_eq(inside.wait, RONDO_ERR_WOULD_BLOCK);
    cr_assert_eq(rondo_event_wait(inside.own, 0), RONDO_OK);
    cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
    cr_assert_null(et_close_clean(inside.rt));
    et_alarm(0, "%s", "");
}

/* ---- closing while a thread drives */

struct endless {
    rondo_runtime rt;
    rondo_status status;
    _Atomic(uint64_t) begun;
};

static void *drive_on(void *argument)
{
    struct endless *e = argument;
    atomic_store(&e->begun, 1);
    e->status = rondo_processor_drive(e->rt, RONDO_CPU(0), (rondo_event){ 0, 0 }, -1);
    return NULL;
}

/* A driver is sent away; one that comes too late finds no runtime. */
Test(drive, closing_under_a_driver)
{
    int driven = 0;
    et_alarm(120, "closing under a driver: stuck\n");
    for (uint64_t i = 0; i < et_scaled(200, 20); i++) {
        struct endless e = { .rt = open_adopting(1, 1, i % 2 ? RONDO_NEVER : 0) };
        rondo_exec exec;
        pthread_t thread;
        rondo_subgraph g;
        cr_assert_eq(rondo_subgraph_create(e.rt, NULL, &g), RONDO_OK);
        rondo_record_task(g, &(rondo_task_desc){ .fn = step, RONDO_ARG((uint64_t){ 0 }) });
        cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK);
        atomic_store(&steps, 0);
        cr_assert_eq(pthread_create(&thread, NULL, drive_on, &e), 0);
        if (i % 3)
            while (!atomic_load(&e.begun)) {}
        cr_assert_eq(rondo_replay(exec, NULL, NULL), RONDO_OK);
        cr_assert_eq(rondo_runtime_close(e.rt), RONDO_OK);
        pthread_join(thread, NULL);
        cr_assert_eq(e.status, RONDO_ERR_STALE);
        cr_assert_eq(atomic_load(&steps), 1);
        driven += i % 3 != 0;
    }
    cr_assert_gt(driven, 0);
    et_alarm(0, "%s", "");
}
