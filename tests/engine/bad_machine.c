/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: runtimes, buffers and subgraphs. */
#include "tests/engine/bad_inputs.h"

#include <stdio.h>
#include <string.h>

enum { UNTOUCHED = 0x5eed };

/* Says so when a refused call has written its output. */
static void check_untouched(struct bad *b, rondo_status status, uint64_t output)
{
    if (status != RONDO_OK && output != UNTOUCHED)
        b->undone = "an output was written";
}

/* ---- runtimes */

static void *never(void *context, size_t bytes, size_t align)
{
    (void)context;
    (void)bytes;
    (void)align;
    return NULL;
}

#define OPEN(called, change)                               \
    static rondo_status called(struct bad *b, int good)    \
    {                                                      \
        rondo_runtime rt = { UNTOUCHED };                  \
        rondo_runtime_options o = { 0 };                   \
        if (!good) {                                       \
            change;                                        \
        }                                                  \
        rondo_status status = rondo_runtime_open(&o, &rt); \
        check_untouched(b, status, rt.id);                 \
        return status ? status : rondo_runtime_close(rt);  \
    }
OPEN(cpus_empty, o.cpus = "")
OPEN(cpus_letter, o.cpus = "zero")
OPEN(cpus_trailing, o.cpus = "0,")
OPEN(cpus_reversed, o.cpus = "1-0")
OPEN(cpus_separator, o.cpus = "0;1")
OPEN(cleaner_cpus_space, o.cleaner_cpus = " 0")
OPEN(allocate_alone, o.allocate = never)
OPEN(negative_park, o.park_after_ns = -5)

static rondo_status cpu_outside(struct bad *b, int good)
{
    rondo_runtime rt = { UNTOUCHED };
    rondo_runtime_options o = { .cpus = good ? NULL : "1000" };
    rondo_status status = rondo_runtime_open(&o, &rt);
    check_untouched(b, status, rt.id);
    /* The affinity mask that ends the message is the machine's. */
    static const char begins[] =
        "cpus \"1000\": character 1: CPU 1000 is not in the caller's affinity mask ";
    if (status && !strncmp(rondo_error_message(), begins, sizeof begins - 1))
        (void)snprintf(b->expected, sizeof b->expected, "%s", rondo_error_message());
    return status ? status : rondo_runtime_close(rt);
}

static rondo_status open_without_output(struct bad *b, int good)
{
    rondo_runtime rt;
    (void)b;
    rondo_status status = rondo_runtime_open(NULL, good ? &rt : NULL);
    return status ? status : rondo_runtime_close(rt);
}

static rondo_status close_none(struct bad *b, int good)
{
    (void)b;
    return good ? RONDO_OK : rondo_runtime_close((rondo_runtime){ 0 });
}

static rondo_status close_a_buffer(struct bad *b, int good)
{
    b->shown = b->u.id;
    return good ? RONDO_OK : rondo_runtime_close((rondo_runtime){ b->u.id });
}

static rondo_status close_twice(struct bad *b, int good)
{
    rondo_runtime rt;
    if (good || rondo_runtime_open(NULL, &rt) || rondo_runtime_close(rt))
        return RONDO_OK;
    b->shown = rt.id;
    return rondo_runtime_close(rt);
}

static rondo_status drain_none(struct bad *b, int good)
{
    return rondo_runtime_drain(good ? b->rt : (rondo_runtime){ 0 });
}

static rondo_status trim_none(struct bad *b, int good)
{
    return rondo_runtime_trim(good ? b->rt : (rondo_runtime){ 0 });
}

static rondo_status stats_without_output(struct bad *b, int good)
{
    rondo_runtime_statistics s;
    return rondo_runtime_stats(b->rt, good ? &s : NULL);
}

static rondo_status processors_without_output(struct bad *b, int good)
{
    uint32_t count;
    return rondo_runtime_processors(b->rt, good ? &count : NULL);
}

static rondo_status machine_without_output(struct bad *b, int good)
{
    rondo_machine machine;
    return rondo_runtime_machine(b->rt, good ? &machine : NULL);
}

static rondo_status cpu_without_output(struct bad *b, int good)
{
    uint32_t cpu;
    return rondo_processor_cpu(b->rt, RONDO_CPU(1), good ? &cpu : NULL);
}

static rondo_status cpu_beyond(struct bad *b, int good)
{
    uint32_t cpu;
    return rondo_processor_cpu(b->rt, RONDO_CPU(good ? 1 : 2), &cpu);
}

static rondo_status cpu_of_any(struct bad *b, int good)
{
    uint32_t cpu;
    return rondo_processor_cpu(b->rt, good ? RONDO_CPU(0) : RONDO_ANY_CPU, &cpu);
}

/* ---- buffers */

#define BUFFER(called, change)                                                     \
    static rondo_status called(struct bad *b, int good)                            \
    {                                                                              \
        rondo_buffer buffer = { UNTOUCHED };                                       \
        rondo_runtime rt = b->rt;                                                  \
        rondo_buffer_desc d = { .name = "bad", .shape = { 8, { 10, 4 }, { 0 } } }; \
        if (!good) {                                                               \
            change;                                                                \
        }                                                                          \
        rondo_status status = rondo_buffer_create(rt, &d, &buffer);                \
        check_untouched(b, status, buffer.id);                                     \
        return status ? status : rondo_buffer_destroy(buffer);                     \
    }
BUFFER(buffer_of_no_runtime, rt.id = 0)
BUFFER(buffer_of_nothing, d.shape.elem_bytes = 0)
BUFFER(buffer_empty, d.shape.extent[0] = 0)
BUFFER(buffer_negative, d.shape.extent[1] = -4)
BUFFER(buffer_behind_absent, (d.shape.extent[1] = 0, d.shape.extent[2] = 3))
BUFFER(buffer_narrow_rows, d.shape.pitch_bytes[0] = 72)
BUFFER(buffer_narrow_planes, d.shape.pitch_bytes[1] = 319)
BUFFER(buffer_overflows, (d.shape.extent[0] = INT64_MAX, d.shape.extent[1] = 2))
BUFFER(buffer_past_memory, d.host = (void *)(UINTPTR_MAX - 100))

static rondo_status buffer_without_description(struct bad *b, int good)
{
    rondo_buffer buffer = { UNTOUCHED };
    rondo_buffer_desc d = { "bad", { 8, { 10 }, { 0 } }, NULL, 0, NULL };
    rondo_status status = rondo_buffer_create_sized(b->rt, good ? &d : NULL, sizeof d, &buffer);
    check_untouched(b, status, buffer.id);
    return status ? status : rondo_buffer_destroy(buffer);
}

static rondo_status buffer_without_output(struct bad *b, int good)
{
    rondo_buffer buffer;
    rondo_buffer_desc d = { "bad", { 8, { 10 }, { 0 } }, NULL, 0, NULL };
    rondo_status status = rondo_buffer_create(b->rt, &d, good ? &buffer : NULL);
    return status ? status : rondo_buffer_destroy(buffer);
}

static rondo_status destroy_no_buffer(struct bad *b, int good)
{
    (void)b;
    return good ? RONDO_OK : rondo_buffer_destroy((rondo_buffer){ 0 });
}

static rondo_status destroy_buffer_twice(struct bad *b, int good)
{
    b->shown = b->gone.id;
    return good ? RONDO_OK : rondo_buffer_destroy(b->gone);
}

static rondo_status destroy_an_exec_as_buffer(struct bad *b, int good)
{
    b->shown = b->exec.id;
    return good ? RONDO_OK : rondo_buffer_destroy((rondo_buffer){ b->exec.id });
}

static rondo_status map(struct bad *b, rondo_buffer buffer, uint32_t mode, int output)
{
    void *host = (void *)(uintptr_t)UNTOUCHED;
    rondo_status status = rondo_buffer_map(buffer, mode, output ? &host : NULL);
    check_untouched(b, status, (uint64_t)(uintptr_t)host);
    return status ? status : rondo_buffer_unmap(buffer);
}
static rondo_status map_mode(struct bad *b, int good)
{
    return map(b, b->v, good ? RONDO_READ : 4, 1);
}
static rondo_status map_without_output(struct bad *b, int good)
{
    return map(b, b->v, RONDO_WRITE, good);
}
static rondo_status map_gone(struct bad *b, int good)
{
    b->shown = b->gone.id;
    return map(b, good ? b->v : b->gone, RONDO_READ_WRITE, 1);
}
static rondo_status unmap_unmapped(struct bad *b, int good)
{
    return good ? map(b, b->v, RONDO_READ, 1) : rondo_buffer_unmap(b->v);
}

/* ---- subgraphs */

static rondo_status subgraph_flags(struct bad *b, int good)
{
    rondo_subgraph g = { UNTOUCHED };
    rondo_subgraph_desc d = { "bad", good ? RONDO_EDGES_EXPLICIT : 2 };
    rondo_status status = rondo_subgraph_create(b->rt, &d, &g);
    check_untouched(b, status, g.id);
    return status ? status : rondo_subgraph_destroy(g);
}

static rondo_status subgraph_of_no_runtime(struct bad *b, int good)
{
    rondo_subgraph g = { UNTOUCHED };
    rondo_status status = rondo_subgraph_create(good ? b->rt : (rondo_runtime){ 0 }, NULL, &g);
    check_untouched(b, status, g.id);
    return status ? status : rondo_subgraph_destroy(g);
}

static rondo_status subgraph_without_output(struct bad *b, int good)
{
    rondo_subgraph g;
    rondo_status status = rondo_subgraph_create(b->rt, NULL, good ? &g : NULL);
    return status ? status : rondo_subgraph_destroy(g);
}

static rondo_status destroy_no_subgraph(struct bad *b, int good)
{
    (void)b;
    return good ? RONDO_OK : rondo_subgraph_destroy((rondo_subgraph){ 0 });
}

static rondo_status record_into_ended(struct bad *b, int good)
{
    rondo_subgraph g;
    if (good || rondo_subgraph_create(b->rt, NULL, &g) || rondo_subgraph_destroy(g))
        return RONDO_OK;
    b->shown = g.id;
    if (rondo_record_task(g, &b->task).id || rondo_record_call(g, NULL, NULL, NULL).id ||
        rondo_subgraph_slot(g, &(rondo_slot_desc){ 0 }).id ||
        rondo_subgraph_param(g, "p", 8, NULL).id)
        b->undone = "something was recorded into a subgraph that is gone";
    return rondo_subgraph_clear_error(g);
}

static rondo_status edge_in_a_buffer(struct bad *b, int good)
{
    b->shown = b->u.id;
    return good ? RONDO_OK : rondo_record_edge((rondo_subgraph){ b->u.id }, b->base, b->loop, 1);
}

static void swallow(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static rondo_status dot_without_writer(struct bad *b, int good)
{
    return rondo_subgraph_write_dot(b->g, good ? swallow : NULL, NULL);
}

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
static const struct bad_case machine[] = {
    ROW("an empty list of CPUs", cpus_empty, "cpus \"\": the list is empty"),
    ROW("a CPU in letters", cpus_letter, "cpus \"zero\": character 1: a CPU number is expected"),
    ROW("a list that ends in a comma", cpus_trailing,
        "cpus \"0,\": character 3: a CPU number is expected"),
    ROW("a reversed range", cpus_reversed, "cpus \"1-0\": character 1: the range 1-0 is reversed"),
    ROW("a list with a semicolon", cpus_separator,
        "cpus \"0;1\": character 2: ',' is expected, not ';'"),
    ROW("a CPU outside the mask", cpu_outside, "cpus \"1000\" ..."),
    ROW("the cleaner's list with a blank", cleaner_cpus_space,
        "cleaner_cpus \" 0\": character 1: a CPU number is expected"),
    ROW("one memory hook alone", allocate_alone, "runtime: allocate is given without release"),
    ROW("a negative time to park", negative_park,
        "runtime: park_after_ns is -5, must not be negative"),
    ROW("a runtime without output", open_without_output, "rondo_runtime_open: runtime is NULL"),
    ROW("no runtime to close", close_none, "runtime: the handle is {0}"),
    ROW("a buffer to close", close_a_buffer, "runtime: handle 0x%H is buffer's"),
    { "a runtime closed twice", close_twice, RONDO_ERR_STALE,
      "runtime: handle 0x%H is stale, its object was destroyed" },
    ROW("no runtime to drain", drain_none, "runtime: the handle is {0}"),
    ROW("no runtime to trim", trim_none, "runtime: the handle is {0}"),
    ROW("statistics without output", stats_without_output,
        "rondo_runtime_stats: statistics is NULL"),
    ROW("processors without output", processors_without_output,
        "rondo_runtime_processors: count is NULL"),
    ROW("a machine without output", machine_without_output,
        "rondo_runtime_machine: machine is NULL"),
    ROW("a CPU without output", cpu_without_output, "rondo_processor_cpu: cpu is NULL"),
    ROW("a processor that there is not", cpu_beyond,
        "rondo_processor_cpu: processor 0x1000002 is none of the runtime's 2"),
    ROW("the CPU of any processor", cpu_of_any,
        "rondo_processor_cpu: processor 0x0 is none of the runtime's 2"),
    ROW("a buffer of no runtime", buffer_of_no_runtime, "runtime: the handle is {0}"),
    ROW("a buffer without description", buffer_without_description, "rondo_buffer_desc is NULL"),
    ROW("a buffer without output", buffer_without_output, "rondo_buffer_create: `buffer` is NULL"),
    ROW("elements of no bytes", buffer_of_nothing, "buffer 'bad': shape: elem_bytes is 0"),
    ROW("an empty buffer", buffer_empty, "buffer 'bad': shape: extent[0] is 0"),
    ROW("a negative extent", buffer_negative, "buffer 'bad': shape: extent[1] is -4"),
    ROW("an extent behind an absent dimension", buffer_behind_absent,
        "buffer 'bad': shape: extent[2] is 3 behind an absent dimension"),
    ROW("rows closer than long", buffer_narrow_rows,
        "buffer 'bad': shape: pitch_bytes[0] is 72, smaller than the 80 bytes of a row"),
    ROW("planes closer than large", buffer_narrow_planes,
        "buffer 'bad': shape: pitch_bytes[1] is 319, smaller than the 320 bytes of a plane"),
    ROW("a shape that overflows", buffer_overflows,
        "buffer 'bad': shape: 9223372036854775807 x 2 x 1 elements of 8 bytes are too many"),
    ROW("a wrap past the end of memory", buffer_past_memory,
        "buffer 'bad': host: 320 bytes from there pass the end of memory"),
    ROW("no buffer to destroy", destroy_no_buffer, "buffer: the handle is {0}"),
    { "a buffer destroyed twice", destroy_buffer_twice, RONDO_ERR_STALE,
      "buffer: handle 0x%H is stale, its object was destroyed" },
    ROW("an exec destroyed as buffer", destroy_an_exec_as_buffer, "buffer: handle 0x%H is exec's"),
    ROW("a map of unknown mode", map_mode, "rondo_buffer_map: mode is 4"),
    ROW("a map without output", map_without_output, "rondo_buffer_map: `host` is NULL"),
    { "a map of what is gone", map_gone, RONDO_ERR_STALE,
      "buffer: handle 0x%H is stale, its object was destroyed" },
    ROW("an unmap of what is not mapped", unmap_unmapped,
        "buffer 'v': unmapped more often than mapped"),
    ROW("unknown flags of a subgraph", subgraph_flags, "subgraph 'bad': flags 0x2: unknown bits"),
    ROW("a subgraph of no runtime", subgraph_of_no_runtime, "runtime: the handle is {0}"),
    ROW("a subgraph without output", subgraph_without_output,
        "rondo_subgraph_create: `subgraph` is NULL"),
    ROW("no subgraph to destroy", destroy_no_subgraph, "subgraph: the handle is {0}"),
    { "recording into what is gone", record_into_ended, RONDO_ERR_STALE,
      "subgraph: handle 0x%H is stale, its object was destroyed" },
    ROW("an edge in a buffer", edge_in_a_buffer, "subgraph: handle 0x%H is buffer's"),
    ROW("DOT without a writer", dot_without_writer, "rondo_subgraph_write_dot: `write` is NULL"),
};
const struct bad_table bad_machine = { "machine", BAD_CALL, machine,
                                       sizeof machine / sizeof *machine };
