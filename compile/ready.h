/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of small integers that finds its least member from a given one on: a bitmap with a bitmap
 * of its words that are not empty, and so on. Each step touches at most six words, mostly one, so
 * the cost does not grow with the set as a heap's does. */
#ifndef RD_COMPILE_READY_H
#define RD_COMPILE_READY_H

#include "compile/scratch.h"

enum { RD_READY_LEVELS = 6, RD_READY_NONE = 0x7fffffff };

struct rd_ready {
    uint64_t *word[RD_READY_LEVELS];
    uint32_t words[RD_READY_LEVELS];
    int levels;
};

/* The empty set of members below `count`; 0 when there is no memory. */
int rd_ready_init(struct rd_ready *r, struct rd_scratch *s, uint32_t count);

static inline void rd_ready_add(struct rd_ready *r, uint32_t member)
{
    for (int l = 0; l < r->levels; l++, member >>= 6) {
        uint64_t *w = &r->word[l][member >> 6], before = *w;
        *w = before | 1ull << (member & 63);
        if (before)
            return; /* the levels above know */
    }
}

static inline void rd_ready_remove(struct rd_ready *r, uint32_t member)
{
    for (int l = 0; l < r->levels; l++, member >>= 6)
        if (r->word[l][member >> 6] &= ~(1ull << (member & 63)))
            return;
}

/* The least member that is at least `from`, or RD_READY_NONE. */
static inline uint32_t rd_ready_next(const struct rd_ready *r, uint32_t from)
{
    for (int l = 0; l < r->levels; l++, from = (from >> 6) + 1) {
        uint64_t w;
        if (from >> 6 >= r->words[l])
            return RD_READY_NONE;
        w = r->word[l][from >> 6] & ~0ull << (from & 63);
        if (!w)
            continue;
        from = (from & ~63u) | (uint32_t)__builtin_ctzll(w);
        while (l--)
            from = from << 6 | (uint32_t)__builtin_ctzll(r->word[l][from]);
        return from;
    }
    return RD_READY_NONE;
}

#endif
