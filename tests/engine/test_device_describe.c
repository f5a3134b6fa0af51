/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exec says of its nodes on devices: segments, what moves in a replay, the memory there. */
#include "tests/engine/engine_util.h"
#include "tests/support/fake_device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { N = 64 };

static void twice(const struct fake_call *c)
{
    double *u = c->arg[0];
    for (uint64_t i = 0; i < c->global[0]; i++)
        u[i] *= 2;
}

static const struct fake_kernel kernels[] = { { "twice", twice, 1 }, { NULL, NULL, 0 } };

static int look(rondo_task *self, const void *arg)
{
    (void)arg;
    return ((const double *)rondo_task_read(self, 0))[0] == 0 ? 0 : 1;
}

static void note(void *context, const char *text)
{
    strncat(context, text, 8191 - strlen(context));
}

/* A kernel on all of u, and a function that reads so many elements of it where `reads` is not 0. */
static rondo_exec make(rondo_runtime rt, int64_t reads)
{
    rondo_buffer u;
    rondo_subgraph g;
    rondo_exec e;
    rondo_buffer_desc desc = { .name = "u",
                               .shape = { .elem_bytes = sizeof(double), .extent = { N } } };
    cr_assert_eq(rondo_buffer_create(rt, &desc, &u), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &g), RONDO_OK);
    rondo_slot slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = u });
    rondo_record_kernel(
        g, &(rondo_kernel_desc){ .format = RONDO_OPENCL_C,
                                 .image = " ",
                                 .image_bytes = 1,
                                 .entry = "twice",
                                 RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                                 .dimensions = 1,
                                 .global = { N },
                                 RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) });
    if (reads)
        rondo_record_task(
            g, &(rondo_task_desc){ .name = "look",
                                   .fn = look,
                                   RONDO_ACCESSES(rondo_read(slot, rondo_span(0, reads))) });
    cr_assert_eq(rondo_instantiate(g, NULL, &e), RONDO_OK, "%s", rondo_error_message());
    rondo_subgraph_destroy(g);
    return e;
}

static void expect_page(rondo_exec e, const char *const *lines)
{
    char page[8192] = "";
    cr_assert_eq(rondo_exec_describe(e, note, page), RONDO_OK);
    for (; *lines; lines++)
        cr_expect(strstr(page, *lines) != NULL, "no '%s' in:\n%s", *lines, page);
}

Test(device_describe, nothing_moves_where_all_is_on_the_device)
{
    rondo_runtime rt = fake_open("0", 1, 1 << 20, kernels);
    rondo_exec e = make(rt, 0);
    rondo_exec_counts c;
    expect_page(e, (const char *const[]){
                       "devices: 1 nodes in 1 segments, 0 of them copies that were added",
                       "  nothing moves\n", "    bytes there: 512 at most, 0 of them in places\n",
                       "submit 'twice': 1 nodes", NULL });
    cr_assert_eq(rondo_exec_count(e, &c), RONDO_OK);
    cr_expect_eq(c.moved_bytes, 0);
    cr_expect_eq(c.copies, 0);
    cr_assert_eq(rondo_replay_and_wait(e, NULL, -1, NULL), RONDO_OK);
    rondo_runtime_close(rt);
}

/* A function that reads 8 elements has these brought home in each replay, and no others. */
static const char *const brought[] = {
    "devices: 2 nodes in 1 segments, 1 of them copies that were added",
    "  gpu 0 -> host: 64 bytes a replay\n", NULL
};

Test(device_describe, what_a_function_reads_moves)
{
    rondo_runtime rt = fake_open("0", 1, 1 << 20, kernels);
    rondo_exec e = make(rt, 8);
    rondo_exec_counts c;
    expect_page(e, brought);
    cr_assert_eq(rondo_exec_count(e, &c), RONDO_OK);
    cr_expect_eq(c.moved_bytes, 64);
    cr_expect_eq(c.copies, 1);
    cr_assert_eq(rondo_replay_and_wait(e, NULL, -1, NULL), RONDO_OK);
    rondo_runtime_close(rt);
}
