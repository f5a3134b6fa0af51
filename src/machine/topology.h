/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs: lists of them, how many this process may keep busy, binding a thread, and what the
 * machine has. */
#ifndef RD_MACHINE_TOPOLOGY_H
#define RD_MACHINE_TOPOLOGY_H

#include "src/base/alloc.h"

#include <rondo/base.h>

/* The operating system's numbers, in order; a number may be there more than once. */
struct rd_cpus {
    uint32_t *cpu;
    uint32_t count;
};

/* Reads a list such as "2-5,8,8"; NULL: the calling thread's affinity mask in ascending order.
 * INVALID naming `what`, the text and the character (from 1): an empty list, bad syntax, a reversed
 * range, a number outside the affinity mask, more than 4,096 entries. SYSTEM: the mask or the
 * machine cannot be read; the first call of the process reads it. *out is ended by rd_cpus_free. */
rondo_status rd_cpus_parse(struct rd_allocator *a, const char *what, const char *list,
                           struct rd_cpus *out);
/* The same of `have_count` CPUs `have` instead of the caller's mask (a number may be there more
 * than once, and then be asked for as often): *place, the places in `have` of what the list names,
 * in its order; freed by rd_free_array. `whose`, in messages: "the runtime's CPUs". */
rondo_status rd_cpus_places(struct rd_allocator *a, const char *what, const char *list,
                            const char *whose, const uint32_t *have, uint32_t have_count,
                            uint32_t **place, uint32_t *count);
/* Leaves an empty list; harmless on one. */
void rd_cpus_free(struct rd_allocator *a, struct rd_cpus *c);

/* How many CPUs may be kept busy: those of the calling thread's affinity mask, or fewer if a cgroup
 * quota says so; at least 1. Reads both anew: some system calls. */
uint32_t rd_cpus_allowed(void);

/* Binds the calling thread to these CPUs, at least one. SYSTEM with the reason. */
rondo_status rd_thread_bind(const uint32_t *cpu, uint32_t count);

/* Of the whole machine, as far as this process may see it. */
struct rd_topology_summary {
    uint32_t packages, cores, cpus;
    uint64_t memory_bytes;
};

/* The first call of the process reads the machine, which takes milliseconds. Any thread. */
rondo_status rd_topology_read(struct rd_topology_summary *out);

#endif
