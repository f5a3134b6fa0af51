/* SPDX-License-Identifier: BSD-3-Clause */
/* Small things every part of rondo-bench uses: memory that is there or the program ends, and the
 * program's way to end. */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define BENCH_NORETURN [[noreturn]]
#else
#define BENCH_NORETURN _Noreturn
#endif

enum { BENCH_EXIT_FAILED = 1, BENCH_EXIT_USAGE = 2 };

/* Two CPUs' prefetchers pair lines of 64 bytes: what must not share a line is kept 128 apart. */
#define BENCH_LINE 128

/* Tells the core that this is a spin loop. */
static inline void bench_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Zeroed memory for `count` elements. Given back by free. Ends the program when there is none. */
void *bench_alloc(size_t count, size_t bytes);
/* The same, aligned to BENCH_LINE. */
void *bench_alloc_lines(size_t count, size_t bytes);
/* Room for `count` elements, the old ones kept. */
void *bench_grow(void *old, size_t count, size_t bytes);
/* A formatted text, given back by free. */
char *bench_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says why on stderr and ends the program with `code`. */
BENCH_NORETURN void bench_die(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
