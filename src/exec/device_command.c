/* SPDX-License-Identifier: BSD-3-Clause */
/* What a backend is told of a node, and what the segment's submit has to know of it. */
#include "src/exec/device.h"

#include "src/exec/lower_node.h"

#include <stdio.h>
#include <string.h>

static rondo_status no_memory(const struct rd_subgraph *e, uint32_t node)
{
    return rd_error(RONDO_ERR_MEMORY, "node '%s': no memory for its place on a device",
                    rd_subgraph_text(e, e->nodes.item[node].name));
}

static const struct rd_access *access_of(const struct rd_subgraph *e, const struct rd_node *n,
                                         uint32_t access)
{
    return &e->accesses.item[n->access + access];
}

/* A copy in the pool, aligned to 64. */
static void *keep(struct rd_exec_devices *d, const void *bytes, size_t count)
{
    char *block = rd_scratch_array(&d->pool, count + 64, 1);
    if (!block)
        return NULL;
    block = (char *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
    return memcpy(block, bytes, count);
}

/* ---- kernels */

static rondo_status add_kernel(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                               const struct rd_kernel *k, struct rd_command *c)
{
    struct rd_exec_devices *d = x->devices;
    const struct rd_node *n = &e->nodes.item[node];
    const struct rd_device *device = &x->rt->devices->device[n->bound - RD_ON_DEVICE];
    const struct rd_image *image = &e->images.item[k->image];
    const struct rd_kernel_source source = { .format = k->format,
                                             .image = e->sources.item + image->source,
                                             .image_bytes = image->bytes,
                                             .entry = rd_subgraph_text(e, k->entry),
                                             .options = k->options ? rd_subgraph_text(e, k->options)
                                                                   : NULL,
                                             .arg_count = k->arg_count };
    char why[RD_MESSAGE_BYTES];
    rondo_status status =
        device->ops->kernel_new(device->backend, device->index, &source, &c->kernel);
    if (!status) {
        d->kernel[d->kernels] = c->kernel;
        d->kernel_ops[d->kernels++] = device->ops;
        return RONDO_OK;
    }
    snprintf(why, sizeof why, "%s", rd_error_text());
    return rd_error(status, "node '%s': %.400s", rd_subgraph_text(e, n->name), why);
}

static int fill_arg(struct rd_exec_devices *d, const struct rd_subgraph *e, const struct rd_node *n,
                    const struct rd_kernel_arg *from, struct rd_command_arg *to)
{
    to->kind = from->kind;
    to->bytes = from->bytes;
    switch (from->kind) {
    case RONDO_ARG_ACCESS: to->place.slot = access_of(e, n, from->index)->slot; break;
    case RONDO_ARG_PARAM:
    case RONDO_ARG_PARAM_ADDRESS:
        to->param_at = e->params.item[from->index].offset;
        to->bytes = e->params.item[from->index].bytes;
        break;
    case RONDO_ARG_VALUE:
        to->value = keep(d, e->args.item + from->value, from->bytes);
        return to->value != NULL;
    default: break;
    }
    return 1;
}

static rondo_status fill_kernel(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                                struct rd_command *c)
{
    struct rd_exec_devices *d = x->devices;
    const struct rd_node *n = &e->nodes.item[node];
    const struct rd_kernel *k = &e->kernels.item[rd_node_extra(e, node)->kernel - 1];
    struct rd_command_arg *arg = rd_scratch_zeroed(&d->pool, k->arg_count, sizeof *arg);
    if (!arg)
        return no_memory(e, node);
    for (uint32_t i = 0; i < k->arg_count; i++)
        if (!fill_arg(d, e, n, &e->kernel_args.item[k->arg + i], &arg[i]))
            return no_memory(e, node);
    c->kind = RD_COMMAND_KERNEL;
    c->dimensions = k->dimensions;
    memcpy(c->global, k->global, sizeof c->global);
    memcpy(c->local, k->local, sizeof c->local);
    c->arg = arg;
    c->arg_count = k->arg_count;
    return add_kernel(x, e, node, k, c);
}

/* ---- moves */

static void fill_counts(const struct rd_subgraph *e, const struct rd_node *n,
                        const struct rd_move *move, struct rd_command *c,
                        struct rd_segment_member *m)
{
    if (!move->count_values)
        return;
    c->count_values = m->count_values = move->count_values;
    c->count_at = m->count_at = e->params.item[e->param_uses.item[n->param]].offset;
    memcpy(m->count, move->count, sizeof m->count);
}

static rondo_status fill_move(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                              struct rd_command *c, struct rd_segment_member *m)
{
    const struct rd_node *n = &e->nodes.item[node];
    const char *arg = e->args.item + n->arg;
    struct rd_move move;
    memcpy(&move, arg, sizeof move);
    c->kind = n->kind == RD_NODE_FILL ? RD_COMMAND_FILL : RD_COMMAND_COPY;
    c->elem_bytes = move.elem_bytes;
    c->box = (struct rd_box_move){ .row = (size_t)move.count[0] * move.elem_bytes,
                                   .rows = (size_t)move.count[1],
                                   .planes = (size_t)move.count[2] };
    memcpy(c->box.to_pitch, move.to_pitch, sizeof move.to_pitch);
    memcpy(c->box.from_pitch, move.from_pitch, sizeof move.from_pitch);
    c->to = (struct rd_place){ access_of(e, n, n->kind != RD_NODE_FILL)->slot, (int64_t)move.to };
    if (n->kind != RD_NODE_FILL)
        c->from = (struct rd_place){ access_of(e, n, 0)->slot, (int64_t)move.from };
    else if (!(c->value = keep(x->devices, arg + sizeof move, move.value_bytes)))
        return no_memory(e, node);
    fill_counts(e, n, &move, c, m);
    return RONDO_OK;
}

/* ---- launches */

static rondo_status fill_launch(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                                struct rd_command *c, struct rd_segment_member *m)
{
    struct rd_exec_devices *d = x->devices;
    const struct rd_node *n = &e->nodes.item[node];
    struct rd_node_patch *patch = rd_scratch_array(&d->pool, n->patch_count, sizeof *patch);
    if (!patch)
        return no_memory(e, node);
    rd_node_patches_fill(e, n, patch);
    m->fn = n->fn;
    m->patch = patch;
    m->patch_count = n->patch_count;
    if (n->arg_bytes && !(m->arg = keep(d, e->args.item + n->arg, n->arg_bytes)))
        return no_memory(e, node);
    c->kind = RD_COMMAND_LAUNCH;
    c->launch = rd_segment_launch;
    c->launch_context = m;
    return RONDO_OK;
}

rondo_status rd_exec_command(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                             struct rd_command *c, struct rd_segment_member *m)
{
    const struct rd_node *n = &e->nodes.item[node];
    const struct rd_extra *extra = rd_node_extra(e, node);
    struct rd_node_when *when =
        rd_scratch_array(&x->devices->pool, extra->when_count, sizeof *when);
    if (!when)
        return no_memory(e, node);
    rd_node_whens_fill(e, extra, when);
    m->node = node;
    m->when = when;
    m->when_count = extra->when_count;
    c->node = node;
    c->name = rd_program_name(&x->program, node);
    switch (n->kind) {
    case RD_NODE_KERNEL: return fill_kernel(x, e, node, c);
    case RD_NODE_COPY:
    case RD_NODE_FILL: return fill_move(x, e, node, c, m);
    case RD_NODE_LAUNCH: return fill_launch(x, e, node, c, m);
    default:
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s' is on a device, where kernels, launches, copies and fills run",
                        rd_subgraph_text(e, n->name));
    }
}
