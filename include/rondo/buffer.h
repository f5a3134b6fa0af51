/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: bytes known by handle, with a shape. */
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
} rondo_buffer_desc;

/* Makes a buffer. Wraps whose bytes overlap are one memory: what one writes the other reads, and
 * accesses through both are ordered. Ended by rondo_buffer_destroy. Any thread. */
RONDO_API rondo_status rondo_buffer_create_sized(rondo_runtime runtime,
                                                 const rondo_buffer_desc *desc, size_t desc_bytes,
                                                 rondo_buffer *buffer);

/* The handle is gone at once; the bytes stay until no subgraph, exec or replay in flight uses them.
 */
RONDO_API rondo_status rondo_buffer_destroy(rondo_buffer buffer);

/* The address of element (0,0,0), for use between replays. `mode` is RONDO_READ, RONDO_WRITE or
 * both. Does not wait for replays; never blocks. Each map has its unmap. */
RONDO_API rondo_status rondo_buffer_map(rondo_buffer buffer, uint32_t mode, void **host);
RONDO_API rondo_status rondo_buffer_unmap(rondo_buffer buffer);

static inline rondo_status rondo_buffer_create(rondo_runtime runtime, const rondo_buffer_desc *desc,
                                               rondo_buffer *buffer)
{
    return rondo_buffer_create_sized(runtime, desc, sizeof *desc, buffer);
}

#ifdef __cplusplus
}
#endif
#endif
