/* SPDX-License-Identifier: BSD-3-Clause */
/* How long to spin, for the whole process: threads that spin must not outnumber the CPUs. */
#ifndef RD_MACHINE_SPIN_H
#define RD_MACHINE_SPIN_H

#include "src/base/atomic.h"

struct rd_spin {
    uint32_t pauses; /* pauses between two polls of a counter */
    rd_atomic32
        polls; /* polls before a lane gives up: about 2 us; 0 where workers outnumber CPUs */
    rd_atomic32 spare; /* CPUs more than workers */
};
extern struct rd_spin rd_spin;

/* A runtime starts (or stops, negative) that many workers: the budget is set anew. */
void rd_spin_workers(int more);
/* The budget the workers of this process are entitled to: 0 where they outnumber the CPUs. */
static inline uint32_t rd_spin_polls(void) { return rd_load_relaxed(&rd_spin.polls); }

static inline void rd_spin_pause(void)
{
    for (uint32_t i = rd_spin.pauses; i; i--)
        rd_pause();
}

#endif
