/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenCL backend under its own table: devices, kernels with every kind of argument, submissions
 * in flight, steps, times. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <string.h>

static const char image[] =
    "kernel void add(global int *a, int v) { a[get_global_id(0)] += v; }\n"
    "kernel void blend(global int *to, global const int *from, int v, int p, global const int *q,\n"
    "                local int *l)\n"
    "{\n"
    "    size_t i = get_global_id(0), k = get_local_id(0), n = get_local_size(0);\n"
    "    l[k] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[i] = 31 * to[i] + l[n - 1 - k] + v * 3 + p * 5 + q[0] * 7 + q[1] * 11;\n"
    "}\n"
    "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"
    "kernel void cell(global int *a, int w, int h)\n"
    "{\n"
    "    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    a[(z * h + y) * w + x] = 100 * z + 10 * y + x;\n"
    "}\n";

enum { N = 64 };

static struct rd_command kernel_command(struct rd_device_kernel *k,
                                        const struct rd_command_arg *arg, uint32_t args,
                                        uint64_t items)
{
    return (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                .name = "node",
                                .kernel = k,
                                .dimensions = 1,
                                .arg = arg,
                                .arg_count = args,
                                .global = { items } };
}

/* ---- devices */

Test(opencl, opens_and_tells_of_its_devices)
{
    struct rig r;
    struct rd_hardware h;
    rig_open(&r, "", 0);
    cr_assert_geq(r.ops->devices(r.backend), 1u);
    for (uint32_t i = 0; i < r.ops->devices(r.backend); i++) {
        r.ops->hardware(r.backend, i, &h);
        cr_expect(*h.name && h.memory_bytes > 1 << 20 && h.units >= 1, "%s: %llu bytes, %u units",
                  h.name, (unsigned long long)h.memory_bytes, h.units);
        cr_expect(r.ops->peers(r.backend, i, i));
    }
    rig_close(&r);
}

/* ---- kernels */

Test(opencl, kernels_take_every_kind_of_argument)
{
    static const int v = 17;
    struct rig r;
    rig_open(&r, "", 0);
    int *to = rig_memory(&r, N * sizeof *to), *from = rig_memory(&r, N * sizeof *from);
    int there[N], here[N], in[N], params[3] = { 5, 6, 7 };
    const struct rd_command_arg arg[] = {
        { .kind = RONDO_ARG_ACCESS, .place = { 0, 0 } },
        { .kind = RONDO_ARG_ACCESS, .place = { 1, 0 } },
        { .kind = RONDO_ARG_VALUE, .bytes = sizeof v, .value = &v },
        { .kind = RONDO_ARG_PARAM, .bytes = sizeof(int), .param_at = 0 },
        { .kind = RONDO_ARG_PARAM_ADDRESS, .bytes = 2 * sizeof(int), .param_at = sizeof(int) },
        { .kind = RONDO_ARG_LOCAL, .bytes = 16 * sizeof(int) },
    };
    struct rd_command c = kernel_command(rig_kernel(&r, image, "blend", 6), arg, 6, N);
    c.local[0] = 16;
    struct rd_segment *s = rig_segment(&r, &c, 1, 1, sizeof params);
    void *base[] = { to, from };
    struct rd_segment_call call = { .base = base, .params = (const char *)params };
    for (int i = 0; i < N; i++) {
        here[i] = i;
        in[i] = i * i;
    }
    rig_copy(&r, to, here, sizeof here);
    rig_copy(&r, from, in, sizeof in);
    for (int round = 0; round < 6; round++) {
        params[round % 3] += round;
        if (round % 2)
            rig_step(&r, s, &call);
        else
            rig_submit(&r, s, &call);
        rig_await(&r.progress, r.value);
        for (int i = 0; i < N; i++)
            here[i] = (int)(31u * (unsigned)here[i] + (unsigned)in[i / 16 * 16 + 15 - i % 16] +
                            (unsigned)(v * 3 + params[0] * 5 + params[1] * 7 + params[2] * 11));
        rig_copy(&r, there, to, sizeof there);
        for (int i = 0; i < N; i++)
            cr_assert_eq(there[i], here[i], "round %d, element %d: %d, should be %d", round, i,
                         there[i], here[i]);
    }
    r.ops->segment_free(s);
    r.ops->kernel_free(c.kernel);
    rig_forget(&r, to);
    rig_forget(&r, from);
    rig_close(&r);
}
