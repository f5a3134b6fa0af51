/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of a time step, each on one cell. Every way of running the loop calls these functions,
 * and each writes what belongs to its own cell only: so all of them compute the same bits. */
#ifndef MD_FORCES_H
#define MD_FORCES_H

#include "system.h"

/* A stage on a cell: 0, or one of the reasons below. */
typedef int stage_fn(const struct system *s, int64_t cell);
enum { STAGE_CELL_FULL = 1, STAGE_PAIRS_FULL, STAGE_ATOM_LOST };
const char *stage_reason(int status);

stage_fn integrate_cell; /* half a step of the velocities, a step of the positions */

/* Every REBUILD steps, and each of them on all cells before the next one: atoms out of their cells,
 * atoms into the cells where they are now, neighbour lists. */
stage_fn leave_cell, arrive_cell, pair_cell;

stage_fn force_cell;
stage_fn kick_cell; /* the other half step of the velocities */

/* The same on a block: the first status that is not 0. */
int stage_block(stage_fn *stage, const struct system *s, const struct block *block);

/* Adds the block's kinetic and potential energy, and raises `moved` to the greatest squared
 * distance. */
void measure_block(const struct system *s, const struct block *block, double energy[2],
                   double *moved);
/* All blocks' shares in their order, and what watch_check says of the sums. */
int measure_all(const struct system *s);

#endif
