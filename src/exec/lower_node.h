/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are more than a plain function, from recording to op. */
#ifndef RD_EXEC_LOWER_NODE_H
#define RD_EXEC_LOWER_NODE_H

#include "src/exec/exec.h"
#include "src/frame/node.h"

/* Which nodes may pend, stop, or are ranks; references to counters. Before the first core. MEMORY,
 * or what starting the host thread returned. */
rondo_status rd_exec_lower_traits(struct rd_exec *x, const struct rd_subgraph *e);
void rd_exec_unlower_traits(struct rd_exec *x);
/* How many bytes the argument of such a node's op takes, a multiple of 64; 0: it is a plain
 * function. */
size_t rd_node_work_bytes(const struct rd_exec *x, const struct rd_subgraph *e, uint32_t node);
/* Gives the op its function, and its argument at `block`, aligned to 64. A track's own, since
 * arguments are patched there. */
void rd_node_work_fill(const struct rd_exec *x, const struct rd_subgraph *e, struct rd_op *op,
                       char *block);
/* The conditions and patches of a node, as many as it has. */
void rd_node_whens_fill(const struct rd_subgraph *e, const struct rd_extra *extra,
                        struct rd_node_when *to);
void rd_node_patches_fill(const struct rd_subgraph *e, const struct rd_node *n,
                          struct rd_node_patch *to);

#endif
