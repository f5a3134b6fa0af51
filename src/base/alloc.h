/* SPDX-License-Identifier: BSD-3-Clause */
/* The one way to memory: a runtime's allocator, counted. Blocks are freed with the size they had.
 */
#ifndef RD_BASE_ALLOC_H
#define RD_BASE_ALLOC_H

#include "src/base/atomic.h"

#include <stddef.h>

struct rd_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t align);
    void (*release)(void *context, void *block);
    /* Makes a block longer, moving it if need be, contents kept; NULL: allocate, copy, release. The
     * C library moves large blocks by remapping their pages, so that growing arrays touch no page
     * twice. */
    void *(*resize)(void *context, void *block, size_t old_bytes, size_t bytes);
    void *context;
    rd_atomic64 bytes; /* obtained and not given back */
    rd_atomic64 calls; /* of allocate */
};

/* The C library's memory, for what lives as long as the process, and for tests. */
struct rd_allocator *rd_allocator_system(void);
/* Hooks may be NULL: the C library's. */
void rd_allocator_init(struct rd_allocator *a, void *(*allocate)(void *, size_t, size_t),
                       void (*release)(void *, void *), void *context);

/* NULL when there is no memory. `bytes` may be 0 (a valid, unique block comes back). `align` is a
 * power of two. rd_zalloc's block is zeroed. */
void *rd_alloc(struct rd_allocator *a, size_t bytes, size_t align);
void *rd_zalloc(struct rd_allocator *a, size_t bytes, size_t align);
/* `block` may be NULL. */
void rd_free(struct rd_allocator *a, void *block, size_t bytes);
char *rd_strdup(struct rd_allocator *a, const char *text); /* freed with strlen + 1 */

/* count objects of one type; count * size is checked for overflow. */
void *rd_alloc_array(struct rd_allocator *a, size_t count, size_t size);
void *rd_zalloc_array(struct rd_allocator *a, size_t count, size_t size);
static inline void rd_free_array(struct rd_allocator *a, void *block, size_t count, size_t size)
{
    rd_free(a, block, count * size);
}

/* Makes room for `more` objects behind the `count` in a growing array; 0 when there is no memory
 * (the array is then as it was). Growth is geometric. Usage: if (!rd_grow(a, (void **)&v->item,
 * &v->capacity, v->count, 1, sizeof *v->item)) ... */
int rd_grow(struct rd_allocator *a, void **items, size_t *capacity, size_t count, size_t more,
            size_t size);

#endif
