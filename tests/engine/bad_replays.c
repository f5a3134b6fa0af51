/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: replays. */
#include "tests/engine/bad_inputs.h"

#include <stdio.h>
#include <string.h>

enum { UNTOUCHED = 0x5eed };

/* A refused replay leaves its outputs, and submits nothing. */
static rondo_status replay(struct bad *b, rondo_exec exec, const rondo_replay_args *args)
{
    rondo_event event = { UNTOUCHED, UNTOUCHED };
    rondo_result result = { .replay = UNTOUCHED };
    rondo_status status = rondo_replay(exec, args, &event), again;
    char message[512];
    if (!status)
        return rondo_event_wait(event, -1);
    (void)snprintf(message, sizeof message, "%s", rondo_error_message());
    if (event.source != UNTOUCHED || event.count != UNTOUCHED)
        b->undone = "an output was written";
    again = rondo_replay_and_wait(exec, args, -1, &result);
    if (again != status || strcmp(message, rondo_error_message()) != 0)
        b->undone = "rondo_replay_and_wait says something else";
    if (result.replay != UNTOUCHED)
        b->undone = "a result was written";
    return status;
}

#define REPLAY(called, change)                                     \
    static rondo_status called(struct bad *b, int good)            \
    {                                                              \
        uint32_t step = 0;                                         \
        rondo_exec exec = b->exec;                                 \
        rondo_event after[2] = { { 0, 0 }, { 0, 0 } };             \
        rondo_value values[2];                                     \
        rondo_binding binding[3];                                  \
        rondo_replay_args a = bad_args(b, values, binding, &step); \
        values[1] = (rondo_value){ b->p, &b->argument, 0 };        \
        binding[2] = binding[1];                                   \
        a.value_count = 2;                                         \
        a.after = after;                                           \
        a.after_count = 2;                                         \
        if (!good) {                                               \
            change;                                                \
        }                                                          \
        return replay(b, exec, &a);                                \
    }
REPLAY(no_exec, exec.id = 0)
REPLAY(buffer_as_exec, (exec.id = b->u.id, b->shown = b->u.id))
REPLAY(values_missing, a.values = NULL)
REPLAY(value_of_nothing, (values[1].param.id = 0))
REPLAY(value_of_another, (values[1].param = b->other_param, b->shown = b->other_param.id))
REPLAY(value_null, values[1].value = NULL)
REPLAY(value_not_given, (a.values = values + 1, a.value_count = 1))
REPLAY(no_value_given, (a.values = NULL, a.value_count = 0))
REPLAY(bindings_missing, a.bindings = NULL)
REPLAY(binding_not_given, a.binding_count = 1)
REPLAY(no_binding_given, a.binding_count = 0)
REPLAY(binding_of_nothing, binding[0].slot.id = 0)
REPLAY(binding_of_another, (binding[0].slot = b->other_slot, b->shown = b->other_slot.id))
REPLAY(binding_of_fixed, binding[0].slot = b->u_slot)
REPLAY(binding_of_ring, binding[0].slot = b->ring_slot)
REPLAY(bound_twice, binding[1].slot = b->in_slot)
REPLAY(binding_too_many, a.binding_count = 3)
REPLAY(bound_to_nothing, binding[1].buffer.id = 0)
REPLAY(bound_to_gone, (binding[1].buffer = b->gone, b->shown = b->gone.id))
REPLAY(bound_to_foreign, binding[1].buffer = b->foreign)
REPLAY(bound_to_other_shape, binding[1].buffer = b->narrow)
REPLAY(events_missing, a.after = NULL)
REPLAY(event_of_nowhere, after[1] = ((rondo_event){ 0x77, 3 }))
REPLAY(unknown_flag, a.flags = 4)
REPLAY(count_too_large, a.count = UINT64_MAX)
REPLAY(stride_overflows, (a.count = 1000, values[1].stride_bytes = SIZE_MAX / 2))

static rondo_status events_too_many(struct bad *b, int good)
{
    uint32_t step = 0;
    rondo_event after[65] = { { 0, 0 } };
    rondo_value value;
    rondo_binding binding[2];
    rondo_replay_args a = bad_args(b, &value, binding, &step);
    a.after = after;
    a.after_count = good ? 64 : 65;
    return replay(b, b->exec, &a);
}

/* Both are written to in one replay; the buffer of the first is that of the second, too. */
static rondo_status bound_alike(struct bad *b, int good)
{
    uint32_t step = 0;
    rondo_value value;
    rondo_binding binding[2];
    rondo_replay_args a = bad_args(b, &value, binding, &step);
    void *in = NULL;
    if (!good)
        binding[1].buffer = b->in;
    if (!rondo_buffer_map(b->in, RONDO_READ, &in))
        (void)rondo_buffer_unmap(b->in);
    (void)snprintf(b->expected, sizeof b->expected,
                   "exec 'step': slot 'out' is bound to buffer 'in', whose bytes [%p, %p) overlap "
                   "those of slot 'in', [%p, %p), and neither is declared alias_of the other",
                   in, (void *)((char *)in + 128), in, (void *)((char *)in + 128));
    return replay(b, b->exec, &a);
}

static rondo_status bound_to_a_ring(struct bad *b, int good)
{
    uint32_t step = 0;
    rondo_value value;
    rondo_binding binding[2];
    rondo_replay_args a = bad_args(b, &value, binding, &step);
    void *at = NULL;
    if (!good)
        binding[0].buffer = b->ring[1];
    if (!rondo_buffer_map(b->ring[1], RONDO_READ, &at))
        (void)rondo_buffer_unmap(b->ring[1]);
    (void)snprintf(b->expected, sizeof b->expected,
                   "exec 'step': slot 'in' is bound to buffer 'second', whose bytes [%p, %p) "
                   "overlap those of slot 'turn', [%p, %p), and neither is declared alias_of the "
                   "other",
                   at, (void *)((char *)at + 128), at, (void *)((char *)at + 128));
    return replay(b, b->exec, &a);
}

static rondo_status exec_that_is_gone(struct bad *b, int good)
{
    rondo_exec exec;
    if (good || rondo_instantiate(b->g, NULL, &exec) || rondo_exec_destroy(exec))
        return RONDO_OK;
    b->shown = exec.id;
    return replay(b, exec, NULL);
}

static rondo_status later_argument(struct bad *b, int good)
{
    struct {
        rondo_replay_args a;
        uint64_t later;
    } wide = { { 0 }, good ? 0 : 1 };
    uint32_t step = 0;
    rondo_value value;
    rondo_binding binding[2];
    wide.a = bad_args(b, &value, binding, &step);
    (void)snprintf(b->expected, sizeof b->expected,
                   "rondo_replay_args of %zu bytes: byte %zu is set, this library knows %zu bytes",
                   sizeof wide, sizeof wide.a, sizeof wide.a);
    return rondo_replay_sized(b->exec, &wide.a, sizeof wide, NULL);
}

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
static const struct bad_case replays[] = {
    ROW("no exec", no_exec, "exec: the handle is {0}"),
    ROW("a buffer as exec", buffer_as_exec, "exec: handle 0x%H is buffer's"),
    { "an exec that is gone", exec_that_is_gone, RONDO_ERR_STALE,
      "exec: handle 0x%H is stale, its object was destroyed" },
    ROW("a later version's argument", later_argument, NULL),
    ROW("values missing", values_missing, "exec 'step': value_count is 2 but values is NULL"),
    ROW("a value of no parameter", value_of_nothing,
        "exec 'step': values[1]: handle 0x0 is no parameter of its subgraph"),
    ROW("a value of another recording's", value_of_another,
        "exec 'step': values[1]: handle 0x%H is no parameter of its subgraph"),
    ROW("a value that is NULL", value_null, "exec 'step': values[1]: parameter 'p' is given NULL"),
    ROW("a value that is not given", value_not_given,
        "exec 'step': parameter 'must' has no value: it has no initial one, none was set, and "
        "this call gives none"),
    ROW("no value at all", no_value_given,
        "exec 'step': parameter 'must' has no value: it has no initial one, none was set, and "
        "this call gives none"),
    ROW("bindings missing", bindings_missing,
        "exec 'step': binding_count is 2 but bindings is NULL"),
    ROW("a binding that is not given", binding_not_given,
        "exec 'step': slot 'out' has neither buffer nor ring, and this call binds none"),
    ROW("no binding at all", no_binding_given,
        "exec 'step': slot 'in' has neither buffer nor ring, and this call binds none"),
    ROW("a binding of no slot", binding_of_nothing,
        "exec 'step': bindings[0]: handle 0x0 is no slot of its subgraph"),
    ROW("a binding of another recording's slot", binding_of_another,
        "exec 'step': bindings[0]: handle 0x%H is no slot of its subgraph"),
    ROW("a binding of a fixed slot", binding_of_fixed,
        "exec 'step': bindings[0]: slot 'u' has a buffer of its own and is not bound per replay"),
    ROW("a binding of a ring", binding_of_ring,
        "exec 'step': bindings[0]: slot 'turn' has a ring of its own and is not bound per replay"),
    ROW("a slot bound twice", bound_twice, "exec 'step': bindings[0] and [1] both bind slot 'in'"),
    ROW("a slot bound twice behind all others", binding_too_many,
        "exec 'step': bindings[1] and [2] both bind slot 'out'"),
    ROW("a slot bound to nothing", bound_to_nothing,
        "exec 'step': bindings[1]: slot 'out': buffer: the handle is {0}"),
    { "a slot bound to what is gone", bound_to_gone, RONDO_ERR_STALE,
      "exec 'step': bindings[1]: slot 'out': buffer: handle 0x%H is stale, its object was "
      "destroyed" },
    ROW("a slot bound to another runtime's buffer", bound_to_foreign,
        "exec 'step': bindings[1]: slot 'out': buffer 'foreign' is another runtime's"),
    ROW("a slot bound to another shape", bound_to_other_shape,
        "exec 'step': bindings[1]: buffer 'narrow' is 15x1x1 elements of 8 bytes, slot 'out' has "
        "16x1x1 of 8 (pitches included)"),
    ROW("two slots bound to one buffer", bound_alike, NULL),
    ROW("a slot bound to a ring's buffer", bound_to_a_ring, NULL),
    ROW("events missing", events_missing, "exec 'step': after_count is 2 but after is NULL"),
    ROW("an event of nowhere", event_of_nowhere,
        "exec 'step': after[1]: {0x77, 3} is no event of this process"),
    ROW("too many events", events_too_many,
        "exec 'step': after_count is 65, at most 64 are possible"),
    ROW("an unknown flag", unknown_flag, "exec 'step': flags 0x4: unknown bits"),
    ROW("too large a count", count_too_large,
        "exec 'step': count 18446744073709551615 is too large"),
    ROW("a stride that overflows", stride_overflows,
        "exec 'step': values[1]: 1000 values at a stride of 9223372036854775807 bytes do not fit "
        "in memory"),
};
const struct bad_table bad_replays = { "replay", BAD_CALL, replays,
                                       sizeof replays / sizeof *replays };
