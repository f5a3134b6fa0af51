/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of rondo/buffer.h. */
#include "src/machine/buffer.h"

#include "src/api/desc.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"

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
    rd_add_relaxed(&b->maps, 1); /* a count alone; the bytes are ordered by the caller */
    *host = b->base;
    rd_buffer_unref(b);
    return RONDO_OK;
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
