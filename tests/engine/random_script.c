/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a random program's script: replays one by one and several at once, with values and
 * bindings, waits, changes of parameters and modes, and resets. */
#include "tests/engine/random_program.h"

#include <string.h>

void rg_param_value(const struct rg_program *p, uint32_t param, uint64_t salt, uint64_t index,
                    unsigned char *value)
{
    const struct rg_param *q = &p->param[param];
    struct rg_rng rng = { rg_mix(salt ^ (uint64_t)param << 32) + index };
    if (q->counts < 0) {
        for (uint32_t b = 0; b < q->bytes; b++)
            value[b] = (unsigned char)rg_below(&rng, 256);
        return;
    }
    const struct rg_record *r = &p->record[q->counts];
    const struct rg_access *to = &r->access[r->kind == RG_FILL ? 0 : 1];
    for (uint32_t d = 0; d < q->bytes / 8; d++) {
        int64_t extent = p->slot[to->slot].shape.extent[d] - to->region.first[d];
        int64_t most = to->region.count[d] ? to->region.count[d] : extent;
        int64_t count = rg_below(&rng, (uint64_t)most + 1);
        memcpy(value + 8 * d, &count, sizeof count);
    }
}

uint32_t rg_binding(const struct rg_program *p, const struct rg_step *step, uint32_t slot,
                    uint64_t replay)
{
    return p->profile == RG_CONCURRENT ? (uint32_t)(replay % p->tracks) : step->bind[slot];
}

static void make_replay(const struct rg_program *p, struct rg_rng *rng, struct rg_step *s)
{
    if (p->profile != RG_CONCURRENT && rg_chance(rng, 30))
        s->count = 2 + rg_below(rng, rg_chance(rng, 20) ? 12 : 4);
    for (uint32_t q = 0; q < p->param_count; q++) {
        if (!p->param[q].has_initial || rg_chance(rng, 50))
            s->given |= 1u << q;
        if (rg_chance(rng, 60))
            s->strided |= 1u << q;
    }
    for (uint32_t i = 0; i < p->slot_count; i++)
        s->bind[i] = p->slot[i].alias == i ? (uint8_t)rg_below(rng, p->slot[i].count)
                                           : s->bind[p->slot[i].alias];
}

static enum rg_step_kind random_step(const struct rg_program *p, struct rg_rng *rng)
{
    uint32_t kind = rg_below(rng, 100);
    if (p->fails && kind < 12)
        return RG_RESET;
    return kind < 18   ? RG_SET_MODE
           : kind < 24 ? RG_WAIT
           : kind < 31 ? RG_EVENT_WAIT
           : kind < 38 ? (p->param_count ? RG_SET_PARAM : RG_REPLAY)
           : kind < 50 ? RG_REPLAY_AND_WAIT
                       : RG_REPLAY;
}

void rg_script_make(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t most = p->node_count < 60 && rg_chance(rng, 12) ? RG_STEPS - 2 : 3 + rg_below(rng, 12);
    while (p->step_count < most) {
        struct rg_step *s = &p->step[p->step_count++];
        *s = (struct rg_step){ .kind = random_step(p, rng), .count = 1, .salt = rg_next(rng) };
        if (s->kind == RG_RESET && rg_chance(rng, 70)) {
            s->kind = RG_WAIT; /* so that what the reset forgets is known */
            *++s = (struct rg_step){ .kind = RG_RESET };
            p->step_count++;
        }
        if (s->kind == RG_REPLAY || s->kind == RG_REPLAY_AND_WAIT)
            make_replay(p, rng, s);
        if (s->kind == RG_SET_PARAM)
            s->param = rg_below(rng, p->param_count);
        if (s->kind == RG_SET_MODE)
            s->mode = rg_below(rng, 3);
    }
    p->step[p->step_count++] = (struct rg_step){ .kind = RG_WAIT };
}
