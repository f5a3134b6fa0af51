/* SPDX-License-Identifier: BSD-3-Clause */
/* The dependence patterns of Task Bench, after its definitions: `spread` and `random_nearest` go
 * through three sets of dependences by turns, with a radix of 3; `random_nearest` takes a point's
 * neighbours with probability 1/4 by the same hash. Two cases that Task Bench refuses are the
 * nearest thing that is one: `spread` on fewer columns than its radix or period allow takes as many
 * as it can, and two neighbours that are one point count once. */
#include "bench/patterns.h"

#include <string.h>

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* ---- which points there are */

uint32_t pattern_first(const struct pattern *p, uint32_t step)
{
    uint32_t end = p->width + step;
    return p->kind == PATTERN_DOM && end > p->steps ? end - p->steps : 0;
}

uint32_t pattern_count(const struct pattern *p, uint32_t step)
{
    if (p->kind == PATTERN_DOM)
        return least(p->width, least(step + 1, p->steps - step));
    if (p->kind == PATTERN_TREE && step < 31)
        return least(p->width, 1u << step);
    return p->width;
}

/* ---- which set of dependences */

static uint32_t spread_radix(const struct pattern *p) { return least(PATTERN_RADIX, p->width); }

uint32_t pattern_sets(const struct pattern *p)
{
    uint32_t sets = 1;
    if (p->kind == PATTERN_FFT)
        for (sets = 0; 1u << sets < p->width;)
            sets++;
    else if (p->kind == PATTERN_SPREAD)
        sets = least(PATTERN_PERIOD, (p->width + spread_radix(p) - 1) / spread_radix(p));
    else if (p->kind == PATTERN_RANDOM_NEAREST)
        sets = PATTERN_PERIOD;
    return sets ? sets : 1;
}

uint32_t pattern_set(const struct pattern *p, uint32_t step)
{
    uint32_t sets = pattern_sets(p);
    return p->kind == PATTERN_FFT ? (step + sets - 1) % sets : step % sets;
}

/* ---- chance: the first word of MurmurHash3 x64 128 over five words */

static uint64_t turned(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static uint64_t stirred(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static uint64_t hash_five(const uint64_t word[5])
{
    const uint64_t c1 = 0x87c37b91114253d5u, c2 = 0x4cf5ad432745937fu;
    const uint32_t seed = 1234567;
    uint64_t a = seed, b = seed;
    for (int i = 0; i < 4; i += 2) {
        a ^= turned(word[i] * c1, 31) * c2;
        a = (turned(a, 27) + b) * 5 + 0x52dce729;
        b ^= turned(word[i + 1] * c2, 33) * c1;
        b = (turned(b, 31) + a) * 5 + 0x38495ab5;
    }
    a ^= turned(word[4] * c1, 31) * c2;
    a ^= 5 * sizeof *word;
    b ^= 5 * sizeof *word;
    a += b;
    b += a;
    return stirred(a) + stirred(b);
}

static int connected(uint32_t set, uint32_t from, uint32_t to)
{
    const uint64_t word[5] = { 0, PATTERN_RADIX, set, from, to };
    return from == to || hash_five(word) < (uint64_t)1 << 62;
}

/* ---- dependences */

struct columns {
    uint32_t *column, count;
    uint32_t first, end; /* of the points that exist */
};

static void add(struct columns *c, uint32_t point)
{
    if (point < c->first || point >= c->end)
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->column[i] == point)
            return;
    c->column[c->count++] = point;
}

static void add_range(struct columns *c, uint32_t first, uint32_t last)
{
    for (uint32_t point = first; point <= last; point++)
        add(c, point);
}

static void add_spread(struct columns *c, const struct pattern *p, uint32_t set, uint32_t point)
{
    uint32_t radix = spread_radix(p);
    for (uint32_t i = 0; i < radix; i++)
        add(c, (point + (uint32_t)((uint64_t)i * p->width / radix) + (i ? set : 0)) % p->width);
}

static void add_fft(struct columns *c, uint32_t set, uint32_t point)
{
    uint32_t span = 1u << set;
    if (point >= span)
        add(c, point - span);
    add(c, point);
    add(c, point + span);
}

uint32_t pattern_preds(const struct pattern *p, uint32_t step, uint32_t point, uint32_t *column)
{
    uint32_t before = step ? step - 1 : p->steps - 1, set = pattern_set(p, step);
    uint32_t first = pattern_first(p, before);
    struct columns c = { column, 0, first, first + pattern_count(p, before) };
    uint32_t left = point ? point - 1 : 0, right = least(point + 1, p->width - 1);
    switch (p->kind) {
    case PATTERN_TRIVIAL: break;
    case PATTERN_NO_COMM: add(&c, point); break;
    case PATTERN_DOM: add_range(&c, left, point); break;
    case PATTERN_TREE: add(&c, point / 2); break;
    case PATTERN_FFT: add_fft(&c, set, point); break;
    case PATTERN_ALL_TO_ALL: add_range(&c, 0, p->width - 1); break;
    case PATTERN_SPREAD: add_spread(&c, p, set, point); break;
    case PATTERN_RANDOM_NEAREST:
        for (uint32_t from = left; from <= right; from++)
            if (connected(set, from, point))
                add(&c, from);
        break;
    case PATTERN_STENCIL_1D_PERIODIC:
        add_range(&c, left, right);
        if (point == 0)
            add(&c, p->width - 1);
        if (point == p->width - 1)
            add(&c, 0);
        break;
    default: /* stencil_1d, and nearest, which is the same with a radix of 3 */
        add_range(&c, left, right);
        break;
    }
    return c.count;
}
