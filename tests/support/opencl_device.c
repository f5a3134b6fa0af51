/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/opencl_device.h"

#include <stdio.h>

rondo_runtime opencl_open(const char *cpus, const char *which)
{
    rondo_runtime_options options = { .cpus = cpus, .devices = which };
    rondo_runtime rt = { 0 };
    if (rondo_runtime_open(&options, &rt) == RONDO_OK)
        return rt;
    fprintf(stderr, "skipped, without devices \"%s\": %s\n", which, rondo_error_message());
    return (rondo_runtime){ 0 };
}
