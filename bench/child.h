/* SPDX-License-Identifier: BSD-3-Clause */
/* Running this program again, alone or under another. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <sys/types.h>

/* This program's path. */
const char *child_self(void);
/* Starts argv[0], found along PATH, on all CPUs this process may use. -1 when it cannot.
 * `output` NULL: its standard output stays this program's; else `*output` is where to read it. With
 * `quiet` what it says on standard error goes nowhere. */
pid_t child_start(char *const argv[], int *output, int quiet);
/* Waits for its end. Its exit status, or -1 if it was killed. */
int child_wait(pid_t child);
/* Starts, reads all it says on standard output into `text` (cut to fit) and waits. */
int child_read(char *const argv[], char *text, unsigned bytes);
/* How many system calls this program makes, its threads included, when it is run with these
 * arguments; counted by strace. -1: strace cannot run, or the program failed. */
double child_system_calls(const char *const arguments[]);

#endif
