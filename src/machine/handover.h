/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to hand work from one CPU to another. */
#ifndef RD_MACHINE_HANDOVER_H
#define RD_MACHINE_HANDOVER_H

#include "src/machine/runtime.h"

/* One way between the runtime's first two different CPUs, in ns, rounded to a few steps so that the
 * same machine gives the same plans; measured once per process, about a millisecond with two
 * threads. RONDO_HANDOVER_NS in the environment stands instead. `otherwise` where there is only one
 * CPU, or no thread could be started. Any thread. */
uint32_t rd_handover_ns(struct rd_runtime *rt, uint32_t otherwise);

#endif
