/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_subgraph_visit: every kind of node with what it was recorded with, edges of every source,
 * and recordings that instantiation refuses. */
#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static rondo_runtime rt;
static rondo_subgraph g;
static rondo_slot a, b;
static rondo_param go;

static struct seen {
    uint32_t nodes, edges;
    rondo_recorded_node node[16];
    char name[16][32], text[1024];
} seen;

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

static void see_node(void *context, uint32_t number, const rondo_recorded_node *node)
{
    struct seen *s = context;
    cr_assert_eq(number, s->nodes);
    cr_assert_eq(s->edges, 0, "an edge came before a node");
    s->node[number] = *node;
    snprintf(s->name[number], sizeof *s->name, "%s", node->name);
    s->nodes++;
}

static void see_edge(void *context, const rondo_recorded_edge *e)
{
    struct seen *s = context;
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%u-%u+%u %s\n", e->from, e->to, e->distance,
             e->by_hand ? "hand"
             : e->slot  ? e->slot
                        : "all");
    s->edges++;
}

static void open_all(void)
{
    memset(&seen, 0, sizeof seen);
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    a = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "a", .shape = { 8, { 8 }, { 0 } } });
    b = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "b", .shape = { 8, { 8 }, { 0 } } });
    go = rondo_subgraph_param(g, "go", 4, NULL);
    cr_assert(a.id && b.id && go.id);
}

static void close_all(void)
{
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static void expect_node(uint32_t i, uint32_t kind, const char *name, uint32_t flags)
{
    cr_assert_eq(seen.node[i].kind, kind, "node %u is of kind %u", i, seen.node[i].kind);
    cr_assert_str_eq(seen.name[i], name);
    cr_assert_eq(seen.node[i].flags, flags, "node %u has flags 0x%x", i, seen.node[i].flags);
}

Test(subgraph_visit, every_kind)
{
    rondo_counter counter;
    rondo_node group, task;
    uint64_t zero = 0;
    open_all();
    cr_assert_eq(rondo_counter_create(rt, 0, &counter), RONDO_OK);
    task = rondo_record_task(g, &(rondo_task_desc){ .name = "task",
                                                    .fn = nothing,
                                                    .tag = 77,
                                                    .cost_ns = 1500,
                                                    .on = RONDO_CPU(0),
                                                    .when = { .param = go },
                                                    .flags = RONDO_MAY_STOP | RONDO_NO_ACCESS });
    rondo_record_copy(g, &(rondo_move_desc){ .from = rondo_read(a, rondo_whole()),
                                             .to = rondo_write(b, rondo_whole()) });
    rondo_record_fill(g, &(rondo_move_desc){ .to = rondo_write(a, rondo_whole()),
                                             .value = &zero,
                                             .value_bytes = sizeof zero });
    rondo_record_allreduce(g, &(rondo_move_desc){ .from = rondo_read_write(b, rondo_whole()),
                                                  .type = RONDO_I64,
                                                  .op = RONDO_SUM });
    rondo_record_wait(g, &(rondo_sync_desc){ .counter = counter, RONDO_AFTER(task) });
    rondo_record_signal(g, &(rondo_sync_desc){ .counter = counter });
    rondo_record_call(g, "call", no_call, NULL);
    group = rondo_record_for(
        g, &(rondo_for_desc){ RONDO_TASK(.name = "part", .fn = nothing,
                                         RONDO_ACCESSES(rondo_chunk(a, RONDO_WRITE, 0, 0))),
                              .range = rondo_span(0, 8), .chunks = { 2 } });
    cr_assert(group.id, "%s", rondo_error_message());
    cr_assert_eq(rondo_subgraph_visit(g, see_node, NULL, &seen), RONDO_OK);
    cr_assert_eq(seen.nodes, 9);
    expect_node(0, RONDO_NODE_TASK, "task", RONDO_MAY_STOP | RONDO_NO_ACCESS);
    expect_node(1, RONDO_NODE_COPY, "copy", 0);
    expect_node(2, RONDO_NODE_FILL, "fill", 0);
    expect_node(3, RONDO_NODE_ALLREDUCE, "allreduce", 0);
    expect_node(4, RONDO_NODE_WAIT, "wait", 0);
    expect_node(5, RONDO_NODE_SIGNAL, "signal", 0);
    expect_node(6, RONDO_NODE_CALL, "call", RONDO_HOSTED);
    expect_node(7, RONDO_NODE_TASK, "part[0]", 0);
    expect_node(8, RONDO_NODE_TASK, "part[1]", 0);
    cr_assert_eq(seen.node[0].node.id, task.id);
    cr_assert_eq(seen.node[0].tag, 77);
    cr_assert_eq(seen.node[0].cost_ns, 1500);
    cr_assert_eq(seen.node[0].on, RONDO_CPU(0));
    cr_assert_eq(seen.node[0].conditional, 1);
    cr_assert_eq(seen.node[1].on, RONDO_ANY_CPU);
    cr_assert_eq(seen.node[1].conditional, 0);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    close_all();
}

static rondo_node touch(const char *name, rondo_access access)
{
    return rondo_record_task(
        g,
        &(rondo_task_desc){ .name = name, .fn = nothing, .accesses = &access, .access_count = 1 });
}

Test(subgraph_visit, every_source)
{
    rondo_node n[4];
    open_all();
    n[0] = touch("w", rondo_write(a, rondo_whole()));
    n[1] = touch("r", rondo_read(a, rondo_whole()));
    n[2] = touch("other", rondo_read(b, rondo_whole()));
    n[3] = rondo_record_task(g, &(rondo_task_desc){ .name = "all", .fn = nothing });
    cr_assert_eq(rondo_record_edge(g, n[0], n[2], 3), RONDO_OK);
    cr_assert_eq(rondo_record_edge(g, n[1], n[2], 0), RONDO_OK);
    cr_assert_eq(rondo_subgraph_visit(g, see_node, see_edge, &seen), RONDO_OK);
    cr_assert_eq(seen.nodes, 4);
    cr_assert(strstr(seen.text, "0-1+0 a\n"), "%s", seen.text);
    cr_assert(strstr(seen.text, "0-2+3 hand\n"), "%s", seen.text);
    cr_assert(strstr(seen.text, "1-2+0 hand\n"), "%s", seen.text);
    cr_assert(strstr(seen.text, "2-3+0 all\n"), "%s", seen.text);
    cr_assert(strstr(seen.text, "3-0+1 all\n"), "%s", seen.text);
    close_all();
}

Test(subgraph_visit, refused_recordings_and_handles)
{
    rondo_node n[2];
    open_all();
    n[0] = touch("w", rondo_write(a, rondo_whole()));
    n[1] = touch("r", rondo_write(a, rondo_whole()));
    cr_assert_eq(rondo_record_edge(g, n[1], n[0], 0), RONDO_OK); /* a circle */
    cr_assert_eq(rondo_subgraph_visit(g, NULL, see_edge, &seen), RONDO_OK);
    cr_assert(strstr(seen.text, "0-1+0 a\n") && strstr(seen.text, "1-0+0 hand\n"), "%s", seen.text);
    cr_assert_eq(rondo_subgraph_visit(g, NULL, NULL, NULL), RONDO_OK);
    close_all();
    cr_assert_eq(rondo_subgraph_visit(g, see_node, NULL, &seen), RONDO_ERR_STALE);
}

struct places {
    uint32_t slots, params;
    rondo_recorded_slot slot[8];
    rondo_recorded_param param[4];
};

static void see_slot(void *context, uint32_t number, const rondo_recorded_slot *slot)
{
    struct places *p = context;
    cr_assert_eq(number, p->slots);
    p->slot[p->slots++] = *slot;
}

static void see_param(void *context, uint32_t number, const rondo_recorded_param *param)
{
    struct places *p = context;
    cr_assert_eq(number, p->params);
    p->param[p->params++] = *param;
}

Test(subgraph_visit, places)
{
    rondo_shape shape = { 8, { 4, 3 }, { 0 } };
    rondo_buffer buffer[2];
    rondo_slot made[4];
    struct places p = { 0 };
    open_all();
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = shape }, &buffer[i]),
                     RONDO_OK);
    made[0] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer[0] });
    made[1] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = buffer, .ring_count = 2 });
    made[2] =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .shape = shape, .flags = RONDO_TEMPORARY });
    made[3] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .shape = { 0, { 5 }, { 0 } } });
    cr_assert(rondo_subgraph_param(g, "given", 16, "0123456789abcde").id);
    cr_assert_eq(rondo_subgraph_visit_places(g, see_slot, see_param, &p), RONDO_OK);
    cr_assert_eq(p.slots, 6);
    cr_assert_eq(p.params, 2);
    cr_assert_eq(p.slot[0].slot.id, a.id);
    cr_assert_eq(p.slot[1].kind, RONDO_SLOT_BOUND);
    cr_assert_eq(p.slot[1].shape.pitch_bytes[0], 64);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t kinds[] = { RONDO_SLOT_FIXED, RONDO_SLOT_RING, RONDO_SLOT_TEMPORARY,
                                          RONDO_SLOT_TOKEN };
        cr_assert_eq(p.slot[2 + i].slot.id, made[i].id);
        cr_assert_eq(p.slot[2 + i].kind, kinds[i]);
        cr_assert_eq(p.slot[2 + i].buffers, i == 1 ? 2 : 0);
        cr_assert_eq(p.slot[2 + i].shape.elem_bytes, i == 3 ? 0 : 8);
    }
    cr_assert_eq(p.param[0].param.id, go.id);
    cr_assert_eq(p.param[0].bytes, 4);
    cr_assert_eq(p.param[0].has_initial, 0);
    cr_assert_eq(p.param[1].bytes, 16);
    cr_assert_eq(p.param[1].has_initial, 1);
    cr_assert_eq(rondo_subgraph_visit_places(g, NULL, NULL, NULL), RONDO_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_buffer_destroy(buffer[i]), RONDO_OK);
    close_all();
    cr_assert_eq(rondo_subgraph_visit_places(g, see_slot, NULL, &p), RONDO_ERR_STALE);
}
