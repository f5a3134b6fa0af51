/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line from one description: parsing, --help, man pages and shell completion are all
 * made from the same tables. */
#ifndef RONDO_TOOLS_CLI_H
#define RONDO_TOOLS_CLI_H

#include <stdint.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_RUN_FAILED = 1, EXIT_BAD_INPUT = 2 };

enum cli_kind {
    CLI_FLAG,    /* int: 1 */
    CLI_NUMBER,  /* uint64_t, from `least` to `most` */
    CLI_NUMBERS, /* struct cli_numbers: "1,2,4" or "1-8", or both; "..." doubles: "1,2,...,1024";
                    each from `least` to `most` */
    CLI_CHOICE,  /* int: the index in `choices` */
    CLI_TEXT,    /* const char *: as given */
    CLI_FILE     /* const char *: completed as a file's name */
};

enum { CLI_OPTIONS_MOST = 32, CLI_OPERANDS_MOST = 8 };

struct cli_option {
    const char *name;  /* without "--" */
    char letter;       /* 0: none */
    const char *value; /* "NS"; NULL for a flag */
    const char *help;  /* a sentence or two, wrapped when printed; says the default */
    enum cli_kind kind;
    size_t offset; /* of the field in the command's settings */
    uint64_t least, most;
    const char *const *choices; /* NULL ends them */
};

enum { CLI_NUMBERS_MOST = 64 };
struct cli_numbers {
    uint32_t count;
    uint64_t value[CLI_NUMBERS_MOST];
};

struct cli_command {
    const char *name;
    const char *operands;        /* "FILE", "IN OUT", "" */
    const char *summary;         /* one line */
    const char *text;            /* paragraphs, an empty line between them; wrapped when printed */
    const char *const *examples; /* command lines, each followed by what it does; NULL ends them */
    int operand_count;           /* at most CLI_OPERANDS_MOST */
    const struct cli_option *options; /* name NULL ends them, NULL: none; --help is added */
    /* Parses and runs; argv[0] is the command's name. Returns an exit status. */
    int (*run)(int argc, char **argv);
};

/* main.c: all of them, NULL ends them. */
extern const struct cli_command *const cli_commands[];
const struct cli_command *cli_command_named(const char *name); /* NULL: none */

/* Fills `settings`, which hold the defaults, and operands[operand_count]. Returns -1: go on; else
 * an exit status: 0 after --help, 2 after saying on stderr what is wrong. */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings,
              const char **operands);

/* Of a command; NULL: of rondo itself. */
void cli_help(const struct cli_command *command, FILE *file);
void cli_man(const struct cli_command *command, FILE *file);
void cli_completion(FILE *file); /* bash */

/* Says on stderr what is wrong, "rondo COMMAND: ..." (NULL: "rondo: ..."); returns `status`. */
int cli_fail(const struct cli_command *command, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of `names` (NULL ends them) the one that `word` was probably meant to be; NULL: none is near. */
const char *cli_nearest(const char *word, const char *const *names);

/* A file to write ("-": standard output). cli_output says on stderr why there is none and returns
 * NULL; cli_output_end closes it and returns an exit status, 1 after saying what was not written.
 */
FILE *cli_output(const struct cli_command *command, const char *path);
int cli_output_end(const struct cli_command *command, const char *path, FILE *file);

/* Colours on `file`, where it is a terminal and NO_COLOR is unset or empty: "" otherwise. */
enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_RED, CLI_DIM };
const char *cli_colour(FILE *file, enum cli_colour colour);

/* Shows how far a command is, where stderr is a terminal; `done == of` clears the line. */
void cli_progress(const char *what, uint64_t done, uint64_t of);

#endif
