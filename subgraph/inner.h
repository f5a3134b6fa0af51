/* SPDX-License-Identifier: BSD-3-Clause */
/* One recording on its way into another: what its parts become. */
#ifndef RD_SUBGRAPH_INNER_H
#define RD_SUBGRAPH_INNER_H

#include "subgraph/record.h"

struct rd_nesting {
    struct rd_subgraph *g;
    const struct rd_subgraph *in;
    const char *name;      /* goes before the nodes' names */
    uint32_t *slot;        /* by slot of `in`: the index in g + 1 */
    uint32_t *param;       /* the same of parameters */
    uint32_t *alias_class; /* by class of `in`: the class in g + 1; 0: none yet */
    uint8_t *mapped;       /* by slot of `in`: the caller said what it is */
    struct rd_when when;   /* of all nodes */
    uint32_t conditional;  /* 1: there is one */
    /* Where the copies begin in the pools of g. */
    uint32_t node, box, chunk, param_use, patch, holder, sync, kernel;
    size_t arg;
    uint32_t *image;            /* by image of `in`: its index in g */
    const struct rd_node *last; /* the node copied last, and what it became */
    struct rd_node made;
};

/* inner_parts.c: finds or adds the slots and parameters; rd_nesting_free in any case. */
rondo_status rd_nesting_parts(struct rd_nesting *k, const rondo_inner_desc *desc);
void rd_nesting_free(struct rd_nesting *k);

#endif
