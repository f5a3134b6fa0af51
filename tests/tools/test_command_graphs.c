/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that read graph files (run, compare, check, convert, dot) as a shell sees them. */
#include "tests/tools/command.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct command_output output;

static int run(const char *a, const char *b, const char *c, const char *d)
{
    const char *arguments[] = { "rondo", a, b, c, d, NULL };
    return command_run(arguments, &output);
}

static const char *small(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/examples/graphs/small.stg", command_folder("RONDO_SOURCE_DIR"));
    return path;
}

static json_t *output_json(void)
{
    json_error_t e;
    json_t *root = json_loads(output.out, JSON_REJECT_DUPLICATES, &e);
    cr_assert(root != NULL, "%d:%d: %s: %s", e.line, e.column, e.text, output.out);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "'%s' is no number", key);
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    cr_assert(value != NULL, "'%s' is no text", key);
    return value;
}

/* ---- bad input, whatever the command */

static const char *const commands[] = { "run", "compare", "check", "dot" };
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct {
    const char *text, *reason;
} files[] = {
    { "", ":1: the file is empty\n" },
    { "\n\n  x", ":3: unexpected character 'x'\n" },
    { "\n1\n0 0 0\n1 5 1 1\n2 0 1 1\n", ":4: task 1 names itself as a predecessor\n" },
    { "\n {\"workflow\": [}", ":2:16: no JSON: " },
    { "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"parents\": [\"b\"]}]}}",
      ": task 'a' names parent 'b', which is no task, or several\n" },
    { "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"parents\": [\"b\"]}, {\"name\": \"b\", "
      "\"parents\": [\"a\"]}]}}",
      ": tasks wait for each other: a -> b -> a\n" },
    { "\xef\xbb\xbf", ":1: unexpected byte 0xef: not a text file\n" },
};

Test(command_graphs, bad_files_are_named_with_place_and_reason)
{
    for (size_t i = 0; i < COMMANDS * (sizeof files / sizeof files[0]); i++) {
        char path[64], expected[256];
        size_t f = i / COMMANDS;
        command_file(path, sizeof path, files[f].text);
        int status = run(commands[i % COMMANDS], path, NULL, NULL);
        snprintf(expected, sizeof expected, "%s%s", path, files[f].reason);
        cr_expect(status == 2 && !*output.out, "%s %zu: %d '%s'", commands[i % COMMANDS], f, status,
                  output.out);
        cr_expect(!strncmp(output.err, expected, strlen(expected)), "%s %zu: '%s', not '%s'",
                  commands[i % COMMANDS], f, output.err, expected);
        unlink(path);
    }
}

Test(command_graphs, what_is_no_file_is_refused)
{
    static const struct {
        const char *path, *reason;
    } paths[] = {
        { "/", "/: Is a directory\n" },
        { "no such file", "no such file: No such file or directory\n" },
        { "/dev/null", "/dev/null:1: the file is empty\n" },
        { "/dev/zero", "/dev/zero:1: unexpected byte 0x00: not a text file\n" },
        { "/dev/full", "/dev/full:1: unexpected byte 0x00: not a text file\n" },
        { "\x1b[31m", "?[31m: No such file or directory\n" },
    };
    for (size_t i = 0; i < COMMANDS * (sizeof paths / sizeof paths[0]); i++) {
        size_t p = i / COMMANDS;
        int status = run(commands[i % COMMANDS], paths[p].path, NULL, NULL);
        cr_expect(status == 2 && !*output.out, "%s %zu: %d", commands[i % COMMANDS], p, status);
        cr_expect(!strcmp(output.err, paths[p].reason), "%s %zu: '%s'", commands[i % COMMANDS], p,
                  output.err);
    }
}

Test(command_graphs, standard_input_is_read)
{
    cr_assert(freopen(small(), "r", stdin) != NULL);
    cr_expect(run("check", "-", NULL, NULL) == 0, "%s", output.err);
    cr_expect(!strncmp(output.out, "-: stg, 62 nodes, 124 edges, ", 29), "%s", output.out);
    cr_assert(freopen("/", "r", stdin) != NULL);
    cr_expect(run("check", "-", NULL, NULL) == 2);
    cr_expect(!strcmp(output.err, "standard input: Is a directory\n"), "%s", output.err);
}

/* ---- run and compare */

Test(command_graphs, run_says_it_as_json)
{
    static const char *const names[] = { "in order", "interpreted", "compiled" };
    const char *arguments[] = { "rondo",      "run",        "--json",
                                "--repeat=3", "--scale=50", "--schedule=static",
                                small(),      NULL };
    cr_assert(command_run(arguments, &output) == 0, "%s", output.err);
    json_t *root = output_json(), *rows = json_object_get(root, "rows");
    cr_expect(number(root, "nodes") == 62 && number(root, "edges") == 124);
    cr_expect(number(root, "work_ns") == 863 * 50 && number(root, "critical_path_ns") == 213 * 50);
    cr_expect(number(root, "scale") == 50 && number(root, "samples") == 3);
    cr_expect(!strcmp(text(root, "format"), "stg") && !strcmp(text(root, "schedule"), "static"));
    cr_expect(number(root, "replays_checked") == 2 * 3 * 3);
    cr_assert(json_array_size(rows) == 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);
        cr_expect(!strcmp(text(row, "name"), names[i]));
        cr_expect(number(row, "min_ns") > 0 && number(row, "min_ns") <= number(row, "median_ns"));
        cr_expect(!i || number(row, "speedup") > 0);
    }
    json_decref(root);
}

Test(command_graphs, run_knows_every_schedule_and_order)
{
    static const char *const schedules[] = { "--schedule=auto", "--schedule=static",
                                             "--schedule=dataflow" };
    static const char *const orders[] = { "--order=serial", "--order=pipelined",
                                          "--order=concurrent" };
    for (int i = 0; i < 9; i++) {
        const char *arguments[] = { "rondo",      "run",   schedules[i % 3], orders[i / 3],
                                    "--repeat=3", small(), "--scale=50",     NULL };
        int status = command_run(arguments, &output);
        cr_expect(status == 0 && !*output.err, "%s %s: %d %s", schedules[i % 3], orders[i / 3],
                  status, output.err);
        cr_expect(strstr(output.out, "\nchecked: each of 62 tasks") != NULL, "%s", output.out);
    }
}

Test(command_graphs, a_long_workflow_is_scaled_down)
{
    char path[64];
    command_file(path, sizeof path,
                 "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": 30},"
                 "{\"name\": \"b\", \"runtime\": 50, \"parents\": [\"a\"]}]}}");
    cr_expect(run("run", "--repeat=2", path, NULL) == 0, "%s", output.err);
    cr_expect(strstr(output.out, "serial sum 5000.0 us\nscaled down 1.6e+04 times, ") != NULL, "%s",
              output.out);
    cr_expect(run("run", "--scale=1000", path, NULL) == 2);
    cr_expect(strstr(output.err, ": a replay would compute for 80 s, more than 60 s: give a "
                                 "smaller --scale\n") != NULL,
              "%s", output.err);
    cr_expect(run("run", "--repeat=2", "--scale=0", path) == 0, "%s", output.err);
    unlink(path);
}

static size_t count_of(const char *in, const char *what)
{
    size_t count = 0;
    for (const char *at = in; (at = strstr(at, what)); at++)
        count++;
    return count;
}

Test(command_graphs, compare_marks_one_way)
{
    static const char *const ways[] = {
        "\nin order, one thread ",       "\ninterpreted ",
        "\ncompiled, static, serial ",   "\ncompiled, static, pipelined ",
        "\ncompiled, dataflow, serial ", "\ncompiled, dataflow, pipelined ",
        "\ncompiled, auto, serial ",     "\ncompiled, auto, pipelined ",
    };
    cr_assert(run("compare", "--seconds=1", "--scale=100", small()) == 0, "%s", output.err);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        cr_expect(count_of(output.out, ways[i]) == 1, "%s: %s", ways[i], output.out);
    cr_expect(count_of(output.out, "  *\n") == 1, "%s", output.out);
    cr_expect(strchr(output.out, '\x1b') == NULL, "no colours where there is no terminal");
}

Test(command_graphs, compare_says_it_as_json)
{
    const char *arguments[] = { "rondo",       "compare", "--seconds=1", "--scale=100",
                                "--workers=3", "--json",  small(),       NULL };
    cr_assert(command_run(arguments, &output) == 0, "%s", output.err);
    json_t *root = output_json(), *rows = json_object_get(root, "rows");
    cr_assert(json_array_size(rows) == 8);
    cr_expect(number(root, "turns") >= 3 && number(root, "processors") == 3);
    double best = 0;
    for (size_t i = 0; i < 8; i++) {
        const json_t *row = json_array_get(rows, i);
        cr_expect(number(row, "min_ns") > 0 && number(row, "of_best") >= 1);
        if (json_is_true(json_object_get(row, "best"))) {
            cr_expect(best <= 0 && number(row, "of_best") <= 1);
            best = number(row, "min_ns");
        }
    }
    for (size_t i = 0; i < 8; i++)
        cr_expect(number(json_array_get(rows, i), "min_ns") >= best);
    cr_expect(best > 0, "one is the best");
    json_decref(root);
}

/* ---- check */

Test(command_graphs, check_tells_hints_and_is_content)
{
    cr_expect(run("check", small(), NULL, NULL) == 0 && !*output.err, "%s", output.err);
    cr_expect(strstr(output.out, ": stg, 62 nodes, 124 edges, 0 of them carried: fine\n") != NULL,
              "%s", output.out);
    cr_expect(strstr(output.out, "at most 4.05 times faster") != NULL, "%s", output.out);
    cr_expect(strstr(output.out, "hint: 10 of 124 edges") != NULL, "%s", output.out);
    cr_expect(run("check", "--json", small(), NULL) == 0);
    json_t *root = output_json(), *hints = json_object_get(root, "hints");
    cr_expect(json_is_true(json_object_get(root, "fine")) && !json_object_get(root, "error"));
    cr_assert(json_array_size(hints) == 1);
    cr_expect(!strcmp(text(json_array_get(hints, 0), "kind"), "redundant_edges"));
    cr_expect(number(json_array_get(hints, 0), "count") == 10);
    json_decref(root);
}

/* ---- recordings */

#define SLOT(kind)                                                                          \
    "\"slots\": [{\"name\": \"s\", \"kind\": \"" kind "\", \"shape\": {\"elem_bytes\": 8, " \
    "\"extent\": [4]}}]"
#define TOUCH(name, mode)                    \
    "{\"kind\": \"task\", \"name\": \"" name \
    "\", \"accesses\": [{\"slot\": \"s\", \"mode\": \"" mode "\"}]}"

static const struct {
    const char *text, *wrong, *mend; /* mend: NULL: it cannot be read at all */
} recordings[] = {
    { "{", "line 1", NULL },
    { "{}", "'rondo' is missing", NULL },
    { "[1]", "line 1, column 1: '[' where '{' is expected", NULL },
    { "{\"rondo\": 2, \"nodes\": []}", "line 1", NULL },
    { "{\"rondo\": 1,\n\"nodes\": [\n{\"kind\": \"task\", \"nme\": 1}]}", "line 3: nodes[0]: 'nme'",
      NULL },
    { "{\"rondo\": 1, \"nodes\": []}", "has no nodes", "record a task" },
    { "{\"rondo\": 1, \"edges_explicit\": true, \"nodes\": [{\"kind\": \"task\", \"name\": \"a\"}, "
      "{\"kind\": \"task\", \"name\": \"b\"}], \"edges\": [{\"from\": 0, \"to\": 1}, {\"from\": 1, "
      "\"to\": 0}]}",
      "cycle: a -> b -> a", "take one of these edges away" },
    { "{\"rondo\": 1, \"edges_explicit\": true, " SLOT("bound") ", \"nodes\": [" TOUCH(
          "a", "write") ", " TOUCH("b", "read") "]}",
      "nodes 'a' and 'b' are not ordered by edges; both access slot 's'", "give an edge between" },
    { "{\"rondo\": 1, " SLOT("temporary") ", \"nodes\": [" TOUCH("a", "read") "]}",
      "node 'a': access 0 reads slot 's', which is RONDO_TEMPORARY", "write the slot before" },
};

Test(command_graphs, check_says_what_is_wrong_and_how_to_mend_it)
{
    for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
        char path[64];
        command_file(path, sizeof path, recordings[i].text);
        cr_expect(run("check", path, NULL, NULL) == 2 && !*output.out, "case %zu", i);
        cr_expect(strstr(output.err, recordings[i].wrong) != NULL, "case %zu: %s", i, output.err);
        cr_expect(!strncmp(output.err, path, strlen(path)), "case %zu: %s", i, output.err);
        if (recordings[i].mend) {
            cr_expect(strstr(output.err, "\n  mend: ") != NULL &&
                          strstr(output.err, recordings[i].mend) != NULL,
                      "case %zu: %s", i, output.err);
            cr_expect(run("check", "--json", path, NULL) == 2, "case %zu", i);
            json_t *root = output_json();
            cr_expect(json_is_false(json_object_get(root, "fine")));
            cr_expect(strstr(text(root, "error"), recordings[i].wrong) != NULL, "case %zu", i);
            cr_expect(strstr(text(root, "mend"), recordings[i].mend) != NULL, "case %zu", i);
            json_decref(root);
        }
        cr_expect(run("run", "--repeat=1", path, NULL) == 2 && !*output.out, "case %zu", i);
        cr_expect(strstr(output.err, recordings[i].wrong) != NULL, "case %zu: %s", i, output.err);
        unlink(path);
    }
}

static const char *stencil(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/examples/graphs/stencil.json",
             command_folder("RONDO_SOURCE_DIR"));
    return path;
}

Test(command_graphs, a_recording_runs_in_every_order)
{
    static const char *const orders[] = { "--order=serial", "--order=pipelined" };
    static const char *const schedules[] = { "--schedule=static", "--schedule=dataflow" };
    for (int i = 0; i < 4; i++) {
        const char *arguments[] = { "rondo",      "run",        orders[i % 2], schedules[i / 2],
                                    "--repeat=3", "--scale=50", stencil(),     NULL };
        int status = command_run(arguments, &output);
        cr_expect(status == 0 && !*output.err, "%d: %s", i, output.err);
        cr_expect(strstr(output.out, "\nchecked: each of 12 tasks without a condition ran once "
                                     "in each of ") != NULL,
                  "%s", output.out);
        cr_expect(strstr(output.out, "1 slot or parameter that every replay must give") != NULL);
    }
    cr_expect(run("run", "--order=concurrent", stencil(), NULL) == 2);
    cr_expect(strstr(output.err, "slot 'residual', which is not bound per replay") != NULL, "%s",
              output.err);
}

Test(command_graphs, a_recording_is_compared)
{
    cr_expect(run("compare", "--seconds=1", "--scale=50", stencil()) == 0, "%s", output.err);
    cr_expect(count_of(output.out, "  *\n") == 1, "%s", output.out);
}

Test(command_graphs, a_recording_comes_back_as_it_was)
{
    char first[64];
    snprintf(first, sizeof first, "/tmp/rondo-test-%d.json", (int)getpid());
    cr_expect(run("convert", stencil(), first, NULL) == 0 && !*output.out, "%s", output.err);
    cr_expect(run("convert", first, "-", "--to=json") == 0, "%s", output.err);
    char *before = command_read(first);
    cr_expect(strstr(before, "\"stencil step\"") && !strcmp(before, output.out));
    free(before);
    unlink(first);
    cr_expect(run("convert", stencil(), "-", "--to=stg") == 2 && !*output.out);
    cr_expect(strstr(output.err, "no .stg file can hold it: node 'clear' is a fill") != NULL, "%s",
              output.err);
}

/* Counters that nobody raises, an event, a call, slots and parameters left to each replay. */
Test(command_graphs, what_a_recording_leaves_open_is_given)
{
    char path[64];
    command_file(
        path, sizeof path,
        "{\"rondo\": 1, " SLOT(
            "bound") ", \"params\": [{\"name\": \"p\", \"bytes\": 8}, {\"name\": "
                     "\"e\", \"bytes\": 16}], \"nodes\": [\n" TOUCH(
                         "a", "write") ",\n"
                                       "{\"kind\": \"call\", \"name\": \"c\"},\n"
                                       "{\"kind\": \"wait\", \"name\": \"w\", \"counter\": 3, "
                                       "\"first\": 7, \"step\": 1},\n"
                                       "{\"kind\": \"wait\", \"name\": \"v\", \"event\": \"e\"},\n"
                                       "{\"kind\": \"signal\", \"counter\": 3, \"first\": 8, "
                                       "\"step\": 1, \"after\": [2]},\n"
                                       "{\"kind\": \"task\", \"name\": \"z\", \"params\": [\"p\"], "
                                       "\"after\": [2, 3], \"when\": "
                                       "[{\"param\": \"p\"}]}]}");
    cr_expect(run("run", "--repeat=3", path, NULL) == 0, "%s", output.err);
    cr_expect(strstr(output.out, "\nchecked: each of 1 tasks without a condition ") != NULL, "%s",
              output.out);
    cr_expect(strstr(output.out, "\n3 slots and parameters that every replay must give got ") !=
                  NULL,
              "%s", output.out);
    cr_expect(strstr(output.out, "\n1 counter began at the greatest value") != NULL, "%s",
              output.out);
    cr_expect(run("check", path, NULL, NULL) == 0, "%s", output.err);
    cr_expect(strstr(output.out, "hint: 1 counter is waited for or raised") != NULL, "%s",
              output.out);
    unlink(path);
}

/* ---- convert and dot */

/* Without blanks at the beginning of lines, runs of them as one, and comments. */
static void squeeze(char *stg)
{
    char *to = stg;
    for (const char *from = stg; *from && *from != '#'; from++)
        if (*from != ' ' || (to > stg && to[-1] != '\n' && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

Test(command_graphs, convert_keeps_a_stg_file)
{
    char *before = command_read(small()), json[64];
    snprintf(json, sizeof json, "/tmp/rondo-test-%d.json", (int)getpid());
    cr_expect(run("convert", small(), json, NULL) == 0 && !*output.out, "%s", output.err);
    cr_assert(run("convert", json, "-", "--to=stg") == 0, "%s", output.err);
    squeeze(before);
    squeeze(output.out);
    cr_expect(!strcmp(before, output.out), "%s became %s", before, output.out);
    unlink(json);
    free(before);
}

Test(command_graphs, convert_and_dot_write_the_same_picture)
{
    static struct command_output other;
    const char *arguments[] = { "rondo", "dot", small(), NULL };
    cr_expect(run("convert", small(), "-", "--to=dot") == 0, "%s", output.err);
    cr_expect(command_run(arguments, &other) == 0, "%s", other.err);
    cr_expect(!strncmp(output.out, "digraph ", 8) && !strcmp(output.out, other.out));
    cr_expect(count_of(output.out, " -> ") == 124);
}

Test(command_graphs, convert_says_what_it_cannot_do)
{
    static const struct {
        const char *arguments[COMMAND_ARGUMENTS];
        int status;
        const char *err;
    } cases[] = {
        { { "rondo", "convert", "a.stg" }, 2, "needs IN OUT: 2 operands, not 1" },
        { { "rondo", "convert", "a.stg", "a.png" },
          2,
          "'a.png' ends in none of .stg, .json, .dot" },
        { { "rondo", "convert", "a.stg", "-" }, 2, "'-' ends in none of" },
        { { "rondo", "convert", "a.stg", "-", "--to=png" },
          2,
          "'png' is not one of stg, json, dot" },
        { { "rondo", "convert", "/", "/tmp/x.dot" }, 2, "/: Is a directory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = command_run(cases[i].arguments, &output);
        cr_expect(status == cases[i].status && !*output.out, "case %zu: %d", i, status);
        cr_expect(strstr(output.err, cases[i].err) != NULL, "case %zu: %s", i, output.err);
    }
}

/* What was there stays, and nothing is left beside it. */
Test(command_graphs, a_file_is_replaced_whole_or_not_at_all)
{
    char folder[] = "/tmp/rondo-test-XXXXXX", path[64], link[64];
    struct stat now;
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/a.dot", folder);
    snprintf(link, sizeof link, "%s/b.dot", folder);
    cr_assert(symlink(path, link) == 0);
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs("old", file) >= 0 && !fclose(file) && !chmod(path, 0640));

    cr_expect(run("convert", "/dev/null", path, NULL) == 2);
    char *text_now = command_read(path);
    cr_expect(!strcmp(text_now, "old"));
    free(text_now);

    cr_expect(run("dot", small(), "-o", link) == 0, "%s", output.err);
    text_now = command_read(path);
    cr_expect(!strncmp(text_now, "digraph ", 8));
    free(text_now);
    cr_expect(!lstat(link, &now) && S_ISLNK(now.st_mode), "the link is still one");
    cr_expect(!stat(path, &now) && (now.st_mode & 0777) == 0640);

    unlink(path);
    unlink(link);
    cr_expect(rmdir(folder) == 0, "something was left in %s", folder);
    cr_expect(run("dot", small(), "-o", path) == 1, "no such folder");
    cr_expect(strstr(output.err, ": No such file or directory\n") != NULL, "%s", output.err);
}

Test(command_graphs, what_cannot_be_written_is_a_failure)
{
    const char *arguments[] = { "rondo", "dot", small(), NULL };
    cr_expect(command_run_to(arguments, "/dev/full", &output) == 1);
    cr_expect(strstr(output.err, "No space left on device") != NULL, "%s", output.err);
    cr_expect(run("convert", small(), "/dev/full", "--to=dot") == 1);
    cr_expect(strstr(output.err, "/dev/full: No space left on device\n") != NULL, "%s", output.err);
    struct stat now;
    cr_expect(!stat("/dev/full", &now) && S_ISCHR(now.st_mode), "a device is not replaced");
}
