/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking inside an exec. */
#include "src/exec/device.h"
#include "src/exec/page.h"
#include "src/exec/tuner.h"

#include "src/machine/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t serial_boundaries(struct rd_exec *x)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&x->lock);
    for (struct rd_core *c = x->cores; c; c = c->next)
        for (uint32_t i = 0; i < c->tracks; i++)
            sum += rd_load_relaxed(&c->track[i].boundaries); /* statistics */
    pthread_mutex_unlock(&x->lock);
    return sum;
}

void rd_exec_count_all(struct rd_exec *x, rondo_exec_counts *c)
{
    const struct rd_program *p = &x->program;
    const struct rd_plan *plan = rd_load_acquire(&x->core)->plan;
    uint64_t n = plan->nodes;
    memset(c, 0, sizeof *c);
    c->nodes = x->nodes; /* recorded; the plan may have more */
    c->edges = plan->edges;
    c->carried_edges = plan->carried_edges;
    c->waits = plan->wait_count;
    c->lanes = plan->lanes;
    c->processors = x->processors;
    c->carried_distance = plan->distance;
    c->window = x->window;
    c->tracks = x->tracks;
    c->compiled = (uint32_t)x->compiled;
    c->plan_bytes = plan->bytes + (n + 1) * sizeof *p->node + n * sizeof *p->name +
                    (p->tag ? n * sizeof *p->tag : 0);
    c->argument_bytes =
        x->args_bytes + x->work_bytes + p->place_count * (sizeof *p->places + sizeof *p->views);
    c->makespan_ns = plan->makespan_ns;
    c->serial_boundaries = serial_boundaries(x);
    rd_exec_devices_count(x, c);
}

/* ---- describe */

void rd_page_line(const struct rd_page *page, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page->write(page->context, text);
}

static void describe_order(const struct rd_exec *x, const struct rd_page *page,
                           const rondo_exec_counts *c)
{
    static const char *const orders[] = { "serial", "pipelined", "concurrent" };
    rd_page_line(page, "order: %s, window %u", orders[x->order], x->window);
    if (x->order == RONDO_CONCURRENT)
        rd_page_line(page, ", %u tracks", x->tracks);
    if (x->order == RONDO_PIPELINED && x->serial_boundaries)
        rd_page_line(page, " (the rings have more than 64 phases: every boundary is serial)");
    rd_page_line(page, ", serial boundaries met: %llu%s\n",
                 (unsigned long long)c->serial_boundaries,
                 x->serial_boundaries ? " beside those of the order" : "");
}

static void describe_machine(const struct rd_exec *x, const struct rd_page *page)
{
    struct rd_topology_summary machine;
    if (rd_topology_read(&machine) == RONDO_OK)
        rd_page_line(page, "machine: %u CPUs, %u cores, %u packages; the runtime uses %u\n",
                     machine.cpus, machine.cores, machine.packages, x->rt->processors);
}

static void describe_lane(const struct rd_exec *x, const struct rd_page *page,
                          const struct rd_plan *plan, uint32_t lane)
{
    const struct rd_plan_lane *l = &plan->lane[lane];
    int submits;
    uint32_t device = rd_exec_device_of(x, l->processor, &submits);
    if (device)
        rd_page_line(page, "  lane %u: gpu %u, %s", lane, device - 1,
                     submits ? "submits" : "settles");
    else
        rd_page_line(page, "  lane %u: cpu %u", lane, l->processor);
    rd_page_line(page, ", %u ops, %u further waits%s\n", l->length, l->wait_count,
                 l->sink ? ", sink" : "");
}

void rd_exec_describe(struct rd_exec *x, void (*write)(void *, const char *), void *context)
{
    const struct rd_plan *plan = rd_load_acquire(&x->core)->plan;
    struct rd_page page = { write, context };
    rondo_exec_counts c;
    char text[256];
    rd_exec_count_all(x, &c);
    rd_page_line(&page, "exec '%s'\n", x->program.exec_name);
    describe_machine(x, &page);
    rd_page_line(&page, "mode: %s now, instantiated as %s: %s\n",
                 rd_load_relaxed(&x->interpreted) ? "interpreted" : "compiled",
                 x->mode == RONDO_INTERPRETED ? "interpreted" : "compiled", x->why);
    rd_tuner_describe(x, text, sizeof text);
    rd_page_line(&page, "schedule: %s%s%s\n",
                 rd_load_acquire(&x->core)->kind == RD_CORE_FLOW       ? "dataflow"
                 : rd_load_acquire(&x->core)->kind == RD_CORE_ONE_LANE ? "static, one lane"
                                                                       : "static",
                 text[0] ? "; " : "", text);
    if (x->placed[0])
        rd_page_line(&page, "placed %s\n", x->placed);
    rd_exec_check_describe(x, write, context);
    describe_order(x, &page, &c);
    rd_page_line(&page, "nodes: %llu, edges: %llu, carried edges: %llu (over at most %u replays)\n",
                 (unsigned long long)c.nodes, (unsigned long long)c.edges,
                 (unsigned long long)c.carried_edges, c.carried_distance);
    rd_page_line(&page, "lanes: %u on %u processors, waits kept: %llu of %llu edges\n", c.lanes,
                 c.processors, (unsigned long long)c.waits,
                 (unsigned long long)(c.edges + c.carried_edges));
    for (uint32_t i = 0; i < plan->lanes; i++)
        describe_lane(x, &page, plan, i);
    rd_page_line(
        &page,
        "costs: hand-over %u ns, a node of unknown cost %u ns; work %llu ns, predicted %llu ns\n",
        x->handover_ns, x->unknown_cost_ns, (unsigned long long)plan->work_ns,
        (unsigned long long)plan->makespan_ns);
    rd_page_line(&page, "bytes: plan %llu (%.1f per node), arguments and accesses %llu\n",
                 (unsigned long long)c.plan_bytes, (double)c.plan_bytes / (double)c.nodes,
                 (unsigned long long)c.argument_bytes);
    rd_page_line(&page, "replays: %llu submitted, %llu ended\n",
                 (unsigned long long)RD_WORD_TICKET(rd_load_relaxed(&x->series->word)),
                 (unsigned long long)rd_exec_ended(x));
    rd_exec_devices_describe(x, &page);
    rd_exec_describe_times(x, write, context);
}

/* ---- one node */

static int names_its_parts(const struct rd_exec *x, uint32_t serial)
{
    const struct rd_exec_parts *p = &x->parts;
    for (size_t i = 0; i < sizeof p->older / sizeof *p->older; i++)
        if (serial && p->older[i] == serial)
            return 1;
    return serial == x->serial;
}

int rd_exec_has_node(const struct rd_exec *x, rondo_node node, uint32_t *first, uint32_t *count)
{
    uint32_t at = ((uint32_t)node.id & 0x3fffffff) - 1, part = (uint32_t)node.id >> 30;
    if (!names_its_parts(x, (uint32_t)(node.id >> 32)))
        return 0;
    if (part == RD_PART_GROUP && at < x->group_count) {
        *first = x->groups[at].first;
        *count = x->groups[at].count;
        return 1;
    }
    *first = at;
    *count = 1;
    return part == RD_PART_NODE && at < x->nodes;
}

rondo_status rd_exec_nodes_of(const struct rd_exec *x, rondo_node node, uint32_t *first,
                              uint32_t *count)
{
    if (rd_exec_has_node(x, node, first, count))
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID, "exec '%s': handle 0x%llx is no node of its subgraph",
                    x->program.exec_name, (unsigned long long)node.id);
}

rondo_status rd_exec_node_info(struct rd_exec *x, rondo_node node, rondo_node_info *info)
{
    const struct rd_plan *plan = rd_load_acquire(&x->core)->plan;
    uint32_t v = 0, count, op, lane, device;
    int submits;
    rondo_status status = rd_exec_nodes_of(x, node, &v, &count);
    if (status)
        return status;
    op = plan->op_of_node[v];
    lane = rd_plan_lane_of_op(plan, op);
    memset(info, 0, sizeof *info);
    device = rd_exec_device_of(x, plan->lane[lane].processor, &submits);
    info->processor = device ? RONDO_GPU(device - 1) : RONDO_CPU(plan->lane[lane].processor);
    info->lane = lane;
    info->position = op - plan->lane[lane].first;
    info->waits = plan->op[op].wait ? 1u + plan->op[op].more : 0;
    info->predecessors = plan->pred_first[v + 1] - plan->pred_first[v];
    info->interpreted = (int32_t)rd_load_relaxed(&x->interpreted);
    if (!x->compiled)
        snprintf(info->why, sizeof info->why, "%.95s", x->why);
    rd_exec_node_times(x, v, info);
    return RONDO_OK;
}
