/* SPDX-License-Identifier: BSD-3-Clause */
/* Unions of boxes against a bitmap: random adds, subtractions and intersections of boxes and lists,
 * with the list disjoint and its elements those of the bitmap after each; and without memory, as it
 * was before. */
#include "src/base/boxes.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { X = 12, Y = 9, Z = 5, LISTS = 3 };

struct model {
    struct rd_boxes list;
    uint8_t in[Z][Y][X];
};

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

static rondo_region random_box(uint64_t *seed)
{
    static const int64_t extent[3] = { X, Y, Z };
    rondo_region r;
    for (int d = 0; d < 3; d++) {
        r.first[d] = below(seed, (uint32_t)extent[d]);
        r.count[d] = 1 + below(seed, (uint32_t)(extent[d] - r.first[d]));
        if (!below(seed, 3)) { /* the whole of a dimension: boxes that join */
            r.first[d] = 0;
            r.count[d] = extent[d];
        }
    }
    return r;
}

static int holds(const rondo_region *r, int x, int y, int z)
{
    const int at[3] = { x, y, z };
    for (int d = 0; d < 3; d++)
        if (at[d] < r->first[d] || at[d] >= r->first[d] + r->count[d])
            return 0;
    return 1;
}

#define EACH(x, y, z)               \
    for (int z = 0; z < Z; z++)     \
        for (int y = 0; y < Y; y++) \
            for (int x = 0; x < X; x++)

static void check(const struct model *m, const char *what, uint32_t step)
{
    uint64_t elements = 0;
    EACH(x, y, z)
    {
        int times = 0;
        for (uint32_t i = 0; i < m->list.count; i++)
            times += holds(&m->list.item[i], x, y, z);
        if (times != m->in[z][y][x])
            cr_assert_fail("%s, step %u: element %d,%d,%d is in %d boxes, should be in %d", what,
                           step, x, y, z, times, m->in[z][y][x]);
        elements += m->in[z][y][x];
    }
    cr_assert_eq(rd_boxes_elements(&m->list), elements, "%s, step %u", what, step);
}

static void check_questions(struct rd_allocator *a, const struct model *m, uint64_t *seed)
{
    rondo_region box = random_box(seed), hull;
    int all = 1, some = 0, yes = -1;
    int64_t low[3] = { X, Y, Z }, high[3] = { 0, 0, 0 };
    EACH(x, y, z)
    {
        const int64_t at[3] = { x, y, z };
        if (holds(&box, x, y, z)) {
            all &= m->in[z][y][x];
            some |= m->in[z][y][x];
        }
        for (int d = 0; d < 3 && m->in[z][y][x]; d++) {
            low[d] = at[d] < low[d] ? at[d] : low[d];
            high[d] = at[d] + 1 > high[d] ? at[d] + 1 : high[d];
        }
    }
    cr_assert_eq(rd_boxes_cover(a, &m->list, &box, &yes), 0);
    cr_assert_eq(yes, all);
    cr_assert_eq(rd_boxes_meet_box(&m->list, &box), some);
    if (!m->list.count)
        return;
    rd_boxes_hull(&m->list, &hull);
    for (int d = 0; d < 3; d++)
        cr_assert(hull.first[d] == low[d] && hull.count[d] == high[d] - low[d]);
}

/* One change of one list; returns what the library did. */
static int change(struct rd_allocator *a, struct model *m, struct model *other, uint32_t kind,
                  const rondo_region *box)
{
    switch (kind) {
    case 0: return rd_boxes_add(a, &m->list, box);
    case 1: return rd_boxes_subtract(a, &m->list, box);
    case 2: return rd_boxes_add_all(a, &m->list, &other->list);
    case 3: return rd_boxes_subtract_all(a, &m->list, &other->list);
    case 4: return rd_boxes_intersect(a, &m->list, &other->list);
    case 5: return rd_boxes_intersect_box(a, &m->list, box);
    default: return rd_boxes_copy(a, &m->list, &other->list);
    }
}

static void model_change(struct model *m, const struct model *other, uint32_t kind,
                         const rondo_region *box)
{
    EACH(x, y, z)
    {
        uint8_t *in = &m->in[z][y][x], theirs = other->in[z][y][x];
        uint8_t inside = (uint8_t)holds(box, x, y, z);
        *in = (uint8_t)(kind == 0   ? *in | inside
                        : kind == 1 ? *in & !inside
                        : kind == 2 ? *in | theirs
                        : kind == 3 ? *in & !theirs
                        : kind == 4 ? *in & theirs
                        : kind == 5 ? *in & inside
                                    : theirs);
    }
}

/* Adds and subtractions of boxes more often than the rest. */
static uint32_t random_kind(uint64_t *seed)
{
    static const uint32_t kinds[] = { 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6 };
    return kinds[below(seed, sizeof kinds / sizeof *kinds)];
}

Test(boxes, unions_are_those_of_a_bitmap)
{
    struct rd_allocator a;
    static struct model m[LISTS];
    rd_allocator_init(&a, NULL, NULL, NULL);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t state = seed;
        for (uint32_t step = 0; step < 150; step++) {
            struct model *to = &m[below(&state, LISTS)], *other = to;
            while (other == to)
                other = &m[below(&state, LISTS)];
            uint32_t kind = random_kind(&state);
            rondo_region box = random_box(&state);
            cr_assert_eq(change(&a, to, other, kind, &box), 0);
            model_change(to, other, kind, &box);
            check(to, "a change", step);
            check_questions(&a, to, &state);
        }
        for (int i = 0; i < LISTS; i++)
            rd_boxes_free(&a, &m[i].list);
        memset(m, 0, sizeof m);
        cr_assert_eq(rd_load_relaxed(&a.bytes), 0);
    }
}

/* ---- without memory */

struct budget {
    uint32_t left;
};

static void *spend(void *context, size_t bytes, size_t align)
{
    struct budget *b = context;
    void *block;
    if (!b->left)
        return NULL;
    b->left--;
    return posix_memalign(&block, align < sizeof block ? sizeof block : align, bytes) ? NULL
                                                                                      : block;
}
static void give_back(void *context, void *block)
{
    (void)context;
    free(block);
}

static struct model make(struct rd_allocator *a, uint64_t *seed)
{
    struct model m;
    memset(&m, 0, sizeof m);
    for (int i = 0; i < 6; i++) {
        rondo_region box = random_box(seed);
        model_change(&m, &m, 0, &box);
        cr_assert_eq(rd_boxes_add(a, &m.list, &box), 0);
    }
    return m;
}

Test(boxes, a_change_without_memory_changes_nothing)
{
    struct budget b = { UINT32_MAX };
    struct rd_allocator a;
    uint64_t seed = 3;
    uint32_t refused = 0;
    rd_allocator_init(&a, spend, give_back, &b);
    for (uint32_t round = 0; round < 60; round++) {
        static struct model m, other;
        rondo_region box;
        b.left = UINT32_MAX;
        m = make(&a, &seed);
        other = make(&a, &seed);
        box = random_box(&seed);
        for (uint32_t budget = 0;; budget++) {
            b.left = budget;
            if (!change(&a, &m, &other, round % 7, &box))
                break;
            refused++;
            check(&m, "without memory", round);
            check(&other, "without memory", round);
        }
        model_change(&m, &other, round % 7, &box);
        check(&m, "with memory at last", round);
        rd_boxes_free(&a, &m.list);
        rd_boxes_free(&a, &other.list);
        cr_assert_eq(rd_load_relaxed(&a.bytes), 0);
    }
    cr_expect_gt(refused, 60u);
}
