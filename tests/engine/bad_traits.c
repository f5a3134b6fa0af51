/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: how tasks run and under which conditions, commuting and reducing accesses, slots
 * without a buffer. */
#include "tests/engine/bad_inputs.h"

/* A task of which `change` is wrong; `d.flags` is its own. */
#define TASK(called, change)                                 \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }
/* The same with a condition that is right. */
#define WHEN(called, change)                                   \
    static rondo_status called(struct bad *b, int good)        \
    {                                                          \
        rondo_task_desc d = b->task;                           \
        d.when = (rondo_when){ b->p, { b->v_slot.id }, 3, 2 }; \
        if (!good) {                                           \
            change;                                            \
        }                                                      \
        return bad_built(b, rondo_record_task(b->g, &d).id);   \
    }
/* A reducing access of which `change` is wrong. */
#define REDUCE(called, change)                                                            \
    static rondo_status called(struct bad *b, int good)                                   \
    {                                                                                     \
        rondo_access a = rondo_reduce(b->v_slot, rondo_span(0, 4), RONDO_F64, RONDO_SUM); \
        rondo_task_desc d = b->task;                                                      \
        d.accesses = &a;                                                                  \
        if (!good) {                                                                      \
            change;                                                                       \
        }                                                                                 \
        return bad_built(b, rondo_record_task(b->g, &d).id);                              \
    }
#define SLOT(called, change)                                             \
    static rondo_status called(struct bad *b, int good)                  \
    {                                                                    \
        rondo_slot_desc d = { .name = "bad",                             \
                              .shape = { 8, { 4 }, { 0 } },              \
                              .flags = RONDO_TEMPORARY | RONDO_ZEROED }; \
        if (!good) {                                                     \
            change;                                                      \
        }                                                                \
        return bad_built(b, rondo_subgraph_slot(b->g, &d).id);           \
    }
#define TOKEN(called, change)                                                   \
    static rondo_status called(struct bad *b, int good)                         \
    {                                                                           \
        rondo_slot_desc d = { .name = "bad", .shape = { 0, { 4, 4 }, { 0 } } }; \
        if (!good) {                                                            \
            change;                                                             \
        }                                                                       \
        return bad_built(b, rondo_subgraph_slot(b->g, &d).id);                  \
    }

TASK(flag_unknown, d.flags = 1u << 31)
TASK(hosted_and_spmd, d.flags = RONDO_HOSTED | RONDO_SPMD)
TASK(detached_and_hosted, d.flags = RONDO_DETACHED | RONDO_HOSTED)
TASK(detached_and_spmd, d.flags = RONDO_DETACHED | RONDO_SPMD)
TASK(detached_and_blocking, d.flags = RONDO_DETACHED | RONDO_MAY_BLOCK)
TASK(blocking_and_hosted, d.flags = RONDO_MAY_BLOCK | RONDO_HOSTED)
TASK(blocking_and_spmd, d.flags = RONDO_MAY_BLOCK | RONDO_SPMD)
TASK(blocking_on_processor, (d.flags = RONDO_MAY_BLOCK, d.on = RONDO_CPU(1)))
TASK(team_without_flag, d.team = 2)
TASK(team_of_a_detached_task, (d.flags = RONDO_DETACHED, d.team = 1))
TASK(lag_without_flag, d.stop_lag = 1)
TASK(lag_too_long, (d.flags = RONDO_MAY_STOP, d.stop_lag = 255))

WHEN(phase_beyond, d.when.phase = 3)
WHEN(phase_without_every, d.when.every = 0)
WHEN(condition_foreign, (d.when.param = b->other_param, b->shown = d.when.param.id))
WHEN(condition_is_a_slot, (d.when.param.id = b->v_slot.id, b->shown = b->v_slot.id))
WHEN(flag_foreign, (d.when.flag = b->other_slot, b->shown = d.when.flag.id))
WHEN(flag_is_a_node, (d.when.flag.id = b->base.id, b->shown = b->base.id))
WHEN(flag_of_bytes, d.when.flag = b->bytes_slot)
WHEN(flag_is_a_token, d.when.flag = b->token)

REDUCE(reduce_without_type, a.type = 0)
REDUCE(reduce_without_op, a.op = 0)
REDUCE(reduce_of_unknown_type, a.type = 5)
REDUCE(reduce_by_unknown_op, a.op = 4)
REDUCE(reduce_of_bytes, a.slot = b->bytes_slot)
REDUCE(reduce_wrapped, (a.flags = RONDO_WRAP, a.halo[0] = 1))
REDUCE(reduce_of_a_token, (a.slot = b->token, a.type = RONDO_F32))
REDUCE(type_of_a_read, a.mode = RONDO_READ)
REDUCE(op_of_a_commute, (a.mode = RONDO_COMMUTE, a.type = 0))
REDUCE(token_beyond, (a = rondo_commute(b->token, rondo_span(10, 7))))

SLOT(slot_flag_unknown, d.flags = 4)
SLOT(zeroed_alone, d.flags = RONDO_ZEROED)
SLOT(zeroed_buffer, (d.flags = RONDO_ZEROED, d.buffer = b->v))
SLOT(temporary_with_buffer, d.buffer = b->v)
SLOT(temporary_with_ring, (d.ring = b->ring, d.ring_count = 2))
SLOT(temporary_with_ring_alone, d.ring = b->ring)
SLOT(temporary_alias, d.alias_of = b->in_slot)
SLOT(temporary_without_shape, d.shape = ((rondo_shape){ 0 }))
SLOT(temporary_of_no_bytes, d.shape.elem_bytes = 0)
SLOT(alias_of_temporary, (d.flags = 0, d.alias_of = b->temporary))
SLOT(alias_of_token, (d.flags = 0, d.alias_of = b->token))
TOKEN(token_with_buffer, d.buffer = b->v)
TOKEN(token_with_ring, (d.ring = b->ring, d.ring_count = 2))
TOKEN(token_alias, d.alias_of = b->in_slot)
TOKEN(token_with_pitch, d.shape.pitch_bytes[0] = 64)
TOKEN(token_of_negative_shape, d.shape.extent[1] = -4)
TOKEN(token_with_stride, d.ring_stride = 2)

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
#define TO_V "node 'bad': access 0 to slot 'v': "
static const struct bad_case traits[] = {
    ROW("an unknown flag of a task", flag_unknown, "node 'bad': flags 0x80000000: unknown bits"),
    ROW("hosted and SPMD", hosted_and_spmd,
        "node 'bad': flags 0x3: RONDO_HOSTED and RONDO_SPMD exclude each other"),
    ROW("detached and hosted", detached_and_hosted,
        "node 'bad': flags 0x5: RONDO_DETACHED excludes RONDO_HOSTED, RONDO_SPMD and "
        "RONDO_MAY_BLOCK"),
    ROW("detached and SPMD", detached_and_spmd,
        "node 'bad': flags 0x6: RONDO_DETACHED excludes RONDO_HOSTED, RONDO_SPMD and "
        "RONDO_MAY_BLOCK"),
    ROW("detached and blocking", detached_and_blocking,
        "node 'bad': flags 0x14: RONDO_DETACHED excludes RONDO_HOSTED, RONDO_SPMD and "
        "RONDO_MAY_BLOCK"),
    ROW("blocking and hosted", blocking_and_hosted,
        "node 'bad': flags 0x11: RONDO_MAY_BLOCK excludes RONDO_HOSTED and RONDO_SPMD"),
    ROW("blocking and SPMD", blocking_and_spmd,
        "node 'bad': flags 0x12: RONDO_MAY_BLOCK excludes RONDO_HOSTED and RONDO_SPMD"),
    ROW("blocking on a processor", blocking_on_processor,
        "node 'bad': on is 0x1000001, but with RONDO_MAY_BLOCK it runs on a thread of its own"),
    ROW("a team of nobody", team_without_flag,
        "node 'bad': team is 2 without RONDO_HOSTED or RONDO_SPMD"),
    ROW("a team of a detached task", team_of_a_detached_task,
        "node 'bad': team is 1 without RONDO_HOSTED or RONDO_SPMD"),
    ROW("a lag of nothing", lag_without_flag, "node 'bad': stop_lag is 1 without RONDO_MAY_STOP"),
    ROW("a lag too long", lag_too_long, "node 'bad': stop_lag 255 is more than 254"),
    ROW("a phase beyond the last", phase_beyond, "node 'bad': when.phase is 3, when.every 3"),
    ROW("a phase of every replay", phase_without_every,
        "node 'bad': when.phase is 2, when.every 0"),
    ROW("a condition of another recording", condition_foreign,
        "node 'bad': when.param: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a slot as condition", condition_is_a_slot,
        "node 'bad': when.param: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a flag of another recording", flag_foreign,
        "node 'bad': when.flag: handle 0x%H is no slot of subgraph 'step'"),
    ROW("a node as flag", flag_is_a_node,
        "node 'bad': when.flag: handle 0x%H is no slot of subgraph 'step'"),
    ROW("a flag of one byte", flag_of_bytes,
        "node 'bad': when.flag: slot 'bytes' has elements of 1 bytes, an int32_t has 4"),
    ROW("a token as flag", flag_is_a_token,
        "node 'bad': when.flag: slot 'token' is a token, without memory to read"),
    ROW("a reduction of no type", reduce_without_type, TO_V "type is 0"),
    ROW("a reduction by nothing", reduce_without_op, TO_V "op is 0"),
    ROW("a reduction of an unknown type", reduce_of_unknown_type, TO_V "type is 5"),
    ROW("a reduction by what is unknown", reduce_by_unknown_op, TO_V "op is 4"),
    ROW("a reduction of single bytes", reduce_of_bytes,
        "node 'bad': access 0 to slot 'bytes': an element has 1 bytes, type 1 has 8"),
    ROW("a reduction that wraps", reduce_wrapped,
        TO_V "RONDO_REDUCE with RONDO_WRAP: a share is one box"),
    ROW("a reduction of a token", reduce_of_a_token,
        "node 'bad': access 0 to slot 'token': a token, with nothing to combine"),
    ROW("a type of a read", type_of_a_read, TO_V "type 1 and op 1 are for RONDO_REDUCE, mode is 1"),
    ROW("an op of a commute", op_of_a_commute,
        TO_V "type 0 and op 1 are for RONDO_REDUCE, mode is 7"),
    ROW("a token's elements beyond the last", token_beyond,
        "node 'bad': access 0 to slot 'token': region [10, 17) exceeds extent 16 in dimension 0"),
    ROW("an unknown flag of a slot", slot_flag_unknown, "slot 'bad': flags 0x4: unknown bits"),
    ROW("zeros of nothing", zeroed_alone, "slot 'bad': RONDO_ZEROED without RONDO_TEMPORARY"),
    ROW("zeros of a buffer", zeroed_buffer, "slot 'bad': RONDO_ZEROED without RONDO_TEMPORARY"),
    ROW("a temporary with a buffer", temporary_with_buffer,
        "slot 'bad': RONDO_TEMPORARY with a buffer"),
    ROW("a temporary with a ring", temporary_with_ring, "slot 'bad': RONDO_TEMPORARY with a ring"),
    ROW("a temporary with a ring of none", temporary_with_ring_alone,
        "slot 'bad': RONDO_TEMPORARY with a ring"),
    ROW("a temporary that is an alias", temporary_alias,
        "slot 'bad': RONDO_TEMPORARY with alias_of"),
    ROW("a temporary without shape", temporary_without_shape, "slot 'bad': shape: elem_bytes is 0"),
    ROW("a temporary of no bytes", temporary_of_no_bytes, "slot 'bad': shape: elem_bytes is 0"),
    ROW("an alias of a temporary", alias_of_temporary,
        "slot 'bad': alias_of: slot 'temporary' is temporary, without a buffer to share"),
    ROW("an alias of a token", alias_of_token,
        "slot 'bad': alias_of: slot 'token' is a token, without a buffer to share"),
    ROW("a token with a buffer", token_with_buffer, "slot 'bad': a token with a buffer"),
    ROW("a token with a ring", token_with_ring, "slot 'bad': a token with a ring"),
    ROW("a token that is an alias", token_alias, "slot 'bad': a token with alias_of"),
    ROW("a token with a pitch", token_with_pitch, "slot 'bad': a token with pitch_bytes 64, 0"),
    ROW("a token of negative shape", token_of_negative_shape, "slot 'bad': shape: extent[1] is -4"),
    ROW("a token with a stride", token_with_stride,
        "slot 'bad': ring_first 0 and ring_stride 2 do not fit ring_count 0"),
};
const struct bad_table bad_traits = { "traits", BAD_BUILDER, traits,
                                      sizeof traits / sizeof *traits };
