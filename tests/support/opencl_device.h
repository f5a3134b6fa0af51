/* SPDX-License-Identifier: BSD-3-Clause */
/* Runtimes with OpenCL devices, for tests that are skipped where there are none. */
#ifndef TESTS_SUPPORT_OPENCL_DEVICE_H
#define TESTS_SUPPORT_OPENCL_DEVICE_H

#include <rondo/rondo.h>

/* Opens a runtime of `cpus` with the devices that `which` names ("opencl:0", "opencl:0/2"). {0},
 * and why on stderr: this machine has no such devices, and the test passes without having tested.
 */
rondo_runtime opencl_open(const char *cpus, const char *which);

#endif
