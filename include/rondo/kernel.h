/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording work for devices: kernels, and functions that enqueue on a device's queue. Copies and
 * fills (rondo_record_copy, rondo_record_fill) run on a device if their `on` says so. */
#ifndef RONDO_KERNEL_H
#define RONDO_KERNEL_H

#include <rondo/subgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an image is. */
enum { RONDO_OPENCL_C = 1 /* source text, compiled at instantiation */ };

/* What an argument of a kernel is. */
enum {
    RONDO_ARG_ACCESS = 1,        /* the address of element (0,0,0) of the slot of access `index` */
    RONDO_ARG_VALUE = 2,         /* `bytes` bytes at `value`, copied */
    RONDO_ARG_PARAM = 3,         /* this replay's value of `param`, by value */
    RONDO_ARG_PARAM_ADDRESS = 4, /* the address of a device's copy of this replay's value */
    RONDO_ARG_LOCAL = 5          /* `bytes` bytes of memory that a work group shares */
};

/* Frozen. */
typedef struct rondo_kernel_arg {
    uint32_t kind, index;
    rondo_param param;
    const void *value;
    size_t bytes;
} rondo_kernel_arg;

typedef struct rondo_kernel_desc {
    const char *name; /* copied; NULL: `entry` */
    uint64_t tag;
    uint32_t format;   /* RONDO_OPENCL_C */
    uint32_t flags;    /* RONDO_NO_ACCESS, or 0 */
    const void *image; /* copied; equal images of a subgraph are kept once */
    size_t image_bytes;
    const char *entry;            /* the kernel's name in the image */
    const char *options;          /* for the compiler, may be NULL */
    const rondo_kernel_arg *args; /* in the order of the kernel's parameters */
    uint32_t arg_count;
    uint32_t dimensions;          /* 1 to 3 */
    uint64_t global[3];           /* work items per dimension, at least 1 */
    uint64_t local[3];            /* per work group; divides `global`. All 0: the driver chooses */
    const rondo_access *accesses; /* at least one, unless RONDO_NO_ACCESS */
    uint32_t access_count;
    uint32_t after_count;
    const rondo_node *after;
    const rondo_node *carried;
    uint32_t carried_count, carried_distance;
    rondo_processor on; /* RONDO_GPU(i); 0: RONDO_GPU(0) */
    int32_t priority;
    double cost_ns;
    rondo_when when;
} rondo_kernel_desc;

/* A kernel on a device. It sees the bytes of its accesses in that device's memory, wherever they
 * were before. Whether the runtime has the device, and whether the image compiles, is found at
 * instantiation: INVALID, the message naming the node and what the compiler says first. */
RONDO_API rondo_node rondo_record_kernel_sized(rondo_subgraph subgraph,
                                               const rondo_kernel_desc *desc, size_t desc_bytes);

/* A function that is called once per replay, by a thread of Rondo's or one that waits, and enqueues
 * work on the queue that self->stream is (OpenCL: a cl_command_queue, in order). It sees device
 * addresses (rondo_task_read, rondo_task_write) and may not wait for the queue. `desc->on` is
 * RONDO_GPU(i); 0: RONDO_GPU(0). Of the flags only RONDO_NO_ACCESS is allowed; accesses are needed
 * without it. */
RONDO_API rondo_node rondo_record_launch_sized(rondo_subgraph subgraph, const rondo_task_desc *desc,
                                               size_t desc_bytes);

static inline rondo_node rondo_record_kernel(rondo_subgraph subgraph, const rondo_kernel_desc *desc)
{
    return rondo_record_kernel_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_launch(rondo_subgraph subgraph, const rondo_task_desc *desc)
{
    return rondo_record_launch_sized(subgraph, desc, sizeof *desc);
}

/* Arguments of kernels. */
static inline rondo_kernel_arg rondo_arg_access(uint32_t index)
{
    rondo_kernel_arg arg = { RONDO_ARG_ACCESS, 0, { 0 }, NULL, 0 };
    arg.index = index;
    return arg;
}
static inline rondo_kernel_arg rondo_arg_value(const void *value, size_t bytes)
{
    rondo_kernel_arg arg = { RONDO_ARG_VALUE, 0, { 0 }, NULL, 0 };
    arg.value = value;
    arg.bytes = bytes;
    return arg;
}
static inline rondo_kernel_arg rondo_arg_param(rondo_param param)
{
    rondo_kernel_arg arg = { RONDO_ARG_PARAM, 0, { 0 }, NULL, 0 };
    arg.param = param;
    return arg;
}
static inline rondo_kernel_arg rondo_arg_param_address(rondo_param param)
{
    rondo_kernel_arg arg = rondo_arg_param(param);
    arg.kind = RONDO_ARG_PARAM_ADDRESS;
    return arg;
}
static inline rondo_kernel_arg rondo_arg_local(size_t bytes)
{
    rondo_kernel_arg arg = { RONDO_ARG_LOCAL, 0, { 0 }, NULL, 0 };
    arg.bytes = bytes;
    return arg;
}
#ifndef __cplusplus
#define RONDO_KERNEL_ARGS(...)                   \
    .args = (rondo_kernel_arg[]){ __VA_ARGS__ }, \
    .arg_count = RONDO_COUNT(rondo_kernel_arg, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
