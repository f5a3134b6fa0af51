/* SPDX-License-Identifier: BSD-3-Clause */
/* The segments pass: cuts the nodes on devices into segments, each handed to its device as a whole.
 * Pure: a recording whose accesses are each in its processor's memory and its graph in; segments
 * and another graph out.
 *
 * Input node v on device d, its predecessors anywhere. Output: the same nodes, and two more for
 * each segment: `submit`, which hands it over, and `settle`, which ends when the device has come to
 * the segment's end. Nodes of a segment stay in the graph, without work of their own, behind its
 * settle: so that everything that is known by node (events, failure, conditions) goes on being so.
 *
 *   edge of the input                          edge of the output
 *   host -> v                                  host -> submit(v)
 *   u -> v, same device, same segment          u -> v
 *   u -> v, same device, another segment       submit(u) -> submit(v), u -> v
 *   u -> v, another device                     u -> submit(v)
 *   v -> host                                  v -> host
 *   and submit(s) -> settle(s) -> each node of s
 *
 * with the distances of the input. So a device's queue, which runs submissions in order, keeps what
 * submit -> submit says, and everything else waits for counters of the host.
 *
 * Which nodes make a segment. Level of a node: how often, at most, a path to it leaves a device.
 * Nodes of one device and level have no path through other processors among them, and segments of
 * one level that are on different devices do not wait for each other. Of the nodes of a device and
 * level, what the host reads in the same replay (and what leads to it)
 * goes before the rest, and what has to wait longer for the host than what else there is by more
 * than a submission costs goes behind it. So no edge leads back, and the output has no cycle. A
 * node that reads a flag in host memory (rd_when.flag) is looked at when its segment is submitted:
 * what writes that flag counts as another processor. */
#ifndef RD_COMPILE_SEGMENTS_H
#define RD_COMPILE_SEGMENTS_H

#include "subgraph/subgraph.h"

struct rd_segment_plan {
    uint32_t device;
    uint32_t first, count;   /* its nodes: member[first .. first + count), in an order that obeys
                                their   edges */
    uint32_t submit, settle; /* nodes of the output */
    uint32_t dep_first;      /* of its first member; see dep */
};

struct rd_segments {
    struct rd_allocator *alloc;
    uint32_t segments;
    struct rd_segment_plan *segment;
    uint32_t *member;
    uint32_t members; /* of all segments */
    /* Members of the same segment that a member follows, by position in the segment: of the i-th of
     * all members dep[dep_first[i] .. dep_first[i + 1]). */
    uint32_t *dep_first, *dep;
    uint32_t *segment_of; /* by input node: index + 1; 0: not on a device */
    uint32_t nodes;       /* of the output: input nodes, then submit and settle of each segment */
};

/* submit_ns: what handing a segment over costs. graph: the input's; *out: to be freed by
 * rd_graph_free. */
rondo_status rd_segments(struct rd_allocator *a, const struct rd_subgraph *g,
                         const struct rd_graph *graph, uint32_t submit_ns,
                         struct rd_segments **segments, struct rd_graph *out);
void rd_segments_free(struct rd_segments *s); /* may be NULL */

#endif
