/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of rondo/read.h. */
#include "src/api/desc.h"
#include "subgraph/subgraph.h"

rondo_status rondo_subgraph_visit(rondo_subgraph subgraph,
                                  void (*node)(void *context, uint32_t number,
                                               const rondo_recorded_node *node),
                                  void (*edge)(void *context, const rondo_recorded_edge *edge),
                                  void *context)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_visit(g, node, edge, context);
    rd_subgraph_unref(g);
    return status;
}

rondo_status rondo_subgraph_write_json(rondo_subgraph subgraph,
                                       void (*write)(void *context, const char *text),
                                       void *context)
{
    rondo_status status;
    struct rd_subgraph *g;
    if (!write)
        return rd_error(RONDO_ERR_INVALID, "rondo_subgraph_write_json: `write` is NULL");
    g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_write_json(g, write, context);
    rd_subgraph_unref(g);
    return status;
}
