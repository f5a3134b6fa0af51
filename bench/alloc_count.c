/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the process's allocations by standing in front of glibc's allocator. */
#include "bench/alloc_count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int counting;
static _Atomic uint64_t count;

void alloc_count_begin(void)
{
    atomic_store(&count, 0);
    atomic_store(&counting, 1);
}

uint64_t alloc_count_end(void)
{
    atomic_store(&counting, 0);
    return atomic_load(&count);
}

/* A sanitizer's allocator takes these names itself. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITH_SANITIZER
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(WITH_SANITIZER)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static inline void note(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
    note();
    return __libc_malloc(bytes);
}

void *calloc(size_t elements, size_t bytes)
{
    note();
    return __libc_calloc(elements, bytes);
}

void *realloc(void *block, size_t bytes)
{
    note();
    return __libc_realloc(block, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    note();
    return __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note();
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    note();
    if (align < sizeof(void *) || (align & (align - 1)))
        return EINVAL;
    void *made = __libc_memalign(align, bytes);
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}
#endif
