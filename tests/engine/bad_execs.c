/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: instantiation, what is asked of an exec, events. */
#include "tests/engine/bad_inputs.h"

#include <stdio.h>
#include <string.h>

enum { UNTOUCHED = 0x5eed };

static rondo_status instantiate(struct bad *b, rondo_subgraph g,
                                const rondo_instantiate_options *options)
{
    rondo_exec exec = { UNTOUCHED };
    rondo_status status = rondo_instantiate(g, options, &exec);
    if (status && exec.id != UNTOUCHED)
        b->undone = "an output was written";
    return status ? status : rondo_exec_destroy(exec);
}

#define OPTIONS(called, change)                         \
    static rondo_status called(struct bad *b, int good) \
    {                                                   \
        rondo_instantiate_options o = { 0 };            \
        if (!good) {                                    \
            change;                                     \
        }                                               \
        return instantiate(b, b->g, &o);                \
    }
OPTIONS(unknown_mode, o.mode = 3)
OPTIONS(unknown_order, o.order = 3)
OPTIONS(window_too_large, o.window = 1025)
OPTIONS(tracks_too_many, (o.order = RONDO_CONCURRENT, o.tracks = 65))
OPTIONS(tracks_of_serial, o.tracks = 2)
OPTIONS(unknown_on_failure, o.on_failure = 2)
OPTIONS(concurrent_writes_fixed, o.order = RONDO_CONCURRENT)

static rondo_status later_option(struct bad *b, int good)
{
    struct {
        rondo_instantiate_options o;
        uint32_t later;
    } wide = { { 0 }, good ? 0 : 1u << 24 };
    rondo_exec exec = { UNTOUCHED };
    rondo_status status = rondo_instantiate_sized(b->g, &wide.o, sizeof wide, &exec);
    (void)snprintf(b->expected, sizeof b->expected,
                   "rondo_instantiate_options of %zu bytes: byte %zu is set, this library knows "
                   "%zu bytes",
                   sizeof wide, sizeof wide.o + 3, sizeof wide.o);
    return status ? status : rondo_exec_destroy(exec);
}

static rondo_status concurrent_fence(struct bad *b, int good)
{
    rondo_instantiate_options o = { .order = good ? RONDO_PIPELINED : RONDO_CONCURRENT };
    return instantiate(b, b->other, &o);
}

static rondo_status exec_without_output(struct bad *b, int good)
{
    rondo_exec exec;
    rondo_status status = rondo_instantiate(b->g, NULL, good ? &exec : NULL);
    return status ? status : rondo_exec_destroy(exec);
}

static rondo_status instantiate_nothing(struct bad *b, int good)
{
    return instantiate(b, good ? b->g : (rondo_subgraph){ 0 }, NULL);
}

static rondo_status instantiate_ended(struct bad *b, int good)
{
    rondo_subgraph g;
    if (good || rondo_subgraph_create(b->rt, NULL, &g) || rondo_subgraph_destroy(g))
        return RONDO_OK;
    b->shown = g.id;
    return instantiate(b, g, NULL);
}

/* ---- recordings that cannot be right */

struct recording {
    rondo_subgraph g;
    rondo_node node[4];
};

/* Tasks that touch nothing, named a to d. */
static struct recording tasks(struct bad *b, int count)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct recording r = { { 0 }, { { 0 } } };
    rondo_task_desc d = b->task;
    d.access_count = 0;
    d.accesses = NULL;
    d.flags = RONDO_NO_ACCESS;
    (void)rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "wrong" }, &r.g);
    for (int i = 0; i < count; i++) {
        d.name = names[i];
        r.node[i] = rondo_record_task(r.g, &d);
    }
    return r;
}

static rondo_status try_and_end(struct bad *b, rondo_subgraph g, uint32_t order)
{
    rondo_instantiate_options o = { .order = order };
    char message[512];
    rondo_status status = instantiate(b, g, &o);
    (void)snprintf(message, sizeof message, "%s", rondo_error_message());
    if (rondo_subgraph_status(g))
        b->undone = "the error stuck to the subgraph";
    (void)rondo_subgraph_destroy(g);
    if (strcmp(message, rondo_error_message()) != 0)
        b->undone = "calls that succeed changed the message";
    return status;
}

static rondo_status cycle(struct bad *b, int good)
{
    struct recording r = tasks(b, 4);
    (void)rondo_record_edge(r.g, r.node[0], r.node[1], 0);
    (void)rondo_record_edge(r.g, r.node[1], r.node[3], 0);
    (void)rondo_record_edge(r.g, r.node[3], r.node[2], 0);
    (void)rondo_record_edge(r.g, r.node[2], r.node[1], good ? 1 : 0);
    return try_and_end(b, r.g, RONDO_PIPELINED);
}

static rondo_status node_before_itself(struct bad *b, int good)
{
    struct recording r = tasks(b, 2);
    (void)rondo_record_edge(r.g, r.node[1], r.node[1], good ? 1 : 0);
    return try_and_end(b, r.g, RONDO_SERIAL);
}

/* Accesses order b behind a; the edge by hand wants it the other way round. */
static rondo_status edge_against_accesses(struct bad *b, int good)
{
    rondo_subgraph g;
    rondo_access access;
    rondo_task_desc d = b->task;
    (void)rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "wrong" }, &g);
    access = rondo_read_write(
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "v", .buffer = b->v }), rondo_whole());
    d.accesses = &access;
    d.name = "a";
    rondo_node first = rondo_record_task(g, &d);
    d.name = "b";
    rondo_node second = rondo_record_task(g, &d);
    (void)rondo_record_edge(g, second, first, good ? 1 : 0);
    return try_and_end(b, g, RONDO_SERIAL);
}

static rondo_status forgotten_edge(struct bad *b, int good)
{
    rondo_subgraph_desc explicit_edges = { "wrong", RONDO_EDGES_EXPLICIT };
    rondo_subgraph g;
    rondo_access access;
    rondo_task_desc d = b->task;
    (void)rondo_subgraph_create(b->rt, &explicit_edges, &g);
    access = rondo_write(rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "v", .buffer = b->v }),
                         rondo_span(0, 40));
    d.accesses = &access;
    d.name = "clear";
    rondo_node first = rondo_record_task(g, &d);
    access.mode = RONDO_READ_WRITE;
    access.region = rondo_span(30, 20);
    d.name = "add";
    rondo_node second = rondo_record_task(g, &d);
    if (good)
        (void)rondo_record_edge(g, first, second, 0);
    return try_and_end(b, g, RONDO_SERIAL);
}

static rondo_status carried_concurrent(struct bad *b, int good)
{
    struct recording r = tasks(b, 2);
    (void)rondo_record_edge(r.g, r.node[0], r.node[1], 2);
    return try_and_end(b, r.g, good ? RONDO_PIPELINED : RONDO_CONCURRENT);
}

/* What the ring's first buffer holds is needed again 300 replays later. */
static rondo_status ring_too_long(struct bad *b, int good)
{
    enum { LONG = 300 };
    rondo_buffer ring[LONG];
    rondo_subgraph g;
    rondo_task_desc d = b->task;
    rondo_access access;
    (void)rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "wrong" }, &g);
    for (int i = 0; i < LONG; i++)
        (void)rondo_buffer_create(
            b->rt, &(rondo_buffer_desc){ .name = "part", .shape = { 8, { 1 }, { 0 } } }, &ring[i]);
    rondo_slot_desc s = { .name = "long", .ring = ring, .ring_count = good ? 200 : LONG };
    access = rondo_read_write(rondo_subgraph_slot(g, &s), rondo_whole());
    d.accesses = &access;
    d.name = "a";
    (void)rondo_record_task(g, &d);
    rondo_status status = try_and_end(b, g, RONDO_PIPELINED);
    for (int i = 0; i < LONG; i++)
        (void)rondo_buffer_destroy(ring[i]);
    return status;
}

/* ---- asked of an exec */

static rondo_status destroy_no_exec(struct bad *b, int good)
{
    (void)b;
    return good ? RONDO_OK : rondo_exec_destroy((rondo_exec){ 0 });
}

static rondo_status destroy_exec_twice(struct bad *b, int good)
{
    rondo_exec exec;
    if (good || rondo_instantiate(b->g, NULL, &exec) || rondo_exec_destroy(exec))
        return RONDO_OK;
    b->shown = exec.id;
    return rondo_exec_destroy(exec);
}

static rondo_status wait_for_subgraph(struct bad *b, int good)
{
    rondo_result result = { .replay = UNTOUCHED };
    b->shown = b->g.id;
    rondo_status status = rondo_exec_wait(good ? b->exec : (rondo_exec){ b->g.id }, &result);
    if (status && result.replay != UNTOUCHED)
        b->undone = "an output was written";
    return status;
}

static rondo_status reset_nothing(struct bad *b, int good)
{
    return rondo_exec_reset(good ? b->exec : (rondo_exec){ 0 });
}

static rondo_status set_unknown_mode(struct bad *b, int good)
{
    return rondo_exec_set_mode(b->exec, good ? RONDO_AUTO : 3);
}

static rondo_status set_foreign_param(struct bad *b, int good)
{
    uint64_t value = 4;
    b->shown = b->other_param.id;
    return rondo_exec_set_param(b->exec, good ? b->p : b->other_param, &value);
}

static rondo_status set_param_null(struct bad *b, int good)
{
    uint64_t value = 4;
    return rondo_exec_set_param(b->exec, b->p, good ? &value : NULL);
}

static rondo_status info_of_foreign(struct bad *b, int good)
{
    rondo_node_info info = { .lane = UNTOUCHED };
    b->shown = b->other_node.id;
    rondo_status status = rondo_exec_node_info(b->exec, good ? b->loop : b->other_node, &info);
    if (status && info.lane != UNTOUCHED)
        b->undone = "an output was written";
    return status;
}

static rondo_status info_without_output(struct bad *b, int good)
{
    rondo_node_info info;
    return rondo_exec_node_info(b->exec, b->base, good ? &info : NULL);
}

static rondo_status counts_without_output(struct bad *b, int good)
{
    rondo_exec_counts counts;
    return rondo_exec_count(b->exec, good ? &counts : NULL);
}

static void swallow(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static rondo_status describe_without_writer(struct bad *b, int good)
{
    return rondo_exec_describe(b->exec, good ? swallow : NULL, NULL);
}

/* ---- events */

static rondo_event past_event(struct bad *b)
{
    uint32_t step = 0;
    rondo_value value;
    rondo_binding binding[2];
    rondo_replay_args args = bad_args(b, &value, binding, &step);
    rondo_event event = { 0, 0 };
    if (!rondo_replay(b->exec, &args, &event))
        (void)rondo_event_wait(event, -1);
    return event;
}

static rondo_status wait_for_no_event(struct bad *b, int good)
{
    rondo_event event = { 0xabcdef, 7 };
    return rondo_event_wait(good ? past_event(b) : event, 0);
}

static rondo_status wait_for_future(struct bad *b, int good)
{
    rondo_event event = past_event(b);
    if (!good)
        event.count += 1000;
    (void)snprintf(b->expected, sizeof b->expected, "event {0x%llx, %llu} is not complete",
                   (unsigned long long)event.source, (unsigned long long)event.count);
    return rondo_event_wait(event, 0);
}

static rondo_status result(struct bad *b, rondo_event event)
{
    rondo_result r = { .replay = UNTOUCHED };
    rondo_status status = rondo_event_result(event, &r);
    if (status && r.replay != UNTOUCHED)
        b->undone = "an output was written";
    return status;
}

static rondo_status result_without_output(struct bad *b, int good)
{
    return good ? result(b, past_event(b)) : rondo_event_result(past_event(b), NULL);
}

static rondo_status result_of_no_event(struct bad *b, int good)
{
    return result(b, good ? past_event(b) : (rondo_event){ 0, 0 });
}

static rondo_status result_of_future(struct bad *b, int good)
{
    rondo_event event = past_event(b);
    if (!good)
        event.count += 1000;
    (void)snprintf(b->expected, sizeof b->expected, "event {0x%llx, %llu} is not complete",
                   (unsigned long long)event.source, (unsigned long long)event.count);
    return result(b, event);
}

static rondo_status result_of_destroyed(struct bad *b, int good)
{
    rondo_exec exec;
    struct recording r = tasks(b, 1);
    rondo_event event = { 0, 0 };
    rondo_status status = rondo_instantiate(r.g, NULL, &exec);
    if (!status)
        status = rondo_replay(exec, NULL, &event);
    if (!status)
        status = rondo_event_wait(event, -1);
    if (!status && !good)
        status = rondo_exec_destroy(exec);
    (void)snprintf(b->expected, sizeof b->expected,
                   "event {0x%llx, %llu}: its exec is gone, and the result with it",
                   (unsigned long long)event.source, (unsigned long long)event.count);
    if (!status)
        status = result(b, event);
    if (good)
        (void)rondo_exec_destroy(exec);
    (void)rondo_subgraph_destroy(r.g);
    return status;
}

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
static const struct bad_case execs[] = {
    ROW("an unknown mode", unknown_mode, "subgraph 'step': instantiate: mode 3 is unknown"),
    ROW("an unknown order", unknown_order, "subgraph 'step': instantiate: order 3 is unknown"),
    ROW("too large a window", window_too_large,
        "subgraph 'step': instantiate: window 1025, at most 1024"),
    ROW("too many tracks", tracks_too_many, "subgraph 'step': instantiate: tracks 65, at most 64"),
    ROW("tracks of a serial exec", tracks_of_serial,
        "subgraph 'step': instantiate: tracks 2 is for RONDO_CONCURRENT only"),
    ROW("an unknown way to go on", unknown_on_failure,
        "subgraph 'step': instantiate: on_failure 2 is unknown"),
    ROW("a later version's option", later_option, NULL),
    ROW("concurrent writes to what is not bound", concurrent_writes_fixed,
        "node 'base': access 0 writes slot 'u', which is not bound per replay, so replays cannot "
        "be RONDO_CONCURRENT"),
    ROW("concurrent and everything", concurrent_fence,
        "node 'other' touches everything, so replays cannot be RONDO_CONCURRENT: give it accesses "
        "or RONDO_NO_ACCESS"),
    ROW("concurrent and carried", carried_concurrent,
        "the edge from node 'a' to 'b' is carried over 2 replays, so replays cannot be "
        "RONDO_CONCURRENT"),
    ROW("an exec without output", exec_without_output, "rondo_instantiate: exec is NULL"),
    ROW("nothing instantiated", instantiate_nothing, "subgraph: the handle is {0}"),
    { "a subgraph that is gone", instantiate_ended, RONDO_ERR_STALE,
      "subgraph: handle 0x%H is stale, its object was destroyed" },
    ROW("a cycle", cycle, "cycle: b -> d -> c -> b"),
    ROW("a node before itself", node_before_itself, "cycle: b -> b"),
    ROW("an edge against the accesses", edge_against_accesses, "cycle: a -> b -> a"),
    ROW("a forgotten edge", forgotten_edge,
        "nodes 'clear' and 'add' are not ordered by edges; both access slot 'v', region [30, 40), "
        "and one writes"),
    ROW("a ring of 300", ring_too_long,
        "slot 'long': node 'a' depends on node 'a' of 300 replays before, more than 255"),
    ROW("no exec destroyed", destroy_no_exec, "exec: the handle is {0}"),
    { "an exec destroyed twice", destroy_exec_twice, RONDO_ERR_STALE,
      "exec: handle 0x%H is stale, its object was destroyed" },
    ROW("a wait for a subgraph", wait_for_subgraph, "exec: handle 0x%H is subgraph's"),
    ROW("no exec reset", reset_nothing, "exec: the handle is {0}"),
    ROW("an unknown mode set", set_unknown_mode, "exec 'step': set_mode: mode 3 is unknown"),
    ROW("another recording's parameter set", set_foreign_param,
        "exec 'step': set_param: handle 0x%H is no parameter of its subgraph"),
    ROW("a parameter set to nothing", set_param_null,
        "exec 'step': set_param: parameter 'p' is given NULL"),
    ROW("another recording's node looked at", info_of_foreign,
        "exec 'step': handle 0x%H is no node of its subgraph"),
    ROW("a look without output", info_without_output, "rondo_exec_node_info: info is NULL"),
    ROW("counts without output", counts_without_output, "rondo_exec_count: counts is NULL"),
    ROW("a description without writer", describe_without_writer,
        "rondo_exec_describe: write is NULL"),
    ROW("a wait for no event", wait_for_no_event, "{0xabcdef, 7} is no event of this process"),
    { "a wait for what is not submitted", wait_for_future, RONDO_ERR_AGAIN, NULL },
    ROW("a result without output", result_without_output, "rondo_event_result: result is NULL"),
    ROW("a result of no event", result_of_no_event,
        "{0x0, 0} is no event of a replay of this process"),
    { "a result not there yet", result_of_future, RONDO_ERR_AGAIN, NULL },
    { "a result of an exec that is gone", result_of_destroyed, RONDO_ERR_STALE, NULL },
};
const struct bad_table bad_execs = { "exec", BAD_CALL, execs, sizeof execs / sizeof *execs };
