/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: tasks and their accesses. */
#include "tests/engine/bad_inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A task of which `change` is wrong. */
#define TASK(called, change)                                 \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }
/* The same with parameters, patches or nodes in lists. */
#define TASK_PARAMS(called, change)                          \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        rondo_param params[2] = { b->p, b->n };              \
        d.params = params;                                   \
        d.param_count = 2;                                   \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }
#define TASK_PATCH(called, change)                           \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        rondo_patch patch = { b->p, 0, 0, 4, 0 };            \
        d.patches = &patch;                                  \
        d.patch_count = 1;                                   \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }
#define TASK_AFTER(called, change)                           \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        rondo_node after[2] = { b->base, b->loop };          \
        d.after = after;                                     \
        d.after_count = 2;                                   \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }
#define ACCESS(called, change)                               \
    static rondo_status called(struct bad *b, int good)      \
    {                                                        \
        rondo_task_desc d = b->task;                         \
        rondo_access a = b->access;                          \
        d.accesses = &a;                                     \
        if (!good) {                                         \
            change;                                          \
        }                                                    \
        return bad_built(b, rondo_record_task(b->g, &d).id); \
    }

TASK(no_function, d.fn = NULL)
TASK(no_argument, d.arg = NULL)
TASK(no_argument_bytes, d.arg_bytes = 0)
TASK(huge_argument, d.arg_bytes = (size_t)UINT32_MAX + 1)
TASK(unknown_flag, d.flags = 64)
TASK(touches_nothing_and_something, d.flags = RONDO_NO_ACCESS)
TASK(no_accesses, (d.accesses = NULL, d.access_count = 3))
TASK(carried_too_far, (d.carried = &b->base, d.carried_count = 1, d.carried_distance = 256))
TASK(carries_nothing, d.carried_distance = 2)
TASK(carried_list_missing, d.carried_count = 1)
TASK(carried_of_another_recording,
     (d.carried = &b->other_node, d.carried_count = 1, b->shown = b->other_node.id))
TASK(no_processor, d.on = 3u << 24 | 1)
TASK(processor_beyond, d.on = RONDO_CPU(7))
TASK(negative_cost, d.cost_ns = -1)
TASK(cost_not_a_number, d.cost_ns = NAN)
TASK(infinite_cost, d.cost_ns = INFINITY)
TASK_PARAMS(params_missing, d.params = NULL)
TASK_PARAMS(param_none, params[1].id = 0)
TASK_PARAMS(param_of_another_recording, (params[0] = b->other_param, b->shown = params[0].id))
TASK_PARAMS(param_is_a_slot, (params[0].id = b->u_slot.id, b->shown = params[0].id))
TASK_PATCH(patches_missing, d.patches = NULL)
TASK_PATCH(patch_of_no_bytes, patch.bytes = 0)
TASK_PATCH(patch_reserved, patch.zero32 = 9)
TASK_PATCH(patch_beyond_parameter, (patch.from = 4, patch.bytes = 8))
TASK_PATCH(patch_beyond_argument, patch.to = 6)
TASK_PATCH(patch_overflows, patch.to = UINT32_MAX)
TASK_PATCH(patch_without_argument, (d.arg = NULL, d.arg_bytes = 0))
TASK_PATCH(patch_of_no_parameter, patch.param.id = 0)
TASK_PATCH(patch_of_a_node, (patch.param.id = b->base.id, b->shown = b->base.id))
TASK_AFTER(after_missing, d.after = NULL)
TASK_AFTER(after_none, after[1].id = 0)
TASK_AFTER(after_another_recordings, (after[0] = b->other_node, b->shown = after[0].id))
TASK_AFTER(after_a_slot, (after[1].id = b->u_slot.id, b->shown = after[1].id))

static rondo_status no_description(struct bad *b, int good)
{
    return bad_built(b, rondo_record_task_sized(b->g, good ? &b->task : NULL, sizeof b->task).id);
}

/* A caller built against a later header uses a field that this library does not know. */
static rondo_status later_field(struct bad *b, int good)
{
    struct {
        rondo_task_desc d;
        uint64_t later;
    } wide = { b->task, good ? 0 : 1 };
    (void)snprintf(b->expected, sizeof b->expected,
                   "rondo_task_desc of %zu bytes: byte %zu is set, this library knows %zu bytes",
                   sizeof wide, sizeof wide.d, sizeof wide.d);
    return bad_built(b, rondo_record_task_sized(b->g, &wide.d, sizeof wide).id);
}

static const struct bad_case tasks[] = {
    { "no description", no_description, RONDO_ERR_INVALID, "rondo_task_desc is NULL" },
    { "a later version's field", later_field, RONDO_ERR_INVALID, NULL },
    { "no function", no_function, RONDO_ERR_INVALID, "node 'bad': fn is NULL" },
    { "argument bytes without an argument", no_argument, RONDO_ERR_INVALID,
      "node 'bad': arg is NULL and arg_bytes 8" },
    { "an argument without bytes", no_argument_bytes, RONDO_ERR_INVALID,
      "node 'bad': arg is given and arg_bytes 0" },
    { "a huge argument", huge_argument, RONDO_ERR_INVALID,
      "node 'bad': arg_bytes 4294967296 is more than 4294967295" },
    { "an unknown flag", unknown_flag, RONDO_ERR_INVALID, "node 'bad': flags 0x40: unknown bits" },
    { "touches nothing and something", touches_nothing_and_something, RONDO_ERR_INVALID,
      "node 'bad': RONDO_NO_ACCESS with access_count 1" },
    { "accesses missing", no_accesses, RONDO_ERR_INVALID,
      "node 'bad': accesses is NULL, access_count 3" },
    { "carried too far", carried_too_far, RONDO_ERR_INVALID,
      "node 'bad': carried_distance 256 is more than 255" },
    { "carries nothing", carries_nothing, RONDO_ERR_INVALID,
      "node 'bad': carried_distance 2 without carried nodes" },
    { "carried list missing", carried_list_missing, RONDO_ERR_INVALID,
      "node 'bad': carried is NULL, carried_count 1" },
    { "carried from another recording", carried_of_another_recording, RONDO_ERR_INVALID,
      "node 'bad': carried[0]: handle 0x%H is no node of subgraph 'step'" },
    { "no processor", no_processor, RONDO_ERR_INVALID,
      "node 'bad': on is 0x3000001, not a processor" },
    { "a processor beyond the last", processor_beyond, RONDO_ERR_INVALID,
      "node 'bad': on is RONDO_CPU(7), the runtime has 2 processors" },
    { "a negative cost", negative_cost, RONDO_ERR_INVALID, "node 'bad': cost_ns is -1" },
    { "a cost that is no number", cost_not_a_number, RONDO_ERR_INVALID,
      "node 'bad': cost_ns is nan" },
    { "an infinite cost", infinite_cost, RONDO_ERR_INVALID, "node 'bad': cost_ns is inf" },
    { "params missing", params_missing, RONDO_ERR_INVALID,
      "node 'bad': params is NULL, param_count 2" },
    { "no parameter", param_none, RONDO_ERR_INVALID,
      "node 'bad': params[1]: the parameter handle is {0}" },
    { "another recording's parameter", param_of_another_recording, RONDO_ERR_INVALID,
      "node 'bad': params[0]: handle 0x%H is no parameter of subgraph 'step'" },
    { "a slot as parameter", param_is_a_slot, RONDO_ERR_INVALID,
      "node 'bad': params[0]: handle 0x%H is no parameter of subgraph 'step'" },
    { "patches missing", patches_missing, RONDO_ERR_INVALID,
      "node 'bad': patches is NULL, patch_count 1" },
    { "a patch of no bytes", patch_of_no_bytes, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes 0, reserved field 0" },
    { "a patch's reserved field", patch_reserved, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes 4, reserved field 9" },
    { "a patch beyond its parameter", patch_beyond_parameter, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes [4, 12) of parameter 'p', which has 8" },
    { "a patch beyond the argument", patch_beyond_argument, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes [6, 10) of arg, which has 8" },
    { "a patch that overflows", patch_overflows, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes [4294967295, 4294967299) of arg, which has 8" },
    { "a patch without an argument", patch_without_argument, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: bytes [0, 4) of arg, which has 0" },
    { "a patch of no parameter", patch_of_no_parameter, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: the parameter handle is {0}" },
    { "a patch of a node", patch_of_a_node, RONDO_ERR_INVALID,
      "node 'bad': patches[0]: handle 0x%H is no parameter of subgraph 'step'" },
    { "after missing", after_missing, RONDO_ERR_INVALID,
      "node 'bad': after is NULL, after_count 2" },
    { "after nothing", after_none, RONDO_ERR_INVALID,
      "node 'bad': after[1]: the node handle is {0}" },
    { "after another recording's node", after_another_recordings, RONDO_ERR_INVALID,
      "node 'bad': after[0]: handle 0x%H is no node of subgraph 'step'" },
    { "after a slot", after_a_slot, RONDO_ERR_INVALID,
      "node 'bad': after[1]: handle 0x%H is no node of subgraph 'step'" },
};
const struct bad_table bad_tasks = { "task", BAD_BUILDER, tasks, sizeof tasks / sizeof *tasks };

ACCESS(no_slot, a.slot.id = 0)
ACCESS(slot_of_another_recording, (a.slot = b->other_slot, b->shown = a.slot.id))
ACCESS(slot_is_a_node, (a.slot.id = b->base.id, b->shown = a.slot.id))
ACCESS(slot_never_made, (a.slot.id += 1000, b->shown = a.slot.id))
ACCESS(no_mode, a.mode = 0)
ACCESS(unknown_mode, a.mode = 4)
ACCESS(unknown_access_flag, a.flags = 16)
ACCESS(reserved_access, a.zero32 = 1)
ACCESS(chunk_of_a_task, (a.flags = RONDO_CHUNK, a.region = rondo_whole()))
ACCESS(clip_and_wrap, (a.flags = RONDO_CLIP | RONDO_WRAP, a.halo[0] = 1))
ACCESS(wrap_without_halo, a.flags = RONDO_WRAP)
ACCESS(negative_first, a.region = rondo_span(-1, 4))
ACCESS(negative_count, a.region = rondo_box(0, 0, 4, -2))
ACCESS(begins_behind, a.region = rondo_span(128, 1))
ACCESS(exceeds, a.region = rondo_span(0, 130))
ACCESS(exceeds_second, a.region = rondo_box(0, 2, 4, 3))
ACCESS(region_overflows, a.region = rondo_span(1, INT64_MAX))
ACCESS(dimension_absent, a.region.first[2] = 1)
ACCESS(negative_halo, a.halo[0] = -1)
ACCESS(halo_larger_than_extent, (a.flags = RONDO_CLIP, a.halo[1] = 5))
ACCESS(halo_beyond_border, (a.region = rondo_whole(), a.halo[0] = 1))

static rondo_status second_access(struct bad *b, int good)
{
    rondo_task_desc d = b->task;
    rondo_access two[2] = { b->access, rondo_read(b->v_slot, rondo_span(60, good ? 4 : 5)) };
    d.accesses = two;
    d.access_count = 2;
    return bad_built(b, rondo_record_task(b->g, &d).id);
}

#define TO_U "node 'bad': access 0 to slot 'u': "
static const struct bad_case accesses[] = {
    { "no slot", no_slot, RONDO_ERR_INVALID, "node 'bad': access 0: the slot handle is {0}" },
    { "another recording's slot", slot_of_another_recording, RONDO_ERR_INVALID,
      "node 'bad': access 0: slot handle 0x%H is not of subgraph 'step'" },
    { "a node as slot", slot_is_a_node, RONDO_ERR_INVALID,
      "node 'bad': access 0: slot handle 0x%H is not of subgraph 'step'" },
    { "a slot never made", slot_never_made, RONDO_ERR_INVALID,
      "node 'bad': access 0: slot handle 0x%H is not of subgraph 'step'" },
    { "no mode", no_mode, RONDO_ERR_INVALID, TO_U "mode is 0" },
    { "an unknown mode", unknown_mode, RONDO_ERR_INVALID, TO_U "mode is 4" },
    { "an unknown flag", unknown_access_flag, RONDO_ERR_INVALID, TO_U "flags 0x10: unknown bits" },
    { "a reserved field", reserved_access, RONDO_ERR_INVALID,
      TO_U "reserved fields are 0, 1, not 0" },
    { "a chunk of a task", chunk_of_a_task, RONDO_ERR_INVALID,
      TO_U "RONDO_CHUNK is for rondo_record_for only" },
    { "clip and wrap", clip_and_wrap, RONDO_ERR_INVALID,
      TO_U "RONDO_CLIP and RONDO_WRAP exclude each other" },
    { "wrap without a halo", wrap_without_halo, RONDO_ERR_INVALID,
      TO_U "RONDO_WRAP without a halo" },
    { "a negative first", negative_first, RONDO_ERR_INVALID,
      TO_U "region: first -1, count 4 in dimension 0" },
    { "a negative count", negative_count, RONDO_ERR_INVALID,
      TO_U "region: first 0, count -2 in dimension 1" },
    { "a region that begins behind the end", begins_behind, RONDO_ERR_INVALID,
      TO_U "region begins at 128, extent is 128 in dimension 0" },
    { "a region beyond the end", exceeds, RONDO_ERR_INVALID,
      TO_U "region [0, 130) exceeds extent 128 in dimension 0" },
    { "a region beyond the second end", exceeds_second, RONDO_ERR_INVALID,
      TO_U "region [2, 5) exceeds extent 4 in dimension 1" },
    { "a region that overflows", region_overflows, RONDO_ERR_INVALID,
      TO_U "region [1, 9223372036854775807) exceeds extent 128 in dimension 0" },
    { "a dimension that is absent", dimension_absent, RONDO_ERR_INVALID,
      TO_U "region begins at 1, extent is 1 in dimension 2" },
    { "a negative halo", negative_halo, RONDO_ERR_INVALID,
      TO_U "halo -1 with extent 128 in dimension 0" },
    { "a halo larger than the extent", halo_larger_than_extent, RONDO_ERR_INVALID,
      TO_U "halo 5 with extent 4 in dimension 1" },
    { "a halo beyond the border", halo_beyond_border, RONDO_ERR_INVALID,
      TO_U "region [0, 128) with halo 1 exceeds extent 128 in dimension 0" },
    { "the second access", second_access, RONDO_ERR_INVALID,
      "node 'bad': access 1 to slot 'v': region [60, 65) exceeds extent 64 in dimension 0" },
};
const struct bad_table bad_accesses = { "access", BAD_BUILDER, accesses,
                                        sizeof accesses / sizeof *accesses };
