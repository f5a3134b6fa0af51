/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: kernels, launches, what else runs on a device, and where slots are at the end. The
 * runtime has no devices, so the corrected calls record what is refused when it is instantiated. */
#include "tests/engine/bad_inputs.h"

#include <math.h>
#include <string.h>

static const char source[] = "kernel void scale(global double *u, double f) { }";
static const uint32_t factor = 3;
static const rondo_node no_node;

static int enqueue(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

/* A kernel on two accesses with an argument of each kind, of which `change` is wrong. */
#define KERNEL(called, change)                                                                  \
    static rondo_status called(struct bad *b, int good)                                         \
    {                                                                                           \
        rondo_access accesses[2] = { b->access, rondo_read_write(b->token, rondo_span(0, 4)) }; \
        rondo_kernel_arg args[5] = { rondo_arg_access(0), rondo_arg_value(&factor, 4),          \
                                     rondo_arg_param(b->p), rondo_arg_param_address(b->n),      \
                                     rondo_arg_local(64) };                                     \
        rondo_kernel_desc d = { .name = "bad",                                                  \
                                .format = RONDO_OPENCL_C,                                       \
                                .image = source,                                                \
                                .image_bytes = sizeof source - 1,                               \
                                .entry = "scale",                                               \
                                .args = args,                                                   \
                                .arg_count = 5,                                                 \
                                .dimensions = 2,                                                \
                                .global = { 64, 6 },                                            \
                                .local = { 8, 3 },                                              \
                                .accesses = accesses,                                           \
                                .access_count = 2,                                              \
                                .after = &b->base,                                              \
                                .after_count = 1,                                               \
                                .carried = &b->loop,                                            \
                                .carried_count = 1,                                             \
                                .on = RONDO_GPU(0),                                             \
                                .when = { b->p, b->v_slot, 4, 1 } };                            \
        if (!good) {                                                                            \
            change;                                                                             \
        }                                                                                       \
        return bad_built(b, rondo_record_kernel(b->g, &d).id);                                  \
    }
#define LAUNCH(called, change)                                 \
    static rondo_status called(struct bad *b, int good)        \
    {                                                          \
        rondo_task_desc d = b->task;                           \
        d.fn = enqueue;                                        \
        d.on = RONDO_GPU(15);                                  \
        if (!good) {                                           \
            change;                                            \
        }                                                      \
        return bad_built(b, rondo_record_launch(b->g, &d).id); \
    }
#define COPY(called, change)                                                              \
    static rondo_status called(struct bad *b, int good)                                   \
    {                                                                                     \
        rondo_move_desc d = { .name = "bad",                                              \
                              .from = rondo_access_of(b->v_slot, 0, rondo_span(0, 8)),    \
                              .to = rondo_access_of(b->u_slot, 0, rondo_box(0, 1, 8, 1)), \
                              .on = RONDO_GPU(0) };                                       \
        if (!good) {                                                                      \
            change;                                                                       \
        }                                                                                 \
        return bad_built(b, rondo_record_copy(b->g, &d).id);                              \
    }
/* What runs on CPUs only, wrongly on a device. */
#define ON_DEVICE(called, desc, record)                              \
    static rondo_status called(struct bad *b, int good)              \
    {                                                                \
        desc;                                                        \
        d.on = good ? (rondo_processor)RONDO_ANY_CPU : RONDO_GPU(2); \
        return bad_built(b, record);                                 \
    }
#define SLOT(called, desc, wrong)                              \
    static rondo_status called(struct bad *b, int good)        \
    {                                                          \
        rondo_slot_desc d = desc;                              \
        d.at_end = good ? 0 : (wrong);                         \
        return bad_built(b, rondo_subgraph_slot(b->g, &d).id); \
    }

/* ---- the kernel as a whole */

static rondo_status kernel_without_description(struct bad *b, int good)
{
    rondo_access access = b->access;
    rondo_kernel_desc d = { .format = RONDO_OPENCL_C,
                            .image = source,
                            .image_bytes = sizeof source - 1,
                            .entry = "scale",
                            .dimensions = 1,
                            .global = { 1 },
                            .accesses = &access,
                            .access_count = 1 };
    return bad_built(b, rondo_record_kernel_sized(b->g, good ? &d : NULL, sizeof d).id);
}
KERNEL(kernel_of_no_format, d.format = 0)
KERNEL(kernel_of_unknown_format, d.format = 2)
KERNEL(kernel_without_image, d.image = NULL)
KERNEL(kernel_of_empty_image, d.image_bytes = 0)
KERNEL(kernel_of_huge_image, d.image_bytes = (1u << 26) + 1)
KERNEL(kernel_with_terminator, d.image_bytes = sizeof source)
KERNEL(kernel_without_entry, d.entry = NULL)
KERNEL(kernel_of_empty_entry, d.entry = "")
KERNEL(kernel_hosted, d.flags = RONDO_HOSTED)
KERNEL(kernel_with_unknown_flags, d.flags = 0x100)
KERNEL(kernel_args_missing, d.args = NULL)
KERNEL(kernel_accesses_missing, d.accesses = NULL)
KERNEL(kernel_of_no_access, (d.accesses = NULL, d.access_count = 0, d.arg_count = 0))
KERNEL(kernel_no_access_with_some, d.flags = RONDO_NO_ACCESS)
KERNEL(kernel_carried_too_far, d.carried_distance = 256)
KERNEL(kernel_distance_alone, (d.carried_count = 0, d.carried_distance = 2))
KERNEL(kernel_after_nothing, d.after = &no_node)
KERNEL(kernel_after_missing, d.after = NULL)
KERNEL(kernel_carried_foreign, (d.carried = &b->other_node, b->shown = b->other_node.id))
KERNEL(kernel_of_infinite_cost, d.cost_ns = INFINITY)
KERNEL(kernel_on_cpu, d.on = RONDO_CPU(1))
KERNEL(kernel_on_16, d.on = RONDO_GPU(16))
KERNEL(kernel_on_what, d.on = 5)
KERNEL(kernel_in_no_phase, d.when.phase = 4)
KERNEL(kernel_under_token, d.when.flag = b->token)
KERNEL(kernel_under_foreign, (d.when.param = b->other_param, b->shown = b->other_param.id))

/* ---- accesses and arguments */

KERNEL(access_of_nothing, accesses[1].slot.id = 0)
KERNEL(access_in_no_mode, accesses[0].mode = 4)
KERNEL(access_beyond, accesses[1].region = rondo_span(8, 9))
KERNEL(access_by_chunk, accesses[0].flags = RONDO_CHUNK)
KERNEL(arg_of_no_kind, args[0].kind = 0)
KERNEL(arg_of_unknown_kind, args[3].kind = 6)
KERNEL(arg_access_beyond, args[0].index = 2)
KERNEL(arg_access_is_flag, (args[0].index = 2, d.when.flag = b->u_slot))
KERNEL(arg_of_token, args[0].index = 1)
KERNEL(arg_access_with_value, args[0].value = &factor)
KERNEL(arg_access_with_bytes, args[0].bytes = 8)
KERNEL(arg_access_with_param, args[0].param = b->p)
KERNEL(arg_value_missing, args[1].value = NULL)
KERNEL(arg_value_empty, args[1].bytes = 0)
KERNEL(arg_value_too_large, args[1].bytes = (size_t)1 << 32)
KERNEL(arg_value_with_index, args[1].index = 1)
KERNEL(arg_param_none, args[2].param.id = 0)
KERNEL(arg_param_foreign, (args[2].param = b->other_param, b->shown = b->other_param.id))
KERNEL(arg_param_is_slot, (args[3].param.id = b->u_slot.id, b->shown = b->u_slot.id))
KERNEL(arg_param_with_bytes, args[2].bytes = 8)
KERNEL(arg_local_empty, args[4].bytes = 0)
KERNEL(arg_local_with_value, args[4].value = &factor)

/* ---- work items */

KERNEL(items_in_no_dimension, d.dimensions = 0)
KERNEL(items_in_four, d.dimensions = 4)
KERNEL(items_none, d.global[1] = 0)
KERNEL(items_in_absent, d.global[2] = 2)
KERNEL(items_local_in_absent, d.local[2] = 3)
KERNEL(items_too_many, (d.global[0] = 1ull << 40, d.global[1] = 3ull << 24))
KERNEL(items_local_in_part, d.local[1] = 0)
KERNEL(items_not_divided, d.local[0] = 7)
KERNEL(items_group_larger, d.local[1] = 12)

/* ---- launches, and what else is on a device */

static rondo_status launch_without_description(struct bad *b, int good)
{
    rondo_task_desc d = b->task;
    return bad_built(b, rondo_record_launch_sized(b->g, good ? &d : NULL, sizeof d).id);
}
LAUNCH(launch_without_function, d.fn = NULL)
LAUNCH(launch_without_argument, d.arg = NULL)
LAUNCH(launch_hosted, d.flags = RONDO_HOSTED)
LAUNCH(launch_detached, d.flags = RONDO_DETACHED | RONDO_NO_ACCESS)
LAUNCH(launch_of_team, d.team = 2)
LAUNCH(launch_of_no_access, (d.accesses = NULL, d.access_count = 0))
LAUNCH(launch_no_access_with_some, d.flags = RONDO_NO_ACCESS)
LAUNCH(launch_on_cpu, d.on = RONDO_CPU(0))
LAUNCH(launch_on_16, d.on = RONDO_GPU(16))
LAUNCH(launch_that_stops, d.stop_lag = 1)
COPY(copy_on_16, d.on = RONDO_GPU(16))
COPY(copy_on_what, d.on = 3u << 24)
ON_DEVICE(task_on_device, rondo_task_desc d = b->task, rondo_record_task(b->g, &d).id)
ON_DEVICE(blocking_on_device, rondo_task_desc d = b->task;
          d.flags = RONDO_MAY_BLOCK, rondo_record_task(b->g, &d).id)
ON_DEVICE(chunks_on_device, rondo_task_desc d = b->task,
          rondo_record_for(b->g, &(rondo_for_desc){ .task = &d, .range = rondo_span(0, 8) }).id)
ON_DEVICE(allreduce_on_device,
          rondo_move_desc d = ((rondo_move_desc){
              .name = "bad",
              .from = rondo_access_of(b->v_slot, 0, rondo_whole()),
              .type = RONDO_F64,
              .op = RONDO_SUM }),
          rondo_record_allreduce(b->g, &d).id)

/* ---- where slots are at the end */

#define BOUND ((rondo_slot_desc){ .name = "bad", .shape = { 8, { 4 }, { 0 } } })
#define FIXED ((rondo_slot_desc){ .name = "bad", .buffer = b->v })
#define TOKEN ((rondo_slot_desc){ .name = "bad", .shape = { 0, { 4 }, { 0 } } })
#define TEMPORARY \
    ((rondo_slot_desc){ .name = "bad", .shape = { 8, { 4 }, { 0 } }, .flags = RONDO_TEMPORARY })
SLOT(at_end_nowhere, FIXED, 3)
SLOT(at_end_on_a_processor, FIXED, RONDO_CPU(0))
SLOT(at_end_on_16, FIXED, RONDO_GPU_MEMORY(16))
SLOT(at_end_of_temporary, TEMPORARY, RONDO_HOST)
SLOT(at_end_of_token, TOKEN, RONDO_PINNED)
SLOT(at_end_of_bound, BOUND, RONDO_GPU_MEMORY(0))

/* An inner slot that is to be in host memory at the end, mapped to one that is anywhere. */
static rondo_status at_end_not_outside(struct bad *b, int good)
{
    rondo_slot_desc d = { .name = "seen", .buffer = b->in, .at_end = RONDO_HOST };
    rondo_slot inner = rondo_subgraph_slot(b->inner, &d), outer;
    d.at_end = good ? RONDO_PINNED : 0;
    d.name = "free";
    outer = rondo_subgraph_slot(b->g, &d);
    rondo_slot_map map = { inner, outer };
    return bad_built(
        b, rondo_record_subgraph(b->g, b->inner,
                                 &(rondo_inner_desc){ .name = "bad", .map = &map, .map_count = 1 })
               .id);
}

#define ROW(name, call, message)               \
    {                                          \
        name, call, RONDO_ERR_INVALID, message \
    }
static const struct bad_case kernels[] = {
    ROW("no kernel", kernel_without_description, "rondo_kernel_desc is NULL"),
    ROW("a kernel of no format", kernel_of_no_format,
        "node 'bad': format is 0, not RONDO_OPENCL_C"),
    ROW("a kernel of unknown format", kernel_of_unknown_format,
        "node 'bad': format is 2, not RONDO_OPENCL_C"),
    ROW("a kernel without image", kernel_without_image, "node 'bad': image is NULL, its size 49"),
    ROW("a kernel of an empty image", kernel_of_empty_image,
        "node 'bad': image is given, its size 0"),
    ROW("a kernel of a huge image", kernel_of_huge_image,
        "node 'bad': image has 67108865 bytes, more than 67108864"),
    ROW("an image with its terminator", kernel_with_terminator,
        "node 'bad': image is text of 50 bytes, and byte 49 is 0 (its size does not count a "
        "terminator)"),
    ROW("a kernel without entry", kernel_without_entry, "node 'bad': entry is NULL"),
    ROW("a kernel of an empty entry", kernel_of_empty_entry, "node 'bad': entry is \"\""),
    ROW("a hosted kernel", kernel_hosted,
        "node 'bad': flags 0x1: a kernel has RONDO_NO_ACCESS or none"),
    ROW("unknown flags of a kernel", kernel_with_unknown_flags,
        "node 'bad': flags 0x100: a kernel has RONDO_NO_ACCESS or none"),
    ROW("arguments missing", kernel_args_missing, "node 'bad': args is NULL, arg_count 5"),
    ROW("accesses missing", kernel_accesses_missing,
        "node 'bad': accesses is NULL, access_count 2"),
    ROW("a kernel that touches nothing", kernel_of_no_access,
        "node 'bad': access_count is 0, a kernel names what it touches, or RONDO_NO_ACCESS"),
    ROW("RONDO_NO_ACCESS with accesses", kernel_no_access_with_some,
        "node 'bad': RONDO_NO_ACCESS with access_count 2"),
    ROW("a kernel carried too far", kernel_carried_too_far,
        "node 'bad': carried_distance 256 is more than 255"),
    ROW("a distance alone", kernel_distance_alone,
        "node 'bad': carried_distance 2 without carried nodes"),
    ROW("a kernel after nothing", kernel_after_nothing,
        "node 'bad': after[0]: the node handle is {0}"),
    ROW("a kernel after missing nodes", kernel_after_missing,
        "node 'bad': after is NULL, after_count 1"),
    ROW("a kernel carried from elsewhere", kernel_carried_foreign,
        "node 'bad': carried[0]: handle 0x%H is no node of subgraph 'step'"),
    ROW("a kernel of infinite cost", kernel_of_infinite_cost, "node 'bad': cost_ns is inf"),
    ROW("a kernel on a CPU", kernel_on_cpu,
        "node 'bad': on is RONDO_CPU(1), it runs on a device: RONDO_GPU(i), or 0"),
    ROW("a kernel on the 17th device", kernel_on_16,
        "node 'bad': on is RONDO_GPU(16), a runtime has at most 16 devices"),
    ROW("a kernel on nothing known", kernel_on_what, "node 'bad': on is 0x5, not a processor"),
    ROW("a kernel in a phase there is not", kernel_in_no_phase,
        "node 'bad': when.phase is 4, when.every 4"),
    ROW("a kernel under a token", kernel_under_token,
        "node 'bad': when.flag: slot 'token' is a token, without memory to read"),
    ROW("a kernel under another's parameter", kernel_under_foreign,
        "node 'bad': when.param: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("an access to nothing", access_of_nothing, "node 'bad': access 1: the slot handle is {0}"),
    ROW("an access in no mode", access_in_no_mode, "node 'bad': access 0 to slot 'u': mode is 4"),
    ROW("an access beyond the slot", access_beyond,
        "node 'bad': access 1 to slot 'token': region [8, 17) exceeds extent 16 in dimension 0"),
    ROW("an access by chunk", access_by_chunk,
        "node 'bad': access 0 to slot 'u': RONDO_CHUNK is for rondo_record_for only"),
    ROW("an argument of no kind", arg_of_no_kind, "node 'bad': args[0]: kind is 0"),
    ROW("an argument of unknown kind", arg_of_unknown_kind, "node 'bad': args[3]: kind is 6"),
    ROW("the third of two accesses", arg_access_beyond,
        "node 'bad': args[0]: access 2, and access_count is 2"),
    ROW("a flag's access as argument", arg_access_is_flag,
        "node 'bad': args[0]: access 2, and access_count is 2"),
    ROW("a token's address", arg_of_token,
        "node 'bad': args[0]: access 1 to slot 'token', a token without an address"),
    ROW("an access with a value", arg_access_with_value,
        "node 'bad': args[0]: value is given of RONDO_ARG_ACCESS"),
    ROW("an access with bytes", arg_access_with_bytes,
        "node 'bad': args[0]: bytes is 8 of RONDO_ARG_ACCESS"),
    ROW("an access with a parameter", arg_access_with_param,
        "node 'bad': args[0]: param is given to RONDO_ARG_ACCESS"),
    ROW("a value missing", arg_value_missing,
        "node 'bad': args[1]: value is NULL of RONDO_ARG_VALUE"),
    ROW("a value of no bytes", arg_value_empty,
        "node 'bad': args[1]: bytes is 0 of RONDO_ARG_VALUE"),
    ROW("a value of too many bytes", arg_value_too_large,
        "node 'bad': args[1]: bytes is 4294967296 of RONDO_ARG_VALUE"),
    ROW("a value with an index", arg_value_with_index,
        "node 'bad': args[1]: index is 1 of RONDO_ARG_VALUE"),
    ROW("no parameter", arg_param_none, "node 'bad': args[2]: the parameter handle is {0}"),
    ROW("another's parameter", arg_param_foreign,
        "node 'bad': args[2]: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a slot as parameter", arg_param_is_slot,
        "node 'bad': args[3]: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a parameter with bytes", arg_param_with_bytes,
        "node 'bad': args[2]: bytes is 8 of RONDO_ARG_PARAM"),
    ROW("local memory of no bytes", arg_local_empty,
        "node 'bad': args[4]: bytes is 0 of RONDO_ARG_LOCAL"),
    ROW("local memory with a value", arg_local_with_value,
        "node 'bad': args[4]: value is given of RONDO_ARG_LOCAL"),
    ROW("work items in no dimension", items_in_no_dimension,
        "node 'bad': dimensions is 0, must be 1 to 3"),
    ROW("work items in four dimensions", items_in_four,
        "node 'bad': dimensions is 4, must be 1 to 3"),
    ROW("no work items", items_none, "node 'bad': global[1] is 0"),
    ROW("work items in an absent dimension", items_in_absent,
        "node 'bad': global[2] is 2 and local[2] 0, with dimensions 2"),
    ROW("a group in an absent dimension", items_local_in_absent,
        "node 'bad': global[2] is 0 and local[2] 3, with dimensions 2"),
    ROW("too many work items", items_too_many,
        "node 'bad': global is 1099511627776 x 50331648 x 1, more than 2^63 - 1 work items"),
    ROW("a group in a part of the dimensions", items_local_in_part,
        "node 'bad': local is {8, 0, 0}: all of 2 dimensions or none"),
    ROW("a group that does not divide", items_not_divided,
        "node 'bad': local[0] 7 does not divide global[0] 64"),
    ROW("a group larger than all", items_group_larger,
        "node 'bad': local[1] 12 does not divide global[1] 6"),
    ROW("no launch", launch_without_description, "rondo_task_desc is NULL"),
    ROW("a launch without function", launch_without_function, "node 'bad': fn is NULL"),
    ROW("a launch without its argument", launch_without_argument,
        "node 'bad': arg is NULL and arg_bytes 8"),
    ROW("a hosted launch", launch_hosted,
        "node 'bad': flags 0x1: a launch has RONDO_NO_ACCESS or none"),
    ROW("a detached launch", launch_detached,
        "node 'bad': flags 0x24: a launch has RONDO_NO_ACCESS or none"),
    ROW("a launch with a team", launch_of_team,
        "node 'bad': team is 2 without RONDO_HOSTED or RONDO_SPMD"),
    ROW("a launch that touches nothing", launch_of_no_access,
        "node 'bad': access_count is 0, a launch names what it touches, or RONDO_NO_ACCESS"),
    ROW("a launch of RONDO_NO_ACCESS with accesses", launch_no_access_with_some,
        "node 'bad': RONDO_NO_ACCESS with access_count 1"),
    ROW("a launch on a CPU", launch_on_cpu,
        "node 'bad': on is RONDO_CPU(0), it runs on a device: RONDO_GPU(i), or 0"),
    ROW("a launch on the 17th device", launch_on_16,
        "node 'bad': on is RONDO_GPU(16), a runtime has at most 16 devices"),
    ROW("a launch that may stop", launch_that_stops,
        "node 'bad': stop_lag is 1 without RONDO_MAY_STOP"),
    ROW("a copy on the 17th device", copy_on_16,
        "node 'bad': on is RONDO_GPU(16), a runtime has at most 16 devices"),
    ROW("a copy on nothing known", copy_on_what, "node 'bad': on is 0x3000000, not a processor"),
};
const struct bad_table bad_kernels = { "kernels", BAD_DEVICE, kernels,
                                       sizeof kernels / sizeof *kernels };

static const struct bad_case on_devices[] = {
    ROW("a task on a device", task_on_device,
        "node 'bad': on is RONDO_GPU(2), and it runs on a CPU: on a device run kernels, launches, "
        "copies and fills"),
    ROW("a blocking task on a device", blocking_on_device,
        "node 'bad': on is 0x2000002, but with RONDO_MAY_BLOCK it runs on a thread of its own"),
    ROW("chunks on a device", chunks_on_device,
        "node 'bad': on is RONDO_GPU(2), and it runs on a CPU: on a device run kernels, launches, "
        "copies and fills"),
    ROW("an allreduce on a device", allreduce_on_device,
        "node 'bad': on is RONDO_GPU(2), and it runs on a CPU: on a device run kernels, launches, "
        "copies and fills"),
    ROW("a slot nowhere at the end", at_end_nowhere,
        "slot 'bad': at_end is 0x3, not RONDO_HOST, RONDO_PINNED or RONDO_GPU_MEMORY(i)"),
    ROW("a slot on a processor at the end", at_end_on_a_processor,
        "slot 'bad': at_end is 0x1000000, not RONDO_HOST, RONDO_PINNED or RONDO_GPU_MEMORY(i)"),
    ROW("a slot on the 17th device at the end", at_end_on_16,
        "slot 'bad': at_end is RONDO_GPU_MEMORY(16), a runtime has at most 16 devices"),
    ROW("a temporary at the end", at_end_of_temporary,
        "slot 'bad': at_end of a temporary, which holds nothing then"),
    ROW("a token at the end", at_end_of_token,
        "slot 'bad': at_end of a token, which holds nothing then"),
    ROW("a bound slot on a device at the end", at_end_of_bound,
        "slot 'bad': at_end is RONDO_GPU_MEMORY(0), but what is bound per replay is in host memory "
        "at the end"),
    ROW("a slot with an inner at_end", at_end_not_outside,
        "node 'bad': map[0]: slot 'seen' has an at_end that slot 'free' has not"),
};
const struct bad_table bad_on_devices = { "on devices", BAD_BUILDER, on_devices,
                                          sizeof on_devices / sizeof *on_devices };
