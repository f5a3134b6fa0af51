/* SPDX-License-Identifier: BSD-3-Clause */
/* What every command says and writes the same way: complaints, files, colours, progress. */
#include "tools/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_fail(const struct cli_command *command, int status, const char *format, ...)
{
    va_list arguments;
    fflush(stdout); /* where both go to one place, what was printed before comes before */
    fprintf(stderr, "%srondo%s%s:%s ", cli_colour(stderr, CLI_RED), command ? " " : "",
            command ? command->name : "", cli_colour(stderr, CLI_PLAIN));
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

/* ---- the nearest name */

enum { WORD_MOST = 24 };

static int least(int a, int b) { return a < b ? a : b; }

/* Edit distance in which two letters that changed places are one edit (optimal string alignment).
 */
static int distance(const char *a, const char *b)
{
    int rows = (int)strlen(a), columns = (int)strlen(b);
    int d[WORD_MOST + 1][WORD_MOST + 1];
    if (rows > WORD_MOST || columns > WORD_MOST)
        return WORD_MOST;
    for (int i = 0; i <= rows; i++)
        for (int j = 0; j <= columns; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            int differ = a[i - 1] != b[j - 1];
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + differ);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[rows][columns];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    int best = WORD_MOST;
    for (int i = 0; names[i]; i++) {
        int found = distance(word, names[i]);
        if (strlen(word) > 1 && !strncmp(word, names[i], strlen(word)))
            found = 1;
        if (found < best && found <= 2 && found < (int)strlen(names[i])) {
            best = found;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- files */

FILE *cli_output(const struct cli_command *command, const char *path)
{
    if (!strcmp(path, "-"))
        return stdout;
    FILE *file = fopen(path, "w");
    if (!file)
        cli_fail(command, EXIT_RUN_FAILED, "%s: %s", path, strerror(errno));
    return file;
}

int cli_output_end(const struct cli_command *command, const char *path, FILE *file)
{
    errno = 0;
    int bad = ferror(file) != 0;
    if (file == stdout ? fflush(file) : fclose(file))
        bad = 1;
    if (!bad)
        return EXIT_DONE;
    return cli_fail(command, EXIT_RUN_FAILED, "%s: %s", path,
                    errno ? strerror(errno) : "not all could be written");
}

/* ---- terminals */

const char *cli_colour(FILE *file, enum cli_colour colour)
{
    static const char *const codes[] = { "\033[0m", "\033[1m", "\033[32m", "\033[31m", "\033[2m" };
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if ((none && *none) || !terminal || !*terminal || !strcmp(terminal, "dumb") ||
        !isatty(fileno(file)))
        return "";
    return codes[colour];
}

void cli_progress(const char *what, uint64_t done, uint64_t of)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (done == of)
        fprintf(stderr, "\r%*s\r", (int)strlen(what) + 24, "");
    else
        fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64, what, done, of);
    fflush(stderr);
}
