/* SPDX-License-Identifier: BSD-3-Clause */
/* The backends of this build. One whose driver's headers were missing stands in the table too, and
 * says so when it is opened. */
#include "src/device/device.h"

#ifdef RD_WITH_OPENCL
extern const struct rd_backend_ops rd_opencl_ops;
#else
static rondo_status opencl_absent(struct rd_allocator *a, const char *which,
                                  struct rd_backend **backend)
{
    (void)a;
    (void)which;
    (void)backend;
    return rd_error(RONDO_ERR_INVALID,
                    "opencl: built without OpenCL headers: Debian package opencl-c-headers");
}

static const struct rd_backend_ops rd_opencl_ops = { .name = "opencl",
                                                     .what = "devices with an OpenCL driver",
                                                     .open = opencl_absent };
#endif

const struct rd_backend_ops *const rd_backends[] = { &rd_opencl_ops, NULL };
