/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the devices' part of a random program: which records go to a device, where memories are,
 * what has to be home after every replay, and what happens to buffers between replays. */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdlib.h>
#include <string.h>

int rg_devices;

static uint32_t boxes_of(const struct rg_program *p, const struct rg_record *r)
{
    uint32_t boxes = 0;
    for (uint32_t a = 0; a < r->access_count; a++)
        boxes += p->node[r->first_node].boxes[a].count;
    return boxes;
}

/* Writes the same bytes through two slots: in a device's memory these may be two places, and which
 * of them is the later one nobody says. */
static int writes_twice(const struct rg_program *p, const struct rg_record *r)
{
    for (uint32_t a = 0; a < r->access_count; a++)
        for (uint32_t b = 0; b < a; b++)
            if (r->access[a].mode & r->access[b].mode & RONDO_WRITE &&
                r->access[a].slot != r->access[b].slot &&
                rg_slots_meet(p, r->access[a].slot, r->access[b].slot))
                return 1;
    return 0;
}

static void make_kernel(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    r->flags = r->team = r->stop_lag = r->patch_count = r->fail_every = r->spin = 0;
    r->has_context = 0;
    r->by_address = rg_chance(rng, 50);
    for (uint32_t i = 0; i < r->param_count; i++)
        r->by_address |= p->param[r->param[i]].bytes != RG_PARAM_BYTES;
    if (r->access_count == 0)
        r->param_count = 0; /* it has nowhere to write to */
    rg_use(p, RG_F_DEVICE);
}

void rg_device_make(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    static const uint8_t percent[] = {
        [RG_TASK] = 55, [RG_NOTHING] = 25, [RG_COPY] = 45, [RG_FILL] = 45
    };
    if (r->kind >= sizeof percent || !percent[r->kind] || !rg_chance(rng, percent[r->kind]) ||
        boxes_of(p, r) > RG_KERNEL_BOXES || writes_twice(p, r))
        return;
    r->device = (int32_t)rg_below(rng, 2);
    r->on = -1;
    if (rg_is_task(r))
        make_kernel(p, rng, r);
}

/* ---- where memories are */

static uint32_t buffers_in(const struct rg_program *p, uint32_t memory, uint32_t *buffer)
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < p->buffer_count; b++)
        if (p->buffer[b].memory == memory) {
            *buffer = b;
            count++;
        }
    return count;
}

/* Whether nodes that touch everything go past the buffers. */
static int has_ranges(const struct rg_program *p, uint32_t memory)
{
    for (uint32_t i = 0; i < p->record_count; i++)
        for (uint32_t k = 0; k < p->record[i].range_count; k++)
            if (p->record[i].range[k].memory == memory)
                return 1;
    return 0;
}

static void place_memories(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t buffer;
    int again = p->member_count > 1 || rg_has(p, RG_F_UPDATE); /* buffers are made more than once */
    for (uint32_t m = 0; m < p->memory_count; m++)
        if (!again && !p->memory_hidden[m] && rg_chance(rng, 50) &&
            buffers_in(p, m, &buffer) == 1 && !has_ranges(p, m))
            p->memory_kind[m] = (uint8_t)(RG_OWNED + rg_below(rng, 4));
}

/* ---- chores */

/* One of plain bytes, or the number of buffers. */
static uint32_t plain_buffer(const struct rg_program *p, struct rg_rng *rng)
{
    uint32_t from = p->buffer_count ? rg_below(rng, p->buffer_count) : 0;
    for (uint32_t i = 0; i < p->buffer_count; i++) {
        uint32_t b = (from + i) % p->buffer_count, m = p->buffer[b].memory;
        if (!p->memory_hidden[m] && !p->memory_type[m])
            return b;
    }
    return p->buffer_count;
}

static void make_chores(struct rg_program *p, struct rg_rng *rng)
{
    for (uint32_t s = 0; s + 1 < p->step_count; s++) {
        struct rg_step *step = &p->step[s];
        if (!rg_chance(rng, 35))
            continue;
        step->chore_buffer = plain_buffer(p, rng);
        step->chore_salt = rg_next(rng);
        if (step->chore_buffer < p->buffer_count)
            step->chore = (enum rg_chore)(1 + rg_below(rng, RG_CHORES - 1));
    }
    p->step[p->step_count - 1].chore = RG_LOOK;
}

void rg_device_finish(struct rg_program *p, struct rg_rng *rng)
{
    place_memories(p, rng);
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[i].kind == RG_FIXED || p->slot[i].kind == RG_RINGED)
            p->slot[i].home = rg_chance(rng, 12);
    make_chores(p, rng);
}

/* ---- the oracle's side */

void rg_device_poke(const struct rg_program *p, uint32_t buffer, unsigned char *base, uint64_t salt)
{
    const rondo_shape *s = &p->buffer[buffer].shape;
    for (int64_t z = 0; z < s->extent[2]; z++)
        for (int64_t y = 0; y < s->extent[1]; y++)
            salt = rg_write_bytes(
                salt + buffer, base + (size_t)z * s->pitch_bytes[1] + (size_t)y * s->pitch_bytes[0],
                (size_t)s->extent[0] * s->elem_bytes);
}

uint64_t rg_device_home(const struct rg_run *run)
{
    const struct rg_program *p = run->program;
    uint64_t h = 1;
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const struct rg_buffer *b = &p->buffer[p->slot[i].buffer[0]];
        const rondo_shape *s = &p->slot[i].shape;
        if (!p->slot[i].home || p->slot[i].kind != RG_FIXED || p->memory_kind[b->memory])
            continue;
        for (int64_t z = 0; z < s->extent[2]; z++)
            for (int64_t y = 0; y < s->extent[1]; y++)
                h = rg_hash_bytes(h,
                                  run->memory[b->memory] + b->offset +
                                      (size_t)z * s->pitch_bytes[1] + (size_t)y * s->pitch_bytes[0],
                                  (size_t)s->extent[0] * s->elem_bytes);
    }
    return h;
}

static unsigned char *copy_all(const struct rg_run *run)
{
    const struct rg_program *p = run->program;
    size_t at = 0;
    unsigned char *all;
    for (uint32_t m = 0; m < p->memory_count; m++)
        at += p->memory_bytes[m];
    all = malloc(at + 1);
    if (!all)
        abort();
    at = 0;
    for (uint32_t m = 0; m < p->memory_count; at += p->memory_bytes[m++])
        memcpy(all + at, run->memory[m], p->memory_bytes[m]);
    return all;
}

void rg_device_oracle(struct rg_run *run, const struct rg_step *step, unsigned char **seen,
                      uint64_t *home)
{
    const struct rg_program *p = run->program;
    if (step->chore == RG_LOOK) {
        *seen = copy_all(run);
        *home = rg_device_home(run);
    } else if (step->chore == RG_POKE || step->chore == RG_TOUCH || step->chore == RG_VISIT ||
               step->chore == RG_VISIT_DEVICE) {
        const struct rg_buffer *b = &p->buffer[step->chore_buffer];
        rg_device_poke(p, step->chore_buffer, run->memory[b->memory] + b->offset, step->chore_salt);
    }
}

void rg_device_compare(struct rg_run *run, uint32_t step, const unsigned char *seen)
{
    const struct rg_program *p = run->program;
    for (uint32_t m = 0; m < p->memory_count; seen += p->memory_bytes[m++])
        for (size_t b = 0; b < p->memory_bytes[m] && !p->memory_hidden[m]; b++)
            if (run->memory[m][b] != seen[b]) {
                rg_run_wrong(run,
                             "after step %u memory %u differs from byte %zu on: %02x, not %02x",
                             step, m, b, run->memory[m][b], seen[b]);
                return;
            }
}
