/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU time a cgroup grants, as a number of CPUs. */
#ifndef RD_MACHINE_QUOTA_H
#define RD_MACHINE_QUOTA_H

#include <stdint.h>

/* The least quota of this process's cgroups (versions 1 and 2) and their ancestors, rounded up to
 * whole CPUs, at least 1; UINT32_MAX where there is none. `root` stands before every path read: ""
 * but in tests. Allocates nothing. */
uint32_t rd_quota_cpus(const char *root);

#endif
