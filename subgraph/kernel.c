/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes on devices are recorded here: kernels, with their image, arguments and work items; and
 * launches, which are tasks whose function enqueues. Which devices there are is asked when the
 * recording is instantiated. */
#include "src/device/devices.h"
#include "subgraph/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- where a node runs */

rondo_status rd_take_place(const struct rd_subgraph *g, uint32_t name, rondo_processor on,
                           int device, uint16_t *bound)
{
    const uint32_t i = on & 0xffffff;
    const char *text = rd_subgraph_text(g, name);
    if (device && !on)
        on = RONDO_GPU(0);
    if (device && on >> 24 == RONDO_CPU(0) >> 24)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': on is RONDO_CPU(%u), it runs on a device: RONDO_GPU(i), or 0",
                        text, i);
    if (on >> 24 != RONDO_GPU(0) >> 24)
        return rd_take_processor(g, name, on, bound);
    if (i >= RD_DEVICES_MAX)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': on is RONDO_GPU(%u), a runtime has at most %d devices", text, i,
                        RD_DEVICES_MAX);
    *bound = (uint16_t)(RD_ON_DEVICE + i);
    return RONDO_OK;
}

/* ---- what is said of the whole kernel */

static rondo_status check_entry(const struct rd_subgraph *g, const rondo_kernel_desc *d,
                                uint32_t name)
{
    const char *text = rd_subgraph_text(g, name);
    if (d->format != RONDO_OPENCL_C)
        return rd_error(RONDO_ERR_INVALID, "node '%s': format is %u, not RONDO_OPENCL_C", text,
                        d->format);
    if (!d->entry || !*d->entry)
        return rd_error(RONDO_ERR_INVALID, "node '%s': entry is %s", text,
                        d->entry ? "\"\"" : "NULL");
    return RONDO_OK;
}

static rondo_status check_lists(const struct rd_subgraph *g, const rondo_kernel_desc *d,
                                uint32_t name)
{
    const char *text = rd_subgraph_text(g, name);
    if (d->flags & ~(uint32_t)RONDO_NO_ACCESS)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': flags 0x%x: a kernel has RONDO_NO_ACCESS or none", text,
                        d->flags);
    if (!d->args && d->arg_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': args is NULL, arg_count %u", text,
                        d->arg_count);
    if (!d->accesses && d->access_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': accesses is NULL, access_count %u", text,
                        d->access_count);
    if (d->flags & RONDO_NO_ACCESS && d->access_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': RONDO_NO_ACCESS with access_count %u", text,
                        d->access_count);
    if (!(d->flags & RONDO_NO_ACCESS) && !d->access_count)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': access_count is 0, a kernel names what it touches, or "
                        "RONDO_NO_ACCESS",
                        text);
    return rd_check_carried(g, name, d->carried_count, d->carried_distance);
}

/* ---- work items */

/* What absent dimensions may hold is 0 or 1. */
static rondo_status check_dimension(const struct rd_subgraph *g, const rondo_kernel_desc *d,
                                    uint32_t name, uint32_t i)
{
    const char *text = rd_subgraph_text(g, name);
    const int absent = i >= d->dimensions, chosen = d->local[0] || d->local[1] || d->local[2];
    if (absent && (d->global[i] > 1 || d->local[i] > 1))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': global[%u] is %" PRIu64 " and local[%u] %" PRIu64
                        ", with dimensions %u",
                        text, i, d->global[i], i, d->local[i], d->dimensions);
    if (absent)
        return RONDO_OK;
    if (!d->global[i])
        return rd_error(RONDO_ERR_INVALID, "node '%s': global[%u] is 0", text, i);
    if (chosen && !d->local[i])
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': local is {%" PRIu64 ", %" PRIu64 ", %" PRIu64
                        "}: all of %u dimensions or none",
                        text, d->local[0], d->local[1], d->local[2], d->dimensions);
    if (chosen && d->global[i] % d->local[i])
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': local[%u] %" PRIu64 " does not divide global[%u] %" PRIu64,
                        text, i, d->local[i], i, d->global[i]);
    return RONDO_OK;
}

static rondo_status take_items(const struct rd_subgraph *g, const rondo_kernel_desc *d,
                               uint32_t name, struct rd_kernel *k)
{
    const char *text = rd_subgraph_text(g, name);
    const int chosen = d->local[0] || d->local[1] || d->local[2];
    uint64_t all = 1;
    uint32_t i;
    rondo_status status = RONDO_OK;
    if (d->dimensions < 1 || d->dimensions > 3)
        return rd_error(RONDO_ERR_INVALID, "node '%s': dimensions is %u, must be 1 to 3", text,
                        d->dimensions);
    for (i = 0; i < 3 && !status; i++) {
        status = check_dimension(g, d, name, i);
        k->global[i] = i < d->dimensions ? d->global[i] : 1;
        k->local[i] = !chosen ? 0 : i < d->dimensions ? d->local[i] : 1;
        if (!status && (__builtin_mul_overflow(all, k->global[i], &all) || all > INT64_MAX))
            status = rd_error(RONDO_ERR_INVALID,
                              "node '%s': global is %" PRIu64 " x %" PRIu64 " x %" PRIu64
                              ", more than 2^63 - 1 work items",
                              text, d->global[0], d->global[1],
                              d->dimensions > 2 ? d->global[2] : (uint64_t)1);
    }
    k->dimensions = d->dimensions;
    return status;
}

/* ---- arguments */

static rondo_status __attribute__((format(printf, 4, 5)))
refuse_arg(const struct rd_subgraph *g, uint32_t name, uint32_t i, const char *format, ...)
{
    char detail[RD_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    return rd_error(RONDO_ERR_INVALID, "node '%.100s': args[%u]: %s", rd_subgraph_text(g, name), i,
                    detail);
}

static int takes_param(const rondo_kernel_arg *a)
{
    return a->kind == RONDO_ARG_PARAM || a->kind == RONDO_ARG_PARAM_ADDRESS;
}

/* What belongs to an argument of another kind is not set. */
static rondo_status check_fields(const struct rd_subgraph *g, uint32_t name, uint32_t i,
                                 const rondo_kernel_arg *a)
{
    static const char *const kinds[] = {
        [RONDO_ARG_ACCESS] = "RONDO_ARG_ACCESS",
        [RONDO_ARG_VALUE] = "RONDO_ARG_VALUE",
        [RONDO_ARG_PARAM] = "RONDO_ARG_PARAM",
        [RONDO_ARG_PARAM_ADDRESS] = "RONDO_ARG_PARAM_ADDRESS",
        [RONDO_ARG_LOCAL] = "RONDO_ARG_LOCAL",
    };
    const int value = a->kind == RONDO_ARG_VALUE, sized = value || a->kind == RONDO_ARG_LOCAL;
    if (a->kind < RONDO_ARG_ACCESS || a->kind > RONDO_ARG_LOCAL)
        return refuse_arg(g, name, i, "kind is %u", a->kind);
    if (a->index && a->kind != RONDO_ARG_ACCESS)
        return refuse_arg(g, name, i, "index is %u of %s", a->index, kinds[a->kind]);
    if (a->param.id && !takes_param(a))
        return refuse_arg(g, name, i, "param is given to %s", kinds[a->kind]);
    if (value ? !a->value : a->value != NULL)
        return refuse_arg(g, name, i, "value is %s of %s", a->value ? "given" : "NULL",
                          kinds[a->kind]);
    if (sized ? !a->bytes || a->bytes > UINT32_MAX : a->bytes != 0)
        return refuse_arg(g, name, i, "bytes is %zu of %s", a->bytes, kinds[a->kind]);
    return RONDO_OK;
}

/* The address of a slot: of one that has memory. The node's accesses are in the pool. */
static rondo_status check_address(const struct rd_subgraph *g, const struct rd_node *n, uint32_t i,
                                  uint32_t own, uint32_t index)
{
    const struct rd_slot *s;
    if (index >= own)
        return refuse_arg(g, n->name, i, "access %u, and access_count is %u", index, own);
    s = &g->slots.item[g->accesses.item[n->access + index].slot];
    if (s->kind == RD_SLOT_TOKEN)
        return refuse_arg(g, n->name, i, "access %u to slot '%.100s', a token without an address",
                          index, rd_subgraph_text(g, s->name));
    return RONDO_OK;
}

static rondo_status take_param_arg(struct rd_subgraph *g, const struct rd_node *n, uint32_t i,
                                   rondo_param param, struct rd_kernel_arg *arg)
{
    if (!rd_part_is(g, param.id, RD_PART_PARAM, g->params.count, &arg->index)) {
        if (!param.id)
            return refuse_arg(g, n->name, i, "the parameter handle is {0}");
        return refuse_arg(g, n->name, i, "handle 0x%llx is no parameter of subgraph '%.100s'",
                          (unsigned long long)param.id, g->name);
    }
    arg->bytes = g->params.item[arg->index].bytes;
    g->param_uses.item[g->param_uses.count++] = arg->index;
    return RONDO_OK;
}

static rondo_status take_arg(struct rd_subgraph *g, const rondo_kernel_desc *d,
                             const struct rd_node *n, uint32_t i)
{
    const rondo_kernel_arg *a = &d->args[i];
    struct rd_kernel_arg arg;
    rondo_status status = check_fields(g, n->name, i, a);
    memset(&arg, 0, sizeof arg);
    arg.kind = a->kind;
    arg.index = a->index;
    arg.bytes = (uint32_t)a->bytes;
    if (!status && a->kind == RONDO_ARG_ACCESS)
        status = check_address(g, n, i, d->access_count, a->index);
    if (!status && takes_param(a))
        status = take_param_arg(g, n, i, a->param, &arg);
    if (!status && a->kind == RONDO_ARG_VALUE)
        status = rd_take_arg(g, a->value, a->bytes, &arg.value);
    if (!status)
        g->kernel_args.item[g->kernel_args.count++] = arg;
    return status;
}

static rondo_status take_args(struct rd_subgraph *g, const rondo_kernel_desc *d, struct rd_node *n,
                              struct rd_kernel *k)
{
    rondo_status status = RONDO_OK;
    uint32_t i;
    if (d->arg_count > UINT32_MAX - g->kernel_args.count ||
        d->arg_count > UINT32_MAX - g->param_uses.count || !RD_ROOM(g, kernel_args, d->arg_count) ||
        !RD_ROOM(g, param_uses, d->arg_count))
        return rd_no_memory(g);
    k->arg = (uint32_t)g->kernel_args.count;
    k->arg_count = d->arg_count;
    n->param = (uint32_t)g->param_uses.count;
    for (i = 0; i < d->arg_count && !status; i++)
        status = take_arg(g, d, n, i);
    n->param_count = (uint32_t)g->param_uses.count - n->param;
    return status;
}

/* ---- kernels */

/* `image`: as of rd_record_kernel_of. */
static rondo_status take_image(struct rd_subgraph *g, const rondo_kernel_desc *d, uint32_t name,
                               const uint32_t *image, uint32_t *index)
{
    char who[RD_MESSAGE_BYTES];
    if (image) {
        *index = *image;
        return RONDO_OK;
    }
    snprintf(who, sizeof who, "node '%.100s': image", rd_subgraph_text(g, name));
    return rd_image_add(g, who, d->image, d->image_bytes, index);
}

static rondo_status take_kernel(struct rd_subgraph *g, const rondo_kernel_desc *d,
                                const uint32_t *image, struct rd_node *n, struct rd_extra *extra)
{
    struct rd_kernel k;
    rondo_status status;
    memset(&k, 0, sizeof k);
    k.format = d->format;
    status = check_entry(g, d, n->name);
    if (!status)
        status = take_image(g, d, n->name, image, &k.image);
    if (!status)
        status = take_items(g, d, n->name, &k);
    if (!status)
        status = take_args(g, d, n, &k);
    if (!status)
        status = rd_name_add(g, d->entry, &k.entry);
    if (!status && d->options)
        status = rd_name_add(g, d->options, &k.options);
    if (!status && (g->kernels.count >= UINT32_MAX - 1 || !RD_ROOM(g, kernels, 1)))
        status = rd_no_memory(g);
    if (status)
        return status;
    g->kernels.item[g->kernels.count++] = k;
    extra->kernel = (uint32_t)g->kernels.count;
    return RONDO_OK;
}

static rondo_status take_order(struct rd_subgraph *g, const rondo_kernel_desc *d,
                               const struct rd_node *n)
{
    const uint32_t node = (uint32_t)g->nodes.count;
    rondo_status status = RONDO_OK;
    if (d->after_count)
        status = rd_take_edges(g, n->name, "after", d->after, d->after_count, 0, node, 1);
    if (!status && d->carried_count)
        status = rd_take_edges(g, n->name, "carried", d->carried, d->carried_count,
                               d->carried_distance ? d->carried_distance : 1, node, 1);
    return status;
}

static rondo_status fill_node(struct rd_subgraph *g, const rondo_kernel_desc *d,
                              const uint32_t *image, struct rd_node *n)
{
    struct rd_site site = { n->name, NULL, 0 };
    struct rd_extra extra;
    rondo_status status = check_lists(g, d, n->name);
    memset(&extra, 0, sizeof extra);
    n->access = (uint32_t)g->accesses.count;
    n->access_count = d->access_count;
    for (; site.index < d->access_count && !status; site.index++)
        status = rd_access_add(g, &site, &d->accesses[site.index], NULL);
    if (!status)
        status = rd_take_place(g, n->name, d->on, 1, &n->bound);
    if (!status)
        status = rd_take_cost(g, n->name, d->cost_ns, &n->cost_ns);
    if (!status)
        status = take_kernel(g, d, image, n, &extra);
    if (!status)
        status = rd_take_when(g, n->name, &d->when, &extra);
    if (!status)
        status = rd_extra_add(g, &extra, &n->extra);
    if (!status)
        status = rd_take_flag(g, &d->when, n);
    return status ? status : take_order(g, d, n);
}

rondo_status rd_record_kernel_of(struct rd_subgraph *g, const rondo_kernel_desc *desc,
                                 const uint32_t *image, rondo_node *node)
{
    const char *entry = desc->entry && *desc->entry ? desc->entry : "kernel";
    struct rd_mark mark;
    struct rd_node n;
    rondo_status status;
    memset(&n, 0, sizeof n);
    n.kind = RD_NODE_KERNEL;
    n.tag = desc->tag;
    n.priority = desc->priority;
    rd_mark_take(g, &mark);
    status = rd_name_add(g, desc->name ? desc->name : entry, &n.name);
    if (!status)
        status = fill_node(g, desc, image, &n);
    return rd_node_finish(g, &mark, status, &n, node);
}

rondo_status rd_record_kernel(struct rd_subgraph *g, const rondo_kernel_desc *desc,
                              rondo_node *node)
{
    return rd_record_kernel_of(g, desc, NULL, node);
}

/* ---- launches */

rondo_status rd_check_launch(const struct rd_subgraph *g, const rondo_task_desc *d, uint32_t name)
{
    const char *text = rd_subgraph_text(g, name);
    if (d->flags & ~(uint32_t)RONDO_NO_ACCESS)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': flags 0x%x: a launch has RONDO_NO_ACCESS or none", text,
                        d->flags);
    if (!d->access_count && !(d->flags & RONDO_NO_ACCESS))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': access_count is 0, a launch names what it touches, or "
                        "RONDO_NO_ACCESS",
                        text);
    return RONDO_OK;
}
