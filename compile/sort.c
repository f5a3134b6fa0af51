/* SPDX-License-Identifier: BSD-3-Clause */
/* Least significant digit first, 11 bits a pass: three passes at most, and none over a digit that
 * all keys share. */
#include "compile/sort.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

static uint32_t digit(uint32_t key, int pass) { return key >> (pass * DIGIT_BITS) & (DIGITS - 1); }

struct rd_keyed *rd_sort_keyed(struct rd_keyed *item, struct rd_keyed *spare, uint32_t count)
{
    uint32_t total[PASSES][DIGITS];
    memset(total, 0, sizeof total);
    for (uint32_t i = 0; i < count; i++)
        for (int pass = 0; pass < PASSES; pass++)
            total[pass][digit(item[i].key, pass)]++;
    for (int pass = 0; pass < PASSES && count; pass++) {
        struct rd_keyed *other = spare;
        uint32_t *at = total[pass], sum = 0;
        if (at[digit(item[0].key, pass)] == count)
            continue;
        for (int d = 0; d < DIGITS; d++) {
            uint32_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (uint32_t i = 0; i < count; i++)
            spare[at[digit(item[i].key, pass)]++] = item[i];
        spare = item;
        item = other;
    }
    return item;
}
