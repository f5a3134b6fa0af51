/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of accesses that commute, as the walk finds them and rd_commute_resolve orders them. */
#ifndef RD_SUBGRAPH_COMMUTE_H
#define RD_SUBGRAPH_COMMUTE_H

#include "subgraph/walk.h"

struct rd_class {
    uint64_t time; /* of its first member */
    uint64_t mark; /* as rd_walk's, by node */
    uint32_t slot;
    uint32_t first, last; /* in member */
    uint8_t closed;
    uint8_t followed; /* it follows one of its section (fence.c) */
    uint8_t passed;   /* its members are known to be followed */
    uint8_t keep;     /* its edges count */
};

struct rd_class_member {
    uint64_t time;
    uint32_t next; /* 0: none */
};

struct rd_class_pair {
    uint32_t a, b;
};

struct rd_commute {
    uint32_t *kind_of; /* by access that commutes: accesses of one slot and region are one kind */
    uint32_t *open;    /* by kind: its class that may still grow, + 1 */
    uint32_t kinds;
    uint8_t *seen; /* by access of a node */
    size_t most;   /* of a node's accesses */
    struct rd_class *found;
    struct rd_class_member *member; /* entry 0 is not used */
    struct rd_class_pair *pair;
    size_t classes, class_capacity, members, member_capacity, pairs, pair_capacity;
};

#endif
