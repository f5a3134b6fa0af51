/* SPDX-License-Identifier: BSD-3-Clause */
/* An exec's constants: what its nodes are called and where they find their data. Never written
 * after instantiation. Cold but for what a task's view reads. */
#ifndef RD_FRAME_PROGRAM_H
#define RD_FRAME_PROGRAM_H

#include "compile/plan.h"

#include <rondo/subgraph.h>

struct rd_stats;

struct rd_program {
    rondo_task_node *node; /* nodes + 1: the last one ends the lists of the one before */
    uint32_t *places;      /* slot of each access */
    uint8_t *modes;        /* RONDO_READ... of each access */
    rondo_region *views;   /* box of each access, as rondo_task_view shows it */
    uint32_t *param_at;    /* offset in the parameters' block */
    rondo_region *chunks;
    void **contexts; /* entry 0 is NULL */
    uint32_t *name;  /* by node, offset in names */
    char *names;
    uint64_t *tag; /* by node; NULL: all 0 */
    uint32_t
        *pend_of; /* by node: index + 1 in a frame's `pend`; 0: it never pends. NULL: none does */
    uint32_t pend_count;
    uint32_t *stop_lag; /* by node: 1 + stop_lag of a RONDO_MAY_STOP node; 0: it may not stop. NULL:
                           none may */
    uint32_t nodes;     /* those added by rd_subgraph_expand included */
    struct rd_stats *stats; /* the exec's; NULL: none are kept */
    char *exec_name;
    rondo_shape *shapes; /* by slot */
    void **base;         /* by slot: of fixed slots; NULL for others */
    size_t place_count, param_count, chunk_count, context_count, names_bytes, slot_count;
};

static inline int rd_may_pend(const struct rd_program *p, uint32_t node)
{
    return p->pend_of && p->pend_of[node];
}

static inline const char *rd_program_name(const struct rd_program *p, uint32_t node)
{
    return p->names + p->name[node];
}

#endif
