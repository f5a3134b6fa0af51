/* SPDX-License-Identifier: BSD-3-Clause */
/* A stable radix sort of nodes by a 32-bit key. */
#ifndef RD_COMPILE_SORT_H
#define RD_COMPILE_SORT_H

#include <stdint.h>

struct rd_keyed {
    uint32_t key, node;
};

/* Sorts item[0 .. count) by ascending key; equal keys keep their order. `spare` has as much room;
 * the result lies in the one of the two that comes back. */
struct rd_keyed *rd_sort_keyed(struct rd_keyed *item, struct rd_keyed *spare, uint32_t count);

#endif
