/* SPDX-License-Identifier: BSD-3-Clause */
/* The host thread: order, affinity, and that code which starts threads runs as fast on it as on the
 * main thread. */
#include "src/base/os.h"
#include "src/machine/host.h"
#include "tests/engine/engine_util.h"
#include "tests/machine/fake.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { JOBS = 200 };

struct job {
    struct rd_host_job job; /* first */
    uint32_t number;
    cpu_set_t set, inherited;
    int depth;
};

static uint32_t order[JOBS];
static rd_atomic64 ended;

static void *inherit(void *argument)
{
    cpu_set_t *set = argument;
    sched_getaffinity(0, sizeof *set, set);
    return NULL;
}

static void run(struct rd_host_job *job)
{
    struct job *j = (struct job *)job;
    pthread_t thread;
    sched_getaffinity(0, sizeof j->set, &j->set);
    j->depth = rd_task_depth;
    if (!pthread_create(&thread, NULL, inherit, &j->inherited))
        pthread_join(thread, NULL);
    order[rd_load_relaxed(&ended)] = j->number;
    rd_add_acq_rel(&ended, 1);
}

static rondo_status refuse(void *context, rondo_processor processor)
{
    (void)context;
    return processor == RONDO_ANY_CPU ? RONDO_ERR_CANCELLED : RONDO_OK;
}

Test(host, jobs)
{
    static struct job job[JOBS];
    rondo_runtime runtime = et_runtime(2);
    struct rd_runtime *rt = fake_runtime(runtime);
    rondo_runtime_statistics before, after;
    uint32_t team[2];
    for (int i = 0; i < 2; i++)
        team[i] = rt->workers[i].cpu;
    cr_assert_eq(rondo_runtime_stats(runtime, &before), RONDO_OK);
    cr_assert_eq(rd_host_need(rt), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rd_host_need(rt), RONDO_OK);
    for (uint32_t i = 0; i < JOBS; i++) {
        job[i].job.run = run;
        job[i].number = i;
        rd_host_run(rt, team + i % 2, i % 3 ? 1 : 2 - i % 2, &job[i].job);
        if (i % 50 == 49) /* asleep now and then */
            cr_assert(fake_await(&ended, i + 1));
    }
    cr_assert(fake_await(&ended, JOBS));
    for (uint32_t i = 0; i < JOBS; i++) {
        cpu_set_t expected;
        CPU_ZERO(&expected);
        for (uint32_t k = 0; k < (i % 3 ? 1 : 2 - i % 2); k++)
            CPU_SET(team[i % 2 + k], &expected);
        cr_assert_eq(order[i], i);
        cr_assert(CPU_EQUAL(&job[i].set, &expected), "job %u", i);
        cr_assert(CPU_EQUAL(&job[i].inherited, &expected), "a thread of job %u", i);
        cr_assert_eq(job[i].depth, 1, "it may wait");
    }
    cr_assert_eq(rondo_runtime_stats(runtime, &after), RONDO_OK);
    cr_assert_eq(before.bytes, after.bytes);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .thread_start = refuse }, &runtime),
                 RONDO_OK);
    cr_assert_eq(rd_host_need(fake_runtime(runtime)), RONDO_ERR_CANCELLED);
    cr_assert_not_null(strstr(rondo_error_message(), "host thread: thread_start returned status"));
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}

/* ---- OpenMP, by the interface that gcc's code calls */

static void (*gomp_parallel)(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
static int (*thread_num)(void);
static rd_atomic64 sink;

static void work(void *data)
{
    uint64_t sum = (uint64_t)thread_num();
    for (uint64_t i = 0; i < *(uint64_t *)data; i++)
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    rd_add_relaxed(&sink, sum);
}

/* The fastest of several regions: what the code can reach where it runs. */
static int64_t best_region_ns(unsigned threads)
{
    uint64_t steps = 3000000;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        int64_t begin = rd_os.now_ns(), took;
        gomp_parallel(work, &steps, threads, 0);
        took = rd_os.now_ns() - begin;
        best = took < best ? took : best;
    }
    return best;
}

struct region_job {
    struct rd_host_job job; /* first */
    int64_t best_ns;
    rd_atomic64 over;
};

static void run_regions(struct rd_host_job *job)
{
    struct region_job *r = (struct region_job *)job;
    r->best_ns = best_region_ns(2);
    rd_store_release(&r->over, 1);
}

Test(host, openmp)
{
    void *library = dlopen("libgomp.so.1", RTLD_NOW);
    struct region_job r = { .job = { .run = run_regions } };
    rondo_runtime runtime;
    struct rd_runtime *rt;
    uint32_t team[2];
    int64_t main_ns;
#ifdef __SANITIZE_THREAD__
    cr_skip_test("ThreadSanitizer does not see how OpenMP's threads synchronise");
#endif
    if (!library)
        cr_skip_test("no OpenMP runtime");
    *(void **)&gomp_parallel = dlsym(library, "GOMP_parallel");
    *(void **)&thread_num = dlsym(library, "omp_get_thread_num");
    cr_assert(gomp_parallel && thread_num);
    main_ns = best_region_ns(2);
    runtime = et_runtime(2);
    rt = fake_runtime(runtime);
    for (int i = 0; i < 2; i++)
        team[i] = rt->workers[i].cpu;
    cr_assert_eq(rd_host_need(rt), RONDO_OK);
    rd_host_run(rt, team, 2, &r.job);
    cr_assert(fake_await(&r.over, 1));
    /* In a pinned worker both threads share a CPU: 2.0. */
    cr_assert_lt((double)r.best_ns, 1.6 * (double)main_ns, "host %lld ns, main thread %lld ns",
                 (long long)r.best_ns, (long long)main_ns);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}
