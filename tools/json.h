/* SPDX-License-Identifier: BSD-3-Clause */
/* What --json prints. */
#ifndef RONDO_TOOLS_JSON_H
#define RONDO_TOOLS_JSON_H

#include "tools/cli.h"

#include <jansson.h>

/* A string of any bytes: what is not UTF-8 becomes '?'. NULL: no memory. */
json_t *json_text(const char *text);

/* Prints a value on standard output and drops the reference; NULL: there was no memory for it.
 * Returns an exit status. */
int json_print(const struct cli_command *command, json_t *value);

#endif
