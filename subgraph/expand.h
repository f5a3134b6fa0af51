/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that expand a recording share. */
#ifndef RD_SUBGRAPH_EXPAND_H
#define RD_SUBGRAPH_EXPAND_H

#include "subgraph/record.h"

/* Added nodes that go before or after a node of the recording: lists through `next`, index + 1; 0
 * ends them. */
struct rd_beside {
    uint32_t first, last;
};

struct rd_expansion {
    const struct rd_subgraph *g; /* what is expanded */
    struct rd_subgraph *to;      /* its copy */
    uint32_t processors;
    uint32_t nodes;                   /* recorded ones */
    size_t edges;                     /* recorded ones */
    const uint32_t *order;            /* the recorded nodes as they come; NULL: by index */
    uint32_t *position;               /* by recorded node: its place in `order` */
    struct rd_beside *before, *after; /* by recorded node */
    uint32_t *next;                   /* by added node, from `nodes` on */
    size_t next_capacity;
};

static inline uint32_t rd_expansion_node(const struct rd_expansion *x, uint32_t position)
{
    return x->order ? x->order[position] : position;
}
/* Adds a node before or after a recorded one, behind those added there earlier. */
rondo_status rd_expansion_add(struct rd_expansion *x, const struct rd_node *node,
                              struct rd_beside *beside, uint32_t *index);
rondo_status rd_expansion_edge(struct rd_expansion *x, uint32_t from, uint32_t to,
                               uint32_t distance);
/* "what 'of'": the name of an added node. */
rondo_status rd_expansion_name(struct rd_expansion *x, const char *what, uint32_t of,
                               uint32_t *name);
/* A node that fills a box of a slot with copies of a value, and its access. */
rondo_status rd_expansion_fill(struct rd_expansion *x, uint32_t slot, uint32_t box,
                               const void *value, size_t value_bytes, struct rd_node *node);

/* reduce.c: shares, their neutral elements, and the nodes that combine them. */
rondo_status rd_expand_reductions(struct rd_expansion *x);

/* What rd_combine_run does: for each part, target = target op share, element by element. Parts
 * follow the struct. */
struct rd_combine {
    uint32_t parts, target; /* target: an access */
    uint8_t type, op;
    uint64_t pitch[2];
};
struct rd_combine_part {
    uint64_t share; /* an access */
    uint64_t at;    /* byte offset of the first element, of the share's as of the target's */
    uint64_t row, count[2]; /* values of a row, rows, planes */
};
int rd_combine_run(rondo_task *self, const void *arg);

static inline size_t rd_box_offset(const rondo_shape *s, const rd_box *b)
{
    return (size_t)b->first[0] * s->elem_bytes + (size_t)b->first[1] * s->pitch_bytes[0] +
           (size_t)b->first[2] * s->pitch_bytes[1];
}
static inline size_t rd_box_span(const rondo_shape *s, const rd_box *b)
{
    return (size_t)(b->count[2] - 1) * s->pitch_bytes[1] +
           (size_t)(b->count[1] - 1) * s->pitch_bytes[0] + (size_t)b->count[0] * s->elem_bytes;
}

#endif
