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

uint64_t rg_hash_bytes(uint64_t h, const unsigned char *bytes, size_t n)
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

uint64_t rg_write_bytes(uint64_t h, unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += sizeof h) {
        h += 0x9E3779B97F4A7C15ull;
        uint64_t word = rg_mix(h);
        memcpy(bytes + at, &word, n - at < sizeof word ? n - at : sizeof word);
    }
    return h;
}

/* ---- numbers of a slot's type: small whole ones, so that any order of adding gives the same */

static size_t number_bytes(uint32_t type) { return type == RONDO_F64 || type == RONDO_I64 ? 8 : 4; }

void rg_number_write(unsigned char *at, uint32_t type, int32_t value)
{
    double f64 = value;
    float f32 = (float)value;
    int64_t i64 = value;
    const void *from = type == RONDO_F64   ? (const void *)&f64
                       : type == RONDO_F32 ? (const void *)&f32
                       : type == RONDO_I64 ? (const void *)&i64
                                           : (const void *)&value;
    memcpy(at, from, number_bytes(type));
}

static void combine_real(unsigned char *at, uint32_t type, uint32_t op, int32_t value)
{
    double now = 0, more = value;
    float f32 = 0;
    memcpy(type == RONDO_F64 ? (void *)&now : (void *)&f32, at, number_bytes(type));
    if (type == RONDO_F32)
        now = (double)f32;
    now = op == RONDO_SUM ? now + more : (op == RONDO_MIN) == (more < now) ? more : now;
    f32 = (float)now;
    memcpy(at, type == RONDO_F64 ? (void *)&now : (void *)&f32, number_bytes(type));
}

static void combine_whole(unsigned char *at, uint32_t type, uint32_t op, int32_t value)
{
    int64_t now = 0, more = value;
    int32_t i32 = 0;
    memcpy(type == RONDO_I64 ? (void *)&now : (void *)&i32, at, number_bytes(type));
    if (type == RONDO_I32)
        now = i32;
    now = op == RONDO_SUM                     ? (int64_t)((uint64_t)now + (uint64_t)more)
          : (op == RONDO_MIN) == (more < now) ? more
                                              : now;
    i32 = (int32_t)(uint32_t)(uint64_t)now;
    memcpy(at, type == RONDO_I64 ? (void *)&now : (void *)&i32, number_bytes(type));
}

static void combine(unsigned char *at, uint32_t type, uint32_t op, int32_t value)
{
    if (type == RONDO_F64 || type == RONDO_F32)
        combine_real(at, type, op, value);
    else
        combine_whole(at, type, op, value);
}

/* ---- rows of elements */

enum how { READ, WRITE, ADD };

static uint64_t numbers(uint64_t h, unsigned char *bytes, size_t n, const struct rg_slot *slot,
                        uint32_t op)
{
    for (size_t at = 0; at < n; at += number_bytes(slot->type)) {
        h += 0x9E3779B97F4A7C15ull;
        int32_t value = (int32_t)(rg_mix(h) % 17) - 8;
        if (op)
            combine(bytes + at, slot->type, op, value);
        else
            rg_number_write(bytes + at, slot->type, slot->flag ? value & 1 : value);
    }
    return h;
}

/* What commutes: adding to each byte. */
static uint64_t add_bytes(uint64_t h, unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at++) {
        h += 0x9E3779B97F4A7C15ull;
        bytes[at] = (unsigned char)(bytes[at] + (rg_mix(h) & 0xff));
    }
    return h;
}

/* Rows of a box that are this rank's. Each has its own part of the hash, so that ranks agree. */
struct walk {
    unsigned char *base;
    const struct rg_slot *slot;
    const struct rg_access *access;
    uint32_t rank, team;
};

static void change_row(const struct walk *w, uint64_t h, unsigned char *at, size_t bytes)
{
    uint32_t mode = w->access->mode;
    if (w->slot->type)
        (void)numbers(h, at, bytes, w->slot,
                      mode == RONDO_REDUCE    ? w->access->op
                      : mode == RONDO_COMMUTE ? (uint32_t)RONDO_SUM
                                              : 0);
    else if (mode == RONDO_COMMUTE)
        (void)add_bytes(h, at, bytes);
    else
        (void)rg_write_bytes(h, at, bytes);
}

/* Reads the rows of a box into the hash, or changes them by it. */
static uint64_t walk(const struct walk *w, uint64_t h, const rondo_region *box, int change)
{
    const rondo_shape *shape = &w->slot->shape;
    size_t row = (size_t)box->count[0] * shape->elem_bytes;
    uint32_t number = 0;
    if (w->slot->kind == RG_TOKEN)
        return h;
    for (int64_t z = box->first[2]; z < box->first[2] + box->count[2]; z++)
        for (int64_t y = box->first[1]; y < box->first[1] + box->count[1]; y++, number++) {
            unsigned char *at = w->base + (size_t)z * shape->pitch_bytes[1] +
                                (size_t)y * shape->pitch_bytes[0] +
                                (size_t)box->first[0] * shape->elem_bytes;
            if (!change)
                h = rg_hash_bytes(h, at, row);
            else if (number % w->team == w->rank)
                change_row(w, h + ((uint64_t)(number + 1) << 40), at, row);
        }
    return change ? rg_mix(h + 1) : h;
}

/* Whether what precedes the node has run, and did not fail; its value. */
static uint64_t see_pred(struct rg_run *run, uint32_t node, uint64_t replay,
                         const struct rg_pred *pred)
{
    const struct rg_program *p = run->program;
    uint64_t then = replay - pred->distance;
    const struct rg_cell *its = &run->cell[(size_t)pred->node * RG_CELLS + then % RG_CELLS];
    int must = run->cells_exact || (pred->distance == 0 && !p->sometimes) ||
               (!p->sometimes && !run->follows_failures && p->member_count == 1 && !p->stops);
    if (p->stops && pred->distance)
        return 0; /* what only reads may have run in replays that were stopped */
    if (must && its->replay != then + 1)
        rg_run_wrong(run, "node %u ran in replay %llu before node %u had in replay %llu", node,
                     (unsigned long long)replay, pred->node, (unsigned long long)then);
    else if (its->replay == then + 1 && its->failed && (pred->distance == 0 || must))
        rg_run_wrong(run, "node %u ran in replay %llu behind node %u, which failed in replay %llu",
                     node, (unsigned long long)replay, pred->node, (unsigned long long)then);
    return its->replay == then + 1 ? its->value : 0;
}

/* The stamp: this node once more, after all that precede it by hand. */
static uint64_t stamp(struct rg_run *run, uint32_t node, const struct rg_frame *frame, uint64_t h)
{
    const struct rg_program *p = run->program;
    const struct rg_node *n = &p->node[node];
    const uint64_t replay = frame->replay;
    struct rg_cell *cell = &run->cell[(size_t)node * RG_CELLS + replay % RG_CELLS];
    uint64_t before = replay >= RG_CELLS ? replay + 1 - RG_CELLS : 0, value;
    for (uint32_t k = 0; k < n->pred_count; k++) {
        const struct rg_pred *pred = &p->pred[n->pred_first + k];
        const struct rg_record *r = &p->record[p->node[pred->node].record];
        if (replay >= pred->distance && r->kind == RG_AWAIT && r->partner && pred->distance == 0)
            h = rg_mix(h + rg_partner_cell(run, replay)->value);
        if (replay >= pred->distance && rg_stamps(r))
            h = rg_mix(h + see_pred(run, node, replay, pred));
    }
    value = rg_mix(h ^ (uint64_t)node << 40 ^ replay);
    if (frame->rank)
        return value;
    if (cell->replay == replay + 1)
        rg_run_wrong(run, "node %u ran twice in replay %llu", node, (unsigned long long)replay);
    else if (run->cells_exact && cell->replay != before)
        rg_run_wrong(run, "node %u in replay %llu: stamp of replay %lld before it", node,
                     (unsigned long long)replay, (long long)cell->replay - 1);
    cell->value = value;
    cell->failed = (uint64_t)rg_fails(p, node, replay);
    cell->replay = replay + 1;
    return value;
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

int rg_stops(const struct rg_program *p, uint32_t node, uint64_t replay)
{
    return rg_mix(p->seed ^ (uint64_t)node * 104729 ^ replay << 24) % 5 == 0;
}

static struct walk walk_of(const struct rg_program *p, const struct rg_access *access,
                           const struct rg_frame *frame, uint32_t a)
{
    return (struct walk){ .base = frame->base[a],
                          .slot = &p->slot[access->slot],
                          .access = access,
                          .rank = frame->rank,
                          .team = frame->team };
}

static uint64_t read_accesses(const struct rg_program *p, const struct rg_node *n,
                              const struct rg_frame *frame, uint64_t h)
{
    const struct rg_record *r = &p->record[n->record];
    for (uint32_t a = 0; a < r->access_count; a++) {
        struct walk w = walk_of(p, &r->access[a], frame, a);
        if (r->access[a].mode == RONDO_READ || r->access[a].mode == RONDO_READ_WRITE)
            for (uint32_t b = 0; b < n->boxes[a].count; b++)
                h = walk(&w, h, &p->box[n->boxes[a].first + b], 0);
    }
    return h;
}

/* Ranks meet before each access: two of them may be the same bytes in other geometries. */
static void change_accesses(const struct rg_program *p, const struct rg_node *n,
                            const struct rg_frame *frame, uint64_t h)
{
    const struct rg_record *r = &p->record[n->record];
    for (uint32_t a = 0; a < r->access_count; a++) {
        struct walk w = walk_of(p, &r->access[a], frame, a);
        if (!(r->access[a].mode & RONDO_WRITE))
            continue;
        if (r->flags & RONDO_SPMD && frame->self)
            rondo_task_barrier(frame->self);
        for (uint32_t b = 0; b < n->boxes[a].count; b++)
            h = walk(&w, h, &p->box[n->boxes[a].first + b], 1);
    }
}

static uint64_t touch_ranges(struct rg_run *run, const struct rg_record *r, uint64_t h)
{
    for (uint32_t i = 0; i < r->range_count; i++)
        h = rg_hash_bytes(h, run->memory[r->range[i].memory] + r->range[i].offset,
                          r->range[i].bytes);
    if (r->range_count)
        (void)rg_write_bytes(h, run->memory[r->range[0].memory] + r->range[0].offset,
                             r->range[0].bytes);
    return h;
}

/* A rank of a team fails, any of them. */
static int fails_here(const struct rg_program *p, uint32_t node, const struct rg_frame *frame)
{
    return rg_fails(p, node, frame->replay) && node % frame->team == frame->rank;
}

/* A kernel does not know which replay it is in. */
uint64_t rg_body_hash(const struct rg_program *p, uint32_t node, uint64_t replay, uint32_t version)
{
    int device = p->record[p->node[node].record].device >= 0;
    return rg_mix(p->seed ^ (uint64_t)node << 32 ^ (device ? 0 : replay) ^ (uint64_t)version << 16);
}

int rg_body(struct rg_run *run, uint32_t node, const struct rg_frame *frame)
{
    const struct rg_program *p = run->program;
    const struct rg_node *n = &p->node[node];
    const struct rg_record *r = &p->record[n->record];
    uint64_t h = rg_body_hash(p, node, frame->replay, frame->version);
    if (run->workers)
        dawdle(r->spin);
    for (uint32_t i = 0; i < r->param_count; i++)
        h = rg_hash_bytes(h, frame->param[i], p->param[r->param[i]].bytes);
    if (r->patch_count)
        h = rg_hash_bytes(h, frame->patched, RG_PATCH_BYTES);
    if (frame->rank == 0) /* relaxed: orders nothing */
        atomic_fetch_add_explicit(&run->runs[node], 1, memory_order_relaxed);
    if (rg_stamps(r))
        h = stamp(run, node, frame, h);
    h = read_accesses(p, n, frame, h);
    change_accesses(p, n, frame, h);
    if (r->range_count && r->flags & RONDO_SPMD && frame->self)
        rondo_task_barrier(frame->self);
    if (frame->rank == 0)
        (void)touch_ranges(run, r, h);
    if (r->flags & RONDO_MAY_STOP && frame->rank == 0 && rg_stops(p, node, frame->replay)) {
        if (frame->self)
            rondo_task_stop(frame->self);
        else
            atomic_store(&run->stop, 1);
    }
    if (r->flags & RONDO_SPMD && frame->self)
        rondo_task_barrier(frame->self); /* all have done their part before one fails */
    return fails_here(p, node, frame);
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

static void fill_memory(struct rg_run *run, uint32_t m)
{
    const struct rg_program *p = run->program;
    struct rg_slot as = { .type = p->memory_type[m], .flag = p->memory_flag[m] };
    if (as.type)
        (void)numbers(p->seed + m, run->memory[m], p->memory_bytes[m], &as, 0);
    else
        (void)rg_write_bytes(p->seed + m, run->memory[m], p->memory_bytes[m]);
}

struct rg_run *rg_run_new(const struct rg_program *p, uint32_t workers)
{
    struct rg_run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    run->program = p;
    run->workers = workers;
    run->cells_exact = !p->fails && !p->late && !p->sometimes && !p->stops && p->member_count == 1;
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
        fill_memory(run, m);
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
