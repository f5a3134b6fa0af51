/* SPDX-License-Identifier: BSD-3-Clause */
/* Instantiation: checks the options, analyses the recording, compiles it, lowers it onto the
 * machine. */
#include "src/exec/exec.h"

#include "compile/compile.h"
#include "src/base/env.h"
#include "src/base/id.h"

#include <stdio.h>
#include <string.h>

/* A hand-over between two cores of one machine, by measurement: 50 to 300 ns one way. A task whose
 * cost nobody gave is taken to be worth handing over. */
enum { HANDOVER_NS = 250, UNKNOWN_COST_NS = 10000 };
enum { DEFAULT_WINDOW = 4, DEFAULT_TRACKS = 4 };

static const char *const mode_names[] = { "RONDO_AUTO", "RONDO_COMPILED", "RONDO_INTERPRETED" };

static rondo_status check_options(const struct rd_subgraph *g, const rondo_instantiate_options *o)
{
    if (o->mode > RONDO_INTERPRETED)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: mode %u is unknown",
                        g->name, o->mode);
    if (o->order > RONDO_CONCURRENT)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: order %u is unknown",
                        g->name, o->order);
    if (o->window > RD_WINDOW_MAX)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: window %u, at most %d",
                        g->name, o->window, RD_WINDOW_MAX);
    if (o->tracks > RD_TRACKS_MAX)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: tracks %u, at most %d",
                        g->name, o->tracks, RD_TRACKS_MAX);
    if (o->tracks && o->order != RONDO_CONCURRENT)
        return rd_error(RONDO_ERR_INVALID,
                        "subgraph '%s': instantiate: tracks %u is for RONDO_CONCURRENT only",
                        g->name, o->tracks);
    if (o->on_failure > RONDO_ON_FAILURE_CONTINUE)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: on_failure %u is unknown",
                        g->name, o->on_failure);
    return RONDO_OK;
}

/* Replays of different tracks may overtake each other: nothing may be carried between them. */
static rondo_status check_concurrent(const struct rd_subgraph *g)
{
    for (size_t v = 0; v < g->nodes.count; v++) {
        const struct rd_node *n = &g->nodes.item[v];
        const char *name = rd_subgraph_text(g, n->name);
        if (n->everything)
            return rd_error(
                RONDO_ERR_INVALID,
                "node '%s' touches everything, so replays cannot be RONDO_CONCURRENT: give "
                "it accesses or RONDO_NO_ACCESS",
                name);
        for (uint32_t i = 0; i < n->access_count; i++) {
            const struct rd_access *a = &g->accesses.item[n->access + i];
            if ((a->mode & RONDO_WRITE) && g->slots.item[a->slot].kind != RD_SLOT_BOUND)
                return rd_error(
                    RONDO_ERR_INVALID,
                    "node '%s': access %u writes slot '%s', which is not bound per replay, "
                    "so replays cannot be RONDO_CONCURRENT",
                    name, i, rd_subgraph_text(g, g->slots.item[a->slot].name));
        }
    }
    for (size_t i = 0; i < g->edges.count; i++) {
        const struct rd_hand_edge *e = &g->edges.item[i];
        if (e->distance)
            return rd_error(
                RONDO_ERR_INVALID,
                "the edge from node '%s' to '%s' is carried over %u replays, so replays "
                "cannot be RONDO_CONCURRENT",
                rd_subgraph_text(g, g->nodes.item[e->from].name),
                rd_subgraph_text(g, g->nodes.item[e->to].name), e->distance);
    }
    return RONDO_OK;
}

/* The mode that RONDO_AUTO stands for: the environment's, or compiled. */
static rondo_status resolve_mode(const struct rd_subgraph *g, struct rd_exec *x, uint32_t asked)
{
    const char *text = rd_env_text(RD_ENV_RONDO_MODE);
    x->mode = asked;
    snprintf(x->why, sizeof x->why, "%s was asked for", mode_names[asked]);
    if (asked != RONDO_AUTO)
        return RONDO_OK;
    if (!text)
        snprintf(x->why, sizeof x->why, "every node can be compiled");
    else if (!strcmp(text, "interpreted"))
        x->mode = RONDO_INTERPRETED;
    else if (strcmp(text, "compiled") != 0)
        return rd_error(
            RONDO_ERR_INVALID,
            "subgraph '%s': instantiate: the environment's RONDO_MODE is '%.40s', neither "
            "compiled nor interpreted",
            g->name, text);
    if (text)
        snprintf(x->why, sizeof x->why, "the environment's RONDO_MODE says %s", text);
    return RONDO_OK;
}

/* ---- compiling */

struct node_properties {
    uint32_t *cost;
    int32_t *priority;
    uint16_t *bound;
};

static int take_properties(struct rd_allocator *a, const struct rd_subgraph *g,
                           struct node_properties *p)
{
    size_t n = g->nodes.count;
    p->cost = rd_alloc_array(a, n, sizeof *p->cost);
    p->priority = rd_alloc_array(a, n, sizeof *p->priority);
    p->bound = rd_alloc_array(a, n, sizeof *p->bound);
    if (!p->cost || !p->priority || !p->bound)
        return 0;
    for (size_t v = 0; v < n; v++) {
        p->cost[v] = g->nodes.item[v].cost_ns;
        p->priority[v] = g->nodes.item[v].priority;
        p->bound[v] = g->nodes.item[v].bound;
    }
    return 1;
}

static void free_properties(struct rd_allocator *a, size_t n, struct node_properties *p)
{
    rd_free_array(a, p->cost, n, sizeof *p->cost);
    rd_free_array(a, p->priority, n, sizeof *p->priority);
    rd_free_array(a, p->bound, n, sizeof *p->bound);
}

static rondo_status compile_graph(struct rd_exec *x, const struct rd_subgraph *g,
                                  const struct rd_graph *graph, const struct node_properties *p)
{
    struct rd_compile_input input = {
        .graph = graph,
        .cost_ns = p->cost,
        .priority = p->priority,
        .bound = p->bound,
        .processors = x->rt->processors,
        .handover_ns = HANDOVER_NS,
        .unknown_cost_ns = UNKNOWN_COST_NS,
#ifdef RD_DEBUG
        .check = 1,
#endif
    };
    rondo_status status = rd_compile(&x->rt->alloc, &input, &x->program.plan);
    x->compiled = status == RONDO_OK;
    if (status != RONDO_ERR_INVALID)
        return status;
    if (x->mode == RONDO_COMPILED)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s' cannot be compiled: %s", g->name,
                        rd_error_text());
    snprintf(x->why, sizeof x->why, "%s", rd_error_text());
    x->mode = RONDO_INTERPRETED;
    input.interpret_only = 1;
    return rd_compile(&x->rt->alloc, &input, &x->program.plan);
}

static rondo_status analyse_and_compile(struct rd_exec *x, const struct rd_subgraph *g)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct node_properties p = { NULL, NULL, NULL };
    struct rd_graph graph;
    rondo_status status = rd_subgraph_analyse(g, x->order == RONDO_PIPELINED, &graph);
    if (status)
        return status;
    if (take_properties(a, g, &p))
        status = compile_graph(x, g, &graph, &p);
    else
        status = rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place %zu nodes", g->name,
                          g->nodes.count);
    for (uint32_t i = 0; i < x->tracks; i++)
        x->track[i].serial = x->order != RONDO_PIPELINED || graph.serial_boundaries;
    free_properties(a, g->nodes.count, &p);
    rd_graph_free(a, &graph);
    return status;
}

/* ---- the exec */

static uint32_t epoch_room(const struct rd_exec *x)
{
    uint32_t n = 4;
    /* An epoch has at least one ticket, and no more tickets than the windows hold are in flight. */
    while (n < x->window * x->tracks + 2)
        n *= 2;
    return n;
}

static struct rd_exec *make_exec(struct rd_subgraph *g, const rondo_instantiate_options *o)
{
    uint32_t tracks = o->order != RONDO_CONCURRENT ? 1 : o->tracks ? o->tracks : DEFAULT_TRACKS;
    struct rd_allocator *a = &g->rt->alloc;
    struct rd_exec *x = rd_zalloc(a, sizeof *x, RD_LINE);
    if (!x)
        return NULL;
    x->track = rd_zalloc(a, tracks * sizeof *x->track, RD_LINE);
    if (!x->track) {
        rd_free(a, x, sizeof *x);
        return NULL;
    }
    x->rt = g->rt;
    x->serial = g->serial;
    x->order = o->order;
    x->window = o->window ? o->window : DEFAULT_WINDOW;
    x->tracks = tracks;
    x->handover_ns = HANDOVER_NS;
    x->unknown_cost_ns = UNKNOWN_COST_NS;
    x->failures.run_on = o->on_failure == RONDO_ON_FAILURE_CONTINUE;
    x->tenant.sweep = rd_exec_sweep;
    x->tenant.closed = rd_exec_closed;
    x->tenant.free = rd_exec_tenant_free;
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->batch.lock, NULL);
    rd_store_relaxed(&x->batch.filled, 1); /* no call under way; published with the exec's id */
    rd_runtime_ref(x->rt);
    rd_add_relaxed(&x->rt->execs, 1);
    return x;
}

void rd_exec_free(struct rd_exec *x)
{
    struct rd_runtime *rt = x->rt;
    struct rd_allocator *a = &rt->alloc;
    if (x->program.plan) {
        rd_exec_free_tracks(x);
        rd_batch_free(x);
        rd_exec_unlower(x);
        rd_plan_free(a, x->program.plan);
    } else {
        pthread_mutex_destroy(&x->batch.lock);
    }
    rd_failures_end(&x->failures, a);
    pthread_mutex_destroy(&x->lock);
    rd_free(a, x->track, x->tracks * sizeof *x->track);
    rd_free(a, x, sizeof *x);
    rd_sub_relaxed(&rt->execs, 1);
    rd_runtime_unref(rt);
}

static void publish_id(struct rd_exec *x)
{
    for (uint32_t i = 0; i < x->tracks; i++)
        rd_store_relaxed(&x->track[i].source->exec, x->id); /* read by who has an event */
    rd_store_relaxed(&x->source->exec, x->id);
}

rondo_status rd_exec_new(struct rd_subgraph *g, const rondo_instantiate_options *options,
                         struct rd_exec **exec)
{
    struct rd_exec *x;
    rondo_status status = check_options(g, options);
    if (!status && options->order == RONDO_CONCURRENT)
        status = check_concurrent(g);
    if (status)
        return status;
    x = make_exec(g, options);
    if (!x)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for an exec", g->name);
    status = resolve_mode(g, x, options->mode);
    if (!status)
        status = rd_failures_init(&x->failures, &x->rt->alloc, epoch_room(x));
    if (!status)
        status = analyse_and_compile(x, g);
    if (!status)
        status = rd_exec_lower(x, g);
    if (!status)
        status = rd_exec_make_tracks(x);
    if (!status && x->mode == RONDO_INTERPRETED)
        status = rd_exec_need_interpreter(x);
    if (status)
        goto free_exec;
    x->plain = !x->params && !x->bound_slots && !x->ring_slots;
    rd_store_relaxed(&x->interpreted, x->mode == RONDO_INTERPRETED);
    x->id = rd_id_new(RD_ID_EXEC, x);
    if (!x->id) {
        status = rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for its handle", g->name);
        goto free_exec;
    }
    publish_id(x);
    rd_exec_attach(x);
    *exec = x;
    return RONDO_OK;
free_exec:
    rd_exec_free(x);
    return status;
}
