/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of reducing accesses and their shares, while a recording is expanded. */
#ifndef RD_SUBGRAPH_REDUCE_H
#define RD_SUBGRAPH_REDUCE_H

#include "subgraph/expand.h"

struct rd_share {
    uint32_t node, access; /* recorded ones */
    uint32_t slot;         /* the share itself */
    uint32_t run;
    uint32_t next;    /* of its run, + 1 */
    uint32_t of_node; /* the node's next share, + 1 */
};

struct rd_run {
    uint32_t slot, first, last, count; /* shares */
    uint32_t combine;                  /* its node */
    uint32_t pieces;                   /* boxes of all its shares */
    uint8_t type, op;
    uint8_t fresh; /* nothing has written the slot, a temporary: the shares are its value */
    rd_box hull;
};

struct rd_reductions {
    struct rd_expansion *x;
    uint32_t *family;  /* by slot: slots that may share bytes are one; the number of one of them */
    uint32_t *open;    /* by family: its run, + 1 */
    uint32_t *of_node; /* by recorded node: its first share, + 1 */
    uint32_t *fill;    /* by slot: the node that gives it its first value, + 1 */
    uint8_t *written;  /* by slot: it needs no neutral element any more */
    struct rd_share *share;
    struct rd_run *run;
    size_t shares, share_capacity, runs, run_capacity;
    size_t from; /* runs before this one are ended by a node that touches everything */
};

/* shares.c: the memory of shares, and the nodes that fill and combine them. */
rondo_status rd_shares_add(struct rd_reductions *r);

#endif
