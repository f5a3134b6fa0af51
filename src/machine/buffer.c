/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers as counted objects, and what makes a shape complete. */
#include "src/machine/buffer.h"

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/machine/keeper.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sizes stay below this, so that offsets fit a ptrdiff_t and sums of two do not overflow. */
static const size_t size_limit = (size_t)PTRDIFF_MAX / 2;

static rondo_status extents_complete(const char *who, const rondo_shape *shape, int64_t extent[3])
{
    int d, absent = 0;
    for (d = 0; d < 3; d++) {
        int64_t n = shape->extent[d];
        if (n < 0)
            return rd_error(RONDO_ERR_INVALID, "%s: shape: extent[%d] is %lld", who, d,
                            (long long)n);
        if (!n && !d)
            return rd_error(RONDO_ERR_INVALID, "%s: shape: extent[0] is 0", who);
        if (n && absent)
            return rd_error(RONDO_ERR_INVALID,
                            "%s: shape: extent[%d] is %lld behind an absent dimension", who, d,
                            (long long)n);
        absent |= !n;
        extent[d] = n ? n : 1;
    }
    return RONDO_OK;
}

/* The bytes of `count` blocks of `block` bytes, `pitch` apart; 0 when that is too much. */
static size_t span_of(int64_t count, size_t block, size_t pitch)
{
    size_t span;
    if (__builtin_mul_overflow((size_t)count - 1, pitch, &span) ||
        __builtin_add_overflow(span, block, &span) || span > size_limit)
        return 0;
    return span;
}

rondo_status rd_shape_complete(const char *who, const rondo_shape *shape, rondo_shape *complete,
                               size_t *bytes)
{
    rondo_shape c;
    size_t span;
    int d;
    rondo_status status;
    memset(&c, 0, sizeof c);
    if (!shape->elem_bytes)
        return rd_error(RONDO_ERR_INVALID, "%s: shape: elem_bytes is 0", who);
    status = extents_complete(who, shape, c.extent);
    if (status)
        return status;
    c.elem_bytes = shape->elem_bytes;
    span = span_of(c.extent[0], c.elem_bytes, c.elem_bytes);
    for (d = 0; d < 2 && span; d++) {
        /* Dense: a row behind a row, a plane behind a plane of whole rows. */
        size_t dense = d ? c.pitch_bytes[0] : span;
        if (d && __builtin_mul_overflow(dense, (size_t)c.extent[1], &dense))
            break;
        c.pitch_bytes[d] = shape->pitch_bytes[d] ? shape->pitch_bytes[d] : dense;
        if (c.pitch_bytes[d] < span)
            return rd_error(RONDO_ERR_INVALID,
                            "%s: shape: pitch_bytes[%d] is %zu, smaller than the %zu bytes of a %s",
                            who, d, c.pitch_bytes[d], span, d ? "plane" : "row");
        span = span_of(c.extent[d + 1], span, c.pitch_bytes[d]);
    }
    if (!span || d < 2)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: shape: %lld x %lld x %lld elements of %zu bytes are too many", who,
                        (long long)c.extent[0], (long long)c.extent[1], (long long)c.extent[2],
                        c.elem_bytes);
    *complete = c;
    *bytes = span;
    return RONDO_OK;
}

/* Under RONDO_CHECK a buffer has its pages to itself, so that they can be protected. */
static size_t owned_align(size_t *bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!rd_env_text(RD_ENV_RONDO_CHECK) || *bytes > SIZE_MAX - page)
        return 64;
    *bytes = (*bytes + page - 1) / page * page;
    return page;
}

/* ---- in which memory */

static int is_device(rondo_memory memory) { return memory >> 24 == RONDO_GPU_MEMORY(0) >> 24; }

/* *memory: the number of the one where its bytes are to begin with. */
static rondo_status check_memory(const struct rd_runtime *rt, const char *who,
                                 const rondo_buffer_desc *d, uint32_t *memory)
{
    const uint32_t devices = rt->devices ? rt->devices->count : 0, at = d->memory & 0xffffff;
    if (d->host && d->device)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: `host` and `device` are both given: it wraps the one or the other",
                        who);
    if (d->memory && d->memory != RONDO_HOST && d->memory != RONDO_PINNED && !is_device(d->memory))
        return rd_error(RONDO_ERR_INVALID,
                        "%s: memory is 0x%x, which is neither RONDO_HOST, RONDO_PINNED nor a "
                        "RONDO_GPU_MEMORY",
                        who, d->memory);
    if (is_device(d->memory) && at >= devices)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: memory is RONDO_GPU_MEMORY(%u), and the runtime has %u device%s", who,
                        at, devices, devices == 1 ? "" : "s");
    if (d->host && d->memory && d->memory != RONDO_HOST)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: `host` is given, and memory is %s: what is wrapped is in RONDO_HOST",
                        who, is_device(d->memory) ? "a RONDO_GPU_MEMORY" : "RONDO_PINNED");
    if (d->device && d->memory && !is_device(d->memory))
        return rd_error(RONDO_ERR_INVALID,
                        "%s: `device` is given, and memory is %s instead of a RONDO_GPU_MEMORY",
                        who, d->memory == RONDO_HOST ? "RONDO_HOST" : "RONDO_PINNED");
    if (d->device && !d->memory && devices != 1)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: `device` is given, and memory does not say which of %u devices is "
                        "meant",
                        who, devices);
    *memory = d->device && !d->memory ? 1 : is_device(d->memory) ? 1 + at : RD_MEMORY_HOST;
    return RONDO_OK;
}

static rondo_status check_wrap(const char *who, const rondo_buffer_desc *d, size_t bytes)
{
    const void *wraps = d->host ? d->host : d->device;
    if (wraps && bytes > UINTPTR_MAX - (uintptr_t)wraps)
        return rd_error(RONDO_ERR_INVALID, "%s: %s: %zu bytes from there pass the end of memory",
                        who, d->host ? "host" : "device", bytes);
    return RONDO_OK;
}

/* Without devices there is nothing to pin memory for. */
static rondo_status make_host(struct rd_buffer *b, const rondo_buffer_desc *d, const char *who)
{
    const struct rd_devices *devices = b->rt->devices;
    size_t align;
    void *base = d->host;
    rondo_status status = RONDO_OK;
    b->owned_bytes = b->bytes;
    b->owned = !base;
    if (!base && d->memory == RONDO_PINNED && devices) {
        const struct rd_device *first = &devices->device[0];
        status = first->ops->allocate_pinned(first->backend, b->bytes, &base);
        if (status)
            return rd_error(status, "%s: %s", who, rd_error_text());
        b->pinned = 1;
        memset(base, 0, b->bytes);
    } else if (!base) {
        align = owned_align(&b->owned_bytes);
        base = rd_zalloc(&b->rt->alloc, b->owned_bytes, align);
    }
    if (!base)
        return rd_error(RONDO_ERR_MEMORY, "%s: no memory for %zu bytes", who, b->bytes);
    b->address = (uintptr_t)base;
    rd_store_relaxed(&b->base, base); /* not shared yet */
    return RONDO_OK;
}

static void free_host(struct rd_buffer *b)
{
    char *base = rd_load_relaxed(&b->base); /* its only user's */
    if (b->pinned) {
        const struct rd_device *first = &b->rt->devices->device[0];
        first->ops->release_pinned(first->backend, base);
    } else if (b->owned) {
        rd_free(&b->rt->alloc, base, b->owned_bytes);
    }
}

rondo_status rd_buffer_create(struct rd_runtime *rt, const rondo_buffer_desc *desc,
                              struct rd_buffer **buffer)
{
    const char *name = desc->name ? desc->name : "buffer";
    struct rd_buffer *b;
    rondo_shape shape;
    size_t bytes;
    uint32_t memory;
    char who[96];
    rondo_status status;
    snprintf(who, sizeof who, "buffer '%.80s'", name);
    status = rd_shape_complete(who, &desc->shape, &shape, &bytes);
    if (!status)
        status = check_memory(rt, who, desc, &memory);
    if (!status)
        status = check_wrap(who, desc, bytes);
    if (status)
        return status;
    b = rd_zalloc(&rt->alloc, sizeof *b, _Alignof(struct rd_buffer));
    if (!b || !(b->name = rd_strdup(&rt->alloc, name))) {
        rd_free(&rt->alloc, b, sizeof *b);
        return rd_error(RONDO_ERR_MEMORY, "%s: no memory for %zu bytes", who, bytes);
    }
    b->rt = rt;
    b->shape = shape;
    b->bytes = bytes;
    status = memory ? rd_keeper_begin(b, memory, desc->device) : make_host(b, desc, who);
    if (status) {
        rd_free(&rt->alloc, b->name, strlen(name) + 1);
        rd_free(&rt->alloc, b, sizeof *b);
        return status;
    }
    rd_store_relaxed(&b->refs, 1);   /* not shared yet */
    rd_add_relaxed(&rt->buffers, 1); /* a statistic */
    *buffer = b;
    return RONDO_OK;
}

rondo_status rd_buffer_create_part(struct rd_buffer *whole, const rondo_buffer_desc *desc,
                                   struct rd_buffer **buffer)
{
    rondo_status status;
    rd_runtime_ref(whole->rt);
    status = rd_buffer_create(whole->rt, desc, buffer);
    if (status) {
        rd_runtime_unref(whole->rt);
        return status;
    }
    rd_buffer_ref(whole);
    (*buffer)->part_of = whole;
    return RONDO_OK;
}

struct rd_buffer *rd_buffer_get(rondo_buffer handle, rondo_status *status)
{
    struct rd_buffer *b;
    rd_rcu_read_lock();
    b = rd_id_find(handle.id, RD_ID_BUFFER);
    if (b)
        rd_buffer_ref(b); /* the handle's own reference goes after a grace period */
    rd_rcu_read_unlock();
    if (!b)
        *status = rd_id_error(handle.id, RD_ID_BUFFER);
    return b;
}

/* Relaxed: who adds a reference has one, or is in a read section that keeps the handle's. */
void rd_buffer_ref(struct rd_buffer *b)
{
    rd_add_relaxed(&(b->shadow_of ? b->shadow_of : b)->refs, 1);
}

void rd_buffer_unref(struct rd_buffer *b)
{
    struct rd_runtime *rt = b->rt;
    if (b->shadow_of)
        b = b->shadow_of;
    /* acq_rel: every holder's use of the buffer is before its freeing. */
    if (rd_sub_acq_rel(&b->refs, 1) != 1)
        return;
    rd_keeper_forget(b);
    free_host(b);
    if (b->part_of) /* which is itself part of none */
        rd_buffer_unref(b->part_of);
    rd_free(&rt->alloc, b->name, strlen(b->name) + 1);
    rd_free(&rt->alloc, b, sizeof *b);
    rd_sub_relaxed(&rt->buffers, 1); /* a statistic */
    rd_runtime_unref(rt);
}
