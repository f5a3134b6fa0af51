/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages and the completion that are installed, written by the program that they are about. */
#include "tools/generate.h"
#include "tools/cli.h"

#include <string.h>

static int page(const char *folder, const struct cli_command *command)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/rondo%s%s.1", folder, command ? "-" : "",
                          command ? command->name : "");
    if (length < 0 || (size_t)length >= sizeof path)
        return cli_fail(NULL, EXIT_BAD_INPUT, "%s: the name is too long", folder);
    FILE *file = cli_output(NULL, path);
    if (!file)
        return EXIT_RUN_FAILED;
    cli_man(command, file);
    return cli_output_end(NULL, path, file);
}

int generate(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "man")) {
        int status = page(argv[2], NULL);
        for (int i = 0; !status && cli_commands[i]; i++)
            status = page(argv[2], cli_commands[i]);
        return status;
    }
    if (argc == 3 && !strcmp(argv[1], "completion")) {
        FILE *file = cli_output(NULL, argv[2]);
        if (!file)
            return EXIT_RUN_FAILED;
        cli_completion(file);
        return cli_output_end(NULL, argv[2], file);
    }
    return cli_fail(NULL, EXIT_BAD_INPUT, "--generate man FOLDER, or --generate completion FILE");
}
