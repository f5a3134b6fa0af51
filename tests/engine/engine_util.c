/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the whole engine share. */
#include "tests/engine/engine_util.h"

#include "tests/support/scale.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct et_mode et_modes[ET_MODES] = {
    { "interpreted", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "compiled serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "compiled pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO },
    { "interpreted pipelined", RONDO_INTERPRETED, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO },
    { "dataflow serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_DATAFLOW },
    { "dataflow pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_DATAFLOW },
};

uint64_t et_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

uint64_t et_scaled(uint64_t full, uint64_t least)
{
    uint64_t n = rd_test_scaled(full);
    return n < least ? least : n;
}

void et_cpu_list(uint32_t workers, char *list, size_t bytes)
{
    cpu_set_t set;
    size_t at = 0;
    int cpu = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0)
        abort();
    for (uint32_t i = 0; i < workers; i++) {
        do
            cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET((size_t)cpu, &set));
        at += (size_t)snprintf(list + at, bytes - at, "%s%d", i ? "," : "", cpu);
        if (at >= bytes)
            abort();
    }
}

rondo_runtime et_runtime(uint32_t workers)
{
    char list[1024];
    rondo_runtime runtime;
    et_cpu_list(workers, list, sizeof list);
    if (rondo_runtime_open(&(rondo_runtime_options){ .cpus = list }, &runtime) != RONDO_OK) {
        fprintf(stderr, "runtime on CPUs %s: %s\n", list, rondo_error_message());
        abort();
    }
    return runtime;
}

const char *et_close_clean(rondo_runtime runtime)
{
    static _Thread_local char what[256];
    rondo_runtime_statistics s;
    what[0] = 0;
    if (rondo_runtime_drain(runtime) || rondo_runtime_trim(runtime) ||
        rondo_runtime_stats(runtime, &s))
        (void)snprintf(what, sizeof what, "%s", rondo_error_message());
    else if (s.execs || s.subgraphs || s.buffers || s.frames || s.sources || s.held)
        (void)snprintf(
            what, sizeof what,
            "left: %llu execs, %llu subgraphs, %llu buffers, %llu frames, %llu sources, %llu held",
            (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
            (unsigned long long)s.buffers, (unsigned long long)s.frames,
            (unsigned long long)s.sources, (unsigned long long)s.held);
    if (rondo_runtime_close(runtime) != RONDO_OK)
        (void)snprintf(what, sizeof what, "close: %s", rondo_error_message());
    return what[0] ? what : NULL;
}

int64_t et_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int et_await(const _Atomic(uint64_t) *flag, uint64_t value)
{
    int64_t end = et_now_ns() + 60000000000;
    while (atomic_load(flag) < value) {
        if (et_now_ns() > end)
            return 0;
        sched_yield();
    }
    return 1;
}

uint64_t et_resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static char alarm_text[256];

static void on_alarm(int signal)
{
    (void)signal;
    if (write(2, alarm_text, strlen(alarm_text)) < 0)
        _exit(3);
    abort();
}

void et_alarm(unsigned seconds, const char *format, ...)
{
    va_list list;
    alarm(0);
    va_start(list, format);
    (void)vsnprintf(alarm_text, sizeof alarm_text, format, list);
    va_end(list);
    if (seconds)
        signal(SIGALRM, on_alarm);
    alarm(seconds);
}

void et_every_mode(const struct et_mode_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int m = 0; m < ET_MODES; m++)
            for (uint32_t workers = 1; workers <= 2; workers++) {
                et_alarm(60, "%s, %s, %u workers: hangs\n", cases[i].name, et_modes[m].name,
                         workers);
                cases[i].run(&et_modes[m], workers);
            }
    et_alarm(0, "%s", "");
}

void et_every_schedule(const struct et_schedule_case *cases, size_t count)
{
    static const uint32_t schedules[] = { RONDO_STATIC, RONDO_DATAFLOW };
    for (size_t i = 0; i < count; i++)
        for (int m = 0; m < ET_MODES; m++)
            for (int s = 0; s < 2; s++)
                for (uint32_t workers = 1; workers <= 3; workers++) {
                    rondo_instantiate_options o = { .mode = et_modes[m].mode,
                                                    .order = et_modes[m].order,
                                                    .schedule = schedules[s] };
                    if (o.mode == RONDO_INTERPRETED && s)
                        continue;
                    et_alarm(60, "%s, %s%s, %u workers: hangs\n", cases[i].name, et_modes[m].name,
                             s ? ", dataflow" : "", workers);
                    cases[i].run(&o, workers);
                }
    et_alarm(0, "%s", "");
}
