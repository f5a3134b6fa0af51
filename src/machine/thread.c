/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/machine/thread.h"

#include "src/base/error.h"
#include "src/base/park.h"
#include "src/machine/topology.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RUNS = 1 };

_Thread_local int rd_task_depth;

/* Asked of the system once per thread: a processor may be driven once per replay. */
uint32_t rd_thread_tid(void)
{
    static _Thread_local uint32_t tid;
    if (!tid)
        tid = (uint32_t)syscall(SYS_gettid);
    return tid;
}

void rd_thread_go(uint32_t cpu)
{
    cpu_set_t allowed, there;
    if ((uint32_t)sched_getcpu() == cpu || cpu >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof allowed, &allowed) || !CPU_ISSET(cpu, &allowed))
        return;
    CPU_ZERO(&there);
    CPU_SET(cpu, &there);
    if (!sched_setaffinity(0, sizeof there, &there))
        sched_setaffinity(0, sizeof allowed, &allowed);
}

static rondo_status schedule(const struct rd_thread *t)
{
    const struct sched_param p = { .sched_priority = t->rt->sched_priority };
    int error;
    if (!t->scheduled || !t->rt->sched_policy)
        return RONDO_OK;
    error = pthread_setschedparam(pthread_self(), t->rt->sched_policy, &p);
    if (!error)
        return RONDO_OK;
    return rd_error(RONDO_ERR_SYSTEM, "runtime: %s: sched_policy %d, sched_priority %d: %s",
                    t->what, t->rt->sched_policy, t->rt->sched_priority, strerror(error));
}

static rondo_status greet(const struct rd_thread *t)
{
    rondo_status status = schedule(t);
    if (status || !t->rt->thread_start)
        return status;
    status = t->rt->thread_start(t->rt->hook_context, t->processor);
    if (!status)
        return RONDO_OK;
    return rd_error(status, "runtime: %s: thread_start returned status %d", t->what, status);
}

/* A thread that failed touches nothing after `ready`. */
static void tell(struct rd_thread *t, rondo_status status)
{
    t->status = status;
    if (status)
        snprintf(t->message, sizeof t->message, "%s", rd_error_text());
    rd_store_release(&t->ready, RUNS); /* pairs with rd_thread_await */
    rd_fence();                        /* partner: rd_thread_await's */
    if (rd_load_relaxed(&t->wake))
        rd_park_wake(&t->wake);
}

static void *thread_main(void *argument)
{
    struct rd_thread *t = argument;
    rondo_status status;
    rd_task_depth = 1; /* all that user code does on this thread, it does inside a task */
    rd_store_relaxed(&t->tid, rd_thread_tid());
    if (t->cpu_count) /* best effort: a CPU may have gone since the options were read */
        rd_thread_bind(t->cpu, t->cpu_count);
    status = greet(t);
    tell(t, status);
    if (status)
        return NULL;
    t->run(t->argument);
    rd_task_depth = 1;
    if (t->rt->thread_stop)
        t->rt->thread_stop(t->rt->hook_context, t->processor);
    return NULL;
}

int rd_thread_begin(pthread_t *thread, void *(*main)(void *argument), void *argument)
{
    sigset_t all, old;
    int error;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* a fault that is blocked ends the process, handler or not */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

rondo_status rd_thread_create(struct rd_thread *t)
{
    int error = rd_thread_begin(&t->id, thread_main, t);
    if (error)
        return rd_error(RONDO_ERR_SYSTEM, "runtime: %s: pthread_create failed with error %d",
                        t->what, error);
    return RONDO_OK;
}

rondo_status rd_thread_await(struct rd_thread *t)
{
    for (;;) {
        uint32_t prepared = rd_park_prepare();
        rd_park_register(&t->wake);
        rd_fence();                     /* partner: tell's, between `ready` and `wake` */
        if (rd_load_acquire(&t->ready)) /* pairs with tell: status and message */
            break;
        rd_park_sleep(prepared, -1);
    }
    if (!t->status)
        return RONDO_OK;
    pthread_join(t->id, NULL);
    return rd_error(t->status, "%s", t->message);
}

void rd_thread_join(struct rd_thread *t)
{
    pthread_join(t->id, NULL);
    rd_store_relaxed(&t->tid, 0);
}
