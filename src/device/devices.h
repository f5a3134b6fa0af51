/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices that a runtime has opened. */
#ifndef RD_DEVICE_DEVICES_H
#define RD_DEVICE_DEVICES_H

#include "src/device/device.h"

enum { RD_DEVICES_MAX = 16 };

/* Memories by number: 0 the host's (pinned or not), 1 + i that of RONDO_GPU(i). */
enum { RD_MEMORY_HOST = 0, RD_MEMORIES_MAX = 1 + RD_DEVICES_MAX };

struct rd_device {
    const struct rd_backend_ops *ops;
    struct rd_backend *backend;
    uint32_t number; /* RONDO_GPU(number) */
    uint32_t index;  /* in its backend */
    struct rd_hardware hardware;
    uint64_t limit;   /* bytes that may be taken of its memory */
    rd_atomic64 used; /* bytes taken */
    rd_atomic32 lost; /* a queue of it has failed: nothing more is submitted */
};

struct rd_devices {
    struct rd_allocator *alloc;
    uint32_t count;
    struct rd_device device[RD_DEVICES_MAX];
    struct rd_backend *backend[RD_DEVICES_MAX]; /* opened, each once */
    const struct rd_backend_ops *ops[RD_DEVICES_MAX];
    uint32_t backends;
};

/* `which` as rondo_runtime_options.devices, resolved (NULL and "none": *devices NULL). */
rondo_status rd_devices_open(struct rd_allocator *a, const char *which, uint64_t bytes,
                             struct rd_devices **devices);
void rd_devices_close(struct rd_devices *d); /* NULL: nothing. No queue, kernel or memory is left */

/* Memory of a device, within its limit: MEMORY naming the device, the bytes wanted, and those that
 * are missing. */
rondo_status rd_device_allocate(struct rd_device *d, size_t bytes, void **memory);
void rd_device_release(struct rd_device *d, void *memory, size_t bytes);
/* Whether `device` may copy from `other`'s memory. */
int rd_devices_peers(const struct rd_devices *d, uint32_t device, uint32_t other);

#endif
