/* SPDX-License-Identifier: BSD-3-Clause */
/* Edges between numbered tasks: sorted, put in an order, searched for circles. */
#ifndef RONDO_TOOLS_ORDER_H
#define RONDO_TOOLS_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_edge {
    uint32_t from, to;
};

/* By `to`, then by `from`. */
void order_sort(struct order_edge *edges, size_t count);

/* The edges, sorted, as lists: those into t are edges[first[t] .. first[t + 1]); `first` has room
 * for tasks + 1. */
void order_index(const struct order_edge *edges, size_t count, uint32_t tasks, uint32_t *first);

/* An order of the tasks with predecessors first: place[t] is where t stands. That of the numbers if
 * it will do. Returns 0; -1: no memory; 1: there is a circle, and circle[0 .. *length) is one, each
 * a predecessor of the next, the last one of the first. `circle` has room for all tasks. */
int order_find(const struct order_edge *edges, const uint32_t *first, uint32_t tasks,
               uint32_t *place, uint32_t *circle, uint32_t *length);

#endif
