/* SPDX-License-Identifier: BSD-3-Clause */
/* What the keeper's tests share: buffers of whole numbers, execs of one task, and two devices whose
 * memory a test can look into and whose copies it can hold and make fail. */
#ifndef TESTS_DEVICE_KEEPER_KIT_H
#define TESTS_DEVICE_KEEPER_KIT_H

#include "tests/support/fake_device.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, MB = 1 << 20 };
#define OK(call) cr_assert_eq((call), RONDO_OK, "%s: %s", #call, rondo_error_message())

/* ---- small helpers */

/* What is out of date stays as it is, so that a test may look at it. */
static inline rondo_runtime open_two(void)
{
    setenv("RONDO_DEVICE_POISON", "0", 1);
    return fake_open(NULL, 2, MB, NULL);
}

static inline void close_clean(rondo_runtime rt)
{
    rondo_runtime_statistics s;
    OK(rondo_runtime_drain(rt));
    OK(rondo_runtime_stats(rt, &s));
    cr_assert_eq(s.buffers, 0, "%llu buffers", (unsigned long long)s.buffers);
    cr_assert_eq(s.instances, 0, "%llu instances", (unsigned long long)s.instances);
    cr_assert_eq(s.device_bytes, 0, "%llu bytes of devices", (unsigned long long)s.device_bytes);
    cr_assert_eq(s.bytes, 0, "%llu bytes", (unsigned long long)s.bytes);
    OK(rondo_runtime_close(rt));
    cr_assert_eq(fake_allocated(), 0);
}

static inline rondo_buffer wrap(rondo_runtime rt, const char *name, int64_t *host, int64_t n)
{
    rondo_buffer b;
    OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = name, .shape = { 8, { n }, { 0 } }, .host = host }, &b));
    return b;
}

static inline int64_t *on_gpu(rondo_buffer b, uint32_t device)
{
    void *p;
    OK(rondo_buffer_address(b, RONDO_GPU_MEMORY(device), &p));
    return p;
}

static inline void sync_to(rondo_buffer b, rondo_memory memory)
{
    OK(rondo_buffer_sync(b, memory, NULL));
}

static inline int64_t *map(rondo_buffer b, uint32_t mode)
{
    void *p;
    OK(rondo_buffer_map(b, mode, &p));
    OK(rondo_buffer_unmap(b));
    return p;
}

static inline void fill(int64_t *p, int64_t n, int64_t from)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = from + i;
}

static inline void check(const int64_t *p, int64_t n, int64_t from, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(p[i], from + i, "%s: element %lld is %lld, expected %lld", what, (long long)i,
                     (long long)p[i], (long long)(from + i));
}

/* How many elements the one slot of the task has. */
static inline int64_t extent(const rondo_task *self)
{
    rondo_shape shape;
    rondo_region region;
    rondo_task_view(self, 0, &shape, &region);
    return shape.extent[0];
}

/* Each element one more. */
static inline int bump(rondo_task *self, const void *arg)
{
    int64_t *p = rondo_task_write(self, 0), n = extent(self);
    (void)arg;
    for (int64_t i = 0; i < n; i++)
        p[i]++;
    return 0;
}

/* The sum of what it reads, in *context. */
static inline int sum(rondo_task *self, const void *arg)
{
    const int64_t *p = rondo_task_read(self, 0);
    int64_t n = extent(self), s = 0;
    (void)arg;
    for (int64_t i = 0; i < n; i++)
        s += p[i];
    atomic_store((_Atomic int64_t *)rondo_task_context(self), s);
    return 0;
}

static inline int64_t sum_from(int64_t n, int64_t from) { return n * from + n * (n - 1) / 2; }

/* An exec of one task on a buffer, or on a slot bound per replay: {0}, with *slot told. */
static inline rondo_exec exec_of(rondo_runtime rt, rondo_buffer b, rondo_task_fn *fn, void *context,
                                 const rondo_instantiate_options *options, rondo_slot *slot)
{
    rondo_subgraph g;
    rondo_slot s;
    rondo_exec x;
    rondo_slot_desc d = { .name = "s", .buffer = b };
    rondo_access access;
    OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "host" }, &g));
    if (!b.id)
        d.shape = (rondo_shape){ 8, { N }, { 0 } };
    s = rondo_subgraph_slot(g, &d);
    cr_assert(s.id, "%s", rondo_error_message());
    access = (rondo_access){ .slot = s, .mode = fn == sum ? RONDO_READ : RONDO_READ_WRITE };
    cr_assert(rondo_record_task(g, &(rondo_task_desc){ .name = "step",
                                                       .fn = fn,
                                                       .context = context,
                                                       .accesses = &access,
                                                       .access_count = 1 })
                  .id,
              "%s", rondo_error_message());
    OK(rondo_instantiate(g, options, &x));
    OK(rondo_subgraph_destroy(g));
    if (slot)
        *slot = s;
    return x;
}

static inline void run(rondo_exec x) { OK(rondo_replay_and_wait(x, NULL, -1, NULL)); }

#endif
