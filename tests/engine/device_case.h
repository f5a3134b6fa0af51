/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cases on devices share: one image of kernels, modes, and short ways to make things. */
#ifndef TESTS_ENGINE_DEVICE_CASE_H
#define TESTS_ENGINE_DEVICE_CASE_H

#include "tests/engine/device_util.h"
#include "tests/engine/engine_check.h"

static const struct et_mode dc_modes[] = {
    { "interpreted serial", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_STATIC },
    { "interpreted pipelined", RONDO_INTERPRETED, RONDO_PIPELINED, RONDO_STATIC },
    { "compiled serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_STATIC },
    { "compiled pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_STATIC },
    { "dataflow pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_DATAFLOW },
};
enum { DC_MODES = sizeof dc_modes / sizeof *dc_modes };

static const char dc_source[] =
    "kernel void mix_value(global ulong *sum, ulong t) { *sum = *sum * 31 + t; }\n"
    "kernel void mix_address(global ulong *sum, global const ulong *t)\n"
    "{ *sum = *sum * 31 + *t; }\n"
    "kernel void count(global ulong *sum, global ulong *cells, uint n)\n"
    "{\n"
    "    ulong set = 0;\n"
    "    for (uint i = 0; i < n; i++) set += cells[i] != 0;\n"
    "    *sum = *sum * 31 + set;\n"
    "}\n"
    "kernel void forward(global const ulong *in, global ulong *out, uint from, uint to)\n"
    "{ out[to] = in[from] * 3 + to; }\n"
    "kernel void in_place(global ulong *cells, uint from, uint to)\n"
    "{ cells[to] = cells[to] * 5 + cells[from]; }\n"
    "kernel void twice(global ulong *cells) { cells[get_global_id(0)] *= 2; }\n"
    "kernel void more(global ulong *cells) { cells[get_global_id(0)] += 1; }\n";

struct dc_machine {
    rondo_runtime runtime;
    rondo_subgraph subgraph;
};

static inline struct dc_machine dc_open(uint32_t devices, uint64_t bytes, const char *name)
{
    struct dc_machine m = { .runtime = du_runtime(1, devices, bytes) };
    ET_OK(rondo_subgraph_create(m.runtime, &(rondo_subgraph_desc){ .name = name }, &m.subgraph));
    return m;
}

static inline void dc_close(struct dc_machine m)
{
    (void)rondo_subgraph_destroy(m.subgraph);
    const char *left = du_close_clean(m.runtime);
    cr_assert(!left, "%s", left ? left : "");
}

static inline rondo_buffer dc_wrap(struct dc_machine m, const char *name, uint64_t *host,
                                   int64_t count)
{
    rondo_buffer buffer;
    rondo_buffer_desc d = { .name = name, .shape = { 8, { count }, { 0 } }, .host = host };
    ET_OK(rondo_buffer_create(m.runtime, &d, &buffer));
    return buffer;
}

static inline rondo_slot dc_slot(struct dc_machine m, const char *name, rondo_buffer buffer)
{
    rondo_slot slot =
        rondo_subgraph_slot(m.subgraph, &(rondo_slot_desc){ .name = name, .buffer = buffer });
    ET_HANDLE(slot);
    return slot;
}

static inline rondo_exec dc_exec(struct dc_machine m, const struct et_mode *mode)
{
    rondo_exec exec;
    rondo_instantiate_options o = {
        .mode = mode->mode, .order = mode->order, .schedule = mode->schedule, .window = 4
    };
    ET_OK(rondo_instantiate(m.subgraph, &o, &exec));
    return exec;
}

/* What a buffer holds, element by element, on the host. */
static inline const uint64_t *dc_seen(rondo_buffer buffer)
{
    void *host;
    ET_OK(rondo_buffer_map(buffer, RONDO_READ, &host));
    ET_OK(rondo_buffer_unmap(buffer));
    return host;
}

/* A kernel of the image above with one work item, or `items`. */
#define DC_KERNEL(m, entry_, items, ...)                                                         \
    rondo_record_kernel((m).subgraph, &(rondo_kernel_desc){ .name = #entry_,                     \
                                                            .format = RONDO_OPENCL_C,            \
                                                            .image = dc_source,                  \
                                                            .image_bytes = sizeof dc_source - 1, \
                                                            .entry = #entry_,                    \
                                                            .dimensions = 1,                     \
                                                            .global = { (items) },               \
                                                            __VA_ARGS__ })

static inline void dc_try(const struct et_mode *mode, const char *what)
{
    et_alarm(60, "%s, %s: hangs\n", what, mode->name);
}

#endif
