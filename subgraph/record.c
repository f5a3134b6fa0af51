/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes are recorded here: tasks and calls, their arguments, parameters, patches and edges. */
#include "subgraph/record.h"

#include <math.h>
#include <string.h>

static const char *node_text(const struct rd_subgraph *g, uint32_t name)
{
    return rd_subgraph_text(g, name);
}

rondo_status rd_take_processor(const struct rd_subgraph *g, uint32_t name, rondo_processor on,
                               uint16_t *bound)
{
    uint32_t i = on & 0xffffff;
    *bound = RD_PROCESSOR_ANY;
    if (on == RONDO_ANY_CPU)
        return RONDO_OK;
    if (on >> 24 == RONDO_GPU(0) >> 24)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': on is RONDO_GPU(%u), and it runs on a CPU: on a device run "
                        "kernels, launches, copies and fills",
                        node_text(g, name), i);
    if (on >> 24 != RONDO_CPU(0) >> 24)
        return rd_error(RONDO_ERR_INVALID, "node '%s': on is 0x%x, not a processor",
                        node_text(g, name), on);
    if (i >= g->rt->processors || i >= RD_PROCESSOR_ANY)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': on is RONDO_CPU(%u), the runtime has %u processors",
                        node_text(g, name), i, g->rt->processors);
    *bound = (uint16_t)i;
    return RONDO_OK;
}

rondo_status rd_take_cost(const struct rd_subgraph *g, uint32_t name, double cost_ns,
                          uint32_t *cost)
{
    if (!(cost_ns >= 0) || isinf(cost_ns))
        return rd_error(RONDO_ERR_INVALID, "node '%s': cost_ns is %g", node_text(g, name), cost_ns);
    /* Rounded up: 0 alone says that the cost is not known. */
    *cost = cost_ns >= UINT32_MAX ? UINT32_MAX : (uint32_t)cost_ns;
    if (*cost < cost_ns && *cost < UINT32_MAX)
        ++*cost;
    return RONDO_OK;
}

rondo_status rd_take_arg(struct rd_subgraph *g, const void *arg, size_t bytes, size_t *offset)
{
    size_t at = (g->args.count + 15) & ~(size_t)15, pad = at - g->args.count;
    if (!RD_ROOM(g, args, pad + bytes))
        return rd_no_memory(g);
    memset(g->args.item + g->args.count, 0, pad);
    memcpy(g->args.item + at, arg, bytes);
    g->args.count = at + bytes;
    *offset = at;
    return RONDO_OK;
}

/* Says what is wrong with a handle in a list. */
static rondo_status bad_handle(const struct rd_subgraph *g, uint32_t name, const char *field,
                               uint32_t i, const char *part, uint64_t id)
{
    if (!id)
        return rd_error(RONDO_ERR_INVALID, "node '%s': %s[%u]: the %s handle is {0}",
                        node_text(g, name), field, i, part);
    return rd_error(RONDO_ERR_INVALID, "node '%s': %s[%u]: handle 0x%llx is no %s of subgraph '%s'",
                    node_text(g, name), field, i, (unsigned long long)id, part, g->name);
}

static rondo_status add_edges(struct rd_subgraph *g, uint32_t from, uint32_t from_count,
                              uint32_t to, uint32_t to_count, uint32_t distance)
{
    size_t more = (size_t)from_count * to_count;
    struct rd_hand_edge *e;
    uint32_t f, t;
    if (more > UINT32_MAX - g->edges.count || !RD_ROOM(g, edges, more))
        return rd_no_memory(g);
    e = g->edges.item + g->edges.count;
    g->edges.count += more;
    for (t = to; t < to + to_count; t++)
        for (f = from; f < from + from_count; f++, e++) {
            e->from = f;
            e->to = t;
            e->distance = distance;
        }
    return RONDO_OK;
}

rondo_status rd_take_edges(struct rd_subgraph *g, uint32_t name, const char *field,
                           const rondo_node *handles, uint32_t handle_count, uint32_t distance,
                           uint32_t first, uint32_t count)
{
    uint32_t i, from, from_count, group;
    rondo_status status;
    if (!handles && handle_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': %s is NULL, %s_count %u", node_text(g, name),
                        field, field, handle_count);
    for (i = 0; i < handle_count; i++) {
        uint64_t id = handles[i].id;
        /* Only what was recorded before: a node's own handle is not known yet. */
        if (rd_part_is(g, id, RD_PART_NODE, first, &from)) {
            from_count = 1;
        } else if (rd_part_is(g, id, RD_PART_GROUP, g->groups.count, &group)) {
            from = g->groups.item[group].first;
            from_count = g->groups.item[group].count;
        } else {
            return bad_handle(g, name, field, i, "node", id);
        }
        status = add_edges(g, from, from_count, first, count, distance);
        if (status)
            return status;
    }
    return RONDO_OK;
}

rondo_status rd_check_carried(const struct rd_subgraph *g, uint32_t name, uint32_t count,
                              uint32_t distance)
{
    if (distance > RD_DISTANCE_MAX)
        return rd_error(RONDO_ERR_INVALID, "node '%s': carried_distance %u is more than %d",
                        node_text(g, name), distance, RD_DISTANCE_MAX);
    if (!count && distance)
        return rd_error(RONDO_ERR_INVALID, "node '%s': carried_distance %u without carried nodes",
                        node_text(g, name), distance);
    return RONDO_OK;
}

static rondo_status check_task(const struct rd_subgraph *g, const rondo_task_desc *d, uint32_t name)
{
    const char *text = node_text(g, name);
    rondo_status status;
    if (!d->fn)
        return rd_error(RONDO_ERR_INVALID, "node '%s': fn is NULL", text);
    if (!d->arg != !d->arg_bytes)
        return rd_error(RONDO_ERR_INVALID, "node '%s': arg is %s and arg_bytes %zu", text,
                        d->arg ? "given" : "NULL", d->arg_bytes);
    if (d->arg_bytes > UINT32_MAX)
        return rd_error(RONDO_ERR_INVALID, "node '%s': arg_bytes %zu is more than %u", text,
                        d->arg_bytes, UINT32_MAX);
    if (d->flags & RONDO_NO_ACCESS && d->access_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': RONDO_NO_ACCESS with access_count %u", text,
                        d->access_count);
    if (!d->accesses && d->access_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': accesses is NULL, access_count %u", text,
                        d->access_count);
    status = rd_check_carried(g, name, d->carried_count, d->carried_distance);
    return status ? status : rd_check_traits(g, d, name);
}

rondo_status rd_take_param(const struct rd_subgraph *g, uint32_t name, const char *field,
                           rondo_param param, uint32_t *index)
{
    if (rd_part_is(g, param.id, RD_PART_PARAM, g->params.count, index))
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID,
                    "node '%s': %s: handle 0x%llx is no parameter of subgraph '%s'",
                    node_text(g, name), field, (unsigned long long)param.id, g->name);
}

static rondo_status take_params(struct rd_subgraph *g, const rondo_task_desc *d, struct rd_node *n)
{
    uint32_t i;
    if (!d->params && d->param_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': params is NULL, param_count %u",
                        node_text(g, n->name), d->param_count);
    if (d->param_count > UINT32_MAX - g->param_uses.count ||
        !RD_ROOM(g, param_uses, d->param_count))
        return rd_no_memory(g);
    n->param = (uint32_t)g->param_uses.count;
    n->param_count = d->param_count;
    for (i = 0; i < d->param_count; i++)
        if (!rd_part_is(g, d->params[i].id, RD_PART_PARAM, g->params.count,
                        &g->param_uses.item[g->param_uses.count++]))
            return bad_handle(g, n->name, "params", i, "parameter", d->params[i].id);
    return RONDO_OK;
}

static rondo_status take_patch(struct rd_subgraph *g, uint32_t name, uint32_t i,
                               const rondo_patch *in, size_t arg_bytes)
{
    struct rd_patch *p = &g->patches.item[g->patches.count];
    const struct rd_param *param;
    if (!rd_part_is(g, in->param.id, RD_PART_PARAM, g->params.count, &p->param))
        return bad_handle(g, name, "patches", i, "parameter", in->param.id);
    param = &g->params.item[p->param];
    if (!in->bytes || in->zero32)
        return rd_error(RONDO_ERR_INVALID, "node '%s': patches[%u]: bytes %u, reserved field %u",
                        node_text(g, name), i, in->bytes, in->zero32);
    if (in->bytes > param->bytes || in->from > param->bytes - in->bytes)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': patches[%u]: bytes [%u, %llu) of parameter '%s', which has %u",
                        node_text(g, name), i, in->from, (unsigned long long)in->from + in->bytes,
                        rd_subgraph_text(g, param->name), param->bytes);
    if (in->bytes > arg_bytes || in->to > arg_bytes - in->bytes)
        return rd_error(
            RONDO_ERR_INVALID, "node '%s': patches[%u]: bytes [%u, %llu) of arg, which has %zu",
            node_text(g, name), i, in->to, (unsigned long long)in->to + in->bytes, arg_bytes);
    p->from = in->from;
    p->to = in->to;
    p->bytes = in->bytes;
    g->patches.count++;
    return RONDO_OK;
}

static rondo_status take_patches(struct rd_subgraph *g, const rondo_task_desc *d, struct rd_node *n)
{
    uint32_t i;
    rondo_status status;
    if (!d->patches && d->patch_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': patches is NULL, patch_count %u",
                        node_text(g, n->name), d->patch_count);
    if (d->patch_count > UINT32_MAX - g->patches.count || !RD_ROOM(g, patches, d->patch_count))
        return rd_no_memory(g);
    n->patch = (uint32_t)g->patches.count;
    n->patch_count = d->patch_count;
    for (i = 0; i < d->patch_count; i++) {
        status = take_patch(g, n->name, i, &d->patches[i], d->arg_bytes);
        if (status)
            return status;
    }
    return RONDO_OK;
}

/* Contexts that nobody releases share a holder where a small cache finds it. */
static rondo_status take_context(struct rd_subgraph *g, const rondo_task_desc *d, struct rd_node *n)
{
    /* Fibonacci hashing: the high six bits of the product. */
    uint32_t *cached =
        &g->holder_cache[(uint64_t)(uintptr_t)d->context * 0x9e3779b97f4a7c15u >> 58];
    struct rd_holder *h;
    if (!d->context && !d->release)
        return RONDO_OK;
    if (!d->release && *cached && *cached <= g->holders.count) {
        h = g->holders.item[*cached - 1];
        if (h->context == d->context && !h->release) {
            n->holder = *cached;
            return RONDO_OK;
        }
    }
    h = NULL;
    if (g->holders.count >= UINT32_MAX || !RD_ROOM(g, holders, 1) ||
        !(h = rd_alloc(&g->rt->alloc, sizeof *h, _Alignof(struct rd_holder))))
        return rd_no_memory(g);
    rd_store_relaxed(&h->refs, 1); /* not shared yet */
    h->context = d->context;
    h->release = d->release;
    g->holders.item[g->holders.count++] = h;
    n->holder = (uint32_t)g->holders.count;
    if (!d->release)
        *cached = n->holder;
    return RONDO_OK;
}

rondo_status rd_take_task(struct rd_subgraph *g, const rondo_task_desc *d, struct rd_node *n)
{
    rondo_status status = n->kind == RD_NODE_LAUNCH ? rd_check_launch(g, d, n->name) : RONDO_OK;
    struct rd_extra extra;
    memset(&extra, 0, sizeof extra);
    if (!status)
        status = check_task(g, d, n->name);
    if (!status)
        status = n->kind == RD_NODE_LAUNCH ? rd_take_place(g, n->name, d->on, 1, &n->bound)
                                           : rd_take_processor(g, n->name, d->on, &n->bound);
    if (!status)
        status = rd_take_cost(g, n->name, d->cost_ns, &n->cost_ns);
    if (!status && d->param_count)
        status = take_params(g, d, n);
    if (!status && d->patch_count)
        status = take_patches(g, d, n);
    if (!status && d->arg_bytes)
        status = rd_take_arg(g, d->arg, d->arg_bytes, &n->arg);
    if (!status)
        status = take_context(g, d, n);
    rd_take_traits(d, &extra);
    if (!status)
        status = rd_take_when(g, n->name, &d->when, &extra);
    if (!status)
        status = rd_extra_add(g, &extra, &n->extra);
    n->fn = d->fn;
    n->tag = d->tag;
    n->arg_bytes = (uint32_t)d->arg_bytes;
    n->priority = d->priority;
    n->everything = !d->access_count && !(d->flags & RONDO_NO_ACCESS) && !g->edges_explicit;
    return status;
}

rondo_status rd_take_accesses(struct rd_subgraph *g, const rondo_task_desc *d,
                              const rondo_region *chunk, struct rd_node *n)
{
    struct rd_site site = { n->name, NULL, 0 };
    rondo_status status;
    n->access = (uint32_t)g->accesses.count;
    n->access_count = d->access_count;
    for (; site.index < d->access_count; site.index++) {
        status = rd_access_add(g, &site, &d->accesses[site.index], chunk);
        if (status)
            return status;
    }
    return rd_take_flag(g, &d->when, n);
}

rondo_status rd_take_after(struct rd_subgraph *g, const rondo_task_desc *d, uint32_t name,
                           uint32_t first, uint32_t count)
{
    rondo_status status = RONDO_OK;
    if (d->after_count)
        status = rd_take_edges(g, name, "after", d->after, d->after_count, 0, first, count);
    if (!status && d->carried_count)
        status = rd_take_edges(g, name, "carried", d->carried, d->carried_count,
                               d->carried_distance ? d->carried_distance : 1, first, count);
    return status;
}

rondo_status rd_node_add(struct rd_subgraph *g, const struct rd_node *node, uint32_t *index)
{
    if (g->nodes.count >= RD_PARTS_MAX || !RD_ROOM(g, nodes, 1))
        return rd_no_memory(g);
    *index = (uint32_t)g->nodes.count;
    g->nodes.item[g->nodes.count++] = *node;
    return RONDO_OK;
}

rondo_status rd_node_finish(struct rd_subgraph *g, const struct rd_mark *mark, rondo_status status,
                            const struct rd_node *node, rondo_node *handle)
{
    uint32_t index;
    if (!status)
        status = rd_node_add(g, node, &index);
    if (status) {
        rd_mark_restore(g, mark);
        return status;
    }
    handle->id = rd_part_id(g->serial, RD_PART_NODE, index);
    return RONDO_OK;
}

rondo_status rd_record_task(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_task_desc *desc, rondo_node *node)
{
    const char *otherwise = kind == RD_NODE_LAUNCH ? "launch" : "task";
    struct rd_mark mark;
    struct rd_node n;
    rondo_status status;
    memset(&n, 0, sizeof n);
    n.kind = (uint8_t)kind;
    rd_mark_take(g, &mark);
    status = rd_name_add(g, desc->name ? desc->name : otherwise, &n.name);
    if (!status)
        status = rd_take_task(g, desc, &n);
    if (!status)
        status = rd_take_accesses(g, desc, NULL, &n);
    if (!status)
        status = rd_take_after(g, desc, n.name, (uint32_t)g->nodes.count, 1);
    return rd_node_finish(g, &mark, status, &n, node);
}

int rd_call_run(rondo_task *self, const void *arg)
{
    const struct rd_call *call = arg;
    (void)self;
    call->fn(call->context);
    return 0;
}

rondo_status rd_record_call(struct rd_subgraph *g, const char *name, void (*fn)(void *context),
                            void *context, rondo_node *node)
{
    struct rd_call call = { fn, context };
    struct rd_mark mark;
    struct rd_node n;
    struct rd_extra extra;
    rondo_status status;
    if (!name)
        name = "call";
    if (!fn)
        return rd_error(RONDO_ERR_INVALID, "node '%s': fn is NULL", name);
    memset(&n, 0, sizeof n);
    memset(&extra, 0, sizeof extra);
    extra.flags = RONDO_HOSTED; /* with a team of 0: all processors */
    rd_mark_take(g, &mark);
    n.fn = rd_call_run;
    n.arg_bytes = sizeof call;
    n.kind = RD_NODE_CALL;
    n.everything = 2;
    n.bound = 0;
    status = rd_name_add(g, name, &n.name);
    if (!status)
        status = rd_take_arg(g, &call, sizeof call, &n.arg);
    if (!status)
        status = rd_extra_add(g, &extra, &n.extra);
    return rd_node_finish(g, &mark, status, &n, node);
}

rondo_status rd_record_edge(struct rd_subgraph *g, rondo_node from, rondo_node to,
                            uint32_t distance)
{
    uint32_t from_first, from_count, to_first, to_count;
    rondo_status status =
        rd_subgraph_nodes_of(g, from, "rondo_record_edge: from", &from_first, &from_count);
    if (!status)
        status = rd_subgraph_nodes_of(g, to, "rondo_record_edge: to", &to_first, &to_count);
    if (status)
        return status;
    if (distance > RD_DISTANCE_MAX)
        return rd_error(RONDO_ERR_INVALID,
                        "rondo_record_edge: '%s' to '%s': distance %u is more than %d",
                        node_text(g, g->nodes.item[from_first].name),
                        node_text(g, g->nodes.item[to_first].name), distance, RD_DISTANCE_MAX);
    return add_edges(g, from_first, from_count, to_first, to_count, distance);
}
