/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: bytes known by handle, with a shape. Counted: the handle holds one reference, every
 * slot, exec and frame that uses the buffer another. Who has a shadow of a buffer has the buffer.
 */
#ifndef RD_MACHINE_BUFFER_H
#define RD_MACHINE_BUFFER_H

#include "src/machine/runtime.h"

#include <rondo/buffer.h>

/* A copy of a buffer's bytes in a device's memory, at the buffer's own pitches. Made by the keeper,
 * kept as long as the buffer; `shadow` is what slots of that memory name: a buffer like any other
 * but for its base. */
struct rd_instance {
    struct rd_buffer *shadow; /* NULL: there is none */
    int external;             /* the caller's memory */
};

struct rd_buffer {
    struct rd_runtime *rt;
    rd_atomic64 refs;
    rd_atomic64 maps; /* not yet unmapped */
    char *name;
    rondo_shape shape; /* complete: absent extents 1, pitches filled in */
    /* Element (0,0,0) in host memory; NULL: it has no host instance so far. Set once, see
     * rd_keeper_instance. Of a shadow, in its device's memory. */
    rd_atomic(char *) base;
    uint64_t address;            /* see rd_buffer_address_of */
    size_t bytes;                /* from base to the end of the last element */
    struct rd_buffer *shadow_of; /* whose references it shares; NULL: it is no shadow */
    struct rd_buffer
        *part_of; /* referenced; whose bytes these are. NULL: its own or the caller's */
    int owned;    /* allocated by the runtime, owned_bytes of them */
    size_t owned_bytes;
    int pinned;                       /* allocated by a device's backend for its copies */
    rd_atomic(struct rd_keep *) keep; /* the keeper's; NULL: it has the host's instance alone */
    rd_atomic64 settled; /* the keeper's epoch in which it was seen to be the host's; 0: none */
};

enum { RD_DEVICE_RANGE_BIT = 61 };

/* Element (0,0,0) in host memory, or NULL. */
static inline char *rd_buffer_base(const struct rd_buffer *b)
{
    /* Acquire: pairs with rd_keeper_instance, the memory's zeroes. */
    return rd_load_acquire(&((struct rd_buffer *)(uintptr_t)b)->base);
}

/* Where the buffer's bytes lie for the analysis, which knows bytes by address: the same for ever,
 * also when a host instance is made. That of the host instance it was made with; of a buffer made
 * in a device's memory a range that nothing else has, but for wraps of the same bytes. */
static inline uint64_t rd_buffer_address_of(const struct rd_buffer *b) { return b->address; }

/* Completes a shape: absent extents become 1, pitches of 0 dense. INVALID with a message that
 * begins with `who` ("buffer 'u'") when it cannot be one: no elements, negative or overflowing
 * extents, a pitch smaller than a row. *bytes: its span. */
rondo_status rd_shape_complete(const char *who, const rondo_shape *shape, rondo_shape *complete,
                               size_t *bytes);
/* An object of one reference, its handle's, which the caller makes. Takes over the caller's
 * reference of the runtime, on success only. */
rondo_status rd_buffer_create(struct rd_runtime *rt, const rondo_buffer_desc *desc,
                              struct rd_buffer **buffer);
/* The same, over bytes of another buffer, which lives as long: desc->host lies in it. */
rondo_status rd_buffer_create_part(struct rd_buffer *whole, const rondo_buffer_desc *desc,
                                   struct rd_buffer **buffer);
/* A counted reference to the buffer of a handle; NULL with the message set and *status told.
 * Allocates nothing, so a replay may call it. */
struct rd_buffer *rd_buffer_get(rondo_buffer handle, rondo_status *status);
void rd_buffer_ref(struct rd_buffer *b);
void rd_buffer_unref(struct rd_buffer *b);

#endif
