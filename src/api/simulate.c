/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_simulate: a recording's nodes and edges as instantiation would see them, handed to the
 * simulation of compile/. Nothing is run and nothing kept. */
#include "compile/simulate.h"
#include "src/api/desc.h"
#include "src/base/id.h"
#include "src/device/devices.h"
#include "src/exec/exec.h"
#include "src/frame/stats.h"
#include "subgraph/graph.h"
#include "subgraph/subgraph.h"

struct recipe {
    struct rd_allocator *a;
    size_t nodes;
    uint32_t *cost;
    int32_t *priority;
    uint16_t *bound;
    uint8_t *external;
    /* Processors behind those asked for: one for each blocking task, as instantiation starts a
     * thread for each, and one for each device, whose queue runs its nodes one after the other. */
    uint32_t helpers;
    uint16_t of_device[RD_DEVICES_MAX]; /* which, + 1; 0: none yet */
};

static void free_recipe(struct recipe *r)
{
    rd_free_array(r->a, r->cost, r->nodes, sizeof *r->cost);
    rd_free_array(r->a, r->priority, r->nodes, sizeof *r->priority);
    rd_free_array(r->a, r->bound, r->nodes, sizeof *r->bound);
    rd_free_array(r->a, r->external, r->nodes, 1);
}

static uint16_t processor_of_device(struct recipe *r, uint32_t device, uint32_t processors)
{
    if (!r->of_device[device])
        r->of_device[device] = (uint16_t)(processors + ++r->helpers);
    return (uint16_t)(r->of_device[device] - 1);
}

static rondo_status take_node(struct recipe *r, const struct rd_subgraph *e, uint32_t v,
                              uint32_t processors)
{
    const struct rd_node *node = &e->nodes.item[v];
    uint32_t flags = rd_node_extra(e, v)->flags;
    r->cost[v] = node->cost_ns;
    r->priority[v] = node->priority;
    r->bound[v] = node->bound;
    if (rd_bound_is_device(node->bound))
        r->bound[v] = processor_of_device(r, node->bound - RD_ON_DEVICE, processors);
    else if (node->bound != RD_PROCESSOR_ANY && node->bound >= processors)
        return rd_error(
            RONDO_ERR_INVALID,
            "rondo_simulate: node '%s' is on RONDO_CPU(%u), and there are %u processors",
            rd_subgraph_text(e, node->name), node->bound, processors);
    r->external[v] =
        node->kind == RD_NODE_WAIT || (flags & (RONDO_DETACHED | RONDO_MAY_BLOCK)) != 0;
    if (flags & RONDO_MAY_BLOCK)
        r->bound[v] = (uint16_t)(processors + r->helpers++);
    if (r->helpers + processors > RD_SIMULATE_PROCESSORS)
        return rd_error(RONDO_ERR_INVALID,
                        "rondo_simulate: %u processors and %u more of blocking tasks and devices "
                        "are more than %d",
                        processors, r->helpers, RD_SIMULATE_PROCESSORS);
    return RONDO_OK;
}

static rondo_status take_recipe(struct recipe *r, const struct rd_subgraph *e, uint32_t processors)
{
    rondo_status status = RONDO_OK;
    r->nodes = e->nodes.count;
    r->cost = rd_alloc_array(r->a, r->nodes, sizeof *r->cost);
    r->priority = rd_alloc_array(r->a, r->nodes, sizeof *r->priority);
    r->bound = rd_alloc_array(r->a, r->nodes, sizeof *r->bound);
    r->external = rd_alloc_array(r->a, r->nodes, 1);
    if (!r->cost || !r->priority || !r->bound || !r->external)
        return rd_error(RONDO_ERR_MEMORY, "rondo_simulate: no memory for %zu nodes of '%s'",
                        r->nodes, e->name);
    for (uint32_t v = 0; v < r->nodes && !status; v++)
        status = take_node(r, e, v, processors);
    return status;
}

/* The mean of what each recorded node took in the exec's timed replays, where it ran in any. */
static rondo_status take_means(struct recipe *r, const struct rd_subgraph *g, rondo_exec exec)
{
    rondo_status status = RONDO_OK;
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(exec.id, RD_ID_EXEC);
    if (!x)
        status = rd_id_error(exec.id, RD_ID_EXEC);
    else if (x->nodes != g->nodes.count)
        status = rd_error(RONDO_ERR_INVALID,
                          "rondo_simulate: exec '%s' has %u nodes, subgraph '%s' has %zu",
                          x->program.exec_name, x->nodes, g->name, g->nodes.count);
    for (uint32_t v = 0; !status && v < x->nodes; v++) {
        struct rd_node_times t;
        uint64_t mean;
        rd_stats_read(&x->stats, v, &t);
        if (!t.runs)
            continue;
        mean = t.sum_ns / t.runs;
        r->cost[v] = mean > UINT32_MAX ? UINT32_MAX : mean ? (uint32_t)mean : 1;
    }
    rd_rcu_read_unlock();
    return status;
}

static rondo_status check_options(const rondo_simulate_options *o)
{
    if (o->processors < 1 || o->processors > RD_SIMULATE_PROCESSORS)
        return rd_error(RONDO_ERR_INVALID, "rondo_simulate: %u processors, must be 1 to %d",
                        o->processors, RD_SIMULATE_PROCESSORS);
    if (o->handover_ns > UINT32_MAX)
        return rd_error(RONDO_ERR_INVALID, "rondo_simulate: handover_ns %lld, at most %u",
                        (long long)o->handover_ns, UINT32_MAX);
    if (o->unknown_cost_ns < 0 || o->unknown_cost_ns > UINT32_MAX)
        return rd_error(RONDO_ERR_INVALID, "rondo_simulate: unknown_cost_ns %lld, must be 0 to %u",
                        (long long)o->unknown_cost_ns, UINT32_MAX);
    return RONDO_OK;
}

/* `e`: the expansion of `g`. */
static rondo_status simulate(const struct rd_subgraph *g, const struct rd_subgraph *e,
                             const rondo_simulate_options *o, rondo_simulation *out)
{
    struct recipe r = { .a = &g->rt->alloc };
    struct rd_compile_input in = { .processors = o->processors };
    struct rd_graph graph;
    rondo_status status = rd_subgraph_analyse(e, 0, &graph);
    if (status)
        return status;
    status = take_recipe(&r, e, o->processors);
    if (!status && o->exec.id)
        status = take_means(&r, g, o->exec);
    in.graph = &graph;
    in.cost_ns = r.cost;
    in.priority = r.priority;
    in.bound = r.bound;
    in.external = r.external;
    in.processors += r.helpers;
    in.helpers = r.helpers;
    in.handover_ns = o->handover_ns < 0   ? 0
                     : o->handover_ns > 0 ? (uint32_t)o->handover_ns
                                          : (uint32_t)RD_HANDOVER_NS;
    in.unknown_cost_ns =
        o->unknown_cost_ns ? (uint32_t)o->unknown_cost_ns : (uint32_t)RD_UNKNOWN_COST_NS;
    if (!status)
        status = rd_simulate(r.a, &in, out);
    free_recipe(&r);
    rd_graph_free(r.a, &graph);
    return status;
}

rondo_status rondo_simulate_sized(rondo_subgraph subgraph, const rondo_simulate_options *options,
                                  size_t options_bytes, rondo_simulation *simulation,
                                  size_t simulation_bytes)
{
    rondo_simulate_options o;
    rondo_simulation made;
    struct rd_subgraph *g, *e;
    rondo_status status =
        rd_desc_take("rondo_simulate_options", &o, sizeof o, options, options_bytes);
    if (!status)
        status = check_options(&o);
    if (!status && !simulation)
        status = rd_error(RONDO_ERR_INVALID, "rondo_simulate: simulation is NULL");
    if (status)
        return status;
    g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_error(g);
    if (!status)
        status = rd_subgraph_expand(g, o.processors, &e);
    if (!status) {
        status = simulate(g, e, &o, &made);
        rd_subgraph_unref(e);
    }
    rd_subgraph_unref(g);
    if (!status)
        rd_desc_give(simulation, simulation_bytes, &made, sizeof made);
    return status;
}
