/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine under measurement: its CPUs, where threads run, and two threads at once. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many CPUs this process may use, and the i-th of them as the operating system numbers it (by
 * turns when there are fewer). As at the start of the program. */
unsigned machine_cpus(void);
int machine_cpu(unsigned i);
/* Lets the calling thread run on the i-th CPU only, or anywhere it could at the start. */
void machine_pin(unsigned i);
void machine_unpin(void);

/* Runs work(context, 0) on this thread, which should be pinned to CPU 0, and work(context, 1) on a
 * second thread pinned to CPU 1, both started together. Returns the time from the start to the end
 * of both in ns. The second thread sleeps outside this call. */
double machine_pair(void (*work)(void *context, unsigned me), void *context);
/* How long a cache line takes from CPU 0 to CPU 1 and back, in ns: the mean of so many times. */
double machine_line_ns(uint32_t round_trips);
/* The same, the best of a few. */
double machine_round_trip_ns(void);
/* The CPU's model, the kernel, the compiler, the date, the load: one line each, each begun with
 * `prefix`. */
void machine_describe(FILE *out, const char *prefix);

#ifdef __cplusplus
}
#endif
#endif
