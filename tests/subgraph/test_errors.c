/* SPDX-License-Identifier: BSD-3-Clause */
/* What instantiation refuses of a whole recording, word by word, and the graph in DOT. */
#include "subgraph/subgraph.h"

#include <criterion/criterion.h>
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

static rondo_runtime rt;
static rondo_subgraph h;
static struct rd_subgraph *g;
static rondo_buffer buffer[3];

static void begin(uint32_t flags)
{
    rondo_status status;
    int i;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(
                     rt, &(rondo_subgraph_desc){ .name = "say \"g\"", .flags = flags }, &h),
                 RONDO_OK);
    g = rd_subgraph_get(h, &status);
    for (i = 0; i < 3; i++)
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 10, 6 }, { 0 } } },
                            &buffer[i]);
}

static void finish(void)
{
    int i;
    rd_subgraph_unref(g);
    rondo_subgraph_destroy(h);
    for (i = 0; i < 3; i++)
        rondo_buffer_destroy(buffer[i]);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static rondo_node task(const char *name, const rondo_access *accesses, uint32_t count)
{
    rondo_node node =
        rondo_record_task(h, &(rondo_task_desc){ .name = name,
                                                 .fn = nothing,
                                                 .accesses = accesses,
                                                 .access_count = count,
                                                 .flags = count ? 0 : RONDO_NO_ACCESS });
    cr_assert(node.id, "%s", rondo_error_message());
    return node;
}

static rondo_node touch(const char *name, rondo_access a) { return task(name, &a, 1); }

/* The analysis refuses, and leaves no memory behind. */
static void refused(int carried, const char *message)
{
    uint64_t bytes = rd_load_relaxed(&g->rt->alloc.bytes);
    struct rd_graph graph;
    cr_assert_eq(rd_subgraph_analyse(g, carried, &graph), RONDO_ERR_INVALID, "accepted: %s",
                 message);
    cr_assert_str_eq(rondo_error_message(), message);
    cr_assert_eq(rd_load_relaxed(&g->rt->alloc.bytes), bytes);
}

static void accepted(int carried)
{
    struct rd_graph graph;
    cr_assert_eq(rd_subgraph_analyse(g, carried, &graph), RONDO_OK, "%s", rondo_error_message());
    rd_graph_free(&g->rt->alloc, &graph);
}

Test(errors, cycles)
{
    rondo_node a, b, c, many[60];
    char name[40], long_path[RD_MESSAGE_BYTES];
    int i;
    begin(0);
    refused(0, "subgraph 'say \"g\"' has no nodes");
    a = task("a", NULL, 0);
    b = task("b", NULL, 0);
    c = task("c", NULL, 0);
    rondo_record_edge(h, a, b, 0);
    rondo_record_edge(h, b, c, 0);
    rondo_record_edge(h, c, a, 1); /* carried: no cycle */
    accepted(1);
    rondo_record_edge(h, c, a, 0);
    refused(0, "cycle: a -> b -> c -> a");
    refused(1, "cycle: a -> b -> c -> a");
    finish();

    begin(0);
    for (i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "a name of some length %d", i);
        many[i] = task(name, NULL, 0);
        if (i)
            rondo_record_edge(h, many[i - 1], many[i], 0);
    }
    rondo_record_edge(h, many[59], many[0], 0);
    cr_assert_eq(rd_subgraph_analyse(g, 0, &(struct rd_graph){ 0 }), RONDO_ERR_INVALID);
    snprintf(long_path, sizeof long_path, "%s", rondo_error_message());
    cr_assert_eq(
        strncmp(long_path, "cycle: a name of some length 0 -> a name of some length 1 -> ", 60), 0,
        "%s", long_path);
    cr_assert(strstr(long_path, " -> ... (47 more) -> a name of some length 59 -> a name of some "
                                "length 0"),
              "%s", long_path);
    finish();

    begin(0); /* against an edge that accesses imply; and a node before itself */
    a = touch("w", rondo_write(rondo_subgraph_slot(h, &(rondo_slot_desc){ .buffer = buffer[0] }),
                               rondo_whole()));
    b = rondo_record_call(h, "c", no_call, NULL);
    rondo_record_edge(h, b, a, 0);
    refused(0, "cycle: w -> c -> w");
    finish();
    begin(0);
    a = task("a", NULL, 0);
    rondo_record_edge(h, a, a, 0);
    refused(0, "cycle: a -> a");
    finish();
}

/* "Clear before accumulate" forgotten. */
Test(errors, unordered_conflicts)
{
    rondo_node clear, add, other;
    rondo_slot s;
    begin(RONDO_EDGES_EXPLICIT);
    s = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "acc", .buffer = buffer[0] });
    clear = touch("clear", rondo_write(s, rondo_box(0, 0, 8, 6)));
    add = touch("accumulate", rondo_read_write(s, rondo_box(4, 2, 6, 3)));
    refused(0, "nodes 'clear' and 'accumulate' are not ordered by edges; both access slot 'acc', "
               "region [4, 8) x [2, 5), and one writes");
    rondo_record_edge(h, clear, add, 0);
    accepted(0);
    refused(1, "nodes 'clear' and, 1 replay later, 'clear' are not ordered by edges; both access "
               "slot 'acc', region [0, 8) x [0, 6), and one writes");
    rondo_record_edge(h, clear, clear, 1);
    refused(1, "nodes 'accumulate' and, 1 replay later, 'clear' are not ordered by edges; both "
               "access slot 'acc', region [4, 8) x [2, 5), and one writes");
    rondo_record_edge(h, add, clear, 1);
    accepted(1);
    other = touch("beside", rondo_write(s, rondo_box(8, 0, 2, 2)));
    accepted(0);
    (void)other;
    refused(1, "nodes 'beside' and, 1 replay later, 'beside' are not ordered by edges; both "
               "access slot 'acc', region [8, 10) x [0, 2), and one writes");
    finish();
}

/* A call is in sequence also where edges are explicit. */
Test(errors, calls_order_where_edges_are_explicit)
{
    rondo_slot s;
    begin(RONDO_EDGES_EXPLICIT);
    s = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "s", .buffer = buffer[0] });
    touch("one", rondo_write(s, rondo_whole()));
    rondo_record_call(h, "call", no_call, NULL);
    touch("two", rondo_read(s, rondo_whole()));
    accepted(0);
    refused(1, "nodes 'two' and, 1 replay later, 'one' are not ordered by edges; both access slot "
               "'s', region [0, 10) x [0, 6), and one writes");
    rondo_record_call(h, "last", no_call, NULL);
    accepted(1);
    touch("three", rondo_read_write(s, rondo_whole()));
    touch("four", rondo_write(s, rondo_whole()));
    refused(0, "nodes 'three' and 'four' are not ordered by edges; both access slot 's', "
               "region [0, 10) x [0, 6), and one writes");
    finish();
}

/* Through wraps of one memory with other pitches, and through declared aliases. */
Test(errors, unordered_conflicts_of_two_slots)
{
    rondo_buffer wrap;
    rondo_slot s, t;
    void *bytes;
    begin(RONDO_EDGES_EXPLICIT);
    rondo_buffer_map(buffer[0], RONDO_READ, &bytes);
    rondo_buffer_unmap(buffer[0]);
    rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .shape = { 4, { 7, 3 }, { 36 } }, .host = (char *)bytes + 16 },
        &wrap);
    s = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "s", .buffer = buffer[0] });
    t = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "t", .buffer = wrap });
    touch("one", rondo_write(s, rondo_box(0, 0, 1, 1)));
    touch("two", rondo_write(t, rondo_box(0, 0, 7, 1)));
    accepted(0);
    touch("three", rondo_read(s, rondo_box(3, 0, 1, 1)));
    refused(0, "nodes 'two' and 'three' are not ordered by edges; both access slot 's', region "
               "[3, 4) x [0, 1), and one writes");
    rondo_buffer_destroy(wrap);
    finish();
    begin(RONDO_EDGES_EXPLICIT);
    s = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "s", .buffer = buffer[0] });
    t = rondo_subgraph_slot(h,
                            &(rondo_slot_desc){ .name = "t", .buffer = buffer[1], .alias_of = s });
    touch("one", rondo_write(s, rondo_box(0, 0, 1, 1)));
    touch("two", rondo_read(t, rondo_box(5, 5, 1, 1)));
    refused(0, "nodes 'one' and 'two' are not ordered by edges; both access slot 't' and one that "
               "may share its bytes, and one writes");
    finish();
}

/* A ring of 300: what one replay writes the 299th later one overwrites. */
Test(errors, too_far)
{
    rondo_buffer ring[300];
    rondo_slot in, out;
    int i;
    begin(0);
    for (i = 0; i < 300; i++)
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 1 }, { 0 } } }, &ring[i]);
    in =
        rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "in", .ring = ring, .ring_count = 300 });
    out = rondo_subgraph_slot(
        h, &(rondo_slot_desc){ .name = "out", .ring = ring, .ring_count = 300, .ring_first = 1 });
    touch("read", rondo_read(in, rondo_whole()));
    touch("write", rondo_write(out, rondo_whole()));
    accepted(0);
    refused(1, "slot 'out': node 'write' depends on node 'read' of 299 replays before, more than "
               "255");
    for (i = 0; i < 300; i++)
        rondo_buffer_destroy(ring[i]);
    finish();
}

static char text[4096];
static void append(void *context, const char *piece)
{
    strncat(text, piece, sizeof text - strlen(text) - 1);
    ++*(int *)context;
}

Test(errors, dot)
{
    rondo_node a, b;
    rondo_slot s;
    int pieces = 0;
    begin(0);
    s = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "the \"u\"", .buffer = buffer[0] });
    a = touch("one\\two", rondo_write(s, rondo_whole()));
    b = touch("b", rondo_read(s, rondo_whole()));
    rondo_record_call(h, "call", no_call, NULL);
    rondo_record_edge(h, a, b, 2);
    rondo_record_edge(h, b, a, 0); /* a cycle is drawn too */
    cr_assert_eq(rondo_subgraph_write_dot(h, append, &pieces), RONDO_OK);
    cr_assert_str_eq(text, "digraph \"say \\\"g\\\"\" {\n"
                           "  n0 [label=\"one\\\\two\", shape=box];\n"
                           "  n1 [label=\"b\", shape=box];\n"
                           "  n2 [label=\"call\", shape=ellipse];\n"
                           "  n1 -> n0 [style=solid, label=\"\"];\n"
                           "  n2 -> n0 [style=dashed, label=\"everything +1\", color=gray40];\n"
                           "  n0 -> n1 [style=solid, label=\"the \\\"u\\\"\", color=gray40];\n"
                           "  n0 -> n1 [style=dashed, label=\"+2\"];\n"
                           "  n1 -> n2 [style=solid, label=\"everything\", color=gray40];\n"
                           "}\n");
    cr_assert_gt(pieces, 10);
    cr_assert_eq(rondo_subgraph_write_dot(h, NULL, NULL), RONDO_ERR_INVALID);
    finish();
}
