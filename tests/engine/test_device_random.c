/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings over few buffers, their nodes on CPUs and devices at random, replayed in every
 * mode: the bytes are those of the plain loop, wherever they were meanwhile. */
#include "tests/engine/engine_util.h"
#include "tests/engine/every_mode.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 96, BUFFERS = 4, OPS_MAX = 24, REPLAYS = 6 };

struct op {
    int kind; /* a kit_op, or COPY, FILL */
    uint32_t u, v;
    uint64_t first, count, from, value;
    rondo_processor on;
    int has_param, on_address, conditional;
};
enum { COPY = KIT_OPS, FILL, KINDS };

struct program {
    struct op op[OPS_MAX];
    uint32_t ops;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull >> 16;
}
static uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(next_random(seed) % limit);
}

static void draw(struct program *p, uint64_t *seed, uint32_t devices)
{
    const uint32_t hosts = below(seed, 4);
    p->ops = 1 + below(seed, OPS_MAX);
    for (uint32_t i = 0; i < p->ops; i++) {
        struct op *o = &p->op[i];
        *o = (struct op){ .kind = (int)below(seed, KINDS),
                          .u = below(seed, BUFFERS),
                          .value = next_random(seed) };
        o->v = (o->u + 1 + below(seed, BUFFERS - 1)) % BUFFERS;
        o->count = below(seed, 3) ? 1 + below(seed, ELEMENTS) : ELEMENTS;
        o->first = below(seed, (uint32_t)(ELEMENTS - o->count + 1));
        o->from = below(seed, (uint32_t)(ELEMENTS - o->count + 1));
        o->has_param = (o->kind == KIT_PUT || o->kind == KIT_MIX) && below(seed, 3) == 0;
        o->on_address = o->has_param && below(seed, 2);
        o->conditional = below(seed, 6) == 0;
        if (below(seed, 4) >= hosts)
            o->on = RONDO_GPU(below(seed, devices));
    }
}

/* ---- the plain loop */

static void run_plain(const struct program *p, uint64_t data[BUFFERS][ELEMENTS], uint64_t value,
                      int condition)
{
    for (uint32_t i = 0; i < p->ops; i++) {
        const struct op *o = &p->op[i];
        uint64_t *u = data[o->u], *v = data[o->v];
        if (o->conditional && !condition)
            continue;
        if (o->kind == COPY)
            memcpy(u + o->first, v + o->from, o->count * sizeof *u);
        else if (o->kind == FILL)
            for (uint64_t k = 0; k < o->count; k++)
                u[o->first + k] = o->value;
        else
            kit_do((enum kit_op)o->kind, u, v, o->has_param ? value : o->value, o->first, o->count);
    }
}

/* ---- the recording */

struct recorded {
    rondo_subgraph g;
    rondo_param value, condition;
};

static void record_op(struct recorded *r, const rondo_slot *slot, const struct op *o, uint32_t i)
{
    char name[16];
    const rondo_region to = rondo_span((int64_t)o->first, (int64_t)o->count),
                       from = rondo_span((int64_t)o->from, (int64_t)o->count);
    rondo_move_desc move = { .name = name, .to = rondo_write(slot[o->u], to), .on = o->on };
    rondo_when when = { 0 };
    rondo_node node;
    snprintf(name, sizeof name, "op%u", i);
    if (o->conditional)
        when.param = r->condition;
    move.when = when;
    if (o->kind == COPY) {
        move.from = rondo_read(slot[o->v], from);
        node = rondo_record_copy(r->g, &move);
    } else if (o->kind == FILL) {
        move.value = &o->value;
        move.value_bytes = sizeof o->value;
        node = rondo_record_fill(r->g, &move);
    } else {
        node = kit_record(r->g, &(struct kit_node){ .name = name,
                                                    .op = (enum kit_op)o->kind,
                                                    .u = slot[o->u],
                                                    .v = slot[o->v],
                                                    .first = o->first,
                                                    .count = o->count,
                                                    .on = o->on,
                                                    .how = !o->has_param   ? KIT_FIXED
                                                           : o->on_address ? KIT_ADDRESS
                                                                           : KIT_PARAM,
                                                    .value = o->value,
                                                    .param = r->value,
                                                    .when = when });
    }
    cr_assert(node.id, "%s", rondo_error_message());
}

static void record(struct recorded *r, rondo_runtime rt, const struct program *p,
                   const rondo_buffer *buffer)
{
    rondo_slot slot[BUFFERS];
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &r->g), RONDO_OK);
    r->value = rondo_subgraph_param(r->g, "value", sizeof(uint64_t), NULL);
    r->condition = rondo_subgraph_param(r->g, "condition", sizeof(int), NULL);
    for (uint32_t b = 0; b < BUFFERS; b++)
        slot[b] = kit_slot(r->g, "u", buffer[b]);
    for (uint32_t i = 0; i < p->ops; i++)
        record_op(r, slot, &p->op[i], i);
}

/* ---- both, side by side */

struct world {
    rondo_runtime rt;
    uint64_t data[BUFFERS][ELEMENTS];
    rondo_buffer buffer[BUFFERS];
    rondo_event last;
};

static void fill_world(struct world *w, uint64_t *seed, uint32_t devices)
{
    for (uint32_t b = 0; b < BUFFERS; b++) {
        rondo_memory memory = below(seed, 3) ? RONDO_HOST : RONDO_GPU_MEMORY(below(seed, devices));
        w->buffer[b] = kit_buffer(w->rt, "u", ELEMENTS, b, memory);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            w->data[b][i] = b;
    }
}

static void replay(struct world *w, const struct program *p, const struct recorded *r, rondo_exec x,
                   uint64_t *seed, uint64_t *values, int *conditions)
{
    const rondo_event last = w->last; /* replays of two execs are ordered by events alone */
    for (uint32_t i = 0; i < REPLAYS; i++) {
        values[i] = next_random(seed);
        conditions[i] = (int)below(seed, 2);
        const rondo_value given[2] = { { .param = r->value, .value = &values[i] },
                                       { .param = r->condition, .value = &conditions[i] } };
        cr_assert_eq(
            rondo_replay(x,
                         &(rondo_replay_args){
                             .values = given, .value_count = 2, .after = &last, .after_count = !i },
                         &w->last),
            RONDO_OK, "%s", rondo_error_message());
        run_plain(p, w->data, values[i], conditions[i]);
    }
    if (below(seed, 2)) { /* else what comes next follows by itself */
        rondo_result result;
        cr_assert_eq(rondo_exec_wait(x, &result), RONDO_OK, "%s: %s", result.node, result.message);
    }
}

/* Two recordings over the same buffers take turns; the program looks at buffers, and writes. */
static void run(int backend, const struct em_mode *mode, uint32_t workers, uint32_t devices,
                uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    struct program p[2];
    struct recorded r[2];
    rondo_exec x[2];
    rondo_instantiate_options options;
    uint64_t values[REPLAYS];
    int conditions[REPLAYS];
    const char *left;
    char what[96];
    snprintf(what, sizeof what, "%s, %s, %u devices, seed %llu", kit_names[backend], mode->name,
             devices, (unsigned long long)seed);
    seed = seed * 0x9e3779b97f4a7c15ull + 1;
    options = em_options(mode, 1 + below(&seed, 4));
    et_alarm(60, "hangs: %s\n", what);
    w->rt = kit_open(backend, workers, devices);
    if (!w->rt.id) {
        free(w);
        return;
    }
    fill_world(w, &seed, devices);
    for (int i = 0; i < 2; i++) {
        draw(&p[i], &seed, devices);
        record(&r[i], w->rt, &p[i], w->buffer);
        cr_assert_eq(rondo_instantiate(r[i].g, &options, &x[i]), RONDO_OK, "%s: %s", what,
                     rondo_error_message());
    }
    for (int turn = 0; turn < 6; turn++) {
        uint32_t i = below(&seed, 2), b = below(&seed, BUFFERS);
        void *host;
        replay(w, &p[i], &r[i], x[i], &seed, values, conditions);
        if (below(&seed, 3) == 0) {
            cr_assert_eq(rondo_exec_wait(x[i], NULL), RONDO_OK, "%s", rondo_error_message());
            kit_expect(w->buffer[b], w->data[b], ELEMENTS, what);
        } else if (below(&seed, 3) == 0) {
            cr_assert_eq(rondo_exec_wait(x[i], NULL), RONDO_OK, "%s", rondo_error_message());
            cr_assert_eq(rondo_buffer_map(w->buffer[b], RONDO_READ | RONDO_WRITE, &host), RONDO_OK,
                         "%s", rondo_error_message());
            ((uint64_t *)host)[7] = w->data[b][7] = next_random(&seed);
            rondo_buffer_unmap(w->buffer[b]);
        }
    }
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_exec_wait(x[i], NULL), RONDO_OK, "%s", rondo_error_message());
    for (uint32_t b = 0; b < BUFFERS; b++)
        kit_expect(w->buffer[b], w->data[b], ELEMENTS, what);
    for (int i = 0; i < 2; i++) {
        rondo_exec_destroy(x[i]);
        rondo_subgraph_destroy(r[i].g);
    }
    for (uint32_t b = 0; b < BUFFERS; b++)
        rondo_buffer_destroy(w->buffer[b]);
    left = et_close_clean(w->rt);
    cr_assert_null(left, "%s: %s", what, left);
    free(w);
    et_alarm(0, "%s", "");
}

static void run_all(int backend, uint32_t rounds, uint64_t seed)
{
    seed = et_number("RONDO_TEST_SEED", seed);
    for (uint32_t i = 0; i < rounds; i++)
        run(backend, &em_modes[i % EM_ORDERED], 1 + i % 2, 1 + i / 3 % 2, seed + i);
}

Test(device_random, fake) { run_all(KIT_FAKE, (uint32_t)et_scaled(400, 32), 1); }
Test(device_random, opencl) { run_all(KIT_OPENCL, (uint32_t)et_scaled(48, 16), 1000001); }
