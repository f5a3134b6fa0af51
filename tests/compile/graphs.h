/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs for the tests of the compile passes. */
#ifndef TESTS_COMPILE_GRAPHS_H
#define TESTS_COMPILE_GRAPHS_H

#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

/* A graph under construction: nodes in order, each with the edges added since. */
struct maker {
    struct rd_graph g;
    size_t first_capacity;
};

static inline void maker_node(struct maker *m)
{
    if (m->g.nodes + 2 > m->first_capacity) {
        m->first_capacity = m->first_capacity ? 2 * m->first_capacity : 64;
        m->g.first = realloc(m->g.first, m->first_capacity * sizeof *m->g.first);
        m->g.first[0] = 0;
    }
    m->g.nodes++;
    m->g.first[m->g.nodes] = m->g.first[m->g.nodes - 1];
}

/* An edge to the last node; one that is there already is not added again. */
static inline void maker_edge(struct maker *m, uint32_t from, uint32_t distance)
{
    struct rd_graph *g = &m->g;
    uint32_t *end = &g->first[g->nodes];
    for (uint32_t e = g->first[g->nodes - 1]; e < *end && *end - g->first[g->nodes - 1] < 64; e++)
        if (g->pred[e].from == from && g->pred[e].distance == distance)
            return;
    if (*end + 1 > g->pred_capacity) {
        g->pred_capacity = g->pred_capacity ? 2 * g->pred_capacity : 64;
        g->pred = realloc(g->pred, g->pred_capacity * sizeof *g->pred);
    }
    g->pred[(*end)++] = (struct rd_edge){ from, (uint8_t)distance, RD_EDGE_EXPLICIT, 0 };
    if (distance > g->distance)
        g->distance = distance;
}

static inline void maker_free(struct maker *m)
{
    for (uint32_t i = 0; i < m->g.variants; i++) {
        free(m->g.variant[i].first);
        free(m->g.variant[i].pred);
    }
    free(m->g.variant);
    free(m->g.variant_of_phase);
    free(m->g.first);
    free(m->g.pred);
    memset(m, 0, sizeof *m);
}

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}
static inline uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((next_random(state) >> 33) % limit);
}

static inline void make_chain(struct maker *m, uint32_t nodes)
{
    for (uint32_t v = 0; v < nodes; v++) {
        maker_node(m);
        if (v)
            maker_edge(m, v - 1, 0);
    }
}

/* Three-point stencil; `carried`: the first step reads the last of the replay before. */
static inline void make_stencil(struct maker *m, uint32_t width, uint32_t steps, int carried)
{
    for (uint32_t t = 0; t < steps; t++)
        for (uint32_t i = 0; i < width; i++) {
            maker_node(m);
            for (uint32_t j = i ? i - 1 : 0; j <= i + 1 && j < width; j++) {
                if (t)
                    maker_edge(m, (t - 1) * width + j, 0);
                else if (carried)
                    maker_edge(m, (steps - 1) * width + j, 1);
            }
        }
}

static inline void make_fft(struct maker *m, uint32_t width, uint32_t steps)
{
    uint32_t bits = 0;
    while (1u << (bits + 1) <= width)
        bits++;
    for (uint32_t t = 0; t < steps; t++)
        for (uint32_t i = 0; i < width; i++) {
            maker_node(m);
            if (t) {
                maker_edge(m, (t - 1) * width + i, 0);
                maker_edge(m, (t - 1) * width + (i ^ 1u << (t - 1) % bits), 0);
            }
        }
}

static inline void make_random3(struct maker *m, uint32_t width, uint32_t steps, uint64_t seed)
{
    for (uint32_t t = 0; t < steps; t++)
        for (uint32_t i = 0; i < width; i++) {
            maker_node(m);
            for (int k = 0; t && k < 3; k++)
                maker_edge(m, (t - 1) * width + below(&seed, width), 0);
        }
}

static inline void make_fan(struct maker *m, uint32_t fan, uint32_t rounds)
{
    uint32_t source = 0;
    maker_node(m);
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t k = 0; k < fan; k++) {
            maker_node(m);
            maker_edge(m, source, 0);
        }
        maker_node(m);
        for (uint32_t k = 0; k < fan; k++)
            maker_edge(m, source + 1 + k, 0);
        source += fan + 1;
    }
}

static inline void make_cholesky(struct maker *m, uint32_t tiles)
{
    uint32_t *last = malloc((size_t)tiles * tiles * sizeof *last);
    memset(last, 0xff, (size_t)tiles * tiles * sizeof *last);
#define LAST(i, j)  last[(size_t)(i)*tiles + (j)]
#define READS(i, j) (LAST(i, j) != UINT32_MAX ? maker_edge(m, LAST(i, j), 0) : (void)0)
    for (uint32_t k = 0; k < tiles; k++) {
        maker_node(m);
        READS(k, k);
        LAST(k, k) = m->g.nodes - 1;
        for (uint32_t i = k + 1; i < tiles; i++) {
            maker_node(m);
            READS(k, k);
            READS(i, k);
            LAST(i, k) = m->g.nodes - 1;
        }
        for (uint32_t i = k + 1; i < tiles; i++)
            for (uint32_t j = k + 1; j <= i; j++) {
                maker_node(m);
                READS(i, k);
                READS(j, k);
                READS(i, j);
                LAST(i, j) = m->g.nodes - 1;
            }
    }
#undef READS
#undef LAST
    free(last);
}

/* A reduction of 2^depth leaves, level by level. */
static inline void make_tree(struct maker *m, uint32_t depth)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < 1u << depth; i++)
        maker_node(m);
    for (uint32_t level = depth; level-- > 0;) {
        uint32_t first = m->g.nodes;
        for (uint32_t i = 0; i < 1u << level; i++) {
            maker_node(m);
            maker_edge(m, before + 2 * i, 0);
            maker_edge(m, before + 2 * i + 1, 0);
        }
        before = first;
    }
}

/* Edges within a replay respect a random order of the ids, `shuffle`d or the ids themselves;
 * carried ones go anywhere. */
static inline void make_random(struct maker *m, uint32_t nodes, uint32_t degree, uint32_t distance,
                               int shuffle, uint64_t *seed)
{
    uint32_t *at = malloc((nodes + 1) * sizeof *at);
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t j = shuffle ? below(seed, v + 1) : v;
        at[v] = at[j];
        at[j] = v;
    }
    for (uint32_t v = 0; v < nodes; v++) {
        maker_node(m);
        for (uint32_t k = below(seed, degree + 1); k > 0; k--) {
            uint32_t u = below(seed, nodes), d = distance ? below(seed, 3 * distance) : 0;
            d = d < distance ? d + 1 : 0;
            if (d || at[u] < at[v])
                maker_edge(m, u, d);
        }
    }
    free(at);
}

/* Gives the graph phases: in each variant some nodes are off, which takes their edges away, and
 * some edges more are not there. */
static inline void make_variants(struct maker *m, uint32_t phases, uint32_t variants,
                                 uint64_t *seed)
{
    struct rd_graph *g = &m->g;
    uint8_t *off = malloc(g->nodes);
    g->phases = phases;
    g->variants = variants;
    g->variant_of_phase = malloc(phases * sizeof *g->variant_of_phase);
    g->variant = malloc(variants * sizeof *g->variant);
    for (uint32_t i = 0; i < phases; i++)
        g->variant_of_phase[i] = (uint16_t)(i < variants ? i : below(seed, variants));
    for (uint32_t i = 0; i < variants; i++) {
        struct rd_variant *x = &g->variant[i];
        uint32_t at = 0;
        x->first = malloc((g->nodes + 1) * sizeof *x->first);
        x->pred = malloc((g->first[g->nodes] + 1) * sizeof *x->pred);
        for (uint32_t v = 0; v < g->nodes; v++)
            off[v] = !below(seed, 6);
        for (uint32_t v = 0; v < g->nodes; v++) {
            x->first[v] = at;
            for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
                if (!off[v] && !off[g->pred[e].from] && below(seed, 10))
                    x->pred[at++] = g->pred[e];
        }
        x->first[g->nodes] = at;
    }
    free(off);
}

#endif
