/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording as arrays of nodes and edges: what commands compute on. */
#ifndef RONDO_TOOLS_GRAPH_H
#define RONDO_TOOLS_GRAPH_H

#include "tools/file.h"

struct graph_node {
    char *name;
    uint64_t tag;
    double cost_ns; /* of tasks as the file says it, also where Rondo keeps no number that large */
    uint32_t kind, flags, conditional; /* as in rondo_recorded_node */
    rondo_processor on;
};

static inline int graph_on_device(const struct graph_node *n)
{
    return n->on >> 24 == RONDO_GPU(0) >> 24;
}

struct graph_edge {
    uint32_t from, to, distance, by_hand;
};

struct graph {
    uint32_t nodes;
    size_t edges, carried; /* carried: those of them that reach over replays */
    struct graph_node *node;
    struct graph_edge *edge; /* sorted by `to` */
    size_t *first;           /* those into v are edge[first[v] .. first[v + 1]) */
    /* The nodes, each behind its predecessors within a replay; NULL where there is a circle. */
    uint32_t *order;
    uint32_t inner_most; /* the most edges of distance 0 into one node */
    double critical_ns;  /* the longest path within a replay; 0 where there is a circle */
    double work_ns;      /* the sum of all costs */
    double device_ns;    /* of these, of nodes on devices */
    uint32_t on_devices; /* how many there are */
};

/* file_record, and the recording taken apart. `graph` is ended by graph_free, file_graph->subgraph
 * by rondo_subgraph_destroy. Returns as file_record. */
int graph_record(const struct file *file, rondo_runtime runtime, const struct file_options *options,
                 const struct file_bodies *bodies, struct file_graph *file_graph,
                 struct graph *graph);
void graph_free(struct graph *graph);

/* How many edges of distance 0 are implied by a path of others; SIZE_MAX: too many to count in a
 * short time, or no memory. */
size_t graph_redundant(const struct graph *graph);

#endif
