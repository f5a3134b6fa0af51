/* SPDX-License-Identifier: BSD-3-Clause */
/* What `rondo info` says of the machine beyond what the library tells: the model of its CPUs, its
 * memories and caches. */
#ifndef RONDO_TOOLS_MACHINE_H
#define RONDO_TOOLS_MACHINE_H

#include <stdint.h>

enum { MACHINE_MEMORIES = 64, MACHINE_CACHES = 16 };

struct machine_memory {
    uint32_t node; /* the operating system's number */
    uint64_t bytes;
    uint32_t cpus; /* that are near to it */
};

/* Caches of one kind, size and number of sharers. */
struct machine_cache {
    char name[8]; /* "L1d" */
    uint64_t bytes;
    uint32_t count, cpus; /* of them; that share one */
};

struct machine {
    char model[128]; /* "": not known */
    struct machine_memory memory[MACHINE_MEMORIES];
    struct machine_cache cache[MACHINE_CACHES];
    uint32_t memories, caches; /* that are listed */
};

/* Returns 0, or -1 where the machine cannot be read. */
int machine_read(struct machine *machine);

#endif
