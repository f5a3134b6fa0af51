/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to work with: the machine, backends, the environment. */
#include "src/api/desc.h"
#include "src/base/env.h"
#include "src/machine/handover.h"
#include "src/machine/worker.h"

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

void rondo_backends(void (*visit)(void *context, const rondo_backend *backend), void *context)
{
    static const char absent[] = "not part of this version";
    static const rondo_backend backends[] = {
        { "cpu", "the CPUs of this process, a worker thread each", NULL },
        { "cuda", "NVIDIA GPUs", absent },
        { "hip", "AMD GPUs", absent },
        { "opencl", "devices with an OpenCL driver", absent },
        { "mpi", "several processes as ranks", absent },
    };
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        visit(context, &backends[i]);
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
