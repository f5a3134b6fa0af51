/* SPDX-License-Identifier: BSD-3-Clause */
/* How much work the residency pass is, and what it does where there is no memory for it. */
#include "tests/compile/residency_rig.h"

/* ---- how much work */

static uint64_t calls_of(struct rig *x)
{
    struct rd_allocator a;
    uint64_t calls;
    rd_allocator_init(&a, NULL, NULL, NULL);
    struct rd_residency_input in = { x->e,       x->w.devices,        x->w.room,
                                     x->w.peers, x->w.instance_bytes, x->w.external };
    struct rd_residency *r;
    cr_assert_eq(rd_residency(&a, &in, &r), RONDO_OK);
    calls = rd_load_relaxed(&a.calls);
    rd_residency_free(r);
    cr_assert_eq(rd_load_relaxed(&a.bytes), 0);
    return calls;
}

static uint64_t work_of(uint32_t host_nodes, uint32_t device_nodes)
{
    struct rig x;
    uint64_t calls;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", 100, 100), v = rig_fixed(&x, "v", 100, 100),
               w = rig_fixed(&x, "w", 100, 100);
    for (uint32_t i = 0; i < host_nodes; i++)
        TASK(&x, "h", -1, rondo_read_write(w, rondo_box(i % 100, i / 100 % 100, 1, 1)),
             rondo_read(u, rondo_box(0, 0, 50, 50)));
    for (uint32_t i = 0; i < device_nodes; i++)
        TASK(&x, "k", 0, rondo_read(u, rondo_whole()),
             rondo_write(v, rondo_box(i % 10 * 10, i / 10 % 10 * 10, 10, 10)));
    cr_assert_eq(rig_find(&x), RONDO_OK);
    world_free(&x.w);
    calls = calls_of(&x);
    rig_close(&x);
    return calls;
}

/* Four times the nodes are at most about four times the work. */
Test(residency, work)
{
    uint64_t some = work_of(5000, 20), more = work_of(20000, 20);
    cr_assert(more < 5 * some, "%llu and %llu", (unsigned long long)some, (unsigned long long)more);
    some = work_of(20, 1000);
    more = work_of(20, 4000);
    cr_assert(more < 5 * some, "%llu and %llu", (unsigned long long)some, (unsigned long long)more);
}

/* ---- no memory */

struct short_memory {
    uint64_t left;
};
static void *short_allocate(void *context, size_t bytes, size_t align)
{
    struct short_memory *m = context;
    void *block = NULL;
    if (!m->left)
        return NULL;
    m->left--;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align,
                          bytes ? bytes : 1)
               ? NULL
               : block;
}
static void short_release(void *context, void *block)
{
    (void)context;
    free(block);
}

/* Whichever allocation fails, it is told and nothing is left behind. */
Test(residency, no_memory)
{
    struct rig x;
    struct rd_allocator a;
    struct short_memory memory = { 0 };
    rondo_status status = RONDO_ERR_MEMORY;
    rig_open(&x, 2, 0);
    rondo_slot u = rig_fixed(&x, "u", NX, NY), b = rig_bound(&x, "b", 64),
               c = rig_bound(&x, "c", 64);
    TASK(&x, "h", -1, rondo_write(u, rondo_box(3, 3, 5, 5)), rondo_write(b, rondo_span(0, 3)));
    TASK(&x, "k", 0, rondo_read(u, rondo_whole()), rondo_write(b, rondo_span(1, 7)));
    TASK(&x, "l", 1, rondo_read(b, rondo_whole()), rondo_write(u, rondo_box(4, 4, 9, 9)),
         rondo_read_write(c, rondo_span(3, 9)));
    x.w.room[0] = 17000;
    x.w.room[1] = 5500;
    cr_assert_eq(rig_find(&x), RONDO_OK, "%s", rondo_error_message());
    world_free(&x.w);
    rd_allocator_init(&a, short_allocate, short_release, &memory);
    struct rd_residency_input in = { x.e, 2, x.w.room, x.w.peers, x.w.instance_bytes, NULL };
    for (uint64_t n = 0; status; n++) {
        struct rd_residency *r = NULL;
        memory.left = n;
        status = rd_residency(&a, &in, &r);
        cr_assert(!status || status == RONDO_ERR_MEMORY);
        rd_residency_free(r);
        cr_assert_eq(rd_load_relaxed(&a.bytes), 0, "%llu bytes left",
                     (unsigned long long)rd_load_relaxed(&a.bytes));
    }
    rig_close(&x);
}
