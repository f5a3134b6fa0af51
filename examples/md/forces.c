/* SPDX-License-Identifier: BSD-3-Clause */
#include "forces.h"

#include <math.h>

const char *stage_reason(int status)
{
    switch (status) {
    case STAGE_CELL_FULL: return "more atoms in a cell than there is room for";
    case STAGE_PAIRS_FULL: return "more neighbours of a cell's atoms than there is room for";
    case STAGE_ATOM_LOST: return "an atom has moved by more than a cell between two rebuilds";
    default: return "no reason";
    }
}

int integrate_cell(const struct system *s, int64_t cell)
{
    struct vectors *restrict at = &s->at[cell], *restrict v = &s->velocity[cell];
    const struct vectors *restrict f = &s->force[cell].on, *restrict home = &s->home[cell].at;
    double dt = s->dt, half = 0.5 * s->dt, moved = s->home[cell].moved;
    for (int i = 0; i < s->members[cell].count; i++) {
        v->x[i] += half * f->x[i];
        v->y[i] += half * f->y[i];
        v->z[i] += half * f->z[i];
        at->x[i] += dt * v->x[i];
        at->y[i] += dt * v->y[i];
        at->z[i] += dt * v->z[i];
        double x = at->x[i] - home->x[i], y = at->y[i] - home->y[i], z = at->z[i] - home->z[i];
        double square = x * x + y * y + z * z;
        moved = square > moved ? square : moved;
    }
    s->home[cell].moved = moved;
    return 0;
}

int kick_cell(const struct system *s, int64_t cell)
{
    struct vectors *restrict v = &s->velocity[cell];
    const struct vectors *restrict f = &s->force[cell].on;
    double half = 0.5 * s->dt;
    for (int i = 0; i < s->members[cell].count; i++) {
        v->x[i] += half * f->x[i];
        v->y[i] += half * f->y[i];
        v->z[i] += half * f->z[i];
    }
    return 0;
}

/* ---- building lists anew */

/* Brings a coordinate back into the box, and says in which cell it is. */
static int64_t fold(double *x, double side, double width, int64_t cells)
{
    *x -= side * floor(*x / side);
    int64_t cell = (int64_t)(*x / width);
    return cell < cells ? cell : cells - 1; /* rounding may have made it `side` */
}

static int is_near(const struct near *near, int64_t cell)
{
    for (int k = 0; k < NEAR; k++)
        if (near->cell[k] == cell)
            return 1;
    return 0;
}

int leave_cell(const struct system *s, int64_t cell)
{
    struct leaving *to = &s->leaving[cell];
    const struct members *who = &s->members[cell];
    to->who = *who;
    to->velocity = s->velocity[cell];
    for (int i = 0; i < who->count; i++) {
        double x = s->at[cell].x[i], y = s->at[cell].y[i], z = s->at[cell].z[i];
        int64_t cx = fold(&x, s->side[0], s->width[0], s->cells[0]);
        int64_t cy = fold(&y, s->side[1], s->width[1], s->cells[1]);
        int64_t cz = fold(&z, s->side[2], s->width[2], s->cells[2]);
        to->at.x[i] = x;
        to->at.y[i] = y;
        to->at.z[i] = z;
        to->to[i] = (int32_t)system_cell(s, cx, cy, cz);
        if (to->to[i] != cell && !is_near(&s->near[cell], to->to[i]))
            return STAGE_ATOM_LOST;
    }
    return 0;
}

static void put(struct vectors *v, int i, const struct vectors *from, int j)
{
    v->x[i] = from->x[j];
    v->y[i] = from->y[j];
    v->z[i] = from->z[j];
}

int arrive_cell(const struct system *s, int64_t cell)
{
    struct members *who = &s->members[cell];
    struct vectors *at = &s->at[cell], *velocity = &s->velocity[cell];
    int count = 0;
    for (int k = 0; k < NEAR; k++) {
        const struct leaving *from = &s->leaving[s->near[cell].cell[k]];
        for (int j = 0; j < from->who.count; j++) {
            int i = count;
            if (from->to[j] != cell)
                continue;
            if (count++ == CELL_ATOMS)
                return STAGE_CELL_FULL;
            for (; i && who->id[i - 1] > from->who.id[j]; i--) {
                who->id[i] = who->id[i - 1];
                put(at, i, at, i - 1);
                put(velocity, i, velocity, i - 1);
            }
            who->id[i] = from->who.id[j];
            put(at, i, &from->at, j);
            put(velocity, i, &from->velocity, j);
        }
    }
    who->count = count;
    s->home[cell].at = *at;
    s->home[cell].moved = 0;
    return 0;
}

/* The atoms of the cells around one, side by side, each where its nearest image is. */
struct around {
    double x[NEAR_ATOMS], y[NEAR_ATOMS], z[NEAR_ATOMS];
    int count, own; /* where the cell's own atoms begin */
};

static void gather(const struct system *s, int64_t cell, struct around *a)
{
    const struct near *near = &s->near[cell];
    int n = 0;
    for (int k = 0; k < NEAR; k++) {
        const struct vectors *restrict at = &s->at[near->cell[k]];
        const double *shift = s->image[near->image[k]];
        int count = s->members[near->cell[k]].count;
        double *restrict x = a->x + n, *restrict y = a->y + n, *restrict z = a->z + n;
        if (k == NEAR / 2)
            a->own = n;
        for (int i = 0; i < count; i++)
            x[i] = at->x[i] + shift[0];
        for (int i = 0; i < count; i++)
            y[i] = at->y[i] + shift[1];
        for (int i = 0; i < count; i++)
            z[i] = at->z[i] + shift[2];
        n += count;
    }
    a->count = n;
}

int pair_cell(const struct system *s, int64_t cell)
{
    struct pairs *pairs = &s->pairs[cell];
    const double range = (CUTOFF + SKIN) * (CUTOFF + SKIN);
    struct around a;
    double square[NEAR_ATOMS];
    int n = 0;
    gather(s, cell, &a);
    for (int i = 0; i < s->members[cell].count; i++) {
        int self = a.own + i;
        double x = a.x[self], y = a.y[self], z = a.z[self];
        pairs->first[i] = (uint16_t)n;
        if (n + a.count > CELL_PAIRS)
            return STAGE_PAIRS_FULL;
        for (int j = 0; j < a.count; j++) {
            double dx = a.x[j] - x, dy = a.y[j] - y, dz = a.z[j] - z;
            square[j] = dx * dx + dy * dy + dz * dz;
        }
        square[self] = range; /* no neighbour of itself */
        for (int j = 0; j < a.count; j++) {
            pairs->to[n] = (uint16_t)j; /* stays if it is near; no branch to guess */
            n += square[j] < range;
        }
    }
    pairs->first[s->members[cell].count] = (uint16_t)n;
    return 0;
}

/* ---- forces. The potential is 4 (r^-12 - r^-6) up to the cutoff, shifted to end at 0. */

/* The neighbours of one atom that are within the cutoff, as differences. */
struct close {
    double x[NEAR_ATOMS], y[NEAR_ATOMS], z[NEAR_ATOMS], square[NEAR_ATOMS];
};

static int find_close(const struct around *restrict a, int self, const uint16_t *restrict to,
                      int count, struct close *restrict c)
{
    double x = a->x[self], y = a->y[self], z = a->z[self];
    int n = 0;
    for (int k = 0; k < count; k++) {
        int j = to[k];
        double dx = x - a->x[j], dy = y - a->y[j], dz = z - a->z[j];
        c->x[n] = dx;
        c->y[n] = dy;
        c->z[n] = dz;
        double square = dx * dx + dy * dy + dz * dz;
        c->square[n] = square;
        n += square < CUTOFF * CUTOFF; /* as in pair_cell */
    }
    return n;
}

int force_cell(const struct system *s, int64_t cell)
{
    const struct pairs *pairs = &s->pairs[cell];
    struct force *force = &s->force[cell];
    const double c6 = 1 / (CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF);
    struct around a;
    struct close c;
    double energy = 0;
    gather(s, cell, &a);
    for (int i = 0; i < s->members[cell].count; i++) {
        double fx = 0, fy = 0, fz = 0;
        int count = find_close(&a, a.own + i, pairs->to + pairs->first[i],
                               pairs->first[i + 1] - pairs->first[i], &c);
        for (int n = 0; n < count; n++) {
            double r2 = 1 / c.square[n], r6 = r2 * r2 * r2;
            double pull = r2 * r6 * (r6 - 0.5);
            fx += pull * c.x[n];
            fy += pull * c.y[n];
            fz += pull * c.z[n];
            energy += r6 * (r6 - 1);
        }
        energy -= count * c6 * (c6 - 1);
        force->on.x[i] = 48 * fx;
        force->on.y[i] = 48 * fy;
        force->on.z[i] = 48 * fz;
    }
    force->energy = 2 * energy; /* of the four, half is the other atoms' */
    return 0;
}

/* ---- looking */

static void measure_cell(const struct system *s, int64_t cell, double energy[2], double *moved)
{
    const struct vectors *v = &s->velocity[cell];
    double kinetic = 0;
    for (int i = 0; i < s->members[cell].count; i++)
        kinetic += v->x[i] * v->x[i] + v->y[i] * v->y[i] + v->z[i] * v->z[i];
    energy[0] += 0.5 * kinetic;
    energy[1] += s->force[cell].energy;
    if (s->home[cell].moved > *moved)
        *moved = s->home[cell].moved;
}

void measure_block(const struct system *s, const struct block *block, double energy[2],
                   double *moved)
{
    for (int64_t z = block->first[2]; z < block->first[2] + block->count[2]; z++)
        for (int64_t y = block->first[1]; y < block->first[1] + block->count[1]; y++)
            for (int64_t x = block->first[0]; x < block->first[0] + block->count[0]; x++)
                measure_cell(s, system_cell(s, x, y, z), energy, moved);
}

int measure_all(const struct system *s)
{
    double energy[2] = { 0 }, moved = 0;
    for (int64_t b = 0; b < s->block_count; b++) {
        double share[2] = { 0 };
        measure_block(s, &s->block[b], share, &moved);
        energy[0] += share[0];
        energy[1] += share[1];
    }
    return watch_check(s->watch, s, energy, moved);
}

/* ---- blocks */

int stage_block(stage_fn *stage, const struct system *s, const struct block *block)
{
    int status = 0;
    for (int64_t z = block->first[2]; z < block->first[2] + block->count[2]; z++)
        for (int64_t y = block->first[1]; y < block->first[1] + block->count[1]; y++)
            for (int64_t x = block->first[0]; x < block->first[0] + block->count[0]; x++)
                if (!status)
                    status = stage(s, system_cell(s, x, y, z));
    return status;
}
