/* SPDX-License-Identifier: BSD-3-Clause */
/* What the nodes of a random program compute: an integer hash of everything read into everything
 * written, and their stamps. The same code runs under Rondo and under the oracle; only where the
 * bytes come from differs. */
#include "tests/engine/random_program.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rg_mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9E3779B97F4A7C15ull;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9ull;
    return x ^ x >> 32;
}

uint64_t rg_next(struct rg_rng *rng)
{
    rng->state += 0x9E3779B97F4A7C15ull;
    return rg_mix(rng->state);
}

int rg_run_wrong(struct rg_run *run, const char *format, ...)
{
    int before = 0;
    if (!atomic_compare_exchange_strong(&run->failed, &before, 1))
        return 0;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(run->what, sizeof run->what, format, list);
    va_end(list);
    return 0;
}

static uint64_t hash_bytes(uint64_t h, const unsigned char *bytes, size_t n)
{
    uint64_t word;
    for (; n >= sizeof word; bytes += sizeof word, n -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        h = (h ^ word) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 29;
    }
    word = n;
    memcpy(&word, bytes, n);
    return rg_mix(h ^ word);
}

static uint64_t write_bytes(uint64_t h, unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += sizeof h) {
        h += 0x9E3779B97F4A7C15ull;
        uint64_t word = rg_mix(h);
        memcpy(bytes + at, &word, n - at < sizeof word ? n - at : sizeof word);
    }
    return h;
}

/* Walks the rows of a box; reads them into the hash, or writes them from it. */
static uint64_t walk(uint64_t h, unsigned char *base, const rondo_shape *shape,
                     const rondo_region *box, int write)
{
    size_t row = (size_t)box->count[0] * shape->elem_bytes;
    for (int64_t z = box->first[2]; z < box->first[2] + box->count[2]; z++)
        for (int64_t y = box->first[1]; y < box->first[1] + box->count[1]; y++) {
            unsigned char *at = base + (size_t)z * shape->pitch_bytes[1] +
                                (size_t)y * shape->pitch_bytes[0] +
                                (size_t)box->first[0] * shape->elem_bytes;
            h = write ? write_bytes(h, at, row) : hash_bytes(h, at, row);
        }
    return h;
}

/* Whether what precedes the node by hand has run, and did not fail; its value. */
static uint64_t see_pred(struct rg_run *run, uint32_t node, uint64_t replay,
                         const struct rg_pred *pred)
{
    uint64_t then = replay - pred->distance;
    const struct rg_cell *its = &run->cell[(size_t)pred->node * RG_CELLS + then % RG_CELLS];
    int must = run->cells_exact || pred->distance == 0 || !run->follows_failures;
    if (must && its->replay != then + 1)
        rg_run_wrong(run, "node %u ran in replay %llu before node %u had in replay %llu", node,
                     (unsigned long long)replay, pred->node, (unsigned long long)then);
    else if (must && its->failed)
        rg_run_wrong(run, "node %u ran in replay %llu behind node %u, which failed in replay %llu",
                     node, (unsigned long long)replay, pred->node, (unsigned long long)then);
    return its->value;
}

/* The stamp: this node once more, after all that precede it by hand. */
static uint64_t stamp(struct rg_run *run, uint32_t node, uint64_t replay, uint64_t h)
{
    const struct rg_program *p = run->program;
    const struct rg_node *n = &p->node[node];
    struct rg_cell *cell = &run->cell[(size_t)node * RG_CELLS + replay % RG_CELLS];
    uint64_t before = replay >= RG_CELLS ? replay + 1 - RG_CELLS : 0;
    if (cell->replay == replay + 1)
        rg_run_wrong(run, "node %u ran twice in replay %llu", node, (unsigned long long)replay);
    else if (run->cells_exact && cell->replay != before)
        rg_run_wrong(run, "node %u in replay %llu: stamp of replay %lld before it", node,
                     (unsigned long long)replay, (long long)cell->replay - 1);
    for (uint32_t k = 0; k < n->pred_count; k++) {
        const struct rg_pred *pred = &p->pred[n->pred_first + k];
        if (replay >= pred->distance && rg_stamps(&p->record[p->node[pred->node].record]))
            h = rg_mix(h + see_pred(run, node, replay, pred));
    }
    /* Relaxed: orders nothing. */
    atomic_fetch_add_explicit(&run->runs[node], 1, memory_order_relaxed);
    cell->value = rg_mix(h ^ (uint64_t)node << 40 ^ replay);
    cell->failed = (uint64_t)rg_fails(p, node, replay);
    cell->replay = replay + 1;
    return cell->value;
}

/* Makes the order in which threads come by less regular. */
static void dawdle(uint32_t spin)
{
    if (spin == 1) {
        sched_yield();
        return;
    }
    for (volatile uint32_t i = 0; i < spin; i++) {}
}

int rg_fails(const struct rg_program *p, uint32_t node, uint64_t replay)
{
    uint32_t every = p->record[p->node[node].record].fail_every;
    return every && rg_mix(p->seed ^ (uint64_t)node * 7919 ^ replay << 32) % every == 0;
}

static uint64_t read_accesses(const struct rg_program *p, const struct rg_node *n,
                              const struct rg_frame *frame, uint64_t h)
{
    const struct rg_record *r = &p->record[n->record];
    for (uint32_t a = 0; a < r->access_count; a++)
        if (r->access[a].mode & RONDO_READ)
            for (uint32_t b = 0; b < n->boxes[a].count; b++)
                h = walk(h, frame->base[a], &p->slot[r->access[a].slot].shape,
                         &p->box[n->boxes[a].first + b], 0);
    return h;
}

static void write_accesses(const struct rg_program *p, const struct rg_node *n,
                           const struct rg_frame *frame, uint64_t h)
{
    const struct rg_record *r = &p->record[n->record];
    for (uint32_t a = 0; a < r->access_count; a++)
        if (r->access[a].mode & RONDO_WRITE)
            for (uint32_t b = 0; b < n->boxes[a].count; b++)
                h = walk(h, frame->base[a], &p->slot[r->access[a].slot].shape,
                         &p->box[n->boxes[a].first + b], 1);
}

static uint64_t touch_ranges(struct rg_run *run, const struct rg_record *r, uint64_t h)
{
    for (uint32_t i = 0; i < r->range_count; i++)
        h = hash_bytes(h, run->memory[r->range[i].memory] + r->range[i].offset, r->range[i].bytes);
    if (r->range_count)
        (void)write_bytes(h, run->memory[r->range[0].memory] + r->range[0].offset,
                          r->range[0].bytes);
    return h;
}

int rg_body(struct rg_run *run, uint32_t node, const struct rg_frame *frame)
{
    const struct rg_program *p = run->program;
    const struct rg_node *n = &p->node[node];
    const struct rg_record *r = &p->record[n->record];
    uint64_t h = rg_mix(p->seed ^ (uint64_t)node << 32 ^ frame->replay);
    if (run->workers)
        dawdle(r->spin);
    for (uint32_t i = 0; i < r->param_count; i++)
        h = hash_bytes(h, frame->param[i], p->param[r->param[i]].bytes);
    if (r->patch_count)
        h = hash_bytes(h, frame->patched, RG_PATCH_BYTES);
    h = stamp(run, node, frame->replay, h);
    h = read_accesses(p, n, frame, h);
    write_accesses(p, n, frame, h);
    (void)touch_ranges(run, r, h);
    return rg_fails(p, node, frame->replay);
}

/* A plain function does not see which replay it is in: it counts its own calls. */
void rg_call_body(struct rg_run *run, uint32_t record)
{
    const struct rg_record *r = &run->program->record[record];
    uint64_t h = rg_mix(run->program->seed + record + (run->calls[record]++ << 20));
    if (run->workers)
        dawdle(r->spin);
    atomic_fetch_add_explicit(&run->runs[r->first_node], 1, memory_order_relaxed);
    (void)touch_ranges(run, r, h);
}

/* After a reset nodes run again, whatever those before them did in the replays before it. */
static int rg_resets(const struct rg_program *p)
{
    for (uint32_t s = 0; s < p->step_count; s++)
        if (p->step[s].kind == RG_RESET)
            return 1;
    return 0;
}

struct rg_run *rg_run_new(const struct rg_program *p, uint32_t workers)
{
    struct rg_run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    run->program = p;
    run->workers = workers;
    run->cells_exact = !p->fails;
    run->follows_failures = p->on_failure == RONDO_ON_FAILURE_CONTINUE || rg_resets(p);
    run->cell = calloc((size_t)p->node_count * RG_CELLS, sizeof *run->cell);
    run->runs = calloc(p->node_count, sizeof *run->runs);
    run->calls = calloc(p->record_count, sizeof *run->calls);
    if (!run->cell || !run->runs || !run->calls)
        abort();
    for (uint32_t m = 0; m < p->memory_count; m++) {
        run->memory[m] = aligned_alloc(64, (p->memory_bytes[m] + 63) / 64 * 64);
        if (!run->memory[m])
            abort();
        (void)write_bytes(p->seed + m, run->memory[m], p->memory_bytes[m]);
    }
    return run;
}

void rg_run_free(struct rg_run *run)
{
    for (uint32_t m = 0; m < run->program->memory_count; m++)
        free(run->memory[m]);
    free(run->cell);
    free(run->runs);
    free(run->calls);
    free(run);
}
