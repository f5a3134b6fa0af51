/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks whose argument bytes take parameters: each execution writes them in first. A node runs in
 * one lane, replay after replay, so its own bytes are enough for all replays of a track in flight.
 */
#ifndef RD_EXEC_PATCH_H
#define RD_EXEC_PATCH_H

#include <rondo/task.h>

struct rd_exec_patch {
    uint32_t from; /* offset in the block of parameters */
    uint32_t to, bytes;
};

/* The argument of rd_patched_run; the task's argument bytes follow at RD_PATCHED_HEAD. */
struct rd_patched {
    rondo_task_fn *fn;
    const struct rd_exec_patch *patch;
    uint32_t count;
};
enum { RD_PATCHED_HEAD = 64 };

int rd_patched_run(rondo_task *self, const void *arg);

#endif
