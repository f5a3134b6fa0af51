/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of forces.c in OpenCL C: the same operations in the same order for every value that is
 * stored, no sum in another one, no multiplication and addition made one; so the bits are the same.
 * What differs is who computes: a work item for each atom (force, kick), cell or block, and that
 * the cells around one are not gathered first: lists are in ascending order, so a walk along them
 * comes from cell to cell. */
#include "device.h"

#include "forces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The structs of system.h. A long holds what an int64_t does. */
static const char common[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "struct vectors { double x[CELL_ATOMS], y[CELL_ATOMS], z[CELL_ATOMS]; };\n"
    "struct members { int count, id[CELL_ATOMS]; };\n"
    "struct force { struct vectors on; double energy; };\n"
    "struct home { struct vectors at; double moved; };\n"
    "struct leaving { struct members who; int to[CELL_ATOMS]; struct vectors at, velocity; };\n"
    "struct pairs { ushort first[CELL_ATOMS + 1], to[CELL_PAIRS]; };\n"
    "struct near { int cell[NEAR]; uchar image[NEAR]; };\n"
    "struct box { double side[3], width[3], image[NEAR][3]; long cells[3]; };\n"
    "struct block { long first[3], count[3]; };\n"
    "#define MEMBERS  __global const struct members *members\n"
    "#define AT       __global const struct vectors *at\n"
    "#define NEAR_BY  __global const struct near *near\n"
    "#define BOX      __global const struct box *box\n"
    "#define IMAGE(k, d) box->image[near[cell].image[k]][d]\n";

static const char integrate[] =
    "__kernel void integrate(MEMBERS, __global struct vectors *at,\n"
    "                        __global struct vectors *velocity,\n"
    "                        __global const struct force *force, __global struct home *home,\n"
    "                        double dt)\n"
    "{\n"
    "    size_t cell = get_global_id(0);\n"
    "    __global struct vectors *r = &at[cell], *v = &velocity[cell];\n"
    "    __global const struct vectors *f = &force[cell].on;\n"
    "    __global struct home *h = &home[cell];\n"
    "    double half_dt = 0.5 * dt, moved = h->moved;\n"
    "    for (int i = 0; i < members[cell].count; i++) {\n"
    "        v->x[i] += half_dt * f->x[i];\n"
    "        v->y[i] += half_dt * f->y[i];\n"
    "        v->z[i] += half_dt * f->z[i];\n"
    "        r->x[i] += dt * v->x[i];\n"
    "        r->y[i] += dt * v->y[i];\n"
    "        r->z[i] += dt * v->z[i];\n"
    "        double x = r->x[i] - h->at.x[i], y = r->y[i] - h->at.y[i];\n"
    "        double z = r->z[i] - h->at.z[i], square = x * x + y * y + z * z;\n"
    "        moved = square > moved ? square : moved;\n"
    "    }\n"
    "    h->moved = moved;\n"
    "}\n";

static const char kick[] = "__kernel void kick(MEMBERS, __global struct vectors *velocity,\n"
                           "                   __global const struct force *force, double dt)\n"
                           "{\n"
                           "    size_t i = get_global_id(0), cell = get_global_id(1);\n"
                           "    double half_dt = 0.5 * dt;\n"
                           "    if (i >= members[cell].count)\n"
                           "        return;\n"
                           "    velocity[cell].x[i] += half_dt * force[cell].on.x[i];\n"
                           "    velocity[cell].y[i] += half_dt * force[cell].on.y[i];\n"
                           "    velocity[cell].z[i] += half_dt * force[cell].on.z[i];\n"
                           "}\n";

static const char leave[] =
    "long fold(double *x, double side, double width, long cells)\n"
    "{\n"
    "    *x -= side * floor(*x / side);\n"
    "    long cell = (long)(*x / width);\n"
    "    return cell < cells ? cell : cells - 1;\n"
    "}\n"
    "__kernel void leave(MEMBERS, AT, __global const struct vectors *velocity,\n"
    "                    __global struct leaving *leaving, NEAR_BY, BOX, __global int *trouble)\n"
    "{\n"
    "    size_t cell = get_global_id(0);\n"
    "    __global struct leaving *to = &leaving[cell];\n"
    "    to->who = members[cell];\n"
    "    to->velocity = velocity[cell];\n"
    "    for (int i = 0; i < members[cell].count; i++) {\n"
    "        double x = at[cell].x[i], y = at[cell].y[i], z = at[cell].z[i];\n"
    "        long cx = fold(&x, box->side[0], box->width[0], box->cells[0]);\n"
    "        long cy = fold(&y, box->side[1], box->width[1], box->cells[1]);\n"
    "        long cz = fold(&z, box->side[2], box->width[2], box->cells[2]);\n"
    "        int now = (int)((cz * box->cells[1] + cy) * box->cells[0] + cx), known = 0;\n"
    "        to->at.x[i] = x;\n"
    "        to->at.y[i] = y;\n"
    "        to->at.z[i] = z;\n"
    "        to->to[i] = now;\n"
    "        for (int k = 0; k < NEAR; k++)\n"
    "            known |= near[cell].cell[k] == now;\n"
    "        if (!known)\n"
    "            *trouble = ATOM_LOST;\n"
    "    }\n"
    "}\n";

static const char arrive[] =
    "void put(__global struct vectors *v, int i, __global const struct vectors *from, int j)\n"
    "{\n"
    "    v->x[i] = from->x[j];\n"
    "    v->y[i] = from->y[j];\n"
    "    v->z[i] = from->z[j];\n"
    "}\n"
    "__kernel void arrive(__global const struct leaving *leaving, __global struct members "
    "*members,\n"
    "                     __global struct vectors *at, __global struct vectors *velocity,\n"
    "                     __global struct home *home, NEAR_BY, __global int *trouble)\n"
    "{\n"
    "    size_t cell = get_global_id(0);\n"
    "    __global struct members *who = &members[cell];\n"
    "    __global struct vectors *r = &at[cell], *v = &velocity[cell];\n"
    "    int count = 0;\n"
    "    for (int k = 0; k < NEAR; k++) {\n"
    "        __global const struct leaving *from = &leaving[near[cell].cell[k]];\n"
    "        for (int j = 0; j < from->who.count; j++) {\n"
    "            int i = count;\n"
    "            if (from->to[j] != (int)cell)\n"
    "                continue;\n"
    "            if (count == CELL_ATOMS) {\n"
    "                *trouble = CELL_FULL;\n"
    "                continue;\n"
    "            }\n"
    "            count++;\n"
    "            for (; i && who->id[i - 1] > from->who.id[j]; i--) {\n"
    "                who->id[i] = who->id[i - 1];\n"
    "                put(r, i, r, i - 1);\n"
    "                put(v, i, v, i - 1);\n"
    "            }\n"
    "            who->id[i] = from->who.id[j];\n"
    "            put(r, i, &from->at, j);\n"
    "            put(v, i, &from->velocity, j);\n"
    "        }\n"
    "    }\n"
    "    who->count = count;\n"
    "    home[cell].at = *r;\n"
    "    home[cell].moved = 0;\n"
    "}\n";

static const char pair[] =
    "__kernel void pair(MEMBERS, AT, __global struct pairs *pairs, NEAR_BY, BOX,\n"
    "                   __global int *trouble)\n"
    "{\n"
    "    size_t cell = get_global_id(0);\n"
    "    __global struct pairs *p = &pairs[cell];\n"
    "    int n = 0;\n"
    "    for (int i = 0; i < members[cell].count; i++) {\n"
    "        double x = at[cell].x[i] + IMAGE(NEAR / 2, 0);\n"
    "        double y = at[cell].y[i] + IMAGE(NEAR / 2, 1);\n"
    "        double z = at[cell].z[i] + IMAGE(NEAR / 2, 2);\n"
    "        p->first[i] = (ushort)n;\n"
    "        for (int k = 0, number = 0; k < NEAR; k++) {\n"
    "            int other = near[cell].cell[k];\n"
    "            for (int j = 0; j < members[other].count; j++, number++) {\n"
    "                double dx = at[other].x[j] + IMAGE(k, 0) - x;\n"
    "                double dy = at[other].y[j] + IMAGE(k, 1) - y;\n"
    "                double dz = at[other].z[j] + IMAGE(k, 2) - z;\n"
    "                double square = dx * dx + dy * dy + dz * dz;\n"
    "                if ((k == NEAR / 2 && j == i) || !(square < RANGE * RANGE))\n"
    "                    continue;\n"
    "                if (n < CELL_PAIRS)\n"
    "                    p->to[n++] = (ushort)number;\n"
    "                else\n"
    "                    *trouble = PAIRS_FULL;\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    p->first[members[cell].count] = (ushort)n;\n"
    "}\n";

/* A group of CELL_ATOMS work items is a cell, and gathers the atoms of the cells around it, as the
 * function of that name does. `own`: where the cell's own begin. */
static const char gather[] =
    "int gather(MEMBERS, AT, NEAR_BY, BOX, size_t cell, __local double *x, __local double *y,\n"
    "           __local double *z)\n"
    "{\n"
    "    int own = 0;\n"
    "    for (int k = 0, n = 0; k < NEAR; k++) {\n"
    "        int other = near[cell].cell[k], count = members[other].count;\n"
    "        int i = get_local_id(0);\n"
    "        if (k == NEAR / 2)\n"
    "            own = n;\n"
    "        if (i < count) {\n"
    "            x[n + i] = at[other].x[i] + IMAGE(k, 0);\n"
    "            y[n + i] = at[other].y[i] + IMAGE(k, 1);\n"
    "            z[n + i] = at[other].z[i] + IMAGE(k, 2);\n"
    "        }\n"
    "        n += count;\n"
    "    }\n"
    "    return own;\n"
    "}\n";

static const char force[] =
    "__kernel void force(MEMBERS, AT, __global const struct pairs *pairs,\n"
    "                    __global struct force *force, NEAR_BY, BOX)\n"
    "{\n"
    "    __local double x[NEAR * CELL_ATOMS], y[NEAR * CELL_ATOMS], z[NEAR * CELL_ATOMS];\n"
    "    size_t i = get_local_id(0), cell = get_group_id(1);\n"
    "    int self = gather(members, at, near, box, cell, x, y, z) + (int)i;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i < members[cell].count) {\n"
    "        double fx = 0, fy = 0, fz = 0, own_x = x[self], own_y = y[self], own_z = z[self];\n"
    "        for (int n = pairs[cell].first[i]; n < pairs[cell].first[i + 1]; n++) {\n"
    "            int j = pairs[cell].to[n];\n"
    "            double dx = own_x - x[j], dy = own_y - y[j], dz = own_z - z[j];\n"
    "            double square = dx * dx + dy * dy + dz * dz;\n"
    "            if (square < CUTOFF * CUTOFF) {\n"
    "                double r2 = 1 / square, r6 = r2 * r2 * r2, pull = r2 * r6 * (r6 - 0.5);\n"
    "                fx += pull * dx;\n"
    "                fy += pull * dy;\n"
    "                fz += pull * dz;\n"
    "            }\n"
    "        }\n"
    "        force[cell].on.x[i] = 48 * fx;\n"
    "        force[cell].on.y[i] = 48 * fy;\n"
    "        force[cell].on.z[i] = 48 * fz;\n"
    "    }\n"
    "}\n";

/* The energy that force_cell sums beside the forces: only steps that look at it pay for it here. */
static const char energy[] =
    "__kernel void energy(MEMBERS, AT, __global const struct pairs *pairs,\n"
    "                     __global struct force *force, NEAR_BY, BOX)\n"
    "{\n"
    "    __local double x[NEAR * CELL_ATOMS], y[NEAR * CELL_ATOMS], z[NEAR * CELL_ATOMS];\n"
    "    size_t cell = get_group_id(1);\n"
    "    const double c6 = 1 / (CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF);\n"
    "    int own = gather(members, at, near, box, cell, x, y, z);\n"
    "    double sum = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int i = 0; i < members[cell].count && get_local_id(0) == 0; i++) {\n"
    "        int count = 0, self = own + i;\n"
    "        for (int n = pairs[cell].first[i]; n < pairs[cell].first[i + 1]; n++) {\n"
    "            int j = pairs[cell].to[n];\n"
    "            double dx = x[self] - x[j], dy = y[self] - y[j], dz = z[self] - z[j];\n"
    "            double square = dx * dx + dy * dy + dz * dz;\n"
    "            if (square < CUTOFF * CUTOFF) {\n"
    "                double r2 = 1 / square, r6 = r2 * r2 * r2;\n"
    "                sum += r6 * (r6 - 1);\n"
    "                count++;\n"
    "            }\n"
    "        }\n"
    "        sum -= count * c6 * (c6 - 1);\n"
    "    }\n"
    "    if (get_local_id(0) == 0)\n"
    "        force[cell].energy = 2 * sum;\n"
    "}\n";

static const char measure[] =
    "__kernel void measure(MEMBERS, __global const struct vectors *velocity,\n"
    "                      __global const struct force *force, __global const struct home *home,\n"
    "                      __global const struct block *block, BOX, __global double *share)\n"
    "{\n"
    "    __global const struct block *b = &block[get_global_id(0)];\n"
    "    double energy[2] = { 0, 0 }, moved = 0;\n"
    "    for (long z = b->first[2]; z < b->first[2] + b->count[2]; z++)\n"
    "        for (long y = b->first[1]; y < b->first[1] + b->count[1]; y++)\n"
    "            for (long x = b->first[0]; x < b->first[0] + b->count[0]; x++) {\n"
    "                long cell = (z * box->cells[1] + y) * box->cells[0] + x;\n"
    "                __global const struct vectors *v = &velocity[cell];\n"
    "                double kinetic = 0;\n"
    "                for (int i = 0; i < members[cell].count; i++)\n"
    "                    kinetic += v->x[i] * v->x[i] + v->y[i] * v->y[i] + v->z[i] * v->z[i];\n"
    "                energy[0] += 0.5 * kinetic;\n"
    "                energy[1] += force[cell].energy;\n"
    "                moved = home[cell].moved > moved ? home[cell].moved : moved;\n"
    "            }\n"
    "    share += 3 * get_global_id(0);\n"
    "    share[0] = energy[0];\n"
    "    share[1] = energy[1];\n"
    "    share[2] = moved;\n"
    "}\n";

char *stages_source(void)
{
    const char *const part[] = { common, integrate, kick,  leave,  arrive,
                                 pair,   gather,    force, energy, measure };
    enum { PARTS = sizeof part / sizeof *part };
    size_t bytes = 1;
    for (int i = 0; i < PARTS; i++)
        bytes += strlen(part[i]);
    char *text = calloc(bytes, 1);
    for (int i = 0; text && i < PARTS; i++)
        strcat(text, part[i]);
    return text;
}

void stages_options(char *text, size_t room)
{
    snprintf(text, room,
             "-DCELL_ATOMS=%d -DCELL_PAIRS=%d -DNEAR=%d -DCUTOFF=%a -DRANGE=%a -DCELL_FULL=%d "
             "-DPAIRS_FULL=%d -DATOM_LOST=%d",
             CELL_ATOMS, CELL_PAIRS, NEAR, CUTOFF, CUTOFF + SKIN, STAGE_CELL_FULL, STAGE_PAIRS_FULL,
             STAGE_ATOM_LOST);
}
