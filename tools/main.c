/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `rondo`: finds the subcommand and hands it its arguments. */
#include "tools/cli_text.h"
#include "tools/commands.h"
#include "tools/generate.h"

#include <string.h>

/* clang-format off */
const struct cli_command *const cli_commands[] = {
    &command_info,
    &command_run,
    &command_compare,
    &command_sim,
    &command_timeline,
    &command_check,
    &command_dot,
    &command_convert,
    NULL,
};
/* clang-format on */

static int unknown(const char *word)
{
    const char *names[64] = { "help", "--help", "--version" }, *nearest;
    for (int i = 0; cli_commands[i] && i < 60; i++)
        names[i + 3] = cli_commands[i]->name;
    if ((nearest = cli_nearest(word, names)))
        cli_fail(NULL, EXIT_BAD_INPUT, "'%s' is not a command: %s is", word, nearest);
    else
        cli_fail(NULL, EXIT_BAD_INPUT, "'%s' is not a command", word);
    fputs("rondo --help tells the commands\n", stderr);
    return EXIT_BAD_INPUT;
}

static int help(int argc, char **argv)
{
    const struct cli_command *command = argc > 1 ? cli_command_named(argv[1]) : NULL;
    if (argc > 1 && !command)
        return unknown(argv[1]);
    cli_help(command, stdout);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    const struct cli_command *command;
    if (argc < 2) {
        cli_help(NULL, stderr);
        return EXIT_BAD_INPUT;
    }
    if ((command = cli_command_named(argv[1])))
        return command->run(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return cli_help(NULL, stdout), EXIT_DONE;
    if (!strcmp(argv[1], "help"))
        return help(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--version"))
        return puts("rondo " RONDO_VERSION), EXIT_DONE;
    if (!strcmp(argv[1], "--generate"))
        return generate(argc - 1, argv + 1);
    return unknown(argv[1]);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    if (status == EXIT_DONE)
        status =
            cli_output_end(argc > 1 ? cli_command_named(argv[1]) : NULL, "standard output", stdout);
    return status;
}
