/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of rondo/buffer.h. */
#include "src/machine/buffer.h"

#include "src/api/desc.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/exec/exec.h"
#include "src/machine/keeper.h"
#include "src/machine/worker.h"

#include <rondo/subgraph.h>

rondo_status rondo_buffer_create_sized(rondo_runtime runtime, const rondo_buffer_desc *desc,
                                       size_t desc_bytes, rondo_buffer *buffer)
{
    rondo_buffer_desc d;
    struct rd_runtime *rt;
    struct rd_buffer *b;
    rondo_buffer handle;
    rondo_status status;
    if (!buffer)
        return rd_error(RONDO_ERR_INVALID, "rondo_buffer_create: `buffer` is NULL");
    status = rd_desc_take("rondo_buffer_desc", &d, sizeof d, desc, desc_bytes);
    if (status)
        return status;
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_buffer_create(rt, &d, &b);
    if (status) {
        rd_runtime_unref(rt);
        return status;
    }
    handle.id = rd_id_new(RD_ID_BUFFER, b);
    if (!handle.id) {
        rd_buffer_unref(b);
        return rd_error(RONDO_ERR_MEMORY, "rondo_buffer_create: no memory for a handle");
    }
    *buffer = handle;
    return RONDO_OK;
}

rondo_status rondo_buffer_destroy(rondo_buffer buffer)
{
    struct rd_buffer *b = rd_id_retire(buffer.id, RD_ID_BUFFER);
    if (!b)
        return rd_id_error(buffer.id, RD_ID_BUFFER);
    rd_rcu_synchronize(); /* pairs with the read section of rd_buffer_get */
    rd_buffer_unref(b);
    return RONDO_OK;
}

/* ---- instances */

/* Waits for copies of a buffer's; takes over the reference. The caller drives the replays that they
 * wait for, as one that waits for them would. */
static rondo_status wait_for(struct rd_buffer *b, struct rd_fetch *fetch)
{
    rondo_status status = RONDO_OK;
    struct rd_source *source;
    rondo_event event;
    int clean;
    if (!fetch)
        return RONDO_OK;
    for (uint32_t i = 0; rd_keeper_under_way(b, i, &source, &event); i++)
        if (!rd_load_acquire(&fetch->over) && !rd_source_reached(source, event.source, event.count))
            rd_wait(source, event.source, event.count, -1, NULL, &clean);
    event = fetch->event;
    rd_wait(fetch->source, event.source, event.count, -1, NULL, &clean);
    if (rd_fetch_status(fetch))
        status = rd_error(rd_fetch_status(fetch), "%s", fetch->why);
    rd_fetch_unref(fetch);
    return status;
}

/* The number of a memory of the runtime's. */
static rondo_status memory_number(const struct rd_buffer *b, const char *what, rondo_memory memory,
                                  uint32_t *number)
{
    const uint32_t devices = b->rt->devices ? b->rt->devices->count : 0,
                   at = memory - RONDO_GPU_MEMORY(0);
    *number = RD_MEMORY_HOST;
    if (memory == RONDO_HOST || memory == RONDO_PINNED)
        return RONDO_OK;
    if (memory < RONDO_GPU_MEMORY(0) || at >= 1u << 24)
        return rd_error(RONDO_ERR_INVALID,
                        "buffer '%s': %s: memory is 0x%x, which is neither RONDO_HOST nor a "
                        "RONDO_GPU_MEMORY",
                        b->name, what, memory);
    if (at >= devices)
        return rd_error(RONDO_ERR_INVALID,
                        "buffer '%s': %s: RONDO_GPU_MEMORY(%u), and the runtime has %u device%s",
                        b->name, what, at, devices, devices == 1 ? "" : "s");
    *number = 1 + at;
    return RONDO_OK;
}

static rondo_status would_block(const struct rd_buffer *b, const char *what)
{
    return rd_error(RONDO_ERR_WOULD_BLOCK,
                    "buffer '%s': %s inside a task: copies would have to be waited for", b->name,
                    what);
}

static rondo_status bring_home(struct rd_buffer *b, uint32_t mode)
{
    struct rd_fetch *fetch = NULL;
    rondo_status status = RONDO_OK;
    if (b->rt->keeper)
        status = rd_keeper_map(b, (mode & RONDO_WRITE) != 0, !rd_task_depth, &fetch);
    if (status == RONDO_ERR_WOULD_BLOCK)
        return would_block(b, "map");
    return status ? status : wait_for(b, fetch);
}

rondo_status rondo_buffer_map(rondo_buffer buffer, uint32_t mode, void **host)
{
    struct rd_buffer *b;
    rondo_status status;
    if (mode < RONDO_READ || mode > RONDO_READ_WRITE)
        return rd_error(RONDO_ERR_INVALID, "rondo_buffer_map: mode is %u", mode);
    if (!host)
        return rd_error(RONDO_ERR_INVALID, "rondo_buffer_map: `host` is NULL");
    b = rd_buffer_get(buffer, &status);
    if (!b)
        return status;
    status = bring_home(b, mode);
    if (!status) {
        rd_add_relaxed(&b->maps, 1); /* a count alone; the bytes are ordered by the caller */
        *host = rd_buffer_base(b);
    }
    rd_buffer_unref(b);
    return status;
}

rondo_status rondo_buffer_unmap(rondo_buffer buffer)
{
    uint64_t maps;
    rondo_status status = RONDO_OK;
    struct rd_buffer *b = rd_buffer_get(buffer, &status);
    if (!b)
        return status;
    maps = rd_load_relaxed(&b->maps);
    while (maps && !rd_cas_relaxed(&b->maps, &maps, maps - 1)) {}
    if (!maps)
        status =
            rd_error(RONDO_ERR_INVALID, "buffer '%s': unmapped more often than mapped", b->name);
    rd_buffer_unref(b);
    return status;
}

static rondo_status sync_instance(struct rd_buffer *b, rondo_memory memory, rondo_event *event)
{
    struct rd_fetch *fetch = NULL;
    uint32_t number;
    rondo_status status = memory_number(b, "sync", memory, &number);
    if (!status && b->rt->keeper)
        status = rd_keeper_sync(b, number, event || !rd_task_depth, &fetch);
    if (status == RONDO_ERR_WOULD_BLOCK)
        return would_block(b, "sync");
    if (status)
        return status;
    if (!event)
        return wait_for(b, fetch);
    *event = fetch ? fetch->event : (rondo_event){ 0, 0 };
    rd_fetch_unref(fetch);
    return RONDO_OK;
}

rondo_status rondo_buffer_sync(rondo_buffer buffer, rondo_memory memory, rondo_event *event)
{
    rondo_status status;
    struct rd_buffer *b = rd_buffer_get(buffer, &status);
    if (!b)
        return status;
    status = sync_instance(b, memory, event);
    rd_buffer_unref(b);
    return status;
}

rondo_status rondo_buffer_touched(rondo_buffer buffer, rondo_memory memory)
{
    struct rd_fetch *fetch = NULL;
    rondo_status status;
    uint32_t number;
    struct rd_buffer *b = rd_buffer_get(buffer, &status);
    if (!b)
        return status;
    status = memory_number(b, "touched", memory, &number);
    if (!status && b->rt->keeper)
        status = rd_keeper_touched(b, number, !rd_task_depth, &fetch);
    if (!status)
        status = wait_for(b, fetch); /* for what is out of date to be overwritten, if anything */
    rd_buffer_unref(b);
    return status;
}

rondo_status rondo_buffer_address(rondo_buffer buffer, rondo_memory memory, void **address)
{
    rondo_status status;
    uint32_t number;
    struct rd_buffer *b, *instance;
    if (!address)
        return rd_error(RONDO_ERR_INVALID, "rondo_buffer_address: `address` is NULL");
    b = rd_buffer_get(buffer, &status);
    if (!b)
        return status;
    status = memory_number(b, "address", memory, &number);
    if (!status)
        status = rd_keeper_instance(b, number, &instance);
    if (!status)
        *address = rd_buffer_base(instance);
    rd_buffer_unref(b);
    return status;
}
