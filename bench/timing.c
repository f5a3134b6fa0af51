/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, samples with their minimum and median, and quiet between measurements. */
#include "bench/timing.h"

#include "bench/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double timing_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* ---- samples */

void samples_add(struct samples *s, double value)
{
    if (s->count == s->room) {
        s->room = s->room * 2 + 64;
        s->value = bench_grow(s->value, s->room, sizeof *s->value);
    }
    s->value[s->count++] = value;
}

void samples_clear(struct samples *s)
{
    free(s->value);
    *s = (struct samples){ 0 };
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(const struct samples *s, double share)
{
    if (!s->count)
        return 0;
    double *sorted = bench_alloc(s->count, sizeof *sorted);
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = s->value[i];
    qsort(sorted, s->count, sizeof *sorted, compare);
    size_t at = (size_t)(share * (double)s->count);
    double value = sorted[at < s->count ? at : s->count - 1];
    free(sorted);
    return value;
}

double samples_min(const struct samples *s) { return samples_quantile(s, 0); }

double samples_max(const struct samples *s) { return samples_quantile(s, 1); }

double samples_median(const struct samples *s) { return samples_quantile(s, 0.5); }

/* ---- quiet */

void timing_settle(void)
{
    const struct timespec nap = { 0, 300000 };
    for (int tries = 0; tries < 60; tries++) {
        double before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        nanosleep(&nap, NULL);
        if (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before < 40000)
            return;
    }
}

static size_t resident_bytes(void)
{
    unsigned long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%lu %lu", &total, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

struct timing_use timing_use_now(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (struct timing_use){
        .cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .switches = use.ru_nvcsw + use.ru_nivcsw,
        .voluntary = use.ru_nvcsw,
        .resident_bytes = resident_bytes(),
    };
}
