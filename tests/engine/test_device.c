/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings with nodes on OpenCL devices, from recording to result. */
#include "tests/engine/engine_util.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>

enum { N = 1000 };

static const char source[] = "kernel void scale(global double *u, double factor)"
                             "{ u[get_global_id(0)] *= factor; }\n"
                             "kernel void add(global double *u, global const double *v)"
                             "{ u[get_global_id(0)] += v[get_global_id(0)]; }\n";

static rondo_buffer new_buffer(rondo_runtime rt, double value)
{
    rondo_buffer b;
    void *host;
    cr_assert_eq(
        rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .name = "u", .shape = { sizeof(double), { N } } }, &b),
        RONDO_OK);
    cr_assert_eq(rondo_buffer_map(b, RONDO_WRITE, &host), RONDO_OK);
    for (int i = 0; i < N; i++)
        ((double *)host)[i] = value;
    rondo_buffer_unmap(b);
    return b;
}

static void expect(rondo_buffer b, double value)
{
    void *host;
    cr_assert_eq(rondo_buffer_map(b, RONDO_READ, &host), RONDO_OK, "%s", rondo_error_message());
    for (int i = 0; i < N; i++)
        cr_assert_eq(((double *)host)[i], value, "element %d is %g, not %g", i, ((double *)host)[i],
                     value);
    rondo_buffer_unmap(b);
}

static rondo_node record_scale(rondo_subgraph g, rondo_slot u, double factor, const char *name)
{
    return rondo_record_kernel(
        g, &(rondo_kernel_desc){
               .name = name,
               .format = RONDO_OPENCL_C,
               .image = source,
               .image_bytes = sizeof source - 1,
               .entry = "scale",
               RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_value(&factor, sizeof factor)),
               .dimensions = 1,
               .global = { N },
               RONDO_ACCESSES(rondo_read_write(u, rondo_whole())) });
}

Test(device, one_kernel)
{
    rondo_runtime rt = kit_open(KIT_OPENCL, 1, 1);
    rondo_buffer b;
    rondo_subgraph g;
    rondo_exec x;
    rondo_result result;
    if (!rt.id)
        return;
    b = new_buffer(rt, 1);
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &g), RONDO_OK);
    rondo_slot u = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "u", .buffer = b });
    record_scale(g, u, 2, "double");
    cr_assert_eq(rondo_instantiate(g, NULL, &x), RONDO_OK, "%s", rondo_error_message());
    for (int i = 0; i < 5; i++)
        cr_assert_eq(rondo_replay_and_wait(x, NULL, -1, &result), RONDO_OK, "%s", result.message);
    expect(b, 32);
    cr_assert_eq(rondo_exec_destroy(x), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(b), RONDO_OK);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
