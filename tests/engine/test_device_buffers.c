/* SPDX-License-Identifier: BSD-3-Clause */
/* Two execs over one buffer, one on a device, one on the host, in turns: never a stale value. */
#include "tests/engine/engine_check.h"
#include "tests/support/device_kit.h"
#include "tests/support/scale.h"

#include <criterion/criterion.h>

enum { N = 100, REPLAYS = 10000, AT_ONCE = 250 };

static const struct kit_node does[2] = {
    { .name = "on the host", .op = KIT_MIX, .count = N, .value = 11 },
    { .name = "on the device", .op = KIT_MIX, .count = N, .value = 5 },
};

static rondo_exec exec_of(rondo_runtime rt, rondo_buffer b, int on_device)
{
    struct kit_node n = does[on_device];
    rondo_subgraph g;
    rondo_exec x;
    n.on = on_device ? RONDO_GPU(0) : RONDO_CPU(0);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = n.name }, &g));
    n.u = kit_slot(g, "u", b);
    cr_assert(kit_record(g, &n).id, "%s", rondo_error_message());
    ET_OK(rondo_instantiate(g, NULL, &x));
    ET_OK(rondo_subgraph_destroy(g));
    return x;
}

static void in_turns(int backend, rondo_memory memory)
{
    const int replays = (int)rd_test_scaled(REPLAYS);
    rondo_runtime rt = kit_open(backend, 1, 1);
    rondo_event last = { 0, 0 };
    rondo_exec exec[2];
    rondo_buffer b;
    uint64_t model[N];
    if (!rt.id)
        return;
    b = kit_buffer(rt, "u", N, 3, memory);
    for (int i = 0; i < N; i++)
        model[i] = 3;
    for (int i = 0; i < 2; i++)
        exec[i] = exec_of(rt, b, i);
    for (int i = 0; i < replays; i++) {
        const int which = (i + i / 7) % 2; /* one after the other, sometimes twice the same */
        const rondo_replay_args args = { .after = &last, .after_count = 1 };
        ET_OK(rondo_replay(exec[which], &args, &last));
        kit_do(KIT_MIX, model, NULL, does[which].value, 0, N);
        if (i % AT_ONCE == 0) {
            ET_OK(rondo_event_wait(last, -1));
            kit_expect(b, model, N, "on the way");
        }
    }
    ET_OK(rondo_event_wait(last, -1));
    kit_expect(b, model, N, kit_names[backend]);
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_exec_wait(exec[i], NULL));
        ET_OK(rondo_exec_destroy(exec[i]));
    }
    ET_OK(rondo_buffer_destroy(b));
    ET_OK(rondo_runtime_close(rt));
}

Test(device_buffers, in_turns_on_a_made_device) { in_turns(KIT_FAKE, 0); }
Test(device_buffers, in_turns_on_opencl) { in_turns(KIT_OPENCL, 0); }
Test(device_buffers, in_turns_in_device_memory) { in_turns(KIT_OPENCL, RONDO_GPU_MEMORY(0)); }
