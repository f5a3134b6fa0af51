/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text)
{
    json_t *string = json_string(text);
    char *copy;
    if (string || !(copy = strdup(text)))
        return string;
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

int json_print(const struct cli_command *command, json_t *value)
{
    if (!value)
        return cli_fail(command, EXIT_RUN_FAILED, "out of memory");
    int bad = json_dumpf(value, stdout, JSON_INDENT(2));
    json_decref(value);
    putchar('\n');
    /* What standard output does not take is said once, at the end of main. */
    return bad && !ferror(stdout) ? cli_fail(command, EXIT_RUN_FAILED, "out of memory") : EXIT_DONE;
}
