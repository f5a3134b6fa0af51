/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `rondo`: finds the subcommand and hands it its arguments. */
#include "tools/args.h"

#include <stdio.h>
#include <string.h>

#ifndef RONDO_VERSION
#define RONDO_VERSION "unknown"
#endif

static const struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "run", "replay a task graph from a file, in both modes, and time it", command_run },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(FILE *file)
{
    fprintf(file, "usage: rondo COMMAND [OPTIONS]\n"
                  "\n"
                  "commands:\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(file, "\n"
                  "  rondo COMMAND --help   about one command\n"
                  "  rondo --version        the version\n"
                  "\n"
                  "exit status: 0 done, 1 a run failed, 2 bad input or usage\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return EXIT_BAD_INPUT;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        help(stdout);
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("rondo " RONDO_VERSION);
        return EXIT_DONE;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "rondo: '%s' is not a command (see rondo --help)\n", argv[1]);
    return EXIT_BAD_INPUT;
}
