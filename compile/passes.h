/* SPDX-License-Identifier: BSD-3-Clause */
/* What the passes of one compilation share, and their order:
 *
 *   order     topological order, successors, levels, ranks
 *   place     a processor for each node, and how many processors pay
 *   timeline  the placement played in time: the global linear order and its prediction
 *   lanes     that order cut into lanes: the plan's ops
 *   variants  the same ops for each variant of the graph
 *   waits     the waits that are not implied, and the sinks
 *   plan_check
 *
 * Every pass that allocates returns OK or MEMORY, and leaves what it obtained to the scratch. */
#ifndef RD_COMPILE_PASSES_H
#define RD_COMPILE_PASSES_H

#include "compile/compile.h"
#include "compile/scratch.h"
#include "compile/sort.h"
#include "src/base/error.h"

struct rd_pass {
    const struct rd_compile_input *in;
    const struct rd_graph *graph;
    struct rd_scratch scratch;
    uint32_t nodes;
    uint32_t handover_ns;
    int fastest;      /* the fastest placement found, however little it gains: simulate.c */
    uint64_t work_ns; /* sum of the costs, op_ns included */

    /* order */
    uint32_t edges; /* within a replay */
    uint64_t carried_edges;
    uint32_t *topo;       /* a topological order; NULL: the ids are one */
    uint32_t *pred_count; /* predecessors within a replay */
    uint32_t *succ_first; /* successors within a replay, by node; valid once succ is there */
    uint32_t *succ;       /* ascending; NULL until asked for */

    /* lanes: edges between them, carried ones included */
    uint64_t crossing;
    uint32_t crossing_distance; /* their largest */
    uint32_t *crossing_out;     /* by producer; NULL with one lane */
    uint32_t most_preds;        /* of a node, carried ones included */
};

/* A placement and how it plays. */
struct rd_placement {
    uint16_t *processor; /* by node */
    uint32_t *order;     /* the global linear order */
    int ids;             /* it is the ids; `order` is not filled */
    uint64_t time_ns;    /* predicted for a replay; pipelined: from one replay to the next */
};

static inline uint64_t rd_pass_cost(const struct rd_pass *p, uint32_t node)
{
    uint32_t cost = p->in->cost_ns ? p->in->cost_ns[node] : 0;
    uint32_t unknown = p->in->unknown_cost_ns ? p->in->unknown_cost_ns : 1;
    return (uint64_t)(cost ? cost : unknown) + p->in->op_ns;
}
/* From a replay's begin on processor 0 until another processor can start, and back at its end. */
static inline uint64_t rd_pass_reach(const struct rd_pass *p)
{
    return (p->in->op_ns ? 2ull : 1ull) * p->handover_ns;
}
static inline int32_t rd_pass_priority(const struct rd_pass *p, uint32_t node)
{
    return p->in->priority ? p->in->priority[node] : 0;
}
static inline uint32_t rd_pass_at(const struct rd_pass *p, uint32_t i)
{
    return p->topo ? p->topo[i] : i;
}
static inline rondo_status rd_pass_memory(void)
{
    rd_error(RONDO_ERR_MEMORY, "out of memory while compiling a plan");
    return RONDO_ERR_MEMORY;
}

/* compile.c: INVALID, the message naming the value. */
rondo_status rd_compile_check_input(const struct rd_compile_input *in);

/* order.c. INVALID: a cycle within a replay, naming a node on it. */
rondo_status rd_order(struct rd_pass *p);
rondo_status rd_order_successors(struct rd_pass *p); /* once; later calls do nothing */
/* Longest path in edges from a node without predecessors; the number of levels comes back. */
uint32_t rd_order_levels(const struct rd_pass *p, uint32_t *level);
/* rank = cost + the most over successors of (rank + hand-over if `processor` puts them apart);
 * producers of a carried edge to another processor count as having a successor of rank 0. NULL: no
 * hand-overs. */
void rd_order_ranks(const struct rd_pass *p, const uint16_t *processor, uint64_t *rank);
/* The nodes by descending priority, descending rank (NULL: all equal), ascending id. The result
 * lies in one of the two arrays. */
struct rd_keyed *rd_order_sort(const struct rd_pass *p, const uint64_t *rank, struct rd_keyed *key,
                               struct rd_keyed *spare);
/* A topological order: of the nodes whose predecessors are in it always the first in that order. */
rondo_status rd_order_list(struct rd_pass *p, const uint64_t *rank, uint32_t *order);
/* For all nodes on one processor: the ids, and *ids set, if they are topological and all priorities
 * are equal; else rd_order_list. */
rondo_status rd_order_alone(struct rd_pass *p, uint32_t *order, int *ids);
/* All priorities equal. */
int rd_order_even(const struct rd_pass *p);

/* place.c */
rondo_status rd_place(struct rd_pass *p, struct rd_placement *placement);
/* block.c, heft.c: two ways to place the nodes that are not bound on processors 0 to count - 1,
 * count at least 1.
 */
struct rd_levels {
    uint32_t count;
    uint32_t *first; /* nodes of level l: node[first[l] .. first[l + 1]), ids ascending */
    uint32_t *node;
};
rondo_status rd_block_levels(struct rd_pass *p, struct rd_levels *levels);
rondo_status rd_block_place(struct rd_pass *p, const struct rd_levels *levels, uint32_t count,
                            int carry, uint16_t *processor);
/* `list`: rd_order_list of the ranks without hand-overs. */
rondo_status rd_heft_place(struct rd_pass *p, const uint32_t *list, uint32_t count,
                           uint16_t *processor);

/* rules.c: how many lists are worth trying, and a schedule by one of them. */
struct rd_rules {
    uint64_t *weight;
    struct rd_keyed *key, *spare;
    uint32_t *sorted; /* NULL until one is tried */
};
uint32_t rd_rules_count(uint32_t nodes);
rondo_status rd_rules_try(struct rd_pass *p, struct rd_rules *r, const uint64_t *rank,
                          uint32_t rule, uint32_t count, struct rd_placement *placement);
/* list.c: places and orders at once by a list of all nodes, and says how long it takes. `sorted`
 * need not be topological. Only without carried edges. */
rondo_status rd_list_schedule(struct rd_pass *p, const uint32_t *sorted, uint32_t count,
                              struct rd_placement *placement);

/* timeline.c: plays placement->processor and fills its order (allocated by the caller) and time. */
rondo_status rd_timeline(struct rd_pass *p, struct rd_placement *placement);

/* together.c: moves the ranks of each team behind each other in the global order. */
rondo_status rd_together(struct rd_pass *p, struct rd_placement *placement);

/* external.c: a number below *sets for each node; nodes with equal ones may share a lane. *set
 * NULL: all are equal. INVALID: more than 16. */
rondo_status rd_external_sets(struct rd_pass *p, uint8_t **set, uint32_t *sets);

/* lanes.c: the plan without waits, publish flags, sinks. */
rondo_status rd_lanes(struct rd_pass *p, const struct rd_placement *placement,
                      struct rd_plan **plan, uint16_t **lane_of_node);

/* variants.c: phases, and each variant's ops without waits and its predecessors; nothing for a
 * graph without phases. What it obtained is the plan's, also when it fails. */
rondo_status rd_variants(struct rd_pass *p, const uint16_t *lane_of_node, struct rd_plan *plan);

/* waits.c: waits, further waits, publish flags and sinks. `order` NULL: ids. */
rondo_status rd_waits(struct rd_pass *p, const uint32_t *order, const uint16_t *lane_of_node,
                      struct rd_plan *plan);
void rd_waits_all_sinks(struct rd_plan *plan);

/* plan_check.c: OK with why[0] == 0 for a good plan; OK with `why` saying what is wrong; MEMORY. */
rondo_status rd_plan_check(struct rd_allocator *a, const struct rd_compile_input *in,
                           const struct rd_plan *plan, char *why, size_t why_bytes);

#endif
