/* SPDX-License-Identifier: BSD-3-Clause */
/* Random picks for RONDO_SHUFFLE: the same seed gives the same picks. */
#ifndef RD_INTERP_SHUFFLE_H
#define RD_INTERP_SHUFFLE_H

#include <stdint.h>

/* A number below `count`, at least 1. `state` is any 64 bits; it moves on (splitmix64: Steele, Lea,
 * Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static inline uint32_t rd_shuffle_pick(uint64_t *state, uint32_t count)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(((z ^ z >> 31) >> 32) * count >> 32);
}

#endif
