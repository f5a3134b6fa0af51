/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory at every allocation that buffers which change hands reach, once and for good: the call
 * says so and changes nothing; the same call succeeds when there is memory again, and no byte is
 * lost. */
#include "tests/engine/short_memory.h"
#include "tests/support/fake_device.h"

#include <stdlib.h>

enum { N = 24, MB = 1 << 20 };

static int bump(rondo_task *self, const void *arg)
{
    int64_t *p = rondo_task_write(self, 0);
    (void)arg;
    for (int i = 0; i < N; i++)
        p[i]++;
    return 0;
}

static void bump_on_device(const struct fake_call *c)
{
    int64_t *p = c->arg[0];
    for (int i = 0; i < N; i++)
        p[i]++;
}
static const struct fake_kernel kernels[] = { { "bump", bump_on_device, 1 }, { NULL, NULL, 0 } };

struct program {
    rondo_runtime rt;
    int64_t host[2 * N];
    rondo_buffer left, right, gpu;
    rondo_subgraph on_host, on_device, bound;
    rondo_slot host_slot, device_slot, bound_slot;
    rondo_exec host_exec, device_exec, bound_exec;
};

static void record_all(struct program *p)
{
    rondo_access a;
    rondo_node node;
    TRY_OUT(p->on_host, rondo_subgraph_create(p->rt, NULL, &p->on_host));
    TRY_OUT(p->on_device, rondo_subgraph_create(p->rt, NULL, &p->on_device));
    TRY_OUT(p->bound, rondo_subgraph_create(p->rt, NULL, &p->bound));
    TRY_HANDLE(p->on_host, p->host_slot,
               rondo_subgraph_slot(p->on_host, &(rondo_slot_desc){ .buffer = p->right }));
    TRY_HANDLE(p->on_device, p->device_slot,
               rondo_subgraph_slot(p->on_device, &(rondo_slot_desc){ .buffer = p->left }));
    TRY_HANDLE(p->bound, p->bound_slot,
               rondo_subgraph_slot(p->bound, &(rondo_slot_desc){ .shape = { 8, { N }, { 0 } } }));
    a = rondo_read_write(p->host_slot, rondo_whole());
    const rondo_task_desc task = { .fn = bump, .accesses = &a, .access_count = 1 };
    TRY_HANDLE(p->on_host, node, rondo_record_task(p->on_host, &task));
    a = rondo_read_write(p->bound_slot, rondo_whole());
    TRY_HANDLE(p->bound, node, rondo_record_task(p->bound, &task));
    const rondo_kernel_desc kernel = { .format = RONDO_OPENCL_C,
                                       .image = "fake",
                                       .image_bytes = 4,
                                       .entry = "bump",
                                       RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                                       .dimensions = 1,
                                       .global = { 1 },
                                       RONDO_ACCESSES(
                                           rondo_read_write(p->device_slot, rondo_whole())) };
    TRY_HANDLE(p->on_device, node, rondo_record_kernel(p->on_device, &kernel));
    TRY_OUT(p->host_exec, rondo_instantiate(p->on_host, NULL, &p->host_exec));
    TRY_OUT(p->device_exec, rondo_instantiate(p->on_device, NULL, &p->device_exec));
    TRY_OUT(p->bound_exec, rondo_instantiate(p->bound, NULL, &p->bound_exec));
}

static void make_buffers(struct program *p)
{
    rondo_buffer_desc d = { "left", { 8, { N }, { 0 } }, p->host, 0, NULL };
    TRY_OUT(p->left, rondo_buffer_create(p->rt, &d, &p->left));
    d = (rondo_buffer_desc){ "right", { 8, { N }, { 0 } }, p->host + N / 2, 0, NULL };
    TRY_OUT(p->right, rondo_buffer_create(p->rt, &d, &p->right));
    d = (rondo_buffer_desc){ "gpu", { 8, { N }, { 0 } }, NULL, RONDO_GPU_MEMORY(1), NULL };
    TRY_OUT(p->gpu, rondo_buffer_create(p->rt, &d, &p->gpu));
}

/* The two wraps share half of their bytes, so each takes what strayed of the other. */
static void hand_over(struct program *p)
{
    void *host, *device;
    rondo_event e;
    for (int i = 0; i < 2; i++) {
        rondo_binding b = { p->bound_slot, i ? p->gpu : p->left };
        const rondo_replay_args args = { .bindings = &b, .binding_count = 1 };
        TRY(rondo_replay_and_wait(p->device_exec, NULL, -1, NULL));
        TRY(rondo_replay_and_wait(p->host_exec, NULL, -1, NULL));
        TRY(rondo_buffer_sync(p->right, RONDO_GPU_MEMORY(1), NULL));
        TRY(rondo_buffer_sync(p->gpu, RONDO_GPU_MEMORY(0), &e));
        TRY(rondo_replay_and_wait(p->bound_exec, &args, -1, NULL));
    }
    TRY(rondo_buffer_address(p->right, RONDO_GPU_MEMORY(0), &device));
    TRY(rondo_buffer_sync(p->right, RONDO_GPU_MEMORY(0), NULL));
    for (int i = 0; i < N; i++)
        ((int64_t *)device)[i] += 100;
    TRY(rondo_buffer_touched(p->right, RONDO_GPU_MEMORY(0)));
    TRY(rondo_buffer_map(p->left, RONDO_READ_WRITE, &host));
    for (int i = 0; i < N; i++)
        cr_assert_eq(((int64_t *)host)[i], i < N / 2 ? 3 : 105, "left, element %d: %lld", i,
                     (long long)((int64_t *)host)[i]);
    ET_OK(rondo_buffer_unmap(p->left));
    TRY(rondo_buffer_map(p->right, RONDO_READ, &host));
    cr_assert_eq(((int64_t *)host)[N - 1], 102);
    ET_OK(rondo_buffer_unmap(p->right));
    TRY(rondo_buffer_map(p->gpu, RONDO_READ, &host));
    cr_assert_eq(((int64_t *)host)[N - 1], 1);
    ET_OK(rondo_buffer_unmap(p->gpu));
}

static void run(long long fail_at, int persistent)
{
    struct program *p = calloc(1, sizeof *p);
    const rondo_runtime_options o = {
        .allocate = allocate, .release = release, .context = &hooks, .devices = "none"
    };
    begin_memory(0, 0);
    ET_OK(rondo_runtime_open(&o, &p->rt));
    fake_devices(p->rt, 2, MB, kernels);
    begin_memory(fail_at, persistent);
    make_buffers(p);
    record_all(p);
    hand_over(p);
    atomic_store(&hooks.fail_at, 0);
    ET_OK(rondo_runtime_close(p->rt)); /* with all that is left */
    cr_assert_eq(atomic_load(&hooks.live), 0, "allocation %lld: %lld blocks are left", fail_at,
                 (long long)atomic_load(&hooks.live));
    cr_assert_eq(fake_allocated(), 0);
    free(p);
}

static void every_allocation(int persistent)
{
    long long at = 1;
    setenv("RONDO_DEVICE_POISON", "0", 1);
    for (; at < 20000; at++) {
        run(at, persistent);
        if (!atomic_load(&hooks.failures))
            break;
    }
    cr_assert_gt(at, 500, "only %lld allocations", at);
}

Test(keeper_memory, ends_once) { every_allocation(0); }
Test(keeper_memory, ends_for_good) { every_allocation(1); }
