/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large blocks are filled soon after: to have the kernel map their pages in one go costs a tenth of
 * as many page faults. Best effort: older kernels refuse. */
enum { LARGE = 1 << 16 };

static void map_pages(char *begin, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = 4096;
    uintptr_t first = ((uintptr_t)begin + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)begin + bytes) & ~(page - 1);
    if (end > first)
        madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
    (void)begin;
    (void)bytes;
#endif
}

static void *system_allocate(void *context, size_t bytes, size_t align)
{
    void *block;
    (void)context;
    if (align <= _Alignof(max_align_t))
        block = malloc(bytes);
    else if (posix_memalign(&block, align, bytes))
        return NULL;
    if (block && bytes >= LARGE)
        map_pages(block, bytes);
    return block;
}

static void system_release(void *context, void *block)
{
    (void)context;
    free(block);
}

static void *system_resize(void *context, void *block, size_t old_bytes, size_t bytes)
{
    void *longer = realloc(block, bytes);
    (void)context;
    if (longer && bytes >= LARGE)
        map_pages((char *)longer + old_bytes, bytes - old_bytes);
    return longer;
}

void rd_allocator_init(struct rd_allocator *a, void *(*allocate)(void *, size_t, size_t),
                       void (*release)(void *, void *), void *context)
{
    a->allocate = allocate ? allocate : system_allocate;
    a->release = release ? release : system_release;
    a->resize = allocate ? NULL : system_resize;
    a->context = context;
    rd_store_relaxed(&a->bytes, 0);
    rd_store_relaxed(&a->calls, 0);
}

struct rd_allocator *rd_allocator_system(void)
{
    static struct rd_allocator a = { system_allocate, system_release, system_resize, NULL, 0, 0 };
    return &a;
}

void *rd_alloc(struct rd_allocator *a, size_t bytes, size_t align)
{
    void *block = a->allocate(a->context, bytes ? bytes : 1, align);
    /* Statistics: nothing is ordered by them. */
    rd_add_relaxed(&a->calls, 1);
    if (block)
        rd_add_relaxed(&a->bytes, bytes);
    return block;
}

void *rd_zalloc(struct rd_allocator *a, size_t bytes, size_t align)
{
    void *block = rd_alloc(a, bytes, align);
    return block ? memset(block, 0, bytes) : NULL;
}

void rd_free(struct rd_allocator *a, void *block, size_t bytes)
{
    if (!block)
        return;
    rd_sub_relaxed(&a->bytes, bytes);
    a->release(a->context, block);
}

char *rd_strdup(struct rd_allocator *a, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = rd_alloc(a, bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void *rd_alloc_array(struct rd_allocator *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return rd_alloc(a, bytes, 16);
}

void *rd_zalloc_array(struct rd_allocator *a, size_t count, size_t size)
{
    void *block = rd_alloc_array(a, count, size);
    return block ? memset(block, 0, count * size) : NULL;
}

static void *renew(struct rd_allocator *a, void *old, size_t old_bytes, size_t used_bytes,
                   size_t count, size_t size)
{
    void *block = rd_alloc_array(a, count, size);
    if (!block)
        return NULL;
    if (used_bytes)
        memcpy(block, old, used_bytes);
    rd_free(a, old, old_bytes);
    return block;
}

static void *lengthen(struct rd_allocator *a, void *old, size_t old_bytes, size_t count,
                      size_t size)
{
    size_t bytes;
    void *block;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        !(block = a->resize(a->context, old, old_bytes, bytes)))
        return NULL;
    rd_add_relaxed(&a->calls, 1); /* statistics, as in rd_alloc */
    rd_add_relaxed(&a->bytes, bytes - old_bytes);
    return block;
}

int rd_grow(struct rd_allocator *a, void **items, size_t *capacity, size_t count, size_t more,
            size_t size)
{
    size_t want, room;
    void *block;
    if (__builtin_add_overflow(count, more, &want))
        return 0;
    if (want <= *capacity)
        return 1;
    room = *capacity + *capacity / 2 + 8;
    if (room < want)
        room = want;
    block = *items && a->resize ? lengthen(a, *items, *capacity * size, room, size)
                                : renew(a, *items, *capacity * size, count * size, room, size);
    if (!block)
        return 0;
    *items = block;
    *capacity = room;
    return 1;
}
