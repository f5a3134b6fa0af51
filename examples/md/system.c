/* SPDX-License-Identifier: BSD-3-Clause */
#include "system.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how it is cut */

/* The lattice's cubes per dimension, sides that differ by one at most, nearest to `atoms`. */
static void choose_lattice(int64_t atoms, int64_t fcc[3])
{
    int64_t n = 1, best = 0;
    while (4 * (n + 1) * (n + 1) * (n + 1) <= atoms)
        n++;
    for (int larger = 0; larger <= 3; larger++) {
        int64_t sides[3] = { n, n, n };
        for (int d = 0; d < larger; d++)
            sides[2 - d]++;
        int64_t count = 4 * sides[0] * sides[1] * sides[2];
        if (larger && llabs(count - atoms) >= llabs(best - atoms))
            continue;
        best = count;
        memcpy(fcc, sides, sizeof sides);
    }
}

/* How many cells there are in a dimension for `blocks` blocks of equal size, where no more than an
 * eighth of them is given up for it; 0: it cannot be. `most` is how many the lists' range allows.
 */
static int64_t even_cells(int64_t most, int64_t blocks)
{
    int64_t even = most - most % blocks;
    return even >= 3 && even * 8 >= most * 7 ? even : 0;
}

/* How busy `workers` are with equal blocks, in twentieths. */
static int64_t balance(int64_t blocks, int64_t workers)
{
    return 20 * blocks / ((blocks + workers - 1) / workers * workers);
}

/* Blocks of one size that keep all workers equally busy: the fewest that give each of them four, or
 * that have 250 atoms, so that a block is worth a task to everybody who is compared. Cut along z
 * first: slabs have the fewest neighbours. */
static void choose_blocks(const struct system *s, const int64_t most[3], int64_t workers,
                          int64_t blocks[3])
{
    int64_t best = 0, share = s->atoms / 250 < 4 * workers ? s->atoms / 250 : 4 * workers;
    for (int64_t x = 1; x <= most[0]; x++)
        for (int64_t y = 1; y <= most[1]; y++)
            for (int64_t z = most[2]; z >= 1; z--) {
                int64_t count = x * y * z;
                int64_t gain = best ? balance(count, workers) - balance(best, workers) : 1;
                int fewer = count >= share ? best < share || count < best : count > best;
                if (gain < 0 || (!gain && !fewer) || !even_cells(most[0], x) ||
                    !even_cells(most[1], y) || !even_cells(most[2], z))
                    continue;
                best = count;
                memcpy(blocks, (int64_t[]){ x, y, z }, 3 * sizeof *blocks);
            }
}

/* As many cells as the range of the lists allows; fewer where that makes blocks equal. */
int system_plan(struct system *s, const struct system_options *options)
{
    memset(s, 0, sizeof *s);
    s->dt = options->dt;
    s->drift_bound = options->drift_bound;
    double constant = cbrt(4 / DENSITY);
    choose_lattice(options->atoms, s->fcc);
    s->atoms = 4 * s->fcc[0] * s->fcc[1] * s->fcc[2];
    for (int d = 0; d < 3; d++) {
        s->side[d] = (double)s->fcc[d] * constant;
        s->cells[d] = (int64_t)(s->side[d] / (CUTOFF + SKIN));
        if (s->cells[d] < 3) {
            fprintf(stderr, "md: %" PRId64 " atoms: fewer than three cells fit into a side\n",
                    options->atoms);
            return -1;
        }
    }
    choose_blocks(s, s->cells, options->workers, s->blocks);
    for (int d = 0; d < 3; d++) {
        int64_t most = s->cells[d];
        if (options->blocks[d])
            s->blocks[d] = options->blocks[d];
        if (s->blocks[d] > most) {
            fprintf(stderr,
                    "md: --blocks: %" PRId64 " in dimension %d, which has %" PRId64 " cells\n",
                    s->blocks[d], d, most);
            return -1;
        }
        s->cells[d] = even_cells(most, s->blocks[d]) ? even_cells(most, s->blocks[d]) : most;
        s->width[d] = s->side[d] / (double)s->cells[d];
    }
    s->cell_count = s->cells[0] * s->cells[1] * s->cells[2];
    s->block_count = s->blocks[0] * s->blocks[1] * s->blocks[2];
    return 0;
}

/* ---- memory */

/* Whole pages, all zeros, so that what Rondo may watch (RONDO_CHECK) shares a page with nothing. */
static int make_array(void *array, int64_t count, size_t bytes)
{
    size_t all = ((size_t)count * bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, all);
    if (!memory)
        return -1;
    memset(memory, 0, all);
    memcpy(array, &memory, sizeof memory);
    return 0;
}

#define MAKE(s, field, count) make_array(&(s)->field, count, sizeof *(s)->field)

static int make_arrays(struct system *s)
{
    int64_t n = s->cell_count;
    if (MAKE(s, near, n) || MAKE(s, block, s->block_count) || MAKE(s, members, n) ||
        MAKE(s, at, n) || MAKE(s, velocity, n) || MAKE(s, force, n) || MAKE(s, home, n) ||
        MAKE(s, leaving, n) || MAKE(s, pairs, n) || MAKE(s, watch, 1)) {
        fprintf(stderr, "md: no memory for %" PRId64 " cells\n", n);
        return -1;
    }
    return 0;
}

void system_free(struct system *s)
{
    free(s->near);
    free(s->block);
    free(s->members);
    free(s->at);
    free(s->velocity);
    free(s->force);
    free(s->home);
    free(s->leaving);
    free(s->pairs);
    free(s->watch);
    memset(s, 0, sizeof *s);
}

#define COPY(to, from, field, count) \
    memcpy((to)->field, (from)->field, (size_t)(count) * sizeof *(to)->field)

void system_copy(struct system *to, const struct system *from)
{
    int64_t n = from->cell_count;
    COPY(to, from, members, n);
    COPY(to, from, at, n);
    COPY(to, from, velocity, n);
    COPY(to, from, force, n);
    COPY(to, from, home, n);
    COPY(to, from, watch, 1); /* leaving and pairs are written in the first step */
}

/* ---- what lies around a cell */

static void find_near(struct system *s, int64_t x, int64_t y, int64_t z)
{
    struct near *near = &s->near[system_cell(s, x, y, z)];
    const int64_t at[3] = { x, y, z };
    for (int k = 0; k < NEAR; k++) {
        int64_t to[3] = { x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1 };
        int image = 0, power = 1;
        for (int d = 0; d < 3; d++, power *= 3) {
            int beyond = to[d] < 0 ? 0 : to[d] < s->cells[d] ? 1 : 2;
            to[d] = (at[d] + to[d] - at[d] + s->cells[d]) % s->cells[d];
            image += power * beyond;
        }
        near->cell[k] = (int32_t)system_cell(s, to[0], to[1], to[2]);
        near->image[k] = (uint8_t)image;
    }
}

/* Part `i` of `parts` of `count`, sizes differing by at most one and larger ones first: the chunks
 * that rondo_record_for makes. */
static int64_t part(int64_t count, int64_t parts, int64_t i, int64_t *first)
{
    int64_t least = count / parts, larger = count % parts;
    *first = i * least + (i < larger ? i : larger);
    return least + (i < larger);
}

static void make_tables(struct system *s)
{
    for (int k = 0; k < NEAR; k++) {
        const int beyond[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
        for (int d = 0; d < 3; d++)
            s->image[k][d] = beyond[d] * s->side[d];
    }
    for (int64_t z = 0; z < s->cells[2]; z++)
        for (int64_t y = 0; y < s->cells[1]; y++)
            for (int64_t x = 0; x < s->cells[0]; x++)
                find_near(s, x, y, z);
    for (int64_t b = 0; b < s->block_count; b++) {
        const int64_t at[3] = { b % s->blocks[0], b / s->blocks[0] % s->blocks[1],
                                b / s->blocks[0] / s->blocks[1] };
        for (int d = 0; d < 3; d++)
            s->block[b].count[d] = part(s->cells[d], s->blocks[d], at[d], &s->block[b].first[d]);
    }
}

/* ---- the beginning */

/* SplitMix64 (Steele, Lea, Flood 2014), as a number from -1 to 1. */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

/* All atoms' velocities, by number: no momentum as a whole, and the temperature asked for. That
 * they are spread evenly does not last: collisions make a Maxwell distribution of them. */
static void choose_velocities(double (*v)[3], int64_t atoms, double temperature)
{
    uint64_t state = 1;
    double mean[3] = { 0 }, square = 0;
    for (int64_t i = 0; i < atoms; i++)
        for (int d = 0; d < 3; d++)
            mean[d] += v[i][d] = next_random(&state);
    for (int64_t i = 0; i < atoms; i++)
        for (int d = 0; d < 3; d++) {
            v[i][d] -= mean[d] / (double)atoms;
            square += v[i][d] * v[i][d];
        }
    double factor = sqrt(3 * (double)atoms * temperature / square);
    for (int64_t i = 0; i < atoms; i++)
        for (int d = 0; d < 3; d++)
            v[i][d] *= factor;
}

/* Atom `id` of the lattice: four to a cube, a quarter of its side away from the borders. */
static void lattice_place(const struct system *s, int64_t id, double at[3])
{
    static const double inside[4][3] = {
        { 0.25, 0.25, 0.25 }, { 0.75, 0.75, 0.25 }, { 0.75, 0.25, 0.75 }, { 0.25, 0.75, 0.75 }
    };
    const int64_t cube = id / 4, in[3] = { cube % s->fcc[0], cube / s->fcc[0] % s->fcc[1],
                                           cube / s->fcc[0] / s->fcc[1] };
    for (int d = 0; d < 3; d++)
        at[d] = ((double)in[d] + inside[id % 4][d]) * s->side[d] / (double)s->fcc[d];
}

static int fill(struct system *s, double (*v)[3])
{
    for (int64_t id = 0; id < s->atoms; id++) {
        double at[3];
        lattice_place(s, id, at);
        int64_t cell = system_cell(s, (int64_t)(at[0] / s->width[0]),
                                   (int64_t)(at[1] / s->width[1]), (int64_t)(at[2] / s->width[2]));
        struct members *who = &s->members[cell];
        if (who->count == CELL_ATOMS) {
            fprintf(stderr, "md: cell %" PRId64 " begins with more than %d atoms\n", cell,
                    CELL_ATOMS);
            return -1;
        }
        int i = who->count++;
        who->id[i] = (int32_t)id;
        s->at[cell].x[i] = at[0];
        s->at[cell].y[i] = at[1];
        s->at[cell].z[i] = at[2];
        s->velocity[cell].x[i] = v[id][0];
        s->velocity[cell].y[i] = v[id][1];
        s->velocity[cell].z[i] = v[id][2];
    }
    for (int64_t c = 0; c < s->cell_count; c++)
        s->home[c].at = s->at[c];
    return 0;
}

int system_make(struct system *s, const struct system_options *options)
{
    if (system_plan(s, options) || make_arrays(s))
        return -1;
    make_tables(s);
    double(*v)[3] = malloc((size_t)s->atoms * sizeof *v);
    if (!v) {
        fprintf(stderr, "md: no memory for %" PRId64 " atoms\n", s->atoms);
        return -1;
    }
    choose_velocities(v, s->atoms, options->temperature);
    int failed = fill(s, v);
    free(v);
    return failed;
}

/* ---- while it runs */

int watch_check(struct watch *w, const struct system *s, const double energy[2], double moved)
{
    w->kinetic = energy[0] / (double)s->atoms;
    w->potential = energy[1] / (double)s->atoms;
    w->last = w->kinetic + w->potential;
    if (!w->checks++)
        w->first = w->last;
    w->drift = fmax(w->drift, fabs(w->last - w->first));
    w->moved = fmax(w->moved, sqrt(moved));
    /* Two atoms may have come closer by twice that distance. */
    w->stop = 2 * sqrt(moved) > SKIN ? STOP_SKIN : w->drift > s->drift_bound ? STOP_DRIFT : GO_ON;
    return w->stop != GO_ON;
}

uint64_t system_checksum(const struct system *s)
{
    uint64_t hash = 14695981039346656037u;
    for (int64_t c = 0; c < s->cell_count; c++)
        for (int i = 0; i < s->members[c].count; i++) {
            const double values[6] = {
                s->at[c].x[i],       s->at[c].y[i],       s->at[c].z[i],
                s->velocity[c].x[i], s->velocity[c].y[i], s->velocity[c].z[i]
            };
            unsigned char bytes[sizeof values + sizeof(int32_t)];
            memcpy(bytes, values, sizeof values);
            memcpy(bytes + sizeof values, &s->members[c].id[i], sizeof(int32_t));
            for (size_t b = 0; b < sizeof bytes; b++)
                hash = (hash ^ bytes[b]) * 1099511628211u;
        }
    return hash;
}
