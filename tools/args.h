/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands share: exit statuses, numbers on the command line, progress. */
#ifndef RONDO_TOOLS_ARGS_H
#define RONDO_TOOLS_ARGS_H

#include <stdint.h>

enum { EXIT_DONE = 0, EXIT_RUN_FAILED = 1, EXIT_BAD_INPUT = 2 };

/* Reads a decimal number from `least` to `most`. Returns 0, or -1 after saying on stderr what is
 * wrong with it. */
int args_number(const char *command, const char *option, const char *text, uint64_t least,
                uint64_t most, uint64_t *number);

/* The choice that `text` names, an index into `choices` (NULL ends them), or -1 likewise. */
int args_choice(const char *command, const char *option, const char *text,
                const char *const *choices);

/* Shows how far a command is, where stderr is a terminal; `done == of` clears the line. */
void progress(const char *what, uint64_t done, uint64_t of);

/* The subcommands: each gets its own argv, argv[0] being its name, and returns an exit status. */
int command_run(int argc, char **argv);

#endif
