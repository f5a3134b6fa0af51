/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `rondo` as a shell sees it: exit statuses, and what goes to which stream. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder(const char *variable)
{
    const char *path = getenv(variable);
    cr_assert(path != NULL, "%s is not set: run the tests through ctest", variable);
    return path;
}

/* What a file descriptor of ours holds, as a string. */
static void read_back(FILE *file, char *text, size_t room)
{
    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

/* Runs the command; returns its exit status, or -1 if it was killed. */
static int run(char *const argv[], char *out, char *err, size_t room)
{
    char program[4096];
    snprintf(program, sizeof program, "%s/rondo", folder("RONDO_BINARY_DIR"));
    FILE *to = tmpfile(), *to_err = tmpfile();
    cr_assert(to && to_err);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (!child) {
        dup2(fileno(to), STDOUT_FILENO);
        dup2(fileno(to_err), STDERR_FILENO);
        execv(program, argv);
        _exit(127);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    read_back(to, out, room);
    read_back(to_err, err, room);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A file with that text, in a place of its own; the caller unlinks it. */
static void write_file(char *path, size_t room, const char *text)
{
    snprintf(path, room, "/tmp/rondo-test-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

enum { ARGUMENTS = 10 };

static const struct {
    const char *arguments[ARGUMENTS];
    int status;
    const char *out, *err; /* a part of each; NULL: nothing may be there */
} cases[] = {
    { { "rondo" }, 2, NULL, "usage: rondo COMMAND" },
    { { "rondo", "--help" }, 0, "usage: rondo COMMAND", NULL },
    { { "rondo", "--version" }, 0, "rondo ", NULL },
    { { "rondo", "dance" }, 2, NULL, "'dance' is not a command" },
    { { "rondo", "run" }, 2, NULL, "one file is needed, not 0" },
    { { "rondo", "run", "--help" }, 0, "usage: rondo run [OPTIONS] FILE.stg", NULL },
    { { "rondo", "run", "a", "b" }, 2, NULL, "one file is needed, not 2" },
    { { "rondo", "run", "--nonsense", "a" }, 2, NULL, "--nonsense" },
    { { "rondo", "run", "--workers", "0", "a" }, 2, NULL, "'0' is not a number from 1 to 1024" },
    { { "rondo", "run", "--repeat", "1e3", "a" }, 2, NULL, "'1e3' is not a number" },
    { { "rondo", "run", "--scale", "-1", "a" }, 2, NULL, "'-1' is not a number" },
    { { "rondo", "run", "--scale", "99999999999999999999", "a" }, 2, NULL, "is not a number" },
    { { "rondo", "run", "--mode", "fast", "a" },
      2,
      NULL,
      "'fast' is not one of interpreted, compiled, both" },
    { { "rondo", "run", "--order", "", "a" }, 2, NULL, "'' is not one of serial, pipelined" },
    { { "rondo", "run", "no such file" }, 2, NULL, "no such file: No such file or directory" },
    { { "rondo", "run", "/" }, 2, NULL, "/:1: Is a directory" },
};

Test(command, exit_statuses_and_messages)
{
    static char out[65536], err[65536];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[ARGUMENTS + 1] = { NULL };
        for (int a = 0; a < ARGUMENTS && cases[i].arguments[a]; a++)
            argv[a] = strdup(cases[i].arguments[a]);
        int status = run(argv, out, err, sizeof out);
        cr_expect(status == cases[i].status, "case %zu: status %d: %s", i, status, err);
        cr_expect(cases[i].out ? strstr(out, cases[i].out) != NULL : !*out, "case %zu: out '%s'", i,
                  out);
        cr_expect(cases[i].err ? strstr(err, cases[i].err) != NULL : !*err, "case %zu: err '%s'", i,
                  err);
        for (int a = 0; argv[a]; a++)
            free(argv[a]);
    }
}

Test(command, a_malformed_file_is_named_with_its_line)
{
    static char out[65536], err[65536];
    static const struct {
        const char *text, *reason;
    } files[] = {
        { "1\n0 0 0\n1 5 1 1\n2 0 1 1\n", ":3: task 1 names itself as a predecessor\n" },
        { "2\n0 0 0\n", ":3: tasks 1 to 3 are missing\n" },
        { "1\n0 0 0\n1 1000000000 0\n2 0 1 1\n",
          ": a replay would compute for 1000 s, more than 60 s: give a smaller --scale\n" },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64], expected[256], *scale = strstr(files[i].text, "1000000000");
        write_file(path, sizeof path, files[i].text);
        char *argv[] = { "rondo", "run", scale ? "--scale=1000" : "--repeat=1", path, NULL };
        int status = run(argv, out, err, sizeof out);
        snprintf(expected, sizeof expected, "%s%s", path, files[i].reason);
        cr_expect(status == 2, "case %zu: status %d", i, status);
        cr_expect(!*out, "case %zu: out '%s'", i, out);
        cr_expect(!strcmp(err, expected), "case %zu: '%s', not '%s'", i, err, expected);
        unlink(path);
    }
}

/* Every combination runs, and the command itself checks that the order was right. */
Test(command, runs_a_graph_in_every_mode_and_order)
{
    static char out[65536], err[65536];
    static const char *const modes[] = { "--mode=interpreted", "--mode=compiled", "--mode=both" };
    static const char *const orders[] = { "--order=serial", "--order=pipelined" };
    static const char *const workers[] = { "--workers=1", "--workers=2", "--workers=5" };
    char file[4096];
    snprintf(file, sizeof file, "%s/examples/graphs/small.stg", folder("RONDO_SOURCE_DIR"));
    for (int i = 0; i < 18; i++) {
        const char *arguments[] = { "rondo",        "run",        modes[i % 3], orders[i / 3 % 2],
                                    workers[i / 6], "--repeat=5", "--scale=50", file };
        char *argv[9] = { NULL };
        for (int a = 0; a < 8; a++)
            argv[a] = strdup(arguments[a]);
        int status = run(argv, out, err, sizeof out);
        cr_expect(status == 0 && !*err, "%s %s %s: status %d: %s", modes[i % 3], orders[i / 3 % 2],
                  workers[i / 6], status, err);
        cr_expect(strstr(out, "62 tasks, ") && strstr(out, "\nchecked: each of 62 tasks"),
                  "%s %s: %s", modes[i % 3], orders[i / 3 % 2], out);
        cr_expect(!strstr(out, "\ninterpreted ") == (i % 3 == 1), "%s: %s", modes[i % 3], out);
        cr_expect(!strstr(out, "\ncompiled ") == (i % 3 == 0), "%s: %s", modes[i % 3], out);
        for (int a = 0; argv[a]; a++)
            free(argv[a]);
    }
}
