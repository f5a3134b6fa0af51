/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills of random boxes between random shapes, replayed, against loops over elements. */
#include "tests/subgraph/random.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <string.h>

enum { BYTES = 4096 };

struct side {
    unsigned char bytes[BYTES], expected[BYTES];
    rondo_shape shape; /* extents absent: 1 */
    rondo_region region;
    rondo_buffer buffer;
    rondo_slot slot;
};

static rondo_runtime rt;

static void draw_shape(struct random *r, size_t elem_bytes, const int64_t count[3], struct side *s)
{
    size_t i;
    int d;
    s->shape.elem_bytes = elem_bytes;
    for (d = 0; d < 3; d++) {
        s->shape.extent[d] = count[d] + random_below(r, 3);
        s->region.first[d] = random_below(r, (uint32_t)(s->shape.extent[d] - count[d]) + 1);
        s->region.count[d] = count[d];
    }
    s->shape.pitch_bytes[0] =
        (size_t)s->shape.extent[0] * elem_bytes + (random_below(r, 2) ? random_below(r, 9) : 0);
    s->shape.pitch_bytes[1] = s->shape.pitch_bytes[0] * (size_t)s->shape.extent[1] +
                              (random_below(r, 2) ? random_below(r, 9) : 0);
    for (i = 0; i < BYTES; i++)
        s->bytes[i] = s->expected[i] = (unsigned char)random_next(r);
}

static void wrap(rondo_subgraph g, struct side *s)
{
    rondo_buffer_desc d = { .shape = s->shape, .host = s->bytes };
    cr_assert_eq(rondo_buffer_create(rt, &d, &s->buffer), RONDO_OK, "%s", rondo_error_message());
    s->slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = s->buffer });
}

static unsigned char *element(struct side *s, unsigned char *bytes, int64_t x, int64_t y, int64_t z)
{
    return bytes + (size_t)(s->region.first[0] + x) * s->shape.elem_bytes +
           (size_t)(s->region.first[1] + y) * s->shape.pitch_bytes[0] +
           (size_t)(s->region.first[2] + z) * s->shape.pitch_bytes[1];
}

/* By loops: from `from`, or the value where that is NULL. */
static void expect(struct side *from, const unsigned char *value, struct side *to,
                   const int64_t count[3])
{
    int64_t x, y, z;
    for (z = 0; z < count[2]; z++)
        for (y = 0; y < count[1]; y++)
            for (x = 0; x < count[0]; x++)
                memcpy(element(to, to->expected, x, y, z),
                       from ? element(from, from->bytes, x, y, z) : value, to->shape.elem_bytes);
}

static void move_once(uint64_t seed)
{
    static const size_t sizes[] = { 1, 3, 8, 24 };
    static struct side from, to;
    struct random r = { seed };
    unsigned char value[24];
    int64_t count[3], part[3];
    size_t elem_bytes = sizes[random_below(&r, 4)];
    int fill = (int)random_below(&r, 2), d, dims = (int)random_below(&r, 4);
    rondo_move_desc move = { .value = fill ? value : NULL, .value_bytes = fill ? elem_bytes : 0 };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_value arg = { { 0 }, part, 0 };
    rondo_replay_args args = { .values = &arg, .value_count = dims > 0 };
    for (d = 0; d < 3; d++)
        count[d] = 1 + random_below(&r, 4);
    for (d = 0; d < 3; d++)
        part[d] = d < dims ? random_below(&r, (uint32_t)count[d] + 1) : count[d];
    draw_shape(&r, elem_bytes, count, &from);
    draw_shape(&r, elem_bytes, count, &to);
    memcpy(value, from.bytes, sizeof value);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    wrap(g, &from);
    wrap(g, &to);
    if (dims)
        arg.param = move.count = rondo_subgraph_param(g, "count", (size_t)dims * 8, NULL);
    move.to = rondo_access_of(to.slot, 0, to.region);
    if (!fill)
        move.from = rondo_read(from.slot, from.region);
    cr_assert((fill ? rondo_record_fill(g, &move) : rondo_record_copy(g, &move)).id, "%s",
              rondo_error_message());
    cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_replay_and_wait(exec, &args, -1, NULL), RONDO_OK);
    expect(fill ? NULL : &from, value, &to, part);
    cr_assert(!memcmp(to.bytes, to.expected, BYTES), "seed %llu", (unsigned long long)seed);
    rondo_exec_destroy(exec);
    rondo_subgraph_destroy(g);
    rondo_buffer_destroy(from.buffer);
    rondo_buffer_destroy(to.buffer);
}

Test(move, equals_loops_over_elements)
{
    uint64_t seed;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    for (seed = 1; seed <= 500; seed++)
        move_once(seed);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* A count that the region does not hold fails the node and moves nothing. */
Test(move, count_out_of_range)
{
    static const int64_t bad[] = { 9, -1 };
    static const char *const messages[] = { "count[0] is 9, the region holds 8",
                                            "count[0] is -1, the region holds 8" };
    double bytes[16] = { 0 }, one = 1;
    rondo_buffer b;
    rondo_subgraph g;
    rondo_param count;
    rondo_exec exec;
    rondo_result why;
    int i;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 16 }, { 0 } }, .host = bytes },
                        &b);
    count = rondo_subgraph_param(g, "count", 8, NULL);
    cr_assert(rondo_record_fill(
                  g,
                  &(rondo_move_desc){
                      .name = "ones",
                      .count = count,
                      .value = &one,
                      .value_bytes = 8,
                      .to = rondo_write(rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b }),
                                        rondo_span(2, 8)) })
                  .id,
              "%s", rondo_error_message());
    cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK);
    for (i = 0; i < 2; i++) {
        rondo_value value = { count, &bad[i], 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1 };
        cr_assert_eq(rondo_replay_and_wait(exec, &args, -1, &why), RONDO_ERR_FAILED);
        cr_assert_str_eq(why.node, "ones");
        cr_assert_str_eq(why.message, messages[i]);
        cr_assert_eq(rondo_exec_reset(exec), RONDO_OK);
    }
    for (i = 0; i < 16; i++)
        cr_assert_eq(bytes[i], 0);
    rondo_exec_destroy(exec);
    rondo_subgraph_destroy(g);
    rondo_buffer_destroy(b);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
