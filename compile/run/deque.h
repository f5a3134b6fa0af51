/* SPDX-License-Identifier: BSD-3-Clause */
/* A work-stealing deque: its owner pushes and pops at the bottom, thieves take from the top.
 * D. Chase, Y. Lev: Dynamic circular work-stealing deque, SPAA 2005, with the memory orders of N.
 * M. Le, A. Pop, A. Cohen, F. Zappa Nardelli: Correct and efficient work-stealing for weak memory
 * models, PPoPP 2013; its ring has a fixed size, and a push into a full one is refused.
 *
 * Safety. The items are those at positions top to bottom - 1; position p lies in cell p & mask.
 * - Who writes what: the owner the cells and `bottom`; `top` is raised by one, by CAS, by whoever
 * takes the item there, so an item above `top` is taken once.
 * - Owner against thief. The owner pops position b - 1 without a CAS if, after it stored bottom =
 * b - 1 and fenced, it sees top < b - 1. A thief reads top, fences, reads bottom, and goes on only
 * if top < bottom. For both to take position p the owner must have read a top of at most p - 1
 * behind its fence; the thief's top was p, which a thief before it had set, and its bottom above p.
 * The two fences are partners: either the owner sees that top (and then goes the way of the CAS) or
 * the thief sees the owner's bottom (and finds nothing). The last item, top == b - 1, is decided by
 * the CAS alone.
 * - Publication. A push writes the cell and releases `bottom`; a thief acquires it: all that came
 * before the push is seen. The owner's own pops need no order.
 * - Reuse of a cell. Position p's cell is written again for p + mask + 1 only when the owner has
 * acquired a top above p; the thief that raised it had read the cell before (release). A thief that
 * read it too late fails its CAS. */
#ifndef RD_COMPILE_RUN_DEQUE_H
#define RD_COMPILE_RUN_DEQUE_H

#include "src/base/atomic.h"

struct rd_deque {
    RD_ALIGNED rd_atomic64 top;    /* raised by whoever takes an item there */
    RD_ALIGNED rd_atomic64 bottom; /* the owner's line; thieves read it */
    uint64_t seen;                 /* the owner's: `top` is at least this */
    uint64_t mask;                 /* cells - 1, cells a power of two */
    rd_atomic64 *cell;
};

/* Owner. 0: there is no room. */
static inline int rd_deque_push(struct rd_deque *d, uint64_t item)
{
    uint64_t bottom = rd_load_relaxed(&d->bottom); /* only this thread writes it */
    if (RD_UNLIKELY(bottom - d->seen > d->mask)) {
        d->seen = rd_load_acquire(&d->top); /* pairs with rd_deque_steal: its read of the cell */
        if (bottom - d->seen > d->mask)
            return 0;
    }
    rd_store_relaxed(&d->cell[bottom & d->mask], item); /* published by bottom */
    /* Release: the item and all before it; pairs with the acquire in rd_deque_steal. */
    rd_store_release(&d->bottom, bottom + 1);
    return 1;
}

/* Owner, the last item: against a thief. */
static inline int rd_deque_pop_last(struct rd_deque *d, uint64_t top)
{
    const uint64_t bottom = top + 1;
    const int mine = rd_cas_acq_rel(&d->top, &top, bottom);
    d->seen = bottom;                     /* somebody has taken it */
    rd_store_relaxed(&d->bottom, bottom); /* empty: nothing is published by it */
    return mine;
}

/* Owner: the item pushed last. 0: there is none. */
static inline int rd_deque_pop(struct rd_deque *d, uint64_t *item)
{
    uint64_t bottom = rd_load_relaxed(&d->bottom), top = rd_load_relaxed(&d->top);
    if (top == bottom) /* an older top could only say that there is more */
        return 0;
    rd_store_relaxed(&d->bottom, --bottom);
    rd_fence(); /* orders bottom with the look at top; partner: the thief's fence */
    top = rd_load_acquire(&d->top); /* as in push */
    d->seen = top;
    *item = rd_load_relaxed(&d->cell[bottom & d->mask]);
    if (RD_LIKELY(top < bottom))
        return 1;
    if (top == bottom)
        return rd_deque_pop_last(d, top);
    rd_store_relaxed(&d->bottom, top); /* the last one was taken meanwhile: empty */
    return 0;
}

/* Owner: the `count` items pushed last, for one fence, in the order in which they were pushed. 0:
 * there are not more than that, or thieves were about to take one of them; none is taken. The
 * argument is that of a pop: only the lowest of them could be a thief's too, and then top is not
 * below it. */
static inline int rd_deque_pop_some(struct rd_deque *d, uint64_t *item, uint32_t count)
{
    const uint64_t old = rd_load_relaxed(&d->bottom), bottom = old - count;
    uint64_t top = rd_load_relaxed(&d->top);
    if (old - top <= count)
        return 0;
    rd_store_relaxed(&d->bottom, bottom);
    rd_fence();                               /* as in rd_deque_pop */
    d->seen = top = rd_load_acquire(&d->top); /* as in push */
    if (RD_UNLIKELY(top >= bottom)) {
        rd_store_release(&d->bottom, old); /* publishes them again; as in push */
        return 0;
    }
    for (uint32_t i = 0; i < count; i++)
        item[i] = rd_load_relaxed(&d->cell[(bottom + i) & d->mask]);
    return 1;
}

/* Owner: rd_deque_pop where there are no thieves. */
static inline int rd_deque_pop_alone(struct rd_deque *d, uint64_t *item)
{
    uint64_t bottom = rd_load_relaxed(&d->bottom);
    if (rd_load_relaxed(&d->top) == bottom)
        return 0;
    rd_store_relaxed(&d->bottom, --bottom);
    *item = rd_load_relaxed(&d->cell[bottom & d->mask]);
    return 1;
}

/* A thief's look, a hint: how many items there are. */
static inline uint64_t rd_deque_size(const struct rd_deque *d)
{
    uint64_t top = rd_load_relaxed(&d->top), bottom = rd_load_relaxed(&d->bottom);
    return bottom > top ? bottom - top : 0;
}

/* Changes, most of the time, while the owner gets on. */
static inline uint64_t rd_deque_mark(const struct rd_deque *d)
{
    return rd_load_relaxed(&d->top) << 32 ^ rd_load_relaxed(&d->bottom);
}

/* Thief: the item that was pushed first. 0: there is none, or another was faster. */
static inline int rd_deque_steal(struct rd_deque *d, uint64_t *item)
{
    uint64_t top = rd_load_acquire(&d->top);
    rd_fence(); /* orders the look at top with that at bottom; partner: the owner's in rd_deque_pop
                 */
    if (top >= rd_load_acquire(&d->bottom)) /* pairs with rd_deque_push */
        return 0;
    *item = rd_load_relaxed(&d->cell[top & d->mask]);
    /* Release: the cell was read; pairs with the owner's acquires of top. */
    return rd_cas_acq_rel(&d->top, &top, top + 1);
}

#endif
