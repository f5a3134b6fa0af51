/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow walk of a lane through a replay that a failure concerns, or whose frame asks for it. It
 * performs every wait, so that what order went through a skipped op still holds, looks at each op
 * before it is called (src/frame/op.h: is it to be skipped, timed, checked), and publishes. A
 * counter never jumps past a wait. */
#include "compile/run/step.h"
#include "src/frame/op.h"
#include "src/frame/slow.h"

RD_NOINLINE enum rd_advance rd_lane_walk(struct rd_lane *l, struct rd_frame *f, uint32_t polls)
{
    const struct rd_op *e = l->op + l->position, *const end = l->op + l->length;
    const struct rd_op *const stop = end - e > RD_OPS_MAX ? e + RD_OPS_MAX : end;
    rd_slow_waited(l);
    for (; e < stop; e++) {
        uint32_t publish;
        int acquired = 0;
        if (e->wait && !rd_lane_waits(l, e, polls, &acquired))
            return rd_lane_block(l, e);
        if (acquired)
            rd_slow_waited(l);
        if (!rd_op_run(l, f, e, l->bit_first + (uint32_t)(e - l->op))) {
            l->wait_at -= e->more;
            return rd_lane_block(l, e);
        }
        publish = rd_load_shared(&e->publish);
        if (publish)
            rd_lane_publish(l, publish);
    }
    if (e == end)
        return rd_lane_end(l, f);
    l->position = (uint32_t)(e - l->op);
    return RD_PROGRESSED;
}
