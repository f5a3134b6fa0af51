/* SPDX-License-Identifier: BSD-3-Clause */
/* What builders refuse, with exact messages; that a refused call leaves nothing but its error; and
 * what a recording holds. */
#include "subgraph/subgraph.h"

#include <criterion/criterion.h>
#include <math.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

static int releases;
static void count_release(void *context)
{
    (void)context;
    releases++;
}

static rondo_runtime rt;
static rondo_subgraph h, other;
static struct rd_subgraph *g;
static rondo_buffer line, plane;
static rondo_slot u, v, w, foreign_slot; /* 128 of 8 bytes; 8 x 4 of 8; bound 16 of 4 */
static rondo_param p8, p12, foreign_param;
static rondo_node first, foreign_node;

static void open_all(void)
{
    rondo_status status;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &h), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &other), RONDO_OK);
    g = rd_subgraph_get(h, &status);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "line", .shape = { 8, { 128 }, { 0 } } },
                        &line);
    rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "plane", .shape = { 8, { 8, 4 }, { 0 } } }, &plane);
    u = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "u", .buffer = line });
    v = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "v", .buffer = plane });
    w = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "w", .shape = { 4, { 16 }, { 0 } } });
    foreign_slot = rondo_subgraph_slot(other, &(rondo_slot_desc){ .buffer = line });
    p8 = rondo_subgraph_param(h, "p8", 8, NULL);
    p12 = rondo_subgraph_param(h, "p12", 12, "abcdefghijk");
    foreign_param = rondo_subgraph_param(other, NULL, 8, NULL);
    first = rondo_record_task(h, &(rondo_task_desc){ .name = "first", .fn = nothing });
    foreign_node = rondo_record_task(other, &(rondo_task_desc){ .fn = nothing });
    cr_assert(u.id && v.id && w.id && foreign_slot.id && p8.id && p12.id && first.id &&
              foreign_node.id);
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    rd_subgraph_unref(g);
    cr_assert_eq(rondo_subgraph_destroy(h), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(other), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(line), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(plane), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.subgraphs, 0);
    cr_assert_eq(s.buffers, 0);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

struct pools {
    size_t counts[18];
};
static struct pools pools_now(void)
{
    struct pools p = { { g->names.count, g->args.count, g->slots.count, g->params.count,
                         g->params_initial.count, g->nodes.count, g->accesses.count, g->boxes.count,
                         g->chunks.count, g->param_uses.count, g->patches.count, g->edges.count,
                         g->holders.count, g->groups.count, g->extras.count, g->whens.count,
                         g->syncs.count, g->inner.count } };
    return p;
}

static uint64_t refs_of(rondo_buffer handle)
{
    rondo_status status;
    struct rd_buffer *b = rd_buffer_get(handle, &status);
    uint64_t refs = rd_load_relaxed(&b->refs) - 1;
    rd_buffer_unref(b);
    return refs;
}

/* After a refused call: the message sticks, nothing else was added; then forgets it. */
static void refused(uint64_t id, const struct pools *before, uint64_t line_refs,
                    const char *message)
{
    struct pools after = pools_now();
    cr_assert_eq(id, 0, "accepted: %s", message);
    cr_assert_str_eq(rondo_error_message(), message);
    cr_assert(!memcmp(before, &after, sizeof after), "pools grew: %s", message);
    cr_assert_eq(refs_of(line), line_refs);
    cr_assert_eq(rondo_subgraph_status(h), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), message);
    cr_assert_eq(rondo_subgraph_clear_error(h), RONDO_OK);
    cr_assert_eq(rondo_subgraph_status(h), RONDO_OK);
}

#define REFUSED(call, message)                           \
    do {                                                 \
        struct pools before_ = pools_now();              \
        uint64_t refs_ = refs_of(line), id_ = (call).id; \
        refused(id_, &before_, refs_, message);          \
    } while (0)
#define TASK(...)                                                      \
    rondo_record_task(h, &(rondo_task_desc){ .name = "t",              \
                                             .fn = nothing,            \
                                             .release = count_release, \
                                             .context = &releases,     \
                                             __VA_ARGS__ })

static rondo_access with(rondo_access a, unsigned flags, int h0, int h1)
{
    a.flags = (uint8_t)flags;
    a.halo[0] = (int16_t)h0;
    a.halo[1] = (int16_t)h1;
    return a;
}

static void refuse_tasks(void)
{
    char arg[16] = { 0 }, message[96];
    rondo_node bad_node[2] = { first, { 0 } };
    REFUSED(rondo_record_task(h, &(rondo_task_desc){ .name = "t" }), "node 't': fn is NULL");
    REFUSED(TASK(.arg = arg), "node 't': arg is given and arg_bytes 0");
    REFUSED(TASK(.arg_bytes = 8), "node 't': arg is NULL and arg_bytes 8");
    REFUSED(TASK(.flags = 0x43), "node 't': flags 0x43: unknown bits");
    REFUSED(TASK(.access_count = 2), "node 't': accesses is NULL, access_count 2");
    REFUSED(TASK(.flags = RONDO_NO_ACCESS, RONDO_ACCESSES(rondo_read(u, rondo_whole()))),
            "node 't': RONDO_NO_ACCESS with access_count 1");
    snprintf(message, sizeof message,
             "node 't': on is RONDO_CPU(4000), the runtime has %u processors", g->rt->processors);
    REFUSED(TASK(.on = RONDO_CPU(4000)), message);
    REFUSED(TASK(.on = 77), "node 't': on is 0x4d, not a processor");
    REFUSED(TASK(.cost_ns = -1), "node 't': cost_ns is -1");
    REFUSED(TASK(.cost_ns = NAN), "node 't': cost_ns is nan");
    REFUSED(TASK(.cost_ns = INFINITY), "node 't': cost_ns is inf");
    REFUSED(TASK(.after_count = 1), "node 't': after is NULL, after_count 1");
    REFUSED(TASK(.after = bad_node, .after_count = 2),
            "node 't': after[1]: the node handle is {0}");
    REFUSED(TASK(.carried = bad_node + 1, .carried_count = 1),
            "node 't': carried[0]: the node handle is {0}");
    REFUSED(TASK(.carried_distance = 2), "node 't': carried_distance 2 without carried nodes");
    REFUSED(TASK(.carried = &first, .carried_count = 1, .carried_distance = 256),
            "node 't': carried_distance 256 is more than 255");
    REFUSED(TASK(.param_count = 1), "node 't': params is NULL, param_count 1");
    REFUSED(TASK(RONDO_PARAMS(p8, { 0 })), "node 't': params[1]: the parameter handle is {0}");
    REFUSED(TASK(RONDO_ARG(arg), .patch_count = 1), "node 't': patches is NULL, patch_count 1");
    REFUSED(TASK(RONDO_ARG(arg), RONDO_PATCHES({ { 0 }, 0, 0, 8, 0 })),
            "node 't': patches[0]: the parameter handle is {0}");
    REFUSED(TASK(RONDO_ARG(arg), RONDO_PATCHES({ p8, 0, 0, 8, 0 }, { p8, 4, 0, 8, 0 })),
            "node 't': patches[1]: bytes [4, 12) of parameter 'p8', which has 8");
    REFUSED(TASK(RONDO_ARG(arg), RONDO_PATCHES({ p8, 0, 12, 8, 0 })),
            "node 't': patches[0]: bytes [12, 20) of arg, which has 16");
    REFUSED(TASK(RONDO_ARG(arg), RONDO_PATCHES({ p8, 0, 0, 0, 0 })),
            "node 't': patches[0]: bytes 0, reserved field 0");
    REFUSED(TASK(RONDO_ARG(arg), RONDO_PATCHES({ p8, 0, 0, 8, 9 })),
            "node 't': patches[0]: bytes 8, reserved field 9");
    cr_assert_eq(releases, 0, "a refused task's context is not released");
}

static void refuse_accesses(void)
{
    rondo_access a = rondo_read(u, rondo_whole());
#define ACCESS(x) TASK(RONDO_ACCESSES(rondo_read(v, rondo_whole()), x))
    REFUSED(ACCESS(rondo_read((rondo_slot){ 0 }, rondo_whole())),
            "node 't': access 1: the slot handle is {0}");
    REFUSED(ACCESS(rondo_access_of(u, 0, rondo_whole())),
            "node 't': access 1 to slot 'u': mode is 0");
    REFUSED(ACCESS(rondo_access_of(u, 4, rondo_whole())),
            "node 't': access 1 to slot 'u': mode is 4");
    REFUSED(ACCESS(with(a, 16, 0, 0)), "node 't': access 1 to slot 'u': flags 0x10: unknown bits");
    a.zero16 = 5;
    REFUSED(ACCESS(a), "node 't': access 1 to slot 'u': reserved fields are 5, 0, not 0");
    a.zero16 = 0;
    REFUSED(ACCESS(rondo_read(u, rondo_span(0, 130))),
            "node 't': access 1 to slot 'u': region [0, 130) exceeds extent 128 in dimension 0");
    REFUSED(ACCESS(rondo_read(u, rondo_span(128, 0))),
            "node 't': access 1 to slot 'u': region begins at 128, extent is 128 in dimension 0");
    REFUSED(ACCESS(rondo_read(u, rondo_span(-1, 4))),
            "node 't': access 1 to slot 'u': region: first -1, count 4 in dimension 0");
    REFUSED(ACCESS(rondo_read(v, rondo_box(0, 0, 8, 5))),
            "node 't': access 1 to slot 'v': region [0, 5) exceeds extent 4 in dimension 1");
    REFUSED(ACCESS(with(rondo_read(u, rondo_span(0, 10)), 0, 1, 0)),
            "node 't': access 1 to slot 'u': region [0, 10) with halo 1 exceeds extent 128 in "
            "dimension 0");
    REFUSED(ACCESS(with(a, RONDO_CLIP, -1, 0)),
            "node 't': access 1 to slot 'u': halo -1 with extent 128 in dimension 0");
    REFUSED(ACCESS(with(a, RONDO_CLIP, 129, 0)),
            "node 't': access 1 to slot 'u': halo 129 with extent 128 in dimension 0");
    REFUSED(ACCESS(with(a, RONDO_CLIP | RONDO_WRAP, 1, 0)),
            "node 't': access 1 to slot 'u': RONDO_CLIP and RONDO_WRAP exclude each other");
    REFUSED(ACCESS(with(a, RONDO_WRAP, 0, 0)),
            "node 't': access 1 to slot 'u': RONDO_WRAP without a halo");
    REFUSED(ACCESS(rondo_chunk(u, RONDO_READ, 1, 0)),
            "node 't': access 1 to slot 'u': RONDO_CHUNK is for rondo_record_for only");
#undef ACCESS
}

static void refuse_slots(void)
{
#define SLOT(...) rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "s", __VA_ARGS__ })
    rondo_buffer ring[2] = { line, { 0 } };
    REFUSED(SLOT(.shape = { 0 }), "slot 's': shape: elem_bytes is 0");
    REFUSED(SLOT(.shape = { 8, { 0, 3 }, { 0 } }), "slot 's': shape: extent[0] is 0");
    REFUSED(SLOT(.shape = { 8, { 2, 0, 3 }, { 0 } }),
            "slot 's': shape: extent[2] is 3 behind an absent dimension");
    REFUSED(SLOT(.shape = { 8, { 4, -3 }, { 0 } }), "slot 's': shape: extent[1] is -3");
    REFUSED(SLOT(.shape = { 8, { 4, 3 }, { 24 } }),
            "slot 's': shape: pitch_bytes[0] is 24, smaller than the 32 bytes of a row");
    REFUSED(SLOT(.shape = { 8, { 4, 3, 2 }, { 32, 80 } }),
            "slot 's': shape: pitch_bytes[1] is 80, smaller than the 96 bytes of a plane");
    REFUSED(SLOT(.shape = { 8, { INT64_MAX }, { 0 } }),
            "slot 's': shape: 9223372036854775807 x 1 x 1 elements of 8 bytes are too many");
    REFUSED(SLOT(.buffer = line, .shape = { 8, { 129 }, { 0 } }),
            "slot 's': its shape spans 1032 bytes, buffer 'line' has 1024");
    REFUSED(SLOT(.buffer = line, .ring = ring, .ring_count = 1),
            "slot 's': it has both a buffer and a ring of 1");
    REFUSED(SLOT(.ring_count = 2), "slot 's': ring is NULL and ring_count 2");
    REFUSED(SLOT(.ring = ring), "slot 's': ring is given and ring_count 0");
    REFUSED(SLOT(.ring = ring, .ring_count = 2), "slot 's': ring[1]: buffer: the handle is {0}");
    ring[1] = plane;
    REFUSED(SLOT(.ring = ring, .ring_count = 2),
            "slot 's': its shape spans 1024 bytes, buffer 'plane' has 256");
    REFUSED(SLOT(.ring = ring, .ring_count = 2, .ring_first = 2),
            "slot 's': ring_first 2 and ring_stride 0 do not fit ring_count 2");
    REFUSED(SLOT(.buffer = line, .ring_stride = 1),
            "slot 's': ring_first 0 and ring_stride 1 do not fit ring_count 0");
    REFUSED(rondo_subgraph_param(h, "p", 0, NULL), "parameter 'p': bytes is 0");
#undef SLOT
}

static void refuse_loops(void)
{
#define FOR(...)                                                                               \
    rondo_record_for(                                                                          \
        h, &(rondo_for_desc){ RONDO_TASK(.name = "f", .fn = nothing, .release = count_release, \
                                         RONDO_ACCESSES(rondo_chunk(u, RONDO_READ, 0, 0))),    \
                              __VA_ARGS__ })
    rondo_access chunk = rondo_chunk(u, RONDO_READ, 0, 0);
    REFUSED(rondo_record_for(h, &(rondo_for_desc){ .range = rondo_span(0, 4) }),
            "rondo_for_desc: task is NULL");
    REFUSED(FOR(.range = { { 0 }, { 0 } }), "node 'f': range is empty: count[0] is 0");
    REFUSED(FOR(.range = rondo_span(-1, 4)), "node 'f': range: first -1, count 4 in dimension 0");
    REFUSED(FOR(.range = rondo_span(0, 4), .chunks = { 5 }),
            "node 'f': 5 chunks of 4 elements in dimension 0");
    REFUSED(FOR(.range = rondo_span(0, 4), .chunks = { 1, 2 }),
            "node 'f': 2 chunks of 0 elements in dimension 1");
    REFUSED(FOR(.range = { { 0, 0, 0 }, { 4, 0, 2 } }),
            "node 'f': range: first 0, count 2 in dimension 2 behind an absent one");
    REFUSED(FOR(.range = rondo_span(100, 40), .chunks = { 4 }),
            "node 'f[2]': access 0 to slot 'u': region [120, 130) exceeds extent 128 in dimension "
            "0");
    chunk.region = rondo_span(0, 2);
    REFUSED(rondo_record_for(
                h, &(rondo_for_desc){ RONDO_TASK(.name = "f", .fn = nothing, RONDO_ACCESSES(chunk)),
                                      .range = rondo_span(0, 4) }),
            "node 'f[0]': access 0 to slot 'u': with RONDO_CHUNK the region must be all zero");
    REFUSED(rondo_record_call(h, "c", NULL, NULL), "node 'c': fn is NULL");
    cr_assert_eq(releases, 0);
#undef FOR
}

static void refuse_moves(void)
{
#define COPY(...) rondo_record_copy(h, &(rondo_move_desc){ .name = "m", __VA_ARGS__ })
#define FILL(...) rondo_record_fill(h, &(rondo_move_desc){ .name = "m", __VA_ARGS__ })
    double zero = 0;
    rondo_access low = rondo_access_of(u, 0, rondo_span(0, 8)),
                 high = rondo_access_of(u, 0, rondo_span(8, 8)),
                 row = rondo_access_of(v, 0, rondo_box(0, 1, 8, 1));
    REFUSED(COPY(.from = low), "node 'm': to: the slot handle is {0}");
    REFUSED(COPY(.from = rondo_write(u, rondo_whole()), .to = high), "node 'm': from: mode is 2");
    REFUSED(COPY(.from = low, .to = with(high, RONDO_CLIP, 1, 0)),
            "node 'm': to: halo 1, 0, 0 of a copy or fill");
    REFUSED(COPY(.from = low, .to = rondo_access_of(u, 0, rondo_span(8, 7))),
            "node 'm': from holds 8 elements in dimension 0, to holds 7");
    REFUSED(COPY(.from = low, .to = rondo_access_of(w, 0, rondo_span(0, 8))),
            "node 'm': from slot 'u' with elements of 8 bytes to slot 'w' with 4");
    REFUSED(COPY(.from = low, .to = rondo_access_of(u, 0, rondo_span(7, 8))),
            "node 'm': from (slot 'u') and to (slot 'u') overlap");
    REFUSED(COPY(.from = low, .to = row, .value = &zero, .value_bytes = 8),
            "node 'm': a copy with a value");
    REFUSED(COPY(.from = low, .to = row, .count = p12),
            "node 'm': count: parameter 'p12' has 12 bytes, not 8, 16 or 24");
    REFUSED(COPY(.from = low, .to = row, .after_count = 1),
            "node 'm': after is NULL, after_count 1");
    REFUSED(FILL(.to = low), "node 'm': value is NULL");
    REFUSED(FILL(.from = low, .to = high, .value = &zero, .value_bytes = 8),
            "node 'm': a fill with `from`");
    REFUSED(FILL(.to = low, .value = &zero, .value_bytes = 4),
            "node 'm': value_bytes is 4, an element of slot 'u' has 8");
    REFUSED(FILL(.to = low, .value = &zero, .value_bytes = 8, .cost_ns = -2),
            "node 'm': cost_ns is -2");
    cr_assert(COPY(.from = low, .to = row, .count = p8).id, "%s", rondo_error_message());
#undef COPY
#undef FILL
}

/* Handles of another subgraph, of another kind, of nothing. */
static void refuse_handles(void)
{
    char message[160];
    struct pools before = pools_now();
    uint64_t refs = refs_of(line);
    snprintf(message, sizeof message,
             "node 't': after[0]: handle 0x%llx is no node of subgraph 'g'",
             (unsigned long long)foreign_node.id);
    refused(TASK(RONDO_AFTER(foreign_node)).id, &before, refs, message);
    snprintf(message, sizeof message,
             "node 't': access 0: slot handle 0x%llx is not of subgraph 'g'",
             (unsigned long long)foreign_slot.id);
    refused(TASK(RONDO_ACCESSES(rondo_read(foreign_slot, rondo_whole()))).id, &before, refs,
            message);
    snprintf(message, sizeof message,
             "node 't': params[0]: handle 0x%llx is no parameter of subgraph 'g'",
             (unsigned long long)foreign_param.id);
    refused(TASK(RONDO_PARAMS(foreign_param)).id, &before, refs, message);
    snprintf(message, sizeof message,
             "node 't': params[0]: handle 0x%llx is no parameter of "
             "subgraph 'g'",
             (unsigned long long)u.id);
    refused(TASK(RONDO_PARAMS({ u.id })).id, &before, refs, message);
    snprintf(message, sizeof message,
             "rondo_record_edge: to: handle 0x%llx is of another subgraph than 'g'",
             (unsigned long long)foreign_node.id);
    cr_assert_eq(rondo_record_edge(h, first, foreign_node, 0), RONDO_ERR_INVALID);
    refused(0, &before, refs, message);
    cr_assert_eq(rondo_record_edge(h, first, first, 256), RONDO_ERR_INVALID);
    refused(0, &before, refs,
            "rondo_record_edge: 'first' to 'first': distance 256 is more than 255");
}

Test(record, refusals)
{
    releases = 0;
    open_all();
    refuse_tasks();
    refuse_accesses();
    refuse_slots();
    refuse_loops();
    refuse_moves();
    refuse_handles();
    close_all();
    cr_assert_eq(releases, 0);
}

/* The first error sticks, later ones do not replace it; the same call succeeds afterwards. */
Test(record, the_first_error_sticks)
{
    open_all();
    cr_assert_eq(rondo_record_call(h, "one", NULL, NULL).id, 0);
    cr_assert_eq(rondo_record_call(h, "two", NULL, NULL).id, 0);
    cr_assert(rondo_record_call(h, "three", no_call, NULL).id);
    cr_assert_eq(rondo_subgraph_status(h), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "node 'one': fn is NULL");
    cr_assert_eq(rondo_subgraph_clear_error(h), RONDO_OK);
    cr_assert(rondo_record_call(h, "one", no_call, NULL).id);
    cr_assert_eq(rondo_subgraph_status(h), RONDO_OK);
    close_all();
    cr_assert_eq(rondo_record_call(h, "late", no_call, NULL).id, 0);
    cr_assert_eq(rondo_subgraph_status(h), RONDO_ERR_STALE);
    cr_assert_eq(rondo_subgraph_destroy(h), RONDO_ERR_STALE);
}

/* Older and newer callers: missing fields are zero, unknown ones must be. */
Test(record, descriptions_of_other_sizes)
{
    struct {
        rondo_task_desc desc;
        uint64_t more;
    } grown = { { .name = "grown", .fn = nothing }, 0 };
    rondo_node node;
    open_all();
    node = rondo_record_task_sized(h, &grown.desc, sizeof grown);
    cr_assert(node.id, "%s", rondo_error_message());
    grown.more = 1;
    cr_assert_eq(rondo_record_task_sized(h, &grown.desc, sizeof grown).id, 0);
    cr_assert(strstr(rondo_error_message(), "rondo_task_desc of "), "%s", rondo_error_message());
    rondo_subgraph_clear_error(h);
    grown.desc.flags = 99; /* not looked at in the shorter struct */
    node = rondo_record_task_sized(h, &grown.desc, offsetof(rondo_task_desc, flags));
    cr_assert(node.id, "%s", rondo_error_message());
    cr_assert_eq(rondo_record_task_sized(h, NULL, 0).id, 0);
    cr_assert_str_eq(rondo_error_message(), "rondo_task_desc is NULL");
    close_all();
}

/* Arguments, names and arrays are copied; equal names in a row are kept once; contexts without
 * `release` share a holder, others are released once. */
Test(record, what_is_recorded)
{
    char name[] = "step", arg[8] = "0123456";
    const struct rd_node *n;
    int i, context[2];
    releases = 0;
    open_all();
    for (i = 0; i < 3; i++) {
        rondo_record_task(h, &(rondo_task_desc){ .name = name,
                                                 .fn = nothing,
                                                 RONDO_ARG(arg),
                                                 .tag = 7,
                                                 .context = &context[i % 2],
                                                 .cost_ns = 0.25,
                                                 .on = RONDO_CPU(0),
                                                 RONDO_AFTER(first) });
        arg[0]++;
    }
    memset(name, 'x', sizeof name - 1);
    n = &g->nodes.item[1];
    cr_assert_str_eq(rd_subgraph_text(g, n->name), "step");
    cr_assert_eq(n[0].name, n[2].name);
    cr_assert_str_eq(g->args.item + n[0].arg, "0123456");
    cr_assert_str_eq(g->args.item + n[2].arg, "2123456");
    cr_assert_eq(n->tag, 7);
    cr_assert_eq(n->cost_ns, 1);
    cr_assert_eq(n->bound, 0);
    cr_assert_eq(n[0].holder, n[2].holder);
    cr_assert_neq(n[0].holder, n[1].holder);
    cr_assert_eq(g->edges.count, 3);
    cr_assert_eq(g->edges.item[2].from, 0);
    cr_assert_eq(g->edges.item[2].to, 3);
    cr_assert_eq(g->params.item[1].offset % 16, 0);
    cr_assert(g->params.item[1].has_initial && !g->params.item[0].has_initial);
    cr_assert_str_eq(g->params_initial.item + g->params.item[1].offset, "abcdefghijk");
    cr_assert(TASK(.tag = 1).id && TASK(.tag = 2).id);
    close_all();
    cr_assert_eq(releases, 2);
}

/* A loop's handle stands for its nodes; a predecessor comes before each of them. */
Test(record, groups)
{
    rondo_node loop, last;
    open_all();
    loop = rondo_record_for(
        h, &(rondo_for_desc){ RONDO_TASK(.name = "f", .fn = nothing, RONDO_AFTER(first)),
                              .range = rondo_span(0, 10), .chunks = { 3 } });
    last = rondo_record_task(
        h, &(rondo_task_desc){
               .fn = nothing, RONDO_AFTER(loop), .carried = &loop, .carried_count = 1 });
    cr_assert(loop.id && last.id, "%s", rondo_error_message());
    cr_assert_eq(g->edges.count, 9);
    cr_assert_eq(g->edges.item[1].to, 2);
    cr_assert_eq(g->edges.item[5].from, 3);
    cr_assert_eq(g->edges.item[8].distance, 1);
    cr_assert_eq(g->chunks.item[g->nodes.item[3].chunk].first[0], 7);
    cr_assert_eq(g->chunks.item[g->nodes.item[3].chunk].count[0], 3);
    cr_assert_eq(rondo_record_edge(h, loop, loop, 1), RONDO_OK);
    cr_assert_eq(g->edges.count, 18);
    close_all();
}
