/* SPDX-License-Identifier: BSD-3-Clause */
/* A small repeatable generator of random numbers. */
#ifndef TESTS_SUBGRAPH_RANDOM_H
#define TESTS_SUBGRAPH_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* From 0 to below - 1. */
static inline uint32_t random_below(struct random *r, uint32_t below)
{
    return (uint32_t)(random_next(r) % below);
}

#endif
