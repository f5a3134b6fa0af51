/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG files as fields and fields as PNG files. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef RONDO_HAVE_PNG
#include <png.h>
#include <string.h>

static int complain(const char *path, const char *message)
{
    fprintf(stderr, "heat: %s: %s\n", path, message);
    return -1;
}

int picture_read(const char *path, struct field *field)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, path))
        return complain(path, image.message);
    if (image.width > PICTURE_SIDE || image.height > PICTURE_SIDE) {
        png_image_free(&image);
        return complain(path, "larger than 8192 by 8192 points");
    }
    image.format = PNG_FORMAT_GRAY;
    png_color black = { 0, 0, 0 }; /* what shines through transparent points */
    unsigned char *grey = malloc(PNG_IMAGE_SIZE(image));
    int status = -1;
    if (!grey || field_make(field, image.width, image.height)) {
        png_image_free(&image);
        complain(path, "out of memory");
    } else if (!png_image_finish_read(&image, &black, grey, 0, NULL)) {
        field_free(field);
        complain(path, image.message);
    } else {
        for (int64_t i = 0; i < field->nx * field->ny; i++)
            field->v[i] = (float)grey[i] / 255;
        status = 0;
    }
    free(grey);
    return status;
}

/* The colour of a value from 0 to 1: linear between a few points. */
static void colour(float value, unsigned char rgb[3])
{
    static const float points[][3] = { { 4, 4, 20 },    { 70, 12, 100 },  { 165, 35, 95 },
                                       { 230, 90, 45 }, { 250, 180, 40 }, { 252, 253, 215 } };
    enum { LAST = sizeof points / sizeof points[0] - 1 };
    float at = value * LAST;
    int i = at < LAST ? (int)at : LAST - 1;
    for (int c = 0; c < 3; c++)
        rgb[c] =
            (unsigned char)(points[i][c] + (at - (float)i) * (points[i + 1][c] - points[i][c]));
}

int picture_write(const char *path, const struct field *field)
{
    int64_t points = field->nx * field->ny;
    float low = field->v[0], high = field->v[0];
    for (int64_t i = 0; i < points; i++) {
        low = field->v[i] < low ? field->v[i] : low;
        high = field->v[i] > high ? field->v[i] : high;
    }
    unsigned char *rgb = malloc((size_t)points * 3);
    if (!rgb)
        return complain(path, "out of memory");
    for (int64_t i = 0; i < points; i++)
        colour(high > low ? (field->v[i] - low) / (high - low) : 0, rgb + 3 * i);

    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)field->nx;
    image.height = (png_uint_32)field->ny;
    image.format = PNG_FORMAT_RGB;
    int written = png_image_write_to_file(&image, path, 0, rgb, 0, NULL);
    free(rgb);
    return written ? 0 : complain(path, image.message);
}

#else

int picture_read(const char *path, struct field *field)
{
    (void)field;
    fprintf(stderr, "heat: %s: built without libpng, no pictures are read\n", path);
    return -1;
}

int picture_write(const char *path, const struct field *field)
{
    (void)field;
    fprintf(stderr, "heat: built without libpng, %s is not written\n", path);
    return 0;
}

#endif
