/* SPDX-License-Identifier: BSD-3-Clause */
/* A small table of text: cells are added one by one, widths follow from them. */
#ifndef RONDO_TOOLS_TABLE_H
#define RONDO_TOOLS_TABLE_H

#include <stdio.h>

enum { TABLE_COLUMNS = 12, TABLE_ROWS = 72, TABLE_CELL = 40 };

struct table {
    int columns, cells; /* the columns are set before the first cell */
    int marked;         /* a row to show bold where there are colours; 0: none */
    char cell[TABLE_ROWS * TABLE_COLUMNS][TABLE_CELL];
};

/* Adds the next cell, row by row; text beyond the cell is cut. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first column to the left, the others to the right. */
void table_print(const struct table *table, FILE *file);

#endif
