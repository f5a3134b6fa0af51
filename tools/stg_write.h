/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs in the Standard Task Graph format, where it can hold them. */
#ifndef RONDO_TOOLS_STG_WRITE_H
#define RONDO_TOOLS_STG_WRITE_H

#include "tools/graph.h"

/* Whether the format can hold the graph: tasks that always run, and edges within a replay. Returns
 * 0, or -1 with `why` filled: which node or edge it cannot hold. */
int stg_holds(const struct graph *graph, double unit_ns, char *why, size_t why_bytes);

/* Writes it, times in units of `unit_ns`. A first node of tag 0 without time and predecessors, and
 * a last one without time and successors, become the dummy tasks; else the last one is added.
 * Returns how many times were rounded to a whole unit, or -1: no memory. Names are lost. */
int64_t stg_write(const struct graph *graph, double unit_ns, FILE *file);

#endif
