/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of OpenCL devices: shared virtual memory, and the list of what was allocated.
 *
 * Safety. Blocks are never moved in a list, which is replaced as a whole, under the backend's lock;
 * who looks does so in a read section, and the old list is freed after a grace period. A block's
 * owner uses it only while it is allocated, so a look for an address of his finds it. */
#include "src/base/rcu.h"
#include "src/device/opencl_state.h"

#include <string.h>

static size_t list_bytes(uint32_t count)
{
    return sizeof(struct rd_opencl_blocks) + count * sizeof(struct rd_opencl_block);
}

/* The first block that begins behind `address`. */
static uint32_t find(const struct rd_opencl_blocks *l, const void *address)
{
    uint32_t low = 0, high = l ? l->count : 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((uintptr_t)l->block[mid].begin <= (uintptr_t)address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void publish(struct rd_backend *b, struct rd_opencl_blocks *next)
{
    struct rd_opencl_blocks *old = rd_load_relaxed(&b->blocks); /* under the lock */
    rd_store_release(&b->blocks, next); /* pairs with rd_opencl_is_ours: its contents */
    if (!old)
        return;
    rd_rcu_synchronize();
    rd_free(b->alloc, old, list_bytes(old->capacity));
}

/* Puts a block in, and leaves out those that have gone. 0, or -1 when there is no memory. */
static int insert(struct rd_backend *b, const struct rd_opencl_block *block)
{
    struct rd_opencl_blocks *old, *next;
    uint32_t at, count, capacity;
    pthread_mutex_lock(&b->lock);
    old = rd_load_relaxed(&b->blocks); /* under the lock */
    count = old ? old->count : 0;
    capacity = count + 1;
    next = rd_alloc(b->alloc, list_bytes(capacity), _Alignof(struct rd_opencl_blocks));
    if (next) {
        next->capacity = capacity;
        next->count = 0;
        at = find(old, block->begin);
        for (uint32_t i = 0; i <= count; i++) {
            if (i == at)
                next->block[next->count++] = *block;
            if (i < count && old->block[i].bytes)
                next->block[next->count++] = old->block[i];
        }
        publish(b, next);
    }
    pthread_mutex_unlock(&b->lock);
    return next ? 0 : -1;
}

static int all_gone(const struct rd_opencl_blocks *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->block[i].bytes)
            return 0;
    return 1;
}

/* A block that goes stays in the list without bytes: that needs no memory. It hides none, since a
 * later block that might lie over it leaves it out. The list goes with the last one. */
static struct rd_opencl_block take(struct rd_backend *b, void *memory)
{
    struct rd_opencl_blocks *l;
    struct rd_opencl_block block;
    uint32_t at;
    pthread_mutex_lock(&b->lock);
    l = rd_load_relaxed(&b->blocks); /* under the lock */
    at = find(l, memory);
    RD_ASSERT(at && l->block[at - 1].begin == memory && l->block[at - 1].bytes);
    block = l->block[at - 1];
    rd_store_shared(&l->block[at - 1].bytes, 0);
    if (all_gone(l))
        publish(b, NULL);
    pthread_mutex_unlock(&b->lock);
    return block;
}

int rd_opencl_is_ours(const struct rd_opencl_device *d, const void *address, size_t bytes)
{
    const struct rd_opencl_blocks *l;
    uint32_t at;
    int ours = 0;
    rd_rcu_read_lock();
    l = rd_load_acquire(&d->backend->blocks); /* pairs with publish */
    at = find(l, address);
    if (at) {
        const struct rd_opencl_block *k = &l->block[at - 1];
        size_t in = (size_t)((const char *)address - k->begin);
        size_t there = rd_load_shared(&k->bytes); /* another's block may be going */
        ours = k->context == d->context && in < there && bytes <= there - in;
    }
    rd_rcu_read_unlock();
    return ours;
}

/* ---- allocating */

static void *svm_alloc(struct rd_opencl_device *d, size_t bytes, int fine)
{
    struct rd_backend *b = d->backend;
    cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    cl_int error = rd_opencl_fails(&b->calls, "clSVMAlloc");
    void *memory = error ? NULL : b->cl->clSVMAlloc(d->context, flags, bytes ? bytes : 1, 0);
    rd_opencl_made("clSVMAlloc", memory ? 0 : CL_OUT_OF_RESOURCES);
    return memory;
}

static void svm_free(struct rd_backend *b, cl_context context, void *memory)
{
    rd_add_relaxed(&b->calls, 1); /* a statistic */
    b->cl->clSVMFree(context, memory);
    rd_opencl_made("clSVMFree", 0);
}

static rondo_status no_memory(const struct rd_opencl_device *d, size_t bytes)
{
    return rd_error(RONDO_ERR_MEMORY, "opencl device %u (%s): clSVMAlloc: no memory for %zu bytes",
                    d->index, d->hardware.name, bytes);
}

rondo_status rd_opencl_allocate(struct rd_backend *b, uint32_t device, size_t bytes, void **memory)
{
    struct rd_opencl_device *d = &b->device[device];
    struct rd_opencl_block block = { NULL, bytes ? bytes : 1, d->context };
    /* Where the device is the host, both work on the memory: rd_opencl_device.native. */
    block.begin = svm_alloc(d, bytes, d->native);
    if (!block.begin)
        return no_memory(d, bytes);
    if (insert(b, &block)) {
        svm_free(b, d->context, block.begin);
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for its list of blocks");
    }
    *memory = block.begin;
    return RONDO_OK;
}

void rd_opencl_release(struct rd_backend *b, uint32_t device, void *memory)
{
    svm_free(b, b->device[device].context, take(b, memory).begin);
}

rondo_status rd_opencl_allocate_pinned(struct rd_backend *b, size_t bytes, void **memory)
{
    struct rd_opencl_device *d = &b->device[0];
    struct rd_opencl_block block = { NULL, bytes ? bytes : 1, d->fine ? d->context : NULL };
    block.begin = d->fine ? svm_alloc(d, bytes, 1) : rd_alloc(b->alloc, bytes, RD_LINE);
    if (!block.begin)
        return d->fine ? no_memory(d, bytes)
                       : rd_error(RONDO_ERR_MEMORY, "opencl: no memory for %zu bytes", bytes);
    if (insert(b, &block)) {
        if (d->fine)
            svm_free(b, d->context, block.begin);
        else
            rd_free(b->alloc, block.begin, bytes);
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for its list of blocks");
    }
    *memory = block.begin;
    return RONDO_OK;
}

void rd_opencl_release_pinned(struct rd_backend *b, void *memory)
{
    struct rd_opencl_block block = take(b, memory);
    if (block.context)
        svm_free(b, block.context, block.begin);
    else
        rd_free(b->alloc, block.begin, block.bytes);
}
