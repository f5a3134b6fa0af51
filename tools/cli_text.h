/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that help, man pages and completion share. */
#ifndef RONDO_TOOLS_CLI_TEXT_H
#define RONDO_TOOLS_CLI_TEXT_H

#include "tools/cli.h"

#ifndef RONDO_VERSION
#define RONDO_VERSION "unknown"
#endif

#define CLI_SUMMARY     "record and replay graphs of tasks, and look at them"
#define CLI_EXIT_STATUS "0 done, 1 a run failed, 2 bad input or usage"
#define CLI_HELP_OPTION "this text"

/* rondo itself. */
extern const char cli_about[];
extern const char *const cli_examples[];

/* Calls `visit` for each paragraph: `length` bytes, in which line breaks are spaces. */
void cli_paragraphs(const char *text,
                    void (*visit)(void *context, const char *paragraph, size_t length),
                    void *context);

#endif
