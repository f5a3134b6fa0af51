/* SPDX-License-Identifier: BSD-3-Clause */
/* Random accesses become boxes; their elements are compared with those found one by one. */
#include "subgraph/subgraph.h"
#include "tests/subgraph/brute.h"
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static int box_has(const rd_box *b, const int64_t at[3])
{
    int d;
    for (d = 0; d < 3; d++)
        if (at[d] < b->first[d] || at[d] >= b->first[d] + b->count[d])
            return 0;
    return 1;
}

/* A region of a slot with these extents, in any of its spellings. */
static rondo_region random_region(struct random *r, const int64_t extent[3])
{
    rondo_region region = rondo_whole();
    int d;
    for (d = 0; d < 3; d++) {
        if (random_below(r, 4) == 0)
            continue;
        region.first[d] = random_below(r, (uint32_t)extent[d]);
        region.count[d] = random_below(r, (uint32_t)(extent[d] - region.first[d]) + 1);
    }
    return region;
}

static rondo_access random_access(struct random *r, rondo_slot slot, const int64_t extent[3])
{
    rondo_access a = rondo_access_of(slot, 1 + random_below(r, 3), random_region(r, extent));
    int d;
    if (random_below(r, 3)) {
        a.flags = random_below(r, 2) ? RONDO_CLIP : RONDO_WRAP;
        for (d = 0; d < 3; d++)
            a.halo[d] = (int16_t)random_below(r, (uint32_t)extent[d] + 1);
        if (!a.halo[0] && !a.halo[1] && !a.halo[2])
            a.halo[0] = 1;
    }
    if (random_below(r, 2))
        a.flags |= RONDO_STAR;
    return a;
}

/* The recorded access against every element of the slot, and what rondo_task_view shows. */
static void compare(const struct rd_subgraph *g, const int64_t extent[3], const rondo_access *in,
                    uint64_t seed)
{
    const struct rd_access *a = &g->accesses.item[g->accesses.count - 1];
    const rd_box *hull = &g->boxes.item[a->box];
    uint32_t i;
    int64_t at[3];
    int d;
    for (at[2] = 0; at[2] < extent[2]; at[2]++)
        for (at[1] = 0; at[1] < extent[1]; at[1]++)
            for (at[0] = 0; at[0] < extent[0]; at[0]++) {
                int expected = brute_touches(extent, in, NULL, at), in_boxes = 0;
                for (i = 0; i < (a->box_count ? a->box_count : 1); i++)
                    in_boxes |= box_has(hull + (a->box_count ? i + 1 : 0), at);
                cr_assert_eq(in_boxes, expected, "seed %llu, element %lld %lld %lld: %d, not %d",
                             (unsigned long long)seed, (long long)at[0], (long long)at[1],
                             (long long)at[2], in_boxes, expected);
            }
    for (d = 0; d < 3; d++) {
        int64_t first = in->region.first[d] - in->halo[d];
        int64_t end = in->halo[d] +
                      (in->region.count[d] ? in->region.first[d] + in->region.count[d] : extent[d]);
        cr_assert_eq(hull->first[d], first < 0 ? 0 : first, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(hull->first[d] + hull->count[d], end > extent[d] ? extent[d] : end,
                     "seed %llu", (unsigned long long)seed);
    }
}

Test(access, boxes_are_the_elements)
{
    rondo_runtime rt;
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_status status;
    uint64_t seed;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &handle), RONDO_OK);
    g = rd_subgraph_get(handle, &status);
    for (seed = 1; seed <= 20000; seed++) {
        struct random r = { seed };
        rondo_slot_desc desc = { .shape = { .elem_bytes = 1 } };
        int64_t extent[3] = { 1, 1, 1 };
        rondo_access a;
        rondo_node node;
        int d, dims = 1 + (int)random_below(&r, 3);
        for (d = 0; d < dims; d++)
            desc.shape.extent[d] = extent[d] = 1 + random_below(&r, 6);
        a = random_access(&r, rondo_subgraph_slot(handle, &desc), extent);
        node = rondo_record_task(handle, &(rondo_task_desc){ .fn = nothing, RONDO_ACCESSES(a) });
        cr_assert(node.id, "seed %llu: %s", (unsigned long long)seed, rondo_error_message());
        compare(g, extent, &a, seed);
    }
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(handle);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Chunks cover the range once, differ by at most one in size, larger first. */
Test(access, chunks_divide_the_range)
{
    rondo_runtime rt;
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_status status;
    int64_t extent[3] = { 13, 11, 7 }, at[3];
    rondo_region range = rondo_box3(2, 1, 0, 10, 9, 7);
    uint32_t chunks[3] = { 3, 4, 2 }, i;
    rondo_slot slot;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &handle), RONDO_OK);
    g = rd_subgraph_get(handle, &status);
    slot = rondo_subgraph_slot(handle, &(rondo_slot_desc){ .shape = { 4, { 13, 11, 7 }, { 0 } } });
    cr_assert(
        rondo_record_for(handle, &(rondo_for_desc){ RONDO_TASK(.name = "part", .fn = nothing,
                                                               RONDO_ACCESSES(rondo_chunk(
                                                                   slot, RONDO_READ_WRITE, 0, 0))),
                                                    .range = range, .chunks = { 3, 4, 2 } })
            .id);
    cr_assert_eq(g->nodes.count, 24);
    cr_assert_str_eq(rd_subgraph_text(g, g->nodes.item[23].name), "part[23]");
    for (at[2] = 0; at[2] < extent[2]; at[2]++)
        for (at[1] = 0; at[1] < extent[1]; at[1]++)
            for (at[0] = 0; at[0] < extent[0]; at[0]++) {
                int times = 0;
                for (i = 0; i < g->nodes.count; i++)
                    times +=
                        box_has(&g->boxes.item[g->accesses.item[g->nodes.item[i].access].box], at);
                cr_assert_eq(times, box_has(&range, at));
            }
    for (i = 0; i < g->nodes.count; i++) {
        const rondo_region *c = &g->chunks.item[g->nodes.item[i].chunk];
        uint32_t k[3] = { i % 3, i / 3 % 4, i / 12 };
        int d;
        for (d = 0; d < 3; d++)
            cr_assert_eq(c->count[d], range.count[d] / chunks[d] +
                                          (k[d] < (uint32_t)(range.count[d] % chunks[d])));
    }
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(handle);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
