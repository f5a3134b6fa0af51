/* SPDX-License-Identifier: BSD-3-Clause */
/* The second half of the segments pass: the graph that follows from the segments. */
#ifndef RD_COMPILE_SEGMENTS_GRAPH_H
#define RD_COMPILE_SEGMENTS_GRAPH_H

#include "compile/segments.h"

/* Whether an edge has to be kept by the host although both nodes are on one device: `to` looks at a
 * flag in host memory when it is submitted, and `from` may write it. Of each node one byte. */
enum { RD_LOOKS_AT_FLAG = 1, RD_WRITES_HOST = 2 };
static inline int rd_segments_by_host(const uint8_t *traits, uint32_t from, uint32_t to)
{
    return (traits[from] & RD_WRITES_HOST) && (traits[to] & RD_LOOKS_AT_FLAG);
}

/* By the table of segments.h. `place`: of each input node, 0 the host, 1 + a device. */
rondo_status rd_segments_graph(struct rd_allocator *a, const struct rd_segments *s,
                               const uint16_t *place, const uint8_t *traits,
                               const struct rd_graph *graph, struct rd_graph *out);

#endif
