/* SPDX-License-Identifier: BSD-3-Clause */
/* A runtime with a device, made for tests or OpenCL's, and what tests do with it. */
#include "tests/support/device_kit.h"

#include "tests/engine/engine_util.h"
#include "tests/support/fake_device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t odd = 6364136223846793005u;

const char *const kit_names[KIT_BACKENDS] = { "fake", "opencl" };

/* ---- what nodes do */

void kit_do(enum kit_op op, uint64_t *u, const uint64_t *v, uint64_t value, uint64_t first,
            uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        switch (op) {
        case KIT_PUT: u[i] = value + i; break;
        case KIT_MIX: u[i] = u[i] * odd + value; break;
        case KIT_ADD: u[i] += v[i]; break;
        default: break;
        }
}

static const char source[] =
    "kernel void put(global ulong *u, ulong value, ulong first)\n"
    "{ ulong i = first + get_global_id(0); u[i] = value + i; }\n"
    "kernel void put_from(global ulong *u, global const ulong *value, ulong first)\n"
    "{ ulong i = first + get_global_id(0); u[i] = *value + i; }\n"
    "kernel void stir(global ulong *u, ulong value, ulong first)\n"
    "{ ulong i = first + get_global_id(0); u[i] = u[i] * 6364136223846793005ul + value; }\n"
    "kernel void stir_from(global ulong *u, global const ulong *value, ulong first)\n"
    "{ ulong i = first + get_global_id(0); u[i] = u[i] * 6364136223846793005ul + *value; }\n"
    "kernel void add(global ulong *u, global const ulong *v, ulong first)\n"
    "{ ulong i = first + get_global_id(0); u[i] += v[i]; }\n";

static void run_fake(enum kit_op op, const struct fake_call *c)
{
    uint64_t first, value = 0;
    memcpy(&first, c->arg[2], sizeof first);
    if (op != KIT_ADD) /* whose second argument is where element 0 would be */
        memcpy(&value, c->arg[1], sizeof value);
    kit_do(op, c->arg[0], c->arg[1], value, first, c->global[0]);
}
static void fake_put(const struct fake_call *c) { run_fake(KIT_PUT, c); }
static void fake_mix(const struct fake_call *c) { run_fake(KIT_MIX, c); }
static void fake_add(const struct fake_call *c) { run_fake(KIT_ADD, c); }

static const struct fake_kernel kernels[] = {
    { "put", fake_put, 3 },       { "put_from", fake_put, 3 }, { "stir", fake_mix, 3 },
    { "stir_from", fake_mix, 3 }, { "add", fake_add, 3 },      { NULL, NULL, 0 },
};

struct host_arg {
    uint64_t value, first, count;
    uint32_t op, has_param;
};

static int host_task(rondo_task *self, const void *arg)
{
    const struct host_arg *a = arg;
    uint64_t value = a->value;
    if (a->has_param)
        memcpy(&value, rondo_task_param(self, 0), sizeof value);
    kit_do((enum kit_op)a->op, rondo_task_write(self, 0),
           a->op == KIT_ADD ? rondo_task_read(self, 1) : NULL, value, a->first, a->count);
    return 0;
}

/* ---- runtimes */

static rondo_runtime open_opencl(const char *cpus, uint32_t devices, uint64_t bytes)
{
    char which[32] = "opencl:0";
    rondo_runtime_options options = { .cpus = cpus, .devices = which, .device_bytes = bytes };
    rondo_runtime rt = { 0 };
    if (devices > 1)
        snprintf(which, sizeof which, "opencl:0/%u", devices);
    if (rondo_runtime_open(&options, &rt) == RONDO_OK)
        return rt;
    cr_assert(devices > 1 || !getenv("RONDO_TEST_NEEDS_OPENCL"), "no devices \"%s\": %s", which,
              rondo_error_message());
    fprintf(stderr, "skipped, without devices \"%s\": %s\n", which, rondo_error_message());
    return (rondo_runtime){ 0 };
}

void kit_submit_by(uint64_t seed)
{
    static const char *const ways[] = { "trial", "in-order", "command-buffer", "out-of-order" };
    setenv("RONDO_OPENCL_SUBMIT", ways[seed % 4], 1);
}

rondo_runtime kit_open_limited(int backend, uint32_t workers, uint32_t devices, uint64_t bytes)
{
    char cpus[64];
    et_cpu_list(workers, cpus, sizeof cpus);
    if (backend == KIT_OPENCL)
        return open_opencl(cpus, devices, bytes);
    return fake_open(cpus, devices, bytes ? bytes : 1 << 26, kernels);
}

rondo_runtime kit_open(int backend, uint32_t workers, uint32_t devices)
{
    return kit_open_limited(backend, workers, devices, 0);
}

/* ---- recording */

static rondo_node record_kernel(rondo_subgraph g, const struct kit_node *n,
                                const rondo_access *access, uint32_t accesses)
{
    static const char *const entries[KIT_OPS] = { "put", "stir", "add" };
    char entry[16];
    rondo_kernel_arg arg[3] = { rondo_arg_access(0), rondo_arg_value(&n->value, sizeof n->value),
                                rondo_arg_value(&n->first, sizeof n->first) };
    snprintf(entry, sizeof entry, "%s%s", entries[n->op], n->how == KIT_ADDRESS ? "_from" : "");
    if (n->op == KIT_ADD)
        arg[1] = rondo_arg_access(1);
    else if (n->how == KIT_PARAM)
        arg[1] = rondo_arg_param(n->param);
    else if (n->how == KIT_ADDRESS)
        arg[1] = rondo_arg_param_address(n->param);
    return rondo_record_kernel(g, &(rondo_kernel_desc){ .name = n->name,
                                                        .format = RONDO_OPENCL_C,
                                                        .image = source,
                                                        .image_bytes = sizeof source - 1,
                                                        .entry = entry,
                                                        .args = arg,
                                                        .arg_count = 3,
                                                        .dimensions = 1,
                                                        .global = { n->count },
                                                        .accesses = access,
                                                        .access_count = accesses,
                                                        .on = n->on,
                                                        .priority = n->priority,
                                                        .when = n->when });
}

rondo_node kit_record(rondo_subgraph g, const struct kit_node *n)
{
    const rondo_region box = rondo_span((int64_t)n->first, (int64_t)n->count);
    const rondo_access access[2] = { n->op == KIT_PUT ? rondo_write(n->u, box)
                                                      : rondo_read_write(n->u, box),
                                     rondo_read(n->v, box) };
    const struct host_arg arg = { n->value, n->first, n->count, n->op, n->how != KIT_FIXED };
    const uint32_t accesses = n->op == KIT_ADD ? 2 : 1;
    rondo_node node;
    if (n->on >= RONDO_GPU(0))
        node = record_kernel(g, n, access, accesses);
    else
        node = rondo_record_task(g, &(rondo_task_desc){ .name = n->name,
                                                        .fn = host_task,
                                                        RONDO_ARG(arg),
                                                        .accesses = access,
                                                        .access_count = accesses,
                                                        .params = &n->param,
                                                        .param_count = arg.has_param,
                                                        .on = n->on,
                                                        .priority = n->priority,
                                                        .when = n->when });
    cr_assert(node.id, "%s", rondo_error_message());
    return node;
}

/* ---- buffers */

rondo_buffer kit_buffer(rondo_runtime rt, const char *name, uint64_t count, uint64_t value,
                        rondo_memory memory)
{
    rondo_buffer b;
    void *host;
    cr_assert_eq(
        rondo_buffer_create(rt,
                            &(rondo_buffer_desc){ .name = name,
                                                  .shape = { .elem_bytes = sizeof value,
                                                             .extent = { (int64_t)count } },
                                                  .memory = memory },
                            &b),
        RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_buffer_map(b, RONDO_WRITE, &host), RONDO_OK, "%s", rondo_error_message());
    for (uint64_t i = 0; i < count; i++)
        ((uint64_t *)host)[i] = value;
    cr_assert_eq(rondo_buffer_unmap(b), RONDO_OK);
    return b;
}

rondo_slot kit_slot(rondo_subgraph g, const char *name, rondo_buffer buffer)
{
    rondo_slot s = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = name, .buffer = buffer });
    cr_assert(s.id, "%s", rondo_error_message());
    return s;
}

void kit_expect(rondo_buffer b, const uint64_t *elements, uint64_t count, const char *what)
{
    void *host;
    cr_assert_eq(rondo_buffer_map(b, RONDO_READ, &host), RONDO_OK, "%s: %s", what,
                 rondo_error_message());
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(((uint64_t *)host)[i], elements[i], "%s: element %llu is %llu, not %llu", what,
                     (unsigned long long)i, (unsigned long long)((uint64_t *)host)[i],
                     (unsigned long long)elements[i]);
    cr_assert_eq(rondo_buffer_unmap(b), RONDO_OK);
}

void kit_expect_all(rondo_buffer b, uint64_t count, uint64_t value, const char *what)
{
    void *host;
    cr_assert_eq(rondo_buffer_map(b, RONDO_READ, &host), RONDO_OK, "%s: %s", what,
                 rondo_error_message());
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(((uint64_t *)host)[i], value, "%s: element %llu is %llu, not %llu", what,
                     (unsigned long long)i, (unsigned long long)((uint64_t *)host)[i],
                     (unsigned long long)value);
    cr_assert_eq(rondo_buffer_unmap(b), RONDO_OK);
}
