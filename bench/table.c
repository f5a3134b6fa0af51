/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of text under named columns, written as an aligned table, as CSV or as JSON. */
#include "bench/table.h"

#include "bench/support.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table {
    char *names; /* one allocation; the columns point into it */
    const char **column;
    size_t columns;
    char **cell;
    size_t cells, room;
};

int table_format_of(const char *name)
{
    static const char *const formats[] = { "table", "csv", "json" };
    for (int i = 0; i < 3; i++)
        if (strcmp(formats[i], name) == 0)
            return i;
    return -1;
}

struct table *table_make(const char *columns)
{
    struct table *t = bench_alloc(1, sizeof *t);
    t->names = bench_text("%s", columns);
    for (char *save = NULL, *name = strtok_r(t->names, ",", &save); name;
         name = strtok_r(NULL, ",", &save)) {
        t->column = bench_grow((void *)t->column, t->columns + 1, sizeof *t->column);
        t->column[t->columns++] = name;
    }
    return t;
}

void table_cell(struct table *t, const char *format, ...)
{
    va_list args;
    if (t->cells == t->room) {
        t->room = t->room * 2 + 64;
        t->cell = bench_grow((void *)t->cell, t->room, sizeof *t->cell);
    }
    va_start(args, format);
    if (vasprintf(&t->cell[t->cells], format, args) < 0)
        bench_die(BENCH_EXIT_FAILED, "no memory for a table's cell");
    va_end(args);
    t->cells++;
}

void table_number(struct table *t, double value)
{
    if (!isfinite(value))
        table_cell(t, "-");
    else
        table_cell(t, fabs(value) < 10 ? "%.2f" : fabs(value) < 100 ? "%.1f" : "%.0f", value);
}

static const char *cell_at(const struct table *t, size_t at)
{
    return at < t->cells ? t->cell[at] : "";
}

static size_t rows_of(const struct table *t) { return (t->cells + t->columns - 1) / t->columns; }

/* ---- the three forms */

static void write_aligned(const struct table *t, FILE *out)
{
    size_t *width = bench_alloc(t->columns, sizeof *width);
    for (size_t c = 0; c < t->columns; c++)
        width[c] = strlen(t->column[c]);
    for (size_t i = 0; i < t->cells; i++)
        if (strlen(t->cell[i]) > width[i % t->columns])
            width[i % t->columns] = strlen(t->cell[i]);
    for (size_t c = 0; c < t->columns; c++)
        fprintf(out, "| %-*s ", (int)width[c], t->column[c]);
    fputs("|\n", out);
    for (size_t c = 0; c < t->columns; c++) {
        fputs("| ", out);
        for (size_t i = 0; i < width[c]; i++)
            fputc('-', out);
        fputc(' ', out);
    }
    fputs("|\n", out);
    for (size_t r = 0; r < rows_of(t); r++) {
        for (size_t c = 0; c < t->columns; c++)
            fprintf(out, "| %-*s ", (int)width[c], cell_at(t, r * t->columns + c));
        fputs("|\n", out);
    }
    free(width);
}

static void write_csv_cell(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_csv(const struct table *t, FILE *out)
{
    for (size_t c = 0; c < t->columns; c++)
        fprintf(out, "%s%s", c ? "," : "", t->column[c]);
    fputc('\n', out);
    for (size_t r = 0; r < rows_of(t); r++)
        for (size_t c = 0; c < t->columns; c++) {
            write_csv_cell(cell_at(t, r * t->columns + c), out);
            fputc(c + 1 < t->columns ? ',' : '\n', out);
        }
}

static void write_json_value(const char *text, FILE *out)
{
    char *end;
    double value = strtod(text, &end);
    /* What strtod reads and JSON does not know (inf, nan, 0x, a leading + or .) stays a text. */
    if (*text && !*end && isfinite(value) && strspn(text, "-0123456789.e") == strlen(text) &&
        *text != '.') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_json(const struct table *t, FILE *out)
{
    fputs("[", out);
    for (size_t r = 0; r < rows_of(t); r++) {
        fputs(r ? ",\n {" : "\n {", out);
        for (size_t c = 0; c < t->columns; c++) {
            fprintf(out, "%s\"%s\": ", c ? ", " : "", t->column[c]);
            write_json_value(cell_at(t, r * t->columns + c), out);
        }
        fputs("}", out);
    }
    fputs("\n]\n", out);
}

void table_write(const struct table *t, enum table_format format, FILE *out)
{
    if (format == TABLE_CSV)
        write_csv(t, out);
    else if (format == TABLE_JSON)
        write_json(t, out);
    else
        write_aligned(t, out);
    fflush(out);
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->cells; i++)
        free(t->cell[i]);
    free((void *)t->cell);
    free((void *)t->column);
    free(t->names);
    free(t);
}
