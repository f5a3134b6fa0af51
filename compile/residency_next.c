/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking ahead: the next visits of a line. */
#include "compile/residency_parts.h"

/* How many visits are looked at for what is a matter of speed alone. */
enum { AHEAD_MOST = 4096 };

/* The first visit of a line from a position on. */
static uint32_t from_on(const struct rd_resid *w, const struct rd_line *l, uint32_t position)
{
    uint32_t low = l->visit, high = l->visit + l->visits;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->visit[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int wanted(const struct rd_visit *v, const rondo_region *box, uint32_t memory, int reads)
{
    return (memory == RD_UNDECIDED || v->memory == memory) && (!reads || v->mode & RONDO_READ) &&
           rd_box_meets(&v->hull, box);
}

static const struct rd_visit *look(const struct rd_resid *w, uint32_t from, uint32_t end,
                                   const rondo_region *box, uint32_t memory, int reads)
{
    uint32_t i;
    for (i = from; i < end; i++)
        if (wanted(&w->visit[i], box, memory, reads))
            return &w->visit[i];
    return NULL;
}

/* The line whose elements those of `line` are in the next replay; RD_NOWHERE: of none. Through a
 * ring they may come back some replays later. */
static uint32_t line_after(const struct rd_resid *w, uint32_t line)
{
    const struct rd_body *b = &w->body[w->line[line].body];
    uint32_t position = w->line[line].position, i, k;
    if (!b->ring)
        return b->temporary ? RD_NOWHERE : line;
    for (k = 0; k < b->count; k++) {
        position = (position + b->count - b->stride) % b->count;
        for (i = b->line; i < b->line + b->lines; i++)
            if (w->line[i].position == position)
                return i;
    }
    return RD_NOWHERE;
}

const struct rd_visit *rd_resid_next(const struct rd_resid *w, uint32_t line,
                                     const rondo_region *box, uint32_t memory, int reads,
                                     uint32_t position)
{
    const struct rd_line *l = &w->line[line];
    return look(w, from_on(w, l, position), l->visit + l->visits, box, memory, reads);
}

/* The position of the next node that touches everything, behind the present one; RD_NOWHERE: none.
 */
static uint32_t next_fence(const struct rd_resid *w)
{
    size_t low = 0, high = w->fences.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->fences.item[middle] <= w->position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->fences.count ? w->fences.item[low] : RD_NOWHERE;
}

/* Among the visits [from, end): a reader whose memory is known. *fence: a position before which it
 * has to be. */
static uint32_t reader(const struct rd_resid *w, uint32_t from, uint32_t end,
                       const rondo_region *box, uint32_t fence)
{
    uint32_t i;
    for (i = from; i < end && i - from < AHEAD_MOST; i++) {
        const struct rd_visit *v = &w->visit[i];
        if (v->position > fence)
            return 0;
        if (v->memory != RD_UNDECIDED && wanted(v, box, RD_UNDECIDED, 1))
            return v->memory;
    }
    return fence == RD_NOWHERE ? RD_NOWHERE : 0;
}

uint32_t rd_resid_next_reader(const struct rd_resid *w, uint32_t line, const rondo_region *box)
{
    const struct rd_line *l = &w->line[line];
    uint32_t fence = w->body[l->body].temporary ? RD_NOWHERE : next_fence(w);
    uint32_t m = reader(w, from_on(w, l, w->position + 1), l->visit + l->visits, box, fence);
    if (m != RD_NOWHERE)
        return m;
    line = line_after(w, line);
    if (line == RD_NOWHERE)
        return RD_NOWHERE;
    l = &w->line[line];
    fence = w->fences.count ? w->fences.item[0] : RD_NOWHERE;
    return reader(w, l->visit, l->visit + l->visits, box, fence);
}

/* Among the visits [from, end): 1: read in the memory; 0: written before that, or by then a fence;
 * -1: neither. */
static int read_first(const struct rd_resid *w, uint32_t from, uint32_t end,
                      const rondo_region *box, uint32_t memory, uint32_t fence)
{
    uint32_t i;
    for (i = from; i < end && i - from < AHEAD_MOST; i++) {
        const struct rd_visit *v = &w->visit[i];
        if (v->position > fence)
            return 0;
        if (!rd_box_meets(&v->hull, box))
            continue;
        if (v->memory == memory && v->mode & RONDO_READ)
            return 1;
        if (v->mode & RONDO_WRITE)
            return 0;
    }
    return fence == RD_NOWHERE ? -1 : 0;
}

int rd_resid_read_again(const struct rd_resid *w, uint32_t line, const rondo_region *box,
                        uint32_t memory)
{
    const struct rd_line *l = &w->line[line];
    uint32_t fence = w->body[l->body].temporary ? RD_NOWHERE : next_fence(w);
    int again =
        read_first(w, from_on(w, l, w->position + 1), l->visit + l->visits, box, memory, fence);
    line = line_after(w, line);
    if (again >= 0 || line == RD_NOWHERE)
        return again > 0;
    l = &w->line[line];
    fence = w->fences.count ? w->fences.item[0] : RD_NOWHERE;
    return read_first(w, l->visit, l->visit + l->visits, box, memory, fence) > 0;
}
