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

rondo_status rondo_subgraph_visit_places(
    rondo_subgraph subgraph,
    void (*slot)(void *context, uint32_t number, const rondo_recorded_slot *slot),
    void (*param)(void *context, uint32_t number, const rondo_recorded_param *param), void *context)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    rd_subgraph_visit_places(g, slot, param, context);
    rd_subgraph_unref(g);
    return RONDO_OK;
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

rondo_status rondo_subgraph_read_json_sized(rondo_runtime runtime, const char *text, size_t bytes,
                                            const rondo_read_options *options, size_t options_bytes,
                                            rondo_subgraph *subgraph)
{
    static const rondo_read_options defaults;
    rondo_read_options o;
    struct rd_runtime *rt;
    struct rd_subgraph *g;
    rondo_status status;
    if (!subgraph || !text)
        return rd_error(RONDO_ERR_INVALID, "rondo_subgraph_read_json: `%s` is NULL",
                        text ? "subgraph" : "text");
    status = rd_desc_take("rondo_read_options", &o, sizeof o, options ? options : &defaults,
                          options ? options_bytes : sizeof o);
    if (status)
        return status;
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_subgraph_read_json(rt, text, bytes, &o, &g);
    if (status) {
        rd_runtime_unref(rt);
        return status;
    }
    subgraph->id = g->id;
    return RONDO_OK;
}
