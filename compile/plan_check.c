/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a whole plan against the graph it was made from. */
#include "compile/check.h"

#include <stdarg.h>
#include <stdio.h>

/* Ops run abstractly; beyond, fewer replays. */
static const uint64_t run_budget = 1u << 24;
enum { WINDOWS = 4 };

void rd_check_say(struct rd_check *c, const char *format, ...)
{
    va_list args;
    if (c->why[0])
        return;
    va_start(args, format);
    vsnprintf(c->why, c->why_bytes, format, args);
    va_end(args);
}

/* Twice through all phases, and what the largest distance needs. */
static uint32_t replays_to_run(const struct rd_plan *plan)
{
    uint32_t replays = plan->distance + 2 + (plan->variants > 1 ? 2 * plan->phases : 0);
    while (replays > 2 && (uint64_t)replays * plan->nodes > run_budget)
        replays--;
    return replays;
}

/* Edges, ops and waits of each variant; 0 when there is no memory. */
static int list_variants(struct rd_check *c)
{
    const struct rd_graph *g = c->graph;
    const struct rd_plan *p = c->plan;
    c->variants = p->variants;
    c->variant = rd_scratch_array(&c->scratch, p->variants, sizeof *c->variant);
    if (!c->variant)
        return 0;
    c->variant[0] = (struct rd_check_variant){ g->first, g->pred, p->op, p->wait, NULL };
    for (uint32_t i = 0; i < p->variants; i++) {
        struct rd_check_variant *v = &c->variant[i];
        if (p->variants > 1) {
            v->first = g->variant[i].first;
            v->pred = g->variant[i].pred;
        }
        if (i) {
            v->op = p->variant[i - 1].op;
            v->wait = p->variant[i - 1].wait;
        }
        v->further = rd_scratch_array(&c->scratch, p->nodes, sizeof *v->further);
        if (!v->further)
            return 0;
    }
    return 1;
}

static rondo_status check(struct rd_check *c)
{
    rondo_status s = rd_check_form(c);
    for (uint32_t v = 0; v < c->variants && !s && !c->why[0]; v++) {
        s = rd_check_run_once(c, v);
        if (!s && !c->why[0])
            s = rd_check_reach(c, v);
        if (!s && !c->why[0])
            s = rd_check_sets(c, v);
    }
    for (uint32_t window = 1; window <= WINDOWS && !s && !c->why[0]; window++)
        s = rd_check_run(c, window, replays_to_run(c->plan));
    return s;
}

rondo_status rd_plan_check(struct rd_allocator *a, const struct rd_compile_input *in,
                           const struct rd_plan *plan, char *why, size_t why_bytes)
{
    struct rd_check c = { .graph = in->graph,
                          .in = in,
                          .plan = plan,
                          .scratch = { .a = a },
                          .why = why,
                          .why_bytes = why_bytes };
    const uint32_t phases = in->graph->phases > 1 ? in->graph->phases : 1;
    rondo_status s = RONDO_OK;
    why[0] = 0;
    if (plan->phases != phases ||
        plan->variants != (phases > 1 && in->graph->variants > 1 ? in->graph->variants : 1))
        rd_check_say(&c, "%u phases and %u variants, the graph has %u and %u", plan->phases,
                     plan->variants, in->graph->phases, in->graph->variants);
    if (!why[0])
        s = list_variants(&c) ? check(&c) : rd_pass_memory();
    rd_scratch_free(&c.scratch);
    return s;
}
