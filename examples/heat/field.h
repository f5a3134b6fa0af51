/* SPDX-License-Identifier: BSD-3-Clause */
/* A field on a grid, and the physics: one explicit step of the heat equation on a box of it. */
#ifndef HEAT_FIELD_H
#define HEAT_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* Row by row; v[y * nx + x], from 0 (cold) to 1 (hot). The outermost points never change. */
struct field {
    int64_t nx, ny;
    float *v; /* owned */
};

/* Returns 0, or -1: no memory. Ended by field_free. */
int field_make(struct field *field, int64_t nx, int64_t ny);
void field_free(struct field *field);
static inline size_t field_bytes(const struct field *field)
{
    return (size_t)(field->nx * field->ny) * sizeof(float);
}

/* A field without a picture: rings. */
void field_rings(struct field *field);

/* Fills `to` with `from`, resampled to its size. */
void field_resample(const struct field *from, struct field *to);

/* out = in after a step of length dt, in the box of nx by ny points at (x, y). Every way of running
 * the loop calls this function, so that all of them compute the same bits. */
void relax(const float *in, float *out, int64_t pitch, int64_t x, int64_t y, int64_t nx, int64_t ny,
           float dt);

/* The length of a step: short while the edges are sharp. Below 0.25 the scheme is stable. */
float step_length(int64_t step);

/* FNV-1a, 64 bits, of the field's bytes. */
uint64_t field_checksum(const float *v, size_t bytes);

#endif
