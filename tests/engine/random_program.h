/* SPDX-License-Identifier: BSD-3-Clause */
/* What the makers of a random program share. */
#ifndef TESTS_ENGINE_RANDOM_PROGRAM_H
#define TESTS_ENGINE_RANDOM_PROGRAM_H

#include "tests/engine/random_graph.h"

/* random_records.c: records until there are `nodes` nodes, and the edges between them. */
void rg_records_make(struct rg_program *p, struct rg_rng *rng, uint32_t nodes);
/* random_edges.c */
void rg_edges_make(struct rg_program *p, struct rg_rng *rng);
/* Whether it is a task of the test's own. */
static inline int rg_is_task(const struct rg_record *r)
{
    return r->kind == RG_TASK || r->kind == RG_FENCE || r->kind == RG_NOTHING || r->kind == RG_FOR;
}
/* Whether the node leaves a stamp, and so can be checked as a predecessor. */
static inline int rg_stamps(const struct rg_record *r)
{
    return rg_is_task(r) && !r->repeated && r->device < 0;
}
/* Whether its executions are counted: Rondo's own copies and fills, and kernels, are not. */
static inline int rg_counts(const struct rg_record *r)
{
    return (rg_is_task(r) && r->device < 0) || r->kind == RG_CALL;
}
static inline int rg_conditional(const struct rg_when *w)
{
    return w->every || w->param >= 0 || w->flag >= 0;
}
/* Whether a node of the record may be passed over in a replay. */
int rg_sometimes(const struct rg_program *p, const struct rg_record *r);
/* What touch number `i` of the node is, its accesses and then the flags it depends on; 0: no more.
 */
int rg_touch(const struct rg_program *p, uint32_t node, uint32_t i, struct rg_access *access,
             struct rg_boxes *boxes);
/* random_features.c */
void rg_features_draw(struct rg_program *p, struct rg_rng *rng);
void rg_when_make(struct rg_program *p, struct rg_rng *rng, struct rg_when *when);
/* Flags, counters and the like of a task. */
void rg_traits_make(struct rg_program *p, struct rg_rng *rng, struct rg_record *r);
/* Records so far that something outside of Rondo ends. */
uint32_t rg_externals(const struct rg_program *p);
/* random_nest.c: what is made between the two is recorded in a subgraph of its own. Open: 0 where
 * there are enough of them. Close: now and then it is recorded once more, over other slots. */
int rg_nest_open(struct rg_program *p, struct rg_rng *rng);
void rg_nest_close(struct rg_program *p, struct rg_rng *rng);
/* Whether an edge between the two records is one of a whole nest. */
static inline int rg_crosses(const struct rg_program *p, uint32_t a, uint32_t b)
{
    return p->record[a].nest != p->record[b].nest;
}
/* random_body.c: numbers of a slot's type. */
void rg_number_write(unsigned char *at, uint32_t type, int32_t value);
/* random_graph.c */
uint32_t rg_add_param(struct rg_program *p, struct rg_rng *rng, uint32_t bytes);
/* random_helper.c: one thread beside those of Rondo. It calls what it is given, in turn, after a
 * while that `delay` says. */
void rg_helper_start(void);
void rg_helper_stop(void);
void rg_helper_call(void (*fn)(void *argument), const void *argument, size_t bytes, uint32_t delay);
/* Returns when all asked for before has been done. */
void rg_helper_settle(void);
/* An event that the helper sees to. */
rondo_event rg_helper_promise(struct rg_run *run, uint32_t delay);
/* random_partner.c: the other exec, replayed as often. */
int rg_partner_open(struct rg_run *run, rondo_runtime runtime);
void rg_partner_replay(struct rg_run *run, uint64_t count);
void rg_partner_close(struct rg_run *run);
/* The node whose stamp it answers, given the record that signals it; the number of nodes: none. */
uint32_t rg_partner_from(const struct rg_program *p, uint32_t signal);
/* What its task does in a replay: the answer is left in rg_partner_cell. */
void rg_partner_answer(struct rg_run *run, uint32_t from, uint64_t replay);
struct rg_cell *rg_partner_cell(struct rg_run *run, uint64_t replay);

/* random_print.c: to stderr. */
void rg_print(const struct rg_program *p);

/* Whether two slots can reach the same bytes. */
int rg_slots_meet(const struct rg_program *p, uint32_t a, uint32_t b);

#endif
