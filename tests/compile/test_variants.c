/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans with variants: every replay keeps the order of its phase's edges whatever the phases before
 * it were, in any interleaving; and plan_check finds what is broken in one variant. */
#include "tests/compile/play.h"

#include <stdio.h>

struct subject {
    struct maker m;
    uint16_t bound[PLAY_NODES];
    struct rd_compile_input in;
    struct rd_plan *plan;
};

static struct subject *draw(uint64_t *seed, uint32_t nodes, uint32_t processors, uint32_t distance)
{
    struct subject *s = calloc(1, sizeof *s);
    uint32_t variants = 2 + below(seed, 5);
    make_random(&s->m, nodes, 1 + below(seed, 5), distance, (int)below(seed, 2), seed);
    make_variants(&s->m, variants + below(seed, 4), variants, seed);
    for (uint32_t v = 0; v < nodes; v++)
        s->bound[v] = (uint16_t)below(seed, processors);
    s->in = (struct rd_compile_input){ .graph = &s->m.g,
                                       .bound = below(seed, 4) ? s->bound : NULL,
                                       .processors = processors,
                                       .handover_ns = 20,
                                       .unknown_cost_ns = 500,
                                       .check = 1 };
    cr_assert_eq(rd_compile(rd_allocator_system(), &s->in, &s->plan), RONDO_OK, "%s",
                 rd_error_text());
    cr_assert(s->plan->variants == variants && s->plan->phases == s->m.g.phases);
    return s;
}

static void drop(struct subject *s)
{
    rd_plan_free(rd_allocator_system(), s->plan);
    maker_free(&s->m);
    free(s);
}

/* In the graph's order of phases, and in any other: after a reset or an exec of the same group
 * another phase may come than the next. */
static void play_all(struct subject *s, uint64_t *seed)
{
    for (uint32_t window = 1; window <= 4; window++) {
        struct play *x = calloc(1, sizeof *x);
        *x = (struct play){ .graph = &s->m.g,
                            .plan = s->plan,
                            .window = window,
                            .replays = 2 * s->plan->phases + s->plan->distance + 2,
                            .seed = next_random(seed) };
        play(x);
        free(x);
        for (uint32_t i = 0; i < s->plan->phases; i++)
            s->plan->variant_of_phase[i] = (uint16_t)below(seed, s->plan->variants);
    }
}

Test(variants, any_interleaving)
{
    uint64_t seed = 21, waits = 0, edges = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct subject *s = draw(&seed, 3 + below(&seed, 60), 2 + below(&seed, 6), i % 4);
        waits += s->plan->wait_count;
        edges += s->m.g.variant[0].first[s->m.g.nodes];
        play_all(s, &seed);
        drop(s);
    }
    for (uint32_t i = 0; i < 20; i++) { /* more lanes than clocks */
        struct subject *s = draw(&seed, 200, 90, i % 3);
        play_all(s, &seed);
        drop(s);
    }
    printf("variants: %llu waits of %llu edges\n", (unsigned long long)waits,
           (unsigned long long)edges);
}

/* The same plan as without variants when all are equal, but for what earlier replays imply. */
static void equal(uint32_t distance, uint64_t *seed)
{
    struct maker m = { 0 };
    struct rd_plan *plain, *varied;
    uint16_t phases[3] = { 0, 1, 0 };
    struct rd_variant variant[2];
    struct rd_compile_input in = {
        .graph = &m.g, .processors = 4, .handover_ns = 20, .unknown_cost_ns = 900, .check = 1
    };
    make_random(&m, 80, 4, distance, 0, seed);
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &plain), RONDO_OK);
    variant[0] = variant[1] = (struct rd_variant){ m.g.first, m.g.pred, 0 };
    m.g.phases = 3;
    m.g.variants = 2;
    m.g.variant_of_phase = phases;
    m.g.variant = variant;
    cr_assert_eq(rd_compile(rd_allocator_system(), &in, &varied), RONDO_OK);
    cr_assert_geq(varied->wait_count, plain->wait_count);
    cr_assert(distance || varied->wait_count == plain->wait_count);
    for (uint32_t o = 0; o < 80; o++) {
        const uint32_t *pred, *same;
        uint32_t count = rd_plan_preds_of(plain, 0, o, &pred);
        cr_assert_eq(rd_plan_preds_of(varied, 1, o, &same), count);
        cr_assert(!count || !memcmp(pred, same, count * sizeof *pred));
        cr_assert(distance || !memcmp(&varied->op[o], &plain->op[o], sizeof *plain->op));
        cr_assert(!memcmp(&varied->op[o], &varied->variant[0].op[o], sizeof *plain->op));
    }
    rd_plan_free(rd_allocator_system(), plain);
    rd_plan_free(rd_allocator_system(), varied);
    m.g.variants = 0;
    m.g.variant = NULL;
    m.g.variant_of_phase = NULL;
    maker_free(&m);
}

Test(variants, of_equals)
{
    uint64_t seed = 4;
    for (uint32_t i = 0; i < 60; i++)
        equal(i % 3, &seed);
}

/* ---- broken plans */

static struct rd_op *ops_of(struct subject *s, uint32_t variant)
{
    return variant ? s->plan->variant[variant - 1].op : s->plan->op;
}

static void publish(struct rd_plan *p, uint32_t peer, uint32_t wait)
{
    if (wait && wait < p->lane[peer].length)
        p->op[p->lane[peer].first + wait - 1].publish = wait;
}

/* What merely follows: publish flags in all variants, and variant 0's number of waits. */
static void repair(struct subject *s)
{
    struct rd_plan *p = s->plan;
    p->wait_count = p->further_waits;
    for (uint32_t o = 0; o < p->nodes; o++) {
        p->op[o].publish = 0;
        p->wait_count += p->op[o].wait != 0;
    }
    for (uint32_t i = 0; i < p->variants; i++) {
        const struct rd_wait *wait = i ? p->variant[i - 1].wait : p->wait;
        uint64_t count = i ? p->variant[i - 1].further_waits : p->further_waits;
        for (uint32_t o = 0; o < p->nodes; o++)
            publish(p, ops_of(s, i)[o].peer, ops_of(s, i)[o].wait);
        for (uint64_t k = 0; k < count; k++)
            publish(p, wait[k].peer, wait[k].wait);
    }
    for (uint32_t i = 1; i < p->variants; i++)
        for (uint32_t o = 0; o < p->nodes; o++)
            ops_of(s, i)[o].publish = p->op[o].publish;
}

static const char *checked(const struct subject *s)
{
    static char why[256];
    cr_assert_eq(rd_plan_check(rd_allocator_system(), &s->in, s->plan, why, sizeof why), RONDO_OK);
    return why;
}

#define MUTANT(s, lvalue, value, what)                     \
    do {                                                   \
        __typeof__(lvalue) kept = (lvalue);                \
        (lvalue) = (__typeof__(lvalue))(value);            \
        repair(s);                                         \
        cr_assert(checked(s)[0], "%s is not found", what); \
        mutants++;                                         \
        (lvalue) = kept;                                   \
        repair(s);                                         \
    } while (0)

static uint32_t mutate(struct subject *s, uint32_t variant)
{
    struct rd_plan *p = s->plan;
    struct rd_wait *wait = variant ? p->variant[variant - 1].wait : p->wait;
    uint64_t further = variant ? p->variant[variant - 1].further_waits : p->further_waits;
    uint32_t mutants = 0;
    for (uint32_t o = 0; o < p->nodes; o++) {
        struct rd_op *op = &ops_of(s, variant)[o];
        if (!op->wait)
            continue;
        if (!op->more)
            MUTANT(s, op->wait, 0, "a dropped wait");
        if (op->wait > 1)
            MUTANT(s, op->wait, op->wait - 1, "a weaker wait");
        if (op->dist < p->distance)
            MUTANT(s, op->dist, op->dist + 1, "a wait too far back");
        MUTANT(s, op->more, op->more + 1, "a further wait of another");
        op->publish ^= 1;
        cr_assert(checked(s)[0], "a publish flag");
        op->publish ^= 1;
    }
    for (uint64_t k = 0; k < further; k++)
        if (wait[k].wait > 1)
            MUTANT(s, wait[k].wait, wait[k].wait - 1, "a weaker further wait");
    for (uint32_t k = 0; k < p->own[variant].first[p->nodes]; k++, mutants++) {
        p->own[variant].pred[k] ^= 1;
        cr_assert(checked(s)[0], "a predecessor");
        p->own[variant].pred[k] ^= 1;
    }
    return mutants;
}

Test(variants, mutants)
{
    uint64_t seed = 8;
    uint32_t mutants = 0;
    for (uint32_t i = 0; i < 120; i++) {
        struct subject *s = draw(&seed, 4 + below(&seed, 24), 2 + below(&seed, 4), i % 3);
        for (uint32_t v = 0; v < s->plan->variants; v++)
            mutants += mutate(s, v);
        for (uint32_t l = 0; l < s->plan->lanes; l++) {
            s->plan->sinks--;
            s->plan->lane[l].sink = 0;
            /* Found if this lane's end is not implied in one of the variants. */
            mutants += checked(s)[0] != 0;
            s->plan->lane[l].sink = 1;
            s->plan->sinks++;
        }
        s->plan->variant_of_phase[0] ^= 1;
        cr_assert(checked(s)[0]);
        s->plan->variant_of_phase[0] ^= 1;
        cr_assert_str_eq(checked(s), "");
        drop(s);
    }
    printf("mutants of variants: %u found\n", mutants);
    cr_assert(mutants > 5000);
}
