/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: shapes, wraps, maps, and how long the bytes live. */
#include "src/machine/buffer.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static rondo_runtime rt;

static void open_runtime(void) { cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK); }

static void close_runtime(void)
{
    rondo_runtime_statistics s;
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.buffers, 0, "%llu buffers live", (unsigned long long)s.buffers);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

Test(buffer, shapes)
{
    static const struct {
        rondo_shape in, complete;
        size_t bytes;
    } good[] = {
        { { 8, { 5 }, { 0 } }, { 8, { 5, 1, 1 }, { 40, 40 } }, 40 },
        { { 8, { 5, 3 }, { 0 } }, { 8, { 5, 3, 1 }, { 40, 120 } }, 120 },
        { { 8, { 5, 3, 2 }, { 0 } }, { 8, { 5, 3, 2 }, { 40, 120 } }, 240 },
        { { 8, { 5, 3 }, { 48 } }, { 8, { 5, 3, 1 }, { 48, 144 } }, 136 },
        { { 8, { 5, 3, 2 }, { 48, 200 } }, { 8, { 5, 3, 2 }, { 48, 200 } }, 336 },
        { { 8, { 5, 3, 2 }, { 48, 136 } }, { 8, { 5, 3, 2 }, { 48, 136 } }, 272 },
        { { 1, { INT64_MAX / 2 }, { 0 } },
          { 1, { INT64_MAX / 2, 1, 1 }, { INT64_MAX / 2, INT64_MAX / 2 } },
          INT64_MAX / 2 },
    };
    static const struct {
        rondo_shape in;
        const char *message;
    } bad[] = {
        { { 0, { 5 }, { 0 } }, "b: shape: elem_bytes is 0" },
        { { 8, { 0 }, { 0 } }, "b: shape: extent[0] is 0" },
        { { 8, { -1 }, { 0 } }, "b: shape: extent[0] is -1" },
        { { 8, { 1, 0, 1 }, { 0 } }, "b: shape: extent[2] is 1 behind an absent dimension" },
        { { 8, { 5, 3 }, { 39 } },
          "b: shape: pitch_bytes[0] is 39, smaller than the 40 bytes of a row" },
        { { 8, { 5, 3, 2 }, { 48, 135 } },
          "b: shape: pitch_bytes[1] is 135, smaller than the 136 bytes of a plane" },
        { { 2, { INT64_MAX / 2 }, { 0 } },
          "b: shape: 4611686018427387903 x 1 x 1 elements of 2 bytes are too many" },
        { { 1, { 1 << 20, 1 << 22, 1 << 22 }, { 0 } },
          "b: shape: 1048576 x 4194304 x 4194304 elements of 1 bytes are too many" },
        { { 1, { 2, 3 }, { SIZE_MAX } }, "b: shape: 2 x 3 x 1 elements of 1 bytes are too many" },
    };
    rondo_shape s;
    size_t i, bytes;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert_eq(rd_shape_complete("b", &good[i].in, &s, &bytes), RONDO_OK, "%zu: %s", i,
                     rondo_error_message());
        cr_assert(!memcmp(&s, &good[i].complete, sizeof s), "shape %zu", i);
        cr_assert_eq(bytes, good[i].bytes, "shape %zu: %zu bytes", i, bytes);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        bytes = 77;
        cr_assert_eq(rd_shape_complete("b", &bad[i].in, &s, &bytes), RONDO_ERR_INVALID, "%s",
                     bad[i].message);
        cr_assert_str_eq(rondo_error_message(), bad[i].message);
        cr_assert_eq(bytes, 77);
    }
}

Test(buffer, allocated_and_wrapped)
{
    double mine[6] = { 1, 2, 3, 4, 5, 6 };
    rondo_buffer_desc d = { .name = "x", .shape = { 8, { 6 }, { 0 } } };
    rondo_buffer own, wrap, none = { 5 };
    void *p = NULL;
    int i;
    open_runtime();
    cr_assert_eq(rondo_buffer_create(rt, &d, &own), RONDO_OK);
    d.host = mine;
    cr_assert_eq(rondo_buffer_create(rt, &d, &wrap), RONDO_OK);
    cr_assert_eq(rondo_buffer_map(own, RONDO_READ_WRITE, &p), RONDO_OK);
    cr_assert_eq((uintptr_t)p % 64, 0);
    for (i = 0; i < 6; i++)
        cr_assert_eq(((double *)p)[i], 0);
    cr_assert_eq(rondo_buffer_unmap(own), RONDO_OK);
    cr_assert_eq(rondo_buffer_unmap(own), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "buffer 'x': unmapped more often than mapped");
    cr_assert_eq(rondo_buffer_map(wrap, RONDO_READ, &p), RONDO_OK);
    cr_assert_eq(p, mine);
    cr_assert_eq(rondo_buffer_unmap(wrap), RONDO_OK);
    cr_assert_eq(rondo_buffer_map(wrap, 0, &p), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_buffer_map(wrap, RONDO_READ, NULL), RONDO_ERR_INVALID);
    d.host = (void *)(UINTPTR_MAX - 8);
    cr_assert_eq(rondo_buffer_create(rt, &d, &none), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "buffer 'x': host: 48 bytes from there pass the end of memory");
    cr_assert_eq(rondo_buffer_create(rt, NULL, &none), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_buffer_create(rt, &d, NULL), RONDO_ERR_INVALID);
    cr_assert_eq(none.id, 5);
    cr_assert_eq(rondo_buffer_destroy(own), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(own), RONDO_ERR_STALE);
    cr_assert_eq(rondo_buffer_map(own, RONDO_READ, &p), RONDO_ERR_STALE);
    cr_assert_eq(rondo_buffer_destroy(wrap), RONDO_OK);
    cr_assert_eq(mine[5], 6);
    close_runtime();
}

/* The handle goes at once, the bytes with the last subgraph that has a slot of them. */
Test(buffer, lives_as_long_as_it_is_used)
{
    rondo_buffer b;
    rondo_subgraph g;
    rondo_runtime_statistics s;
    rondo_slot slot;
    open_runtime();
    cr_assert_eq(
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 1, { 1 << 20 }, { 0 } } }, &b),
        RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b });
    cr_assert(slot.id, "%s", rondo_error_message());
    cr_assert_eq(rondo_buffer_destroy(b), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.buffers, 1);
    cr_assert_geq(s.bytes, 1 << 20);
    cr_assert_eq(rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b }).id, 0);
    cr_assert_eq(rondo_subgraph_status(g), RONDO_ERR_STALE);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.buffers, 0);
    close_runtime();
}

/* Without devices there is one memory, and every buffer is current in it. */
Test(buffer, without_devices)
{
    rondo_buffer_desc d = { .name = "x", .shape = { 8, { 6 }, { 0 } }, .memory = RONDO_PINNED };
    rondo_buffer b, none = { 5 };
    rondo_event e = { 7, 7 };
    void *p = NULL, *host = NULL;
    open_runtime();
    cr_assert_eq(rondo_buffer_create(rt, &d, &b), RONDO_OK);
    cr_assert_eq(rondo_buffer_map(b, RONDO_READ, &host), RONDO_OK);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(((double *)host)[i], 0);
    cr_assert_eq(rondo_buffer_unmap(b), RONDO_OK);
    cr_assert_eq(rondo_buffer_sync(b, RONDO_HOST, &e), RONDO_OK);
    cr_assert(!e.source && !e.count);
    cr_assert_eq(rondo_buffer_sync(b, RONDO_PINNED, NULL), RONDO_OK);
    cr_assert_eq(rondo_buffer_touched(b, RONDO_HOST), RONDO_OK);
    cr_assert_eq(rondo_buffer_address(b, RONDO_HOST, &p), RONDO_OK);
    cr_assert_eq(p, host);
    cr_assert_eq(rondo_buffer_sync(b, RONDO_GPU_MEMORY(0), &e), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "buffer 'x': sync: RONDO_GPU_MEMORY(0), and the runtime has 0 devices");
    cr_assert_eq(rondo_buffer_touched(b, RONDO_GPU_MEMORY(3)), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_buffer_address(b, 0, &p), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "buffer 'x': address: memory is 0x0, which is neither "
                                            "RONDO_HOST nor a RONDO_GPU_MEMORY");
    d.memory = RONDO_GPU_MEMORY(0);
    cr_assert_eq(rondo_buffer_create(rt, &d, &none), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "buffer 'x': memory is RONDO_GPU_MEMORY(0), and the runtime has 0 devices");
    d.device = host;
    d.memory = 0;
    cr_assert_eq(rondo_buffer_create(rt, &d, &none), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "buffer 'x': `device` is given, and memory does not "
                                            "say which of 0 devices is meant");
    cr_assert_eq(none.id, 5);
    cr_assert_eq(rondo_buffer_destroy(b), RONDO_OK);
    cr_assert_eq(rondo_buffer_sync(b, RONDO_HOST, NULL), RONDO_ERR_STALE);
    cr_assert_eq(rondo_buffer_touched(b, RONDO_HOST), RONDO_ERR_STALE);
    cr_assert_eq(rondo_buffer_address(b, RONDO_HOST, &p), RONDO_ERR_STALE);
    close_runtime();
}
