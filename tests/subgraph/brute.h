/* SPDX-License-Identifier: BSD-3-Clause */
/* What an access touches, element by element, straight from the words of rondo/subgraph.h. */
#ifndef TESTS_SUBGRAPH_BRUTE_H
#define TESTS_SUBGRAPH_BRUTE_H

#include <rondo/subgraph.h>

#include <stdint.h>

/* Whether coordinate x of a dimension lies in the region (0), only in its halo (1), or outside (2).
 */
static inline int brute_place(int64_t extent, int64_t first, int64_t count, int64_t halo,
                              unsigned flags, int64_t x)
{
    int64_t turn, turns = flags & RONDO_WRAP ? 2 : 0;
    if (x >= first && x < first + count)
        return 0;
    for (turn = -turns; turn <= turns; turn++) {
        int64_t at = x + turn * extent;
        if (at >= first - halo && at < first + count + halo)
            return 1;
    }
    return 2;
}

/* Whether element at[] of a slot with these extents (absent ones 1) belongs to the access. */
static inline int brute_touches(const int64_t extent[3], const rondo_access *a,
                                const rondo_region *chunk, const int64_t at[3])
{
    const rondo_region *r = a->flags & RONDO_CHUNK ? chunk : &a->region;
    int d, beside = 0;
    for (d = 0; d < 3; d++) {
        int64_t count = r->count[d] ? r->count[d] : extent[d] - r->first[d];
        int place = brute_place(extent[d], r->first[d], count, a->halo[d], a->flags, at[d]);
        if (place == 2)
            return 0;
        beside += place;
    }
    return !(a->flags & RONDO_STAR) || beside <= 1;
}

#endif
