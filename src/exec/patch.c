/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/exec/patch.h"

#include <string.h>

int rd_patched_run(rondo_task *self, const void *arg)
{
    const struct rd_patched *p = arg;
    char *bytes = (char *)(uintptr_t)arg + RD_PATCHED_HEAD; /* the track's own copy */
    for (uint32_t i = 0; i < p->count; i++)
        memcpy(bytes + p->patch[i].to, self->params + p->patch[i].from, p->patch[i].bytes);
    return p->fn(self, bytes);
}
