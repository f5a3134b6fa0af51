/* SPDX-License-Identifier: BSD-3-Clause */
/* What could be better about a graph that is right. */
#ifndef RONDO_TOOLS_HINTS_H
#define RONDO_TOOLS_HINTS_H

#include "tools/graph.h"

enum { HINTS_MOST = 8 };

struct hint {
    const char *kind; /* for programs */
    uint64_t number;  /* of nodes, edges or names */
    char text[320];
};

struct hints {
    int count;
    struct hint hint[HINTS_MOST];
};

/* `handover_ns`: of a dependence between two processors of this machine; 0: not known. Returns 0,
 * or -1: no memory. */
int hints_find(struct hints *hints, const struct graph *graph, const struct file_graph *file,
               double handover_ns);

#endif
