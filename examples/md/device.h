/* SPDX-License-Identifier: BSD-3-Clause */
/* The time step on a device: what its kernels share with the program. */
#ifndef MD_DEVICE_H
#define MD_DEVICE_H

#include "system.h"

/* What the kernels know of the system beside its arrays. */
struct box {
    double side[3], width[3], image[NEAR][3];
    int64_t cells[3];
};

/* What a block's kernel of measuring leaves: kinetic and potential energy, greatest squared
 * distance. */
enum { SHARE = 3 };

/* The stages in OpenCL C, one kernel each, of their names without `_cell`; the caller frees it.
 * NULL: no memory. */
char *stages_source(void);
/* What the compiler has to be told. */
void stages_options(char *text, size_t room);

#endif
