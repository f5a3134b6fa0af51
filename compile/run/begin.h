/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a replay begins and ends, whichever executor runs it: when its frame may begin, and what
 * its last lane stores and calls. */
#ifndef RD_COMPILE_RUN_BEGIN_H
#define RD_COMPILE_RUN_BEGIN_H

#include "src/frame/frame.h"

/* The parts of these that few frames need. */
int rd_gate_holds(const struct rd_gate *g, const struct rd_frame *f, struct rd_unmet *unmet);
int rd_frame_begin_special(struct rd_frame *f, struct rd_unmet *unmet);
void rd_frame_end_special(struct rd_track *t, struct rd_frame *f);

/* Whether local replay `r` of the track, whose frame is `f`, may begin: RD_PROGRESSED, else *unmet
 * says why not. `last` is the class of the replay that whoever asks ran before this one. */
static inline __attribute__((always_inline)) enum rd_advance rd_frame_begin(
    struct rd_track *t, struct rd_frame *f, uint64_t r, uint64_t last, struct rd_unmet *unmet)
{
    uint64_t class;
    /* Acquire: all that the filler wrote. */
    if (rd_load_acquire(&f->seq) != r + 1) {
        *unmet = (struct rd_unmet){ &f->seq, r + 1, &t->submit_wake, NULL, 0 };
        return RD_IDLE;
    }
    for (uint32_t i = 0; i < f->gate_count; i++)
        if (rd_gate_holds(&f->gate[i], f, unmet))
            return RD_BLOCKED;
    class = rd_frame_class(f);
    if (t->serial || ((class | last) & 1) || class != last) {
        if (rd_load_acquire(&t->source->done) < f->count - 1) {
            *unmet = (struct rd_unmet){ &t->source->done, f->count - 1, &t->source->wake, NULL, 0 };
            return RD_BLOCKED;
        }
    }
    if (RD_UNLIKELY(f->special) && !rd_frame_begin_special(f, unmet))
        return RD_BLOCKED;
    return RD_PROGRESSED;
}

/* The replay has ended: by the last that takes part in it, who has seen what all others did. */
static inline __attribute__((always_inline)) void rd_frame_end(struct rd_track *t,
                                                               struct rd_frame *f)
{
    if (RD_UNLIKELY(f->special)) {
        rd_frame_end_special(t, f);
        return;
    }
    rd_store_release(&t->source->done, f->count); /* pairs with every look at done */
}

#endif
