/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine by hwloc. */
#include "tools/machine.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

static uint32_t cpus_of(hwloc_obj_t object)
{
    int count = object->cpuset ? hwloc_bitmap_weight(object->cpuset) : 0;
    return count > 0 ? (uint32_t)count : 0;
}

static void add_cache(struct machine *machine, hwloc_obj_t object)
{
    struct machine_cache found = { .bytes = object->attr->cache.size, .cpus = cpus_of(object) };
    hwloc_obj_type_snprintf(found.name, sizeof found.name, object, 0);
    for (uint32_t i = 0; i < machine->caches; i++) {
        struct machine_cache *c = &machine->cache[i];
        if (!strcmp(c->name, found.name) && c->bytes == found.bytes && c->cpus == found.cpus) {
            c->count++;
            return;
        }
    }
    found.count = 1;
    if (machine->caches < MACHINE_CACHES)
        machine->cache[machine->caches++] = found;
}

static void read_caches(struct machine *machine, hwloc_topology_t topology)
{
    static const hwloc_obj_type_t types[] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                              HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(topology, types[t], o));)
            add_cache(machine, o);
}

static void read_memories(struct machine *machine, hwloc_topology_t topology)
{
    for (hwloc_obj_t o = NULL; machine->memories < MACHINE_MEMORIES &&
                               (o = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, o));)
        machine->memory[machine->memories++] =
            (struct machine_memory){ o->os_index, o->attr->numanode.local_memory, cpus_of(o) };
}

static void read_model(struct machine *machine, hwloc_topology_t topology)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model)
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    if (model)
        snprintf(machine->model, sizeof machine->model, "%s", model);
}

int machine_read(struct machine *machine)
{
    hwloc_topology_t topology;
    memset(machine, 0, sizeof *machine);
    if (hwloc_topology_init(&topology))
        return -1;
    /* As the library does: hwloc's x86 component would move this thread from CPU to CPU. */
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(topology)) {
        hwloc_topology_destroy(topology);
        return -1;
    }
    read_model(machine, topology);
    read_memories(machine, topology);
    read_caches(machine, topology);
    hwloc_topology_destroy(topology);
    return 0;
}
