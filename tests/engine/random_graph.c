/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's memories, buffers, slots and parameters, and the whole of it from one
 * seed. Wraps of one memory with other geometry, rings that share their buffers with fixed slots,
 * and slots bound per replay that may be aliases. */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add_memory(struct rg_program *p, size_t bytes)
{
    p->memory_bytes[p->memory_count] = bytes;
    return p->memory_count++;
}

static uint32_t add_buffer(struct rg_program *p, uint32_t memory, size_t offset, rondo_shape shape)
{
    p->buffer[p->buffer_count] = (struct rg_buffer){ memory, offset, shape };
    return p->buffer_count++;
}

/* The slot's own description is the recorded one: a complete shape is one too. */
static struct rg_slot *add_slot(struct rg_program *p, enum rg_slot_kind kind,
                                const rondo_shape *shape, int dims)
{
    struct rg_slot *s = &p->slot[p->slot_count];
    if (p->slot_count == RG_SLOTS)
        abort();
    *s = (struct rg_slot){ .kind = kind, .shape = *shape, .dims = dims, .count = 1, .stride = 1 };
    s->alias = p->slot_count++;
    return s;
}

/* A complete shape of at most `most` bytes. */
static rondo_shape random_shape(struct rg_rng *rng, size_t most, int *dims)
{
    static const size_t elements[] = { 1, 4, 8, 8, 12, 16 };
    for (;;) {
        rondo_shape s = { .elem_bytes = elements[rg_below(rng, 6)] };
        *dims = 1 + (int)rg_below(rng, 3);
        int64_t limit = *dims == 1 ? 160 : *dims == 2 ? 16 : 6;
        for (int d = 0; d < *dims; d++)
            s.extent[d] = 1 + rg_below(rng, (uint64_t)limit);
        s = rg_shape_complete(s);
        if (*dims > 1 && rg_chance(rng, 30)) {
            s.pitch_bytes[0] += rg_below(rng, 3) * s.elem_bytes;
            s.pitch_bytes[1] =
                s.pitch_bytes[0] * (size_t)(s.extent[1] + (*dims == 3 ? rg_below(rng, 2) : 0));
        }
        if (rg_shape_span(&s) <= most)
            return s;
    }
}

static void make_wraps(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t memories = 1 + rg_below(rng, 3);
    for (uint32_t i = 0; i < memories; i++) {
        size_t bytes = 64 + 64 * rg_below(rng, 24);
        uint32_t m = add_memory(p, bytes), wraps = 1 + rg_below(rng, 3);
        for (uint32_t w = 0; w < wraps; w++) {
            int dims;
            rondo_shape shape = random_shape(rng, bytes, &dims);
            size_t room = bytes - rg_shape_span(&shape);
            size_t offset = rg_below(rng, room + 1) / shape.elem_bytes * shape.elem_bytes;
            struct rg_slot *s = add_slot(p, RG_FIXED, &shape, dims);
            s->buffer[0] = add_buffer(p, m, offset, shape);
        }
    }
}

/* A set of like buffers, and one to three slots that go round it. */
static void make_ring(struct rg_program *p, struct rg_rng *rng)
{
    int dims, together = rg_chance(rng, 50);
    rondo_shape shape = random_shape(rng, 768, &dims);
    size_t span = (rg_shape_span(&shape) + 15) / 16 * 16;
    uint32_t count = rg_chance(rng, 5) ? 5 + 2 * rg_below(rng, 2) : 2 + rg_below(rng, 3);
    uint32_t buffer[RG_RING], memory = 0, slots = 1 + rg_below(rng, 3);
    int alone = p->fails && p->profile != RG_CHECKED; /* who may meet in a ring is Rondo's choice */
    slots = alone ? 1 : slots;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !together)
            memory = add_memory(p, together ? span * count : span);
        buffer[i] = add_buffer(p, memory, together ? span * i : 0, shape);
    }
    for (uint32_t i = 0; i < slots; i++) {
        struct rg_slot *s = add_slot(p, RG_RINGED, &shape, dims);
        memcpy(s->buffer, buffer, sizeof buffer);
        s->count = count;
        s->first = rg_below(rng, count);
        s->stride = rg_chance(rng, 70) ? 1 : 1 + rg_below(rng, count);
    }
    if (!alone && rg_chance(rng, 30)) {
        struct rg_slot *s = add_slot(p, RG_FIXED, &shape, dims);
        s->buffer[0] = buffer[rg_below(rng, count)];
    }
}

static void make_bound(struct rg_program *p, struct rg_rng *rng)
{
    int dims;
    rondo_shape shape = random_shape(rng, 512, &dims);
    struct rg_slot *s = add_slot(p, RG_BOUND, &shape, dims);
    s->count = p->profile == RG_CONCURRENT ? p->tracks : 2 + rg_below(rng, 3);
    for (uint32_t i = 0; i < s->count; i++)
        s->buffer[i] = add_buffer(p, add_memory(p, rg_shape_span(&shape)), 0, shape);
    int exact = !p->fails || p->profile == RG_CHECKED; /* aliases meet as wholes */
    if (p->profile != RG_CONCURRENT && exact && rg_chance(rng, 25)) {
        struct rg_slot *other = add_slot(p, RG_BOUND, &shape, dims);
        memcpy(other->buffer, s->buffer, sizeof s->buffer);
        other->count = s->count;
        other->alias = s->alias;
    }
}

/* Slots that hold small whole numbers of a type, whose sums are exact, or flags. */
static void make_typed(struct rg_program *p, struct rg_rng *rng, int flag)
{
    static const uint8_t bytes[] = { 0, 8, 4, 8, 4 };
    uint32_t type = flag ? RONDO_I32 : 1 + rg_below(rng, 4);
    int dims = flag ? 1 : 1 + (int)rg_below(rng, 2);
    rondo_shape shape = { .elem_bytes = bytes[type] };
    for (int d = 0; d < dims; d++)
        shape.extent[d] = 1 + rg_below(rng, flag ? 3 : dims == 1 ? 24 : 6);
    shape = rg_shape_complete(shape);
    enum rg_slot_kind kind = flag || rg_chance(rng, 60) ? RG_FIXED
                             : rg_chance(rng, 50)       ? RG_RINGED
                                                        : RG_BOUND;
    struct rg_slot *s = add_slot(p, kind, &shape, dims);
    s->type = type;
    s->flag = flag;
    s->count = kind == RG_FIXED                                  ? 1
               : kind == RG_BOUND && p->profile == RG_CONCURRENT ? p->tracks
                                                                 : 3;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t m = add_memory(p, rg_shape_span(&shape));
        p->memory_type[m] = (uint8_t)type;
        p->memory_flag[m] = (uint8_t)flag;
        s->buffer[i] = add_buffer(p, m, 0, shape);
    }
}

/* Memory of Rondo's own, or none: the oracle has it hidden. */
static void make_hidden(struct rg_program *p, struct rg_rng *rng, enum rg_slot_kind kind)
{
    int dims;
    rondo_shape shape = random_shape(rng, 384, &dims);
    if (kind == RG_TOKEN) {
        shape.elem_bytes = 1;
        shape.pitch_bytes[0] = shape.pitch_bytes[1] = 0;
        shape = rg_shape_complete(shape);
    }
    struct rg_slot *s = add_slot(p, kind, &shape, dims);
    uint32_t m = add_memory(p, rg_shape_span(&shape));
    p->memory_hidden[m] = 1;
    s->zeroed = kind == RG_TEMPORARY && rg_chance(rng, 40);
    s->buffer[0] = add_buffer(p, m, 0, shape);
    rg_use(p, kind == RG_TOKEN ? RG_F_TOKEN : RG_F_TEMPORARY);
}

static void make_featured(struct rg_program *p, struct rg_rng *rng)
{
    if (rg_has(p, RG_F_FLAG))
        for (uint32_t n = 1 + rg_below(rng, 2); n > 0; n--)
            make_typed(p, rng, 1);
    if (rg_has(p, RG_F_REDUCE) || rg_has(p, RG_F_ALLREDUCE))
        for (uint32_t n = 1 + rg_below(rng, 3); n > 0; n--)
            make_typed(p, rng, 0);
    if (rg_has(p, RG_F_TEMPORARY))
        for (uint32_t n = 1 + rg_below(rng, 2); n > 0; n--)
            make_hidden(p, rng, RG_TEMPORARY);
    if (rg_has(p, RG_F_TOKEN))
        for (uint32_t n = 1 + rg_below(rng, 2); n > 0; n--)
            make_hidden(p, rng, RG_TOKEN);
}

uint32_t rg_add_param(struct rg_program *p, struct rg_rng *rng, uint32_t bytes)
{
    struct rg_param *q = &p->param[p->param_count];
    q->bytes = bytes;
    q->has_initial = rg_chance(rng, 70);
    q->counts = -1;
    for (uint32_t b = 0; b < q->bytes; b++)
        q->initial[b] = (unsigned char)rg_below(rng, 256);
    return p->param_count++;
}

static void make_params(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t params = rg_below(rng, 5);
    for (uint32_t i = 0; i < params; i++)
        (void)rg_add_param(p, rng,
                           p->devices && rg_chance(rng, 60) ? (uint32_t)RG_PARAM_BYTES
                                                            : 1 + rg_below(rng, RG_PARAM_BYTES));
}

static uint32_t random_size(struct rg_rng *rng)
{
    uint32_t kind = rg_below(rng, 100);
    return kind < 60   ? 1 + rg_below(rng, 12)
           : kind < 85 ? 13 + rg_below(rng, 28)
           : kind < 97 ? 41 + rg_below(rng, 80)
                       : 121 + rg_below(rng, RG_NODES - 120);
}

static void make_places(struct rg_program *p, struct rg_rng *rng)
{
    if (p->profile == RG_BY_HAND)
        return;
    make_wraps(p, rng);
    for (uint32_t rings = rg_below(rng, 3); rings > 0; rings--)
        make_ring(p, rng);
    make_featured(p, rng);
    if (p->profile == RG_CONCURRENT || rg_chance(rng, 25))
        for (uint32_t bound = 1 + rg_below(rng, 2); bound > 0; bound--)
            make_bound(p, rng);
}

struct rg_program *rg_program_new(uint64_t seed)
{
    struct rg_program *p = calloc(1, sizeof *p);
    struct rg_rng rng = { rg_mix(seed + 0x1234567) };
    if (!p)
        abort();
    p->seed = seed;
    p->devices = rg_devices;
    uint32_t profile = rg_below(&rng, 100);
    p->profile = profile < 50   ? RG_INFERRED
                 : profile < 70 ? RG_BY_HAND
                 : profile < 85 ? RG_CHECKED
                                : RG_CONCURRENT;
    p->window = 1 + rg_below(&rng, 8);
    p->tracks = 1u << rg_below(&rng, 3);
    rg_features_draw(p, &rng);
    p->record = calloc(RG_NODES, sizeof *p->record);
    p->node = calloc(RG_NODES, sizeof *p->node);
    p->order = calloc(RG_NODES, sizeof *p->order);
    if (!p->record || !p->node || !p->order)
        abort();
    make_places(p, &rng);
    make_params(p, &rng);
    uint32_t nodes = random_size(&rng);
    if (p->devices && nodes > 40)
        nodes = 40; /* each takes a driver's while */
    if (p->fails && nodes > 60)
        nodes = 60; /* the oracle looks at each byte */
    rg_records_make(p, &rng, p->profile == RG_CHECKED && nodes > 50 ? 50 : nodes);
    rg_script_make(p, &rng);
    if (p->devices)
        rg_device_finish(p, &rng);
    return p;
}

void rg_program_free(struct rg_program *p)
{
    if (!p)
        return;
    free(p->record);
    free(p->node);
    free(p->box);
    free(p->edge);
    free(p->pred);
    free(p->order);
    free(p);
}
