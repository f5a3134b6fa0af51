/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of rondo/subgraph.h and kernel.h. Builders return a handle; what they
 * refuse sticks to the subgraph. */
#include "subgraph/subgraph.h"

#include "src/api/desc.h"
#include "src/base/id.h"
#include "src/base/rcu.h"

rondo_status rondo_subgraph_create_sized(rondo_runtime runtime, const rondo_subgraph_desc *desc,
                                         size_t desc_bytes, rondo_subgraph *subgraph)
{
    static const rondo_subgraph_desc defaults;
    rondo_subgraph_desc d;
    struct rd_runtime *rt;
    struct rd_subgraph *g;
    rondo_status status;
    if (!subgraph)
        return rd_error(RONDO_ERR_INVALID, "rondo_subgraph_create: `subgraph` is NULL");
    status = rd_desc_take("rondo_subgraph_desc", &d, sizeof d, desc ? desc : &defaults,
                          desc ? desc_bytes : sizeof d);
    if (status)
        return status;
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_subgraph_create(rt, &d, &g);
    if (status) {
        rd_runtime_unref(rt);
        return status;
    }
    subgraph->id = g->id;
    return RONDO_OK;
}

rondo_status rondo_subgraph_destroy(rondo_subgraph subgraph)
{
    struct rd_subgraph *g = rd_id_retire(subgraph.id, RD_ID_SUBGRAPH);
    if (!g)
        return rd_id_error(subgraph.id, RD_ID_SUBGRAPH);
    rd_rcu_synchronize(); /* pairs with the read section of rd_subgraph_get */
    rd_subgraph_unref(g);
    return RONDO_OK;
}

rondo_status rondo_subgraph_status(rondo_subgraph subgraph)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_error(g);
    rd_subgraph_unref(g);
    return status;
}

rondo_status rondo_subgraph_clear_error(rondo_subgraph subgraph)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    g->error = RONDO_OK;
    g->error_message[0] = 0;
    rd_subgraph_unref(g);
    return RONDO_OK;
}

rondo_status rondo_subgraph_write_dot(rondo_subgraph subgraph,
                                      void (*write)(void *context, const char *text), void *context)
{
    rondo_status status;
    struct rd_subgraph *g;
    if (!write)
        return rd_error(RONDO_ERR_INVALID, "rondo_subgraph_write_dot: `write` is NULL");
    g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_dot(g, write, context);
    rd_subgraph_unref(g);
    return status;
}

/* ---- builders: take the description, record, let an error stick
 *
 * A builder stays inside a read section: who destroys the subgraph meanwhile waits for its end.
 * That is cheaper than counting a reference for each node. */

static struct rd_subgraph *enter(rondo_subgraph subgraph, rondo_status *status)
{
    struct rd_subgraph *g;
    rd_rcu_read_lock();
    g = rd_id_find(subgraph.id, RD_ID_SUBGRAPH);
    *status = RONDO_OK;
    if (!g) {
        rd_rcu_read_unlock();
        *status = rd_id_error(subgraph.id, RD_ID_SUBGRAPH);
    }
    return g;
}

static rondo_status leave(struct rd_subgraph *g, rondo_status status)
{
    rd_subgraph_stick(g, status);
    rd_rcu_read_unlock();
    return status;
}

rondo_slot rondo_subgraph_slot_sized(rondo_subgraph subgraph, const rondo_slot_desc *desc,
                                     size_t desc_bytes)
{
    rondo_slot slot = { 0 };
    rondo_slot_desc d;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return slot;
    status = rd_desc_take("rondo_slot_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_slot_add(g, &d, &slot);
    leave(g, status);
    return slot;
}

rondo_param rondo_subgraph_param(rondo_subgraph subgraph, const char *name, size_t bytes,
                                 const void *initial)
{
    rondo_param param = { 0 };
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return param;
    leave(g, rd_param_add(g, name, bytes, initial, &param));
    return param;
}

static rondo_node record_task(rondo_subgraph subgraph, enum rd_node_kind kind,
                              const rondo_task_desc *desc, size_t desc_bytes)
{
    rondo_node node = { 0 };
    rondo_task_desc d;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return node;
    status = rd_desc_take("rondo_task_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_record_task(g, kind, &d, &node);
    leave(g, status);
    return node;
}

rondo_node rondo_record_task_sized(rondo_subgraph subgraph, const rondo_task_desc *desc,
                                   size_t desc_bytes)
{
    return record_task(subgraph, RD_NODE_TASK, desc, desc_bytes);
}

rondo_node rondo_record_launch_sized(rondo_subgraph subgraph, const rondo_task_desc *desc,
                                     size_t desc_bytes)
{
    return record_task(subgraph, RD_NODE_LAUNCH, desc, desc_bytes);
}

rondo_node rondo_record_kernel_sized(rondo_subgraph subgraph, const rondo_kernel_desc *desc,
                                     size_t desc_bytes)
{
    rondo_node node = { 0 };
    rondo_kernel_desc d;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return node;
    status = rd_desc_take("rondo_kernel_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_record_kernel(g, &d, &node);
    leave(g, status);
    return node;
}

rondo_node rondo_record_for_sized(rondo_subgraph subgraph, const rondo_for_desc *desc,
                                  size_t desc_bytes)
{
    rondo_node group = { 0 };
    rondo_for_desc d;
    rondo_task_desc task;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return group;
    status = rd_desc_take("rondo_for_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_desc_take("rondo_for_desc: task", &task, sizeof task, d.task,
                              d.task_bytes ? d.task_bytes : sizeof task);
    if (!status)
        status = rd_record_for(g, &task, &d, &group);
    leave(g, status);
    return group;
}

rondo_node rondo_record_call(rondo_subgraph subgraph, const char *name, void (*fn)(void *context),
                             void *context)
{
    rondo_node node = { 0 };
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return node;
    leave(g, rd_record_call(g, name, fn, context, &node));
    return node;
}

static rondo_node record_move(rondo_subgraph subgraph, enum rd_node_kind kind,
                              const rondo_move_desc *desc, size_t desc_bytes)
{
    rondo_node node = { 0 };
    rondo_move_desc d;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return node;
    status = rd_desc_take("rondo_move_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_record_move(g, kind, &d, &node);
    leave(g, status);
    return node;
}

rondo_node rondo_record_copy_sized(rondo_subgraph subgraph, const rondo_move_desc *desc,
                                   size_t desc_bytes)
{
    return record_move(subgraph, RD_NODE_COPY, desc, desc_bytes);
}

rondo_node rondo_record_fill_sized(rondo_subgraph subgraph, const rondo_move_desc *desc,
                                   size_t desc_bytes)
{
    return record_move(subgraph, RD_NODE_FILL, desc, desc_bytes);
}

rondo_node rondo_record_allreduce_sized(rondo_subgraph subgraph, const rondo_move_desc *desc,
                                        size_t desc_bytes)
{
    return record_move(subgraph, RD_NODE_ALLREDUCE, desc, desc_bytes);
}

static rondo_node record_sync(rondo_subgraph subgraph, enum rd_node_kind kind,
                              const rondo_sync_desc *desc, size_t desc_bytes)
{
    rondo_node node = { 0 };
    rondo_sync_desc d;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return node;
    status = rd_desc_take("rondo_sync_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        status = rd_record_sync(g, kind, &d, &node);
    leave(g, status);
    return node;
}

rondo_node rondo_record_wait_sized(rondo_subgraph subgraph, const rondo_sync_desc *desc,
                                   size_t desc_bytes)
{
    return record_sync(subgraph, RD_NODE_WAIT, desc, desc_bytes);
}

rondo_node rondo_record_signal_sized(rondo_subgraph subgraph, const rondo_sync_desc *desc,
                                     size_t desc_bytes)
{
    return record_sync(subgraph, RD_NODE_SIGNAL, desc, desc_bytes);
}

rondo_node rondo_record_subgraph_sized(rondo_subgraph subgraph, rondo_subgraph inner,
                                       const rondo_inner_desc *desc, size_t desc_bytes)
{
    static const rondo_inner_desc none;
    rondo_node group = { 0 };
    rondo_inner_desc d;
    const struct rd_subgraph *in;
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return group;
    status = rd_desc_take("rondo_inner_desc", &d, sizeof d, desc ? desc : &none,
                          desc ? desc_bytes : sizeof none);
    in = rd_id_find(inner.id, RD_ID_SUBGRAPH); /* in the same read section */
    if (!status && !in)
        status = rd_id_error(inner.id, RD_ID_SUBGRAPH);
    if (!status)
        status = rd_record_subgraph(g, in, &d, &group);
    leave(g, status);
    return group;
}

rondo_status rondo_record_edge(rondo_subgraph subgraph, rondo_node from, rondo_node to,
                               uint32_t distance)
{
    rondo_status status;
    struct rd_subgraph *g = enter(subgraph, &status);
    if (!g)
        return status;
    return leave(g, rd_record_edge(g, from, to, distance));
}
