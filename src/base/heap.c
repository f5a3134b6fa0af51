/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/heap.h"

#include "src/base/error.h"

#include <string.h>

struct heap {
    char *items;
    size_t size;
    int (*less)(const void *a, const void *b);
};

static void *item(const struct heap *h, size_t at) { return h->items + at * h->size; }

/* `top` goes from `at` down to where nothing below it is greater. */
static void sift(const struct heap *h, const void *top, size_t at, size_t count)
{
    size_t child;
    for (; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && h->less(item(h, child), item(h, child + 1)))
            child++;
        if (!h->less(top, item(h, child)))
            break;
        memcpy(item(h, at), item(h, child), h->size);
    }
    memcpy(item(h, at), top, h->size);
}

void rd_heap_sort(void *items, size_t count, size_t size, int (*less)(const void *a, const void *b))
{
    const struct heap h = { items, size, less };
    _Alignas(16) char one[RD_HEAP_ITEM_BYTES];
    size_t i;
    RD_ASSERT(size <= sizeof one);
    for (i = count / 2; i-- > 0;) {
        memcpy(one, item(&h, i), size);
        sift(&h, one, i, count);
    }
    for (i = count; i-- > 1;) {
        memcpy(one, item(&h, i), size);
        memcpy(item(&h, i), item(&h, 0), size);
        sift(&h, one, 0, i);
    }
}
