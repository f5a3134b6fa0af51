/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/tools/command.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *command_folder(const char *variable)
{
    const char *path = getenv(variable);
    cr_assert(path != NULL, "%s is not set: run the tests through ctest", variable);
    return path;
}

/* What a file descriptor of ours holds, as a string. */
static void read_back(FILE *file, char *text)
{
    rewind(file);
    text[fread(text, 1, COMMAND_ROOM - 1, file)] = '\0';
    fclose(file);
}

int command_run_to(const char *const *arguments, const char *stdout_path,
                   struct command_output *output)
{
    char program[4096], *argv[COMMAND_ARGUMENTS + 1] = { NULL };
    snprintf(program, sizeof program, "%s/rondo", command_folder("RONDO_BINARY_DIR"));
    for (int a = 0; a < COMMAND_ARGUMENTS && arguments[a]; a++)
        argv[a] = strdup(arguments[a]);
    FILE *to = tmpfile(), *to_err = tmpfile();
    cr_assert(to && to_err);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (!child) {
        dup2(stdout_path ? open(stdout_path, O_WRONLY) : fileno(to), STDOUT_FILENO);
        dup2(fileno(to_err), STDERR_FILENO);
        execv(program, argv);
        _exit(127);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    read_back(to, output->out);
    read_back(to_err, output->err);
    for (int a = 0; argv[a]; a++)
        free(argv[a]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int command_run(const char *const *arguments, struct command_output *output)
{
    return command_run_to(arguments, NULL, output);
}

void command_file(char *path, size_t room, const char *text)
{
    snprintf(path, room, "/tmp/rondo-test-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

char *command_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s cannot be read", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    cr_assert(text != NULL);
    text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}
