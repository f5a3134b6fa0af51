/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of text under named columns, written as an aligned table, as CSV or as JSON. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdio.h>

enum table_format { TABLE_ALIGNED, TABLE_CSV, TABLE_JSON };

struct table;

/* "table", "csv" or "json"; -1 for anything else. */
int table_format_of(const char *name);
/* Columns are named in one text, with commas between them. Given back by table_free. */
struct table *table_make(const char *columns);
/* Adds a cell; rows fill from left to right, one after the other. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number with about three digits that matter. */
void table_number(struct table *table, double value);
/* The aligned form is also a Markdown table. An unfinished row is filled with empty cells. */
void table_write(const struct table *table, enum table_format format, FILE *out);
void table_free(struct table *table);

#endif
