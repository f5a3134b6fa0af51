/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow walk of a lane through a replay that a failure concerns. It performs every wait, so that
 * what order went through a skipped op still holds, skips an op if a recorded predecessor is bad
 * (or if an earlier replay failed: then all), marks it bad, and publishes. A counter never jumps
 * past a wait. */
#include "compile/run/step.h"
#include "src/frame/failure.h"

static void step(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    struct rd_track *t = l->track;
    enum rd_badness bad = rd_badness(t, f);
    uint32_t bit = l->bit_first + (uint32_t)(e - l->op);
    int code;
    if (bad == RD_BAD_BEFORE || (bad == RD_BAD_HERE && rd_has_bad_predecessor(t, f, e->node))) {
        rd_mark_bad(f, bit);
        return;
    }
    l->self.view.node = &e->node;
    code = e->fn(&l->self.view, e->arg);
    if (code)
        rd_frame_fail(l, f, bit, e->node, code);
}

RD_NOINLINE enum rd_advance rd_lane_walk(struct rd_lane *l, struct rd_frame *f, uint32_t polls)
{
    const struct rd_op *e = l->op + l->position, *const end = l->op + l->length;
    const struct rd_op *const stop = end - e > RD_OPS_MAX ? e + RD_OPS_MAX : end;
    int acquired;
    for (; e < stop; e++) {
        if (e->wait && !rd_lane_waits(l, e, polls, &acquired))
            return rd_lane_block(l, e);
        step(l, f, e);
        if (e->publish)
            rd_lane_publish(l, e);
    }
    if (e == end)
        return rd_lane_end(l, f);
    l->position = (uint32_t)(e - l->op);
    return RD_PROGRESSED;
}
