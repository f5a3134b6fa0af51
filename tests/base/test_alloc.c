/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator: counting, alignment, overflow, growing arrays, and no memory. */
#include "src/base/alloc.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A caller's hooks: fails from call `fail_at` on, and remembers what it was asked for. */
struct hooks {
    int calls, fail_at, live;
    size_t bytes, align;
};

static void *allocate(void *context, size_t bytes, size_t align)
{
    struct hooks *h = context;
    h->bytes = bytes;
    h->align = align;
    if (++h->calls >= h->fail_at)
        return NULL;
    h->live++;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void release(void *context, void *block)
{
    struct hooks *h = context;
    h->live--;
    free(block);
}

static uint64_t bytes_of(struct rd_allocator *a) { return rd_load_relaxed(&a->bytes); }

Test(alloc, counted)
{
    static const struct {
        size_t bytes, align;
    } cases[] = { { 0, 1 }, { 1, 1 }, { 24, 8 }, { 100, 64 }, { 4096, 4096 }, { 3, 128 } };
    struct rd_allocator hooked, plain;
    struct hooks hooks = { .fail_at = INT_MAX };
    size_t i;
    rd_allocator_init(&hooked, allocate, release, &hooks);
    rd_allocator_init(&plain, NULL, NULL, NULL);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rd_allocator *both[] = { &hooked, &plain };
        for (size_t k = 0; k < 2; k++) {
            uint64_t before = bytes_of(both[k]), calls = rd_load_relaxed(&both[k]->calls);
            unsigned char *block = rd_zalloc(both[k], cases[i].bytes, cases[i].align);
            cr_assert_not_null(block);
            cr_assert_eq((uintptr_t)block % cases[i].align, 0u);
            for (size_t b = 0; b < cases[i].bytes; b++)
                cr_assert_eq(block[b], 0);
            cr_assert_eq(bytes_of(both[k]), before + cases[i].bytes);
            cr_assert_eq(rd_load_relaxed(&both[k]->calls), calls + 1);
            rd_free(both[k], block, cases[i].bytes);
            cr_assert_eq(bytes_of(both[k]), before);
        }
    }
    rd_free(&hooked, NULL, 100);
    cr_assert_eq(bytes_of(&hooked), 0u);
    cr_assert_eq(hooks.live, 0);
}

Test(alloc, no_memory)
{
    struct rd_allocator a;
    struct hooks hooks = { .fail_at = 1 };
    void *items = NULL;
    size_t capacity = 0;
    rd_allocator_init(&a, allocate, release, &hooks);
    cr_assert_null(rd_alloc(&a, 8, 8));
    cr_assert_null(rd_zalloc(&a, 8, 8));
    cr_assert_null(rd_alloc_array(&a, 2, 8));
    cr_assert_null(rd_zalloc_array(&a, 2, 8));
    cr_assert_null(rd_strdup(&a, "text"));
    cr_assert(!rd_grow(&a, &items, &capacity, 0, 1, 8));
    cr_assert(!items && !capacity);
    cr_assert_eq(hooks.calls, 6);
    cr_assert_eq(bytes_of(&a), 0u);
    /* Sizes that cannot be are refused before anyone is asked. */
    cr_assert_null(rd_alloc_array(&a, SIZE_MAX / 2, 3));
    cr_assert_null(rd_zalloc_array(&a, SIZE_MAX, SIZE_MAX));
    cr_assert(!rd_grow(&a, &items, &capacity, 2, SIZE_MAX - 1, 1));
    cr_assert_eq(hooks.calls, 6);
    cr_assert_eq(bytes_of(&a), 0u);
}

Test(alloc, text)
{
    struct rd_allocator *a = rd_allocator_system();
    uint64_t before = bytes_of(a);
    char *copy = rd_strdup(a, "relax[3]"), *empty = rd_strdup(a, "");
    cr_assert_str_eq(copy, "relax[3]");
    cr_assert_str_eq(empty, "");
    cr_assert_eq(bytes_of(a), before + 10);
    rd_free(a, copy, strlen(copy) + 1);
    rd_free(a, empty, 1);
    cr_assert_eq(bytes_of(a), before);
}

Test(alloc, grow)
{
    enum { COUNT = 10000 };
    struct rd_allocator a;
    struct hooks hooks = { .fail_at = INT_MAX };
    uint32_t *item = NULL;
    size_t capacity = 0, count, room;
    rd_allocator_init(&a, allocate, release, &hooks);
    for (count = 0; count < COUNT; count++) {
        cr_assert(rd_grow(&a, (void **)&item, &capacity, count, 1, sizeof *item));
        cr_assert_gt(capacity, count);
        item[count] = (uint32_t)count;
    }
    for (count = 0; count < COUNT; count++)
        cr_assert_eq(item[count], count);
    cr_assert_lt(hooks.calls, 30, "%d allocations: growth is geometric", hooks.calls);
    cr_assert_eq(bytes_of(&a), capacity * sizeof *item);
    /* Room for many at once, and no call where there is room already. */
    cr_assert(rd_grow(&a, (void **)&item, &capacity, COUNT, 3 * COUNT, sizeof *item));
    cr_assert_geq(capacity, 4u * COUNT);
    hooks.fail_at = hooks.calls + 1;
    cr_assert(rd_grow(&a, (void **)&item, &capacity, COUNT, 3 * COUNT, sizeof *item));
    /* A failure leaves the array as it was. */
    room = capacity;
    cr_assert(!rd_grow(&a, (void **)&item, &capacity, capacity, 1, sizeof *item));
    cr_assert_eq(capacity, room);
    cr_assert_eq(item[COUNT - 1], COUNT - 1u);
    rd_free_array(&a, item, capacity, sizeof *item);
    cr_assert_eq(bytes_of(&a), 0u);
    cr_assert_eq(hooks.live, 0);
}
