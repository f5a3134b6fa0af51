/* SPDX-License-Identifier: BSD-3-Clause */
/* What the makers of a random program share. */
#ifndef TESTS_ENGINE_RANDOM_PROGRAM_H
#define TESTS_ENGINE_RANDOM_PROGRAM_H

#include "tests/engine/random_graph.h"

/* random_records.c: records until there are `nodes` nodes, and the edges between them. */
void rg_records_make(struct rg_program *p, struct rg_rng *rng, uint32_t nodes);
/* random_edges.c */
void rg_edges_make(struct rg_program *p, struct rg_rng *rng);
/* Whether the node leaves a stamp, and so can be checked as a predecessor. */
static inline int rg_stamps(const struct rg_record *r)
{
    return r->kind == RG_TASK || r->kind == RG_FENCE || r->kind == RG_NOTHING || r->kind == RG_FOR;
}
/* Whether its executions are counted: Rondo's own copies and fills are not. */
static inline int rg_counts(const struct rg_record *r)
{
    return rg_stamps(r) || r->kind == RG_CALL;
}
/* Whether two slots can reach the same bytes. */
int rg_slots_meet(const struct rg_program *p, uint32_t a, uint32_t b);

#endif
