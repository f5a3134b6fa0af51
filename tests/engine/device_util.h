/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests with devices share: whether there is one, and runtimes that have opened some. */
#ifndef TESTS_ENGINE_DEVICE_UTIL_H
#define TESTS_ENGINE_DEVICE_UTIL_H

#include <rondo/rondo.h>

/* NULL: an OpenCL device is there; else why not. With RONDO_TEST_NEEDS_OPENCL=1 it aborts then. */
const char *du_missing(void);
/* Opens a runtime with so many workers, all on one CPU, which sleep soon and leave it to the
 * driver, and up to two OpenCL devices: parts of one, where it can be split. `bytes`: of each, 0:
 * most. Aborts with the message when it cannot. New instances and arenas are poisoned. */
rondo_runtime du_runtime(uint32_t workers, uint32_t devices, uint64_t bytes);
uint32_t du_devices(rondo_runtime runtime);
uint64_t du_used_bytes(rondo_runtime runtime);
/* Every buffer's bytes are given back, too. */
const char *du_close_clean(rondo_runtime runtime);

/* What is common to all tests: skipped without a device. */
#define DU_NEEDS_DEVICE()                       \
    do {                                        \
        const char *du_missing_ = du_missing(); \
        if (du_missing_)                        \
            cr_skip_test("%s", du_missing_);    \
    } while (0)

#endif
