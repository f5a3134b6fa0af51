/* SPDX-License-Identifier: BSD-3-Clause */
/* Small recordings for the tests of the residency pass. */
#ifndef TESTS_COMPILE_RESIDENCY_RIG_H
#define TESTS_COMPILE_RESIDENCY_RIG_H

#include "subgraph/record.h"
#include "tests/compile/residency_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST = 1 << 22, NX = 64, NY = 32 };

static rondo_runtime rt;
static char *host_memory, *reference;

static inline int body(rondo_task *self, const void *arg)
{
    (void)self, (void)arg;
    return 0;
}

/* ---- a recording under construction */

struct rig {
    rondo_subgraph handle;
    struct rd_subgraph *g, *e;
    rondo_buffer buffer[16];
    int buffers;
    size_t end; /* of what is used of host_memory */
    struct world w;
};

static inline void rig_open(struct rig *x, uint32_t devices, uint32_t flags)
{
    rondo_status status;
    if (!rt.id)
        cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    if (!host_memory) {
        host_memory = malloc(HOST);
        reference = malloc(HOST);
    }
    memset(x, 0, sizeof *x);
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = flags }, &x->handle),
                 RONDO_OK);
    x->g = rd_subgraph_get(x->handle, &status);
    x->w.devices = devices;
    for (uint32_t d = 0; d < devices; d++)
        x->w.room[d] = UINT64_MAX;
    for (int i = 0; i < HOST; i++)
        host_memory[i] = (char)(i * 31 + i / 251);
}

static inline rondo_buffer rig_buffer(struct rig *x, const char *name, int64_t nx, int64_t ny)
{
    rondo_buffer_desc desc = { .name = name, .host = host_memory + x->end };
    desc.shape.elem_bytes = 8;
    desc.shape.extent[0] = nx;
    desc.shape.extent[1] = ny;
    x->end += (size_t)(nx * (ny ? ny : 1)) * 8 + 64;
    cr_assert(x->end <= HOST);
    cr_assert_eq(rondo_buffer_create(rt, &desc, &x->buffer[x->buffers]), RONDO_OK);
    return x->buffer[x->buffers++];
}

static inline rondo_slot rig_fixed(struct rig *x, const char *name, int64_t nx, int64_t ny)
{
    rondo_slot_desc desc = { .name = name, .buffer = rig_buffer(x, name, nx, ny) };
    return rondo_subgraph_slot(x->handle, &desc);
}

static inline rondo_slot rig_bound(struct rig *x, const char *name, int64_t nx)
{
    rondo_slot_desc desc = { .name = name };
    desc.shape.elem_bytes = 8;
    desc.shape.extent[0] = nx;
    return rondo_subgraph_slot(x->handle, &desc);
}

/* A task; device -1: the host's. */
static inline uint32_t rig_task(struct rig *x, const char *name, int device, const rondo_access *a,
                                uint32_t count)
{
    rondo_task_desc desc = { .name = name, .fn = body, .accesses = a, .access_count = count };
    uint32_t v = (uint32_t)x->g->nodes.count;
    cr_assert(rondo_record_task(x->handle, &desc).id, "%s", rondo_error_message());
    if (device >= 0)
        x->g->nodes.item[v].bound = (uint16_t)(RD_ON_DEVICE + device);
    return v;
}
#define TASK(x, name, device, ...)                             \
    rig_task(x, name, device, (rondo_access[]){ __VA_ARGS__ }, \
             (uint32_t)(sizeof((rondo_access[]){ __VA_ARGS__ }) / sizeof(rondo_access)))

static inline uint32_t rig_copy(struct rig *x, rondo_access from, rondo_access to, int device)
{
    rondo_move_desc desc = { .from = from, .to = to };
    uint32_t v = (uint32_t)x->g->nodes.count;
    cr_assert(rondo_record_copy(x->handle, &desc).id, "%s", rondo_error_message());
    if (device >= 0)
        x->g->nodes.item[v].bound = (uint16_t)(RD_ON_DEVICE + device);
    return v;
}

/* Expands the recording and runs the pass. */
static inline rondo_status rig_find(struct rig *x)
{
    struct world *w = &x->w;
    cr_assert_eq(rondo_subgraph_status(x->handle), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rd_subgraph_expand(x->g, 1, &x->e), RONDO_OK);
    w->seed = 7;
    w->g = x->e;
    w->host = host_memory;
    w->reference = reference;
    w->host_bytes = HOST;
    w->replays = WORLD_REPLAYS;
    w->place = calloc(x->e->slots.count + 1, sizeof *w->place);
    for (size_t s = 0; s < x->e->slots.count; s++)
        for (int i = 0; i < WORLD_REPLAYS && !x->e->slots.item[s].count; i++) {
            w->place[s][i] = x->end;
            x->end += x->e->slots.item[s].bytes + 64;
            cr_assert(x->end <= HOST);
        }
    if (!w->instance_bytes) {
        w->instance_bytes = calloc(x->e->slots.count * (1 + w->devices) + 1, 8);
        for (size_t s = 0; s < x->e->slots.count; s++)
            for (uint32_t m = 1; m <= w->devices; m++)
                for (uint32_t i = 0; i < x->e->slots.item[s].count; i++)
                    w->instance_bytes[s * (1 + w->devices) + m] +=
                        x->e->slots.item[s].buffers[i]->bytes;
    }
    return world_make(w);
}

/* The same, which is right, and played in order and in any order. */
static inline void rig_play(struct rig *x)
{
    for (int overlapped = 0; overlapped < 2; overlapped++) {
        if (!x->e)
            cr_assert_eq(rig_find(x), RONDO_OK, "%s", rondo_error_message());
        else if (!x->w.r)
            cr_assert_eq(world_make(&x->w), RONDO_OK);
        cr_assert(world_play(&x->w, overlapped), "%s", x->w.why);
        if (!overlapped)
            world_free(&x->w);
    }
}

static inline void rig_close(struct rig *x)
{
    world_free(&x->w);
    free(x->w.place);
    free(x->w.instance_bytes);
    if (x->e)
        rd_subgraph_unref(x->e);
    rd_subgraph_unref(x->g);
    rondo_subgraph_destroy(x->handle);
    for (int i = 0; i < x->buffers; i++)
        rondo_buffer_destroy(x->buffer[i]);
    rondo_runtime_close(rt);
    rt.id = 0;
    free(host_memory);
    free(reference);
    host_memory = reference = NULL;
}

#endif
