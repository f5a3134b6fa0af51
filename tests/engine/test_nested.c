/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings nested into others, replayed: the inner subgraph's handles name parameters and slots
 * of replays of the outer one, through any depth; what is recorded twice runs twice, in order. */
#include "tests/engine/engine_check.h"

#include <stdatomic.h>

enum { CELLS = 8, DEPTH = 4, REPLAYS = 7 };

static rondo_runtime rt;
static _Atomic(uint64_t) released;

static void count_release(void *context)
{
    (void)context;
    atomic_fetch_add(&released, 1);
}

/* to[i] = 2 * to[i] + from[i] + argument + parameter */
static int step(rondo_task *self, const void *arg)
{
    uint64_t *to = rondo_task_write(self, 0);
    const uint64_t *from = rondo_task_read(self, 1), *fixed = arg;
    uint64_t given = *(const uint64_t *)rondo_task_param(self, 0);
    for (int i = 0; i < CELLS; i++)
        to[i] = 2 * to[i] + from[i] + fixed[0] + fixed[1] + given;
    return 0;
}

struct inner {
    rondo_subgraph g;
    rondo_slot to, from;
    rondo_param given, patched;
};

static struct inner make_inner(void)
{
    rondo_shape shape = { 8, { CELLS }, { 0 } };
    uint64_t three = 3, arg[2] = { 0, 10 };
    struct inner in;
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "in" }, &in.g));
    in.to = rondo_subgraph_slot(in.g, &(rondo_slot_desc){ .name = "to", .shape = shape });
    in.from = rondo_subgraph_slot(in.g, &(rondo_slot_desc){ .name = "from", .shape = shape });
    in.given = rondo_subgraph_param(in.g, "given", 8, NULL);
    in.patched = rondo_subgraph_param(in.g, "patched", 8, &three);
    ET_HANDLE(rondo_record_task(
        in.g, &(rondo_task_desc){ .name = "step",
                                  .fn = step,
                                  RONDO_ARG(arg),
                                  .context = &released,
                                  .release = count_release,
                                  RONDO_PARAMS(in.given),
                                  RONDO_PATCHES({ in.patched, 0, 0, 8, 0 }),
                                  RONDO_ACCESSES(rondo_read_write(in.to, rondo_whole()),
                                                 rondo_read(in.from, rondo_whole())) }));
    return in;
}

static void model(uint64_t *to, const uint64_t *from, uint64_t patched, uint64_t given)
{
    for (int i = 0; i < CELLS; i++)
        to[i] = 2 * to[i] + from[i] + patched + 10 + given;
}

/* Records `in` into a subgraph twice, that into another, and so on. */
static rondo_subgraph nest(struct inner *in, int depth, rondo_node *last)
{
    rondo_subgraph inner = in->g, outer;
    for (int d = 0; d < depth; d++) {
        ET_OK(rondo_subgraph_create(rt, NULL, &outer));
        for (int twice = 0; twice < 2; twice++) {
            *last = rondo_record_subgraph(outer, inner, NULL);
            ET_HANDLE(*last);
        }
        ET_OK(rondo_subgraph_destroy(inner));
        inner = outer;
    }
    return inner;
}

static void run_depth(const struct et_mode *mode, int depth)
{
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    struct inner in = make_inner();
    uint64_t bytes[2][CELLS] = { { 1, 2, 3 }, { 4, 5, 6 } }, want[2][CELLS];
    rondo_buffer buffer[2];
    rondo_node last;
    rondo_exec exec;
    rondo_subgraph g = nest(&in, depth, &last);
    memcpy(want, bytes, sizeof want);
    for (int i = 0; i < 2; i++) {
        rondo_buffer_desc d = { NULL, { 8, { CELLS }, { 0 } }, bytes[i], 0, NULL };
        ET_OK(rondo_buffer_create(rt, &d, &buffer[i]));
    }
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (uint64_t r = 0; r < REPLAYS; r++) {
        uint64_t given = 100 + r, patched = r;
        rondo_value values[2] = { { in.given, &given, 0 }, { in.patched, &patched, 0 } };
        rondo_binding bindings[2] = { { in.to, buffer[r % 2] }, { in.from, buffer[1 - r % 2] } };
        rondo_replay_args args = {
            .values = values, .value_count = r % 3 ? 2 : 1, .bindings = bindings, .binding_count = 2
        };
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        for (int n = 0; n < 1 << depth; n++)
            model(want[r % 2], want[1 - r % 2], r % 3 ? patched : 3, given);
        cr_assert(!memcmp(want, bytes, sizeof want), "%s, depth %d, replay %llu", mode->name, depth,
                  (unsigned long long)r);
    }
    ET_OK(rondo_exec_destroy(exec));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(buffer[i]));
}

Test(nested, inner_handles_name_the_outer_parts, .timeout = 60)
{
    uint64_t recordings = 0;
    rt = et_runtime(2);
    for (int m = 0; m < ET_MODES; m++)
        for (int depth = 1; depth <= DEPTH; depth++, recordings++)
            run_depth(&et_modes[m], depth);
    ET_CLOSE(rt);
    cr_assert_eq(atomic_load(&released), recordings);
}

/* Values of a call with a count go by the inner handle too; what is foreign is refused. */
Test(nested, values_of_a_call_with_a_count, .timeout = 60)
{
    struct inner in, other;
    uint64_t bytes[2][CELLS] = { { 0 } }, want[CELLS] = { 0 }, given[5] = { 1, 2, 3, 4, 5 };
    rondo_buffer buffer[2];
    rondo_node node;
    rondo_exec exec;
    rondo_subgraph g;
    rt = et_runtime(2);
    in = make_inner();
    other = make_inner();
    for (int i = 0; i < 2; i++) {
        rondo_buffer_desc d = { NULL, { 8, { CELLS }, { 0 } }, bytes[i], 0, NULL };
        ET_OK(rondo_buffer_create(rt, &d, &buffer[i]));
    }
    g = nest(&in, 2, &node);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    rondo_value value = { in.given, given, 8 };
    rondo_binding bindings[2] = { { in.to, buffer[0] }, { in.from, buffer[1] } };
    rondo_replay_args args = {
        .values = &value, .value_count = 1, .bindings = bindings, .binding_count = 2, .count = 5
    };
    ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
    for (int r = 0; r < 5; r++)
        for (int n = 0; n < 4; n++)
            model(want, bytes[1], 3, given[r]);
    cr_assert(!memcmp(want, bytes[0], sizeof want));
    ET_OK(rondo_exec_set_param(exec, in.given, &given[2]));
    args.value_count = 0;
    args.count = 1;
    ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
    for (int n = 0; n < 4; n++)
        model(want, bytes[1], 3, 3);
    cr_assert(!memcmp(want, bytes[0], sizeof want));
    value.param = other.given;
    args.value_count = 1;
    ET_IS(rondo_replay(exec, &args, NULL), RONDO_ERR_INVALID);
    ET_SAYS("values[0]: handle");
    args.value_count = 0;
    bindings[1].slot = other.from;
    ET_IS(rondo_replay(exec, &args, NULL), RONDO_ERR_INVALID);
    ET_SAYS("bindings[1]: handle");
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_subgraph_destroy(other.g));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(buffer[i]));
    ET_CLOSE(rt);
}

/* A slot that is mapped is the outer one's: what the outer nodes write the inner ones read. */
static int fill_up(rondo_task *self, const void *arg)
{
    uint64_t *to = rondo_task_write(self, 0);
    for (int i = 0; i < CELLS; i++)
        to[i] = *(const uint64_t *)arg + (uint64_t)i;
    return 0;
}

Test(nested, mapped_slots, .timeout = 60)
{
    for (int m = 0; m < ET_MODES; m++) {
        rondo_instantiate_options o = { .mode = et_modes[m].mode,
                                        .order = et_modes[m].order,
                                        .schedule = et_modes[m].schedule };
        struct inner in;
        uint64_t bytes[2][CELLS] = { { 0 } }, want[CELLS] = { 0 }, from[CELLS], given = 9, base;
        rondo_buffer buffer[2];
        rondo_slot slot[2];
        rondo_subgraph g;
        rondo_exec exec;
        rt = et_runtime(2);
        in = make_inner();
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        for (int i = 0; i < 2; i++) {
            rondo_buffer_desc d = { NULL, { 8, { CELLS }, { 0 } }, bytes[i], 0, NULL };
            ET_OK(rondo_buffer_create(rt, &d, &buffer[i]));
            slot[i] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer[i] });
        }
        rondo_slot_map map[2] = { { in.to, slot[0] }, { in.from, slot[1] } };
        for (base = 1; base < 4; base++) {
            ET_HANDLE(rondo_record_task(
                g, &(rondo_task_desc){ .fn = fill_up,
                                       RONDO_ARG(base),
                                       RONDO_ACCESSES(rondo_write(slot[1], rondo_whole())) }));
            ET_HANDLE(
                rondo_record_subgraph(g, in.g, &(rondo_inner_desc){ .map = map, .map_count = 2 }));
        }
        ET_OK(rondo_subgraph_destroy(in.g));
        ET_OK(rondo_instantiate(g, &o, &exec));
        ET_OK(rondo_subgraph_destroy(g));
        rondo_value value = { in.given, &given, 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1, .count = REPLAYS };
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        for (int r = 0; r < REPLAYS; r++)
            for (base = 1; base < 4; base++) {
                for (uint64_t i = 0; i < CELLS; i++)
                    from[i] = base + i;
                model(want, from, 3, given);
            }
        cr_assert(!memcmp(want, bytes[0], sizeof want), "%s", et_modes[m].name);
        ET_OK(rondo_exec_destroy(exec));
        for (int i = 0; i < 2; i++)
            ET_OK(rondo_buffer_destroy(buffer[i]));
        ET_CLOSE(rt);
    }
}

/* An inner node runs when its own condition and that of the recording it is part of hold, all the
 * way out. */
static int count_up(rondo_task *self, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)rondo_task_write(self, 0);
    return 0;
}

static void run_conditions(const struct et_mode *mode, uint32_t edges)
{
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    uint64_t count[1] = { 0 }, want = 0;
    int32_t flag[1] = { 0 }, go = 0;
    rondo_buffer_desc d = { "count", { 8, { 1 }, { 0 } }, count, 0, NULL };
    rondo_subgraph g[3] = { { 0 } };
    rondo_buffer count_buffer, flag_buffer;
    rondo_param param;
    rondo_slot slot;
    rondo_node node, second;
    rondo_exec exec;
    ET_OK(rondo_buffer_create(rt, &d, &count_buffer));
    d = (rondo_buffer_desc){ "flag", { 4, { 1 }, { 0 } }, flag, 0, NULL };
    ET_OK(rondo_buffer_create(rt, &d, &flag_buffer));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = edges }, &g[i]));
    slot = rondo_subgraph_slot(g[0], &(rondo_slot_desc){ .buffer = count_buffer });
    ET_HANDLE(rondo_record_task(
        g[0], &(rondo_task_desc){ .fn = count_up,
                                  .when = { .every = 2, .phase = 1 },
                                  RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
    slot = rondo_subgraph_slot(g[1], &(rondo_slot_desc){ .buffer = flag_buffer });
    ET_HANDLE(rondo_record_subgraph(g[1], g[0], &(rondo_inner_desc){ .when = { .flag = slot } }));
    param = rondo_subgraph_param(g[2], "go", 4, NULL);
    node = rondo_record_subgraph(g[2], g[1], &(rondo_inner_desc){ .when = { .param = param } });
    ET_HANDLE(node);
    second = rondo_record_subgraph(
        g[2], g[1],
        &(rondo_inner_desc){ .after = &node, .after_count = 1, .when = { .every = 3 } });
    ET_HANDLE(second);
    if (edges) /* a skipped node still passes on what is ordered by hand */
        ET_OK(rondo_record_edge(g[2], second, node, 1));
    ET_OK(rondo_instantiate(g[2], &o, &exec));
    for (uint64_t n = 0; n < 48; n++) {
        rondo_value value = { param, &go, 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1 };
        flag[0] = n / 6 % 2 == 0;
        go = n / 12 % 2 ? 0x100 : 0; /* any byte of it */
        ET_OK(rondo_replay_and_wait(exec, &args, -1, NULL));
        want += n % 2 == 1 && flag[0] ? (uint64_t)(go != 0) + (n % 3 == 0) : 0;
        cr_assert_eq(count[0], want, "%s: %llu instead of %llu after replay %llu", mode->name,
                     (unsigned long long)count[0], (unsigned long long)want, (unsigned long long)n);
    }
    cr_assert_gt(want, 0);
    ET_OK(rondo_exec_destroy(exec));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_subgraph_destroy(g[i]));
    ET_OK(rondo_buffer_destroy(count_buffer));
    ET_OK(rondo_buffer_destroy(flag_buffer));
}

Test(nested, conditions_of_all_levels, .timeout = 60)
{
    rt = et_runtime(2);
    for (int m = 0; m < ET_MODES; m++) {
        run_conditions(&et_modes[m], 0);
        run_conditions(&et_modes[m], RONDO_EDGES_EXPLICIT);
    }
    ET_CLOSE(rt);
}
