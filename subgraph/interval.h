/* SPDX-License-Identifier: BSD-3-Clause */
/* An interval map of boxes: which cells a box covers.
 *
 * All boxes are known before the first look-up, so the map is built once and never changes: the
 * slowest dimension is cut at every box's border, each stretch between two cuts is cut in the next
 * dimension at the borders of the boxes that cross it, and so on; the stretches of the last
 * dimension are the cells. A box is exactly a set of cells. A dimension in which all boxes are the
 * same is left out, so bands of rows cost what bands of a line do. */
#ifndef RD_SUBGRAPH_INTERVAL_H
#define RD_SUBGRAPH_INTERVAL_H

#include "src/base/alloc.h"

/* A box as half-open intervals; dimension 0 varies fastest. */
struct rd_extent {
    uint64_t lo[3], hi[3];
};

/* The cuts of one dimension within one stretch of the slower ones. */
struct rd_axis {
    uint64_t *cut; /* ascending once closed; count - 1 stretches lie between them */
    size_t count, capacity;
    uint64_t child; /* stretch i: axis child + i of the next level, on the last level cell child + i
                     */
};

struct rd_map {
    uint32_t levels; /* 1 to 3; 0: no box was noted */
    uint32_t dim[3]; /* of each level */
    struct rd_axis *axis[3];
    size_t axes[3];
    struct rd_extent least, most; /* the least and greatest borders of all boxes */
};

/* Building: note every box's extent; open; for each level note every box again and close it. The
 * cells of the last level are numbered from *cells on, which goes on behind them. 0: no memory. */
void rd_map_note_extent(struct rd_map *map, const struct rd_extent *box);
int rd_map_open(struct rd_allocator *a, struct rd_map *map);
int rd_map_note(struct rd_allocator *a, struct rd_map *map, uint32_t level,
                const struct rd_extent *box);
int rd_map_close_level(struct rd_allocator *a, struct rd_map *map, uint32_t level, uint64_t *cells);
void rd_map_free(struct rd_allocator *a, struct rd_map *map);

/* Which stretches of an axis [lo, hi) covers; both are cuts of it. */
static inline void rd_axis_find(const struct rd_axis *x, uint64_t lo, uint64_t hi, size_t *first,
                                size_t *end)
{
    const uint64_t *base = x->cut;
    size_t n = x->count, half, at, step = 1;
    while (n > 1) { /* the last cut at or before lo, without branches */
        half = n / 2;
        base += base[half] <= lo ? half : 0;
        n -= half;
    }
    *first = at = (size_t)(base - x->cut);
    while (at + step < x->count && x->cut[at + step] < hi) { /* the end is near as a rule */
        at += step;
        step *= 2;
    }
    while (step /= 2)
        if (at + step < x->count && x->cut[at + step] < hi)
            at += step;
    *end = at + 1;
}

#endif
