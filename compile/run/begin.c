/* SPDX-License-Identifier: BSD-3-Clause */
/* What few frames need at their begin and end. */
#include "compile/run/begin.h"

#include "src/base/os.h"
#include "src/frame/failure.h"

/* Past its deadline a frame waits for no event: nothing of it will run. */
static int is_late(const struct rd_frame *f)
{
    return (f->slow & RD_SLOW_DEADLINE) && rd_os.now_ns() >= f->deadline_ns;
}

RD_NOINLINE int rd_gate_holds(const struct rd_gate *g, const struct rd_frame *f,
                              struct rd_unmet *unmet)
{
    if (rd_source_reached(g->source, g->id, g->count) || (!g->always && is_late(f)))
        return 0;
    *unmet = (struct rd_unmet){ &g->source->done, g->count, &g->source->wake, &g->source->at,
                                !g->always && (f->slow & RD_SLOW_DEADLINE) ? f->deadline_ns : 0 };
    return 1;
}

RD_NOINLINE int rd_frame_begin_special(struct rd_frame *f, struct rd_unmet *unmet)
{
    int64_t now = rd_os.now_ns();
    uint64_t none = 0;
    if ((f->special & RD_SPECIAL_NOT_BEFORE) && now < f->not_before_ns) {
        *unmet = (struct rd_unmet){ NULL, 0, NULL, NULL, f->not_before_ns };
        return 0;
    }
    if (f->special & RD_SPECIAL_TIMED)
        rd_cas_relaxed(&f->begin_ns, &none, (uint64_t)now); /* the first that begins says when */
    return 1;
}

/* Once `done` says that the replay has ended, its frame may be filled for another. */
RD_NOINLINE void rd_frame_end_special(struct rd_track *t, struct rd_frame *f)
{
    const uint8_t special = f->special;
    void (*const done)(void *, rondo_event) = special & RD_SPECIAL_DONE ? f->done : NULL;
    void *const context = f->done_context;
    const rondo_event event = { rd_source_id(t->source), f->count };
    if (special & RD_SPECIAL_TIMED)
        rd_failures_note_times(t->failures, f->replay, (int64_t)rd_load_relaxed(&f->begin_ns),
                               rd_os.now_ns());
    rd_store_release(&t->source->done, event.count); /* pairs with every look at done */
    if (done)
        done(context, event);
}
