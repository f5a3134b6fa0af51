/* SPDX-License-Identifier: BSD-3-Clause */
/* Lowers the nodes that are more than a plain function: what src/frame/node.c is given of each, and
 * which of them may pend or stop. */
#include "src/exec/lower_node.h"

#include "src/exec/device.h"
#include "src/machine/host.h"
#include "src/machine/worker.h"

#include <string.h>

static size_t align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* ---- what a node is */

/* What the node of a rank, or any other, was recorded with. */
static const struct rd_extra *recorded(const struct rd_subgraph *e, uint32_t node)
{
    const struct rd_extra *extra = rd_node_extra(e, node);
    return e->nodes.item[node].kind == RD_NODE_RANK ? rd_node_extra(e, extra->main) : extra;
}

static enum rd_node_does does_of(const struct rd_subgraph *e, uint32_t node, uint32_t ranks)
{
    const struct rd_extra *extra = recorded(e, node);
    switch (e->nodes.item[node].kind) {
    case RD_NODE_WAIT: return RD_DO_WAIT;
    case RD_NODE_SIGNAL: return RD_DO_SIGNAL;
    case RD_NODE_SUBMIT: return RD_DO_SUBMIT;
    case RD_NODE_SETTLE: return RD_DO_SETTLE;
    default: break;
    }
    if (extra->flags & RONDO_HOSTED)
        return RD_DO_HOSTED;
    if ((extra->flags & RONDO_SPMD) && ranks > 1)
        return RD_DO_SPMD;
    return extra->flags & RONDO_DETACHED ? RD_DO_DETACHED : RD_DO_CALL;
}

/* The node of rank 0 and how many ranks there are; 1 of a node that is no team. */
static uint32_t team_of(const struct rd_exec *x, uint32_t node, uint32_t *ranks)
{
    uint32_t main = x->team_of ? x->team_of[node] : node;
    *ranks = x->team_of ? x->ranks[main] : 1;
    return main;
}

static enum rd_node_does node_does(const struct rd_exec *x, const struct rd_subgraph *e,
                                   uint32_t node)
{
    uint32_t ranks;
    team_of(x, node, &ranks);
    return does_of(e, node, ranks);
}

static int pends(enum rd_node_does does)
{
    return does != RD_DO_CALL && does != RD_DO_SIGNAL && does != RD_DO_SUBMIT;
}

/* ---- tables */

/* Which ranks there are of which team, once per exec: looking for them is linear. */
static int find_ranks(struct rd_exec *x, const struct rd_subgraph *e)
{
    uint32_t nodes = (uint32_t)e->nodes.count, v;
    for (v = 0; v < nodes && e->nodes.item[v].kind != RD_NODE_RANK; v++)
        ;
    if (v == nodes)
        return 1;
    x->team_of = rd_alloc_array(&x->rt->alloc, nodes, sizeof *x->team_of);
    x->ranks = rd_zalloc_array(&x->rt->alloc, nodes, sizeof *x->ranks);
    if (!x->team_of || !x->ranks)
        return 0;
    for (v = 0; v < nodes; v++) {
        x->team_of[v] = e->nodes.item[v].kind == RD_NODE_RANK ? rd_node_extra(e, v)->main : v;
        x->ranks[x->team_of[v]]++;
    }
    return 1;
}

static int find_pending(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_program *p = &x->program;
    for (uint32_t v = 0; v < e->nodes.count; v++) {
        if (!pends(node_does(x, e, v)))
            continue;
        if (!p->pend_of) {
            p->pend_of = rd_zalloc_array(&x->rt->alloc, e->nodes.count, sizeof *p->pend_of);
            if (!p->pend_of)
                return 0;
        }
        p->pend_of[v] = ++p->pend_count;
    }
    return 1;
}

static int find_stops(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_program *p = &x->program;
    for (uint32_t v = 0; v < e->nodes.count; v++) {
        const struct rd_extra *extra = recorded(e, v);
        if (!(extra->flags & RONDO_MAY_STOP))
            continue;
        if (!p->stop_lag) {
            p->stop_lag = rd_zalloc_array(&x->rt->alloc, e->nodes.count, sizeof *p->stop_lag);
            if (!p->stop_lag)
                return 0;
        }
        p->stop_lag[v] = 1 + extra->stop_lag;
    }
    return 1;
}

static int take_counters(struct rd_exec *x, const struct rd_subgraph *e)
{
    x->counters = rd_zalloc_array(&x->rt->alloc, e->syncs.count, sizeof *x->counters);
    if (!x->counters)
        return 0;
    x->counter_count = e->syncs.count;
    for (size_t i = 0; i < e->syncs.count; i++)
        if ((x->counters[i] = e->syncs.item[i].counter) != NULL)
            rd_counter_ref(x->counters[i]);
    return 1;
}

rondo_status rd_exec_lower_traits(struct rd_exec *x, const struct rd_subgraph *e)
{
    if (!find_ranks(x, e) || !find_pending(x, e) || !find_stops(x, e) || !take_counters(x, e))
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for %zu nodes", e->name,
                        e->nodes.count);
    for (uint32_t v = 0; v < e->nodes.count; v++)
        if (node_does(x, e, v) == RD_DO_HOSTED)
            return rd_host_need(x->rt);
    return RONDO_OK;
}

void rd_exec_unlower_traits(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_program *p = &x->program;
    for (size_t i = 0; i < x->counter_count; i++)
        if (x->counters[i])
            rd_counter_unref(x->counters[i]);
    rd_free_array(a, x->counters, x->counter_count, sizeof *x->counters);
    rd_free_array(a, x->team_of, p->nodes, sizeof *x->team_of);
    rd_free_array(a, x->ranks, p->nodes, sizeof *x->ranks);
    rd_free_array(a, p->pend_of, p->nodes, sizeof *p->pend_of);
    rd_free_array(a, p->stop_lag, p->nodes, sizeof *p->stop_lag);
}

/* ---- one node */

/* Where the parts of a node's work lie, counted from its begin. */
struct layout {
    size_t when, patch, cpus, arg, bytes;
};

static struct layout layout_of(const struct rd_node *n, const struct rd_extra *extra,
                               uint32_t ranks)
{
    struct layout at;
    at.when = sizeof(struct rd_node_work);
    at.patch = at.when + extra->when_count * sizeof(struct rd_node_when);
    at.cpus = at.patch + n->patch_count * sizeof(struct rd_node_patch);
    at.arg = align64(at.cpus + ranks * sizeof(uint32_t));
    at.bytes = at.arg + align64(n->arg_bytes);
    return at;
}

size_t rd_node_work_bytes(const struct rd_exec *x, const struct rd_subgraph *e, uint32_t node)
{
    const struct rd_node *n = &e->nodes.item[node];
    const struct rd_extra *extra = rd_node_extra(e, node);
    uint32_t ranks;
    if (rd_exec_is_member(x, node))
        return 0;
    team_of(x, node, &ranks);
    if (!n->patch_count && !extra->when_count && does_of(e, node, ranks) == RD_DO_CALL)
        return 0;
    return layout_of(n, extra, ranks).bytes;
}

void rd_node_whens_fill(const struct rd_subgraph *e, const struct rd_extra *extra,
                        struct rd_node_when *to)
{
    for (uint32_t i = 0; i < extra->when_count; i++) {
        const struct rd_when *from = &e->whens.item[extra->when + i];
        to[i] = (struct rd_node_when){ 0, 0, from->flag, from->every, from->phase };
        if (from->param) {
            to[i].param_at = e->params.item[from->param - 1].offset;
            to[i].param_bytes = e->params.item[from->param - 1].bytes;
        }
    }
}

void rd_node_patches_fill(const struct rd_subgraph *e, const struct rd_node *n,
                          struct rd_node_patch *to)
{
    for (uint32_t i = 0; i < n->patch_count; i++) {
        const struct rd_patch *from = &e->patches.item[n->patch + i];
        to[i] = (struct rd_node_patch){ e->params.item[from->param].offset + from->from, from->to,
                                        from->bytes };
    }
}

static void fill_sync(const struct rd_subgraph *e, const struct rd_extra *extra,
                      struct rd_node_work *w)
{
    const struct rd_sync *sync = &e->syncs.item[extra->sync - 1];
    w->counter = sync->counter;
    w->first = sync->first;
    w->step = sync->step;
    if (!sync->counter)
        w->event_at = e->params.item[sync->event].offset;
}

/* The CPUs of a team: of the processors its ranks are bound to, one after the other from rank 0's
 * on. */
static void fill_team(const struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                      struct rd_node_work *w, uint32_t *cpus)
{
    uint32_t main = team_of(x, node, &w->team), first = e->nodes.item[main].bound;
    w->rank = main == node ? 0 : rd_node_extra(e, node)->rank;
    w->team_pend = x->program.pend_of[main];
    w->cpus = cpus;
    if (first >= x->processors)
        first = 0;
    for (uint32_t r = 0; r < w->team; r++)
        cpus[r] = x->rt->workers[x->processor[(first + r) % x->processors]].cpu;
}

void rd_node_work_fill(const struct rd_exec *x, const struct rd_subgraph *e, struct rd_op *op,
                       char *block)
{
    const struct rd_node *n = &e->nodes.item[op->node];
    const struct rd_extra *extra = rd_node_extra(e, op->node);
    struct rd_node_work *w = (struct rd_node_work *)(void *)block;
    struct layout at;
    uint32_t ranks;
    team_of(x, op->node, &ranks);
    at = layout_of(n, extra, ranks);
    memset(w, 0, sizeof *w);
    w->fn = n->fn;
    w->rt = x->rt;
    w->does = does_of(e, op->node, ranks);
    w->when = (struct rd_node_when *)(void *)(block + at.when);
    w->when_count = extra->when_count;
    rd_node_whens_fill(e, extra, (struct rd_node_when *)(void *)(block + at.when));
    w->patch = (struct rd_node_patch *)(void *)(block + at.patch);
    w->patch_count = n->patch_count;
    rd_node_patches_fill(e, n, (struct rd_node_patch *)(void *)(block + at.patch));
    w->arg_bytes = n->arg_bytes;
    if (n->arg_bytes)
        w->arg = memcpy(block + at.arg, e->args.item + n->arg, n->arg_bytes);
    w->pend = x->program.pend_of ? x->program.pend_of[op->node] : 0;
    if (extra->sync)
        fill_sync(e, extra, w);
    if (w->does == RD_DO_SPMD || w->does == RD_DO_HOSTED)
        fill_team(x, e, op->node, w, (uint32_t *)(void *)(block + at.cpus));
    if (w->does == RD_DO_SUBMIT || w->does == RD_DO_SETTLE)
        w->segment = rd_exec_segment_of(x, op->node);
    op->fn = rd_node_run;
    op->arg = w;
}
