/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: what is combined over ranks, waits and signals, subgraphs recorded into others,
 * counters and loops. */
#include "tests/engine/bad_inputs.h"

enum { UNTOUCHED = 0x5a };
static const rondo_node no_node;

/* An allreduce of v into itself of which `change` is wrong. */
#define ALLREDUCE(called, change)                                                      \
    static rondo_status called(struct bad *b, int good)                                \
    {                                                                                  \
        rondo_move_desc d = { .name = "bad",                                           \
                              .from = rondo_access_of(b->v_slot, 0, rondo_span(0, 8)), \
                              .type = RONDO_I64,                                       \
                              .op = RONDO_MIN };                                       \
        if (!good) {                                                                   \
            change;                                                                    \
        }                                                                              \
        return bad_built(b, rondo_record_allreduce(b->g, &d).id);                      \
    }
#define COPY(called, change)                                                              \
    static rondo_status called(struct bad *b, int good)                                   \
    {                                                                                     \
        rondo_move_desc d = { .name = "bad",                                              \
                              .from = rondo_access_of(b->v_slot, 0, rondo_span(0, 8)),    \
                              .to = rondo_access_of(b->u_slot, 0, rondo_box(0, 1, 8, 1)), \
                              .when = { b->p, b->v_slot, 4, 0 } };                        \
        if (!good) {                                                                      \
            change;                                                                       \
        }                                                                                 \
        return bad_built(b, rondo_record_copy(b->g, &d).id);                              \
    }
#define WAIT(called, change)                                 \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_sync_desc d = { .name = "bad",                 \
                              .counter = b->counter,         \
                              .first = 1,                    \
                              .step = 2,                     \
                              .after = &b->base,             \
                              .after_count = 1 };            \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_wait(b->g, &d).id); \
    }
#define EVENT(called, change)                                     \
    static rondo_status called(struct bad *b, int good)           \
    {                                                             \
        rondo_sync_desc d = { .name = "bad", .event = b->event }; \
        if (!good) {                                              \
            change;                                               \
        }                                                         \
        return bad_built(b, rondo_record_wait(b->g, &d).id);      \
    }
#define SIGNAL(called, change)                                                   \
    static rondo_status called(struct bad *b, int good)                          \
    {                                                                            \
        rondo_sync_desc d = { .name = "bad", .counter = b->counter, .step = 1 }; \
        if (!good) {                                                             \
            change;                                                              \
        }                                                                        \
        return bad_built(b, rondo_record_signal(b->g, &d).id);                   \
    }
/* `inner` recorded with a map that is right; `what`: the subgraph recorded. */
#define INNER(called, change)                                                                \
    static rondo_status called(struct bad *b, int good)                                      \
    {                                                                                        \
        rondo_slot_map map[2] = { { b->inner_v, b->v_slot }, { b->inner_token, b->token } }; \
        rondo_inner_desc d = {                                                               \
            .name = "bad", .map = map, .map_count = 2, .after = &b->base, .after_count = 1   \
        };                                                                                   \
        rondo_subgraph what = b->inner;                                                      \
        if (!good) {                                                                         \
            change;                                                                          \
        }                                                                                    \
        return bad_built(b, rondo_record_subgraph(b->g, what, &d).id);                       \
    }

ALLREDUCE(all_of_no_type, d.type = 0)
ALLREDUCE(all_by_nothing, d.op = 9)
ALLREDUCE(all_of_bytes, d.from = rondo_access_of(b->bytes_slot, 0, rondo_whole()))
ALLREDUCE(all_read_only, d.from.mode = RONDO_READ)
ALLREDUCE(all_of_a_token, d.from = rondo_access_of(b->token, 0, rondo_whole()))
ALLREDUCE(all_of_nothing, d.from.slot.id = 0)
ALLREDUCE(all_with_value, (d.value = b, d.value_bytes = 8))
ALLREDUCE(all_onto_itself, (d.to = d.from, d.to.region.first[0] = 4))
ALLREDUCE(all_of_other_counts, d.to = rondo_access_of(b->u_slot, 0, rondo_box(0, 1, 7, 1)))
ALLREDUCE(all_count_of_12_bytes, d.count = b->q)

static rondo_status all_without_description(struct bad *b, int good)
{
    rondo_move_desc d = { .from = rondo_read_write(b->v_slot, rondo_whole()),
                          .type = RONDO_F64,
                          .op = RONDO_SUM };
    return bad_built(b, rondo_record_allreduce_sized(b->g, good ? &d : NULL, sizeof d).id);
}

COPY(copy_with_type, d.type = RONDO_F64)
COPY(copy_with_op, d.op = RONDO_SUM)
COPY(copy_of_a_token, d.from = rondo_access_of(b->token, 0, rondo_span(0, 8)))
COPY(copy_to_a_token, d.to = rondo_access_of(b->token, 0, rondo_span(0, 8)))
COPY(copy_in_no_phase, d.when.phase = 4)
COPY(copy_under_foreign_flag, (d.when.flag = b->other_slot, b->shown = b->other_slot.id))

WAIT(wait_for_both, d.event = b->event)
WAIT(wait_for_nothing, d.counter.id = 0)
WAIT(wait_for_gone, (d.counter = b->gone_counter, b->shown = d.counter.id))
WAIT(wait_for_a_buffer, (d.counter.id = b->v.id, b->shown = d.counter.id))
WAIT(wait_for_foreign, (d.counter = b->foreign_counter, b->shown = d.counter.id))
WAIT(wait_after_nothing, d.after = &no_node)
WAIT(wait_after_missing, d.after = NULL)
WAIT(wait_in_no_phase, d.when.phase = 1)
EVENT(event_with_first, d.first = 1)
EVENT(event_with_step, d.step = 3)
EVENT(event_of_8_bytes, d.event = b->p)
EVENT(event_foreign, (d.event = b->other_param, b->shown = d.event.id))
SIGNAL(signal_of_event, (d.counter.id = 0, d.event = b->event))
SIGNAL(signal_of_nothing, d.counter.id = 0)
SIGNAL(signal_of_gone, (d.counter = b->gone_counter, b->shown = d.counter.id))

static rondo_status wait_without_description(struct bad *b, int good)
{
    rondo_sync_desc d = { .counter = b->counter };
    return bad_built(b, rondo_record_wait_sized(b->g, good ? &d : NULL, sizeof d).id);
}

INNER(inner_none, what.id = 0)
INNER(inner_is_a_buffer, (what.id = b->v.id, b->shown = b->v.id))
INNER(inner_is_outer, what = b->g)
INNER(map_missing, d.map = NULL)
INNER(map_inner_foreign, (map[1].inner = b->token, b->shown = b->token.id))
INNER(map_outer_foreign, (map[1].outer = b->inner_token, b->shown = b->inner_token.id))
INNER(map_inner_none, map[0].inner.id = 0)
INNER(map_other_shape, map[0].outer = b->in_slot)
INNER(map_token_to_memory, map[1].outer = b->in_slot)
INNER(map_zeroed_to_buffer, map[1] = ((rondo_slot_map){ b->inner_zeroed, b->temporary }))
INNER(map_twice, map[1] = map[0])
INNER(inner_after_another, (d.after = &b->other_node, b->shown = b->other_node.id))
INNER(inner_in_no_phase, d.when.phase = 7)
INNER(inner_under_bytes, d.when.flag = b->bytes_slot)

static rondo_status inner_with_error(struct bad *b, int good)
{
    if (good)
        rondo_subgraph_clear_error(b->inner);
    else
        (void)rondo_record_call(b->inner, "wrong", NULL, NULL);
    return bad_built(b, rondo_record_subgraph(b->g, b->inner, NULL).id);
}

static rondo_status inner_empty(struct bad *b, int good)
{
    rondo_subgraph empty;
    rondo_node node;
    if (rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "empty" }, &empty))
        return RONDO_ERR_SYSTEM;
    node = rondo_record_subgraph(b->g, good ? b->inner : empty, NULL);
    rondo_status status = bad_built(b, node.id);
    return rondo_subgraph_destroy(empty) ? RONDO_ERR_SYSTEM : status;
}

static rondo_status inner_of_another_runtime(struct bad *b, int good)
{
    rondo_subgraph far;
    rondo_node node;
    rondo_status status;
    if (rondo_subgraph_create(b->other_rt, &(rondo_subgraph_desc){ .name = "far" }, &far))
        return RONDO_ERR_SYSTEM;
    node = rondo_record_subgraph(b->g, good ? b->inner : far, NULL);
    status = bad_built(b, node.id);
    return rondo_subgraph_destroy(far) ? RONDO_ERR_SYSTEM : status;
}

/* ---- counters and loops */

static rondo_status counter_of_no_runtime(struct bad *b, int good)
{
    rondo_counter c = { UNTOUCHED };
    rondo_status status = rondo_counter_create(good ? b->rt : (rondo_runtime){ 0 }, 0, &c);
    if (status && c.id != UNTOUCHED)
        b->undone = "the output of a refused call was written";
    return status ? status : rondo_counter_destroy(c);
}

static rondo_status counter_without_output(struct bad *b, int good)
{
    rondo_counter c;
    rondo_status status = rondo_counter_create(b->rt, 0, good ? &c : NULL);
    return status ? status : rondo_counter_destroy(c);
}

static rondo_status counter_gone(struct bad *b, int good)
{
    b->shown = b->gone_counter.id;
    return rondo_counter_add(good ? b->counter : b->gone_counter, 1);
}

static rondo_status counter_raise_none(struct bad *b, int good)
{
    return rondo_counter_raise(good ? b->counter : (rondo_counter){ 0 }, 1);
}

static rondo_status counter_overflows(struct bad *b, int good)
{
    uint64_t value = 0;
    rondo_status status;
    if (rondo_counter_raise(b->counter, 10))
        return RONDO_ERR_SYSTEM;
    b->shown = b->counter.id;
    status = rondo_counter_add(b->counter, good ? UINT64_MAX - 10 : UINT64_MAX - 9);
    if (status && (rondo_counter_value(b->counter, &value) || value != 10))
        b->undone = "a refused addition changed the value";
    return status;
}

static rondo_status value_without_output(struct bad *b, int good)
{
    uint64_t value;
    return rondo_counter_value(b->counter, good ? &value : NULL);
}

static rondo_status event_without_output(struct bad *b, int good)
{
    rondo_event event;
    return rondo_counter_event(b->counter, 1, good ? &event : NULL);
}

static rondo_status destroy_counter_twice(struct bad *b, int good)
{
    b->shown = b->gone_counter.id;
    return good ? RONDO_OK : rondo_counter_destroy(b->gone_counter);
}

static rondo_status loop_of_no_runtime(struct bad *b, int good)
{
    rondo_loop loop = { UNTOUCHED };
    rondo_status status = rondo_loop_create(good ? b->rt : (rondo_runtime){ 0 }, NULL, NULL, &loop);
    if (status && loop.id != UNTOUCHED)
        b->undone = "the output of a refused call was written";
    return status ? status : rondo_loop_destroy(loop);
}

static rondo_status loop_without_output(struct bad *b, int good)
{
    rondo_loop loop;
    rondo_status status = rondo_loop_create(b->rt, NULL, NULL, good ? &loop : NULL);
    return status ? status : rondo_loop_destroy(loop);
}

static rondo_status loop_flags(struct bad *b, int good)
{
    rondo_loop loop;
    rondo_subgraph_desc d = { "bad", good ? RONDO_EDGES_EXPLICIT : 8 };
    rondo_status status = rondo_loop_create(b->rt, &d, NULL, &loop);
    return status ? status : rondo_loop_destroy(loop);
}

static rondo_status loop_none(struct bad *b, int good)
{
    (void)b;
    return good ? RONDO_OK : rondo_loop_replay((rondo_loop){ 0 }, NULL, NULL);
}

static rondo_status loop_is_exec(struct bad *b, int good)
{
    b->shown = b->exec.id;
    return good ? RONDO_OK : rondo_loop_invalidate((rondo_loop){ b->exec.id });
}

static rondo_status loop_exec_without_output(struct bad *b, int good)
{
    rondo_loop loop;
    rondo_status status;
    if (good)
        return RONDO_OK;
    if (rondo_loop_create(b->rt, NULL, NULL, &loop))
        return RONDO_ERR_SYSTEM;
    status = rondo_loop_exec(loop, NULL);
    return rondo_loop_destroy(loop) ? RONDO_ERR_SYSTEM : status;
}

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
static const struct bad_case syncs[] = {
    ROW("an allreduce without description", all_without_description, "rondo_move_desc is NULL"),
    ROW("an allreduce of no type", all_of_no_type, "node 'bad': type is 0"),
    ROW("an allreduce by what is unknown", all_by_nothing, "node 'bad': op is 9"),
    ROW("an allreduce of single bytes", all_of_bytes,
        "node 'bad': an element has 1 bytes, type 3 has 8"),
    ROW("an allreduce in place that only reads", all_read_only, "node 'bad': from: mode is 1"),
    ROW("an allreduce of a token", all_of_a_token,
        "node 'bad': from: slot 'token' is a token, without memory"),
    ROW("an allreduce of nothing", all_of_nothing, "node 'bad': from: the slot handle is {0}"),
    ROW("an allreduce with a value", all_with_value, "node 'bad': an allreduce with a value"),
    ROW("an allreduce onto itself", all_onto_itself,
        "node 'bad': from (slot 'v') and to (slot 'v') overlap"),
    ROW("an allreduce of other counts", all_of_other_counts,
        "node 'bad': from holds 8 elements in dimension 0, to holds 7"),
    ROW("an allreduce's count of 12 bytes", all_count_of_12_bytes,
        "node 'bad': count: parameter 'q' has 12 bytes, not 8, 16 or 24"),
    ROW("a copy with a type", copy_with_type, "node 'bad': type 1 and op 0 of a copy"),
    ROW("a copy with an op", copy_with_op, "node 'bad': type 0 and op 1 of a copy"),
    ROW("a copy of a token", copy_of_a_token,
        "node 'bad': from: slot 'token' is a token, without memory"),
    ROW("a copy to a token", copy_to_a_token,
        "node 'bad': to: slot 'token' is a token, without memory"),
    ROW("a copy in a phase there is not", copy_in_no_phase,
        "node 'bad': when.phase is 4, when.every 4"),
    ROW("a copy under another recording's flag", copy_under_foreign_flag,
        "node 'bad': when.flag: handle 0x%H is no slot of subgraph 'step'"),
    ROW("a wait without description", wait_without_description, "rondo_sync_desc is NULL"),
    ROW("a wait for counter and event", wait_for_both, "node 'bad': both a counter and an event"),
    ROW("a wait for nothing", wait_for_nothing, "node 'bad': counter: the handle is {0}"),
    { "a wait for a counter that is gone", wait_for_gone, RONDO_ERR_STALE,
      "node 'bad': counter: handle 0x%H is stale, its object was destroyed" },
    ROW("a wait for a buffer", wait_for_a_buffer, "node 'bad': counter: handle 0x%H is buffer's"),
    ROW("a wait for another runtime's counter", wait_for_foreign,
        "node 'bad': counter: 0x%H is of another runtime"),
    ROW("a wait after nothing", wait_after_nothing, "node 'bad': after[0]: the node handle is {0}"),
    ROW("a wait after a list missing", wait_after_missing,
        "node 'bad': after is NULL, after_count 1"),
    ROW("a wait in a phase there is not", wait_in_no_phase,
        "node 'bad': when.phase is 1, when.every 0"),
    ROW("an event from some value on", event_with_first,
        "node 'bad': first 1 and step 0 with an event"),
    ROW("an event by steps", event_with_step, "node 'bad': first 0 and step 3 with an event"),
    ROW("an event of 8 bytes", event_of_8_bytes,
        "node 'bad': event: parameter 'p' has 8 bytes, a rondo_event 16"),
    ROW("an event of another recording", event_foreign,
        "node 'bad': event: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a signal of an event", signal_of_event, "node 'bad': a signal with an event"),
    ROW("a signal of nothing", signal_of_nothing, "node 'bad': counter: the handle is {0}"),
    { "a signal of a counter that is gone", signal_of_gone, RONDO_ERR_STALE,
      "node 'bad': counter: handle 0x%H is stale, its object was destroyed" },
};
const struct bad_table bad_syncs = { "syncs", BAD_BUILDER, syncs, sizeof syncs / sizeof *syncs };

static const struct bad_case nested[] = {
    ROW("no inner subgraph", inner_none, "subgraph: the handle is {0}"),
    ROW("a buffer as inner subgraph", inner_is_a_buffer, "subgraph: handle 0x%H is buffer's"),
    ROW("the outer as inner subgraph", inner_is_outer,
        "node 'bad': subgraph 'step' is recorded into itself"),
    ROW("an inner subgraph with an error", inner_with_error,
        "node 'inner': subgraph 'inner' has an error: node 'wrong': fn is NULL"),
    ROW("an empty inner subgraph", inner_empty, "node 'empty': subgraph 'empty' has no nodes"),
    ROW("another runtime's inner subgraph", inner_of_another_runtime,
        "node 'far': subgraph 'far' is of another runtime"),
    ROW("a map missing", map_missing, "node 'bad': map is NULL, map_count 2"),
    ROW("a map of another's slot", map_inner_foreign,
        "node 'bad': map[1].inner: handle 0x%H is of another subgraph than 'inner'"),
    ROW("a map to another's slot", map_outer_foreign,
        "node 'bad': map[1].outer: handle 0x%H is of another subgraph than 'step'"),
    ROW("a map of nothing", map_inner_none, "node 'bad': map[0].inner: the slot handle is {0}"),
    ROW("a map to another shape", map_other_shape,
        "node 'bad': map[0]: slot 'v' is 64x1x1 elements of 8 bytes, slot 'in' 16x1x1 of 8 "
        "(pitches included)"),
    ROW("a map of a token to memory", map_token_to_memory,
        "node 'bad': map[1]: of slots 'token' and 'in' one is a token"),
    ROW("a map of zeros to none", map_zeroed_to_buffer,
        "node 'bad': map[1]: slot 'zeroed' is RONDO_ZEROED, slot 'temporary' is not"),
    ROW("a slot mapped twice", map_twice, "node 'bad': map[1]: slot 'v' is mapped twice"),
    ROW("an inner subgraph after another's node", inner_after_another,
        "node 'bad': after[0]: handle 0x%H is no node of subgraph 'step'"),
    ROW("an inner subgraph in a phase there is not", inner_in_no_phase,
        "node 'bad': when.phase is 7, when.every 0"),
    ROW("an inner subgraph under a flag of bytes", inner_under_bytes,
        "node 'bad': when.flag: slot 'bytes' has elements of 1 bytes, an int32_t has 4"),
};
const struct bad_table bad_nested = { "nested", BAD_BUILDER, nested,
                                      sizeof nested / sizeof *nested };

static const struct bad_case counters[] = {
    ROW("a counter of no runtime", counter_of_no_runtime, "runtime: the handle is {0}"),
    ROW("a counter without output", counter_without_output,
        "rondo_counter_create: `counter` is NULL"),
    { "a counter that is gone", counter_gone, RONDO_ERR_STALE,
      "counter: handle 0x%H is stale, its object was destroyed" },
    ROW("no counter raised", counter_raise_none, "counter: the handle is {0}"),
    ROW("a counter that overflows", counter_overflows,
        "counter 0x%H: its value 10 and 18446744073709551606 more exceed 64 bits"),
    ROW("a value without output", value_without_output, "rondo_counter_value: `value` is NULL"),
    ROW("an event without output", event_without_output, "rondo_counter_event: `event` is NULL"),
    { "a counter destroyed twice", destroy_counter_twice, RONDO_ERR_STALE,
      "counter: handle 0x%H is stale, its object was destroyed" },
    ROW("a loop of no runtime", loop_of_no_runtime, "runtime: the handle is {0}"),
    ROW("a loop without output", loop_without_output, "rondo_loop_create: `loop` is NULL"),
    ROW("unknown flags of a loop", loop_flags, "subgraph 'bad': flags 0x8: unknown bits"),
    ROW("no loop", loop_none, "loop: the handle is {0}"),
    ROW("an exec as loop", loop_is_exec, "loop: handle 0x%H is exec's"),
    ROW("a loop's exec without output", loop_exec_without_output,
        "rondo_loop_exec: `exec` is NULL"),
};
const struct bad_table bad_counters = { "counters", BAD_CALL, counters,
                                        sizeof counters / sizeof *counters };
