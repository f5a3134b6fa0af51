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
    if (q->gate) {
        memset(value, 0, q->bytes);
        value[rg_below(&rng, q->bytes)] = (unsigned char)(rg_below(&rng, 2) << rg_below(&rng, 8));
        return;
    }
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

static uint32_t extra(struct rg_program *p, struct rg_rng *rng, enum rg_feature feature,
                      uint32_t with)
{
    if (!rg_has(p, feature) || !rg_chance(rng, 40))
        return 0;
    rg_use(p, feature);
    return with;
}

static void make_extras(struct rg_program *p, struct rg_rng *rng, struct rg_step *s)
{
    s->with = extra(p, rng, RG_F_DONE, RG_WITH_DONE) | extra(p, rng, RG_F_TIMED, RG_WITH_TIMED) |
              extra(p, rng, RG_F_DEADLINE, RG_WITH_DEADLINE) |
              extra(p, rng, RG_F_NOT_BEFORE, RG_WITH_NOT_BEFORE) |
              extra(p, rng, RG_F_EVENT_AT, RG_WITH_AT);
    if (p->late && rg_chance(rng, 15)) {
        s->late = 1;
        rg_use(p, RG_F_LATE);
    }
}

static void make_replay(struct rg_program *p, struct rg_rng *rng, struct rg_step *s)
{
    make_extras(p, rng, s);
    if (p->profile != RG_CONCURRENT && rg_chance(rng, p->stops ? 60 : 30))
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

/* A parameter that holds plain bytes. */
static int plain_param(const struct rg_program *p, struct rg_rng *rng, uint32_t *param)
{
    uint32_t from = p->param_count ? rg_below(rng, p->param_count) : 0;
    for (uint32_t i = 0; i < p->param_count; i++)
        if (!p->param[(from + i) % p->param_count].event) {
            if (param)
                *param = (from + i) % p->param_count;
            return 1;
        }
    return 0;
}

/* The record that a step is about: a task of its own, not in a nest. */
static void make_record_step(struct rg_program *p, struct rg_rng *rng, struct rg_step *s)
{
    const uint32_t first = p->member[s->member].first_record;
    const uint32_t count = p->member[s->member].end_record - first, from = rg_below(rng, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct rg_record *r = &p->record[first + (from + i) % count];
        int fits = !r->nest && rg_is_task(r);
        if (s->kind == RG_UPDATE_TASK)
            fits = fits && r->kind != RG_FOR && r->device < 0;
        if (s->kind == RG_ENABLE)
            fits = fits && !r->must_run;
        if (!fits)
            continue;
        s->record = (uint32_t)(r - p->record);
        s->version = s->kind == RG_ENABLE ? rg_below(rng, 2) : 1 + rg_below(rng, 1000);
        rg_use(p, s->kind == RG_ENABLE        ? RG_F_ENABLE
                  : s->kind == RG_UPDATE_TASK ? RG_F_UPDATE_TASK
                                              : RG_F_EVENT_AT);
        return;
    }
    s->kind = RG_WAIT;
}

/* A step for a feature that the program has, now and then. */
static int featured(const struct rg_program *p, struct rg_rng *rng, enum rg_step_kind *kind)
{
    static const struct {
        enum rg_feature feature;
        enum rg_step_kind kind;
    } steps[] = { { RG_F_EVENT_AT, RG_EVENT_AT },
                  { RG_F_UPDATE, RG_UPDATE },
                  { RG_F_UPDATE_TASK, RG_UPDATE_TASK },
                  { RG_F_ENABLE, RG_ENABLE } };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (rg_has(p, steps[i].feature) && rg_chance(rng, 12)) {
            *kind = steps[i].kind;
            return 1;
        }
    return 0;
}

static enum rg_step_kind random_step(const struct rg_program *p, struct rg_rng *rng)
{
    enum rg_step_kind featured_kind;
    if (featured(p, rng, &featured_kind))
        return featured_kind;
    uint32_t kind = rg_below(rng, 100);
    if ((p->fails || p->late) && kind < 12)
        return RG_RESET;
    return kind < 18   ? RG_SET_MODE
           : kind < 24 ? RG_WAIT
           : kind < 31 ? RG_EVENT_WAIT
           : kind < 38 ? (plain_param(p, rng, NULL) ? RG_SET_PARAM : RG_REPLAY)
           : kind < 50 ? RG_REPLAY_AND_WAIT
                       : RG_REPLAY;
}

void rg_script_make(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t most = p->node_count < 60 && rg_chance(rng, 12) ? RG_STEPS - 2 : 3 + rg_below(rng, 12);
    while (p->step_count < most) {
        struct rg_step *s = &p->step[p->step_count++];
        *s = (struct rg_step){ .kind = random_step(p, rng), .count = 1, .salt = rg_next(rng) };
        s->member = rg_below(rng, p->member_count);
        if (s->kind == RG_RESET && rg_chance(rng, 70)) {
            s->kind = RG_WAIT; /* so that what the reset forgets is known */
            *++s = (struct rg_step){ .kind = RG_RESET };
            p->step_count++;
        }
        if (s->kind == RG_REPLAY || s->kind == RG_REPLAY_AND_WAIT)
            make_replay(p, rng, s);
        if (s->kind == RG_SET_PARAM)
            (void)plain_param(p, rng, &s->param);
        if (s->kind == RG_EVENT_AT || s->kind == RG_UPDATE_TASK || s->kind == RG_ENABLE)
            make_record_step(p, rng, s);
        if (s->kind == RG_UPDATE) {
            s->version = 1 + rg_below(rng, 1000);
            rg_use(p, RG_F_UPDATE);
        }
        if (s->kind == RG_SET_MODE)
            s->mode = rg_below(rng, 3);
    }
    p->step[p->step_count++] = (struct rg_step){ .kind = RG_WAIT };
}
