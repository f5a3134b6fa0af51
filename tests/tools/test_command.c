/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `rondo` as a shell sees it: exit statuses, and what goes to which stream. */
#include "tests/tools/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct command_output output;

static const struct {
    const char *arguments[COMMAND_ARGUMENTS];
    int status;
    const char *out, *err; /* a part of each; NULL: nothing may be there */
} cases[] = {
    { { "rondo" }, 2, NULL, "usage: rondo COMMAND" },
    { { "rondo", "--help" }, 0, "usage: rondo COMMAND", NULL },
    { { "rondo", "help" }, 0, "usage: rondo COMMAND", NULL },
    { { "rondo", "help", "run" }, 0, "usage: rondo run [OPTIONS] FILE", NULL },
    { { "rondo", "help", "rum" }, 2, NULL, "'rum' is not a command: run is\n" },
    { { "rondo", "--version" }, 0, "rondo ", NULL },
    { { "rondo", "dance" }, 2, NULL, "'dance' is not a command\n" },
    { { "rondo", "--verison" }, 2, NULL, "'--verison' is not a command: --version is\n" },
    { { "rondo", "run" }, 2, NULL, "needs FILE: 1 operand, not 0" },
    { { "rondo", "run", "--help" }, 0, "usage: rondo run [OPTIONS] FILE", NULL },
    { { "rondo", "run", "a", "b" }, 2, NULL, "needs FILE: 1 operand, not 2" },
    { { "rondo", "run", "--nonsense", "a" }, 2, NULL, "'--nonsense' is no option\n" },
    { { "rondo", "run", "--wrokers=2", "a" }, 2, NULL, "'--wrokers' is no option: --workers is\n" },
    { { "rondo", "run", "-Z", "a" }, 2, NULL, "'-Z' is no option\n" },
    { { "rondo", "run", "a", "--workers" }, 2, NULL, "--workers needs a value\n" },
    { { "rondo", "run", "a", "-w" }, 2, NULL, "--workers needs a value\n" },
    { { "rondo", "run", "a", "--help=1" }, 2, NULL, "--help takes no value\n" },
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
    { { "rondo", "run", "/" }, 2, NULL, "/: Is a directory" },
};

Test(command, exit_statuses_and_messages)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = command_run(cases[i].arguments, &output);
        const char *out = output.out, *err = output.err;
        cr_expect(status == cases[i].status, "case %zu: status %d: %s", i, status, err);
        cr_expect(cases[i].out ? strstr(out, cases[i].out) != NULL : !*out, "case %zu: out '%s'", i,
                  out);
        cr_expect(cases[i].err ? strstr(err, cases[i].err) != NULL : !*err, "case %zu: err '%s'", i,
                  err);
    }
}

Test(command, a_malformed_file_is_named_with_its_line)
{
    static const struct {
        const char *text, *reason;
    } files[] = {
        { "1\n0 0 0\n1 5 1 1\n2 0 1 1\n", ":3: task 1 names itself as a predecessor\n" },
        { "2\n0 0 0\n", ":3: tasks 1 to 3 are missing\n" },
        { "1\n0 0 0\n1 1000000000 0\n2 0 1 1\n",
          ": a replay would compute for 1000 s, more than 60 s: give a smaller --scale\n" },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64], expected[256];
        const char *scale = strstr(files[i].text, "1000000000");
        command_file(path, sizeof path, files[i].text);
        const char *arguments[] = { "rondo", "run", scale ? "--scale=1000" : "--repeat=1", path,
                                    NULL };
        int status = command_run(arguments, &output);
        snprintf(expected, sizeof expected, "%s%s", path, files[i].reason);
        cr_expect(status == 2, "case %zu: status %d", i, status);
        cr_expect(!*output.out, "case %zu: out '%s'", i, output.out);
        cr_expect(!strcmp(output.err, expected), "case %zu: '%s', not '%s'", i, output.err,
                  expected);
        unlink(path);
    }
}

/* Every combination runs, and the command itself checks that the order was right. */
Test(command, runs_a_graph_in_every_mode_and_order)
{
    static const char *const modes[] = { "--mode=interpreted", "--mode=compiled", "--mode=both" };
    static const char *const orders[] = { "--order=serial", "--order=pipelined" };
    static const char *const workers[] = { "--workers=1", "--workers=2", "--workers=5" };
    const char *out = output.out;
    char file[4096];
    snprintf(file, sizeof file, "%s/examples/graphs/small.stg", command_folder("RONDO_SOURCE_DIR"));
    for (int i = 0; i < 18; i++) {
        const char *arguments[] = { "rondo",           "run",          modes[i % 3],
                                    orders[i / 3 % 2], workers[i / 6], "--repeat=5",
                                    "--scale=50",      file,           NULL };
        int status = command_run(arguments, &output);
        cr_expect(status == 0 && !*output.err, "%s %s %s: status %d: %s", modes[i % 3],
                  orders[i / 3 % 2], workers[i / 6], status, output.err);
        cr_expect(strstr(out, "62 tasks, ") && strstr(out, "\nchecked: each of 62 tasks"),
                  "%s %s: %s", modes[i % 3], orders[i / 3 % 2], out);
        cr_expect(!strstr(out, "\ninterpreted ") == (i % 3 == 1), "%s: %s", modes[i % 3], out);
        cr_expect(!strstr(out, "\ncompiled ") == (i % 3 == 0), "%s: %s", modes[i % 3], out);
    }
}
