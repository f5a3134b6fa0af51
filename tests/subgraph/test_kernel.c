/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recording holds of kernels, launches, and where slots are at the end: alone, recorded into
 * another, expanded, drawn and told; and what a version of an exec may change of them. */
#include "subgraph/subgraph.h"

#include "src/device/devices.h"
#include "src/exec/kernel_forms.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static const char scale[] = "kernel void scale(global double *u, double f) { u[0] *= f; }";
static const char shift[] = "kernel void shift(global double *u, double f) { u[0] += f; }";
static const double factor = 0.5;

static rondo_runtime rt;
static rondo_subgraph h;
static struct rd_subgraph *g;
static rondo_buffer line;
static rondo_slot u, t, token, flag;
static rondo_param p, q;

static int enqueue(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static struct rd_subgraph *open_graph(rondo_subgraph *handle, const char *name, uint32_t flags)
{
    rondo_status status;
    cr_assert_eq(
        rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = name, .flags = flags }, handle),
        RONDO_OK);
    return rd_subgraph_get(*handle, &status);
}

static void close_graph(rondo_subgraph handle, struct rd_subgraph *graph)
{
    rd_subgraph_unref(graph);
    cr_assert_eq(rondo_subgraph_destroy(handle), RONDO_OK);
}

static void open_all(uint32_t flags)
{
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(
        rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .name = "line", .shape = { 8, { 64 }, { 0 } } }, &line),
        RONDO_OK);
    g = open_graph(&h, "g", flags);
    u = rondo_subgraph_slot(
        h, &(rondo_slot_desc){ .name = "u", .buffer = line, .at_end = RONDO_PINNED });
    t = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "t",
                                                   .shape = { 8, { 64 }, { 0 } },
                                                   .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    token = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "o", .shape = { 0, { 3 }, { 0 } } });
    flag = rondo_subgraph_slot(
        h,
        &(rondo_slot_desc){ .name = "flag", .shape = { 4, { 1 }, { 0 } }, .at_end = RONDO_HOST });
    p = rondo_subgraph_param(h, "p", 8, NULL);
    q = rondo_subgraph_param(h, "q", 12, NULL);
    cr_assert(u.id && t.id && token.id && flag.id && p.id && q.id, "%s", rondo_error_message());
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    close_graph(h, g);
    cr_assert_eq(rondo_buffer_destroy(line), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.subgraphs + s.buffers + s.execs, 0);
    cr_assert_eq(s.bytes, 0);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static uint32_t index_of(uint64_t handle) { return ((uint32_t)handle & 0x3fffffff) - 1; }
static const struct rd_kernel *kernel_of(const struct rd_subgraph *of, uint32_t node)
{
    const uint32_t i = rd_node_extra(of, node)->kernel;
    cr_assert(i && of->nodes.item[node].kind == RD_NODE_KERNEL);
    return &of->kernels.item[i - 1];
}
static const char *image_of(const struct rd_subgraph *of, const struct rd_kernel *k)
{
    return of->sources.item + of->images.item[k->image].source;
}

static rondo_node record(rondo_subgraph into, rondo_slot slot, const char *source, rondo_param by)
{
    rondo_access access = rondo_read_write(slot, rondo_whole());
    return rondo_record_kernel(
        into, &(rondo_kernel_desc){
                  .format = RONDO_OPENCL_C,
                  .image = source,
                  .image_bytes = strlen(source),
                  .entry = source == shift ? "shift" : "scale",
                  RONDO_KERNEL_ARGS(rondo_arg_access(0),
                                    by.id ? rondo_arg_param(by) : rondo_arg_value(&factor, 8)),
                  .dimensions = 1,
                  .global = { 64 },
                  .accesses = &access,
                  .access_count = 1 });
}

/* ---- what is recorded */

Test(kernel, holds_what_was_said)
{
    open_all(0);
    rondo_node before = record(h, u, scale, (rondo_param){ 0 });
    rondo_access accesses[2] = { rondo_read_write(u, rondo_span(8, 16)),
                                 rondo_read_write(token, rondo_whole()) };
    rondo_node node = rondo_record_kernel(
        h, &(rondo_kernel_desc){ .name = "all",
                                 .tag = 7,
                                 .format = RONDO_OPENCL_C,
                                 .image = scale,
                                 .image_bytes = sizeof scale - 1,
                                 .entry = "scale",
                                 .options = "-DN=3",
                                 RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_value(&factor, 8),
                                                   rondo_arg_param_address(q), rondo_arg_local(32),
                                                   rondo_arg_param(p), rondo_arg_param(q)),
                                 .dimensions = 2,
                                 .global = { 16, 4, 1 },
                                 .local = { 4, 2 },
                                 .accesses = accesses,
                                 .access_count = 2,
                                 .on = RONDO_GPU(2),
                                 .priority = -3,
                                 .cost_ns = 1.5,
                                 .carried = &before,
                                 .carried_count = 1,
                                 .when = { p, flag, 3, 2 } });
    cr_assert(before.id && node.id, "%s", rondo_error_message());
    const struct rd_node *n = &g->nodes.item[1];
    const struct rd_kernel *k = kernel_of(g, 1);
    const struct rd_kernel_arg *a = &g->kernel_args.item[k->arg];
    static const uint32_t kinds[] = { RONDO_ARG_ACCESS, RONDO_ARG_VALUE, RONDO_ARG_PARAM_ADDRESS,
                                      RONDO_ARG_LOCAL,  RONDO_ARG_PARAM, RONDO_ARG_PARAM };
    cr_assert_str_eq(rd_subgraph_text(g, n->name), "all");
    cr_assert_eq(n->bound, RD_ON_DEVICE + 2);
    cr_assert_eq(rd_node_on(n), RONDO_GPU(2));
    cr_assert(n->tag == 7 && n->priority == -3 && n->cost_ns == 2 && !n->everything && !n->fn);
    cr_assert_eq(n->access_count, 3); /* and the flag's */
    cr_assert_eq(rd_node_own_accesses(g, 1), 2);
    cr_assert_eq(k->arg_count, 6);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(a[i].kind, kinds[i]);
    cr_assert_eq(a[0].index, 0);
    cr_assert(a[1].bytes == 8 && !memcmp(g->args.item + a[1].value, &factor, 8));
    cr_assert(a[2].index == index_of(q.id) && a[2].bytes == 12);
    cr_assert_eq(a[3].bytes, 32);
    cr_assert(a[4].index == index_of(p.id) && a[5].index == index_of(q.id));
    cr_assert_eq(n->param_count, 3); /* of its arguments, in their order */
    cr_assert_eq(g->param_uses.item[n->param], index_of(q.id));
    cr_assert_eq(g->param_uses.item[n->param + 1], index_of(p.id));
    cr_assert_eq(g->param_uses.item[n->param + 2], index_of(q.id));
    cr_assert(k->dimensions == 2 && k->global[0] == 16 && k->global[1] == 4 && k->global[2] == 1);
    cr_assert(k->local[0] == 4 && k->local[1] == 2 && k->local[2] == 1);
    cr_assert_str_eq(rd_subgraph_text(g, k->entry), "scale");
    cr_assert_str_eq(rd_subgraph_text(g, k->options), "-DN=3");
    cr_assert(g->edges.count == 1 && g->edges.item[0].distance == 1);
    /* The first: its name is the entry's, its device the first one, its groups the driver's. */
    cr_assert_str_eq(rd_subgraph_text(g, g->nodes.item[0].name), "scale");
    cr_assert_eq(g->nodes.item[0].bound, RD_ON_DEVICE);
    cr_assert_eq(kernel_of(g, 0)->local[0], 0);
    cr_assert_str_eq(rd_subgraph_text(g, kernel_of(g, 0)->options), "");
    cr_assert(!g->slots.item[index_of(t.id)].at_end);
    cr_assert_eq(g->slots.item[index_of(u.id)].at_end, RD_MEMORY_HOST + 1);
    close_all();
}

Test(kernel, equal_images_are_kept_once)
{
    char source[64];
    open_all(0);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(source, sizeof source, "kernel void scale(global int *u) { u[%d] = 1; }",
                       i % 100);
        cr_assert(record(h, u, source, p).id, "%s", rondo_error_message());
        cr_assert_eq(g->images.count, i < 100 ? (size_t)i + 1 : 100);
        cr_assert_str_eq(image_of(g, kernel_of(g, (uint32_t)i)), source);
    }
    close_all();
}

/* What a refused call has added is gone, images too; the next ones are found as before. */
Test(kernel, refused_leaves_nothing)
{
    open_all(0);
    cr_assert(record(h, u, scale, p).id);
    for (int i = 0; i < 50; i++) {
        const size_t names = g->names.count, args = g->args.count, sources = g->sources.count,
                     uses = g->param_uses.count, kernel_args = g->kernel_args.count;
        rondo_access access = rondo_read_write(u, rondo_whole());
        cr_assert(!rondo_record_kernel(
                       h, &(rondo_kernel_desc){ .name = "wrong",
                                                .format = RONDO_OPENCL_C,
                                                .image = shift,
                                                .image_bytes = sizeof shift - 1,
                                                .entry = "shift",
                                                RONDO_KERNEL_ARGS(rondo_arg_value(&factor, 8),
                                                                  rondo_arg_param(p)),
                                                .dimensions = 1,
                                                .global = { 64 },
                                                .accesses = &access,
                                                .access_count = 1,
                                                .after = &(rondo_node){ 0 },
                                                .after_count = 1 })
                       .id);
        cr_assert_str_eq(rondo_error_message(), "node 'wrong': after[0]: the node handle is {0}");
        cr_assert(g->names.count == names && g->args.count == args && g->sources.count == sources &&
                  g->param_uses.count == uses && g->kernel_args.count == kernel_args);
        cr_assert(g->kernels.count == 1 && g->images.count == 1 && g->nodes.count == 1);
        cr_assert_eq(rondo_subgraph_clear_error(h), RONDO_OK);
    }
    cr_assert(record(h, u, shift, p).id && record(h, u, scale, p).id && record(h, u, shift, p).id);
    cr_assert_eq(g->images.count, 2);
    cr_assert_str_eq(image_of(g, kernel_of(g, 2)), scale);
    cr_assert_str_eq(image_of(g, kernel_of(g, 3)), shift);
    close_all();
}

Test(kernel, launches_are_tasks_on_devices)
{
    rondo_access access;
    open_all(0);
    access = rondo_reduce(u, rondo_whole(), RONDO_F64, RONDO_SUM);
    cr_assert(rondo_record_launch(h, &(rondo_task_desc){ .fn = enqueue,
                                                         .arg = &factor,
                                                         .arg_bytes = 8,
                                                         .accesses = &access,
                                                         .access_count = 1,
                                                         RONDO_PARAMS(p),
                                                         RONDO_PATCHES({ p, 0, 0, 8, 0 }),
                                                         .on = RONDO_GPU(15) })
                  .id,
              "%s", rondo_error_message());
    cr_assert(rondo_record_launch(
                  h, &(rondo_task_desc){ .name = "none", .fn = enqueue, .flags = RONDO_NO_ACCESS })
                  .id);
    const struct rd_node *n = &g->nodes.item[0];
    cr_assert_str_eq(rd_subgraph_text(g, n->name), "launch");
    cr_assert(n->kind == RD_NODE_LAUNCH && n->bound == RD_ON_DEVICE + 15 && n->fn == enqueue);
    cr_assert(n->param_count == 1 && n->patch_count == 1 && n->arg_bytes == 8);
    cr_assert(n[1].kind == RD_NODE_LAUNCH && n[1].bound == RD_ON_DEVICE && !n[1].everything);
    cr_assert(rd_node_no_access(g, 1) && !rd_node_no_access(g, 0));
    close_all();
}

/* Where edges are explicit a kernel without accesses says so as anywhere. */
Test(kernel, without_accesses_between_explicit_edges)
{
    open_all(RONDO_EDGES_EXPLICIT);
    rondo_kernel_desc d = { .format = RONDO_OPENCL_C,
                            .image = scale,
                            .image_bytes = sizeof scale - 1,
                            .entry = "scale",
                            .dimensions = 1,
                            .global = { 1 } };
    cr_assert(!rondo_record_kernel(h, &d).id);
    cr_assert_eq(rondo_subgraph_clear_error(h), RONDO_OK);
    d.flags = RONDO_NO_ACCESS;
    cr_assert(rondo_record_kernel(h, &d).id);
    cr_assert(rd_node_no_access(g, 0));
    close_all();
}

/* Kernels, launches, copies and fills follow each other as tasks do: by their accesses. */
Test(kernel, accesses_order_it)
{
    struct rd_graph graph;
    const uint64_t zero = 0;
    open_all(0);
    cr_assert(rondo_record_fill(h, &(rondo_move_desc){ .to = rondo_write(u, rondo_whole()),
                                                       .value = &zero,
                                                       .value_bytes = 8,
                                                       .on = RONDO_GPU(1) })
                  .id);
    cr_assert(record(h, u, scale, p).id);
    cr_assert(record(h, u, shift, p).id);
    cr_assert(rondo_record_copy(h, &(rondo_move_desc){ .from = rondo_read(u, rondo_whole()),
                                                       .to = rondo_write(t, rondo_whole()),
                                                       .on = RONDO_GPU(0) })
                  .id);
    cr_assert_eq(rd_subgraph_analyse(g, 0, &graph), RONDO_OK, "%s", rondo_error_message());
    for (uint32_t v = 1; v < 4; v++) {
        cr_assert_eq(graph.first[v + 1] - graph.first[v], 1);
        cr_assert_eq(graph.pred[graph.first[v]].from, v - 1);
    }
    cr_assert_eq(g->nodes.item[0].bound, RD_ON_DEVICE + 1);
    cr_assert_eq(g->nodes.item[3].bound, RD_ON_DEVICE);
    rd_graph_free(&g->rt->alloc, &graph);
    close_all();
}

/* ---- recorded into another, and expanded */

static void check_copy(const struct rd_subgraph *of, uint32_t node, uint32_t param,
                       const char *source)
{
    const struct rd_kernel *k = kernel_of(of, node);
    const struct rd_kernel_arg *a = &of->kernel_args.item[k->arg];
    cr_assert_str_eq(image_of(of, k), source);
    cr_assert_str_eq(rd_subgraph_text(of, k->entry), source == shift ? "shift" : "scale");
    cr_assert_eq(k->arg_count, 2);
    if (a[1].kind == RONDO_ARG_VALUE)
        cr_assert(!memcmp(of->args.item + a[1].value, &factor, 8));
    else
        cr_assert_eq(a[1].index, param);
    cr_assert_eq(of->nodes.item[node].bound, RD_ON_DEVICE);
}

Test(kernel, recorded_into_another)
{
    rondo_subgraph inner;
    rondo_slot v;
    rondo_param r;
    struct rd_subgraph *in;
    open_all(0);
    cr_assert(record(h, u, shift, p).id);
    in = open_graph(&inner, "in", 0);
    v = rondo_subgraph_slot(
        inner, &(rondo_slot_desc){ .name = "v", .buffer = line, .at_end = RONDO_GPU_MEMORY(1) });
    r = rondo_subgraph_param(inner, "r", 8, NULL);
    cr_assert(record(inner, v, scale, r).id && record(inner, v, shift, (rondo_param){ 0 }).id);
    for (int i = 0; i < 3; i++)
        cr_assert(
            rondo_record_subgraph(h, inner, &(rondo_inner_desc){ .when = { .flag = flag } }).id,
            "%s", rondo_error_message());
    close_graph(inner, in);
    cr_assert_eq(g->nodes.count, 7);
    cr_assert_eq(g->images.count, 2); /* however often they come */
    check_copy(g, 0, index_of(p.id), shift);
    for (uint32_t i = 0; i < 3; i++) {
        check_copy(g, 1 + 2 * i, 2, scale); /* r is the third parameter here */
        check_copy(g, 2 + 2 * i, 0, shift);
        cr_assert_eq(g->param_uses.item[g->nodes.item[1 + 2 * i].param], 2);
        cr_assert_eq(rd_node_extra(g, 1 + 2 * i)->when_count, 1);
    }
    cr_assert_eq(g->slots.item[g->slots.count - 1].at_end, RD_MEMORY_HOST + 3);
    cr_assert_str_eq(rd_subgraph_text(g, g->nodes.item[1].name), "in/scale");
    close_all();
}

Test(kernel, expanded)
{
    struct rd_subgraph *e;
    open_all(0);
    cr_assert(record(h, t, scale, p).id); /* of a temporary that is to be zeroed */
    cr_assert(record(h, u, shift, (rondo_param){ 0 }).id);
    cr_assert_eq(rd_subgraph_expand(g, 1, &e), RONDO_OK);
    cr_assert_neq(e, g);
    cr_assert_eq(e->nodes.count, 3);
    check_copy(e, 0, index_of(p.id), scale);
    check_copy(e, 1, 0, shift);
    rd_subgraph_unref(e);
    close_all();
}

/* ---- told */

static void append(void *context, const char *text)
{
    strncat(context, text, 4095 - strlen(context));
}

static void count_kinds(void *context, uint32_t number, const rondo_recorded_node *node)
{
    uint32_t *seen = context;
    (void)number;
    if (node->kind == RONDO_NODE_KERNEL || node->kind == RONDO_NODE_LAUNCH)
        seen[node->kind]++;
    cr_assert_eq(node->on, RONDO_GPU(0));
}

Test(kernel, drawn_and_told)
{
    char text[4096] = "";
    uint32_t seen[9] = { 0 };
    open_all(0);
    cr_assert(record(h, u, scale, p).id);
    cr_assert(
        rondo_record_launch(h, &(rondo_task_desc){ .fn = enqueue, .flags = RONDO_NO_ACCESS }).id);
    cr_assert_eq(rondo_subgraph_write_dot(h, append, text), RONDO_OK);
    cr_assert(strstr(text, "[label=\"scale\", shape=box3d]"), "%s", text);
    cr_assert(strstr(text, "[label=\"launch\", shape=component]"), "%s", text);
    cr_assert_eq(rondo_subgraph_visit(h, count_kinds, NULL, seen), RONDO_OK);
    cr_assert(seen[RONDO_NODE_KERNEL] == 1 && seen[RONDO_NODE_LAUNCH] == 1);
    close_all();
}

/* ---- without devices */

Test(kernel, needs_a_device)
{
    rondo_exec x = { 3 };
    open_all(0);
    cr_assert(record(h, u, scale, p).id);
    cr_assert_eq(rondo_instantiate(h, NULL, &x), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "node 'scale' is on RONDO_GPU(0), and the runtime has opened no devices "
                     "(rondo_runtime_options.devices)");
    cr_assert_eq(x.id, 3);
    close_all();
}

Test(kernel, a_slot_needs_a_device)
{
    rondo_exec x = { 3 };
    open_all(0);
    rondo_slot v = rondo_subgraph_slot(
        h, &(rondo_slot_desc){ .name = "v", .buffer = line, .at_end = RONDO_GPU_MEMORY(2) });
    rondo_access access = rondo_read(v, rondo_whole());
    cr_assert(rondo_record_task(
                  h, &(rondo_task_desc){ .fn = enqueue, .accesses = &access, .access_count = 1 })
                  .id);
    cr_assert_eq(rondo_instantiate(h, NULL, &x), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "slot 'v' has at_end RONDO_GPU_MEMORY(2), and the runtime has opened no "
                     "devices (rondo_runtime_options.devices)");
    close_all();
}

/* ---- what a new version of an exec may change */

static void expect_difference(const struct rd_subgraph *was, const struct rd_subgraph *now,
                              const char *says)
{
    struct rd_kernel_forms a, b;
    struct rd_kernel_difference d;
    char text[96] = "";
    cr_assert_eq(rd_kernel_forms_make(&a, was), RONDO_OK);
    cr_assert_eq(rd_kernel_forms_make(&b, now), RONDO_OK);
    if (rd_kernel_forms_differ(&a, &b, &d))
        (void)snprintf(text, sizeof text, "%u: %s is %u, was %u", d.node, d.field, d.now, d.was);
    cr_assert_str_eq(text, says);
    rd_kernel_forms_free(&a);
    rd_kernel_forms_free(&b);
}

static void expect_version(void (*make)(rondo_subgraph other, rondo_slot v, rondo_param r,
                                        rondo_param s),
                           const char *says)
{
    rondo_subgraph other;
    struct rd_subgraph *o = open_graph(&other, "other", 0);
    rondo_slot v = rondo_subgraph_slot(other, &(rondo_slot_desc){ .name = "v", .buffer = line });
    rondo_param r = rondo_subgraph_param(other, "r", 8, NULL),
                s = rondo_subgraph_param(other, "s", 12, NULL);
    make(other, v, r, s);
    cr_assert_eq(rondo_subgraph_status(other), RONDO_OK);
    expect_difference(g, o, says);
    close_graph(other, o);
}

static void add_task(rondo_subgraph other, rondo_slot v)
{
    rondo_access access = rondo_read_write(v, rondo_whole());
    (void)rondo_record_task(
        other, &(rondo_task_desc){ .fn = enqueue, .accesses = &access, .access_count = 1 });
}
static void same(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    (void)s;
    (void)record(other, v, shift, r); /* with another image and entry */
    (void)record(other, v, scale, (rondo_param){ 0 });
}
static void value_for_param(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    (void)record(other, v, scale, r);
    (void)record(other, v, scale, s);
}
static void other_param(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    (void)r;
    (void)record(other, v, scale, s);
    (void)record(other, v, scale, (rondo_param){ 0 });
}
static void one_less(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    (void)s;
    (void)record(other, v, scale, r);
    add_task(other, v);
}
static void another_node(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    (void)s;
    add_task(other, v);
    (void)record(other, v, scale, r);
}
static void fewer_arguments(rondo_subgraph other, rondo_slot v, rondo_param r, rondo_param s)
{
    rondo_access access = rondo_read_write(v, rondo_whole());
    (void)r;
    (void)s;
    (void)rondo_record_kernel(other, &(rondo_kernel_desc){ .format = RONDO_OPENCL_C,
                                                           .image = scale,
                                                           .image_bytes = sizeof scale - 1,
                                                           .entry = "scale",
                                                           RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                                                           .dimensions = 2,
                                                           .global = { 8, 8 },
                                                           .accesses = &access,
                                                           .access_count = 1 });
    (void)record(other, v, scale, (rondo_param){ 0 });
}

Test(kernel, versions)
{
    open_all(0);
    cr_assert(record(h, u, scale, p).id && record(h, u, shift, (rondo_param){ 0 }).id);
    expect_version(same, "");
    expect_version(value_for_param, "1: args[1].kind is 3, was 2");
    expect_version(other_param, "0: args[1].param is 1, was 0");
    expect_version(one_less, "1: its being a kernel is 0, was 1");
    expect_version(another_node, "0: its being a kernel is 0, was 1");
    expect_version(fewer_arguments, "0: arg_count is 1, was 2");
    close_all();
}
