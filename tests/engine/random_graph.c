/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's memories, buffers, slots and parameters, and the whole of it from one
 * seed. Wraps of one memory with other geometry, rings that share their buffers with fixed slots,
 * and slots bound per replay that may be aliases. */
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
    if (rg_chance(rng, 30)) {
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
    if (p->profile != RG_CONCURRENT && rg_chance(rng, 25)) {
        struct rg_slot *other = add_slot(p, RG_BOUND, &shape, dims);
        memcpy(other->buffer, s->buffer, sizeof s->buffer);
        other->count = s->count;
        other->alias = s->alias;
    }
}

static void make_params(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t params = rg_below(rng, 5);
    for (uint32_t i = 0; i < params; i++) {
        struct rg_param *q = &p->param[p->param_count++];
        q->bytes = 1 + rg_below(rng, RG_PARAM_BYTES);
        q->has_initial = rg_chance(rng, 70);
        q->counts = -1;
        for (uint32_t b = 0; b < q->bytes; b++)
            q->initial[b] = (unsigned char)rg_below(rng, 256);
    }
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
    uint32_t profile = rg_below(&rng, 100);
    p->profile = profile < 50   ? RG_INFERRED
                 : profile < 70 ? RG_BY_HAND
                 : profile < 85 ? RG_CHECKED
                                : RG_CONCURRENT;
    p->window = 1 + rg_below(&rng, 8);
    p->tracks = 1u << rg_below(&rng, 3);
    p->fails = (p->profile == RG_BY_HAND || p->profile == RG_CHECKED) && rg_chance(&rng, 35);
    p->on_failure =
        p->fails && rg_chance(&rng, 30) ? RONDO_ON_FAILURE_CONTINUE : RONDO_ON_FAILURE_CANCEL;
    p->record = calloc(RG_NODES, sizeof *p->record);
    p->node = calloc(RG_NODES, sizeof *p->node);
    p->order = calloc(RG_NODES, sizeof *p->order);
    if (!p->record || !p->node || !p->order)
        abort();
    make_places(p, &rng);
    make_params(p, &rng);
    uint32_t nodes = random_size(&rng);
    rg_records_make(p, &rng, p->profile == RG_CHECKED && nodes > 50 ? 50 : nodes);
    rg_script_make(p, &rng);
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
