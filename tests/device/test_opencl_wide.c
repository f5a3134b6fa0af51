/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments on a queue out of order: whatever follows what, the bytes are those of the commands one
 * after the other; and they are told apart from what only has to be in order. */
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some work items are late: what does not wait for them sees it. */
static const char image[] =
    "kernel void stir(global const uint *a, global const uint *b, global uint *to, uint late,\n"
    "                uint salt)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    uint x = a[i] ^ salt;\n"
    "    for (uint k = 0; k < late * (uint)(i + 1); k++)\n"
    "        x = x * 1664525u + 1013904223u;\n"
    "    to[i] = x + 3 * b[i];\n"
    "}\n";

enum { CELLS = 6, N = 16, NODES = 24, FRAMES = 3, PARAMS = 2 };

struct work {
    struct rig r;
    uint64_t seed;
    uint32_t *cell[CELLS];
    uint32_t should[CELLS][N];
    struct node {
        uint32_t from[2], to; /* a copy: from[0] to `to`; a fill: `to` */
        uint32_t late, salt;
        struct rd_command_arg arg[5];
        uint32_t after[NODES];
    } node[NODES];
    struct rd_command command[NODES], again[NODES]; /* kernels are a segment's own */
    uint32_t count;
    struct rd_segment *segment[2]; /* the second: the first half of the nodes, `again` */
    uint32_t params[FRAMES][PARAMS];
    uint64_t value[2][FRAMES];
};

static uint32_t below(struct work *w, uint32_t limit)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->seed >> 33) % limit;
}

static int reads(const struct work *w, uint32_t node, uint32_t cell)
{
    const struct node *n = &w->node[node];
    switch (w->command[node].kind) {
    case RD_COMMAND_KERNEL: return n->from[0] == cell || n->from[1] == cell;
    case RD_COMMAND_COPY: return n->from[0] == cell;
    default: return 0;
    }
}

static int conflict(const struct work *w, uint32_t a, uint32_t b)
{
    return w->node[a].to == w->node[b].to || reads(w, a, w->node[b].to) ||
           reads(w, b, w->node[a].to);
}

/* A kernel's salt is a parameter of half of them, by value. */
static void make_kernel(struct work *w, uint32_t i)
{
    struct node *n = &w->node[i];
    for (uint32_t k = 0; k < 3; k++)
        n->arg[k] = (struct rd_command_arg){ .kind = RONDO_ARG_ACCESS,
                                             .place = { k < 2 ? n->from[k] : n->to, 0 } };
    n->arg[3] = (struct rd_command_arg){ .kind = RONDO_ARG_VALUE, .bytes = 4, .value = &n->late };
    n->arg[4] = (struct rd_command_arg){ .kind = RONDO_ARG_VALUE, .bytes = 4, .value = &n->salt };
    if (n->salt % 2)
        n->arg[4] = (struct rd_command_arg){ .kind = RONDO_ARG_PARAM, .bytes = 4, .param_at = 4 };
    w->command[i] = (struct rd_command){ .kind = RD_COMMAND_KERNEL,
                                         .name = "stir",
                                         .kernel = rig_kernel(&w->r, image, "stir", 5),
                                         .dimensions = 1,
                                         .arg = n->arg,
                                         .arg_count = 5,
                                         .global = { N },
                                         .local = { N } };
}

static void make_move(struct work *w, uint32_t i, int fill)
{
    struct node *n = &w->node[i];
    w->command[i] = (struct rd_command){ .kind = fill ? RD_COMMAND_FILL : RD_COMMAND_COPY,
                                         .name = fill ? "fill" : "copy",
                                         .to = { n->to, 0 },
                                         .from = { n->from[0], 0 },
                                         .box = { 8, 4, 1, { 16, 0 }, { 16, 0 } },
                                         .elem_bytes = 4,
                                         .value = &n->salt };
}

static void make_node(struct work *w, uint32_t i)
{
    struct node *n = &w->node[i];
    uint32_t kind = below(w, 8);
    n->from[0] = below(w, CELLS);
    n->from[1] = below(w, CELLS);
    do
        n->to = below(w, CELLS);
    while (n->to == n->from[0]);
    n->late = below(w, 3) ? 0 : below(w, 2000);
    n->salt = below(w, 4); /* few, so that kernels are alike */
    if (kind < 6)
        make_kernel(w, i);
    else
        make_move(w, i, kind == 7);
    w->command[i].node = i;
    w->command[i].after = n->after;
    for (uint32_t k = 0; k < i; k++)
        if (conflict(w, k, i))
            n->after[w->command[i].after_count++] = k;
}

static void make_segments(struct work *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        w->again[i] = w->command[i];
        if (w->command[i].kernel)
            w->again[i].kernel = rig_kernel(&w->r, image, "stir", 5);
    }
    w->segment[0] = rig_segment(&w->r, w->command, w->count, FRAMES, sizeof w->params[0]);
    w->segment[1] = rig_segment(&w->r, w->again, w->count / 2, FRAMES, sizeof w->params[0]);
}

static void open_work(struct work *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    rig_open(&w->r, "", 0);
    w->count = 2 + below(w, NODES - 1);
    for (uint32_t i = 0; i < CELLS; i++) {
        w->cell[i] = rig_memory(&w->r, sizeof w->should[i]);
        for (uint32_t k = 0; k < N; k++)
            w->should[i][k] = below(w, 1000);
        rig_copy(&w->r, w->cell[i], w->should[i], sizeof w->should[i]);
    }
    for (uint32_t i = 0; i < w->count; i++)
        make_node(w, i);
    make_segments(w);
}

static void close_work(struct work *w)
{
    for (uint32_t i = 0; i < 2; i++)
        w->r.ops->segment_free(w->segment[i]);
    for (uint32_t i = 0; i < w->count; i++)
        if (w->command[i].kernel) {
            w->r.ops->kernel_free(w->command[i].kernel);
            w->r.ops->kernel_free(w->again[i].kernel);
        }
    for (uint32_t i = 0; i < CELLS; i++)
        rig_forget(&w->r, w->cell[i]);
    rig_close(&w->r);
}

static void play(struct work *w, uint32_t count, const uint8_t *skip, uint32_t param)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct node *n = &w->node[i];
        uint32_t salt = w->command[i].kind == RD_COMMAND_KERNEL && n->salt % 2 ? param : n->salt;
        uint32_t was[2][N];
        memcpy(was[0], w->should[n->from[0]], sizeof was[0]);
        memcpy(was[1], w->should[n->from[1]], sizeof was[1]);
        for (uint32_t k = 0; k < N && !skip[i]; k++) {
            uint32_t x = was[0][k] ^ salt;
            if (w->command[i].kind == RD_COMMAND_KERNEL) {
                for (uint32_t l = 0; l < n->late * (k + 1); l++)
                    x = x * 1664525u + 1013904223u;
                w->should[n->to][k] = x + 3 * was[1][k];
            } else if (k % 4 < 2) {
                w->should[n->to][k] = w->command[i].kind == RD_COMMAND_FILL ? n->salt : was[0][k];
            }
        }
    }
}

/* One more submission of either segment, when its frame is free; now and then one of another kind.
 */
static void go(struct work *w, uint32_t frame, int plain)
{
    static uint8_t skip[2][FRAMES][NODES];
    uint32_t which = below(w, 4) == 0, what = plain ? 9 : below(w, 10);
    uint32_t count = which ? w->count / 2 : w->count;
    struct rd_segment_call call = { .base = (void *const *)w->cell,
                                    .params = (const char *)w->params[frame],
                                    .skip = skip[which][frame],
                                    .frame = frame,
                                    .timed = what == 0 };
    struct rd_command_time times[NODES];
    if (!count)
        return;
    rig_await(&w->r.progress, w->value[0][frame]);
    rig_await(&w->r.progress, w->value[1][frame]);
    memset(skip[which][frame], 0, NODES);
    for (uint32_t i = 0; i < count && what == 1; i++)
        skip[which][frame][i] = below(w, 4) == 0;
    w->params[frame][1] = below(w, 3);
    if (what == 2)
        rig_step(&w->r, w->segment[which], &call);
    else
        rig_submit(&w->r, w->segment[which], &call);
    w->value[which][frame] = w->r.value;
    play(w, count, skip[which][frame], w->params[frame][1]);
    if (call.timed) {
        rig_await(&w->r.progress, w->r.value);
        w->r.ops->segment_times(w->segment[which], frame, times);
        cr_expect_leq(times[0].begin_ns, times[0].end_ns);
    }
}

static void check(struct work *w, uint64_t seed)
{
    uint32_t there[N];
    rig_await(&w->r.progress, w->r.value);
    for (uint32_t i = 0; i < CELLS; i++) {
        rig_copy(&w->r, there, w->cell[i], sizeof there);
        cr_assert_arr_eq(there, w->should[i], sizeof there, "seed %llu, cell %u",
                         (unsigned long long)seed, i);
    }
}

static void one_work(uint64_t seed, const char *way)
{
    static struct work w;
    setenv("RONDO_OPENCL_SUBMIT", way, 1);
    open_work(&w, seed);
    for (uint32_t i = 0; i < 80; i++) {
        go(&w, i % FRAMES, 0);
        if (i % 16 == 15)
            check(&w, seed);
    }
    close_work(&w);
}

Test(opencl_wide, whatever_follows_what)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        one_work(seed, "out-of-order");
}

Test(opencl_wide, on_trial)
{
    for (uint64_t seed = 101; seed <= 110; seed++)
        one_work(seed, "trial");
}

static void text_of(struct work *w, char *text, size_t bytes)
{
    w->r.ops->segment_describe(w->segment[0], text, bytes);
}

/* Kernels side by side, each of which writes a cell of its own from cell 0; but the last one reads
 * what the first wrote, and follows the first `behind`. Segments are not made yet. */
static void open_fan(struct work *w, const char *way, uint32_t count, uint32_t behind)
{
    setenv("RONDO_OPENCL_SUBMIT", way, 1);
    memset(w, 0, sizeof *w);
    rig_open(&w->r, "", 0);
    w->count = count;
    for (uint32_t i = 0; i < CELLS; i++)
        w->cell[i] = rig_memory(&w->r, sizeof w->should[i]);
    for (uint32_t i = 0; i < count; i++) {
        struct node *n = &w->node[i];
        n->from[0] = n->from[1] = i + 1 == count;
        n->to = 1 + i;
        make_kernel(w, i);
        w->command[i].after = n->after;
    }
    for (uint32_t k = 0; k < behind; k++)
        w->node[count - 1].after[k] = k;
    w->command[count - 1].after_count = behind;
}

/* Two kernels beside each other, and one behind both: who is out of order and who is not. */
Test(opencl_wide, only_where_something_is_beside_something)
{
    static const char *const ways[] = { "out-of-order", "in-order", "trial" };
    static const char *const plain = "3 enqueues, 1 flush, 1 callback";
    static struct work w;
    char text[128];
    for (int chain = 0; chain < 2; chain++)
        for (int way = 0; way < 3; way++) {
            open_fan(&w, ways[way], 3, 2);
            if (chain)
                rig_in_order(w.command, 3);
            make_segments(&w);
            text_of(&w, text, sizeof text);
            if (chain || way == 1)
                cr_expect(!strncmp(text, plain, strlen(plain)), "%s", text);
            else if (way == 0 && strcmp(text, plain) != 0) /* a device may have no such queues */
                cr_expect_str_eq(text, "3 enqueues out of order, 1 flush, 1 callback");
            close_work(&w);
        }
}

/* What a submission costs: an enqueue per node, a marker, a flush and a callback, and the release
 * of the events before. */
Test(opencl_wide, calls_of_the_driver)
{
    static struct work w;
    char text[128];
    open_fan(&w, "out-of-order", 4, 1);
    make_segments(&w);
    text_of(&w, text, sizeof text);
    if (!strstr(text, "out of order")) {
        close_work(&w);
        cr_skip_test("the device has no queues out of order");
    }
    for (uint32_t i = 0; i < 10; i++) {
        struct rd_segment_call call = { .base = (void *const *)w.cell,
                                        .params = (const char *)w.params[0] };
        uint64_t before = w.r.ops->calls(w.r.backend);
        rig_submit(&w.r, w.segment[0], &call);
        rig_await(&w.r.progress, w.r.value);
        if (i > 1)
            cr_expect_eq(w.r.ops->calls(w.r.backend) - before, 4 + 1 + 1 + 1 + 5);
    }
    close_work(&w);
}
