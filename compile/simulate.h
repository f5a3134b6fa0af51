/* SPDX-License-Identifier: BSD-3-Clause */
/* What a graph would take on a machine with so many processors. Pure. */
#ifndef RD_COMPILE_SIMULATE_H
#define RD_COMPILE_SIMULATE_H

#include "compile/compile.h"

#include <rondo/exec.h>

enum { RD_SIMULATE_PROCESSORS = 1024, RD_SIMULATE_NODES = 1000000 };

/* The fastest of the placements that rd_compile chooses from, on at most input->processors
 * processors; check and interpret_only do not matter. INVALID: beyond the limits above, or as
 * rd_compile; MEMORY. Writes nothing then. */
rondo_status rd_simulate(struct rd_allocator *a, const struct rd_compile_input *input,
                         rondo_simulation *simulation);

#endif
