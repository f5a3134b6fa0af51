/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with an op that is more than called. */
#include "src/frame/op.h"

#include "src/base/os.h"
#include "src/frame/node.h"
#include "src/frame/slow.h"
#include "src/machine/keeper.h"

static int is_late(const struct rd_frame *f)
{
    return (f->slow & RD_SLOW_DEADLINE) && rd_os.now_ns() >= f->deadline_ns;
}

static int is_unfit(const struct rd_frame *f)
{
    return (f->slow & RD_SLOW_FETCH) && rd_fetch_status(f->fetch) != RONDO_OK;
}

/* Whether an op need not be called any more; of one that is under way it must be, to its end. */
static int may_skip(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e)
{
    return !rd_may_pend(l->self.program, e->node) || rd_node_skip(l, f, e);
}

/* Whether the op was skipped. */
static int skip(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e, uint32_t bit)
{
    enum rd_badness bad = rd_badness(l->track, f);
    if (bad == RD_BAD_STOPPED)
        return may_skip(l, f, e);
    if (bad == RD_BAD_BEFORE ||
        (bad == RD_BAD_HERE && rd_has_bad_predecessor(l->track, f, e->node))) {
        if (!may_skip(l, f, e))
            return 0;
        rd_mark_bad(f, bit);
        return 1;
    }
    if (is_late(f) && may_skip(l, f, e)) {
        rd_frame_late(l, f, bit, e->node);
        return 1;
    }
    if (is_unfit(f) && may_skip(l, f, e)) {
        rd_frame_unfit(l, f, bit, e->node);
        return 1;
    }
    return 0;
}

RD_NOINLINE int rd_op_run_slow(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e,
                               uint32_t bit)
{
    int code;
    if (skip(l, f, e, bit))
        return 1;
    if (f->slow) {
        code = rd_slow_call(l, f, e);
    } else {
        l->self.view.node = &e->node;
        code = e->fn(&l->self.view, e->arg);
    }
    return code ? rd_op_returned(l, f, e, bit, code) : 1;
}

RD_NOINLINE int rd_op_returned(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e,
                               uint32_t bit, int code)
{
    if (code != RD_PENDING || !rd_may_pend(l->self.program, e->node)) {
        rd_frame_fail(l, f, bit, e->node, code);
        return 1;
    }
    l->unmet = l->self.unmet;
    /* At the deadline it is looked at again, and called off if it has not begun. */
    if ((f->slow & RD_SLOW_DEADLINE) && !rd_node_under_way(f, e))
        l->unmet.until_ns = f->deadline_ns;
    return 0;
}
