/* SPDX-License-Identifier: BSD-3-Clause */
/* Instantiation: checks the options, analyses the recording, compiles it, lowers it onto the
 * machine. */
#include "src/exec/exec.h"

#include "compile/compile.h"
#include "src/base/env.h"
#include "src/base/id.h"
#include "src/exec/device.h"
#include "src/exec/on_device.h"
#include "src/exec/tuner.h"
#include "src/frame/where.h"
#include "src/machine/handover.h"
#include "src/machine/worker.h"

#include <stdio.h>
#include <string.h>

/* The engine's own time for an op. */
enum { RD_OP_NS = 2 };
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
    if (o->schedule > RONDO_DATAFLOW)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: schedule %u is unknown",
                        g->name, o->schedule);
    if (o->flags & ~(uint32_t)RONDO_TIMED)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s': instantiate: flags 0x%x: unknown bits",
                        g->name, o->flags);
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
        if (rd_bound_is_device(n->bound))
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s' is on RONDO_GPU(%d), whose memory is one for all tracks, so "
                            "replays cannot be RONDO_CONCURRENT",
                            name, n->bound - RD_ON_DEVICE);
        if (n->everything)
            return rd_error(
                RONDO_ERR_INVALID,
                "node '%s' touches everything, so replays cannot be RONDO_CONCURRENT: give "
                "it accesses or RONDO_NO_ACCESS",
                name);
        for (uint32_t i = 0; i < n->access_count; i++) {
            const struct rd_access *a = &g->accesses.item[n->access + i];
            if ((a->mode & RONDO_WRITE) && g->slots.item[a->slot].kind != RD_SLOT_BOUND &&
                g->slots.item[a->slot].kind != RD_SLOT_TEMPORARY)
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
    x->stepped = rd_env_number(RD_ENV_RONDO_DEVICE_SYNC, 0, 1, 0) != 0;
    if (x->stepped) {
        x->mode = RONDO_INTERPRETED;
        snprintf(x->why, sizeof x->why, "the environment's RONDO_DEVICE_SYNC says so");
        return RONDO_OK;
    }
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

/* ---- the recipe */

static int makes_call_external(const struct rd_node *n, const struct rd_extra *e)
{
    return n->kind == RD_NODE_WAIT || (e->flags & (RONDO_DETACHED | RONDO_MAY_BLOCK));
}

static rondo_status no_memory_to_place(const struct rd_subgraph *e)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to place %zu nodes", e->name,
                    e->nodes.count);
}

/* Devices' processors come behind the helpers, whose number is known by now. A member's work is its
 * segment's; what submits or settles keeps something in its frame's state. */
static rondo_status place_on_devices(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_recipe *r = &x->recipe;
    const size_t n = e->nodes.count;
    if (x->schedule != RONDO_STATIC && !r->alone &&
        !(r->alone = rd_zalloc_array(&x->rt->alloc, n, 1)))
        return no_memory_to_place(e);
    for (uint32_t v = 0; v < n; v++) {
        if (!rd_bound_is_device(e->nodes.item[v].bound))
            continue;
        r->bound[v] = rd_exec_device_processor(x, &e->nodes.item[v]);
        if (rd_exec_is_member(x, v))
            r->cost[v] = 1;
        else if (r->alone)
            r->alone[v] = 1;
    }
    return RONDO_OK;
}

static rondo_status take_recipe(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_recipe *r = &x->recipe;
    size_t n = e->nodes.count;
    uint32_t helper = x->processors;
    r->cost = rd_alloc_array(a, n, sizeof *r->cost);
    r->priority = rd_alloc_array(a, n, sizeof *r->priority);
    r->bound = rd_alloc_array(a, n, sizeof *r->bound);
    if (!r->cost || !r->priority || !r->bound)
        return no_memory_to_place(e);
    for (size_t v = 0; v < n; v++) {
        const struct rd_node *node = &e->nodes.item[v];
        r->cost[v] = node->cost_ns;
        r->priority[v] = node->priority;
        r->bound[v] = node->bound;
        if (rd_bound_is_device(node->bound))
            continue;
        if (node->bound != RD_PROCESSOR_ANY && node->bound >= x->processors)
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': is on RONDO_CPU(%u), and the exec has %u processors",
                            rd_subgraph_text(e, node->name), node->bound, x->processors);
        if ((node->extra || node->patch_count) && x->schedule != RONDO_STATIC) {
            if (!r->alone && !(r->alone = rd_zalloc_array(a, n, 1)))
                return no_memory_to_place(e);
            r->alone[v] = 1;
        }
        if (!node->extra || !makes_call_external(node, rd_node_extra(e, (uint32_t)v)))
            continue;
        if (!r->external && !(r->external = rd_zalloc_array(a, n, 1)))
            return no_memory_to_place(e);
        r->external[v] = 1;
        if (rd_node_extra(e, (uint32_t)v)->flags & RONDO_MAY_BLOCK)
            r->bound[v] = (uint16_t)helper++;
    }
    x->helpers = helper - x->processors;
    if (x->helpers > RD_HELPERS_MOST)
        return rd_error(RONDO_ERR_INVALID,
                        "subgraph '%s': %u tasks are RONDO_MAY_BLOCK, which takes a thread each: "
                        "at most %d are possible",
                        e->name, x->helpers, RD_HELPERS_MOST);
    return x->devices ? place_on_devices(x, e) : RONDO_OK;
}

void rd_recipe_free(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_recipe *r = &x->recipe;
    size_t n = x->program.nodes;
    rd_free_array(a, r->cost, n, sizeof *r->cost);
    rd_free_array(a, r->priority, n, sizeof *r->priority);
    rd_free_array(a, r->bound, n, sizeof *r->bound);
    rd_free_array(a, r->external, n, 1);
    rd_free_array(a, r->alone, n, 1);
    rd_graph_free(a, &r->graph);
    memset(r, 0, sizeof *r);
}

/* ---- compiling */

rondo_status rd_exec_compile(struct rd_exec *x, enum rd_core_kind kind, int interpret_only,
                             struct rd_plan **plan)
{
    const struct rd_recipe *r = &x->recipe;
    struct rd_compile_input input = {
        .graph = &r->graph,
        .cost_ns = r->cost,
        .priority = r->priority,
        .bound = x->check.access ? NULL : r->bound, /* one lane is everybody's */
        .external = interpret_only ? NULL : r->external,
        .team = x->team_of,
        .processors = kind == RD_CORE_ONE_LANE || x->check.access
                          ? 1
                          : x->processors + x->helpers + x->device_processors,
        .helpers = kind == RD_CORE_ONE_LANE ? 0 : x->helpers + x->device_processors,
        .handover_ns = x->handover_ns,
        .op_ns = RD_OP_NS,
        .unknown_cost_ns = x->unknown_cost_ns,
        .interpret_only = interpret_only,
#ifdef RD_DEBUG
        .check = 1,
#endif
    };
    return rd_compile(&x->rt->alloc, &input, plan);
}

rondo_status rd_exec_make_core(struct rd_exec *x, enum rd_core_kind kind, int interpret_only,
                               struct rd_core **core)
{
    struct rd_plan *plan = NULL;
    rondo_status status = rd_exec_compile(x, kind, interpret_only, &plan);
    if (!status)
        status = rd_core_new(x, plan, kind, core);
    if (!status) {
        pthread_mutex_lock(&x->lock); /* of all cores' ops: see each_op in retask.c */
        rd_core_copy_work(*core, x->chosen);
        pthread_mutex_unlock(&x->lock);
    }
    return status;
}

static rondo_status compile_first(struct rd_exec *x, const struct rd_subgraph *g,
                                  struct rd_plan **plan)
{
    /* Lanes only interpret then. */
    const int only = x->schedule == RONDO_DATAFLOW || x->check.access;
    rondo_status status = rd_exec_compile(x, RD_CORE_LANES, only, plan);
    x->compiled = status == RONDO_OK;
    if (status != RONDO_ERR_INVALID)
        return status;
    if (x->mode == RONDO_COMPILED)
        return rd_error(RONDO_ERR_INVALID, "subgraph '%s' cannot be compiled: %s", g->name,
                        rd_error_text());
    snprintf(x->why, sizeof x->why, "%s", rd_error_text());
    x->mode = RONDO_INTERPRETED;
    return rd_exec_compile(x, RD_CORE_LANES, 1, plan);
}

/* ---- the exec */

static rondo_status take_processors(struct rd_exec *x, const rondo_instantiate_options *o,
                                    const struct rd_exec *like)
{
    struct rd_allocator *a = &x->rt->alloc;
    if (o->cpus)
        return rd_cpus_of_runtime(x->rt, o->cpus, &x->processor, &x->processors);
    x->processors = like ? like->processors : x->rt->processors;
    x->processor = rd_alloc_array(a, x->processors, sizeof *x->processor);
    for (uint32_t i = 0; x->processor && i < x->processors; i++)
        x->processor[i] = like ? like->processor[i] : i;
    return x->processor
               ? RONDO_OK
               : rd_error(RONDO_ERR_MEMORY, "exec: no memory for %u processors", x->processors);
}

static struct rd_exec *make_exec(struct rd_subgraph *g, const rondo_instantiate_options *o)
{
    struct rd_exec *x = rd_zalloc(&g->rt->alloc, sizeof *x, RD_LINE);
    if (!x)
        return NULL;
    x->rt = g->rt;
    x->serial = g->serial;
    x->order = o->order;
    x->schedule = o->schedule;
    x->window = o->window ? o->window : DEFAULT_WINDOW;
    x->tracks = o->order != RONDO_CONCURRENT ? 1 : o->tracks ? o->tracks : DEFAULT_TRACKS;
    x->priority = o->priority;
    x->timed_later = (o->flags & RONDO_TIMED) != 0;
    x->handover_ns = RD_HANDOVER_NS;
    x->unknown_cost_ns = RD_UNKNOWN_COST_NS;
    x->nodes = (uint32_t)g->nodes.count;
    rd_store_relaxed(&x->profile, o->profile); /* published with the exec's id, as all below */
    rd_store_relaxed(&x->profile_end, o->profile);
    x->options = *o;
    x->options.cpus = NULL;
    x->stats.alloc = &x->rt->alloc;
    x->tenant.sweep = rd_exec_sweep;
    x->tenant.closed = rd_exec_closed;
    x->tenant.free = rd_exec_tenant_free;
    rd_store_relaxed(&x->refs, 1); /* published with the exec's id */
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->placing, NULL);
    rd_where_know(RD_WORK_LANE, rd_lane_where);
    rd_runtime_ref(x->rt);
    rd_add_relaxed(&x->rt->execs, 1);
    return x;
}

static void free_helpers(struct rd_exec *x)
{
    for (uint32_t i = 0; i < x->helpers_started; i++)
        rd_worker_stop(&x->helper[i]);
    rd_free(&x->rt->alloc, x->helper, x->helpers * sizeof *x->helper);
}

void rd_exec_unref(struct rd_exec *x)
{
    struct rd_runtime *rt = x->rt;
    struct rd_allocator *a = &rt->alloc;
    if (rd_sub_acq_rel(&x->refs, 1) > 1) /* sees all that retired cores did */
        return;
    while (x->cores)
        rd_core_free(x->cores);
    rd_exec_devices_end(x);
    free_helpers(x);
    rd_tuner_free(x);
    rd_recipe_free(x);
    rd_exec_check_end(x);
    rd_stats_free(&x->stats);
    rd_exec_stay_free(x);
    rd_exec_unlower(x);
    if (x->series)
        rd_series_unref(x->series);
    rd_free_array(a, x->processor, x->processors, sizeof *x->processor);
    pthread_mutex_destroy(&x->placing);
    pthread_mutex_destroy(&x->lock);
    rd_free(a, x, sizeof *x);
    rd_sub_relaxed(&rt->execs, 1);
    rd_runtime_unref(rt);
}

static rondo_status take_series(struct rd_exec *x, const rondo_instantiate_options *o,
                                const char *name, struct rd_series *series)
{
    rondo_status status;
    if (series) {
        rd_add_relaxed(&series->refs, 1); /* the caller holds one */
        x->series = series;
        return RONDO_OK;
    }
    status = rd_series_new(x->rt, x->window, x->tracks, name, &x->series);
    if (!status)
        x->series->failures.run_on = o->on_failure == RONDO_ON_FAILURE_CONTINUE;
    return status;
}

static rondo_status start_helpers(struct rd_exec *x)
{
    rondo_status status = RONDO_OK;
    x->helper = rd_zalloc(&x->rt->alloc, x->helpers * sizeof *x->helper, RD_LINE);
    if (!x->helper)
        return rd_error(RONDO_ERR_MEMORY, "exec: no memory for %u helper threads", x->helpers);
    for (uint32_t i = 0; i < x->helpers && !status; i++) {
        status = rd_worker_start_helper(&x->helper[i], x->rt, i);
        x->helpers_started += !status;
    }
    return status;
}

/* Whether its frames need something of the replay that a plain one does not. */
static void note_needs(struct rd_exec *x, const struct rd_subgraph *e)
{
    x->indexed = x->ring_slots > 0;
    for (size_t i = 0; i < e->extras.count; i++) {
        const struct rd_extra *extra = &e->extras.item[i];
        x->stops |= (extra->flags & RONDO_MAY_STOP) != 0;
        x->indexed |= extra->sync != 0;
        for (uint32_t k = 0; k < extra->when_count; k++)
            x->indexed |= e->whens.item[extra->when + k].every > 1;
    }
    if (x->stops && !x->series->stoppable) /* another version of an exec changes nothing here */
        x->series->stoppable = 1;
    x->plain_later = !x->params && !x->bound_slots && !x->indexed && !x->stops && !x->timed_later &&
                     (!x->temporary_slots || x->temporary) && !x->program.pend_count &&
                     !rd_exec_is_checked(&x->check);
}

/* What its replays begin on. */
static rondo_status choose_first(struct rd_exec *x)
{
    rondo_status status = RONDO_OK;
    struct rd_core *flow = NULL;
    const int profile = rd_load_relaxed(&x->profile) != 0;
    rd_store_relaxed(&x->core, x->chosen); /* published with the exec's id, as all below */
    if (x->schedule == RONDO_DATAFLOW && !profile && x->mode != RONDO_INTERPRETED) {
        status = rd_exec_make_core(x, RD_CORE_FLOW, 1, &flow);
        if (status)
            return status;
        x->chosen = flow;
    }
    rd_store_relaxed(&x->timed, x->timed_later || profile);
    rd_store_relaxed(&x->plain, x->plain_later && !profile);
    status = rd_exec_choose(x);
    if (!status)
        status = rd_tuner_start(x);
    rd_store_relaxed(&x->unsettled, x->tuner || profile);
    if (!x->tuner && !profile)
        rd_recipe_free(x);
    return status;
}

/* `e`: expanded, every access in its processor's memory. */
static rondo_status build(struct rd_exec *x, struct rd_subgraph *g, struct rd_subgraph *e)
{
    struct rd_plan *plan = NULL;
    struct rd_core *core = NULL;
    rondo_status status = rd_subgraph_analyse(e, x->order == RONDO_PIPELINED, &x->recipe.graph);
    if (!status)
        status = rd_exec_devices_cut(x, e);
    if (status)
        return status;
    x->serial_boundaries = x->order != RONDO_PIPELINED || x->recipe.graph.serial_boundaries;
    x->carried_sum = rd_exec_sum_carried(&x->recipe.graph);
    if (x->rt->keeper) /* else every buffer has had its host memory from the start */
        status = rd_exec_stay_hosts(e);
    if (!status)
        status = rd_exec_lower(x, e);
    x->program.stats = &x->stats;
    x->stats.nodes = x->program.nodes;
    if (!status)
        status = rd_exec_check_regions(x, e);
    if (!status)
        status = take_recipe(x, e);
    if (!status && x->helpers)
        status = start_helpers(x);
    if (!status)
        status = compile_first(x, g, &plan);
    if (!status) /* the plan is the core's, whatever comes of it */
        status = rd_core_new(x, plan, RD_CORE_LANES, &core);
    if (!status)
        status = rd_exec_devices_make(x, e);
    if (!status)
        status = rd_exec_lower_ops(x, e, core);
    if (status)
        return status;
    if (x->rt->keeper)
        status = x->devices ? rd_exec_stay_make(x, x->devices->residency) : rd_exec_stay_host(x, e);
    if (status)
        return status;
    note_needs(x, e);
    x->chosen = core;
    return choose_first(x);
}

static rondo_status build_on_devices(struct rd_exec *x, struct rd_subgraph *g,
                                     struct rd_subgraph *e)
{
    struct rd_subgraph *changed = NULL;
    rondo_status status = rd_exec_devices_begin(x, e, &changed);
    if (!status)
        status = build(x, g, changed ? changed : e);
    if (changed)
        rd_subgraph_unref(changed);
    return status;
}

static rondo_status make(struct rd_subgraph *g, const rondo_instantiate_options *options,
                         struct rd_series *series, const struct rd_exec *like,
                         struct rd_exec **exec)
{
    struct rd_subgraph *e = NULL;
    struct rd_exec *x;
    rondo_status status = check_options(g, options);
    if (!status && options->order == RONDO_CONCURRENT)
        status = check_concurrent(g);
    if (!status)
        status = rd_check_devices(g);
    if (status)
        return status;
    x = make_exec(g, options);
    if (!x)
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for an exec", g->name);
    if (x->schedule == RONDO_SCHEDULE_AUTO && rd_exec_any_on_device(g)) {
        x->schedule = RONDO_STATIC;
        x->static_for_devices = 1;
    }
    status = resolve_mode(g, x, options->mode);
    if (!status)
        status = take_processors(x, options, like);
    if (!status)
        status = take_series(x, options, g->name, series);
    if (!status)
        status = rd_exec_check_begin(x, g);
    if (!status)
        status = rd_kernel_forms_make(&x->kernel_forms, g);
    if (!status)
        status = rd_subgraph_expand(g, x->check.access ? 1 : x->processors, &e);
    if (!status)
        status = build_on_devices(x, g, e);
    if (e)
        rd_subgraph_unref(e);
    if (status)
        rd_exec_unref(x);
    else
        *exec = x;
    return status;
}

rondo_status rd_exec_new(struct rd_subgraph *g, const rondo_instantiate_options *options,
                         struct rd_series *series, struct rd_exec **exec)
{
    return make(g, options, series, NULL, exec);
}

rondo_status rd_exec_new_like(struct rd_subgraph *g, struct rd_exec *like, struct rd_exec **exec)
{
    return make(g, &like->options, like->series, like, exec);
}

rondo_status rd_exec_publish(struct rd_exec *x)
{
    struct rd_series *s = x->series;
    x->id = rd_id_new(RD_ID_EXEC, x);
    if (!x->id)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for its handle",
                        x->program.exec_name);
    rd_series_join(s, x->id);
    for (struct rd_core *c = x->cores; c; c = c->next)
        rd_core_attach(c);
    return RONDO_OK;
}
