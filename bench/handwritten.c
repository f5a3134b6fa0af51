/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of two threads: what one would write by hand for just this graph. Each thread walks its
 * own array of calls and has one progress counter; a call waits at most for one value of the
 * other's counter. Calls that the other thread waits for go first within a level, waits that an
 * earlier one implies are dropped, and the pauses between two polls are those that measure best.
 * Pipelined, carried edges are waits like others and nothing else orders two replays; serial, each
 * replay ends before the next begins. */
#include "bench/peers/peer.h"

#include "bench/machine.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { NO_WAIT = INT32_MIN };

struct call {
    rondo_task_fn *fn;
    const void *arg;
    int32_t
        wait; /* the other's position + 1 in this replay, less its length if in the one before */
    uint32_t publish; /* own position + 1; 0: nobody waits for it */
};

/* After the call at `position` in replay r a counter stands at (r + 1) * length + position + 1: it
 * only ever grows, and replay -1 has ended at the start. Alone on its line. */
struct counter {
    _Alignas(BENCH_LINE) _Atomic uint64_t value;
};

struct program {
    struct counter done[2], go; /* go: serial replays allowed to begin */
    struct call *call[2];
    uint32_t length[2], waits;
    uint64_t replay, count; /* of the next run; the main thread writes them while both rest */
    unsigned pauses;
    int pipelined;
};

/* ---- running */

static inline __attribute__((always_inline)) uint64_t wait_for(struct counter *counter,
                                                               uint64_t need, unsigned pauses)
{
    uint64_t value;
    while ((value = atomic_load_explicit(&counter->value, memory_order_acquire)) < need)
        for (unsigned i = 0; i < pauses; i++)
            bench_pause();
    return value;
}

static inline __attribute__((always_inline)) void drive(struct program *p, unsigned me,
                                                        const unsigned pauses)
{
    struct counter *mine = &p->done[me], *other = &p->done[1 - me];
    uint64_t own_length = p->length[me], other_length = p->length[1 - me], seen = 0;
    uint64_t end = p->replay + p->count;
    for (uint64_t r = p->replay; r < end; r++) {
        uint64_t own = (r + 1) * own_length, others = (r + 1) * other_length;
        if (!p->pipelined) {
            if (me)
                wait_for(&p->go, r + 1, pauses);
            else
                atomic_store_explicit(&p->go.value, r + 1, memory_order_release);
        }
        for (const struct call *c = p->call[me], *last = c + own_length; c < last; c++) {
            if (c->wait != NO_WAIT) {
                uint64_t need = others + (uint64_t)(int64_t)c->wait;
                if (seen < need)
                    seen = wait_for(other, need, pauses);
            }
            c->fn(NULL, c->arg);
            if (c->publish)
                atomic_store_explicit(&mine->value, own + c->publish, memory_order_release);
        }
        atomic_store_explicit(&mine->value, own + own_length, memory_order_release);
        if (!p->pipelined && !me)
            wait_for(other, others + other_length, pauses);
    }
}

/* One loop for each number of pauses, as one would have it after calibrating. */
static void work(void *context, unsigned me)
{
    struct program *p = context;
    if (p->pauses == 1)
        drive(p, me, 1);
    else if (p->pauses == 2)
        drive(p, me, 2);
    else if (p->pauses == 3)
        drive(p, me, 3);
    else
        drive(p, me, 4);
}

static double run(void *built, uint64_t count)
{
    struct program *p = built;
    p->count = count;
    double ns = machine_pair(work, p);
    p->replay += count;
    return ns;
}

/* ---- building */

static unsigned char *crossing_nodes(const struct graph *g, int carried)
{
    unsigned char *crosses = bench_alloc(g->nodes, 1);
    for (uint32_t v = 0; v < g->nodes; v++)
        for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++)
            if (g->owner[g->pred[k]] != g->owner[v])
                crosses[g->pred[k]] = 1;
    for (uint32_t k = 0; carried && k < g->carried; k++)
        if (g->owner[g->carried_edge[k].from] != g->owner[g->carried_edge[k].to])
            crosses[g->carried_edge[k].from] = 1;
    return crosses;
}

/* Where each node comes in its thread's array, + 1: by level, those the other thread waits for
 * first. */
static uint32_t *place_nodes(const struct graph *g, const unsigned char *crosses,
                             uint32_t length[2])
{
    uint32_t *position = bench_alloc(g->nodes, sizeof *position);
    length[0] = length[1] = 0;
    for (uint32_t l = 0; l < g->levels; l++)
        for (int turn = 1; turn >= 0; turn--)
            for (uint32_t k = g->level_first[l]; k < g->level_first[l + 1]; k++) {
                uint32_t v = g->level_node[k];
                if (crosses[v] == turn)
                    position[v] = ++length[g->owner[v]];
            }
    return position;
}

/* The latest position of the other thread that each node must wait for, in the terms of call.wait.
 */
static int32_t *latest_waits(const struct graph *g, const uint32_t *position,
                             const uint32_t length[2], int carried)
{
    int32_t *wait = bench_alloc(g->nodes, sizeof *wait);
    for (uint32_t v = 0; v < g->nodes; v++) {
        wait[v] = NO_WAIT;
        for (uint32_t k = g->pred_first[v]; k < g->pred_first[v + 1]; k++) {
            uint32_t from = g->pred[k];
            if (g->owner[from] != g->owner[v] && (int32_t)position[from] > wait[v])
                wait[v] = (int32_t)position[from];
        }
    }
    for (uint32_t k = 0; carried && k < g->carried; k++) {
        uint32_t from = g->carried_edge[k].from, to = g->carried_edge[k].to;
        int32_t need = (int32_t)position[from] - (int32_t)length[g->owner[from]];
        if (g->owner[from] != g->owner[to] && need > wait[to])
            wait[to] = need;
    }
    return wait;
}

/* A thread that has once seen a value need not wait for a smaller one; what it saw in the replay
 * before counts too. */
static void drop_waits(struct program *p)
{
    for (unsigned me = 0; me < 2; me++) {
        struct call *call = p->call[me];
        int64_t other = p->length[1 - me], covered = INT64_MIN;
        for (uint32_t i = 0; i < p->length[me]; i++)
            if (call[i].wait != NO_WAIT && call[i].wait - other > covered)
                covered = call[i].wait - other;
        for (uint32_t i = 0; i < p->length[me]; i++)
            if (call[i].wait != NO_WAIT && call[i].wait <= covered)
                call[i].wait = NO_WAIT;
            else if (call[i].wait != NO_WAIT)
                covered = call[i].wait;
        for (uint32_t i = 0; i < p->length[me]; i++)
            p->waits += call[i].wait != NO_WAIT;
    }
}

static void calibrate(struct program *p)
{
    double best[5] = { 0 };
    uint64_t replays = 1;
    while (run(p, replays) < 1e6 && replays < 1u << 20)
        replays *= 2;
    for (int round = 0; round < 5; round++)
        for (p->pauses = 1; p->pauses <= 4; p->pauses++) {
            double ns = run(p, replays);
            if (!round || ns < best[p->pauses])
                best[p->pauses] = ns;
        }
    p->pauses = 1;
    for (unsigned pauses = 2; pauses <= 4; pauses++)
        if (best[pauses] < best[p->pauses])
            p->pauses = pauses;
}

static void *build(const struct graph *g, const struct setup *setup)
{
    struct program *p = bench_alloc_lines(1, sizeof *p);
    p->pipelined = setup->order == ORDER_PIPELINED;
    unsigned char *crosses = crossing_nodes(g, p->pipelined);
    uint32_t *position = place_nodes(g, crosses, p->length);
    int32_t *wait = latest_waits(g, position, p->length, p->pipelined);
    for (unsigned me = 0; me < 2; me++) {
        p->call[me] = bench_alloc_lines(p->length[me], sizeof *p->call[me]);
        atomic_init(&p->done[me].value, p->length[me]);
    }
    for (uint32_t v = 0; v < g->nodes; v++) {
        unsigned me = g->owner[v];
        uint32_t publish = crosses[v] && position[v] < p->length[me] ? position[v] : 0;
        p->call[me][position[v] - 1] = (struct call){ setup->body, &g->id[v], wait[v], publish };
    }
    drop_waits(p);
    free(crosses);
    free(position);
    free(wait);
    p->pauses = setup->pauses ? setup->pauses : 2;
    if (!setup->pauses && setup->body != body_check)
        calibrate(p);
    return p;
}

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    if (graph->workers > 2)
        return "it has two threads";
    if (setup->order == ORDER_CONCURRENT)
        return "it has no concurrent order";
    return NULL;
}

static void figures(void *built, struct figures *figures)
{
    const struct program *p = built;
    figures->waits = p->waits;
    figures->pauses = p->pauses;
}

static void release(void *built)
{
    struct program *p = built;
    free(p->call[0]);
    free(p->call[1]);
    free(p);
}

const struct peer peer_handwritten = {
    .name = "handwritten",
    .what = "two threads and progress counters, written for the graph",
    .refusal = refusal,
    .build = build,
    .run = run,
    .figures = figures,
    .free = release,
};
