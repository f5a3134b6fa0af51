/* SPDX-License-Identifier: BSD-3-Clause */
/* New versions of execs with nodes on devices, on a device made for tests: another image, entry,
 * value or number of work items is taken over; what arguments are, and edges, are refused by name,
 * and the exec goes on; a node alone can be switched, and not exchanged. */
#include "tests/engine/engine_check.h"
#include "tests/support/fake_device.h"

#include <string.h>

enum { N = 16 };

static void scale(const struct fake_call *c)
{
    double *u = c->arg[0];
    for (uint64_t i = 0; i < c->global[0]; i++)
        u[i] *= *(const double *)c->arg[1];
}
static void add(const struct fake_call *c)
{
    double *u = c->arg[0];
    for (uint64_t i = 0; i < c->global[0]; i++)
        u[i] += *(const double *)c->arg[1];
}
static const struct fake_kernel kernels[] = {
    { "scale", scale, 2 }, { "add", add, 2 }, { "longer", add, 3 }, { NULL, NULL, 0 }
};

static double u[N];
static rondo_runtime rt;
static rondo_buffer buffer;

/* Two kernels in a row, a launch beside them; of the first one all of this may be another's. */
struct version {
    const char *image, *entry;
    double value;
    uint64_t items;
    int with_param, other_param, other_access, longer, edge, task;
};
static const struct version first = { .image = "a", .entry = "scale", .value = 2, .items = N };

struct recorded {
    rondo_subgraph g;
    rondo_node first, second, launch;
};

static int enqueue(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_node record_kernel(rondo_subgraph g, const struct version *v, const char *name,
                                const rondo_access *accesses, const rondo_param *param)
{
    rondo_kernel_arg args[3] = { rondo_arg_access((uint32_t)v->other_access),
                                 v->with_param ? rondo_arg_param(param[v->other_param])
                                               : rondo_arg_value(&v->value, sizeof v->value),
                                 rondo_arg_local(8) };
    return rondo_record_kernel(g, &(rondo_kernel_desc){ .name = name,
                                                        .format = RONDO_OPENCL_C,
                                                        .image = v->image,
                                                        .image_bytes = strlen(v->image),
                                                        .entry = v->entry,
                                                        .args = args,
                                                        .arg_count = 2 + (uint32_t)v->longer,
                                                        .dimensions = 1,
                                                        .global = { v->items },
                                                        .accesses = accesses,
                                                        .access_count = 2 });
}

static struct recorded record(const struct version *v)
{
    struct recorded r;
    const double one = 1;
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "step" }, &r.g));
    rondo_slot slot = rondo_subgraph_slot(
        r.g, &(rondo_slot_desc){ .name = "u", .buffer = buffer, .at_end = RONDO_HOST });
    rondo_slot beside = rondo_subgraph_slot(
        r.g, &(rondo_slot_desc){ .name = "beside", .shape = { 0, { 2 }, { 0 } } });
    rondo_param params[2] = { rondo_subgraph_param(r.g, "p", 8, &one),
                              rondo_subgraph_param(r.g, "q", 8, &one) };
    rondo_access accesses[2] = { rondo_read_write(slot, rondo_whole()),
                                 rondo_read(slot, rondo_whole()) };
    rondo_access other = rondo_write(beside, rondo_whole());
    rondo_task_desc d = { .name = "launch", .fn = enqueue, .accesses = &other, .access_count = 1 };
    r.first = record_kernel(r.g, v, "first", accesses, params);
    r.second = record_kernel(r.g, &first, "second", accesses, params);
    r.launch = v->task ? rondo_record_task(r.g, &d) : rondo_record_launch(r.g, &d);
    if (v->edge)
        ET_OK(rondo_record_edge(r.g, r.second, r.launch, 0));
    cr_assert(r.first.id && r.second.id && r.launch.id, "%s", rondo_error_message());
    return r;
}

static void open_all(void)
{
    rt = fake_open("0", 1, 1 << 20, kernels);
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "u", .shape = { 8, { N }, { 0 } }, .host = u }, &buffer));
}

static void close_all(void)
{
    ET_OK(rondo_buffer_destroy(buffer));
    ET_CLOSE(rt);
}

/* All elements are `from` before, and the first `items` `to` afterwards, the others `rest`. */
static void expect(rondo_exec x, double from, uint64_t items, double to, double rest)
{
    rondo_result result;
    void *host;
    ET_OK(rondo_buffer_map(buffer, RONDO_READ | RONDO_WRITE, &host));
    for (int i = 0; i < N; i++)
        ((double *)host)[i] = from;
    ET_OK(rondo_buffer_unmap(buffer));
    cr_assert_eq(rondo_replay_and_wait(x, NULL, -1, &result), RONDO_OK, "%s", result.message);
    ET_OK(rondo_buffer_map(buffer, RONDO_READ, &host));
    for (uint64_t i = 0; i < N; i++)
        cr_assert_eq(((double *)host)[i], i < items ? to : rest, "element %d is %g", (int)i,
                     ((double *)host)[i]);
    ET_OK(rondo_buffer_unmap(buffer));
}

static void update(rondo_exec x, const struct version *v)
{
    struct recorded r = record(v);
    ET_OK(rondo_exec_update(x, r.g));
    ET_OK(rondo_subgraph_destroy(r.g));
}

static void refuse(rondo_exec x, const struct version *v, const char *says)
{
    struct recorded r = record(v);
    cr_assert_eq(rondo_exec_update(x, r.g), RONDO_ERR_INVALID);
    cr_assert(strstr(rondo_error_message(), says), "%s", rondo_error_message());
    ET_OK(rondo_subgraph_destroy(r.g));
}

static rondo_exec begin(uint32_t mode, struct recorded *r)
{
    rondo_exec x;
    *r = record(&first);
    ET_OK(rondo_instantiate(r->g, &(rondo_instantiate_options){ .mode = mode }, &x));
    ET_OK(rondo_subgraph_destroy(r->g));
    return x;
}

static void taken_over(uint32_t mode)
{
    struct recorded r;
    struct version v = first;
    rondo_exec x;
    open_all();
    x = begin(mode, &r);
    expect(x, 3, N, 12, 12);
    v.value = 5;
    update(x, &v);
    expect(x, 3, N, 30, 30);
    v.items = 4;
    update(x, &v);
    expect(x, 3, 4, 30, 6);
    v = first;
    v.image = "another";
    v.entry = "add";
    update(x, &v);
    expect(x, 3, N, 10, 10);
    update(x, &first);
    expect(x, 3, N, 12, 12);
    ET_OK(rondo_exec_destroy(x));
    close_all();
}

Test(update_devices, taken_over_compiled) { taken_over(RONDO_COMPILED); }
Test(update_devices, taken_over_interpreted) { taken_over(RONDO_INTERPRETED); }

Test(update_devices, refused)
{
    struct recorded r;
    struct version v = first;
    rondo_exec x;
    open_all();
    x = begin(RONDO_COMPILED, &r);
    v.edge = 1;
    refuse(x, &v, "exec 'step': update: node 2 'launch': its number of predecessors is ");
    expect(x, 3, N, 12, 12);
    v = first;
    v.with_param = 1;
    refuse(x, &v, "exec 'step': update: node 0 'first': its number of parameters is 1, was 0");
    v = first;
    v.other_access = 1;
    refuse(x, &v, "exec 'step': update: node 0 'first': args[0].index is 1, was 0");
    v = first;
    v.longer = 1;
    v.entry = "longer";
    refuse(x, &v, "exec 'step': update: node 0 'first': arg_count is 3, was 2");
    v = first;
    v.task = 1;
    refuse(x, &v, "exec 'step': update: node 2 'launch': its kind and flags is 0, was 128");
    expect(x, 3, N, 12, 12);
    ET_OK(rondo_exec_destroy(x));
    v = first;
    v.with_param = 1;
    r = record(&v);
    ET_OK(rondo_instantiate(r.g, NULL, &x));
    ET_OK(rondo_subgraph_destroy(r.g));
    expect(x, 3, N, 6, 6);
    v.other_param = 1;
    refuse(x, &v, "exec 'step': update: node 0 'first': args[1].param is 1, was 0");
    expect(x, 3, N, 6, 6);
    ET_OK(rondo_exec_destroy(x));
    close_all();
}

/* One node: on and off; its function is the recording's. */
Test(update_devices, one_node)
{
    struct recorded r;
    rondo_exec x;
    const rondo_task_desc d = { .fn = enqueue };
    open_all();
    x = begin(RONDO_COMPILED, &r);
    cr_assert_eq(rondo_exec_update_task(x, r.first, &d), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "exec 'step': update_task: node 0 'first' is no task");
    cr_assert_eq(rondo_exec_update_task(x, r.launch, &d), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "exec 'step': update_task: node 2 'launch' is no task");
    ET_OK(rondo_exec_enable(x, r.first, 0));
    expect(x, 3, N, 6, 6);
    ET_OK(rondo_exec_enable(x, r.first, 1));
    expect(x, 3, N, 12, 12);
    ET_OK(rondo_exec_destroy(x));
    close_all();
}
