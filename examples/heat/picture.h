/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures in and out, through libpng. */
#ifndef HEAT_PICTURE_H
#define HEAT_PICTURE_H

#include "field.h"

enum { PICTURE_SIDE = 8192 }; /* the longest side of a picture that is read */

/* Reads any PNG as grey values, and makes `field` of its size. Returns 0, or -1 after saying why on
 * stderr. Without libpng every read fails. */
int picture_read(const char *path, struct field *field);

/* Writes values, stretched to the whole colour map, black over red and yellow to white. Returns 0,
 * or -1 likewise; without libpng it writes nothing and says so. */
int picture_write(const char *path, const struct field *field);

#endif
