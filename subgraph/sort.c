/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix sort from the lowest digit, digits that do not differ left out; insertion for few. */
#include "subgraph/sort.h"

#include <string.h>

enum { FEW = 48, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static void sort_few(uint64_t *value, size_t count)
{
    size_t i, k;
    for (i = 1; i < count; i++) {
        uint64_t v = value[i];
        for (k = i; k && value[k - 1] > v; k--)
            value[k] = value[k - 1];
        value[k] = v;
    }
}

static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, int shift)
{
    size_t place[DIGITS] = { 0 }, i, next = 0, n;
    for (i = 0; i < count; i++)
        place[from[i] >> shift & (DIGITS - 1)]++;
    for (i = 0; i < DIGITS; i++) {
        n = place[i];
        place[i] = next;
        next += n;
    }
    for (i = 0; i < count; i++)
        to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

void rd_sort(uint64_t *value, size_t count, uint64_t *scratch)
{
    uint64_t differ = 0, *from = value, *to = scratch, *swap;
    int shift, sorted = 1;
    size_t i;
    if (count <= FEW) {
        sort_few(value, count);
        return;
    }
    for (i = 1; i < count; i++) {
        differ |= value[i] ^ value[0];
        sorted &= value[i - 1] <= value[i];
    }
    if (sorted)
        return;
    for (shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!(differ >> shift & (DIGITS - 1)))
            continue;
        sort_digit(from, to, count, shift);
        swap = from;
        from = to;
        to = swap;
    }
    if (from != value)
        memcpy(value, from, count * sizeof *value);
}
