/* SPDX-License-Identifier: BSD-3-Clause */
/* What cannot be compiled: refused under RONDO_COMPILED, interpreted under RONDO_AUTO with its
 * reason, and right all the same. An op has room for 256 waits; here one node waits for more lanes
 * than that. */
#include <rondo/rondo.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>

enum { LANES = 300, REPLAYS = 5 };

static atomic_uint before, wrong, joins;

static int one_of_many(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    atomic_fetch_add(&before, 1);
    return 0;
}

static int join(rondo_task *self, const void *arg)
{
    (void)arg;
    if (atomic_load(&before) != LANES * (self->replay + 1))
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&joins, 1);
    return 0;
}

static void collect(void *context, const char *text)
{
    char *page = context;
    strncat(page, text, 4095 - strlen(page));
}

static rondo_subgraph record(rondo_runtime runtime, rondo_node *last)
{
    static rondo_node many[LANES];
    rondo_subgraph g;
    cr_assert_eq(
        rondo_subgraph_create(
            runtime, &(rondo_subgraph_desc){ .name = "wide", .flags = RONDO_EDGES_EXPLICIT }, &g),
        RONDO_OK);
    for (uint32_t i = 0; i < LANES; i++)
        many[i] = rondo_record_task(
            g, &(rondo_task_desc){ .name = "many", .fn = one_of_many, .on = RONDO_CPU(i) });
    *last = rondo_record_task(
        g,
        &(rondo_task_desc){
            .name = "join", .fn = join, .after = many, .after_count = LANES, .on = RONDO_CPU(0) });
    return g;
}

Test(engine_fallback, a_node_with_too_many_waits, .timeout = 120)
{
    static char page[4096];
    rondo_runtime runtime = et_runtime(LANES);
    rondo_exec exec = { 7 };
    rondo_node last;
    rondo_node_info info;
    rondo_result result;
    rondo_subgraph g = record(runtime, &last);
    cr_assert_eq(
        rondo_instantiate(g, &(rondo_instantiate_options){ .mode = RONDO_COMPILED }, &exec),
        RONDO_ERR_INVALID);
    cr_assert(strstr(rondo_error_message(), "subgraph 'wide' cannot be compiled: ") &&
                  strstr(rondo_error_message(), "waits"),
              "%s", rondo_error_message());
    cr_assert_eq(exec.id, 7);
    cr_assert_eq(rondo_instantiate(g, NULL, &exec), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_exec_describe(exec, collect, page), RONDO_OK);
    cr_assert(strstr(page, "mode: interpreted now, instantiated as interpreted: ") &&
                  strstr(page, "waits"),
              "%s", page);
    cr_assert_eq(rondo_exec_node_info(exec, last, &info), RONDO_OK);
    cr_assert(info.interpreted && strstr(info.why, "waits"), "%s", info.why);
    for (int i = 0; i < REPLAYS; i++)
        cr_assert_eq(rondo_replay(exec, NULL, NULL), RONDO_OK);
    cr_assert_eq(rondo_exec_wait(exec, &result), RONDO_OK);
    cr_assert_eq(atomic_load(&joins), REPLAYS);
    cr_assert_eq(atomic_load(&wrong), 0);
    cr_assert_eq(rondo_exec_set_mode(exec, RONDO_COMPILED), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}

/* The environment's word counts where the caller leaves it open, and nowhere else. */
Test(engine_fallback, the_environment_says_interpreted, .timeout = 60)
{
    static const struct {
        const char *text;
        uint32_t asked;
        rondo_status status;
        int interpreted;
    } table[] = {
        { "interpreted", RONDO_AUTO, RONDO_OK, 1 },       { "compiled", RONDO_AUTO, RONDO_OK, 0 },
        { "interpreted", RONDO_COMPILED, RONDO_OK, 0 },   { "", RONDO_AUTO, RONDO_OK, 0 },
        { "complied", RONDO_AUTO, RONDO_ERR_INVALID, 0 },
    };
    rondo_runtime runtime;
    rondo_subgraph g;
    cr_assert_eq(rondo_runtime_open(NULL, &runtime), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(runtime, NULL, &g), RONDO_OK);
    rondo_node node = rondo_record_task(g, &(rondo_task_desc){ .fn = one_of_many });
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rondo_instantiate_options options = { .mode = table[i].asked };
        rondo_node_info info;
        rondo_exec exec;
        setenv("RONDO_MODE", table[i].text, 1);
        cr_assert_eq(rondo_instantiate(g, &options, &exec), table[i].status, "row %zu", i);
        if (table[i].status) {
            cr_assert(strstr(rondo_error_message(), "'complied'"), "%s", rondo_error_message());
            continue;
        }
        cr_assert_eq(rondo_exec_node_info(exec, node, &info), RONDO_OK);
        cr_assert_eq(info.interpreted, table[i].interpreted, "row %zu", i);
        cr_assert_eq(rondo_exec_destroy(exec), RONDO_OK);
    }
    unsetenv("RONDO_MODE");
    cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
}
