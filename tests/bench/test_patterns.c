/* SPDX-License-Identifier: BSD-3-Clause */
/* The dependence patterns of the benchmark against what Task Bench's definitions give by hand. */
#include "bench/patterns.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* All of a step: "point<pred,pred point<..." */
static const char *step_text(const struct pattern *p, uint32_t step)
{
    static char text[1024];
    uint32_t column[64], length = 0;
    uint32_t first = pattern_first(p, step), end = first + pattern_count(p, step);
    text[0] = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t preds = pattern_preds(p, step, i, column);
        length += (uint32_t)snprintf(text + length, sizeof text - length, "%s%u<",
                                     i > first ? " " : "", i);
        for (uint32_t k = 0; k < preds; k++)
            length += (uint32_t)snprintf(text + length, sizeof text - length, "%s%u", k ? "," : "",
                                         column[k]);
    }
    return text;
}

static const struct {
    struct pattern pattern;
    uint32_t step;
    const char *expected;
} cases[] = {
    { { PATTERN_TRIVIAL, 3, 5 }, 2, "0< 1< 2<" },
    { { PATTERN_NO_COMM, 3, 5 }, 2, "0<0 1<1 2<2" },
    { { PATTERN_STENCIL_1D, 4, 5 }, 2, "0<0,1 1<0,1,2 2<1,2,3 3<2,3" },
    { { GRAPH_STENCIL, 4, 5 }, 2, "0<0,1 1<0,1,2 2<1,2,3 3<2,3" },
    { { PATTERN_STENCIL_1D, 1, 5 }, 2, "0<0" },
    { { PATTERN_STENCIL_1D_PERIODIC, 4, 5 }, 2, "0<0,1,3 1<0,1,2 2<1,2,3 3<2,3,0" },
    { { PATTERN_STENCIL_1D_PERIODIC, 2, 5 }, 2, "0<0,1 1<0,1" },
    /* A front that sweeps over a square: one point at first and at last, and never more than fit.
     */
    { { PATTERN_DOM, 3, 7 }, 1, "0<0 1<0" },
    { { PATTERN_DOM, 3, 7 }, 3, "0<0 1<0,1 2<1,2" },
    { { PATTERN_DOM, 3, 7 }, 5, "1<0,1 2<1,2" },
    { { PATTERN_DOM, 3, 7 }, 6, "2<1,2" },
    { { PATTERN_DOM, 5, 3 }, 0, "2<" },
    { { PATTERN_DOM, 5, 3 }, 1, "3<2 4<" },
    /* The front doubles until it is as wide as can be. */
    { { PATTERN_TREE, 4, 5 }, 0, "0<0" },
    { { PATTERN_TREE, 4, 5 }, 1, "0<0 1<0" },
    { { PATTERN_TREE, 4, 5 }, 2, "0<0 1<0 2<1 3<1" },
    { { PATTERN_TREE, 4, 5 }, 4, "0<0 1<0 2<1 3<1" },
    { { PATTERN_TREE, 4, 40 }, 35, "0<0 1<0 2<1 3<1" },
    /* Distances of 1, 2, 4 by turns, from step 1 on; both sides. */
    { { PATTERN_FFT, 6, 9 }, 1, "0<0,1 1<0,1,2 2<1,2,3 3<2,3,4 4<3,4,5 5<4,5" },
    { { PATTERN_FFT, 6, 9 }, 2, "0<0,2 1<1,3 2<0,2,4 3<1,3,5 4<2,4 5<3,5" },
    { { PATTERN_FFT, 6, 9 }, 3, "0<0,4 1<1,5 2<2 3<3 4<0,4 5<1,5" },
    { { PATTERN_FFT, 6, 9 }, 4, "0<0,1 1<0,1,2 2<1,2,3 3<2,3,4 4<3,4,5 5<4,5" },
    { { PATTERN_ALL_TO_ALL, 3, 5 }, 2, "0<0,1,2 1<0,1,2 2<0,1,2" },
    { { PATTERN_NEAREST, 4, 5 }, 2, "0<0,1 1<0,1,2 2<1,2,3 3<2,3" },
    /* Itself, a third and two thirds of the width further on, the latter two moved on by the set.
     */
    { { PATTERN_SPREAD, 9, 9 },
      3,
      "0<0,3,6 1<1,4,7 2<2,5,8 3<3,6,0 4<4,7,1 5<5,8,2 6<6,0,3 7<7,1,4 "
      "8<8,2,5" },
    { { PATTERN_SPREAD, 9, 9 },
      4,
      "0<0,4,7 1<1,5,8 2<2,6,0 3<3,7,1 4<4,8,2 5<5,0,3 6<6,1,4 7<7,2,5 "
      "8<8,3,6" },
    { { PATTERN_SPREAD, 2, 9 }, 5, "0<0,1 1<1,0" },
};

Test(patterns, dependences)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = step_text(&cases[i].pattern, cases[i].step);
        cr_expect(strcmp(text, cases[i].expected) == 0, "case %zu: '%s', not '%s'", i, text,
                  cases[i].expected);
    }
}

/* The points of the step before the first one are the last step's. */
Test(patterns, replays_follow_each_other)
{
    struct pattern dom = { PATTERN_DOM, 3, 7 }, stencil = { PATTERN_STENCIL_1D, 3, 7 };
    cr_expect(strcmp(step_text(&dom, 0), "0<") == 0, "'%s'", step_text(&dom, 0));
    cr_expect(strcmp(step_text(&stencil, 0), "0<0,1 1<0,1,2 2<1,2") == 0, "'%s'",
              step_text(&stencil, 0));
}

/* Itself always, and a neighbour a quarter of the time; three sets by turns. */
Test(patterns, random_nearest)
{
    struct pattern p = { PATTERN_RANDOM_NEAREST, 2000, 9 };
    uint32_t column[8], neighbours = 0, changed = 0;
    cr_expect(pattern_sets(&p) == 3);
    for (uint32_t i = 0; i < p.width; i++) {
        uint32_t preds = pattern_preds(&p, 4, i, column), itself = 0, again[8];
        for (uint32_t k = 0; k < preds; k++) {
            itself += column[k] == i;
            cr_expect(column[k] + 1 >= i && column[k] <= i + 1, "point %u: %u", i, column[k]);
        }
        cr_expect(itself == 1, "point %u: itself %u times", i, itself);
        neighbours += preds - itself;
        cr_expect(pattern_preds(&p, 7, i, again) == preds && again[0] == column[0], "point %u", i);
        changed += pattern_preds(&p, 5, i, again) != preds;
    }
    cr_expect(neighbours > 900 && neighbours < 1100, "%u neighbours of 3998", neighbours);
    cr_expect(changed > 500, "set 2 is as set 1 but for %u points", changed);
    /* By Task Bench's hash: MurmurHash3 x64 128, seed 1234567, of {0, 3, set, from, to}. */
    struct pattern narrow = { PATTERN_RANDOM_NEAREST, 8, 9 };
    cr_expect(strcmp(step_text(&narrow, 3), "0<0 1<0,1 2<2 3<3 4<4 5<5 6<6 7<7") == 0, "'%s'",
              step_text(&narrow, 3));
    cr_expect(strcmp(step_text(&narrow, 5), "0<0 1<1,2 2<1,2 3<3,4 4<4 5<4,5,6 6<6,7 7<7") == 0,
              "'%s'", step_text(&narrow, 5));
}
