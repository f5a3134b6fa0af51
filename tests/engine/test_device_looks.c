/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen of nodes on devices from outside: traces, times, allocations, and what the
 * environment asks for. */
#include "tests/engine/engine_util.h"
#include "tests/engine/every_mode.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 };

/* device -> host -> device over one buffer, and a parameter. */
struct bed {
    rondo_runtime rt;
    rondo_buffer u;
    rondo_subgraph g;
    rondo_param p;
    rondo_node node[3];
    rondo_exec x;
    uint64_t expected;
};

static int begin(struct bed *b, int backend, const rondo_instantiate_options *options)
{
    static const char *const names[] = { "first", "host", "second" };
    b->rt = kit_open(backend, 1, 1);
    if (!b->rt.id)
        return 0;
    b->u = kit_buffer(b->rt, "u", N, 1, RONDO_HOST);
    b->expected = 1;
    cr_assert_eq(rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "g" }, &b->g),
                 RONDO_OK);
    b->p = rondo_subgraph_param(b->g, "value", sizeof(uint64_t), NULL);
    rondo_slot u = kit_slot(b->g, "u", b->u);
    for (uint32_t i = 0; i < 3; i++)
        b->node[i] = kit_record(
            b->g, &(struct kit_node){ .name = names[i],
                                      .op = KIT_MIX,
                                      .u = u,
                                      .count = N,
                                      .how = i == 2 ? KIT_ADDRESS : KIT_PARAM,
                                      .param = b->p,
                                      .on = i == 1 ? (uint32_t)RONDO_ANY_CPU : RONDO_GPU(0) });
    cr_assert_eq(rondo_instantiate(b->g, options, &b->x), RONDO_OK, "%s", rondo_error_message());
    return 1;
}

static void replay(struct bed *b, uint64_t value, uint32_t flags)
{
    rondo_result result = { 0 };
    cr_assert_eq(
        rondo_replay_and_wait(
            b->x,
            &(rondo_replay_args){ .values = &(rondo_value){ .param = b->p, .value = &value },
                                  .value_count = 1,
                                  .flags = flags },
            -1, &result),
        RONDO_OK, "%s: %s", result.node, result.message);
    for (int i = 0; i < 3; i++)
        kit_do(KIT_MIX, &b->expected, NULL, value, 0, 1);
}

static void end(struct bed *b)
{
    const char *left;
    kit_expect_all(b->u, N, b->expected, "u");
    rondo_exec_destroy(b->x);
    rondo_subgraph_destroy(b->g);
    rondo_buffer_destroy(b->u);
    left = et_close_clean(b->rt);
    cr_assert_null(left, "%s", left);
}

/* ---- traces */

struct text {
    char *at;
    size_t used;
};
static void gather(void *context, const char *piece)
{
    struct text *t = context;
    size_t n = strlen(piece);
    t->at = realloc(t->at, t->used + n + 1);
    cr_assert_not_null(t->at);
    memcpy(t->at + t->used, piece, n + 1);
    t->used += n;
}

enum { ROWS = 16 };
struct rows {
    double busy_us[ROWS];
    uint32_t spans[ROWS]; /* of nodes recorded */
    int gpu;              /* the row named so */
};

static void read_event(struct rows *r, const json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *kind = json_string_value(json_object_get(event, "ph"));
    const json_t *args = json_object_get(event, "args");
    json_int_t row = json_integer_value(json_object_get(event, "tid"));
    if (!strcmp(name, "thread_name") &&
        strstr(json_string_value(json_object_get(args, "name")), "'g' gpu 0"))
        r->gpu = (int)row;
    if (strcmp(kind, "X") != 0)
        return;
    cr_assert_lt(row, ROWS);
    r->busy_us[row] += json_number_value(json_object_get(event, "dur"));
    r->spans[row] += !strcmp(name, "first") || !strcmp(name, "second") || !strcmp(name, "host");
}

static void traced(int backend, const struct em_mode *m)
{
    const rondo_instantiate_options options = em_options(m, 2);
    struct bed b;
    struct text t = { NULL, 0 };
    struct rows rows = { .gpu = -1 };
    rondo_node_info info;
    json_t *trace, *event;
    size_t i;
    int64_t began;
    double wall_us;
    if (!begin(&b, backend, &options))
        return;
    replay(&b, 1, 0);
    began = et_now_ns();
    cr_assert_eq(rondo_trace_start(b.rt, 0), RONDO_OK);
    for (uint64_t r = 0; r < 4; r++)
        replay(&b, r, 0);
    cr_assert_eq(rondo_trace_stop(b.rt, gather, &t), RONDO_OK);
    wall_us = (double)(et_now_ns() - began) / 1000;
    trace = json_loads(t.at, 0, NULL);
    cr_assert_not_null(trace);
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) read_event(&rows, event);
    json_decref(trace);
    free(t.at);
    cr_assert_geq(rows.gpu, 0, "%s: no row of gpu 0", m->name);
    cr_assert_eq(rows.spans[rows.gpu], 8, "%s: %u spans on the device", m->name,
                 rows.spans[rows.gpu]);
    for (int row = 0; row < ROWS; row++)
        cr_assert_leq(rows.busy_us[row], wall_us, "%s: row %d", m->name, row);
    cr_assert_eq(rondo_exec_node_info(b.x, b.node[0], &info), RONDO_OK);
    cr_assert_eq(info.runs, 4);
    cr_assert(info.min_ns > 0 && info.max_ns <= 1000 * wall_us);
    end(&b);
}

Test(device_looks, traces)
{
    for (int backend = 0; backend < KIT_BACKENDS; backend++)
        for (int m = 0; m < EM_ORDERED; m++) {
            et_alarm(60, "hangs: %s, %s\n", kit_names[backend], em_modes[m].name);
            traced(backend, &em_modes[m]);
        }
    et_alarm(0, "%s", "");
}

/* ---- allocations */

static uint64_t allocations(rondo_runtime rt)
{
    rondo_runtime_statistics s;
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    return s.allocations;
}

static void steady(int backend, const struct em_mode *m)
{
    const rondo_instantiate_options options = em_options(m, 4);
    struct bed b;
    uint64_t before;
    if (!begin(&b, backend, &options))
        return;
    for (uint64_t r = 0; r < 20; r++)
        replay(&b, r, 0);
    before = allocations(b.rt);
    for (uint64_t r = 0; r < 100; r++)
        replay(&b, r, 0);
    cr_assert_eq(allocations(b.rt), before, "%s, %s: %llu allocations in 100 replays",
                 kit_names[backend], m->name, (unsigned long long)(allocations(b.rt) - before));
    end(&b);
}

Test(device_looks, steady_replays_allocate_nothing)
{
    for (int backend = 0; backend < KIT_BACKENDS; backend++)
        for (int m = 0; m < EM_ORDERED; m++) {
            et_alarm(60, "hangs: %s, %s\n", kit_names[backend], em_modes[m].name);
            steady(backend, &em_modes[m]);
        }
    et_alarm(0, "%s", "");
}

/* ---- profiles */

static void profiled(int backend, const struct em_mode *m)
{
    rondo_instantiate_options options = em_options(m, 2);
    struct bed b;
    options.profile = 5;
    if (!begin(&b, backend, &options))
        return;
    for (uint64_t r = 0; r < 20; r++)
        replay(&b, r, 0);
    end(&b);
}

Test(device_looks, placed_by_a_profile)
{
    for (int backend = 0; backend < KIT_BACKENDS; backend++)
        for (int m = 0; m < EM_ORDERED; m++) {
            et_alarm(60, "hangs: %s, %s\n", kit_names[backend], em_modes[m].name);
            profiled(backend, &em_modes[m]);
        }
    et_alarm(0, "%s", "");
}

/* ---- the environment */

static void in_environment(const char *variable, const char *value, const char *told)
{
    const rondo_instantiate_options options = { .order = RONDO_PIPELINED };
    for (int backend = 0; backend < KIT_BACKENDS; backend++) {
        struct text t = { NULL, 0 };
        struct bed b;
        int there;
        et_alarm(60, "hangs: %s, %s=%s\n", kit_names[backend], variable, value);
        setenv(variable, value, 1);
        there = begin(&b, backend, &options);
        unsetenv(variable);
        if (!there)
            continue;
        for (uint64_t r = 0; r < 10; r++)
            replay(&b, r, 0);
        cr_assert_eq(rondo_exec_describe(b.x, gather, &t), RONDO_OK);
        cr_assert_not_null(strstr(t.at, told), "%s", t.at);
        free(t.at);
        end(&b);
    }
    et_alarm(0, "%s", "");
}

Test(device_looks, sync)
{
    in_environment("RONDO_DEVICE_SYNC", "1",
                   "mode: interpreted now, instantiated as interpreted: "
                   "the environment's RONDO_DEVICE_SYNC says so");
}
Test(device_looks, shuffle) { in_environment("RONDO_SHUFFLE", "5", "order of nodes: random"); }
Test(device_looks, check)
{
    in_environment("RONDO_CHECK", "access",
                   "check: RONDO_CHECK=access is off: nodes are on devices");
}
Test(device_looks, verify) { in_environment("RONDO_VERIFY", "2", "check: RONDO_VERIFY is off: "); }
