/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a factor in blocks, and which blocks wait for which. */
#ifndef TRISOLVE_BLOCKS_H
#define TRISOLVE_BLOCKS_H

#include "factor.h"

struct block {
    int32_t first, count; /* rows */
    int32_t level;        /* 0: waits for none */
    int32_t child;        /* its part of blocks.child: [child, child of the next one) */
    int32_t parent;       /* and of blocks.parent */
};

/* Blocks are numbered by rows; what a block waits for in the forward substitution has a lower
 * number. Backward each edge is turned round: it waits for its parents. */
struct blocks {
    int32_t count, levels, edges;
    int64_t dependences;     /* pairs of blocks of which one reads what the other wrote, forward */
    struct block *block;     /* count + 1: the last one ends the lists */
    int32_t *child, *parent; /* edges of them */
    int32_t *owner;          /* of each row its block */
    int32_t *level; /* the blocks by level; those of level l are [of_level[l], of_level[l + 1]) */
    int32_t *of_level;
};

/* Cuts into blocks of about `grain` entries of L. Returns 0, or -1: no memory. Ended by
 * blocks_free, also after a failure. */
int blocks_make(struct blocks *blocks, const struct factor *factor, int64_t grain);
void blocks_free(struct blocks *blocks);

#endif
