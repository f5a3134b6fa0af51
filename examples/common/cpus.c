/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

char *cpus_list(uint32_t workers)
{
    cpu_set_t allowed;
    size_t room = (size_t)workers * 8 + 1, used = 0;
    char *list = malloc(room);
    if (!list || sched_getaffinity(0, sizeof allowed, &allowed)) {
        free(list);
        return NULL;
    }
    list[0] = 0;
    for (size_t cpu = 0; workers; cpu = (cpu + 1) % CPU_SETSIZE)
        if (CPU_ISSET(cpu, &allowed)) {
            used += (size_t)snprintf(list + used, room - used, used ? ",%zu" : "%zu", cpu);
            workers--;
        }
    return list;
}
