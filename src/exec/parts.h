/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of slots and parameters that are not of the exec's own subgraph but name parts of it:
 * those of subgraphs recorded into it. */
#ifndef RD_EXEC_PARTS_H
#define RD_EXEC_PARTS_H

#include "subgraph/subgraph.h"

struct rd_exec_part {
    uint64_t id; /* of the handle */
    uint32_t index;
};

/* By id. */
struct rd_exec_parts {
    struct rd_exec_part *item;
    size_t count;
    /* Serials of recordings that were replaced, whose parts have the same indices: the first one,
     * then the latest. */
    uint32_t older[8];
};

int rd_exec_parts_make(struct rd_allocator *a, const struct rd_subgraph *g,
                       struct rd_exec_parts *parts); /* 0: no memory */
void rd_exec_parts_free(struct rd_allocator *a, struct rd_exec_parts *parts);
/* The index + 1; 0 when the handle names no part. */
uint32_t rd_exec_parts_find(const struct rd_exec_parts *parts, uint64_t id);

#endif
