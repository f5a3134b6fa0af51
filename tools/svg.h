/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures as SVG, written as they are drawn. Texts may hold any bytes: what XML cannot say becomes
 * the replacement character. */
#ifndef RONDO_TOOLS_SVG_H
#define RONDO_TOOLS_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Where a text stands from its x. */
enum svg_anchor { SVG_LEFT, SVG_MIDDLE, SVG_RIGHT };

/* A white page; `title` is what a viewer names it. */
void svg_begin(FILE *file, double width, double height, const char *title);
void svg_end(FILE *file);

/* `hint` is shown under the pointer; NULL: none. `fill`, `stroke`: colours. */
void svg_rect(FILE *file, double x, double y, double width, double height, const char *fill,
              const char *hint);
void svg_circle(FILE *file, double x, double y, double radius, const char *fill, const char *hint);
void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *stroke,
              double width);
/* Through `count` points, xy[0], xy[1], ... `dash`: as "4 3", or NULL. */
void svg_path(FILE *file, const double *xy, size_t count, const char *stroke, double width,
              const char *dash);
void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, double size, const char *fill,
              const char *text);

/* The text with the characters of XML escaped. */
void svg_escape(FILE *file, const char *text);

#endif
