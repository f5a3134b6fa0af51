/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings over few buffers, their nodes on CPUs and devices at random, replayed in every
 * mode: the bytes are those of the plain loop, wherever they were meanwhile. Slots are fixed, rings
 * or bound; sometimes little fits into a device's memory. */
#include "tests/engine/engine_util.h"
#include "tests/engine/every_mode.h"
#include "tests/support/device_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 96, SLOTS = 4, BUFFERS = 2 * SLOTS, OPS_MAX = 24, REPLAYS = 6 };

struct op {
    int kind; /* a kit_op, or COPY, FILL */
    uint32_t u, v;
    uint64_t first, count, from, value;
    rondo_processor on;
    int has_param, on_address, conditional;
};
enum { COPY = KIT_OPS, FILL, KINDS };

/* Slot s has buffer s, or one of s and s + SLOTS. */
enum { FIXED, RING, BOUND, SLOT_KINDS };

struct program {
    struct op op[OPS_MAX];
    uint32_t ops, kind[SLOTS];
    uint64_t replays; /* so far: where its rings are */
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
    p->replays = 0;
    for (uint32_t s = 0; s < SLOTS; s++)
        p->kind[s] = below(seed, 2) ? FIXED : below(seed, SLOT_KINDS);
    for (uint32_t i = 0; i < p->ops; i++) {
        struct op *o = &p->op[i];
        *o = (struct op){ .kind = (int)below(seed, KINDS),
                          .u = below(seed, SLOTS),
                          .value = next_random(seed) };
        o->v = (o->u + 1 + below(seed, SLOTS - 1)) % SLOTS;
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

/* `at`: by slot, the buffer. */
static void run_plain(const struct program *p, uint64_t data[BUFFERS][ELEMENTS], const uint32_t *at,
                      uint64_t value, int condition)
{
    for (uint32_t i = 0; i < p->ops; i++) {
        const struct op *o = &p->op[i];
        uint64_t *u = data[at[o->u]], *v = data[at[o->v]];
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
    rondo_slot slot[SLOTS];
    rondo_param value, condition;
};

static void record_op(struct recorded *r, const struct op *o, uint32_t i)
{
    const rondo_slot *slot = r->slot;
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
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &r->g), RONDO_OK);
    r->value = rondo_subgraph_param(r->g, "value", sizeof(uint64_t), NULL);
    r->condition = rondo_subgraph_param(r->g, "condition", sizeof(int), NULL);
    for (uint32_t s = 0; s < SLOTS; s++) {
        const rondo_buffer ring[2] = { buffer[s], buffer[s + SLOTS] };
        rondo_slot_desc d = { .name = "u" };
        if (p->kind[s] == FIXED) {
            d.buffer = buffer[s];
        } else if (p->kind[s] == RING) {
            d.ring = ring;
            d.ring_count = 2;
        } else {
            d.shape = (rondo_shape){ .elem_bytes = sizeof(uint64_t), .extent = { ELEMENTS } };
        }
        r->slot[s] = rondo_subgraph_slot(r->g, &d);
        cr_assert(r->slot[s].id, "%s", rondo_error_message());
    }
    for (uint32_t i = 0; i < p->ops; i++)
        record_op(r, &p->op[i], i);
}

/* ---- both, side by side */

struct world {
    rondo_runtime rt;
    uint64_t data[BUFFERS][ELEMENTS];
    rondo_buffer buffer[BUFFERS];
    rondo_event last;
};

static void fill_world(struct world *w, uint64_t *seed, uint32_t devices, int on_devices)
{
    for (uint32_t b = 0; b < BUFFERS; b++) {
        rondo_memory memory =
            below(seed, 3) || !on_devices ? RONDO_HOST : RONDO_GPU_MEMORY(below(seed, devices));
        w->buffer[b] = kit_buffer(w->rt, "u", ELEMENTS, b, memory);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            w->data[b][i] = b;
    }
}

/* Where the slots are in the next replay; binds those that are bound. */
static uint32_t choose(const struct world *w, struct program *p, const struct recorded *r,
                       uint64_t *seed, uint32_t *at, rondo_binding *binding)
{
    uint32_t bound = 0;
    for (uint32_t s = 0; s < SLOTS; s++) {
        at[s] = s;
        if (p->kind[s] == RING)
            at[s] += (uint32_t)(p->replays % 2) * SLOTS;
        if (p->kind[s] == BOUND) {
            at[s] += below(seed, 2) * SLOTS;
            binding[bound++] = (rondo_binding){ .slot = r->slot[s], .buffer = w->buffer[at[s]] };
        }
    }
    p->replays++;
    return bound;
}

static void replay(struct world *w, struct program *p, const struct recorded *r, rondo_exec x,
                   uint64_t *seed, uint64_t *values, int *conditions)
{
    const rondo_event last = w->last; /* replays of two execs are ordered by events alone */
    for (uint32_t i = 0; i < REPLAYS; i++) {
        uint32_t at[SLOTS];
        rondo_binding binding[SLOTS];
        const uint32_t bound = choose(w, p, r, seed, at, binding);
        values[i] = next_random(seed);
        conditions[i] = (int)below(seed, 2);
        const rondo_value given[2] = { { .param = r->value, .value = &values[i] },
                                       { .param = r->condition, .value = &conditions[i] } };
        cr_assert_eq(rondo_replay(x,
                                  &(rondo_replay_args){ .values = given,
                                                        .bindings = binding,
                                                        .binding_count = bound,
                                                        .value_count = 2,
                                                        .after = &last,
                                                        .after_count = !i },
                                  &w->last),
                     RONDO_OK, "%s", rondo_error_message());
        run_plain(p, w->data, at, values[i], conditions[i]);
    }
    if (below(seed, 2)) { /* else what comes next follows by itself */
        rondo_result result;
        cr_assert_eq(rondo_exec_wait(x, &result), RONDO_OK, "%s: %s", result.node, result.message);
    }
}

/* The program looks at a buffer, or writes to it, or neither. */
static void look(struct world *w, rondo_exec x, uint64_t *seed, const char *what)
{
    const uint32_t b = below(seed, BUFFERS), how = below(seed, 3);
    void *host;
    if (!how)
        return;
    cr_assert_eq(rondo_exec_wait(x, NULL), RONDO_OK, "%s: %s", what, rondo_error_message());
    if (how == 1) {
        kit_expect(w->buffer[b], w->data[b], ELEMENTS, what);
        return;
    }
    cr_assert_eq(rondo_buffer_map(w->buffer[b], RONDO_READ | RONDO_WRITE, &host), RONDO_OK,
                 "%s: %s", what, rondo_error_message());
    ((uint64_t *)host)[7] = w->data[b][7] = next_random(seed);
    rondo_buffer_unmap(w->buffer[b]);
}

struct half {
    struct program p;
    struct recorded r;
    rondo_exec x; /* {0}: it does not fit into the devices' memory */
};

/* Two recordings over the same buffers take turns. */
static void take_turns(struct world *w, struct half *half, uint64_t *seed, const char *what)
{
    uint64_t values[REPLAYS];
    int conditions[REPLAYS];
    for (int turn = 0; turn < 6; turn++) {
        struct half *h = &half[below(seed, 2)];
        if (!h->x.id)
            continue;
        replay(w, &h->p, &h->r, h->x, seed, values, conditions);
        look(w, h->x, seed, what);
    }
    for (int i = 0; i < 2; i++)
        if (half[i].x.id)
            cr_assert_eq(rondo_exec_wait(half[i].x, NULL), RONDO_OK, "%s: %s", what,
                         rondo_error_message());
    for (uint32_t b = 0; b < BUFFERS; b++)
        kit_expect(w->buffer[b], w->data[b], ELEMENTS, what);
}

/* How many of two execs there were. */
static uint32_t run_in(struct world *w, const rondo_instantiate_options *options, uint32_t devices,
                       int limited, uint64_t seed, const char *what)
{
    struct half half[2];
    uint32_t made = 0;
    fill_world(w, &seed, devices, !limited);
    for (int i = 0; i < 2; i++) {
        struct half *h = &half[i];
        rondo_status status;
        draw(&h->p, &seed, devices);
        record(&h->r, w->rt, &h->p, w->buffer);
        status = rondo_instantiate(h->r.g, options, &h->x);
        if (status && limited)
            h->x.id = 0;
        else
            cr_assert_eq(status, RONDO_OK, "%s: %s", what, rondo_error_message());
        made += h->x.id != 0;
    }
    take_turns(w, half, &seed, what);
    for (int i = 0; i < 2; i++) {
        if (half[i].x.id)
            rondo_exec_destroy(half[i].x);
        rondo_subgraph_destroy(half[i].r.g);
    }
    for (uint32_t b = 0; b < BUFFERS; b++)
        rondo_buffer_destroy(w->buffer[b]);
    return made;
}

static uint32_t run(int backend, const struct em_mode *mode, uint32_t workers, uint32_t devices,
                    uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    rondo_instantiate_options options;
    uint64_t limit;
    uint32_t made = 2;
    const char *left;
    char what[96];
    snprintf(what, sizeof what, "%s, %s, %u devices, seed %llu", kit_names[backend], mode->name,
             devices, (unsigned long long)seed);
    seed = seed * 0x9e3779b97f4a7c15ull + 1;
    et_alarm(60, "hangs: %s\n", what);
    options = em_options(mode, 1 + below(&seed, 4));
    limit = below(&seed, 3) ? 0 : 2048 + 512 * below(&seed, 20);
    kit_submit_by(seed >> 20);
    w->rt = kit_open_limited(backend, workers, devices, limit);
    if (w->rt.id) {
        made = run_in(w, &options, devices, limit != 0, seed, what);
        left = et_close_clean(w->rt);
        cr_assert_null(left, "%s: %s", what, left);
    }
    free(w);
    et_alarm(0, "%s", "");
    return made;
}

static void run_all(int backend, uint32_t rounds, uint64_t seed)
{
    uint32_t made = 0;
    seed = et_number("RONDO_TEST_SEED", seed);
    for (uint32_t i = 0; i < rounds; i++)
        made += run(backend, &em_modes[i % EM_ORDERED], 1 + i % 2, 1 + i / 3 % 2, seed + i);
    cr_assert_gt(made, rounds, "of %u execs only %u fit", 2 * rounds, made);
}

Test(device_random, fake) { run_all(KIT_FAKE, (uint32_t)et_scaled(120, 32), 1); }
Test(device_random, opencl) { run_all(KIT_OPENCL, (uint32_t)et_scaled(16, 16), 1000001); }
