/* SPDX-License-Identifier: BSD-3-Clause */
/* A liquid of Lennard-Jones atoms in a periodic box, in reduced units: what is stored of it, how it
 * begins, and what is looked at while it runs.
 *
 * The box is cut into cells at least as wide as the range of the neighbour lists; cells are grouped
 * into blocks, boxes of cells, which are what runs in parallel. Every cell has room for a fixed
 * number of atoms, so where the atoms of a block lie never changes, and atoms move from cell to
 * cell when the lists are built anew. */
#ifndef MD_SYSTEM_H
#define MD_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

enum {
    CELL_ATOMS = 64,   /* room in a cell; in the liquid it holds 18 to 38 */
    CELL_PAIRS = 6144, /* room for neighbours of a cell's atoms */
    NEAR = 27,         /* a cell and those around it */
    NEAR_ATOMS = NEAR * CELL_ATOMS,
    REBUILD = 20, /* steps from one set of neighbour lists to the next */
    STOP_LAG = 3  /* steps that still run after the check that stops a run */
};

#define DENSITY 0.8442
#define CUTOFF  2.5 /* of the force */
#define SKIN    0.3 /* by how much farther the neighbour lists look */

/* ---- what is stored, per cell: one array of each, cell by cell, x fastest */

struct vectors {
    double x[CELL_ATOMS], y[CELL_ATOMS], z[CELL_ATOMS];
};
struct members { /* in the order of their numbers, so that every sum has one order */
    int32_t count, id[CELL_ATOMS];
};
struct force {
    struct vectors on;
    double energy; /* half of each pair's: the other half is the other atom's */
};
struct home {
    struct vectors at; /* positions when the lists were built */
    double moved;      /* the greatest squared distance from there since */
};
struct leaving { /* copies of a cell's atoms, and the cells they belong to now */
    struct members who;
    int32_t to[CELL_ATOMS];
    struct vectors at, velocity;
};
struct pairs {
    uint16_t first[CELL_ATOMS + 1]; /* of atom i: to[first[i]] up to to[first[i + 1]] */
    uint16_t to[CELL_PAIRS];        /* counted through the atoms of the cells around */
};

/* The cells around a cell, itself among them, and which image of the box each is in. */
struct near {
    int32_t cell[NEAR];
    uint8_t image[NEAR];
};

/* ---- what is looked at every REBUILD steps, just before the lists are built anew */

enum stop { GO_ON = 0, STOP_SKIN, STOP_DRIFT };

struct watch {
    int64_t checks;
    double kinetic, potential, first, last; /* energies, per atom */
    double drift;                           /* the greatest |energy - first| */
    double moved;                           /* the greatest distance between two rebuilds */
    int32_t stop;                           /* enum stop */
};

struct block {
    int64_t first[3], count[3]; /* cells */
};

struct system {
    /* Fixed. */
    int64_t fcc[3], cells[3], blocks[3]; /* per dimension */
    int64_t atoms, cell_count, block_count;
    double side[3], width[3]; /* of the box, of a cell */
    double image[NEAR][3];    /* how far away the images of the box are */
    double dt, drift_bound;
    struct near *near;
    struct block *block;
    /* What a step changes. */
    struct members *members;
    struct vectors *at, *velocity;
    struct force *force;
    struct home *home;
    struct leaving *leaving;
    struct pairs *pairs;
    struct watch *watch;
};

struct system_options {
    int64_t atoms;     /* about */
    int64_t blocks[3]; /* 0: chosen by the size and `workers` */
    int64_t workers;
    double dt, temperature, drift_bound;
};

/* Only how the box is cut, without any memory. Returns 0, or -1 after saying what does not fit. */
int system_plan(struct system *system, const struct system_options *options);

/* Atoms on a lattice, with seeded velocities and no momentum as a whole. Returns 0, or -1 after
 * saying why on stderr. Ended by system_free. */
int system_make(struct system *system, const struct system_options *options);
void system_free(struct system *system);

/* `to` is made of the same options as `from`. */
void system_copy(struct system *to, const struct system *from);

static inline int64_t system_cell(const struct system *s, int64_t x, int64_t y, int64_t z)
{
    return (z * s->cells[1] + y) * s->cells[0] + x;
}

/* Takes in the energies and the greatest squared distance that an atom moved. Returns 1 when the
 * run has to stop: an atom may have come near another that is not in its list, or the energy has
 * drifted beyond the bound. */
int watch_check(struct watch *watch, const struct system *s, const double energy[2], double moved);

/* FNV-1a, 64 bits, of all atoms' numbers, positions and velocities, cell by cell. */
uint64_t system_checksum(const struct system *s);

#endif
