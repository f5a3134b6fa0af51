/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording a subgraph into another: all that its nodes are is copied, with every index moved to
 * where its target lies in the outer recording. What its slots and parameters become is in
 * inner_parts.c. */
#include "subgraph/inner.h"

#include "src/event/counter.h"

#include <stdio.h>
#include <string.h>

static rondo_status check_desc(const struct rd_nesting *k, const rondo_inner_desc *d)
{
    const struct rd_subgraph *in = k->in;
    if (in == k->g)
        return rd_error(RONDO_ERR_INVALID, "node '%s': subgraph '%s' is recorded into itself",
                        k->name, in->name);
    if (in->rt != k->g->rt)
        return rd_error(RONDO_ERR_INVALID, "node '%s': subgraph '%s' is of another runtime",
                        k->name, in->name);
    if (in->error)
        return rd_error(RONDO_ERR_INVALID, "node '%s': subgraph '%s' has an error: %s", k->name,
                        in->name, in->error_message);
    if (!in->nodes.count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': subgraph '%s' has no nodes", k->name,
                        in->name);
    if (in->nodes.count > RD_PARTS_MAX - k->g->nodes.count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': %zu nodes behind %zu are too many", k->name,
                        in->nodes.count, k->g->nodes.count);
    if (!d->map && d->map_count)
        return rd_error(RONDO_ERR_INVALID, "node '%s': map is NULL, map_count %u", k->name,
                        d->map_count);
    return RONDO_OK;
}

/* ---- pools that are copied as they are */

static rondo_status copy_args(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    k->arg = 0;
    if (!k->in->args.count)
        return RONDO_OK;
    return rd_take_arg(g, k->in->args.item, k->in->args.count, &k->arg);
}

static rondo_status copy_boxes(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    size_t boxes = k->in->boxes.count, chunks = k->in->chunks.count - 1; /* but the empty one */
    if (boxes > UINT32_MAX - g->boxes.count || chunks > UINT32_MAX - g->chunks.count ||
        !RD_ROOM(g, boxes, boxes) || !RD_ROOM(g, chunks, chunks))
        return rd_no_memory(g);
    k->box = (uint32_t)g->boxes.count;
    if (boxes)
        memcpy(g->boxes.item + g->boxes.count, k->in->boxes.item, boxes * sizeof *g->boxes.item);
    g->boxes.count += boxes;
    k->chunk = (uint32_t)g->chunks.count - 1;
    memcpy(g->chunks.item + g->chunks.count, k->in->chunks.item + 1,
           chunks * sizeof *g->chunks.item);
    g->chunks.count += chunks;
    return RONDO_OK;
}

static rondo_status copy_edges(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    size_t i, n = k->in->edges.count;
    if (n > UINT32_MAX - g->edges.count || !RD_ROOM(g, edges, n))
        return rd_no_memory(g);
    for (i = 0; i < n; i++) {
        struct rd_hand_edge e = k->in->edges.item[i];
        e.from += k->node;
        e.to += k->node;
        g->edges.item[g->edges.count++] = e;
    }
    return RONDO_OK;
}

/* The contexts themselves are shared: each is released when the last recording and exec that has it
 * is gone. */
static rondo_status copy_holders(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    size_t i, n = k->in->holders.count;
    if (n > UINT32_MAX - g->holders.count || !RD_ROOM(g, holders, n))
        return rd_no_memory(g);
    k->holder = (uint32_t)g->holders.count;
    for (i = 0; i < n; i++) {
        rd_add_relaxed(&k->in->holders.item[i]->refs, 1); /* the inner recording has one */
        g->holders.item[g->holders.count++] = k->in->holders.item[i];
    }
    return RONDO_OK;
}

/* ---- pools that name parameters */

static rondo_status copy_uses(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    size_t i, uses = k->in->param_uses.count, patches = k->in->patches.count;
    if (uses > UINT32_MAX - g->param_uses.count || patches > UINT32_MAX - g->patches.count ||
        !RD_ROOM(g, param_uses, uses) || !RD_ROOM(g, patches, patches))
        return rd_no_memory(g);
    k->param_use = (uint32_t)g->param_uses.count;
    for (i = 0; i < uses; i++)
        g->param_uses.item[g->param_uses.count++] = k->param[k->in->param_uses.item[i]] - 1;
    k->patch = (uint32_t)g->patches.count;
    for (i = 0; i < patches; i++) {
        struct rd_patch p = k->in->patches.item[i];
        p.param = k->param[p.param] - 1;
        g->patches.item[g->patches.count++] = p;
    }
    return RONDO_OK;
}

static rondo_status copy_syncs(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    size_t i, n = k->in->syncs.count;
    if (n > UINT32_MAX - g->syncs.count || !RD_ROOM(g, syncs, n))
        return rd_no_memory(g);
    k->sync = (uint32_t)g->syncs.count;
    for (i = 0; i < n; i++) {
        struct rd_sync s = k->in->syncs.item[i];
        if (s.counter)
            rd_counter_ref(s.counter);
        else
            s.event = k->param[s.event] - 1;
        g->syncs.item[g->syncs.count++] = s;
    }
    return RONDO_OK;
}

/* ---- kernels */

static rondo_status copy_images(struct rd_nesting *k)
{
    const size_t n = k->in->images.count;
    rondo_status status = RONDO_OK;
    size_t i;
    k->image = rd_alloc_array(&k->g->rt->alloc, n, sizeof *k->image);
    if (!k->image)
        return rd_no_memory(k->g);
    for (i = 0; i < n && !status; i++) {
        const struct rd_image *image = &k->in->images.item[i];
        status = rd_image_add(k->g, "image", k->in->sources.item + image->source, image->bytes,
                              &k->image[i]);
    }
    return status;
}

static uint32_t copy_text(struct rd_nesting *k, uint32_t name, rondo_status *status)
{
    uint32_t to = 0;
    if (!*status)
        *status = rd_name_add(k->g, rd_subgraph_text(k->in, name), &to);
    return to;
}

static rondo_status copy_kernel(struct rd_nesting *k, const struct rd_kernel *from)
{
    struct rd_subgraph *g = k->g;
    struct rd_kernel to = *from;
    rondo_status status = RONDO_OK;
    uint32_t i;
    to.image = k->image[from->image];
    to.arg = (uint32_t)g->kernel_args.count;
    to.entry = copy_text(k, from->entry, &status);
    to.options = copy_text(k, from->options, &status);
    for (i = 0; i < from->arg_count && !status; i++) {
        struct rd_kernel_arg a = k->in->kernel_args.item[from->arg + i];
        if (a.kind == RONDO_ARG_PARAM || a.kind == RONDO_ARG_PARAM_ADDRESS)
            a.index = k->param[a.index] - 1;
        if (a.kind == RONDO_ARG_VALUE)
            a.value += k->arg;
        g->kernel_args.item[g->kernel_args.count++] = a;
    }
    if (!status)
        g->kernels.item[g->kernels.count++] = to;
    return status;
}

static rondo_status copy_kernels(struct rd_nesting *k)
{
    struct rd_subgraph *g = k->g;
    const size_t n = k->in->kernels.count, args = k->in->kernel_args.count;
    rondo_status status = copy_images(k);
    size_t i;
    if (!status &&
        (n > UINT32_MAX - 1 - g->kernels.count || args > UINT32_MAX - g->kernel_args.count ||
         !RD_ROOM(g, kernels, n) || !RD_ROOM(g, kernel_args, args)))
        status = rd_no_memory(g);
    k->kernel = (uint32_t)g->kernels.count;
    for (i = 0; i < n && !status; i++)
        status = copy_kernel(k, &k->in->kernels.item[i]);
    return status;
}

/* ---- nodes */

/* "step/relax[3]". */
static rondo_status copy_name(struct rd_nesting *k, const struct rd_node *from, struct rd_node *to)
{
    struct rd_subgraph *g = k->g;
    const char *text = rd_subgraph_text(k->in, from->name);
    size_t prefix = strlen(k->name), length = strlen(text), bytes = prefix + length + 2;
    char *at;
    if (k->last && k->last->name == from->name) {
        to->name = k->made.name;
        return RONDO_OK;
    }
    if (bytes > UINT32_MAX - g->names.count || !RD_ROOM(g, names, bytes))
        return rd_no_memory(g);
    at = g->names.item + g->names.count;
    memcpy(at, k->name, prefix);
    at[prefix] = '/';
    memcpy(at + prefix + 1, text, length + 1);
    to->name = g->last_name = (uint32_t)g->names.count;
    g->names.count += bytes;
    return RONDO_OK;
}

/* Nodes in a row that share their accesses go on sharing them. */
static rondo_status copy_accesses(struct rd_nesting *k, const struct rd_node *from,
                                  struct rd_node *to)
{
    struct rd_subgraph *g = k->g;
    uint32_t i, n = from->access_count;
    if (k->last && k->last->access_count == n && (!n || k->last->access == from->access)) {
        to->access = k->made.access;
        to->access_count = k->made.access_count;
        return RONDO_OK;
    }
    if (n > UINT32_MAX - g->accesses.count || !RD_ROOM(g, accesses, n))
        return rd_no_memory(g);
    to->access = (uint32_t)g->accesses.count;
    to->access_count = n;
    for (i = 0; i < n; i++) {
        struct rd_access a = k->in->accesses.item[from->access + i];
        a.slot = k->slot[a.slot] - 1;
        a.box += k->box;
        g->accesses.item[g->accesses.count++] = a;
    }
    return k->when.flag ? rd_flag_access(g, k->when.flag - 1, to) : RONDO_OK;
}

/* A node's own conditions, and the one of all nodes behind them. */
static rondo_status copy_whens(struct rd_nesting *k, const struct rd_extra *from,
                               struct rd_extra *to)
{
    struct rd_subgraph *g = k->g;
    uint32_t i, n = from->when_count, more = k->conditional;
    if (g->whens.count >= UINT32_MAX - n - more || !RD_ROOM(g, whens, (size_t)n + more))
        return rd_no_memory(g);
    to->when = n + more ? (uint32_t)g->whens.count : 0;
    to->when_count = n + more;
    for (i = 0; i < n; i++) {
        struct rd_when w = k->in->whens.item[from->when + i];
        w.param = w.param ? k->param[w.param - 1] : 0;
        w.flag = w.flag ? k->slot[w.flag - 1] : 0;
        g->whens.item[g->whens.count++] = w;
    }
    if (more)
        g->whens.item[g->whens.count++] = k->when;
    return RONDO_OK;
}

static rondo_status copy_extra(struct rd_nesting *k, uint32_t node, struct rd_node *to)
{
    const struct rd_extra *from = rd_node_extra(k->in, node);
    struct rd_extra e;
    rondo_status status;
    if (k->last && k->last->extra == k->in->nodes.item[node].extra) {
        to->extra = k->made.extra;
        return RONDO_OK;
    }
    memcpy(&e, from, sizeof e); /* with its padding */
    e.sync = e.sync ? e.sync + k->sync : 0;
    e.kernel = e.kernel ? e.kernel + k->kernel : 0;
    status = copy_whens(k, from, &e);
    return status ? status : rd_extra_add(k->g, &e, &to->extra);
}

static rondo_status copy_node(struct rd_nesting *k, uint32_t node)
{
    const struct rd_node *from = &k->in->nodes.item[node];
    struct rd_node to = *from;
    uint32_t index;
    rondo_status status = copy_name(k, from, &to);
    to.arg += from->arg_bytes ? k->arg : 0;
    to.holder += from->holder ? k->holder : 0;
    to.param += k->param_use;
    to.patch += k->patch;
    to.chunk += from->chunk ? k->chunk : 0;
    /* Where edges are explicit only calls touch everything. */
    if (k->g->edges_explicit && to.everything == 1)
        to.everything = 0;
    if (!status)
        status = copy_accesses(k, from, &to);
    if (!status)
        status = copy_extra(k, node, &to);
    /* Slots that were apart may have become one. */
    if (!status && from->fn == rd_move_copy)
        status = rd_check_copy(k->g, to.name, &k->g->accesses.item[to.access],
                               &k->g->accesses.item[to.access + 1]);
    if (!status)
        status = rd_node_add(k->g, &to, &index);
    k->last = from;
    k->made = to;
    return status;
}

/* In an order in which what is named comes before what names it. */
static rondo_status copy_all(struct rd_nesting *k)
{
    static rondo_status (*const pools[])(struct rd_nesting *) = {
        copy_args, copy_boxes, copy_edges, copy_holders, copy_uses, copy_syncs, copy_kernels,
    };
    rondo_status status = RONDO_OK;
    uint32_t i;
    k->node = (uint32_t)k->g->nodes.count;
    for (i = 0; i < sizeof pools / sizeof *pools && !status; i++)
        status = pools[i](k);
    for (i = 0; i < k->in->nodes.count && !status; i++)
        status = copy_node(k, i);
    return status;
}

static rondo_status take_when(struct rd_nesting *k, const rondo_when *when)
{
    uint32_t name;
    rondo_status status = rd_name_add(k->g, k->name, &name);
    if (!status)
        status = rd_check_when(k->g, name, when, &k->when);
    k->conditional = k->when.param || k->when.flag || k->when.every;
    return status;
}

rondo_status rd_record_subgraph(struct rd_subgraph *g, const struct rd_subgraph *inner,
                                const rondo_inner_desc *desc, rondo_node *node)
{
    struct rd_nesting k;
    struct rd_mark mark;
    uint32_t nodes = (uint32_t)inner->nodes.count;
    uint32_t name = 0;
    rondo_status status;
    memset(&k, 0, sizeof k);
    k.g = g;
    k.in = inner;
    k.name = desc->name ? desc->name : inner->name;
    status = check_desc(&k, desc);
    if (status)
        return status;
    rd_mark_take(g, &mark);
    status = rd_nesting_parts(&k, desc);
    if (!status)
        status = take_when(&k, &desc->when);
    if (!status)
        status = copy_all(&k);
    if (!status)
        status = rd_name_add(g, k.name, &name);
    if (!status && (desc->after_count || desc->after))
        status = rd_take_edges(g, name, "after", desc->after, desc->after_count, 0, k.node, nodes);
    if (!status)
        status = rd_group_add(g, k.node, nodes, node);
    if (status)
        rd_mark_restore(g, &mark);
    rd_nesting_free(&k);
    return status;
}
