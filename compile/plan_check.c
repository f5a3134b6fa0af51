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

static uint32_t replays_to_run(const struct rd_plan *plan)
{
    uint32_t replays = plan->distance + 2;
    while (replays > 2 && (uint64_t)replays * plan->nodes > run_budget)
        replays--;
    return replays;
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
    rondo_status s;
    why[0] = 0;
    s = rd_check_form(&c);
    if (!s && !why[0])
        s = rd_check_run(&c, 1, 1, 1);
    for (uint32_t window = 1; window <= WINDOWS && !s && !why[0]; window++)
        s = rd_check_run(&c, window, replays_to_run(plan), 0);
    if (!s && !why[0])
        s = rd_check_reach(&c);
    rd_scratch_free(&c.scratch);
    return s;
}
