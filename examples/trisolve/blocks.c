/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of L waits for the rows in whose columns it has entries: many of them, and nearly all for
 * nothing. For with an entry (i, j) row i is an ancestor of row j in the elimination tree, whose
 * parent of j is the first row below j with an entry in column j; and it has an entry in the column
 * of that parent too. So it waits for the parent, and the parent for j: to wait for one's children
 * in the tree is to wait for all one needs. Of millions of dependences as many edges are left as
 * there are rows, and fewer between blocks.
 *
 * In postorder a subtree is a run of rows. A subtree with few enough entries becomes one block, and
 * so do several of them in a row; above these, the rows of a path on which each has one child do.
 */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

/* What cutting looks at: per row. */
struct shape {
    int32_t *begin;   /* the first row of its subtree */
    int64_t *entries; /* of L in the rows of its subtree */
    int32_t *children;
};

static int64_t entries_of(const struct factor *f, int32_t row)
{
    return f->lower.first[row + 1] - f->lower.first[row];
}

static int shape_make(struct shape *s, const struct factor *f)
{
    const size_t rows = (size_t)f->rows;
    s->begin = malloc(rows * sizeof *s->begin);
    s->entries = malloc(rows * sizeof *s->entries);
    s->children = calloc(rows, sizeof *s->children);
    if (!s->begin || !s->entries || !s->children)
        return -1;
    for (int32_t i = 0; i < f->rows; i++) {
        s->begin[i] = i;
        s->entries[i] = entries_of(f, i);
    }
    for (int32_t i = 0; i < f->rows; i++) { /* children come before their parents */
        const int32_t up = f->parent[i];
        if (up < 0)
            continue;
        s->children[up]++;
        s->entries[up] += s->entries[i];
        if (s->begin[i] < s->begin[up])
            s->begin[up] = s->begin[i];
    }
    return 0;
}

static void shape_free(struct shape *s)
{
    free(s->begin);
    free(s->entries);
    free(s->children);
}

/* The last row of the largest subtree that begins with row i and is small enough; -1: none. */
static int32_t small_subtree(const struct factor *f, const struct shape *s, int32_t i,
                             int64_t grain)
{
    int32_t root = -1;
    for (int32_t k = i; k >= 0 && s->begin[k] == i && s->entries[k] <= grain; k = f->parent[k])
        root = k;
    return root;
}

static void cut(struct blocks *b, const struct factor *f, const struct shape *s, int64_t grain)
{
    int64_t filled = grain + 1; /* entries in the present block; too many: the next begins one */
    int of_subtrees = 0;
    b->count = 0;
    for (int32_t i = 0, past; i < f->rows; i = past) {
        const int32_t root = small_subtree(f, s, i, grain);
        const int64_t more = root >= 0 ? s->entries[root] : entries_of(f, i);
        const int same = root >= 0 ? of_subtrees : !of_subtrees && s->children[i] == 1;
        past = root >= 0 ? root + 1 : i + 1;
        if (!same || filled + more > grain) {
            b->block[b->count++] = (struct block){ .first = i };
            filled = 0;
        }
        of_subtrees = root >= 0;
        filled += more;
        for (int32_t k = i; k < past; k++)
            b->owner[k] = b->count - 1;
        b->block[b->count - 1].count = past - b->block[b->count - 1].first;
    }
}

/* ---- edges. `seen`: per block, the last one that it was noted for. */

/* The parents of each block: those of its rows that are in other blocks. */
static void find_parents(struct blocks *b, const struct factor *f, int32_t *seen)
{
    b->edges = 0;
    memset(seen, -1, (size_t)b->count * sizeof *seen);
    for (int32_t v = 0; v < b->count; v++) {
        b->block[v].parent = b->edges;
        for (int32_t i = b->block[v].first; i < b->block[v].first + b->block[v].count; i++) {
            const int32_t up = f->parent[i] < 0 ? v : b->owner[f->parent[i]];
            if (up != v && seen[up] != v) {
                seen[up] = v;
                b->parent[b->edges++] = up;
            }
        }
    }
    b->block[b->count].parent = b->edges;
}

/* The same edges by the block that waits, and the levels. */
static void find_children(struct blocks *b, int32_t *next)
{
    struct block *block = b->block;
    memset(next, 0, (size_t)b->count * sizeof *next);
    for (int32_t e = 0; e < b->edges; e++)
        next[b->parent[e]]++;
    for (int32_t v = 0, at = 0; v <= b->count; v++) {
        block[v].child = at;
        if (v < b->count) {
            at += next[v];
            next[v] = block[v].child;
        }
    }
    for (int32_t v = 0; v < b->count; v++)
        for (int32_t e = block[v].parent; e < block[v + 1].parent; e++) {
            struct block *up = &block[b->parent[e]];
            b->child[next[b->parent[e]]++] = v;
            if (up->level <= block[v].level)
                up->level = block[v].level + 1;
        }
}

static int64_t count_dependences(const struct blocks *b, const struct factor *f, int32_t *seen)
{
    const struct triangle *t = &f->lower;
    int64_t count = 0;
    memset(seen, -1, (size_t)b->count * sizeof *seen);
    for (int32_t v = 0; v < b->count; v++) {
        const struct block *rows = &b->block[v];
        for (int32_t k = t->first[rows->first]; k < t->first[rows->first + rows->count]; k++) {
            const int32_t from = b->owner[t->column[k]];
            count += from != v && seen[from] != v;
            seen[from] = v;
        }
    }
    return count;
}

static void sort_by_level(struct blocks *b)
{
    int32_t at = 0;
    for (int32_t v = 0; v < b->count; v++)
        b->of_level[b->block[v].level + 1]++;
    for (int32_t l = 0; l < b->levels; l++) {
        at += b->of_level[l + 1];
        b->of_level[l + 1] = at;
    }
    for (int32_t v = b->count - 1; v >= 0; v--) /* of_level[l + 1] goes down to where l begins */
        b->level[--b->of_level[b->block[v].level + 1]] = v;
    memmove(b->of_level, b->of_level + 1, (size_t)b->levels * sizeof *b->of_level);
    b->of_level[b->levels] = b->count;
}

static int find_edges(struct blocks *b, const struct factor *f)
{
    int32_t *seen = malloc((size_t)b->count * sizeof *seen);
    b->parent = malloc((size_t)f->rows * sizeof *b->parent); /* an edge per row at most */
    b->child = malloc((size_t)f->rows * sizeof *b->child);
    if (!seen || !b->parent || !b->child) {
        free(seen);
        return -1;
    }
    find_parents(b, f, seen);
    find_children(b, seen);
    for (int32_t v = 0; v < b->count; v++)
        if (b->block[v].level >= b->levels)
            b->levels = b->block[v].level + 1;
    b->dependences = count_dependences(b, f, seen);
    free(seen);
    b->level = malloc((size_t)b->count * sizeof *b->level);
    b->of_level = calloc((size_t)b->levels + 1, sizeof *b->of_level);
    if (!b->level || !b->of_level)
        return -1;
    sort_by_level(b);
    return 0;
}

int blocks_make(struct blocks *b, const struct factor *f, int64_t grain)
{
    struct shape shape = { 0 };
    *b = (struct blocks){ .block = calloc((size_t)f->rows + 1, sizeof *b->block),
                          .owner = malloc((size_t)f->rows * sizeof *b->owner) };
    int failed = !b->block || !b->owner || shape_make(&shape, f);
    if (!failed) {
        cut(b, f, &shape, grain);
        failed = find_edges(b, f);
    }
    shape_free(&shape);
    return failed ? -1 : 0;
}

void blocks_free(struct blocks *b)
{
    free(b->block);
    free(b->child);
    free(b->parent);
    free(b->owner);
    free(b->level);
    free(b->of_level);
    *b = (struct blocks){ 0 };
}
