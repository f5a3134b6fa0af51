/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting of numbers, in linear time and without recursion. */
#ifndef RD_SUBGRAPH_SORT_H
#define RD_SUBGRAPH_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. `scratch` has room for `count`. */
void rd_sort(uint64_t *value, size_t count, uint64_t *scratch);

#endif
