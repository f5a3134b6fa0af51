/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

/* Shows one line of progress on standard error where that is a terminal; NULL wipes it out. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
