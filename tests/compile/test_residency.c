/* SPDX-License-Identifier: BSD-3-Clause */
/* The residency pass on small recordings whose routes are known: what is copied when, and what is
 * refused and why. */
#include "tests/compile/residency_rig.h"

static void call(void *context) { (void)context; }

/* ---- what is looked at */

static const char *name_of(const struct rig *x, uint32_t v)
{
    return rd_subgraph_text(x->w.applied, x->w.applied->nodes.item[v].name);
}

/* The turns as words: names of nodes, of routes with their boxes: "relax; copy 'u' to gpu 0
 * [0+64,0+1]". */
static const char *turns(const struct rig *x)
{
    static char text[4096];
    size_t used = 0;
    const struct rd_residency *r = x->w.r;
    text[0] = 0;
    for (uint32_t i = 0; i < r->turns; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "; " : "",
                                 name_of(x, x->w.applied->sequence[i]));
        if (r->turn[i].is_route) {
            const rondo_region *b = &r->route[r->turn[i].index].box;
            used += (size_t)snprintf(text + used, sizeof text - used, " [%lld+%lld,%lld+%lld]",
                                     (long long)b->first[0], (long long)b->count[0],
                                     (long long)b->first[1], (long long)b->count[1]);
        }
    }
    return text;
}
#define TURNS(x, expected) \
    cr_assert_str_eq(turns(x), expected, "turns are\n%s\nnot\n%s", turns(x), expected)

static const struct rd_residency_stay *stay_of(const struct rig *x, uint32_t slot)
{
    for (uint32_t i = 0; i < x->w.r->stays; i++)
        if (x->w.r->stay[i].slot == slot)
            return &x->w.r->stay[i];
    cr_assert_fail("slot %u has no stay", slot);
    return NULL;
}

static void expect_boxes(const struct rd_boxes *b, const rondo_region *box, const char *what)
{
    cr_assert_eq(b->count, box ? 1 : 0, "%s: %u boxes", what, b->count);
    if (box)
        cr_assert(!memcmp(&b->item[0], box, sizeof *box), "%s: another box", what);
}

static const rondo_region whole = { { 0, 0, 0 }, { NX, NY, 1 } };

/* ---- what is copied */

/* Two grids that swap, on a device alone: nothing moves, whatever the phase. */
Test(residency, ring)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_buffer grid[2] = { rig_buffer(&x, "a", NX, NY), rig_buffer(&x, "b", NX, NY) };
    rondo_slot in = rondo_subgraph_slot(
        x.handle, &(rondo_slot_desc){ .name = "in", .ring = grid, .ring_count = 2 });
    rondo_slot out = rondo_subgraph_slot(
        x.handle,
        &(rondo_slot_desc){ .name = "out", .ring = grid, .ring_count = 2, .ring_first = 1 });
    TASK(&x, "left", 0, rondo_read(in, rondo_box(0, 0, 34, NY)),
         rondo_write(out, rondo_box(1, 1, 32, NY - 2)));
    TASK(&x, "right", 0, rondo_read(in, rondo_box(31, 0, 33, NY)),
         rondo_write(out, rondo_box(33, 1, 30, NY - 2)));
    rig_play(&x);
    TURNS(&x, "left; right");
    expect_boxes(&stay_of(&x, 0)->need[1], &whole, "needed on the device");
    expect_boxes(&stay_of(&x, 0)->hold[1], &whole, "held on the device");
    expect_boxes(&stay_of(&x, 0)->need[0], NULL, "needed on the host");
    expect_boxes(&stay_of(&x, 1)->hold[0], NULL, "held on the host");
    expect_boxes(&stay_of(&x, 1)->written, &(rondo_region){ { 1, 1, 0 }, { NX - 2, NY - 2, 1 } },
                 "written");
    cr_assert_eq(x.w.r->twins, 2);
    cr_assert_eq(x.w.applied->slots.item[2].kind, RD_SLOT_RING);
    cr_assert_eq(x.w.applied->slots.item[2].memory, 1);
    cr_assert_eq(x.w.r->peak_bytes[1], 2 * NX * NY * 8);
    cr_assert_eq(x.w.r->moved_bytes[0][1] + x.w.r->moved_bytes[1][0], 0);
    rig_close(&x);
}

/* What the host writes and reads of a grid on a device is all that moves. */
Test(residency, halo)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", NX, NY);
    TASK(&x, "border", -1, rondo_write(u, rondo_box(0, 0, NX, 1)));
    TASK(&x, "relax", 0, rondo_read(u, rondo_whole()),
         rondo_write(u, rondo_box(1, 1, NX - 2, NY - 2)));
    TASK(&x, "watch", -1, rondo_read(u, rondo_box(0, 5, NX, 1)));
    rig_play(&x);
    TURNS(&x, "border; copy 'u' to gpu 0 [0+64,0+1]; relax; copy 'u' from gpu 0 [1+62,5+1]; watch");
    cr_assert_eq(x.w.r->moved_bytes[0][1], NX * 8);
    cr_assert_eq(x.w.r->moved_bytes[1][0], (NX - 2) * 8);
    const struct rd_node *route = &x.w.applied->nodes.item[3];
    cr_assert_eq(route->kind, RD_NODE_COPY);
    cr_assert_eq(route->bound, RD_ON_DEVICE);
    cr_assert(route->cost_ns > 0);
    rig_close(&x);
}

/* A constant is brought by the keeper, once; what a device writes and nobody reads stays there. */
Test(residency, constant)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot c = rig_fixed(&x, "c", NX, NY), y = rig_fixed(&x, "y", NX, NY);
    TASK(&x, "k", 0, rondo_read(c, rondo_whole()), rondo_write(y, rondo_whole()));
    rig_play(&x);
    TURNS(&x, "k");
    expect_boxes(&stay_of(&x, 0)->need[1], &whole, "c is needed");
    expect_boxes(&stay_of(&x, 1)->need[1], NULL, "y is not");
    expect_boxes(&stay_of(&x, 1)->hold[1], &whole, "y is held");
    rig_close(&x);
}

/* Two devices: from peer to peer, or by way of the host. */
Test(residency, peers)
{
    for (int peers = 0; peers < 2; peers++) {
        struct rig x;
        rig_open(&x, 2, 0);
        rondo_slot u = rig_fixed(&x, "u", NX, NY);
        x.w.peers[1] = x.w.peers[2] = (uint8_t)peers;
        TASK(&x, "make", 0, rondo_write(u, rondo_whole()));
        TASK(&x, "use", 1, rondo_read(u, rondo_whole()));
        rig_play(&x);
        TURNS(&x, peers ? "make; copy 'u' from gpu 0 to gpu 1 [0+64,0+32]; use"
                        : "make; copy 'u' from gpu 0 [0+64,0+32]; copy 'u' to gpu 1 [0+64,0+32]; "
                          "use");
        rig_close(&x);
    }
}

Test(residency, at_end)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", NX, NY), v = rig_fixed(&x, "v", NX, NY);
    x.g->slots.item[0].at_end = 1;
    x.g->slots.item[1].at_end = 2;
    TASK(&x, "k", 0, rondo_write(u, rondo_box(0, 0, NX, 2)));
    TASK(&x, "h", -1, rondo_write(v, rondo_box(0, 0, NX, 2)));
    rig_play(&x);
    TURNS(&x, "k; h; copy 'u' from gpu 0 [0+64,0+2]; copy 'v' to gpu 0 [0+64,0+2]");
    expect_boxes(&stay_of(&x, 0)->hold[0], &whole, "u on the host");
    expect_boxes(&stay_of(&x, 1)->hold[1], &whole, "v on the device");
    rig_close(&x);
}

/* Conditional writes leave what was there; a whole call brings everything home. */
Test(residency, conditions)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", NX, NY), flag = rig_fixed(&x, "flag", 1, 0);
    rondo_access write = rondo_write(u, rondo_box(0, 0, NX, 4));
    rondo_task_desc d = { .name = "maybe", .fn = body, .accesses = &write, .access_count = 1 };
    (void)flag;
    d.when.every = 2;
    TASK(&x, "h", -1, rondo_write(u, rondo_box(0, 0, NX, 1)));
    rondo_record_task(x.handle, &d);
    x.g->nodes.item[1].bound = RD_ON_DEVICE;
    rondo_record_call(x.handle, "all", call, NULL);
    rig_play(&x);
    TURNS(&x, "h; copy 'u' to gpu 0 [0+64,0+4]; maybe; copy 'u' from gpu 0 [0+64,0+4]; all");
    rig_close(&x);
}

/* A copy crosses by itself: nothing is fetched for it, and its target goes where it is read. */
Test(residency, copies)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot a = rig_fixed(&x, "a", NX, 0), b = rig_fixed(&x, "b", NX, 0),
               c = rig_fixed(&x, "c", NX, 0), d = rig_fixed(&x, "d", NX, 0);
    TASK(&x, "make", -1, rondo_write(a, rondo_whole()));
    uint32_t in = rig_copy(&x, rondo_read(a, rondo_whole()), rondo_write(b, rondo_whole()), -1);
    TASK(&x, "k", 0, rondo_read(b, rondo_whole()), rondo_write(c, rondo_whole()));
    uint32_t out = rig_copy(&x, rondo_read(c, rondo_whole()), rondo_write(d, rondo_whole()), 0);
    TASK(&x, "use", -1, rondo_read(d, rondo_whole()));
    rig_play(&x);
    TURNS(&x, "make; copy; k; copy; use");
    cr_assert_eq(x.w.r->bound[in], RD_ON_DEVICE);
    cr_assert_eq(x.w.r->bound[out], RD_ON_DEVICE);
    cr_assert_eq(x.w.r->moved_bytes[0][1], NX * 8);
    cr_assert_eq(x.w.r->moved_bytes[1][0], NX * 8);
    rig_close(&x);
}

/* What the host writes anew in each replay is not kept on the device that copies it; what it does
 * not write, or what the device reads again, is. */
Test(residency, staging)
{
    for (int how = 0; how < 3; how++) {
        struct rig x;
        rig_open(&x, 1, 0);
        rondo_slot a = rig_fixed(&x, "a", NX, 0), b = rig_fixed(&x, "b", NX, 0);
        if (how)
            TASK(&x, "make", -1, rondo_write(a, rondo_whole()));
        rig_copy(&x, rondo_read(a, rondo_whole()), rondo_write(b, rondo_whole()), 0);
        TASK(&x, "k", 0, rondo_read(how == 2 ? a : b, rondo_whole()));
        rig_play(&x);
        TURNS(&x, how == 0   ? "copy; k"
                  : how == 1 ? "make; copy; k"
                             : "make; copy 'a' to gpu 0 [0+64,0+1]; copy; k");
        cr_assert_eq(x.w.r->moved_bytes[0][1], how ? NX * 8 : 0);
        rig_close(&x);
    }
}

/* A fill that may run anywhere runs where it is read. */
Test(residency, fills)
{
    struct rig x;
    static const double zero = 0;
    rig_open(&x, 1, 0);
    rondo_slot a = rig_fixed(&x, "a", NX, 0), b = rig_fixed(&x, "b", NX, 0);
    rondo_slot t = rondo_subgraph_slot(
        x.handle, &(rondo_slot_desc){ .name = "t",
                                      .shape = { 8, { NX, 0, 0 }, { 0, 0 } },
                                      .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    rondo_move_desc d = { .value = &zero, .value_bytes = 8 };
    d.to = rondo_write(a, rondo_whole());
    rondo_record_fill(x.handle, &d);
    d.to = rondo_write(b, rondo_whole());
    rondo_record_fill(x.handle, &d);
    TASK(&x, "k", 0, rondo_read_write(a, rondo_whole()), rondo_read_write(t, rondo_whole()));
    TASK(&x, "h", -1, rondo_read(b, rondo_whole()));
    rig_play(&x);
    TURNS(&x, "fill; fill; zero 't'; k; h");
    cr_assert_eq(x.w.r->bound[0], RD_ON_DEVICE);
    cr_assert_eq(x.w.r->bound[1], RD_PROCESSOR_ANY);
    cr_assert_eq(x.w.r->bound[4], RD_ON_DEVICE);
    cr_assert_eq(x.w.r->arena_bytes[1], NX * 8);
    rig_close(&x);
}

/* What commutes on a device follows in order; elsewhere it still commutes. */
Test(residency, commute)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot a = rig_fixed(&x, "a", NX, 0), b = rig_fixed(&x, "b", NX, 0);
    TASK(&x, "k", 0, rondo_commute(a, rondo_whole()));
    TASK(&x, "h", -1, rondo_commute(a, rondo_whole()));
    TASK(&x, "i", -1, rondo_commute(b, rondo_whole()));
    rig_play(&x);
    cr_assert_eq(x.w.applied->accesses.item[0].mode, RONDO_READ_WRITE);
    cr_assert_eq(x.w.applied->accesses.item[1].mode, RONDO_READ_WRITE);
    cr_assert_eq(x.w.applied->accesses.item[2].mode, RONDO_COMMUTE);
    rig_close(&x);
}

/* Edges by hand, against the order of recording: they are the order. */
Test(residency, explicit_edges)
{
    struct rig x;
    rig_open(&x, 1, RONDO_EDGES_EXPLICIT);
    rondo_slot u = rig_fixed(&x, "u", NX, NY);
    static const uint32_t order[] = { 1, 0 };
    TASK(&x, "use", -1, rondo_read(u, rondo_whole()));
    TASK(&x, "make", 0, rondo_write(u, rondo_whole()));
    struct rd_hand_edge edges[] = { { 1, 0, 0 }, { 0, 1, 1 } };
    for (int i = 0; i < 2; i++) {
        cr_assert(RD_ROOM(x.g, edges, 1));
        x.g->edges.item[x.g->edges.count++] = edges[i];
    }
    x.w.order = order;
    rig_play(&x);
    TURNS(&x, "make; copy 'u' from gpu 0 [0+64,0+32]; use");
    cr_assert_eq(x.w.applied->edges_explicit, 0);
    cr_assert_eq(x.w.applied->edges.count, 2);
    rig_close(&x);
}

/* Slots over the same bytes in two geometries: what one has changed goes home before the other is
 * used; a node may not write through both. */
Test(residency, two_geometries)
{
    for (int both = 0; both < 2; both++) {
        struct rig x;
        rig_open(&x, 1, 0);
        rondo_buffer b = rig_buffer(&x, "b", 64, 0);
        rondo_slot row =
            rondo_subgraph_slot(x.handle, &(rondo_slot_desc){ .name = "row", .buffer = b });
        rondo_slot square = rondo_subgraph_slot(
            x.handle, &(rondo_slot_desc){
                          .name = "square", .buffer = b, .shape = { 8, { 8, 8, 0 }, { 0, 0 } } });
        TASK(&x, "k", 0, rondo_write(row, rondo_span(0, 9)));
        if (both)
            TASK(&x, "l", 0, rondo_write(row, rondo_span(8, 1)),
                 rondo_write(square, rondo_box(0, 1, 1, 1)));
        else
            TASK(&x, "l", 0, rondo_read(square, rondo_box(0, 0, 8, 2)));
        if (both) {
            cr_assert_eq(rig_find(&x), RONDO_ERR_INVALID);
            cr_assert_str_eq(
                rondo_error_message(),
                "node 'l': it writes the same bytes through slots 'row' and 'square', "
                "which on a device are apart: they differ in geometry, buffer or ring");
        } else {
            rig_play(&x);
            TURNS(&x, "k; copy 'row' from gpu 0 [0+9,0+1]; copy 'square' to gpu 0 [0+8,0+2]; l");
        }
        rig_close(&x);
    }
}

/* One slot in another shape than its buffer's, which both fill: still an instance. */
Test(residency, another_shape)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_buffer b = rig_buffer(&x, "b", NX * NY, 0);
    rondo_slot u = rondo_subgraph_slot(
        x.handle,
        &(rondo_slot_desc){ .name = "u", .buffer = b, .shape = { 8, { NX, NY, 0 }, { 0, 0 } } });
    static const rondo_region all = { { 0, 0, 0 }, { NX * NY, 1, 1 } };
    TASK(&x, "k", 0, rondo_read(u, rondo_whole()), rondo_write(u, rondo_box(1, 1, NX - 2, NY - 2)));
    rig_play(&x);
    TURNS(&x, "k");
    cr_assert_eq(x.w.r->arena_bytes[1], 0);
    expect_boxes(&stay_of(&x, 0)->need[1], &all, "needed on the device");
    expect_boxes(&stay_of(&x, 0)->written, &all, "written");
    expect_boxes(&stay_of(&x, 0)->hold[0], NULL, "held on the host");
    rig_close(&x);
}

/* ---- limits */

/* Three places where two fit: the one that is used last again makes room. */
Test(residency, eviction)
{
    struct rig x;
    static const char *const name[] = { "a", "b", "c" };
    static const int use[] = { 0, 1, 2, 0, 1 };
    rondo_slot s[3];
    rig_open(&x, 1, 0);
    for (int i = 0; i < 3; i++)
        s[i] = rig_bound(&x, name[i], 32);
    for (int i = 0; i < 5; i++)
        TASK(&x, name[use[i]], 0, rondo_read(s[use[i]], rondo_whole()));
    x.w.room[0] = 512;
    rig_play(&x);
    TURNS(&x, "copy 'a' to gpu 0 [0+32,0+1]; a; copy 'b' to gpu 0 [0+32,0+1]; b; copy 'c' to gpu 0 "
              "[0+32,0+1]; c; a; copy 'b' to gpu 0 [0+32,0+1]; b");
    cr_assert_eq(x.w.r->evictions, 1);
    cr_assert_eq(x.w.r->arena_bytes[1], 512);
    rig_close(&x);
}

/* What an evicted place alone has is written back; a temporary's that nobody reads is not. */
Test(residency, write_back)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot a = rig_bound(&x, "a", 32), b = rig_bound(&x, "b", 32);
    rondo_slot t =
        rondo_subgraph_slot(x.handle, &(rondo_slot_desc){ .name = "t",
                                                          .shape = { 8, { 32, 0, 0 }, { 0, 0 } },
                                                          .flags = RONDO_TEMPORARY });
    TASK(&x, "make", 0, rondo_write(a, rondo_whole()));
    TASK(&x, "scratch", 0, rondo_write(t, rondo_whole()));
    TASK(&x, "b", 0, rondo_read(b, rondo_whole()));
    x.w.room[0] = 256;
    rig_play(&x);
    TURNS(&x, "make; copy 'a' from gpu 0 [0+32,0+1]; scratch; copy 'b' to gpu 0 [0+32,0+1]; b");
    rig_close(&x);
}

/* Of two buffers where one has room the one that gives more keeps its instance. */
Test(residency, fewer_instances)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot often = rig_fixed(&x, "often", 1024, 0), once = rig_fixed(&x, "once", 1024, 0);
    TASK(&x, "k", 0, rondo_read_write(often, rondo_whole()));
    TASK(&x, "l", 0, rondo_read_write(often, rondo_whole()));
    TASK(&x, "m", 0, rondo_read(once, rondo_span(0, 32)));
    x.w.room[0] = 8192 + 512;
    rig_play(&x);
    TURNS(&x, "k; l; copy 'once' to gpu 0 [0+32,0+1]; m");
    cr_assert_eq(x.w.r->arena_bytes[1], 256);
    cr_assert_eq(x.w.r->peak_bytes[1], 8192 + 256);
    rig_close(&x);
}

Test(residency, refused)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", 1024, 0), v = rig_fixed(&x, "v", 16, 0);
    TASK(&x, "k", 0, rondo_read(u, rondo_span(0, 512)), rondo_write(v, rondo_whole()));
    x.w.room[0] = 4000;
    cr_assert_eq(rig_find(&x), RONDO_ERR_INVALID);
    cr_assert_str_eq(
        rondo_error_message(),
        "node 'k': region [0, 512) of slot 'u' and what else it touches take 4352 "
        "bytes of RONDO_GPU_MEMORY(0), which has room for 4000: 352 bytes are missing");
    rig_close(&x);
}

/* Memory of the caller's does not count, and is used whatever the limit is. */
Test(residency, external)
{
    struct rig x;
    uint8_t external[4] = { 0, 1, 0, 0 };
    rig_open(&x, 1, 0);
    rondo_slot theirs = rig_fixed(&x, "theirs", 1024, 0), u = rig_fixed(&x, "u", 1024, 0);
    TASK(&x, "k", 0, rondo_read_write(theirs, rondo_whole()), rondo_write(u, rondo_span(0, 32)));
    x.w.external = external;
    x.w.instance_bytes = calloc(4, 8);
    x.w.instance_bytes[3] = 8192;
    x.w.room[0] = 256;
    rig_play(&x);
    TURNS(&x, "k; copy 'u' from gpu 0 [0+32,0+1]");
    world_free(&x.w);
    x.w.room[0] = 100;
    cr_assert_eq(world_make(&x.w), RONDO_ERR_INVALID);
    cr_assert(strstr(rondo_error_message(), "node 'k': region [0, 32) of slot 'u'"), "%s",
              rondo_error_message());
    cr_assert(strstr(rondo_error_message(), "room for 100: 156 bytes are missing"), "%s",
              rondo_error_message());
    rig_close(&x);
}

Test(residency, no_such_device)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", 64, 0);
    TASK(&x, "k", 3, rondo_read(u, rondo_whole()));
    cr_assert_eq(rig_find(&x), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "node 'k': it is to run on RONDO_GPU(3), of 1 devices");
    rig_close(&x);
}

Test(residency, end_that_does_not_fit)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", 1024, 0);
    x.g->slots.item[0].at_end = 2;
    TASK(&x, "k", 0, rondo_read_write(u, rondo_span(0, 32)));
    x.w.room[0] = 1000;
    cr_assert_eq(rig_find(&x), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "slot 'u': at_end is RONDO_GPU_MEMORY(0), where it takes 8192 bytes, and "
                     "there is room for 1000: 7192 bytes are missing");
    rig_close(&x);
}

/* ---- many boxes */

/* The host writes every other element: lists of boxes stay short, and the bytes right. */
Test(residency, consolidation)
{
    struct rig x;
    rig_open(&x, 1, 0);
    rondo_slot u = rig_fixed(&x, "u", 1000, 0);
    TASK(&x, "first", 0, rondo_write(u, rondo_whole()));
    for (int i = 0; i < 400; i++)
        TASK(&x, "h", -1, rondo_write(u, rondo_span(2 * i, 1)));
    TASK(&x, "last", 0, rondo_read(u, rondo_whole()));
    rig_play(&x);
    for (uint32_t i = 0; i < x.w.r->stays; i++)
        for (uint32_t m = 0; m < 2; m++)
            cr_assert(x.w.r->stay[i].hold[m].count <= RD_BOXES_MOST + 1);
    cr_assert(x.w.r->routes < 1000, "%u routes", x.w.r->routes);
    rig_close(&x);
}

/* ---- without devices */

Test(residency, host)
{
    struct rig x;
    struct rd_residency *r;
    rig_open(&x, 0, 0);
    rondo_slot u = rig_fixed(&x, "u", NX, NY), v = rig_fixed(&x, "v", NX, NY);
    rig_fixed(&x, "unused", NX, NY);
    TASK(&x, "h", -1, rondo_read(u, rondo_box(0, 0, 3, 3)), rondo_write(v, rondo_box(0, 0, 3, 3)));
    cr_assert_eq(rd_residency_host(rd_allocator_system(), x.g, &r), RONDO_OK);
    cr_assert_eq(r->stays, 2);
    expect_boxes(&r->stay[0].need[0], &whole, "u");
    expect_boxes(&r->stay[0].written, NULL, "u is not written");
    expect_boxes(&r->stay[1].hold[0], &whole, "v");
    expect_boxes(&r->stay[1].written, &whole, "v is written");
    rd_residency_free(r);
    rig_close(&x);
}
