/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix sort from the lowest digit, digits that do not differ left out; insertion for few. */
#include "subgraph/sort.h"

#include <string.h>

/* Wide digits where there is much to sort: fewer rounds; narrow ones else: less to count. */
enum { FEW = 48, NARROW = 8, WIDE = 11, DIGITS = 1 << WIDE, MANY = 1 << 14 };

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

static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, int shift, int bits)
{
    size_t place[DIGITS], i, next = 0, n, digits = (size_t)1 << bits;
    memset(place, 0, digits * sizeof *place);
    for (i = 0; i < count; i++)
        place[from[i] >> shift & (digits - 1)]++;
    for (i = 0; i < digits; i++) {
        n = place[i];
        place[i] = next;
        next += n;
    }
    for (i = 0; i < count; i++)
        to[place[from[i] >> shift & (digits - 1)]++] = from[i];
}

void rd_sort(uint64_t *value, size_t count, uint64_t *scratch)
{
    uint64_t differ = 0, *from = value, *to = scratch, *swap;
    int shift, sorted = 1, bits = count < MANY ? NARROW : WIDE;
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
    for (shift = 0; shift < 64; shift += bits) {
        if (!(differ >> shift & ((1u << bits) - 1)))
            continue;
        sort_digit(from, to, count, shift, bits);
        swap = from;
        from = to;
        to = swap;
    }
    if (from != value)
        memcpy(value, from, count * sizeof *value);
}
