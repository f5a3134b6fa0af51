/* SPDX-License-Identifier: BSD-3-Clause */
/* Who wrote and read each cell last.
 *
 * Cells in a row with one history form a run, whose first cell is its head and holds the state. The
 * heads are the bits of a tree of words, 64 to one above, so the head of a cell and the next head
 * are found at once. A write over several runs makes them one. No access reaches over two axes of
 * an interval map, so the first cell of an axis, a head from the beginning, stays one.
 *
 * The readers since the last write are a list, newest first. Runs that were one share its tail:
 * entries are counted.
 *
 * Where accesses commute, those since the last read or write are such a list too, of their classes;
 * what they follow is kept beside: the readers since the last write, or nothing. Readers that come
 * after commuting accesses follow those in turn. */
#ifndef RD_SUBGRAPH_CELLS_H
#define RD_SUBGRAPH_CELLS_H

#include "src/base/alloc.h"

enum { RD_BIT_LEVELS = 6 };
#define RD_CELL_CLASS (1ull << 63)

/* A time is a position in the walk over the recording; 0: never. */
struct rd_cell {
    uint64_t writer;
    uint32_t readers; /* index in reader; 0: none */
    uint32_t before;  /* what each of `readers` follows: another list; 0: the writer */
};

struct rd_reader {
    uint64_t time; /* with RD_CELL_CLASS: a class of commuting accesses */
    uint32_t next, refs;
};

struct rd_cells {
    uint64_t count;
    struct rd_cell *cell;
    uint64_t *bits[RD_BIT_LEVELS]; /* level 0: the heads; a bit above: the word below is not 0 */
    uint64_t words[RD_BIT_LEVELS];
    struct rd_reader *reader; /* entry 0 is not used */
    size_t readers, reader_capacity;
    uint32_t free_reader;
};

/* Cells without a history; the caller makes the first of each axis a head. 0: no memory. */
int rd_cells_init(struct rd_allocator *a, struct rd_cells *c, uint64_t count);
void rd_cells_head(struct rd_cells *c, uint64_t cell);
void rd_cells_free(struct rd_allocator *a, struct rd_cells *c);

struct rd_walk;
/* Read or write the cells [from, to) at the walk's time; it is told every earlier access that must
 * come before. 0: no memory. */
int rd_cells_read(struct rd_walk *w, uint64_t from, uint64_t to);
int rd_cells_write(struct rd_walk *w, uint64_t from, uint64_t to);
/* The same of a memory to which some accesses commute; commute: of class w->to. */
int rd_cells_mixed_read(struct rd_walk *w, uint64_t from, uint64_t to);
int rd_cells_mixed_write(struct rd_walk *w, uint64_t from, uint64_t to);
int rd_cells_commute(struct rd_walk *w, uint64_t from, uint64_t to);

#endif
