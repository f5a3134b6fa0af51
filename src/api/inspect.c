/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to work with: the machine, backends, the environment. */
#include "src/api/desc.h"
#include "src/base/env.h"
#include "src/device/devices.h"
#include "src/machine/handover.h"
#include "src/machine/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

rondo_status rondo_processor_cpu(rondo_runtime runtime, rondo_processor processor, uint32_t *cpu)
{
    rondo_status status = RONDO_OK;
    struct rd_runtime *rt;
    if (!cpu)
        return rd_error(RONDO_ERR_INVALID, "rondo_processor_cpu: cpu is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    if (processor < RONDO_CPU(0) || processor - RONDO_CPU(0) >= rt->processors)
        status = rd_error(RONDO_ERR_INVALID,
                          "rondo_processor_cpu: processor 0x%x is none of the runtime's %u",
                          processor, rt->processors);
    else
        *cpu = rt->workers[processor - RONDO_CPU(0)].cpu;
    rd_runtime_unref(rt);
    return status;
}

rondo_status rondo_runtime_machine_sized(rondo_runtime runtime, rondo_machine *machine,
                                         size_t machine_bytes)
{
    struct rd_topology_summary there;
    rondo_machine m;
    rondo_status status;
    struct rd_runtime *rt;
    if (!machine)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_machine: machine is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_topology_read(&there);
    if (!status) {
        m = (rondo_machine){ there.packages,    there.cores,    there.cpus,
                             rd_cpus_allowed(), rt->processors, rd_handover_ns(rt, 0),
                             there.memory_bytes };
        rd_desc_give(machine, machine_bytes, &m, sizeof m);
    }
    rd_runtime_unref(rt);
    return status;
}

rondo_status rondo_runtime_devices(rondo_runtime runtime, uint32_t *count)
{
    rondo_status status;
    struct rd_runtime *rt;
    if (!count)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_devices: count is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    *count = rt->devices ? rt->devices->count : 0;
    rd_runtime_unref(rt);
    return RONDO_OK;
}

static void tell_device(const struct rd_device *d, rondo_device_info *info)
{
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", d->hardware.name);
    snprintf(info->backend, sizeof info->backend, "%s", d->ops->name);
    info->memory_bytes = d->hardware.memory_bytes;
    info->limit_bytes = d->limit;
    info->used_bytes = rd_load_relaxed(&d->used); /* a statistic */
    info->units = d->hardware.units;
    info->lost = rd_load_relaxed(&d->lost) != 0; /* as of now */
}

rondo_status rondo_runtime_device_sized(rondo_runtime runtime, rondo_processor device,
                                        rondo_device_info *info, size_t info_bytes)
{
    rondo_device_info i;
    rondo_status status;
    struct rd_runtime *rt;
    uint32_t count;
    if (!info)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_device: info is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    count = rt->devices ? rt->devices->count : 0;
    if (device < RONDO_GPU(0) || device - RONDO_GPU(0) >= count) {
        status = rd_error(RONDO_ERR_INVALID,
                          "rondo_runtime_device: 0x%x is none of the runtime's %u devices", device,
                          count);
    } else {
        tell_device(&rt->devices->device[device - RONDO_GPU(0)], &i);
        rd_desc_give(info, info_bytes, &i, sizeof i);
    }
    rd_runtime_unref(rt);
    return status;
}

/* ---- backends */

enum { BACKENDS_MAX = 8, WHY_BYTES = 256 };

static char why_not[BACKENDS_MAX][WHY_BYTES]; /* of rd_backends; empty: it is there */

/* The message, which begins with the backend's name. */
static const char *without_name(const char *name)
{
    const char *text = rd_error_text();
    size_t length = strlen(name);
    return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2
                                                                            : text;
}

/* A backend is there if its devices can be opened, which is tried once. */
static void try_backends(void)
{
    for (uint32_t i = 0; i < BACKENDS_MAX && rd_backends[i]; i++) {
        struct rd_devices *d;
        if (!rd_devices_open(rd_allocator_system(), rd_backends[i]->name, 0, &d))
            rd_devices_close(d);
        else
            snprintf(why_not[i], sizeof why_not[i], "%s", without_name(rd_backends[i]->name));
    }
}

void rondo_backends(void (*visit)(void *context, const rondo_backend *backend), void *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const char absent[] = "not part of this version";
    static const rondo_backend cpu = { "cpu", "the CPUs of this process, a worker thread each",
                                       NULL };
    static const rondo_backend later[] = {
        { "cuda", "NVIDIA GPUs", absent },
        { "hip", "AMD GPUs", absent },
        { "mpi", "several processes as ranks", absent },
    };
    pthread_once(&once, try_backends);
    visit(context, &cpu);
    for (uint32_t i = 0; i < BACKENDS_MAX && rd_backends[i]; i++)
        visit(context, &(rondo_backend){ rd_backends[i]->name, rd_backends[i]->what,
                                         *why_not[i] ? why_not[i] : NULL });
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        visit(context, &later[i]);
}

void rondo_environment(void (*visit)(void *context, const rondo_variable *variable), void *context)
{
    for (int i = 0; i < RD_ENV_COUNT; i++) {
        const struct rd_env_entry *e = &rd_env_table[i];
        rondo_variable v = { e->name, e->by_default, e->range, e->help,
                             rd_env_text((enum rd_env)i) };
        visit(context, &v);
    }
}
