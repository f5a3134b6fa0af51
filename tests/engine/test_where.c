/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_where from a signal handler: of a task that runs, by every kind of thread that runs tasks,
 * and of threads that wait. */
#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int out = -1;
static _Atomic(uint64_t) signalled;

static void on_signal(int signal)
{
    (void)signal;
    rondo_where(out);
    atomic_fetch_add(&signalled, 1);
}

/* In replay 2 it stops to be looked at, by the signal's default path: the thread it runs on. */
static int looked_at(rondo_task *t, const void *a)
{
    sigset_t set;
    (void)a;
    if (t->replay != 2)
        return 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return 0;
}
static int nothing(rondo_task *t, const void *a)
{
    (void)t;
    (void)a;
    return 0;
}

enum who { BY_WORKER, BY_CALLER, BY_DRIVER, BY_HELPER };

static const struct {
    const char *what;
    enum who who;
    uint32_t mode, schedule;
    const char *says[3]; /* all on one line */
} cases[] = {
    { "worker",
      BY_WORKER,
      RONDO_COMPILED,
      RONDO_STATIC,
      { "worker 1 ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
    { "worker, interpreted",
      BY_WORKER,
      RONDO_INTERPRETED,
      RONDO_STATIC,
      { "worker 1 ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
    { "worker, dataflow",
      BY_WORKER,
      RONDO_AUTO,
      RONDO_DATAFLOW,
      { "worker 1 ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
    { "caller",
      BY_CALLER,
      RONDO_COMPILED,
      RONDO_STATIC,
      { "caller thread ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
    { "driver",
      BY_DRIVER,
      RONDO_COMPILED,
      RONDO_STATIC,
      { "worker 0 ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
    { "helper",
      BY_HELPER,
      RONDO_COMPILED,
      RONDO_STATIC,
      { "helper ", "(this one): runs node 'looked at' of exec 'where', replay 2", "" } },
};

/* Whether one line holds all three texts. */
static int has_line(char *text, const char *const says[3])
{
    char *save, *line = strtok_r(text, "\n", &save);
    for (; line; line = strtok_r(NULL, "\n", &save))
        if (strstr(line, says[0]) && strstr(line, says[1]) && strstr(line, says[2]))
            return 1;
    return 0;
}

static FILE *begin_output(void)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    out = fileno(file);
    return file;
}

static void end_output(FILE *file, char *text, size_t bytes)
{
    size_t got;
    rewind(file);
    got = fread(text, 1, bytes - 1, file);
    text[got] = 0;
    fclose(file);
}

static rondo_exec record(rondo_runtime rt, size_t c)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node n;
    rondo_task_desc d = { .name = "looked at", .fn = looked_at };
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "where" }, &g),
                 RONDO_OK);
    n = rondo_record_task(g, &(rondo_task_desc){ .name = "before", .fn = nothing });
    d.after = &n;
    d.after_count = 1;
    d.on = cases[c].who == BY_WORKER   ? RONDO_CPU(1)
           : cases[c].who == BY_HELPER ? RONDO_ANY_CPU
                                       : RONDO_CPU(0);
    d.flags = cases[c].who == BY_HELPER ? RONDO_MAY_BLOCK : 0;
    rondo_record_task(g, &d);
    cr_assert_eq(rondo_instantiate(g,
                                   &(rondo_instantiate_options){ .mode = cases[c].mode,
                                                                 .schedule = cases[c].schedule },
                                   &exec),
                 RONDO_OK, "%s: %s", cases[c].what, rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    return exec;
}

Test(where, a_task_that_runs)
{
    struct sigaction action = { .sa_handler = on_signal };
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rondo_runtime rt;
        rondo_exec exec;
        rondo_event event;
        FILE *file = begin_output();
        char list[64], text[8192], copy[8192];
        et_cpu_list(2, list, sizeof list);
        et_alarm(60, "where: %s: stuck\n", cases[c].what);
        /* Adopted: no worker can be faster than the caller. */
        cr_assert_eq(
            rondo_runtime_open(&(rondo_runtime_options){ .cpus = list,
                                                         .adopt = cases[c].who == BY_DRIVER ||
                                                                  cases[c].who == BY_CALLER },
                               &rt),
            RONDO_OK);
        exec = record(rt, c);
        atomic_store(&signalled, 0);
        for (int i = 0; i < 4; i++)
            if (cases[c].who == BY_DRIVER) {
                cr_assert_eq(rondo_replay(exec, NULL, &event), RONDO_OK);
                cr_assert_eq(rondo_processor_drive(rt, RONDO_CPU(0), event, -1), RONDO_OK);
            } else if (cases[c].who == BY_CALLER) {
                cr_assert_eq(rondo_replay_and_wait(exec, NULL, -1, NULL), RONDO_OK);
            } else {
                cr_assert_eq(rondo_replay(exec, NULL, &event), RONDO_OK);
                cr_assert_eq(rondo_event_wait(event, -1), RONDO_OK);
            }
        cr_assert_eq(atomic_load(&signalled), 1, "%s", cases[c].what);
        cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
        cr_assert_null(et_close_clean(rt));
        end_output(file, text, sizeof text);
        strcpy(copy, text);
        cr_assert(has_line(copy, cases[c].says), "%s: it says:\n%s", cases[c].what, text);
        et_alarm(0, "%s", "");
    }
}

/* Threads that wait, and none that could mislead: after all is closed it says nothing. */
static void threads_that_wait(void)
{
    static const char *const blocked[3] = { "worker 1 ",
                                            ": waits before node 'held' of exec 'waits'",
                                            ": at 3, needs 4" };
    static const char *const idle[3] = { "worker 0 ", ": has no work", "" };
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_counter counter;
    rondo_event event;
    char list[64], text[8192], copy[8192];
    FILE *file;
    int seen = 0;
    et_cpu_list(2, list, sizeof list);
    et_alarm(60, "where: stuck\n");
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = list }, &rt), RONDO_OK);
    cr_assert_eq(rondo_counter_create(rt, 3, &counter), RONDO_OK);
    cr_assert_eq(rondo_counter_event(counter, 4, &event), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "waits" }, &g),
                 RONDO_OK);
    rondo_record_task(g, &(rondo_task_desc){ .name = "held", .fn = nothing, .on = RONDO_CPU(1) });
    cr_assert_eq(
        rondo_instantiate(g, &(rondo_instantiate_options){ .mode = RONDO_COMPILED }, &exec),
        RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(
        rondo_replay(exec, &(rondo_replay_args){ .after = &event, .after_count = 1 }, NULL),
        RONDO_OK);
    for (int i = 0; i < 3000 && !seen; i++) { /* until both have gone to rest */
        char other[8192];
        file = begin_output();
        rondo_where(out);
        end_output(file, text, sizeof text);
        strcpy(copy, text);
        strcpy(other, text);
        seen = has_line(copy, blocked) && has_line(other, idle);
        usleep(1000);
    }
    cr_assert(seen, "it says:\n%s", text);
    cr_assert_eq(rondo_counter_add(counter, 1), RONDO_OK);
    cr_assert_eq(rondo_exec_wait(exec, NULL), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
    cr_assert_null(et_close_clean(rt));
    file = begin_output();
    rondo_where(out);
    end_output(file, text, sizeof text);
    cr_assert_str_eq(text, "", "it says:\n%s", text);
    et_alarm(0, "%s", "");
}

/* Where a sandbox forbids to read memory by process_vm_readv, it finds another way. */
static void forbid_reading(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        cr_skip_test("no filter can be set here");
}

Test(where, threads_that_wait) { threads_that_wait(); }

Test(where, threads_that_wait_in_a_sandbox)
{
    forbid_reading();
    threads_that_wait();
}

/* Looks all the time, while runtimes and execs come and go. */
static _Atomic(int) looking;
static void *look(void *argument)
{
    int null = open("/dev/null", O_WRONLY);
    (void)argument;
    while (atomic_load(&looking))
        rondo_where(null);
    close(null);
    return NULL;
}

Test(where, objects_that_go_away)
{
    pthread_t thread;
    et_alarm(120, "where: objects that go away: stuck\n");
    atomic_store(&looking, 1);
    cr_assert_eq(pthread_create(&thread, NULL, look, NULL), 0);
    for (uint64_t i = 0; i < et_scaled(60, 10); i++) {
        rondo_runtime rt = et_runtime(2);
        for (int k = 0; k < 10; k++) {
            rondo_subgraph g;
            rondo_exec exec;
            cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
            for (uint32_t n = 0; n < 4; n++)
                rondo_record_task(g, &(rondo_task_desc){ .fn = nothing, .on = RONDO_CPU(n % 2) });
            cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK);
            cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
            cr_assert_eq(rondo_replay(exec, NULL, NULL), RONDO_OK);
            cr_assert_eq(rondo_replay_and_wait(exec, NULL, -1, NULL), RONDO_OK);
            cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
        }
        cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    }
    atomic_store(&looking, 0);
    pthread_join(thread, NULL);
    et_alarm(0, "%s", "");
}
