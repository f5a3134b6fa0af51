/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the graphs that are measured: nodes, edges both ways, levels, owners, carried edges. */
#include "bench/graphs.h"

#include "bench/patterns.h"
#include "bench/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[PATTERN_END] = {
    [GRAPH_CHAIN] = "chain",
    [GRAPH_STENCIL] = "stencil",
    [GRAPH_FFT] = "fft",
    [GRAPH_RANDOM] = "random",
    [GRAPH_FAN] = "fan",
    [GRAPH_CHOLESKY] = "cholesky",
    [GRAPH_TREE] = "tree",
    [GRAPH_KINDS] = "",
    [PATTERN_TRIVIAL] = "trivial",
    [PATTERN_NO_COMM] = "no_comm",
    [PATTERN_STENCIL_1D] = "stencil_1d",
    [PATTERN_STENCIL_1D_PERIODIC] = "stencil_1d_periodic",
    [PATTERN_DOM] = "dom",
    [PATTERN_TREE] = "tree",
    [PATTERN_FFT] = "fft",
    [PATTERN_ALL_TO_ALL] = "all_to_all",
    [PATTERN_NEAREST] = "nearest",
    [PATTERN_SPREAD] = "spread",
    [PATTERN_RANDOM_NEAREST] = "random_nearest",
};

static enum graph_kind find_name(const char *name, unsigned from, unsigned end)
{
    while (from < end && strcmp(names[from], name) != 0)
        from++;
    return (enum graph_kind)from;
}

enum graph_kind graph_kind_of(const char *name)
{
    return find_name(name, GRAPH_CHAIN, GRAPH_KINDS);
}

enum graph_kind graph_pattern_of(const char *name)
{
    return find_name(name, PATTERN_TRIVIAL, PATTERN_END);
}

const char *graph_kind_name(enum graph_kind kind) { return names[kind]; }

const char *graph_refusal(enum graph_kind kind, uint32_t width, uint32_t steps, uint32_t workers)
{
    if (width < 1 || steps < 1 || workers < 1)
        return "width, steps and workers are at least 1";
    if (width > 1u << 20 || steps > 1u << 24)
        return "width is at most 1048576 and steps at most 16777216";
    if ((kind == GRAPH_FFT || kind == GRAPH_TREE) && (width & (width - 1)))
        return "the width of fft and tree is a power of two";
    if (kind == GRAPH_CHOLESKY ? width > 400 : (uint64_t)width * steps > 1u << 25)
        return "the graph has more than about 30 million nodes";
    return NULL;
}

/* ---- building */

struct maker {
    struct graph *graph;
    size_t node_room, edge_room, carried_room;
};

static uint32_t add_node(struct maker *m, uint32_t owner)
{
    struct graph *g = m->graph;
    if (g->nodes + 1 >= m->node_room) {
        m->node_room = m->node_room * 2 + 1024;
        g->pred_first = bench_grow(g->pred_first, m->node_room, sizeof *g->pred_first);
        g->owner = bench_grow(g->owner, m->node_room, sizeof *g->owner);
    }
    g->owner[g->nodes] = owner;
    g->pred_first[g->nodes] = g->edges;
    return g->nodes++;
}

/* An edge to the node added last. */
static void add_pred(struct maker *m, uint32_t from)
{
    struct graph *g = m->graph;
    if (g->edges >= m->edge_room) {
        m->edge_room = m->edge_room * 2 + 1024;
        g->pred = bench_grow(g->pred, m->edge_room, sizeof *g->pred);
    }
    g->pred[g->edges++] = from;
}

static void add_carried(struct maker *m, uint32_t from, uint32_t to)
{
    struct graph *g = m->graph;
    if (g->carried >= m->carried_room) {
        m->carried_room = m->carried_room * 2 + 64;
        g->carried_edge = bench_grow(g->carried_edge, m->carried_room, sizeof *g->carried_edge);
    }
    g->carried_edge[g->carried++] = (struct graph_edge){ from, to };
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* The columns of the row above that column `i` of row `row` follows. */
static unsigned row_preds(const struct graph *g, uint32_t row, uint32_t i, uint64_t *random,
                          uint32_t column[3])
{
    unsigned count = 0;
    uint32_t w = g->width;
    if (g->kind == GRAPH_FFT) {
        uint32_t span = 1;
        for (uint32_t k = row; w > 1 && k > 0; k--)
            span = span * 2 >= w ? 1 : span * 2;
        column[count++] = i;
        if (w > 1)
            column[count++] = i ^ span;
    } else if (g->kind == GRAPH_RANDOM) {
        while (count < 3 && count < w) {
            uint32_t c = (uint32_t)(next_random(random) % w);
            if (!(count > 0 && column[0] == c) && !(count > 1 && column[1] == c))
                column[count++] = c;
        }
    } else {
        for (uint32_t c = i ? i - 1 : 0; c <= i + 1 && c < w; c++)
            column[count++] = c;
    }
    return count;
}

static void make_rows(struct maker *m)
{
    struct graph *g = m->graph;
    uint64_t random = 12345;
    uint32_t column[3];
    for (uint32_t row = 0; row < g->steps; row++)
        for (uint32_t i = 0; i < g->width; i++) {
            add_node(m, (uint32_t)((uint64_t)i * g->workers / g->width));
            unsigned count = row_preds(g, row, i, &random, column);
            for (unsigned k = 0; k < count; k++)
                if (row)
                    add_pred(m, (row - 1) * g->width + column[k]);
                else
                    add_carried(m, (g->steps - 1) * g->width + column[k], i);
        }
}

/* Points of a step have the numbers after those of the step before. */
static void make_pattern(struct maker *m)
{
    struct graph *g = m->graph;
    struct pattern p = { g->kind, g->width, g->steps };
    uint32_t *column = bench_alloc(g->width + 2, sizeof *column);
    uint32_t above = 0; /* the number that column 0 of the step before has, or would have */
    for (uint32_t step = 0; step < g->steps; step++) {
        uint32_t first = pattern_first(&p, step), count = pattern_count(&p, step);
        uint32_t here = g->nodes - first;
        for (uint32_t i = first; i < first + count; i++) {
            add_node(m, (uint32_t)((uint64_t)i * g->workers / g->width));
            uint32_t preds = step ? pattern_preds(&p, step, i, column) : 0;
            for (uint32_t k = 0; k < preds; k++)
                add_pred(m, above + column[k]);
        }
        above = here;
    }
    for (uint32_t v = 0; v < pattern_count(&p, 0); v++) {
        uint32_t preds = pattern_preds(&p, 0, pattern_first(&p, 0) + v, column);
        for (uint32_t k = 0; k < preds; k++)
            add_carried(m, above + column[k], v);
    }
    free(column);
}

static void make_fan(struct maker *m)
{
    struct graph *g = m->graph;
    uint32_t head = add_node(m, 0);
    for (uint32_t s = 0; s < g->steps; s++) {
        uint32_t first = g->nodes;
        for (uint32_t k = 0; k < g->width; k++) {
            add_node(m, (uint32_t)((uint64_t)k * g->workers / g->width));
            add_pred(m, head);
        }
        head = add_node(m, 0);
        for (uint32_t k = 0; k < g->width; k++)
            add_pred(m, first + k);
    }
    add_carried(m, head, 0);
}

static void pred_if(struct maker *m, uint32_t last)
{
    if (last)
        add_pred(m, last - 1);
}

/* Right-looking tile Cholesky; `last` is 1 + the node that wrote a tile last. Rows of tiles go to
 * the workers by turns. */
static void make_cholesky(struct maker *m)
{
    uint32_t n = m->graph->width, workers = m->graph->workers;
    uint32_t *last = bench_alloc((size_t)n * n, sizeof *last);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t diagonal = add_node(m, k % workers) + 1;
        pred_if(m, last[k * n + k]);
        last[k * n + k] = diagonal;
        for (uint32_t i = k + 1; i < n; i++) {
            uint32_t solve = add_node(m, i % workers) + 1;
            add_pred(m, diagonal - 1);
            pred_if(m, last[i * n + k]);
            last[i * n + k] = solve;
        }
        for (uint32_t i = k + 1; i < n; i++)
            for (uint32_t j = k + 1; j <= i; j++) {
                uint32_t update = add_node(m, i % workers) + 1;
                add_pred(m, last[i * n + k] - 1);
                if (j != i)
                    add_pred(m, last[j * n + k] - 1);
                pred_if(m, last[i * n + j]);
                last[i * n + j] = update;
            }
    }
    free(last);
    add_carried(m, m->graph->nodes - 1, 0);
}

static void make_trees(struct maker *m)
{
    struct graph *g = m->graph;
    uint32_t root = 0;
    for (uint32_t s = 0; s < g->steps; s++) {
        uint32_t below = g->nodes, before = root;
        for (uint32_t k = 0; k < g->width; k++) {
            uint32_t leaf = add_node(m, (uint32_t)((uint64_t)k * g->workers / g->width));
            if (s)
                add_pred(m, before);
            root = leaf;
        }
        for (uint32_t w = g->width / 2; w >= 1; w /= 2) {
            uint32_t first = g->nodes;
            for (uint32_t k = 0; k < w; k++) {
                root = add_node(m, (uint32_t)((uint64_t)k * g->workers / w));
                add_pred(m, below + 2 * k);
                add_pred(m, below + 2 * k + 1);
            }
            below = first;
        }
    }
    for (uint32_t k = 0; k < g->width; k++)
        add_carried(m, root, k);
}

/* ---- what follows from the edges */

static void make_successors(struct graph *g)
{
    g->succ_first = bench_alloc(g->nodes + 2, sizeof *g->succ_first);
    g->succ = bench_alloc(g->edges, sizeof *g->succ);
    /* Counted two places on, so that filling moves each start to its place. */
    for (uint32_t k = 0; k < g->edges; k++)
        g->succ_first[g->pred[k] + 2]++;
    for (uint32_t v = 1; v <= g->nodes; v++)
        g->succ_first[v] += g->succ_first[v - 1];
    for (uint32_t v = 0; v < g->nodes; v++)
        for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++)
            g->succ[g->succ_first[g->pred[k] + 1]++] = v;
}

static void make_levels(struct graph *g)
{
    g->level = bench_alloc(g->nodes, sizeof *g->level);
    for (uint32_t v = 0; v < g->nodes; v++) {
        for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++)
            if (g->level[g->pred[k]] + 1 > g->level[v])
                g->level[v] = g->level[g->pred[k]] + 1;
        if (g->level[v] + 1 > g->levels)
            g->levels = g->level[v] + 1;
    }
    g->level_first = bench_alloc(g->levels + 2, sizeof *g->level_first);
    g->level_node = bench_alloc(g->nodes, sizeof *g->level_node);
    for (uint32_t v = 0; v < g->nodes; v++)
        g->level_first[g->level[v] + 2]++;
    for (uint32_t l = 1; l <= g->levels + 1; l++)
        g->level_first[l] += g->level_first[l - 1];
    for (uint32_t v = 0; v < g->nodes; v++)
        g->level_node[g->level_first[g->level[v] + 1]++] = v;
}

struct graph *graph_make(enum graph_kind kind, uint32_t width, uint32_t steps, uint32_t workers)
{
    struct graph *g = bench_alloc(1, sizeof *g);
    struct maker m = { .graph = g };
    g->kind = kind;
    g->width = kind == GRAPH_CHAIN ? 1 : width;
    g->steps = kind == GRAPH_CHOLESKY ? 1 : steps;
    g->workers = workers;
    if (kind == GRAPH_FAN)
        make_fan(&m);
    else if (kind == GRAPH_CHOLESKY)
        make_cholesky(&m);
    else if (kind == GRAPH_TREE)
        make_trees(&m);
    else if (kind > GRAPH_KINDS)
        make_pattern(&m);
    else
        make_rows(&m);
    g->pred_first[g->nodes] = g->edges;
    make_successors(g);
    make_levels(g);
    g->id = bench_alloc(g->nodes, sizeof *g->id);
    for (uint32_t v = 0; v < g->nodes; v++)
        g->id[v] = v;
    return g;
}

struct graph *graph_make_sized(enum graph_kind kind, uint32_t nodes, uint32_t workers)
{
    uint32_t width = 8, steps = nodes / 8;
    if (kind == GRAPH_CHAIN) {
        steps = nodes;
    } else if (kind == GRAPH_FAN) {
        width = nodes < 2000 ? 100 : 1000;
        steps = nodes / (width + 1);
    } else if (kind == GRAPH_CHOLESKY) {
        for (width = 1; (uint64_t)(width + 1) * (width + 2) * (width + 3) / 6 <= nodes; width++)
            ;
    } else if (kind == GRAPH_TREE) {
        steps = nodes / 15;
    }
    return graph_make(kind, width, steps ? steps : 1, workers);
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    free(g->pred_first);
    free(g->pred);
    free(g->succ_first);
    free(g->succ);
    free(g->level);
    free(g->level_first);
    free(g->level_node);
    free(g->owner);
    free(g->carried_edge);
    free(g->id);
    free(g);
}
