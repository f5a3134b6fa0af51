/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation: the first passes of a compilation, and what they predict. */
#include "compile/simulate.h"

#include "compile/passes.h"

static rondo_status count_path(struct rd_pass *p, rondo_simulation *out)
{
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    uint64_t *rank = rd_scratch_array(&temporary, p->nodes, sizeof *rank);
    if (!rank)
        return rd_pass_memory();
    rd_order_ranks(p, NULL, rank);
    for (uint32_t v = 0; v < p->nodes; v++)
        if (rank[v] > out->critical_path_ns)
            out->critical_path_ns = rank[v];
    rd_scratch_free(&temporary);
    return RONDO_OK;
}

static void count_handovers(const struct rd_pass *p, const uint16_t *processor,
                            rondo_simulation *out)
{
    const struct rd_graph *g = p->graph;
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            out->handovers += !g->pred[e].distance && processor[g->pred[e].from] != processor[v];
}

/* Processors with nodes; and lanes, of which there are as many as processors where the sets of
 * external nodes are too many to be told apart. */
static rondo_status count_lanes(struct rd_pass *p, const uint16_t *processor, rondo_simulation *out)
{
    uint8_t *set, *used;
    uint32_t sets;
    rondo_status s = rd_external_sets(p, &set, &sets);
    if (s == RONDO_ERR_INVALID) {
        set = NULL;
        sets = 1;
    } else if (s) {
        return s;
    }
    used = rd_scratch_zeroed(&p->scratch, (size_t)p->in->processors * sets, 1);
    if (!used)
        return rd_pass_memory();
    for (uint32_t v = 0; v < p->nodes; v++)
        used[processor[v] * sets + (set ? set[v] : 0)] = 1;
    for (uint32_t i = 0; i < p->in->processors; i++) {
        uint32_t lanes = 0;
        for (uint32_t k = 0; k < sets; k++)
            lanes += used[i * sets + k];
        out->lanes += lanes;
        out->processors += lanes != 0;
    }
    return RONDO_OK;
}

static rondo_status run_passes(struct rd_pass *p, rondo_simulation *out)
{
    struct rd_placement placement;
    rondo_status s = rd_order(p);
    if (!s)
        s = count_path(p, out);
    if (!s)
        s = rd_place(p, &placement);
    if (!s)
        s = count_lanes(p, placement.processor, out);
    if (s)
        return s;
    count_handovers(p, placement.processor, out);
    out->makespan_ns = placement.time_ns;
    out->work_ns = p->work_ns;
    return RONDO_OK;
}

rondo_status rd_simulate(struct rd_allocator *a, const struct rd_compile_input *input,
                         rondo_simulation *simulation)
{
    struct rd_pass p = { .in = input,
                         .graph = input->graph,
                         .scratch = { .a = a },
                         .nodes = input->graph->nodes,
                         .handover_ns = input->handover_ns,
                         .fastest = 1 };
    rondo_simulation made = { 0 };
    rondo_status s = rd_compile_check_input(input);
    if (s)
        return s;
    if (input->processors > RD_SIMULATE_PROCESSORS)
        return rd_error(RONDO_ERR_INVALID, "%u processors: at most %d can be simulated",
                        input->processors, RD_SIMULATE_PROCESSORS);
    if (input->graph->nodes > RD_SIMULATE_NODES)
        return rd_error(RONDO_ERR_INVALID, "%u nodes: at most %d can be simulated",
                        input->graph->nodes, RD_SIMULATE_NODES);
    s = run_passes(&p, &made);
    rd_scratch_free(&p.scratch);
    if (!s)
        *simulation = made;
    return s;
}
