/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_ALLOC_COUNT_H
#define BENCH_ALLOC_COUNT_H

#include <stdint.h>

/* Between begin and end this process counts the calls of malloc and its kin, of all threads, those
 * inside libraries included. 0 everywhere where the C library's allocator cannot be wrapped. */
void alloc_count_begin(void);
uint64_t alloc_count_end(void);

#endif
