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

/* Adds the cell's kinetic and potential energy, and raises `moved`. */
void measure_cell(const struct system *s, int64_t cell, double energy[2], double *moved);

#endif
