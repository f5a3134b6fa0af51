/* SPDX-License-Identifier: BSD-3-Clause */
/* An OpenCL backend under its own table, with one queue, and every object of the driver counted. */
#ifndef TESTS_DEVICE_OPENCL_RIG_H
#define TESTS_DEVICE_OPENCL_RIG_H

#include "src/device/devices.h"
#include "src/device/opencl.h"

/* Objects of the driver that live, by what makes them. */
enum rig_object {
    RIG_CONTEXT,
    RIG_QUEUE,
    RIG_PROGRAM,
    RIG_KERNEL,
    RIG_MEMORY,
    RIG_BUFFER,
    RIG_OBJECTS
};

struct rig {
    const struct rd_backend_ops *ops;
    struct rd_allocator alloc;
    struct rd_backend *backend;
    struct rd_progress progress;
    struct rd_queue *queue;
    uint64_t value; /* of the latest submission */
};

extern const struct rd_backend_ops *rig_ops(void);
/* Skips the test where there is no OpenCL device; fails it if RONDO_TEST_NEEDS_OPENCL is set. */
void rig_need(void);
/* Opens `which`, with a queue of device 0; skips as rig_need. `without`: RD_OPENCL_NO_... */
void rig_open(struct rig *r, const char *which, uint32_t without);
/* Closes it all; every object of the driver and every byte is gone. */
void rig_close(struct rig *r);
/* An allocator that counts, and a progress. */
void rig_allocator(struct rd_allocator *a);
void rig_progress(struct rd_progress *p);
void rig_progress_end(struct rd_progress *p);

/* Waits until the queue has come to `value`; fails the test after a minute. */
void rig_await(struct rd_progress *p, uint64_t value);
void *rig_memory(struct rig *r, size_t bytes);
void rig_forget(struct rig *r, void *memory);
/* Copies between any memories, dense. */
void rig_copy(struct rig *r, void *to, const void *from, size_t bytes);
struct rd_device_kernel *rig_kernel(struct rig *r, const char *image, const char *entry,
                                    uint32_t args);
/* Each of the commands follows the one before it; at most 64. */
void rig_in_order(struct rd_command *command, uint32_t count);
struct rd_segment *rig_segment(struct rig *r, const struct rd_command *command, uint32_t count,
                               uint32_t frames, size_t params);
/* Submits, or steps, with the next value; fails the test if that fails. */
void rig_submit(struct rig *r, struct rd_segment *s, struct rd_segment_call *call);
void rig_step(struct rig *r, struct rd_segment *s, struct rd_segment_call *call);

/* ---- watching the driver. Installed by rig_open; also usable alone. */
void rig_watch(uint32_t without);
void rig_unwatch(void);
/* How many of each live. */
int64_t rig_live(enum rig_object object);
/* Fails the test unless none lives. */
void rig_none_live(const char *when);
/* The n-th call from now on that may fail does, with `error`; 0: none does. */
void rig_fail(uint64_t nth, int error);
/* What failed on purpose, NULL: nothing since rig_fail. */
const char *rig_failed(void);
/* Calls made so far of that name. */
uint64_t rig_made(const char *call);
/* What a submission's end is taken to be from now on; 1: what the driver says. */
void rig_ended(int status);
/* 1: the next end of a submission that is told is held back, on the driver's thread, until 0. */
void rig_hold(int hold);
/* Whether one is held back. */
int rig_is_held(void);

#endif
