/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line values and the progress line. */
#include "tools/args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int args_number(const char *command, const char *option, const char *text, uint64_t least,
                uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= most; c++)
        value = value * 10 + (uint64_t)(*c - '0');
    if (c == text || *c || value < least || value > most) {
        fprintf(stderr, "rondo %s: %s: '%s' is not a number from %" PRIu64 " to %" PRIu64 "\n",
                command, option, text, least, most);
        return -1;
    }
    *number = value;
    return 0;
}

int args_choice(const char *command, const char *option, const char *text,
                const char *const *choices)
{
    for (int i = 0; choices[i]; i++)
        if (!strcmp(text, choices[i]))
            return i;
    fprintf(stderr, "rondo %s: %s: '%s' is not one of", command, option, text);
    for (int i = 0; choices[i]; i++)
        fprintf(stderr, "%s %s", i ? "," : "", choices[i]);
    fputc('\n', stderr);
    return -1;
}

void progress(const char *what, uint64_t done, uint64_t of)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (done == of)
        fprintf(stderr, "\r%*s\r", (int)strlen(what) + 24, "");
    else
        fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64, what, done, of);
    fflush(stderr);
}
