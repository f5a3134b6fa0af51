/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph of kernels for a device, recorded and replayed by Rondo: compiled, and interpreted. */
#include "bench/device.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct built {
    rondo_runtime runtime;
    rondo_exec exec;
    rondo_buffer array[DEVICE_ARRAYS];
    int overlap;
};

enum way { COMPILED, AWAKE, INTERPRETED };

/* Of [1] nobody ever sleeps, and the caller is the only one to do anything. */
static rondo_runtime runtimes[2];

static rondo_runtime runtime_of(enum way way)
{
    const rondo_runtime_options options[2] = {
        { .devices = "opencl:0" },
        { .devices = "opencl:0", .park_after_ns = RONDO_NEVER, .adopt = 1 }
    };
    int awake = way == AWAKE;
    if (!runtimes[awake].id)
        runtimes[awake] = rondo_impl_open(options[awake], 1);
    return runtimes[awake];
}

static rondo_slot make_slot(struct built *b, rondo_subgraph subgraph, uint32_t i)
{
    char name[24];
    snprintf(name, sizeof name, "array %u", i);
    rondo_buffer_desc desc = {
        .name = name, .shape = { .elem_bytes = sizeof(uint32_t), .extent = { DEVICE_ITEMS } }
    };
    rondo_must(rondo_buffer_create(b->runtime, &desc, &b->array[i]), "creating a buffer");
    return rondo_subgraph_slot(subgraph, &(rondo_slot_desc){ .name = name, .buffer = b->array[i] });
}

static void record_kernel(rondo_subgraph subgraph, const struct device_graph *g, uint32_t k,
                          const rondo_slot *slot)
{
    uint32_t array[3];
    device_arrays(g, k, array);
    rondo_record_kernel(
        subgraph,
        &(rondo_kernel_desc){
            .format = RONDO_OPENCL_C,
            .image = device_source,
            .image_bytes = strlen(device_source),
            .entry = "advance",
            RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_access(1), rondo_arg_access(2),
                              rondo_arg_value(&g->rounds, sizeof g->rounds)),
            .dimensions = 1,
            .global = { DEVICE_ITEMS },
            .local = { DEVICE_ITEMS },
            RONDO_ACCESSES(rondo_read(slot[array[0]], rondo_whole()),
                           rondo_read(slot[array[1]], rondo_whole()),
                           rondo_write(slot[array[2]], rondo_whole())),
        });
}

static void *build(const struct device_way *way, const struct device_graph *g)
{
    enum way which = (enum way)(way - device_ways_rondo);
    struct built *b = bench_alloc(1, sizeof *b);
    rondo_slot slot[DEVICE_ARRAYS];
    rondo_subgraph subgraph;
    b->runtime = runtime_of(which);
    rondo_must(rondo_subgraph_create(b->runtime, NULL, &subgraph), "creating a subgraph");
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++)
        slot[i] = make_slot(b, subgraph, i);
    for (uint32_t k = 0; k < g->kernels; k++)
        record_kernel(subgraph, g, k, slot);
    rondo_must(rondo_subgraph_status(subgraph), "recording");
    rondo_instantiate_options options = { .mode = which == INTERPRETED ? RONDO_INTERPRETED
                                                                       : RONDO_COMPILED,
                                          .order = g->overlap ? RONDO_PIPELINED : RONDO_SERIAL,
                                          .window = DEVICE_FLIGHT };
    rondo_must(rondo_instantiate(subgraph, &options, &b->exec), "instantiating");
    b->overlap = g->overlap;
    rondo_must(rondo_subgraph_destroy(subgraph), "destroying a subgraph");
    return b;
}

static double run(void *built, uint64_t count)
{
    struct built *b = built;
    double start = timing_ns();
    for (uint64_t i = 0; i < count; i++)
        if (b->overlap)
            rondo_must(rondo_replay(b->exec, NULL, NULL), "a replay");
        else
            rondo_must(rondo_replay_and_wait(b->exec, NULL, -1, NULL), "a replay");
    if (b->overlap)
        rondo_must(rondo_exec_wait(b->exec, NULL), "replays");
    return timing_ns() - start;
}

static uint64_t calls(void *built)
{
    struct built *b = built;
    rondo_exec_counts counts;
    rondo_must(rondo_exec_count(b->exec, &counts), "counting");
    return counts.driver_calls;
}

static void read_arrays(void *built, uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS])
{
    struct built *b = built;
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++) {
        void *host;
        rondo_must(rondo_buffer_map(b->array[i], RONDO_READ, &host), "mapping");
        memcpy(cell[i], host, sizeof cell[i]);
        rondo_must(rondo_buffer_unmap(b->array[i]), "unmapping");
    }
}

static void release(void *built)
{
    struct built *b = built;
    rondo_must(rondo_exec_destroy(b->exec), "destroying an exec");
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++)
        rondo_must(rondo_buffer_destroy(b->array[i]), "destroying a buffer");
    rondo_must(rondo_runtime_drain(b->runtime), "draining");
    free(b);
}

void device_rondo_close(void)
{
    for (int i = 0; i < 2; i++) {
        if (runtimes[i].id)
            rondo_must(rondo_runtime_close(runtimes[i]), "closing a runtime");
        runtimes[i].id = 0;
    }
}

#define WAY .build = build, .run = run, .calls = calls, .read = read_arrays, .free = release
const struct device_way device_ways_rondo[] = {
    [COMPILED] = { .name = "rondo compiled", .bar = 1, WAY },
    [AWAKE] = { .name = "rondo compiled and polling", .bar = 1, .polls = 1, WAY },
    [INTERPRETED] = { .name = "rondo interpreted", WAY },
    { .name = NULL },
};
