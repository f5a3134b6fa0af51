/* SPDX-License-Identifier: BSD-3-Clause */
/* Which CPUs so many workers take, as the list that rondo_runtime_options asks for. */
#ifndef EXAMPLES_CPUS_H
#define EXAMPLES_CPUS_H

#include <stdint.h>

/* The first `workers` CPUs that this process may use, from the start again when there are fewer:
 * "0,1,0". NULL: no memory, or the system does not tell. The caller frees it. */
char *cpus_list(uint32_t workers);

#endif
