/* SPDX-License-Identifier: BSD-3-Clause */
/* Which features of the language a random program uses, what rules some out beside others, and the
 * traits of records: conditions, teams, detached, blocking and stopping tasks. */
#include "tests/engine/random_program.h"

#include <string.h>

const char *const rg_feature_names[RG_F_COUNT] = {
#define RG_FEATURE_TEXT(name, text) text,
    RG_FEATURES(RG_FEATURE_TEXT)
#undef RG_FEATURE_TEXT
};

#define BIT(name) (1ull << RG_F_##name)

/* Each row: where `with` is used, none of `without` is. */
static const struct {
    uint64_t with, without;
} excluded[] = {
    /* What commutes is ordered by a rule of Rondo's own, and shares are combined by its own nodes:
     * which nodes come after a failed one is then no question of the recording alone. */
    { BIT(FAILING), BIT(COMMUTE) | BIT(REDUCE) },
    /* Who never signals lets others wait for ever. */
    { BIT(STOP), BIT(COUNTER) | BIT(PARTNER) | BIT(LATE) },
    { BIT(FAILING), BIT(PARTNER) },
    { BIT(LATE), BIT(PARTNER) },
    { BIT(GROUP), BIT(PARTNER) | BIT(PROFILE) | BIT(STATIC) },
    { BIT(ENABLE), BIT(PARTNER) | BIT(UPDATE) }, /* an update switches all nodes on */
};

static uint64_t impossible(const struct rg_program *p)
{
    uint64_t never = BIT(DEVICE); /* rg_devices says so */
    /* A failure takes whole segments with it, other nodes than the recording says. Where bytes are
     * when a node runs does not depend on whether another was switched off. */
    if (p->devices)
        never |= BIT(FAILING) | BIT(ENABLE);
    switch (p->profile) {
    case RG_CONCURRENT: return BIT(STOP) | BIT(PARTNER) | BIT(TOKEN) | BIT(GROUP) | never;
    case RG_CHECKED: return BIT(COMMUTE) | BIT(TOKEN) | never;
    case RG_BY_HAND:
        return BIT(COMMUTE) | BIT(REDUCE) | BIT(TEMPORARY) | BIT(TOKEN) | BIT(ALLREDUCE) |
               BIT(FLAG) | never;
    case RG_INFERRED: break;
    }
    return never;
}

void rg_features_draw(struct rg_program *p, struct rg_rng *rng)
{
    static const uint8_t many[] = { 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 8 };
    for (uint32_t n = many[rg_below(rng, sizeof many)]; n > 0; n--)
        p->features |= 1ull << rg_below(rng, RG_F_DEVICE);
    if ((p->profile == RG_BY_HAND || p->profile == RG_CHECKED) && rg_chance(rng, 25))
        p->features |= BIT(FAILING);
    if (p->features & BIT(REPEATED))
        p->features |= BIT(NESTED);
    p->features &= ~impossible(p);
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (p->features & excluded[i].with)
            p->features &= ~excluded[i].without;
    p->fails = rg_has(p, RG_F_FAILING);
    p->late = rg_has(p, RG_F_LATE);
    if ((p->fails || p->late) && rg_chance(rng, 30))
        p->features |= BIT(CONTINUE);
    if (!p->fails && !p->late)
        p->features &= ~BIT(CONTINUE);
    p->on_failure = rg_has(p, RG_F_CONTINUE) ? RONDO_ON_FAILURE_CONTINUE : RONDO_ON_FAILURE_CANCEL;
    p->used = p->features & (BIT(FAILING) | BIT(CONTINUE) | BIT(STATIC) | BIT(CPUS) |
                             BIT(PRIORITY) | BIT(TRACED) | BIT(PROFILE));
    p->plain_edges = (p->features & (BIT(NESTED) | BIT(COUNTER) | BIT(PARTNER) | BIT(GROUP) |
                                     BIT(EVENT_PARAM))) != 0 ||
                     p->devices;
    p->sometimes = rg_has(p, RG_F_ENABLE);
    p->member_count = rg_has(p, RG_F_GROUP) ? 2 + rg_below(rng, 2) : 1;
    if (p->member_count > 1)
        rg_use(p, RG_F_GROUP);
}

/* ---- conditions */

static int32_t flag_slot(const struct rg_program *p, struct rg_rng *rng)
{
    uint32_t from = rg_below(rng, p->slot_count);
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[(from + i) % p->slot_count].flag)
            return (int32_t)((from + i) % p->slot_count);
    return -1;
}

static int32_t gate_param(struct rg_program *p, struct rg_rng *rng)
{
    uint32_t q, count = 0;
    for (q = 0; q < p->param_count; q++)
        count += (uint32_t)p->param[q].gate;
    if (count < 3 && p->param_count < RG_PARAMS && (!count || rg_chance(rng, 40))) {
        q = rg_add_param(p, rng, 1 + rg_below(rng, 8));
        p->param[q].gate = 1;
        return (int32_t)q;
    }
    for (q = 0; q < p->param_count; q++)
        if (p->param[q].gate && rg_chance(rng, 50))
            return (int32_t)q;
    return -1;
}

void rg_when_make(struct rg_program *p, struct rg_rng *rng, struct rg_when *when)
{
    static const uint8_t every[] = { 1, 2, 2, 2, 3, 3, 4, 4, 5, 7, 8, 70 };
    if (rg_has(p, RG_F_EVERY) && rg_chance(rng, 40)) {
        /* Beyond 64 phases a node orders others whether it runs or not: no matter, but to a
         * failure. */
        when->every = every[rg_below(rng, p->fails ? 4 : sizeof every)];
        when->phase = rg_below(rng, when->every);
        rg_use(p, RG_F_EVERY);
    }
    if (rg_has(p, RG_F_GATE) && rg_chance(rng, 40) && (when->param = gate_param(p, rng)) >= 0)
        rg_use(p, RG_F_GATE);
    if (rg_has(p, RG_F_FLAG) && rg_chance(rng, 40) && (when->flag = flag_slot(p, rng)) >= 0)
        rg_use(p, RG_F_FLAG);
    p->sometimes |= rg_conditional(when);
}

int rg_sometimes(const struct rg_program *p, const struct rg_record *r)
{
    return rg_conditional(&r->when) || (r->nest && rg_conditional(&p->nest[r->nest - 1].when)) ||
           rg_has(p, RG_F_ENABLE);
}

/* ---- flags of tasks */

/* Tasks that something outside ends: each makes lanes of its own. */
uint32_t rg_externals(const struct rg_program *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->record_count; i++)
        count += p->record[i].kind == RG_AWAIT ||
                 (p->record[i].flags & (RONDO_DETACHED | RONDO_MAY_BLOCK)) != 0;
    return count;
}

static uint32_t teams(const struct rg_program *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->record_count; i++)
        if (p->record[i].flags & (RONDO_SPMD | RONDO_HOSTED))
            count += p->record[i].node_count;
    return count;
}

static void make_external(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    if (rg_externals(p) > 3 || r->node_count > 2)
        return;
    if (rg_has(p, RG_F_DETACHED) && rg_chance(rng, 35)) {
        r->flags |= RONDO_DETACHED;
        rg_use(p, RG_F_DETACHED);
    } else if (rg_has(p, RG_F_BLOCKING) && rg_chance(rng, 35)) {
        r->flags |= RONDO_MAY_BLOCK;
        r->on = -1;
        rg_use(p, RG_F_BLOCKING);
    }
}

static void make_team(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    if (teams(p) + r->node_count > 5)
        return;
    if (rg_has(p, RG_F_SPMD) && rg_chance(rng, 35)) {
        r->flags |= RONDO_SPMD;
        rg_use(p, RG_F_SPMD);
    } else if (rg_has(p, RG_F_HOSTED) && rg_chance(rng, 35)) {
        r->flags |= RONDO_HOSTED;
        rg_use(p, RG_F_HOSTED);
    }
    if (r->flags & (RONDO_SPMD | RONDO_HOSTED))
        r->team = rg_below(rng, 4);
}

void rg_traits_make(struct rg_program *p, struct rg_rng *rng, struct rg_record *r)
{
    if (!r->must_run && r->kind != RG_CALL)
        rg_when_make(p, rng, &r->when);
    if (!rg_is_task(r))
        return;
    make_external(p, rng, r);
    if (!(r->flags & (RONDO_DETACHED | RONDO_MAY_BLOCK)))
        make_team(p, rng, r);
    if (rg_has(p, RG_F_STOP) && rg_chance(rng, 30)) {
        r->flags |= RONDO_MAY_STOP;
        r->stop_lag = rg_below(rng, 4);
        p->stops = 1;
        rg_use(p, RG_F_STOP);
    }
}
