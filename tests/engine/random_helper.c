/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that is none of Rondo's: it ends detached tasks and raises what others wait for, in the
 * order asked for, some of it later than others expect. */
#include "tests/engine/random_program.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct job *next;
    void (*fn)(void *argument);
    uint32_t delay;
    _Alignas(16) char argument[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static struct job *first, **last = &first;
static int ending;

static struct job *next_job(void)
{
    struct job *job;
    pthread_mutex_lock(&lock);
    while (!first && !ending)
        pthread_cond_wait(&more, &lock);
    job = first;
    if (job && !(first = job->next))
        last = &first;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *help(void *argument)
{
    struct job *job;
    (void)argument;
    while ((job = next_job()) != NULL) {
        for (uint32_t i = job->delay; i > 0; i--)
            sched_yield();
        job->fn(job->argument);
        free(job);
    }
    return NULL;
}

void rg_helper_start(void)
{
    ending = 0;
    if (pthread_create(&thread, NULL, help, NULL))
        abort();
}

void rg_helper_stop(void)
{
    pthread_mutex_lock(&lock);
    ending = 1;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
    if (pthread_join(thread, NULL))
        abort();
}

void rg_helper_call(void (*fn)(void *argument), const void *argument, size_t bytes, uint32_t delay)
{
    struct job *job = malloc(sizeof *job + bytes);
    if (!job)
        abort();
    job->next = NULL;
    job->fn = fn;
    job->delay = delay;
    memcpy(job->argument, argument, bytes);
    pthread_mutex_lock(&lock);
    *last = job;
    last = &job->next;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

static void note(void *argument) { atomic_store(*(atomic_int **)argument, 1); }

void rg_helper_settle(void)
{
    atomic_int done = 0, *flag = &done;
    rg_helper_call(note, &flag, sizeof flag, 0);
    while (!atomic_load(&done))
        sched_yield();
}

struct promise {
    struct rg_run *run;
    uint64_t value;
};

static void keep_promise(void *argument)
{
    const struct promise *promise = argument;
    if (rondo_counter_raise(promise->run->promise, promise->value) != RONDO_OK)
        rg_run_wrong(promise->run, "raise: %s", rondo_error_message());
}

rondo_event rg_helper_promise(struct rg_run *run, uint32_t delay)
{
    struct promise promise = { run, atomic_fetch_add(&run->promised, 1) + 1 };
    rondo_event event = { 0, 0 };
    if (rondo_counter_event(run->promise, promise.value, &event) != RONDO_OK)
        rg_run_wrong(run, "counter event: %s", rondo_error_message());
    rg_helper_call(keep_promise, &promise, sizeof promise, delay);
    return event;
}
