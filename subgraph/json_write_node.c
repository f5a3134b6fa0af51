/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the nodes of a recording as JSON, one a line. */
#include "subgraph/json_writer.h"

#include <inttypes.h>
#include <string.h>

static const int64_t absent[3]; /* what a chunk has in a dimension that is not there */

static void put_hex(struct rd_json_writer *w, const char *before, const void *bytes, size_t count)
{
    rd_json_put(&w->out, "%s\"", before);
    rd_json_hex(&w->out, bytes, count);
    rd_json_put(&w->out, "\"");
}

static int is_whole(const rd_box *b, const int64_t extent[3])
{
    static const int64_t first[3];
    return !memcmp(b->first, first, sizeof first) && !memcmp(b->count, extent, sizeof b->count);
}

static void put_region(struct rd_json_writer *w, const struct rd_access *a)
{
    const struct rd_subgraph *g = w->g;
    const int64_t *extent = g->slots.item[a->slot].shape.extent;
    if (!is_whole(&g->boxes.item[a->box], extent))
        rd_json_put_region(w, ", \"region\": ", &g->boxes.item[a->box], extent);
}

static void put_reduction(struct rd_json_writer *w, const struct rd_access *a)
{
    rd_json_put_string(w, ", \"type\": ", rd_json_word_of(rd_json_types, a->type));
    rd_json_put_string(w, ", \"op\": ", rd_json_word_of(rd_json_ops, a->op));
}

static void put_access(struct rd_json_writer *w, const char *before, const struct rd_access *a)
{
    const struct rd_subgraph *g = w->g;
    const int64_t *extent = g->slots.item[a->slot].shape.extent;
    uint32_t i;
    rd_json_put(&w->out, "%s", before);
    rd_json_put_slot(w, "{\"slot\": ", a->slot);
    rd_json_put_string(w, ", \"mode\": ", rd_json_word_of(rd_json_modes, a->mode));
    put_region(w, a);
    for (i = 0; i < a->box_count; i++)
        rd_json_put_region(w, i ? ", " : ", \"boxes\": [", &g->boxes.item[a->box + 1 + i], extent);
    if (a->box_count)
        rd_json_put(&w->out, "]");
    if (a->mode == RONDO_REDUCE)
        put_reduction(w, a);
    rd_json_put(&w->out, "}");
}

static void put_flags(struct rd_json_writer *w, uint32_t flags)
{
    const struct rd_json_word *f;
    const char *before = ", \"flags\": [";
    for (f = rd_json_flags; f->word; f++)
        if (flags & f->value) {
            rd_json_put_string(w, before, f->word);
            before = ", ";
        }
    if (flags)
        rd_json_put(&w->out, "]");
}

static void put_patches(struct rd_json_writer *w, const struct rd_node *n)
{
    uint32_t i;
    for (i = 0; i < n->patch_count; i++) {
        const struct rd_patch *p = &w->g->patches.item[n->patch + i];
        rd_json_put(&w->out, "%s", i ? ", " : ", \"patches\": [");
        rd_json_put_param(w, "{\"param\": ", p->param);
        if (p->from)
            rd_json_put_number(w, ", \"from\": ", p->from);
        if (p->to)
            rd_json_put_number(w, ", \"to\": ", p->to);
        rd_json_put_number(w, ", \"bytes\": ", p->bytes);
        rd_json_put(&w->out, "}");
    }
    if (n->patch_count)
        rd_json_put(&w->out, "]");
}

static void put_accesses(struct rd_json_writer *w, uint32_t v)
{
    const struct rd_subgraph *g = w->g;
    uint32_t i, own = rd_node_own_accesses(g, v);
    for (i = 0; i < own; i++)
        put_access(w, i ? ", " : ", \"accesses\": [",
                   &g->accesses.item[g->nodes.item[v].access + i]);
    if (own)
        rd_json_put(&w->out, "]");
}

static void put_work(struct rd_json_writer *w, uint32_t v)
{
    put_flags(w, rd_node_no_access(w->g, v) ? (uint32_t)RONDO_NO_ACCESS : 0);
    put_accesses(w, v);
    rd_json_put_kernel(w, v);
}

static void put_task(struct rd_json_writer *w, uint32_t v)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_node *n = &g->nodes.item[v];
    const struct rd_extra *e = rd_node_extra(g, v);
    uint32_t i;
    put_flags(w, e->flags | (rd_node_no_access(g, v) ? (uint32_t)RONDO_NO_ACCESS : 0));
    if (e->team)
        rd_json_put_number(w, ", \"team\": ", e->team);
    if (e->stop_lag)
        rd_json_put_number(w, ", \"stop_lag\": ", e->stop_lag);
    put_accesses(w, v);
    for (i = 0; i < n->param_count; i++)
        rd_json_put_param(w, i ? ", " : ", \"params\": [", g->param_uses.item[n->param + i]);
    if (n->param_count)
        rd_json_put(&w->out, "]");
    put_patches(w, n);
    if (n->arg_bytes)
        put_hex(w, ", \"arg\": ", g->args.item + n->arg, n->arg_bytes);
    if (n->chunk)
        rd_json_put_region(w, ", \"chunk\": ", &g->chunks.item[n->chunk], absent);
}

static void put_side(struct rd_json_writer *w, const char *before, const struct rd_access *a)
{
    rd_json_put_slot(w, before, a->slot);
    put_region(w, a);
    rd_json_put(&w->out, "}");
}

static void put_move(struct rd_json_writer *w, const struct rd_node *n)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_access *from = &g->accesses.item[n->access], *to = from + 1;
    if (n->kind == RD_NODE_FILL)
        to = from;
    else
        put_side(w, ", \"from\": {\"slot\": ", from);
    if (n->fn != rd_move_none)
        put_side(w, ", \"to\": {\"slot\": ", to);
    if (n->param_count)
        rd_json_put_param(w, ", \"count\": ", g->param_uses.item[n->param]);
    if (n->kind == RD_NODE_FILL)
        put_hex(w, ", \"value\": ", g->args.item + n->arg + sizeof(struct rd_move),
                n->arg_bytes - sizeof(struct rd_move));
    if (n->kind == RD_NODE_ALLREDUCE)
        put_reduction(w, from);
}

static void put_sync(struct rd_json_writer *w, uint32_t v)
{
    const uint32_t at = rd_node_extra(w->g, v)->sync - 1;
    const struct rd_sync *s = &w->g->syncs.item[at];
    if (!s->counter) {
        rd_json_put_param(w, ", \"event\": ", s->event);
        return;
    }
    rd_json_put_number(w, ", \"counter\": ", w->counter_of[at]);
    if (s->first)
        rd_json_put_number(w, ", \"first\": ", s->first);
    if (s->step)
        rd_json_put_number(w, ", \"step\": ", s->step);
}

static void put_whens(struct rd_json_writer *w, const struct rd_extra *e)
{
    uint32_t i;
    for (i = 0; i < e->when_count; i++) {
        const struct rd_when *c = &w->g->whens.item[e->when + i];
        const char *before = i ? ", {" : ", \"when\": [{";
        if (c->param) {
            rd_json_put(&w->out, "%s", before);
            rd_json_put_param(w, "\"param\": ", c->param - 1);
            before = ", ";
        }
        if (c->flag) {
            rd_json_put(&w->out, "%s", before);
            rd_json_put_slot(w, "\"flag\": ", c->flag - 1);
            before = ", ";
        }
        if (c->every) {
            rd_json_put(&w->out, "%s\"every\": %u", before, c->every);
            if (c->phase)
                rd_json_put_number(w, ", \"phase\": ", c->phase);
        }
        rd_json_put(&w->out, "}");
    }
    if (e->when_count)
        rd_json_put(&w->out, "]");
}

/* Kernels and launches are on the first device anyhow. */
static void put_on(struct rd_json_writer *w, const struct rd_node *n)
{
    const int device = n->kind == RD_NODE_KERNEL || n->kind == RD_NODE_LAUNCH;
    if (n->kind == RD_NODE_CALL || n->bound == RD_PROCESSOR_ANY ||
        (device && n->bound == RD_ON_DEVICE))
        return;
    if (rd_bound_is_device(n->bound))
        rd_json_put(&w->out, ", \"on\": \"gpu %u\"", n->bound - RD_ON_DEVICE);
    else
        rd_json_put_number(w, ", \"on\": ", n->bound);
}

static const char *default_name(const struct rd_subgraph *g, uint32_t v)
{
    const uint32_t kind = g->nodes.item[v].kind;
    return kind == RD_NODE_KERNEL ? rd_subgraph_text(g, rd_json_kernel(g, v)->entry)
                                  : rd_json_default_name(kind);
}

/* What nodes of several kinds have. */
static void put_common(struct rd_json_writer *w, uint32_t v)
{
    const struct rd_node *n = &w->g->nodes.item[v];
    const char *name = rd_subgraph_text(w->g, n->name);
    rd_json_put_string(w, "{\"kind\": ", rd_json_word_of(rd_json_node_kinds, n->kind));
    if (strcmp(name, default_name(w->g, v)) != 0)
        rd_json_put_string(w, ", \"name\": ", name);
    if (n->tag)
        rd_json_put_number(w, ", \"tag\": ", n->tag);
    put_on(w, n);
    if (n->priority)
        rd_json_put(&w->out, ", \"priority\": %" PRId32, n->priority);
    if (n->cost_ns)
        rd_json_put_number(w, ", \"cost_ns\": ", n->cost_ns);
}

void rd_json_put_node(struct rd_json_writer *w, uint32_t v)
{
    const struct rd_node *n = &w->g->nodes.item[v];
    uint32_t i;
    put_common(w, v);
    if (n->kind == RD_NODE_TASK || n->kind == RD_NODE_LAUNCH)
        put_task(w, v);
    else if (n->kind == RD_NODE_KERNEL)
        put_work(w, v);
    else if (n->kind == RD_NODE_WAIT || n->kind == RD_NODE_SIGNAL)
        put_sync(w, v);
    else if (n->kind != RD_NODE_CALL)
        put_move(w, n);
    put_whens(w, rd_node_extra(w->g, v));
    for (i = w->after_first[v]; i < w->after_first[v + 1]; i++)
        rd_json_put_number(w, i > w->after_first[v] ? ", " : ", \"after\": [", w->after[i]);
    rd_json_put(&w->out, i > w->after_first[v] ? "]}" : "}");
}
