/* SPDX-License-Identifier: BSD-3-Clause */
/* How long each node of an exec takes: what was measured, whatever core ran it. */
#ifndef RD_FRAME_STATS_H
#define RD_FRAME_STATS_H

#include "src/base/alloc.h"

/* All zero: it never ran. Added to by any lane. */
struct rd_node_stats {
    rd_atomic64 runs, sum_ns;
    rd_atomic64 least_ns; /* UINT64_MAX less the shortest, so that zeros say "none" */
    rd_atomic64 most_ns;
};

/* One per exec, shared by its cores. The array is made by the first node that is timed. */
struct rd_stats {
    struct rd_allocator *alloc;
    uint32_t nodes; /* of the largest of its plans */
    rd_atomic(struct rd_node_stats *) node;
};

struct rd_node_times {
    uint64_t runs;
    uint64_t sum_ns, min_ns, max_ns; /* 0 if it never ran */
};

/* Adds one run. Without memory for the array it is not counted. `alone`: no other run of the node
 * can be added at the same time. */
void rd_stats_note(struct rd_stats *stats, uint32_t node, uint64_t ns, int alone);
/* What is known of a node; `stats` may be NULL. */
void rd_stats_read(struct rd_stats *stats, uint32_t node, struct rd_node_times *times);
void rd_stats_free(struct rd_stats *stats); /* what it holds, not itself */

#endif
