/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests with devices share. */
#include "tests/engine/device_util.h"

#include "tests/engine/engine_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(void *context, const rondo_backend *backend)
{
    const char **why = context;
    if (strcmp(backend->name, "opencl") == 0)
        *why = backend->why;
}

const char *du_missing(void)
{
    const char *why = "this version knows no OpenCL";
    rondo_backends(look, &why);
    if (why && et_number("RONDO_TEST_NEEDS_OPENCL", 0)) {
        fprintf(stderr, "no OpenCL device, and RONDO_TEST_NEEDS_OPENCL is set: %s\n", why);
        abort();
    }
    return why;
}

rondo_runtime du_runtime(uint32_t workers, uint32_t devices, uint64_t bytes)
{
    char one[16], list[64] = "";
    rondo_runtime runtime;
    rondo_runtime_options o = { .cpus = list, .park_after_ns = 1000, .device_bytes = bytes };
    et_cpu_list(1, one, sizeof one);
    for (uint32_t w = 0; w < workers; w++)
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", w ? "," : "", one);
    o.devices = devices > 1 ? "opencl:0/2" : "opencl:0";
    (void)setenv("RONDO_DEVICE_POISON", "1", 1);
    rondo_status status = rondo_runtime_open(&o, &runtime);
    if (status == RONDO_ERR_INVALID && devices > 1) {
        o.devices = "opencl:0"; /* of one unit */
        status = rondo_runtime_open(&o, &runtime);
    }
    if (status != RONDO_OK) {
        fprintf(stderr, "runtime with %u devices: %s\n", devices, rondo_error_message());
        abort();
    }
    return runtime;
}

uint32_t du_devices(rondo_runtime runtime)
{
    uint32_t count = 0;
    if (rondo_runtime_devices(runtime, &count) != RONDO_OK)
        abort();
    return count;
}

uint64_t du_used_bytes(rondo_runtime runtime)
{
    uint64_t used = 0;
    for (uint32_t d = 0; d < du_devices(runtime); d++) {
        rondo_device_info info;
        if (rondo_runtime_device(runtime, RONDO_GPU(d), &info) != RONDO_OK)
            abort();
        used += info.used_bytes;
    }
    return used;
}

const char *du_close_clean(rondo_runtime runtime)
{
    static _Thread_local char what[96];
    uint64_t used;
    if (rondo_runtime_drain(runtime) != RONDO_OK)
        return "drain failed";
    used = du_used_bytes(runtime);
    const char *left = et_close_clean(runtime);
    if (left || !used)
        return left;
    (void)snprintf(what, sizeof what, "left: %llu bytes of devices' memory",
                   (unsigned long long)used);
    return what;
}
