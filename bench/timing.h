/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, samples with their minimum and median, and quiet between measurements. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

double timing_ns(void); /* CLOCK_MONOTONIC */

struct samples {
    double *value;
    size_t count, room;
};

void samples_add(struct samples *samples, double value);
void samples_clear(struct samples *samples); /* and gives its memory back */
double samples_min(const struct samples *samples);
double samples_max(const struct samples *samples);
double samples_median(const struct samples *samples);
/* The least value that is not below `share` of them. */
double samples_quantile(const struct samples *samples, double share);

/* Sleeps until this process's other threads use no CPU, so that a runtime that still looks for work
 * is not measured together with the next one. Gives up after a while. */
void timing_settle(void);

struct timing_use {
    double cpu_ns; /* of all threads */
    long switches,
        voluntary; /* context switches; voluntary ones: a thread slept in a system call */
    size_t resident_bytes;
};
/* What this process has used so far, and how much of its memory is resident. */
struct timing_use timing_use_now(void);

#ifdef __cplusplus
}
#endif
#endif
