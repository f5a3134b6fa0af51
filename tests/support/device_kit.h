/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of nodes on devices run on every kind of device: the one made for tests, which is always
 * there, and OpenCL's, where there are any. Kernels and host tasks do the same to arrays of
 * uint64_t. */
#ifndef TESTS_SUPPORT_DEVICE_KIT_H
#define TESTS_SUPPORT_DEVICE_KIT_H

#include <rondo/rondo.h>

enum { KIT_FAKE, KIT_OPENCL, KIT_BACKENDS };
extern const char *const kit_names[KIT_BACKENDS];

/* A runtime with `workers` workers and as many devices of a kind; {0}: this machine has no such
 * devices. */
rondo_runtime kit_open(int backend, uint32_t workers, uint32_t devices);
/* The same, `bytes` of each device's memory being for Rondo. */
rondo_runtime kit_open_limited(int backend, uint32_t workers, uint32_t devices, uint64_t bytes);
/* How runtimes opened from now on hand segments over to OpenCL devices: one of all ways. */
void kit_submit_by(uint64_t seed);

/* What a node does to the elements [first, first + count) of its slots. */
enum kit_op {
    KIT_PUT, /* u[i] = value + i */
    KIT_MIX, /* u[i] = u[i] * odd + value: not the same in another order */
    KIT_ADD, /* u[i] += v[i] */
    KIT_OPS
};
void kit_do(enum kit_op op, uint64_t *u, const uint64_t *v, uint64_t value, uint64_t first,
            uint64_t count);

/* Where a node gets its value from. */
enum kit_value { KIT_FIXED, KIT_PARAM, KIT_ADDRESS };
struct kit_node {
    const char *name;
    enum kit_op op;
    rondo_slot u, v; /* v: of KIT_ADD */
    uint64_t first, count;
    rondo_processor on; /* a CPU: a host task */
    enum kit_value how;
    uint64_t value;
    rondo_param param; /* of uint64_t, unless KIT_FIXED */
    rondo_when when;
    int32_t priority;
};
rondo_node kit_record(rondo_subgraph g, const struct kit_node *n);

/* A buffer of `count` elements, all `value` to begin with. */
rondo_buffer kit_buffer(rondo_runtime rt, const char *name, uint64_t count, uint64_t value,
                        rondo_memory memory);
rondo_slot kit_slot(rondo_subgraph g, const char *name, rondo_buffer buffer);
/* Fails the test unless the buffer has these elements. */
void kit_expect(rondo_buffer b, const uint64_t *elements, uint64_t count, const char *what);
void kit_expect_all(rondo_buffer b, uint64_t count, uint64_t value, const char *what);

#endif
