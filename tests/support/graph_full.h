/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording of everything that a file can say. */
#ifndef RD_TESTS_SUPPORT_GRAPH_FULL_H
#define RD_TESTS_SUPPORT_GRAPH_FULL_H

#include <rondo/rondo.h>

/* Aborts with the message where something is refused. The runtime has 2 processors at least. */
rondo_subgraph graph_full(rondo_runtime runtime, const rondo_counter counter[2]);

#endif
