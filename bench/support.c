/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is there or the program ends, and the program's way to end. */
#include "bench/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bench_alloc(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes);
    if (!block)
        bench_die(BENCH_EXIT_FAILED, "no memory for %zu elements of %zu bytes", count, bytes);
    return block;
}

void *bench_alloc_lines(size_t count, size_t bytes)
{
    size_t whole = (count * bytes + BENCH_LINE) / BENCH_LINE * BENCH_LINE;
    void *block = aligned_alloc(BENCH_LINE, whole);
    if (!block)
        bench_die(BENCH_EXIT_FAILED, "no memory for %zu elements of %zu bytes", count, bytes);
    return memset(block, 0, whole);
}

void *bench_grow(void *old, size_t count, size_t bytes)
{
    void *block = reallocarray(old, count ? count : 1, bytes);
    if (!block)
        bench_die(BENCH_EXIT_FAILED, "no memory for %zu elements of %zu bytes", count, bytes);
    return block;
}

char *bench_text(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        bench_die(BENCH_EXIT_FAILED, "no memory for a text");
    return text;
}

void bench_die(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("rondo-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(code);
}
