/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the nested recordings of a random program: which records they hold, which slots are mapped,
 * and the same recording once more over other slots of equal shape. */
#include "tests/engine/random_program.h"

#include <string.h>

int rg_nest_open(struct rg_program *p, struct rg_rng *rng)
{
    if (p->nest_count == RG_NESTS)
        return 0;
    struct rg_nest *n = &p->nest[p->nest_count];
    *n = (struct rg_nest){ .first = p->record_count, .twin = p->nest_count };
    n->member = p->members_made;
    n->when.param = n->when.flag = -1;
    if (rg_chance(rng, 60))
        rg_when_make(p, rng, &n->when);
    p->open = ++p->nest_count;
    return 1;
}

static void use(uint8_t *used, int32_t slot)
{
    if (slot >= 0)
        used[slot] = 1;
}

/* The slots that the nest's records name, and those that these are aliases of. */
static void slots_of(const struct rg_program *p, const struct rg_nest *n, uint8_t *used)
{
    memset(used, 0, RG_SLOTS);
    for (uint32_t i = n->first; i < n->end; i++) {
        for (uint32_t a = 0; a < p->record[i].access_count; a++)
            use(used, (int32_t)p->record[i].access[a].slot);
        use(used, p->record[i].when.flag);
    }
    for (uint32_t s = 0; s < p->slot_count; s++)
        if (used[s])
            used[p->slot[s].alias] = 1;
}

/* A slot with a buffer of its own may be left unmapped, and is another name of it then. */
static void leave_some(const struct rg_program *p, struct rg_rng *rng, struct rg_nest *n)
{
    for (uint32_t s = 0; s < p->slot_count; s++)
        if (n->map[s] == s && p->slot[s].kind <= RG_RINGED && rg_chance(rng, 50))
            n->map[s] = RG_UNMAPPED;
}

static int alike(const struct rg_program *p, uint32_t a, uint32_t b)
{
    const struct rg_slot *s = &p->slot[a], *t = &p->slot[b];
    return a != b && s->kind <= RG_RINGED && t->kind <= RG_RINGED && s->dims == t->dims &&
           s->type == t->type && s->flag == t->flag &&
           memcmp(&s->shape, &t->shape, sizeof s->shape) == 0;
}

/* Other slots of equal shape that meet nothing else the nest uses. */
static void map_others(const struct rg_program *p, struct rg_rng *rng, const uint8_t *used,
                       uint8_t *map)
{
    for (uint32_t s = 0; s < p->slot_count; s++) {
        uint32_t to = rg_below(rng, p->slot_count);
        int fits = used[s] && alike(p, s, to);
        for (uint32_t t = 0; t < p->slot_count && fits; t++)
            fits = t == s || !used[t] || !rg_slots_meet(p, to, map[t]);
        if (fits)
            map[s] = (uint8_t)to;
    }
}

static void repeat_record(struct rg_program *p, uint32_t of, const uint8_t *map)
{
    struct rg_record *r = &p->record[p->record_count];
    p->record[of].repeated = 1;
    *r = p->record[of];
    r->first_node = p->node_count;
    r->nest = p->nest_count;
    for (uint32_t a = 0; a < r->access_count; a++)
        r->access[a].slot = map[r->access[a].slot];
    if (r->when.flag >= 0)
        r->when.flag = map[r->when.flag];
    for (uint32_t i = 0; i < r->node_count; i++) {
        struct rg_node *n = &p->node[p->node_count++];
        *n = p->node[p->record[of].first_node + i];
        n->record = p->record_count;
    }
    p->record_count++;
}

/* What cannot run twice: tasks with lanes of their own would be too many, and a temporary's first
 * writer must run. */
static int repeats(const struct rg_program *p, const struct rg_nest *n)
{
    uint32_t nodes = 0;
    for (uint32_t i = n->first; i < n->end; i++) {
        const struct rg_record *r = &p->record[i];
        if (r->must_run || (r->flags & (RONDO_DETACHED | RONDO_MAY_BLOCK | RONDO_SPMD)))
            return 0;
        nodes += r->node_count;
    }
    return nodes + p->node_count + 2 * RG_COUNTERS < RG_NODES && p->nest_count < RG_NESTS;
}

static void repeat(struct rg_program *p, struct rg_rng *rng, const uint8_t *used)
{
    const struct rg_nest *of = &p->nest[p->open - 1];
    struct rg_nest *n = &p->nest[p->nest_count++];
    *n = (struct rg_nest){ .first = p->record_count, .twin = p->open - 1, .member = of->member };
    n->when.param = n->when.flag = -1;
    if (rg_chance(rng, 60))
        rg_when_make(p, rng, &n->when);
    for (uint32_t s = 0; s < p->slot_count; s++)
        n->map[s] = used[s] ? (uint8_t)s : RG_UNMAPPED;
    map_others(p, rng, used, n->map);
    for (uint32_t i = of->first; i < of->end; i++)
        repeat_record(p, i, n->map);
    n->end = p->record_count;
    leave_some(p, rng, n);
    rg_use(p, RG_F_REPEATED);
}

void rg_nest_close(struct rg_program *p, struct rg_rng *rng)
{
    struct rg_nest *n = &p->nest[p->open - 1];
    uint8_t used[RG_SLOTS];
    n->end = p->record_count;
    if (n->end == n->first) { /* nothing came of it */
        p->nest_count--;
        p->open = 0;
        return;
    }
    slots_of(p, n, used);
    for (uint32_t s = 0; s < p->slot_count; s++)
        n->map[s] = used[s] ? (uint8_t)s : RG_UNMAPPED;
    leave_some(p, rng, n);
    rg_use(p, RG_F_NESTED);
    if (rg_has(p, RG_F_REPEATED) && rg_chance(rng, 70) && repeats(p, n))
        repeat(p, rng, used);
    p->open = 0;
}
