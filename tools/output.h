/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is there whole or not at all: it is written beside its place and moved there. */
#ifndef RONDO_TOOLS_OUTPUT_H
#define RONDO_TOOLS_OUTPUT_H

#include "tools/cli.h"

struct output {
    const struct cli_command *command;
    FILE *file;
    char *path, *beside; /* beside: NULL where the file itself is written: "-", a device, a pipe */
};

/* `path` "-": standard output. Returns 0, or an exit status after saying why. */
int output_begin(struct output *output, const struct cli_command *command, const char *path);
/* Moves the file to its place, or, with a `status` that is not 0, removes it and returns that.
 * Returns an exit status. */
int output_end(struct output *output, int status);

/* For the writers of the library: `context` is the output's file. */
void output_put(void *context, const char *text);

#endif
