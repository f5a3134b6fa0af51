/* SPDX-License-Identifier: BSD-3-Clause */
/* The histories of cells: who must come before an access, and how the access changes them. */
#include "subgraph/cells.h"

#include "subgraph/walk.h"

#include <string.h>

int rd_cells_init(struct rd_allocator *a, struct rd_cells *c, uint64_t count)
{
    uint64_t words = count + 1; /* a head behind the last cell ends every search */
    int level;
    memset(c, 0, sizeof *c);
    c->count = count;
    c->readers = 1;
    c->cell = rd_zalloc_array(a, count, sizeof *c->cell);
    if (!c->cell || !rd_grow(a, (void **)&c->reader, &c->reader_capacity, 0, 1, sizeof *c->reader))
        return 0;
    for (level = 0; level < RD_BIT_LEVELS; level++) {
        words = (words + 63) / 64;
        c->words[level] = words;
        c->bits[level] = rd_zalloc_array(a, words, sizeof *c->bits[level]);
        if (!c->bits[level])
            return 0;
        if (words == 1)
            break;
    }
    rd_cells_head(c, count);
    return 1;
}

void rd_cells_free(struct rd_allocator *a, struct rd_cells *c)
{
    int level;
    for (level = 0; level < RD_BIT_LEVELS; level++)
        rd_free_array(a, c->bits[level], c->words[level], sizeof *c->bits[level]);
    rd_free_array(a, c->cell, c->count, sizeof *c->cell);
    rd_free_array(a, c->reader, c->reader_capacity, sizeof *c->reader);
    memset(c, 0, sizeof *c);
}

void rd_cells_head(struct rd_cells *c, uint64_t cell)
{
    int level;
    for (level = 0; level < RD_BIT_LEVELS && c->bits[level]; level++) {
        uint64_t *word = &c->bits[level][cell / 64], was = *word;
        *word |= 1ull << cell % 64;
        if (was)
            return;
        cell /= 64;
    }
}

static void clear_head(struct rd_cells *c, uint64_t cell)
{
    int level;
    for (level = 0; level < RD_BIT_LEVELS && c->bits[level]; level++) {
        if (c->bits[level][cell / 64] &= ~(1ull << cell % 64))
            return;
        cell /= 64;
    }
}

static int is_head(const struct rd_cells *c, uint64_t cell)
{
    return c->bits[0][cell / 64] >> cell % 64 & 1;
}

/* The first head at or behind a cell; there is one behind the last. */
static uint64_t head_from(const struct rd_cells *c, uint64_t cell)
{
    int level = 0;
    uint64_t word = c->bits[0][cell / 64] >> cell % 64;
    if (word)
        return cell + (uint64_t)__builtin_ctzll(word);
    do { /* up to a word with a later bit, then down along the lowest bits */
        cell = cell / 64 + 1;
        level++;
        word = cell / 64 < c->words[level] ? c->bits[level][cell / 64] >> cell % 64 : 0;
    } while (!word);
    cell += (uint64_t)__builtin_ctzll(word);
    while (level--)
        cell = cell * 64 + (uint64_t)__builtin_ctzll(c->bits[level][cell]);
    return cell;
}

/* The head of a cell's run. */
static uint64_t head_of(const struct rd_cells *c, uint64_t cell)
{
    int level = 0;
    uint64_t word = c->bits[0][cell / 64] << (63 - cell % 64);
    if (word)
        return cell - (uint64_t)__builtin_clzll(word);
    do {
        cell = cell / 64 - 1; /* there is a head before: the first cell of the axis */
        level++;
        word = c->bits[level][cell / 64] << (63 - cell % 64);
    } while (!word);
    cell -= (uint64_t)__builtin_clzll(word);
    while (level--)
        cell = cell * 64 + 63 - (uint64_t)__builtin_clzll(c->bits[level][cell]);
    return cell;
}

/* Makes a cell a head: its run becomes two, with one history. */
static void split(struct rd_cells *c, uint64_t cell)
{
    if (is_head(c, cell))
        return;
    c->cell[cell] = c->cell[head_of(c, cell)];
    if (c->cell[cell].readers)
        c->reader[c->cell[cell].readers].refs++;
    if (c->cell[cell].before)
        c->reader[c->cell[cell].before].refs++;
    rd_cells_head(c, cell);
}

/* Drops a reference to a list; entries that nobody else has are free again. */
static void drop_readers(struct rd_cells *c, uint32_t list)
{
    while (list && !--c->reader[list].refs) {
        uint32_t next = c->reader[list].next;
        c->reader[list].next = c->free_reader;
        c->free_reader = list;
        list = next;
    }
}

/* Puts a time in front of a cell's readers. */
static int add_reader(struct rd_walk *w, struct rd_cell *cell, uint64_t time)
{
    struct rd_cells *c = &w->cells;
    uint32_t entry = c->free_reader;
    if (cell->readers && c->reader[cell->readers].time == time)
        return 1;
    if (entry) {
        c->free_reader = c->reader[entry].next;
    } else {
        if (c->readers >= UINT32_MAX ||
            (c->readers >= c->reader_capacity &&
             !rd_grow(w->alloc, (void **)&c->reader, &c->reader_capacity, c->readers, 1,
                      sizeof *c->reader)))
            return 0;
        entry = (uint32_t)c->readers++;
    }
    c->reader[entry].time = time;
    c->reader[entry].refs = 1;
    c->reader[entry].next = cell->readers;
    cell->readers = entry;
    return 1;
}

int rd_cells_read(struct rd_walk *w, uint64_t from, uint64_t to)
{
    struct rd_cells *c = &w->cells;
    split(c, from);
    split(c, to);
    for (; from < to; from = head_from(c, from + 1)) {
        struct rd_cell *cell = &c->cell[from];
        rd_walk_conflict(w, cell->writer);
        if (!add_reader(w, cell, w->now))
            return 0;
    }
    return 1;
}

/* The readers since the last write come before; they came after the writer, which counts only if
 * there is none. What is below the floor is the end of a list. */
static void conflict_with_history(struct rd_walk *w, const struct rd_cell *cell)
{
    const struct rd_cells *c = &w->cells;
    uint32_t i;
    if (!cell->readers)
        rd_walk_conflict(w, cell->writer);
    for (i = cell->readers; i && c->reader[i].time >= w->floor; i = c->reader[i].next)
        rd_walk_conflict(w, c->reader[i].time);
}

int rd_cells_write(struct rd_walk *w, uint64_t from, uint64_t to)
{
    struct rd_cells *c = &w->cells;
    uint64_t head;
    split(c, from);
    split(c, to);
    for (head = from; head < to; head = head_from(c, head + 1)) {
        struct rd_cell *cell = &c->cell[head];
        conflict_with_history(w, cell);
        drop_readers(c, cell->readers);
        cell->readers = 0;
        if (head != from)
            clear_head(c, head);
    }
    c->cell[from].writer = w->now;
    return 1;
}

/* ---- where some accesses commute */

static int is_class(const struct rd_cells *c, uint32_t list)
{
    return list && c->reader[list].time & RD_CELL_CLASS;
}

/* All of a list come before, or the writer where it is empty. */
static void follow(struct rd_walk *w, const struct rd_cell *cell, uint32_t list)
{
    const struct rd_cells *c = &w->cells;
    uint32_t i;
    if (!list)
        rd_walk_conflict(w, cell->writer);
    for (i = list; i; i = c->reader[i].next) {
        uint64_t time = c->reader[i].time;
        if (time & RD_CELL_CLASS) {
            if (!rd_commute_follow(w, (uint32_t)time))
                break;
        } else {
            if (time < w->floor)
                break;
            rd_walk_conflict(w, time);
        }
    }
}

/* What comes now follows all accesses since the last write, each of another kind than it. */
static void begin_list(struct rd_walk *w, struct rd_cell *cell)
{
    follow(w, cell, cell->readers);
    drop_readers(&w->cells, cell->before);
    cell->before = cell->readers;
    cell->readers = 0;
}

int rd_cells_mixed_read(struct rd_walk *w, uint64_t from, uint64_t to)
{
    struct rd_cells *c = &w->cells;
    split(c, from);
    split(c, to);
    for (; from < to; from = head_from(c, from + 1)) {
        struct rd_cell *cell = &c->cell[from];
        if (is_class(c, cell->readers))
            begin_list(w, cell);
        else
            follow(w, cell, cell->before);
        if (!add_reader(w, cell, w->now))
            return 0;
    }
    return 1;
}

int rd_cells_mixed_write(struct rd_walk *w, uint64_t from, uint64_t to)
{
    struct rd_cells *c = &w->cells;
    uint64_t head;
    split(c, from);
    split(c, to);
    for (head = from; head < to; head = head_from(c, head + 1)) {
        struct rd_cell *cell = &c->cell[head];
        follow(w, cell, cell->readers);
        drop_readers(c, cell->readers);
        drop_readers(c, cell->before);
        cell->readers = cell->before = 0;
        if (head != from)
            clear_head(c, head);
    }
    c->cell[from].writer = w->now;
    return 1;
}

/* Meets the classes of a cell, those of the present copy; whether its own is among them already.
 * -1: no memory. */
static int meet_classes(struct rd_walk *w, const struct rd_cell *cell, uint32_t own)
{
    const struct rd_cells *c = &w->cells;
    uint32_t i;
    int among = 0;
    for (i = cell->readers; i; i = c->reader[i].next) {
        uint32_t k = (uint32_t)c->reader[i].time;
        if (k == own)
            among = 1;
        else if (!rd_commute_pair(w, k))
            return -1;
    }
    return among;
}

int rd_cells_commute(struct rd_walk *w, uint64_t from, uint64_t to)
{
    struct rd_cells *c = &w->cells;
    uint32_t own = w->to - (uint32_t)w->g->nodes.count;
    split(c, from);
    split(c, to);
    for (; from < to; from = head_from(c, from + 1)) {
        struct rd_cell *cell = &c->cell[from];
        int among = 0;
        if (is_class(c, cell->readers) &&
            rd_commute_now(w, (uint32_t)c->reader[cell->readers].time)) {
            follow(w, cell, cell->before);
            among = meet_classes(w, cell, own);
        } else {
            begin_list(w, cell);
        }
        if (among < 0 || (!among && !add_reader(w, cell, RD_CELL_CLASS | own)))
            return 0;
    }
    return 1;
}
