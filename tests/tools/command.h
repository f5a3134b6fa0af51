/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `rondo` as a shell sees it, for tests. */
#ifndef TESTS_TOOLS_COMMAND_H
#define TESTS_TOOLS_COMMAND_H

#include <stddef.h>

enum { COMMAND_ARGUMENTS = 16, COMMAND_ROOM = 1 << 20 };

/* What a run of the command wrote. */
struct command_output {
    char out[COMMAND_ROOM], err[COMMAND_ROOM];
};

/* Runs the command with these arguments ("rondo" first, NULL ends them); returns its exit status,
 * or -1 if it was killed. `stdout_path`: where its output goes instead; NULL: to output->out. */
int command_run_to(const char *const *arguments, const char *stdout_path,
                   struct command_output *output);
int command_run(const char *const *arguments, struct command_output *output);

/* RONDO_SOURCE_DIR, RONDO_BINARY_DIR. */
const char *command_folder(const char *variable);

/* A file with that text, in a place of its own; the caller unlinks it. */
void command_file(char *path, size_t room, const char *text);
/* What a file holds, as a string that the caller frees. */
char *command_read(const char *path);

#endif
