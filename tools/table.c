/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays a table of text out. */
#include "tools/table.h"
#include "tools/cli.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

void table_add(struct table *table, const char *format, ...)
{
    assert(table->cells < TABLE_ROWS * table->columns);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(table->cell[table->cells++], TABLE_CELL, format, arguments);
    va_end(arguments);
}

void table_print(const struct table *table, FILE *file)
{
    int width[TABLE_COLUMNS] = { 0 };
    for (int i = 0; i < table->cells; i++) {
        int length = (int)strlen(table->cell[i]), column = i % table->columns;
        if (length > width[column])
            width[column] = length;
    }
    for (int i = 0; i < table->cells; i++) {
        int column = i % table->columns;
        int marked = table->marked && i / table->columns == table->marked;
        if (marked && !column)
            fputs(cli_colour(file, CLI_BOLD), file);
        if (column)
            fprintf(file, "  %*s", width[column], table->cell[i]);
        else
            fprintf(file, "%-*s", width[0], table->cell[i]);
        if (marked && column == table->columns - 1)
            fputs(cli_colour(file, CLI_PLAIN), file);
        if (column == table->columns - 1)
            fputc('\n', file);
    }
}
