/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills of random boxes on OpenCL devices, against loops over bytes: every element size
 * from 1 to 24, pitches, all three directions, whole or by counts; each by the driver's calls, by
 * functions of the host, by kernels, row by row. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16, WAYS = 3 };

/* Two memories of the device and two of the host, and what each should hold. */
struct place {
    char *memory[4], *should[4];
};
enum { HOST = 2 }; /* memory[HOST] and the next are the host's */

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

static void open_places(struct rig *r, struct place *p)
{
    for (int i = 0; i < 4; i++) {
        p->memory[i] = i < HOST ? rig_memory(r, BYTES) : malloc(BYTES);
        p->should[i] = malloc(BYTES);
        cr_assert(p->memory[i] && p->should[i]);
        for (int k = 0; k < BYTES; k++)
            p->should[i][k] = (char)(i * 31 + k * 7 + k / 256);
        if (i < HOST)
            rig_copy(r, p->memory[i], p->should[i], BYTES);
        else
            memcpy(p->memory[i], p->should[i], BYTES);
    }
}

static void close_places(struct rig *r, struct place *p)
{
    for (int i = 0; i < 4; i++) {
        if (i < HOST)
            rig_forget(r, p->memory[i]);
        else
            free(p->memory[i]);
        free(p->should[i]);
    }
}

static void compare(struct rig *r, const struct place *p, int side, const char *what,
                    const struct rd_box_move *x, size_t elem)
{
    static char there[BYTES];
    if (side < HOST)
        rig_copy(r, there, p->memory[side], BYTES);
    else
        memcpy(there, p->memory[side], BYTES);
    if (!memcmp(there, p->should[side], BYTES))
        return;
    for (size_t i = 0; i < BYTES; i++)
        cr_assert_eq(there[i], p->should[side][i],
                     "%s: memory %d, byte %zu is %d and should be %d: row %zu, rows %zu, planes "
                     "%zu, to %zu %zu, from %zu %zu, elements of %zu bytes",
                     what, side, i, there[i], p->should[side][i], x->row, x->rows, x->planes,
                     x->to_pitch[0], x->to_pitch[1], x->from_pitch[0], x->from_pitch[1], elem);
}

/* ---- random boxes */

static size_t pitch(uint64_t *seed, size_t least, size_t elem)
{
    return least + elem * (below(seed, 3) ? below(seed, 5) : 0) + (below(seed, 8) ? 0 : 1);
}

static struct rd_box_move random_box(uint64_t *seed, size_t elem)
{
    struct rd_box_move x = { .rows = 1, .planes = 1 };
    uint32_t dimensions = 1 + below(seed, 3);
    x.row = elem * (1 + below(seed, 40));
    if (dimensions > 1)
        x.rows = 1 + below(seed, 9);
    if (dimensions > 2)
        x.planes = 1 + below(seed, 5);
    x.to_pitch[0] = pitch(seed, x.row, elem);
    x.from_pitch[0] = pitch(seed, x.row, elem);
    x.to_pitch[1] = pitch(seed, x.rows * x.to_pitch[0], elem);
    x.from_pitch[1] = pitch(seed, x.rows * x.from_pitch[0], elem);
    return x;
}

static size_t span(const struct rd_box_move *x, const size_t *p)
{
    return (x->planes - 1) * p[1] + (x->rows - 1) * p[0] + x->row;
}

/* Mostly at a multiple of what an element of that size is aligned to. */
static size_t offset(uint64_t *seed, size_t bytes)
{
    size_t at = below(seed, (uint32_t)(BYTES - bytes));
    return below(seed, 3) ? at & ~(size_t)15 : at;
}

static void move_bytes(char *to, const char *from, const char *value, size_t elem,
                       const struct rd_box_move *x)
{
    for (size_t z = 0; z < x->planes; z++)
        for (size_t y = 0; y < x->rows; y++)
            for (size_t i = 0; i < x->row; i++)
                to[z * x->to_pitch[1] + y * x->to_pitch[0] + i] =
                    from ? from[z * x->from_pitch[1] + y * x->from_pitch[0] + i] : value[i % elem];
}

static const uint32_t ways[WAYS] = { 0, RD_OPENCL_NO_NATIVE,
                                     RD_OPENCL_NO_NATIVE | RD_OPENCL_NO_FINE };

/* ---- copies outside of replays */

Test(opencl_moves, copies_at_once)
{
    for (int w = 0; w < WAYS; w++) {
        struct rig r;
        struct place p;
        uint64_t seed = 77;
        rig_open(&r, "", ways[w]);
        open_places(&r, &p);
        for (int n = 0; n < 400; n++) {
            size_t elem = 1 + (size_t)n % 24;
            struct rd_box_move x = random_box(&seed, elem);
            int to = (int)below(&seed, 4), from = to ^ (1 + (int)below(&seed, 3));
            size_t t = offset(&seed, span(&x, x.to_pitch)),
                   f = offset(&seed, span(&x, x.from_pitch));
            const struct rd_device_copy copy = { p.memory[to] + t, p.memory[from] + f, x };
            cr_assert_eq(r.ops->copy(r.backend, 0, &copy), RONDO_OK, "%s", rd_error_text());
            move_bytes(p.should[to] + t, p.should[from] + f, NULL, elem, &x);
            compare(&r, &p, to, "copy", &x, elem);
        }
        close_places(&r, &p);
        rig_close(&r);
    }
}

/* ---- moves of segments */

enum { MOVES = 24, ROUNDS = 12 };

struct moves {
    struct rd_command command[MOVES];
    char value[MOVES][24];
    size_t to[MOVES], from[MOVES]; /* by slot: memory */
    int64_t count[MOVES][3];       /* the block of parameters */
};

static void random_move(uint64_t *seed, struct moves *m, uint32_t i)
{
    struct rd_command *c = &m->command[i];
    size_t elem = 1 + below(seed, 24), most;
    memset(c, 0, sizeof *c);
    c->kind = below(seed, 3) ? RD_COMMAND_COPY : RD_COMMAND_FILL;
    c->name = "move";
    c->elem_bytes = elem;
    c->box = random_box(seed, elem);
    m->to[i] = below(seed, c->kind == RD_COMMAND_FILL ? HOST : 4);
    m->from[i] = m->to[i] ^ (1 + below(seed, 3));
    most = span(&c->box, c->box.to_pitch);
    c->to = (struct rd_place){ (uint32_t)m->to[i], (int64_t)offset(seed, most) };
    most = span(&c->box, c->box.from_pitch);
    c->from = (struct rd_place){ (uint32_t)m->from[i], (int64_t)offset(seed, most) };
    for (size_t k = 0; k < elem; k++)
        m->value[i][k] = (char)below(seed, 256);
    c->value = m->value[i];
    c->count_values = below(seed, 3) ? 0 : 1 + below(seed, 3);
    c->count_at = (uint32_t)(i * sizeof m->count[0]);
}

static struct rd_box_move counted(const struct rd_command *c, const int64_t *count)
{
    struct rd_box_move x = c->box;
    if (c->count_values > 0)
        x.row = (size_t)count[0] * c->elem_bytes;
    if (c->count_values > 1)
        x.rows = (size_t)count[1];
    if (c->count_values > 2)
        x.planes = (size_t)count[2];
    return x;
}

static void one_round(struct rig *r, struct place *p, struct moves *m, struct rd_segment *s,
                      uint64_t *seed, int round)
{
    uint8_t skip[MOVES];
    struct rd_segment_call call = { .base = (void *const *)p->memory,
                                    .params = (const char *)m->count,
                                    .skip = skip,
                                    .timed = round % 5 == 4 };
    for (uint32_t i = 0; i < MOVES; i++) {
        const struct rd_command *c = &m->command[i];
        skip[i] = !below(seed, 4) || round == 3;
        m->count[i][0] = below(seed, (uint32_t)(c->box.row / c->elem_bytes) + 1);
        m->count[i][1] = below(seed, (uint32_t)c->box.rows + 1);
        m->count[i][2] = below(seed, (uint32_t)c->box.planes + 1);
    }
    if (round % 3 == 2)
        rig_step(r, s, &call);
    else
        rig_submit(r, s, &call);
    rig_await(&r->progress, r->value);
    for (uint32_t i = 0; i < MOVES; i++) {
        const struct rd_command *c = &m->command[i];
        struct rd_box_move x = counted(c, m->count[i]);
        if (!skip[i] && x.row && x.rows && x.planes)
            move_bytes(p->should[m->to[i]] + c->to.offset,
                       c->kind == RD_COMMAND_FILL ? NULL : p->should[m->from[i]] + c->from.offset,
                       m->value[i], c->elem_bytes, &x);
    }
    for (int side = 0; side < 4; side++)
        compare(r, p, side, "segment", &m->command[0].box, m->command[0].elem_bytes);
}

Test(opencl_moves, of_segments)
{
    for (int w = 0; w < WAYS; w++) {
        static struct moves m;
        struct rig r;
        struct place p;
        uint64_t seed = 5;
        rig_open(&r, "", ways[w]);
        open_places(&r, &p);
        for (int n = 0; n < 6; n++) {
            for (uint32_t i = 0; i < MOVES; i++)
                random_move(&seed, &m, i);
            struct rd_segment *s = rig_segment(&r, m.command, MOVES, 1, sizeof m.count);
            for (int round = 0; round < ROUNDS; round++)
                one_round(&r, &p, &m, s, &seed, round);
            r.ops->segment_free(s);
        }
        close_places(&r, &p);
        rig_close(&r);
    }
}

/* ---- which call is used */

/* A pitched box between the memories of one device is one call, not one for each row. */
Test(opencl_moves, a_box_is_one_call)
{
    const struct rd_box_move x = { 32, 50, 3, { 64, 64 * 64 }, { 48, 48 * 64 } };
    for (int w = 0; w < WAYS; w++) {
        struct rig r;
        rig_open(&r, "", ways[w]);
        char *a = rig_memory(&r, BYTES), *b = rig_memory(&r, BYTES), *host = calloc(1, BYTES);
        const struct rd_device_copy copy = { a, b, x }, home = { host, b, x };
        const char *call = ways[w] ? "clEnqueueNDRangeKernel" : "clEnqueueNativeKernel";
        uint64_t before = rig_made(call), rows = rig_made("clEnqueueSVMMemcpy");
        cr_assert_eq(r.ops->copy(r.backend, 0, &copy), RONDO_OK, "%s", rd_error_text());
        cr_expect_eq(rig_made(call), before + 1);
        cr_expect_eq(rig_made("clEnqueueSVMMemcpy"), rows);
        cr_assert_eq(r.ops->copy(r.backend, 0, &home), RONDO_OK, "%s", rd_error_text());
        cr_expect_eq(rig_made("clEnqueueSVMMemcpy"), rows + (ways[w] ? 150 : 0));
        free(host);
        rig_forget(&r, a);
        rig_forget(&r, b);
        rig_close(&r);
    }
}
