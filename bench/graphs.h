/* SPDX-License-Identifier: BSD-3-Clause */
/* The graphs that are measured. Nodes are numbered so that every predecessor has a smaller number.
 */
#ifndef BENCH_GRAPHS_H
#define BENCH_GRAPHS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum graph_kind {
    GRAPH_CHAIN,    /* `steps` nodes, one after the other */
    GRAPH_STENCIL,  /* `steps` rows of `width`; a node follows its three neighbours of the row above
                     */
    GRAPH_FFT,      /* rows as in a butterfly; `width` is a power of two */
    GRAPH_RANDOM,   /* rows; a node follows three random ones of the row above */
    GRAPH_FAN,      /* `steps` times 1 - `width` - 1 */
    GRAPH_CHOLESKY, /* tile Cholesky of `width` x `width` tiles */
    GRAPH_TREE,     /* `steps` binary reductions of `width` leaves, one after the other */
    GRAPH_KINDS,
    /* What Task Bench runs: `steps` steps of `width` points, see bench/patterns.h. */
    PATTERN_TRIVIAL,
    PATTERN_NO_COMM,
    PATTERN_STENCIL_1D,
    PATTERN_STENCIL_1D_PERIODIC,
    PATTERN_DOM,
    PATTERN_TREE,
    PATTERN_FFT,
    PATTERN_ALL_TO_ALL,
    PATTERN_NEAREST,
    PATTERN_SPREAD,
    PATTERN_RANDOM_NEAREST,
    PATTERN_END
};
enum { PATTERNS = PATTERN_END - PATTERN_TRIVIAL };

struct graph_edge {
    uint32_t from, to;
};

struct graph {
    enum graph_kind kind;
    uint32_t width, steps, workers;
    uint32_t nodes, edges, levels;
    uint32_t *pred_first, *pred; /* predecessors of v: pred[pred_first[v] .. pred_first[v + 1]) */
    uint32_t *succ_first, *succ;
    uint32_t *level;                    /* longest path to the node */
    uint32_t *level_first, *level_node; /* nodes by level */
    uint32_t *owner; /* which of `workers` runs the node where that is given: contiguous columns */
    /* From a node of one replay to one of the next: what a time loop over the graph needs. */
    struct graph_edge *carried_edge;
    uint32_t carried;
    uint32_t *id; /* id[v] == v: the argument of node v's body */
};

/* The kind by its name on the command line; GRAPH_KINDS when there is none. */
enum graph_kind graph_kind_of(const char *name);
/* The same for the patterns; PATTERN_END when there is none. */
enum graph_kind graph_pattern_of(const char *name);
const char *graph_kind_name(enum graph_kind kind);
/* NULL if the graph can be made, else what is wrong with the sizes. */
const char *graph_refusal(enum graph_kind kind, uint32_t width, uint32_t steps, uint32_t workers);
/* Given back by graph_free. */
struct graph *graph_make(enum graph_kind kind, uint32_t width, uint32_t steps, uint32_t workers);
/* The graph of this kind with about that many nodes. */
struct graph *graph_make_sized(enum graph_kind kind, uint32_t nodes, uint32_t workers);
void graph_free(struct graph *graph);

#ifdef __cplusplus
}
#endif
#endif
