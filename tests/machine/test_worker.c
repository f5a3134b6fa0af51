/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers by themselves, with fake sources: priorities, times, never sleeping, adopted processors,
 * helpers. */
#include "src/base/os.h"
#include "tests/engine/engine_util.h"
#include "tests/machine/fake.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

static rondo_runtime open_runtime(uint32_t workers, rondo_runtime_options o)
{
    rondo_runtime runtime;
    char list[256];
    et_cpu_list(workers, list, sizeof list);
    o.cpus = list;
    cr_assert_eq(rondo_runtime_open(&o, &runtime), RONDO_OK, "%s", rondo_error_message());
    return runtime;
}

/* ---- priorities */

/* Sources a, b, c...: priority, steps allowed at first, and to whom each step gives one. */
static const struct {
    const char *what;
    int sources;
    struct {
        int32_t priority;
        uint64_t steps;
        int gives; /* index + 1 */
    } of[4];
    const char *order;
} priority_cases[] = {
    { "equals take turns", 2, { { 0, 3, 0 }, { 0, 3, 0 } }, "ababab" },
    { "the greater goes first", 2, { { 0, 3, 0 }, { 1, 3, 0 } }, "bbbaaa" },
    { "equals above one", 3, { { 5, 2, 0 }, { 5, 2, 0 }, { 1, 2, 0 } }, "ababcc" },
    { "equals below one", 3, { { 1, 2, 0 }, { 1, 2, 0 }, { 5, 2, 0 } }, "ccabab" },
    { "what becomes ready above goes next", 2, { { 1, 3, 2 }, { 5, 0, 0 } }, "ababab" },
    { "through three levels", 3, { { -1, 2, 2 }, { 0, 0, 3 }, { 7, 0, 0 } }, "abcabc" },
    { "between equals", 3, { { 0, 2, 3 }, { 0, 2, 3 }, { 1, 0, 0 } }, "acbcacbc" },
};

Test(worker, priorities)
{
    rondo_runtime runtime = open_runtime(1, (rondo_runtime_options){ 0 });
    struct rd_worker *w = &fake_runtime(runtime)->workers[0];
    for (size_t c = 0; c < sizeof priority_cases / sizeof *priority_cases; c++) {
        struct fake gate, fake[4];
        struct fake_log log;
        size_t total = strlen(priority_cases[c].order);
        int n = priority_cases[c].sources;
        memset(&log, 0, sizeof log);
        fake_init(&gate, 'g', 100, 0);
        rd_store_relaxed(&gate.open, 0);
        rd_worker_push(w, &gate.work);
        cr_assert(fake_await(&gate.asked, 1)); /* the worker is held up: all come at once */
        for (int i = 0; i < n; i++) {
            fake_init(&fake[i], (char)('a' + i), priority_cases[c].of[i].priority,
                      priority_cases[c].of[i].steps);
            fake[i].log = &log;
            if (priority_cases[c].of[i].gives)
                fake[i].gives = &fake[priority_cases[c].of[i].gives - 1];
        }
        for (int i = 0; i < n; i++)
            rd_worker_push(w, &fake[i].work);
        rd_store_release(&gate.open, 1);
        for (int i = 0; i < n; i++)
            cr_assert(fake_await(&fake[i].done, rd_load_relaxed(&fake[i].allowed)), "%s",
                      priority_cases[c].what);
        for (int i = 0; i < n; i++)
            fake_detach(&fake[i], w);
        fake_detach(&gate, w);
        cr_assert_eq(rd_load_relaxed(&log.count), total, "%s: %s", priority_cases[c].what,
                     log.text);
        cr_assert_str_eq(log.text, priority_cases[c].order, "%s", priority_cases[c].what);
    }
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}

/* ---- times */

Test(worker, until)
{
    static const int64_t waits_ns[] = { 1000000, 20000000, 100000000 };
    /* A time to park of 1 ns: it sleeps at once, so it has to wake itself. */
    rondo_runtime runtime = open_runtime(1, (rondo_runtime_options){ .park_after_ns = 1 });
    struct rd_worker *w = &fake_runtime(runtime)->workers[0];
    for (size_t i = 0; i < sizeof waits_ns / sizeof *waits_ns; i++) {
        struct fake f, other;
        int64_t until = rd_os.now_ns() + waits_ns[i], woken;
        fake_init(&other, 'o', 0, 0); /* waits for ever: not what ends the sleep */
        rd_worker_push(w, &other.work);
        fake_init(&f, 'f', 0, 1);
        f.until_ns = until;
        rd_worker_push(w, &f.work);
        cr_assert(fake_await(&f.done, 1));
        woken = (int64_t)rd_load_acquire(&f.woken_at_ns);
        cr_assert_geq(woken, until);
        cr_assert_lt(woken - until, 2000000000, "%lld ns late", (long long)(woken - until));
        /* It slept: spinning through 100 ms asks many thousand times. The last EARLY_NS spin. */
        cr_assert_lt(rd_load_relaxed(&f.asked), 5000, "asked %llu times",
                     (unsigned long long)rd_load_relaxed(&f.asked));
        fake_detach(&f, w);
        fake_detach(&other, w);
    }
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}

/* ---- never sleeping */

static struct rd_os real;
static rd_atomic64 sleeps, wakes;

static void counting_wait(rd_atomic32 *word, uint32_t value, int64_t timeout_ns)
{
    rd_add_relaxed(&sleeps, 1);
    real.futex_wait(word, value, timeout_ns);
}
static int counting_wake(rd_atomic32 *word)
{
    rd_add_relaxed(&wakes, 1);
    return real.futex_wake_all(word);
}

/* Drives in turns of 10 ms until the source has made 100 steps. */
static rd_atomic64 *steps_driven;

static void *drive_in_turns(void *argument)
{
    rondo_runtime runtime = { *(uint64_t *)argument };
    while (rd_load_relaxed(steps_driven) < 100)
        cr_assert_eq(rondo_processor_drive(runtime, RONDO_CPU(0), (rondo_event){ 0, 0 }, 10000000),
                     RONDO_ERR_AGAIN);
    return NULL;
}

Test(worker, never)
{
    rondo_runtime runtime;
    struct fake f[3];
    pthread_t driver;
    struct rd_runtime *rt;
    real = rd_os;
    rd_os.futex_wait = counting_wait;
    rd_os.futex_wake_all = counting_wake;
    runtime = open_runtime(3, (rondo_runtime_options){ .adopt = 1, .park_after_ns = RONDO_NEVER });
    rt = fake_runtime(runtime);
    for (int i = 0; i < 3; i++) {
        fake_init(&f[i], 'f', i, 0);
        rd_worker_push(&rt->workers[i], &f[i].work);
    }
    for (int i = 1; i < 3; i++)
        cr_assert(fake_await(&f[i].asked, 10));
    rd_store_relaxed(&sleeps, 0);
    rd_store_relaxed(&wakes, 0);
    steps_driven = &f[0].done;
    cr_assert_eq(pthread_create(&driver, NULL, drive_in_turns, &runtime.id), 0);
    for (uint64_t step = 1; step <= 100; step++)
        for (int i = 0; i < 3; i++) {
            fake_allow(&f[i], 1);
            if (i)
                cr_assert(fake_await(&f[i].done, step));
        }
    pthread_join(driver, NULL);
    cr_assert_eq(rd_load_relaxed(&sleeps), 0, "%llu sleeps",
                 (unsigned long long)rd_load_relaxed(&sleeps));
    cr_assert_eq(rd_load_relaxed(&wakes), 0, "%llu wakes",
                 (unsigned long long)rd_load_relaxed(&wakes));
    for (int i = 0; i < 3; i++)
        fake_detach(&f[i], &rt->workers[i]);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
    rd_os = real;
}

/* ---- adopted processors */

struct drive {
    rondo_runtime runtime;
    rondo_event until;
    int64_t timeout_ns;
    rondo_status status;
};

static void *drive(void *argument)
{
    struct drive *d = argument;
    d->status = rondo_processor_drive(d->runtime, RONDO_CPU(0), d->until, d->timeout_ns);
    return NULL;
}

/* Calls that are refused, and what they say. */
static void check_refused(rondo_runtime runtime, rondo_processor processor, rondo_event until,
                          rondo_status status, const char *message)
{
    cr_assert_eq(rondo_processor_drive(runtime, processor, until, 0), status, "%s", message);
    cr_assert_not_null(strstr(rondo_error_message(), message), "%s", rondo_error_message());
}

Test(worker, adopted)
{
    rondo_runtime runtime = open_runtime(2, (rondo_runtime_options){ .adopt = 1 });
    struct rd_runtime *rt = fake_runtime(runtime);
    struct rd_worker *w = &rt->workers[0];
    const rondo_event none = { 0, 0 };
    struct rd_source *s = rd_runtime_source(rt);
    struct drive d = { .runtime = runtime, .timeout_ns = -1 };
    struct fake f, holder;
    pthread_t thread;
    uint64_t asked;
    int64_t begin;
    cr_assert_not_null(s);
    check_refused(runtime, RONDO_CPU(1), none, RONDO_ERR_INVALID, "cpu 1 has a worker of its own");
    check_refused(runtime, RONDO_CPU(2), none, RONDO_ERR_INVALID, "is no processor");
    check_refused(runtime, RONDO_ANY_CPU, none, RONDO_ERR_INVALID, "is no processor");
    check_refused((rondo_runtime){ 0 }, RONDO_CPU(0), none, RONDO_ERR_INVALID, "runtime");
    check_refused(runtime, RONDO_CPU(0), (rondo_event){ 5ull << 32 | 0xffffff, 1 },
                  RONDO_ERR_INVALID, "is no event");
    /* Nobody but the driver runs it; one look is one look. */
    fake_init(&f, 'f', 0, 2);
    rd_worker_push(w, &f.work);
    cr_assert_eq(rd_load_relaxed(&f.asked), 0);
    for (uint64_t look = 1; look <= 2; look++) {
        cr_assert_eq(rondo_processor_drive(runtime, RONDO_CPU(0), none, 0), RONDO_ERR_AGAIN);
        cr_assert_eq(rd_load_relaxed(&f.done), look);
    }
    cr_assert_eq(rd_load_relaxed(&f.depth), 2, "its tasks may wait");
    cr_assert_eq(rd_task_depth, 0);
    begin = rd_os.now_ns();
    cr_assert_eq(rondo_processor_drive(runtime, RONDO_CPU(0), none, 3000000), RONDO_ERR_AGAIN);
    cr_assert_geq(rd_os.now_ns() - begin, 3000000);
    /* Another thread drives until the event that its own work raises; asleep in between. */
    f.ends = s;
    d.until = (rondo_event){ rd_source_id(s), 3 };
    asked = rd_load_relaxed(&f.asked);
    cr_assert_eq(pthread_create(&thread, NULL, drive, &d), 0);
    cr_assert(fake_await(&f.asked, asked + 1));
    check_refused(runtime, RONDO_CPU(0), none, RONDO_ERR_INVALID, "another thread drives cpu 0");
    fake_allow(&f, 1);
    pthread_join(thread, NULL);
    cr_assert_eq(d.status, RONDO_OK);
    cr_assert_eq(rondo_processor_drive(runtime, RONDO_CPU(0), d.until, 0), RONDO_OK);
    /* One that is woken by the event alone. */
    d.until.count = 4;
    asked = rd_load_relaxed(&f.asked);
    cr_assert_eq(pthread_create(&thread, NULL, drive, &d), 0);
    cr_assert(fake_await(&f.asked, asked + 1));
    rd_store_release(&s->done, 4);
    rd_fence();
    if (rd_load_relaxed(&s->wake))
        rd_park_wake(&s->wake);
    pthread_join(thread, NULL);
    cr_assert_eq(d.status, RONDO_OK);
    /* Nobody drives: a detached source leaves all the same, others stay. */
    fake_init(&holder, 'h', 0, 0);
    rd_worker_push(w, &holder.work);
    fake_detach(&f, w);
    cr_assert_eq(rd_load_relaxed(&holder.gone), 0);
    fake_detach(&holder, w);
    rd_runtime_source_end(rt, s);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}

/* ---- helpers */

static rd_atomic64 any_started, any_stopped;
static rondo_status count_any(void *context, rondo_processor processor)
{
    (void)context;
    if (processor == RONDO_ANY_CPU)
        rd_add_relaxed(&any_started, 1);
    return RONDO_OK;
}
static void uncount_any(void *context, rondo_processor processor)
{
    (void)context;
    if (processor == RONDO_ANY_CPU)
        rd_add_relaxed(&any_stopped, 1);
}

Test(worker, helpers)
{
    rondo_runtime runtime = open_runtime(
        1, (rondo_runtime_options){ .thread_start = count_any, .thread_stop = uncount_any });
    struct rd_runtime *rt = fake_runtime(runtime);
    struct rd_worker *helper = rd_zalloc(rd_allocator_system(), 2 * sizeof *helper, RD_LINE);
    struct fake f[2];
    cpu_set_t mine, theirs;
    cr_assert_not_null(helper);
    cr_assert_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(rd_worker_start_helper(&helper[i], rt, i), RONDO_OK, "%s",
                     rondo_error_message());
        fake_init(&f[i], 'f', 0, 1);
        rd_worker_push(&helper[i], &f[i].work);
        cr_assert(fake_await(&f[i].done, 1));
        cr_assert_eq(rd_load_relaxed(&f[i].depth), 1, "its tasks may not wait");
        cr_assert_eq(pthread_getaffinity_np(helper[i].thread.id, sizeof theirs, &theirs), 0);
        cr_assert(CPU_EQUAL(&mine, &theirs));
    }
    cr_assert_eq(rd_load_relaxed(&any_started), 2);
    for (int i = 0; i < 2; i++) {
        fake_allow(&f[i], 3);
        cr_assert(fake_await(&f[i].done, 4));
        fake_detach(&f[i], &helper[i]);
        rd_worker_stop(&helper[i]);
    }
    cr_assert_eq(rd_load_relaxed(&any_stopped), 2);
    cr_assert_null(rd_load_relaxed(&rt->helpers));
    rd_free(rd_allocator_system(), helper, 2 * sizeof *helper);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}
