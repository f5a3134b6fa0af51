/* SPDX-License-Identifier: BSD-3-Clause */
/* Heap sort: without recursion and without further memory, in time that never grows out of hand. */
#ifndef RD_BASE_HEAP_H
#define RD_BASE_HEAP_H

#include <stddef.h>

enum { RD_HEAP_ITEM_BYTES = 64 };

/* Sorts `count` items of `size` bytes each, at most RD_HEAP_ITEM_BYTES, so that none is less than
 * one before it. Not stable: where order among equals matters `less` tells them apart. */
void rd_heap_sort(void *items, size_t count, size_t size,
                  int (*less)(const void *a, const void *b));

#endif
