/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests see of the OpenCL backend beside its table: every call of the driver, which they may
 * make fail. */
#ifndef RD_DEVICE_OPENCL_H
#define RD_DEVICE_OPENCL_H

#include <stdint.h>

/* What a device is taken not to have. */
enum {
    RD_OPENCL_NO_NATIVE = 1, /* functions of the host, enqueued */
    RD_OPENCL_NO_FINE = 2    /* memory that host and device use at the same time */
};

/* Any may be NULL. Called on whatever thread calls the driver. */
struct rd_opencl_watch {
    /* Before each call but those that release something: not 0: the call is not made, and this is
     * its error. */
    int (*fail)(void *context, const char *call);
    /* After each: its error, 0 for none. */
    void (*made)(void *context, const char *call, int error);
    /* Before what the driver says of a submission's end is looked at: it is taken to have said
     * this. */
    int (*ended)(void *context, int status);
    void *context;
    uint32_t without; /* RD_OPENCL_NO_... of devices opened from now on */
};
/* NULL: nobody watches. Not while a backend is in use by another thread. */
void rd_opencl_watch(const struct rd_opencl_watch *watch);

/* "CL_OUT_OF_RESOURCES", or "an unknown error". */
const char *rd_opencl_error_name(int error);

#endif
