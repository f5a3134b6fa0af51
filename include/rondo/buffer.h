/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: bytes known by handle, with a shape. A buffer has one instance per memory that holds a
 * copy of its bytes; Rondo knows which parts of which instances are current, in the order in which
 * replays are submitted: where their bytes have to move, replays over one buffer run in that order.
 * A copy that fails leaves what was to be copied current where it was; the replays that need it
 * fail. What nodes of a replay that failed were to write is undefined. */
#ifndef RONDO_BUFFER_H
#define RONDO_BUFFER_H

#include <rondo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Up to three dimensions of elements; dimension 0 is contiguous. extent[d] counts elements; an
 * extent of 0 after the last used one means the dimension is absent. pitch_bytes[0] is the distance
 * between neighbours in dimension 1, pitch_bytes[1] in dimension 2; 0: dense. An element may be
 * anything, a whole tile too. Frozen: this struct never changes. */
typedef struct rondo_shape {
    size_t elem_bytes;
    int64_t extent[3];
    size_t pitch_bytes[2];
} rondo_shape;

/* A box of elements. All zero: the whole slot. A count of 0 in a dimension: from `first` to the
 * end. Frozen. */
typedef struct rondo_region {
    int64_t first[3], count[3];
} rondo_region;

typedef struct rondo_buffer_desc {
    const char *name;  /* copied; NULL: "buffer" */
    rondo_shape shape; /* elem_bytes and extent[0] at least 1 */
    void *host; /* memory to wrap, owned by the caller and never freed; NULL: allocated, zeroed */
    /* Where its bytes are to begin with. 0: RONDO_HOST, or that of `device`. RONDO_PINNED: host
     * memory that is allocated for devices. RONDO_GPU_MEMORY(i): no host memory at all until a host
     * task or a map needs it. */
    rondo_memory memory;
    /* Memory of that device to wrap, owned by the caller: never moved, evicted or freed. NULL:
     * none. Not together with `host`. */
    void *device;
} rondo_buffer_desc;

/* Makes a buffer. Wraps whose bytes overlap are one memory: what one writes the other reads, and
 * accesses through both are ordered. Ended by rondo_buffer_destroy. Any thread. */
RONDO_API rondo_status rondo_buffer_create_sized(rondo_runtime runtime,
                                                 const rondo_buffer_desc *desc, size_t desc_bytes,
                                                 rondo_buffer *buffer);

/* The handle is gone at once; the bytes stay until no subgraph, exec or replay in flight uses them.
 */
RONDO_API rondo_status rondo_buffer_destroy(rondo_buffer buffer);

/* The address of element (0,0,0) in host memory, for use between replays. `mode` is RONDO_READ,
 * RONDO_WRITE or both. Does not wait for replays and never blocks while the host instance is
 * current; else it brings the bytes home first: that waits for the replays that were submitted so
 * far and use the buffer on a device, and for the copy (WOULD_BLOCK inside a task). With
 * RONDO_WRITE the other instances are out of date from then on, as after rondo_buffer_touched. Each
 * map has its unmap. */
RONDO_API rondo_status rondo_buffer_map(rondo_buffer buffer, uint32_t mode, void **host);
RONDO_API rondo_status rondo_buffer_unmap(rondo_buffer buffer);

/* Makes the instance in `memory` current, and leaves the others so. Returns at once; `event` is
 * complete when the copy has ended, {0, 0} if nothing is to be copied. The copy follows all replays
 * submitted before this call that use the buffer on a device or were given it by an exec that does.
 * `event` NULL: waits for it (WOULD_BLOCK inside a task). INVALID: no such memory. MEMORY.
 * FAILED, DEVICE_LOST: the copy failed, told where it is waited for here; else the next call that
 * needs it copies again. */
RONDO_API rondo_status rondo_buffer_sync(rondo_buffer buffer, rondo_memory memory,
                                         rondo_event *event);
/* Says that the instance in `memory` was written by other means than Rondo's: it alone is current.
 * Any thread; no replay that uses the buffer may be in flight. INVALID: no such memory, or no
 * instance there. */
RONDO_API rondo_status rondo_buffer_touched(rondo_buffer buffer, rondo_memory memory);
/* The address of element (0,0,0) in `memory`, an instance being made there if there is none; its
 * bytes may be out of date (rondo_buffer_sync). MEMORY: it does not fit. */
RONDO_API rondo_status rondo_buffer_address(rondo_buffer buffer, rondo_memory memory,
                                            void **address);

static inline rondo_status rondo_buffer_create(rondo_runtime runtime, const rondo_buffer_desc *desc,
                                               rondo_buffer *buffer)
{
    return rondo_buffer_create_sized(runtime, desc, sizeof *desc, buffer);
}

#ifdef __cplusplus
}
#endif
#endif
