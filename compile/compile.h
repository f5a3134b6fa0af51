/* SPDX-License-Identifier: BSD-3-Clause */
/* The instantiation pass: a graph in, a plan out. Pure functions of their input: no threads, no
 * clock, no addresses; the same input gives the same plan. In this order: order, place, lanes,
 * waits, plan_check. */
#ifndef RD_COMPILE_COMPILE_H
#define RD_COMPILE_COMPILE_H

#include "compile/plan.h"
#include "subgraph/graph.h"

enum { RD_PLACE_ANY = 0xffff };
/* What placement reckons with where nobody knows better: a hand-over between two cores of one
 * machine, by measurement 50 to 300 ns one way; and a task that is worth handing over. */
enum { RD_HANDOVER_NS = 250, RD_UNKNOWN_COST_NS = 10000 };

struct rd_compile_input {
    const struct rd_graph *graph; /* acyclic within a replay */
    /* By node; each may be NULL (all 0, all 0, all any). */
    const uint32_t *cost_ns;  /* 0: not known */
    const int32_t *priority;  /* among ready nodes greater goes first */
    const uint16_t *bound;    /* processor, or RD_PLACE_ANY */
    uint32_t processors;      /* at least 1, at most RD_LANES_MAX */
    uint32_t handover_ns;     /* cost of a dependence from one processor to another */
    uint32_t unknown_cost_ns; /* taken for a cost of 0; at least 1 */
    /* The engine's own time per op. With it the other overheads count as well: a replay on its own
     * needs two hand-overs to reach another processor and two to be told of its end, and a
     * processor stands still when it looks for another's results. 0: none of these. */
    uint32_t op_ns;
    /* By node, may be NULL: 1 if the node may wait for something outside of the exec (a wait, a
     * detached or a blocking task). Nodes with the same set of such nodes upstream, themselves
     * included, share a lane of their processor, so that a blocked one holds back only what depends
     * on it. More than 16 sets: INVALID, unless interpret_only. */
    const uint8_t *external;
    /* By node, may be NULL: a node that stands for the team it is a rank of, itself for most. The
     * ranks of a team have the same predecessors and successors but for each other, and are bound
     * to different processors; they stand next to each other in the global order, so that all lanes
     * come to the teams in one order. */
    const uint32_t *team;
    uint32_t helpers;   /* the last so many processors take only nodes that are bound to them */
    int check;          /* run plan_check */
    int interpret_only; /* leave the waits out; every lane is a sink */
};

/* MEMORY, or INVALID for what the plan's fields cannot hold (lanes, positions); the message says
 * what. */
rondo_status rd_compile(struct rd_allocator *a, const struct rd_compile_input *input,
                        struct rd_plan **plan);

#endif
