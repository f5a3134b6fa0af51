/* SPDX-License-Identifier: BSD-3-Clause */
/* Execs on the host and on devices that hand buffers to each other in any order, with syncs, maps
 * and writes of others in between: never a stale byte. Against plain arrays, which know no memory
 * but one. Buffers overlap; what is out of date is overwritten. */
#include "tests/support/fake_device.h"
#include "tests/support/scale.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N = 48, BUFFERS = 4, EXECS = 8, NODES = 3, STEPS = 150, MB = 1 << 20 };
#define OK(call) cr_assert_eq((call), RONDO_OK, "%s: %s", #call, rondo_error_message())

/* ---- what nodes do: x = 3 x + k, in an order that shows */

struct work {
    int64_t first, count;
    uint64_t k;
};

static void apply(uint64_t *p, const struct work *w)
{
    for (int64_t i = w->first; i < w->first + w->count; i++)
        p[i] = 3 * p[i] + w->k;
}

static int on_host(rondo_task *self, const void *arg)
{
    apply(rondo_task_write(self, 0), arg);
    return 0;
}

static void on_device(const struct fake_call *c) { apply(c->arg[0], c->arg[1]); }
static const struct fake_kernel kernels[] = { { "apply", on_device, 2 }, { NULL, NULL, 0 } };

static void record(rondo_subgraph g, rondo_slot slot, int device, const struct work *w)
{
    const rondo_region region = { { w->first }, { w->count } };
    rondo_node n;
    if (device < 0)
        n = rondo_record_task(g,
                              &(rondo_task_desc){ .name = "on the host",
                                                  .fn = on_host,
                                                  .arg = w,
                                                  .arg_bytes = sizeof *w,
                                                  RONDO_ACCESSES(rondo_read_write(slot, region)) });
    else
        n = rondo_record_kernel(
            g, &(rondo_kernel_desc){
                   .name = "on a device",
                   .format = RONDO_OPENCL_C,
                   .image = "fake",
                   .image_bytes = 4,
                   .entry = "apply",
                   .on = RONDO_GPU((uint32_t)device),
                   RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_value(w, sizeof *w)),
                   .dimensions = 1,
                   .global = { 1 },
                   RONDO_ACCESSES(rondo_read_write(slot, region)) });
    cr_assert(n.id, "%s", rondo_error_message());
}

/* ---- the world: 0 and 1 wrap one array and overlap, 2 is a device's, 3 the runtime's own */

struct step {
    int buffer, device;
    struct work work;
};

struct world {
    uint64_t seed;
    rondo_runtime rt;
    rondo_buffer buffer[BUFFERS];
    uint64_t host[2 * N];
    uint64_t model[4 * N]; /* of `host`, of 2, of 3 */
    rondo_exec exec[EXECS];
    struct step step[EXECS][NODES];
    int steps[EXECS];
    rondo_event last;
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (w->seed >> 33) % below;
}

static uint64_t *model_of(struct world *w, int buffer)
{
    static const int at[BUFFERS] = { 0, N / 2, 2 * N, 3 * N };
    return w->model + at[buffer];
}

static void make_exec(struct world *w, int e)
{
    rondo_instantiate_options options = { .order = (uint32_t)draw(w, 2) };
    rondo_subgraph g;
    rondo_slot slot[BUFFERS] = { { 0 } };
    OK(rondo_subgraph_create(w->rt, &(rondo_subgraph_desc){ .name = "random" }, &g));
    w->steps[e] = 1 + (int)draw(w, NODES);
    for (int i = 0; i < w->steps[e]; i++) {
        struct step *s = &w->step[e][i];
        s->buffer = (int)draw(w, BUFFERS);
        s->device = (int)draw(w, 3) - 1;
        s->work.first = (int64_t)draw(w, N);
        s->work.count = 1 + (int64_t)draw(w, (uint64_t)(N - s->work.first));
        s->work.k = draw(w, 1000);
        if (!slot[s->buffer].id)
            slot[s->buffer] =
                rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = w->buffer[s->buffer] });
        cr_assert(slot[s->buffer].id, "%s", rondo_error_message());
        record(g, slot[s->buffer], s->device, &s->work);
    }
    OK(rondo_instantiate(g, &options, &w->exec[e]));
    OK(rondo_subgraph_destroy(g));
}

static void open_world(struct world *w, uint64_t seed)
{
    rondo_buffer_desc d = { .shape = { 8, { N }, { 0 } } };
    memset(w, 0, sizeof *w);
    w->seed = seed * 977 + 1;
    setenv("RONDO_DEVICE_POISON", seed % 4 ? "1" : "0", 1);
    w->rt = fake_open(NULL, 2, MB, kernels);
    fake_peers((int)(seed & 1));
    for (int i = 0; i < BUFFERS; i++) {
        static const char *const names[BUFFERS] = { "left", "right", "device", "own" };
        d.name = names[i];
        d.host = i < 2 ? w->host + i * N / 2 : NULL;
        d.memory = i == 2 ? RONDO_GPU_MEMORY(1) : 0;
        OK(rondo_buffer_create(w->rt, &d, &w->buffer[i]));
    }
    for (int e = 0; e < EXECS; e++)
        make_exec(w, e);
}

static void close_world(struct world *w)
{
    for (int e = 0; e < EXECS; e++)
        OK(rondo_exec_destroy(w->exec[e]));
    for (int i = 0; i < BUFFERS; i++)
        OK(rondo_buffer_destroy(w->buffer[i]));
    OK(rondo_runtime_close(w->rt));
    cr_assert_eq(fake_allocated(), 0);
}

/* ---- steps */

static void replay(struct world *w)
{
    const int e = (int)draw(w, EXECS);
    const uint64_t count = 1 + draw(w, 3);
    const rondo_replay_args args = { .after = &w->last, .after_count = 1, .count = count };
    OK(rondo_replay(w->exec[e], &args, &w->last));
    for (uint64_t r = 0; r < count; r++)
        for (int i = 0; i < w->steps[e]; i++)
            apply(model_of(w, w->step[e][i].buffer), &w->step[e][i].work);
}

static void rest(struct world *w) { OK(rondo_event_wait(w->last, -1)); }

static uint64_t *mapped(struct world *w, int i, uint32_t mode)
{
    void *p;
    OK(rondo_buffer_map(w->buffer[i], mode, &p));
    OK(rondo_buffer_unmap(w->buffer[i]));
    return p;
}

static void compare(struct world *w, int i, uint64_t seed, int step)
{
    const uint64_t *is = mapped(w, i, RONDO_READ), *want = model_of(w, i);
    for (int k = 0; k < N; k++)
        cr_assert_eq(is[k], want[k],
                     "seed %llu, step %d: buffer %d, element %d: 0x%llx, not 0x%llx",
                     (unsigned long long)seed, step, i, k, (unsigned long long)is[k],
                     (unsigned long long)want[k]);
}

static void write_by_map(struct world *w, int i)
{
    uint64_t *p = mapped(w, i, RONDO_READ_WRITE), *model = model_of(w, i);
    int64_t first = (int64_t)draw(w, N);
    p[first] = model[first] = draw(w, 1000);
}

static void write_by_others(struct world *w, int i)
{
    const uint32_t device = (uint32_t)draw(w, 2);
    uint64_t *model = model_of(w, i);
    int64_t first = (int64_t)draw(w, N);
    void *p;
    OK(rondo_buffer_sync(w->buffer[i], RONDO_GPU_MEMORY(device), NULL));
    OK(rondo_buffer_address(w->buffer[i], RONDO_GPU_MEMORY(device), &p));
    ((uint64_t *)p)[first] = model[first] = draw(w, 1000);
    OK(rondo_buffer_touched(w->buffer[i], RONDO_GPU_MEMORY(device)));
}

static void take_step(struct world *w, uint64_t seed, int step)
{
    const int what = (int)draw(w, 20), i = (int)draw(w, BUFFERS), e = (int)draw(w, EXECS);
    const rondo_memory memories[] = { RONDO_HOST, RONDO_GPU_MEMORY(0), RONDO_GPU_MEMORY(1) };
    rondo_event synced;
    if (what < 12) {
        replay(w);
    } else if (what < 15) {
        OK(rondo_buffer_sync(w->buffer[i], memories[draw(w, 3)], &synced));
    } else if (what == 15) {
        OK(rondo_exec_destroy(w->exec[e]));
        make_exec(w, e);
    } else {
        rest(w);
        if (what == 16)
            write_by_map(w, i);
        else if (what == 17)
            write_by_others(w, i);
        else
            compare(w, i, seed, step);
    }
}

Test(keeper_mixed, never_a_stale_byte)
{
    const char *only = getenv("SEED");
    uint64_t seed = only ? strtoull(only, NULL, 0) : 0;
    const uint64_t end = only ? seed + 1 : rd_test_scaled(100);
    for (; seed < end; seed++) {
        struct world *w = malloc(sizeof *w);
        open_world(w, seed);
        for (int step = 0; step < STEPS; step++)
            take_step(w, seed, step);
        rest(w);
        for (int i = 0; i < BUFFERS; i++)
            compare(w, i, seed, STEPS);
        close_world(w);
        free(w);
    }
}
