/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings with nodes on devices, in every mode and on every kind of device there is. */
#include "tests/engine/engine_util.h"
#include "tests/engine/every_mode.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { N = 256 };

/* What every test has: a runtime, a recording, an exec of it. */
struct bed {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_exec x;
};

/* 0: there is no such device. */
static int begin(struct bed *b, int backend, uint32_t workers, uint32_t devices)
{
    b->rt = kit_open(backend, workers, devices);
    if (!b->rt.id)
        return 0;
    b->x.id = 0;
    cr_assert_eq(rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "g" }, &b->g),
                 RONDO_OK);
    return 1;
}

/* A buffer of N, and a node on the device that mixes all of it. */
static rondo_slot record_mix(struct bed *b, rondo_buffer *u)
{
    rondo_slot slot;
    *u = kit_buffer(b->rt, "u", N, 1, RONDO_HOST);
    slot = kit_slot(b->g, "u", *u);
    kit_record(b->g, &(struct kit_node){
                         .name = "mix", .op = KIT_MIX, .u = slot, .count = N, .on = RONDO_GPU(0) });
    return slot;
}

static void instantiate(struct bed *b, const struct em_mode *m, uint32_t window)
{
    rondo_instantiate_options options = em_options(m, window);
    cr_assert_eq(rondo_instantiate(b->g, &options, &b->x), RONDO_OK, "%s: %s", m->name,
                 rondo_error_message());
}

static void end(struct bed *b)
{
    const char *left;
    if (b->x.id)
        cr_assert_eq(rondo_exec_destroy(b->x), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(b->g), RONDO_OK);
    left = et_close_clean(b->rt);
    cr_assert_null(left, "%s", left);
}

static void replay(struct bed *b)
{
    rondo_result result = { 0 };
    cr_assert_eq(rondo_replay_and_wait(b->x, NULL, -1, &result), RONDO_OK, "%s: %s", result.node,
                 result.message);
}

static void wait_all(struct bed *b)
{
    rondo_result result = { 0 };
    cr_assert_eq(rondo_exec_wait(b->x, &result), RONDO_OK, "%s: %s", result.node, result.message);
}

/* Runs a case on every kind of device, in every mode, with a worker and with two. */
static void everywhere(void (*run)(int backend, const struct em_mode *m, uint32_t workers))
{
    for (int backend = 0; backend < KIT_BACKENDS; backend++)
        for (int m = 0; m < EM_ORDERED; m++)
            for (uint32_t workers = 1; workers <= 2; workers++) {
                if (backend == KIT_OPENCL && workers != 1u + (m & 1))
                    continue; /* a runtime takes its time */
                et_alarm(100, "hangs: %s, %s, %u workers\n", kit_names[backend], em_modes[m].name,
                         workers);
                run(backend, &em_modes[m], workers);
            }
    et_alarm(0, "%s", "");
}

/* ---- a chain through device, host and device */

static void there_and_back(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t plain[N];
    rondo_buffer u;
    rondo_slot s;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    s = kit_slot(b.g, "u", u);
    struct kit_node n = { .op = KIT_MIX, .u = s, .count = N };
    for (uint64_t i = 0; i < 9; i++) {
        n.name = i % 3 == 1 ? "host" : "device";
        n.on = i % 3 == 1 ? (rondo_processor)RONDO_ANY_CPU : RONDO_GPU(0);
        n.value = i;
        kit_record(b.g, &n);
    }
    instantiate(&b, m, 3);
    for (int i = 0; i < N; i++)
        plain[i] = 1;
    for (int r = 0; r < 10; r++) {
        cr_assert_eq(rondo_replay(b.x, NULL, NULL), RONDO_OK, "%s", rondo_error_message());
        for (uint64_t i = 0; i < 9; i++)
            kit_do(KIT_MIX, plain, NULL, i, 0, N);
    }
    wait_all(&b);
    kit_expect(u, plain, N, m->name);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, there_and_back) { everywhere(there_and_back); }

/* ---- what is told of it */

struct text {
    char bytes[1 << 14];
    size_t used;
};
static void take_text(void *context, const char *text)
{
    struct text *t = context;
    t->used += (size_t)snprintf(t->bytes + t->used, sizeof t->bytes - t->used, "%s", text);
    cr_assert_lt(t->used, sizeof t->bytes);
}

static void told(int backend, const struct em_mode *m, uint32_t workers)
{
    static struct text text;
    struct bed b;
    rondo_exec_counts counts;
    rondo_node_info info;
    rondo_buffer u, v;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    v = kit_buffer(b.rt, "v", N, 1, RONDO_HOST);
    struct kit_node n = { .op = KIT_MIX, .u = kit_slot(b.g, "u", u), .count = N, .name = "first" };
    n.on = RONDO_GPU(0);
    rondo_node first = kit_record(b.g, &n);
    n.name = "second";
    kit_record(b.g, &n);
    n.name = "host";
    n.on = RONDO_ANY_CPU;
    n.u = kit_slot(b.g, "v", v);
    rondo_node host = kit_record(b.g, &n);
    instantiate(&b, m, 2);
    cr_assert_eq(rondo_exec_touch(b.x), RONDO_OK, "%s", rondo_error_message());
    for (int i = 0; i < 3; i++)
        replay(&b);
    cr_assert_eq(rondo_exec_count(b.x, &counts), RONDO_OK);
    cr_assert(counts.nodes == 3 && counts.device_nodes == 2 && counts.segments == 1 &&
              counts.copies == 0 && counts.moved_bytes == 0 && counts.driver_calls > 0);
    cr_assert_eq(rondo_exec_node_info(b.x, first, &info), RONDO_OK);
    cr_assert_eq(info.processor, RONDO_GPU(0));
    cr_assert_eq(rondo_exec_node_info(b.x, host, &info), RONDO_OK);
    cr_assert_lt(info.processor, RONDO_GPU(0));
    text.used = 0;
    cr_assert_eq(rondo_exec_describe(b.x, take_text, &text), RONDO_OK);
    cr_assert_not_null(strstr(text.bytes, "devices: 2 nodes in 1 segments"), "%s", text.bytes);
    cr_assert_not_null(strstr(text.bytes, "submit 'first' + 1: 2 nodes; "), "%s", text.bytes);
    cr_assert_not_null(strstr(text.bytes, "  nothing moves"), "%s", text.bytes);
    cr_assert_eq(strstr(text.bytes, "auto: no choice, nodes are on devices") != NULL,
                 m->schedule == RONDO_SCHEDULE_AUTO, "%s", text.bytes);
    rondo_buffer_destroy(u);
    rondo_buffer_destroy(v);
    end(&b);
}

Test(device, counts_and_description) { everywhere(told); }

/* ---- parameters, of replays in flight together */

static void values(int backend, const struct em_mode *m, uint32_t workers)
{
    const uint64_t replays = et_scaled(400, 50);
    struct bed b;
    uint64_t plain[4][N], value;
    rondo_buffer u[4];
    rondo_param p;
    if (!begin(&b, backend, workers, 1))
        return;
    p = rondo_subgraph_param(b.g, "t", sizeof value, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        u[i] = kit_buffer(b.rt, "u", N, i, RONDO_HOST);
        for (int k = 0; k < N; k++)
            plain[i][k] = i;
        kit_record(b.g, &(struct kit_node){ .name = "take",
                                            .op = KIT_MIX,
                                            .u = kit_slot(b.g, "u", u[i]),
                                            .count = N,
                                            .on = i < 3 ? RONDO_GPU(0) : (uint32_t)RONDO_ANY_CPU,
                                            .how = i % 2 ? KIT_ADDRESS : KIT_PARAM,
                                            .param = p });
    }
    instantiate(&b, m, 4);
    for (uint64_t r = 0; r < replays; r++) {
        value = r * r + 7;
        cr_assert_eq(rondo_replay(b.x,
                                  &(rondo_replay_args){
                                      .values = &(rondo_value){ .param = p, .value = &value },
                                      .value_count = 1 },
                                  NULL),
                     RONDO_OK, "%s", rondo_error_message());
        for (uint32_t i = 0; i < 4; i++)
            kit_do(KIT_MIX, plain[i], NULL, value, 0, N);
    }
    wait_all(&b);
    for (uint32_t i = 0; i < 4; i++) {
        kit_expect(u[i], plain[i], N, m->name);
        rondo_buffer_destroy(u[i]);
    }
    end(&b);
}

Test(device, values_of_replays_in_flight) { everywhere(values); }

/* ---- 200 nodes that read what the replay before wrote */

enum { CELLS = 201 };

/* Cell i takes cell i + 1's value of the replay before, to which the last adds 1. */
static void never_stale(int backend, const struct em_mode *m, uint32_t workers)
{
    const uint64_t replays = et_scaled(backend == KIT_OPENCL ? 200 : 1000, CELLS + 10);
    struct bed b;
    uint64_t plain[CELLS];
    rondo_buffer u;
    rondo_slot s;
    if ((m->order == RONDO_SERIAL && workers == 2) || !begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", CELLS, 0, RONDO_HOST);
    s = kit_slot(b.g, "u", u);
    for (int i = 0; i + 1 < CELLS; i++)
        rondo_record_copy(b.g, &(rondo_move_desc){ .name = "pass",
                                                   .from = rondo_read(s, rondo_span(i + 1, 1)),
                                                   .to = rondo_write(s, rondo_span(i, 1)),
                                                   .on = RONDO_GPU(0) });
    kit_record(b.g, &(struct kit_node){ .name = "last",
                                        .op = KIT_MIX,
                                        .u = s,
                                        .first = CELLS - 1,
                                        .count = 1,
                                        .value = 1,
                                        .on = RONDO_GPU(0) });
    instantiate(&b, m, 4);
    memset(plain, 0, sizeof plain);
    cr_assert_eq(rondo_replay(b.x, &(rondo_replay_args){ .count = replays }, NULL), RONDO_OK, "%s",
                 rondo_error_message());
    for (uint64_t r = 0; r < replays; r++) {
        memmove(plain, plain + 1, (CELLS - 1) * sizeof *plain);
        kit_do(KIT_MIX, plain, NULL, 1, CELLS - 1, 1);
    }
    wait_all(&b);
    kit_expect(u, plain, CELLS, m->name);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, never_a_stale_value) { everywhere(never_stale); }

/* ---- conditions */

/* A flag that a kernel writes, in memory that the host looks at. */
static void conditions(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t expected = 0;
    int32_t given;
    rondo_buffer u, flag;
    rondo_slot s, f;
    rondo_param p, on;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 0, RONDO_HOST);
    flag = kit_buffer(b.rt, "flag", 1, 0, RONDO_HOST);
    s = kit_slot(b.g, "u", u);
    f = rondo_subgraph_slot(
        b.g, &(rondo_slot_desc){ .name = "flag",
                                 .buffer = flag,
                                 .shape = { .elem_bytes = sizeof(uint64_t), .extent = { 1 } } });
    p = rondo_subgraph_param(b.g, "value", sizeof(uint64_t), NULL);
    on = rondo_subgraph_param(b.g, "on", sizeof given, NULL);
    kit_record(b.g, &(struct kit_node){ .name = "decide",
                                        .op = KIT_PUT,
                                        .u = f,
                                        .count = 1,
                                        .on = RONDO_GPU(0),
                                        .how = KIT_PARAM,
                                        .param = p });
    kit_record(b.g, &(struct kit_node){ .name = "if flag",
                                        .op = KIT_MIX,
                                        .u = s,
                                        .count = N,
                                        .value = 3,
                                        .on = RONDO_GPU(0),
                                        .when = { .flag = f } });
    kit_record(b.g, &(struct kit_node){ .name = "if on",
                                        .op = KIT_MIX,
                                        .u = s,
                                        .count = N,
                                        .value = 5,
                                        .on = RONDO_GPU(0),
                                        .when = { .param = on } });
    kit_record(b.g, &(struct kit_node){ .name = "each third",
                                        .op = KIT_MIX,
                                        .u = s,
                                        .count = N,
                                        .value = 9,
                                        .on = RONDO_GPU(0),
                                        .when = { .every = 3, .phase = 1 } });
    instantiate(&b, m, 4);
    for (uint64_t r = 0; r < 24; r++) {
        uint64_t value = r / 2 % 2, more = 0;
        given = r % 2;
        cr_assert_eq(rondo_replay(b.x,
                                  &(rondo_replay_args){
                                      .values = (rondo_value[]){ { .param = p, .value = &value },
                                                                 { .param = on, .value = &given } },
                                      .value_count = 2 },
                                  NULL),
                     RONDO_OK, "%s", rondo_error_message());
        more = expected;
        if (value)
            kit_do(KIT_MIX, &more, NULL, 3, 0, 1);
        if (given)
            kit_do(KIT_MIX, &more, NULL, 5, 0, 1);
        if (r % 3 == 1)
            kit_do(KIT_MIX, &more, NULL, 9, 0, 1);
        expected = more;
    }
    wait_all(&b);
    kit_expect_all(u, N, expected, m->name);
    rondo_buffer_destroy(u);
    rondo_buffer_destroy(flag);
    end(&b);
}

Test(device, conditions) { everywhere(conditions); }

/* ---- counts of moves */

static void counts(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t plain[N] = { 0 }, seven = 7;
    int64_t count;
    rondo_buffer u;
    rondo_param p;
    rondo_result result;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 0, RONDO_HOST);
    p = rondo_subgraph_param(b.g, "count", sizeof count, NULL);
    rondo_record_fill(
        b.g, &(rondo_move_desc){ .name = "some",
                                 .to = rondo_write(kit_slot(b.g, "u", u), rondo_span(10, 100)),
                                 .value = &seven,
                                 .value_bytes = sizeof seven,
                                 .count = p,
                                 .on = RONDO_GPU(0) });
    instantiate(&b, m, 2);
    const rondo_replay_args args = { .values = &(rondo_value){ .param = p, .value = &count },
                                     .value_count = 1 };
    count = 20;
    cr_assert_eq(rondo_replay_and_wait(b.x, &args, -1, &result), RONDO_OK, "%s", result.message);
    for (int i = 10; i < 30; i++)
        plain[i] = 7;
    kit_expect(u, plain, N, m->name);
    count = 101;
    cr_assert_eq(rondo_replay_and_wait(b.x, &args, -1, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "some");
    cr_assert_str_eq(result.message, "count[0] is 101, the region holds 100");
    cr_assert_eq(rondo_exec_reset(b.x), RONDO_OK);
    count = 0;
    cr_assert_eq(rondo_replay_and_wait(b.x, &args, -1, &result), RONDO_OK, "%s", result.message);
    kit_expect(u, plain, N, m->name);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, counts_of_moves) { everywhere(counts); }

/* ---- on and off, another version, a group */

static void enabled(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t expected = 1;
    rondo_buffer u;
    rondo_node node[2];
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    for (uint64_t i = 0; i < 2; i++)
        node[i] = kit_record(b.g, &(struct kit_node){ .name = "mix",
                                                      .op = KIT_MIX,
                                                      .u = kit_slot(b.g, "u", u),
                                                      .count = N,
                                                      .value = i,
                                                      .on = RONDO_GPU(0) });
    instantiate(&b, m, 2);
    for (int off = 0; off < 3; off++) { /* the second; both; none */
        cr_assert_eq(rondo_exec_enable(b.x, node[1], off == 2), RONDO_OK, "%s",
                     rondo_error_message());
        cr_assert_eq(rondo_exec_enable(b.x, node[0], off != 1), RONDO_OK);
        replay(&b);
        if (off != 1)
            kit_do(KIT_MIX, &expected, NULL, 0, 0, 1);
        if (off == 2)
            kit_do(KIT_MIX, &expected, NULL, 1, 0, 1);
    }
    kit_expect_all(u, N, expected, m->name);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, nodes_on_and_off) { everywhere(enabled); }

/* A node that overwrites cannot be switched off beside nodes on devices; nothing changes. */
static void overwriting(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t expected[N] = { 0 };
    rondo_buffer u;
    rondo_slot slot;
    rondo_node put;
    if (!begin(&b, backend, workers, 1))
        return;
    slot = record_mix(&b, &u);
    put = kit_record(
        b.g, &(struct kit_node){ .name = "put", .op = KIT_PUT, .u = slot, .count = N, .value = 7 });
    instantiate(&b, m, 2);
    cr_assert_eq(rondo_exec_enable(b.x, put, 0), RONDO_ERR_INVALID);
    cr_assert_not_null(strstr(rondo_error_message(), "node 1 'put' overwrites slot 'u'"), "%s",
                       rondo_error_message());
    cr_assert_eq(rondo_exec_enable(b.x, put, 1), RONDO_OK);
    replay(&b);
    kit_do(KIT_PUT, expected, NULL, 7, 0, N);
    kit_expect(u, expected, N, m->name);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, what_overwrites_stays_on) { everywhere(overwriting); }

static rondo_subgraph record_version(rondo_runtime rt, rondo_buffer u, uint64_t value)
{
    rondo_subgraph g;
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "version" }, &g),
                 RONDO_OK);
    kit_record(g, &(struct kit_node){ .name = "mix",
                                      .op = KIT_MIX,
                                      .u = kit_slot(g, "u", u),
                                      .count = N,
                                      .value = value,
                                      .on = RONDO_GPU(0) });
    return g;
}

static void updated(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t expected = 1;
    rondo_instantiate_options options = em_options(m, 3);
    rondo_subgraph version[2];
    rondo_buffer u;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    for (uint64_t i = 0; i < 2; i++)
        version[i] = record_version(b.rt, u, 10 + i);
    cr_assert_eq(rondo_instantiate(version[0], &options, &b.x), RONDO_OK);
    for (uint64_t r = 0; r < 8; r++) {
        cr_assert_eq(rondo_replay(b.x, NULL, NULL), RONDO_OK);
        kit_do(KIT_MIX, &expected, NULL, 10 + r % 2, 0, 1);
        cr_assert_eq(rondo_exec_update(b.x, version[(r + 1) % 2]), RONDO_OK, "%s",
                     rondo_error_message());
    }
    wait_all(&b);
    kit_expect_all(u, N, expected, m->name);
    for (int i = 0; i < 2; i++)
        rondo_subgraph_destroy(version[i]);
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, another_version) { everywhere(updated); }

static void grouped(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t expected = 1;
    rondo_instantiate_options options = em_options(m, 3);
    rondo_subgraph version[2];
    rondo_exec x[2];
    rondo_buffer u;
    if (m->schedule == RONDO_DATAFLOW || !begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    for (uint64_t i = 0; i < 2; i++)
        version[i] = record_version(b.rt, u, 10 + i);
    cr_assert_eq(rondo_instantiate_group(version, 2, &options, x), RONDO_OK, "%s",
                 rondo_error_message());
    for (uint64_t r = 0; r < 20; r++) {
        cr_assert_eq(rondo_replay(x[r / 3 % 2], NULL, NULL), RONDO_OK);
        kit_do(KIT_MIX, &expected, NULL, 10 + r / 3 % 2, 0, 1);
    }
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_exec_wait(x[i], NULL), RONDO_OK);
    kit_expect_all(u, N, expected, m->name);
    for (int i = 0; i < 2; i++) {
        rondo_exec_destroy(x[i]);
        rondo_subgraph_destroy(version[i]);
    }
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, a_group) { everywhere(grouped); }

/* ---- two devices */

static void two_devices(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t plain[2] = { 1, 2 };
    rondo_buffer u[2];
    rondo_slot s[2];
    if (!begin(&b, backend, workers, 2))
        return;
    for (uint64_t i = 0; i < 2; i++) {
        u[i] = kit_buffer(b.rt, "u", N, plain[i], RONDO_HOST);
        s[i] = kit_slot(b.g, "u", u[i]);
    }
    for (uint32_t step = 0; step < 3; step++)
        for (uint32_t i = 0; i < 2; i++) {
            kit_record(b.g, &(struct kit_node){ .name = "mix",
                                                .op = KIT_MIX,
                                                .u = s[i],
                                                .count = N,
                                                .value = step,
                                                .on = RONDO_GPU(i) });
            kit_record(b.g, &(struct kit_node){ .name = "exchange",
                                                .op = KIT_ADD,
                                                .u = s[i],
                                                .v = s[1 - i],
                                                .count = N,
                                                .on = RONDO_GPU(i) });
        }
    instantiate(&b, m, 2);
    for (int r = 0; r < 5; r++) {
        cr_assert_eq(rondo_replay(b.x, NULL, NULL), RONDO_OK);
        for (uint64_t step = 0; step < 3; step++)
            for (int i = 0; i < 2; i++) {
                kit_do(KIT_MIX, &plain[i], NULL, step, 0, 1);
                plain[i] += plain[1 - i];
            }
    }
    wait_all(&b);
    for (int i = 0; i < 2; i++) {
        kit_expect_all(u[i], N, plain[i], m->name);
        rondo_buffer_destroy(u[i]);
    }
    end(&b);
}

Test(device, two_devices) { everywhere(two_devices); }

/* ---- the end of a node */

static void event_at(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_event replay_event, event;
    rondo_buffer u;
    rondo_node node;
    if (!begin(&b, backend, workers, 1))
        return;
    u = kit_buffer(b.rt, "u", N, 1, RONDO_HOST);
    struct kit_node n = { .name = "mix", .op = KIT_MIX, .count = N, .on = RONDO_GPU(0) };
    n.u = kit_slot(b.g, "u", u);
    node = kit_record(b.g, &n);
    n.on = RONDO_ANY_CPU;
    kit_record(b.g, &n);
    instantiate(&b, m, 2);
    for (int r = 0; r < 10; r++) {
        cr_assert_eq(rondo_replay(b.x, NULL, &replay_event), RONDO_OK);
        cr_assert_eq(rondo_event_at(replay_event, node, &event), RONDO_OK, "%s",
                     rondo_error_message());
        cr_assert_eq(rondo_event_wait(event, -1), RONDO_OK);
        cr_assert_eq(rondo_event_wait(replay_event, -1), RONDO_OK);
    }
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, the_event_of_a_node) { everywhere(event_at); }

/* ---- a node that stops the call */

enum { STOPS_AT = 12 };

static int stop_after(rondo_task *self, const void *arg)
{
    uint64_t *runs = rondo_task_context(self);
    (void)arg;
    (void)rondo_task_read(self, 0);
    if (++*runs % STOPS_AT == 0)
        rondo_task_stop(self);
    return 0;
}

static void stopped(int backend, const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    uint64_t runs = 0, expected = 1;
    rondo_buffer u;
    rondo_slot s;
    rondo_result result;
    if (!begin(&b, backend, workers, 1))
        return;
    s = record_mix(&b, &u);
    rondo_record_task(b.g, &(rondo_task_desc){ .name = "enough",
                                               .fn = stop_after,
                                               .context = &runs,
                                               .flags = RONDO_MAY_STOP,
                                               RONDO_ACCESSES(rondo_read(s, rondo_span(0, 1))) });
    instantiate(&b, m, 4);
    for (int call = 0; call < 2; call++) {
        cr_assert_eq(rondo_replay_and_wait(b.x, &(rondo_replay_args){ .count = 40 }, -1, &result),
                     RONDO_OK, "%s: %s", result.node, result.message);
        cr_assert(result.stopped, "%s", m->name);
        for (int i = 0; i < STOPS_AT; i++)
            kit_do(KIT_MIX, &expected, NULL, 0, 0, 1);
        cr_assert_eq(runs, (uint64_t)(call + 1) * STOPS_AT);
        kit_expect_all(u, N, expected, m->name);
    }
    rondo_buffer_destroy(u);
    end(&b);
}

Test(device, a_call_is_stopped) { everywhere(stopped); }

/* ---- what is refused */

Test(device, concurrent_replays_are_refused)
{
    struct bed b;
    rondo_buffer u;
    rondo_exec x;
    begin(&b, KIT_FAKE, 1, 1);
    record_mix(&b, &u);
    cr_assert_eq(
        rondo_instantiate(b.g, &(rondo_instantiate_options){ .order = RONDO_CONCURRENT }, &x),
        RONDO_ERR_INVALID);
    cr_assert_not_null(strstr(rondo_error_message(), "node 'mix' is on RONDO_GPU(0)"), "%s",
                       rondo_error_message());
    rondo_buffer_destroy(u);
    end(&b);
}
