/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that say and show: info, sim, timeline; the pages and the completion. */
#include "tests/tools/command.h"
#include "tests/tools/xml.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command_output output;

#define ARGUMENTS(...) ((const char *const[]){ "rondo", __VA_ARGS__, NULL })

static void run_ok(const char *const *arguments)
{
    int status = command_run(arguments, &output);
    cr_assert(status == 0 && !*output.err, "%s %s: status %d: %s", arguments[1],
              arguments[2] ? arguments[2] : "", status, output.err);
}

static json_t *run_json(const char *const *arguments)
{
    json_error_t error;
    run_ok(arguments);
    json_t *value = json_loads(output.out, 0, &error);
    cr_assert(value != NULL, "%s: %s: %s", arguments[1], error.text, output.out);
    return value;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s is no number", key);
    return json_number_value(value);
}

static const char *small_graph(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/examples/graphs/small.stg", command_folder("RONDO_SOURCE_DIR"));
    return path;
}

/* Names that a page or a picture could stumble over. */
static const char hostile_workflow[] =
    "{\"name\":\"w\",\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":["
    "{\"name\":\"<script>alert(1)</script>\",\"id\":\"a\",\"parents\":[],\"children\":[\"b\"]},"
    "{\"name\":\"]]>&\\\"'\\u00e9\",\"id\":\"b\",\"parents\":[\"a\"],\"children\":[]}]},"
    "\"execution\":{\"makespanInSeconds\":2,\"executedAt\":\"x\",\"tasks\":["
    "{\"id\":\"a\",\"runtimeInSeconds\":0.01},{\"id\":\"b\",\"runtimeInSeconds\":0.01}]}}}";

/* ---- info */

Test(command_info, says_what_there_is)
{
    run_ok(ARGUMENTS("info"));
    static const char *const lines[] = { "devices ",   "machine ", "memory ",    "runtime ",
                                         "hand-over ", "backends", "cpu ",       "cuda ",
                                         "mpi ",       "opencl ",  "not part of" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_expect_not_null(strstr(output.out, lines[i]), "%s: %s", lines[i], output.out);
    cr_expect_null(strchr(output.out, '\033'), "colours where there is no terminal");
}

Test(command_info, json_says_the_same)
{
    json_t *info = run_json(ARGUMENTS("info", "--json"));
    cr_expect_geq(number(info, "cpus"), number(info, "cpus_allowed"));
    cr_expect_geq(number(info, "memory_bytes"), 1 << 20);
    cr_expect_geq(json_array_size(json_object_get(info, "processors")), 1u);
    cr_expect_geq(json_array_size(json_object_get(info, "backends")), 5u);
    cr_expect(json_is_array(json_object_get(info, "devices")));
    json_decref(info);
}

Test(command_info, the_environment_with_what_is_set)
{
    setenv("RONDO_STALL_S", "17", 1);
    setenv("RONDO_TRACE", "a\"b\\\xff", 1);
    run_ok(ARGUMENTS("info", "--env"));
    cr_expect_not_null(strstr(output.out, "RONDO_STALL_S=17\n"), "%s", output.out);
    cr_expect_not_null(strstr(output.out, "RONDO_VERIFY (not set)\n"), "%s", output.out);
    json_t *variables = run_json(ARGUMENTS("info", "--env", "--json")), *variable;
    size_t i, seen = 0;
    json_array_foreach(variables, i, variable)
    {
        const char *name = json_string_value(json_object_get(variable, "name"));
        const json_t *value = json_object_get(variable, "value");
        if (!strcmp(name, "RONDO_STALL_S"))
            seen += !strcmp(json_string_value(value), "17");
        else if (!strcmp(name, "RONDO_TRACE"))
            seen += !strcmp(json_string_value(value), "a\"b\\?");
        else
            seen += json_is_null(value) ? 10 : 0;
        cr_expect(*json_string_value(json_object_get(variable, "help")));
    }
    cr_expect_eq(seen, 2 + 10 * (json_array_size(variables) - 2));
    json_decref(variables);
    unsetenv("RONDO_STALL_S");
    unsetenv("RONDO_TRACE");
}

/* ---- a full disk */

Test(command_info, a_full_disk_fails)
{
    if (access("/dev/full", W_OK))
        return;
    static const char *const commands[][5] = {
        { "rondo", "info" },   { "rondo", "info", "--json" }, { "rondo", "info", "--env" },
        { "rondo", "--help" }, { "rondo", "help", "sim" },    { "rondo", "--version" },
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        cr_expect_eq(command_run_to(commands[i], "/dev/full", &output), 1, "case %zu", i);
        cr_expect_not_null(strstr(output.err, "standard output: No space left on device"),
                           "case %zu: %s", i, output.err);
    }
    cr_expect_eq(command_run(ARGUMENTS("sim", small_graph(), "--plot", "/dev/full"), &output), 1);
    cr_expect_not_null(strstr(output.err, "/dev/full: No space left"), "%s", output.err);
    cr_expect_eq(command_run(ARGUMENTS("sim", small_graph(), "--plot", "/no/such/x"), &output), 1);
    cr_expect_not_null(strstr(output.err, "/no/such/x: No such file"), "%s", output.err);
}

/* ---- sim */

Test(command_sim, rows_keep_the_laws)
{
    json_t *sim = run_json(ARGUMENTS("sim", small_graph(), "--json", "--handover", "100")), *row;
    double work = number(sim, "work_ns"), critical = number(sim, "critical_path_ns");
    size_t i;
    cr_expect_eq(json_array_size(json_object_get(sim, "rows")), 11u);
    cr_expect_eq(number(sim, "handover_ns"), 100);
    json_array_foreach(json_object_get(sim, "rows"), i, row)
    {
        double processors = number(row, "processors"), makespan = number(row, "makespan_ns"),
               bound = number(row, "bound_ns"), speedup = number(row, "speedup");
        cr_expect_eq(processors, (double)(1u << i));
        cr_expect_eq(bound, fmax(critical, work / processors));
        cr_expect_geq(makespan, bound - 1);
        cr_expect_float_eq(speedup, work / makespan, 1e-9);
        cr_expect_float_eq(number(row, "efficiency"), speedup / processors, 1e-9);
        cr_expect_float_eq(number(row, "of_bound"), bound / makespan, 1e-9);
        cr_expect_leq(number(row, "processors_used"), processors);
        if (i == 0)
            cr_expect(makespan == work && number(row, "handovers") == 0);
    }
    json_decref(sim);
}

Test(command_sim, times_scale_and_lists_are_as_asked)
{
    json_t *one = run_json(ARGUMENTS("sim", small_graph(), "--json", "-p", "3", "--handover=0"));
    json_t *ten = run_json(
        ARGUMENTS("sim", small_graph(), "--json", "-p", "3,3", "--handover=0", "--scale=10000"));
    const json_t *few = json_array_get(json_object_get(one, "rows"), 0);
    const json_t *many = json_array_get(json_object_get(ten, "rows"), 1);
    cr_expect_eq(json_array_size(json_object_get(ten, "rows")), 2u);
    /* But for tasks of no time, which count as one nanosecond. */
    cr_expect_float_eq(number(ten, "work_ns") / number(one, "work_ns"), 10, 1e-3);
    cr_expect_float_eq(number(many, "makespan_ns") / number(few, "makespan_ns"), 10, 1e-3);
    json_decref(one);
    json_decref(ten);
}

/* Times of hours, which a node's cost has no room for in nanoseconds. */
Test(command_sim, long_times_keep_their_proportions)
{
    char path[64];
    command_file(path, sizeof path, "2\n0 0 0\n1 1000000000 1 0\n2 250000000 1 0\n3 0 2 1 2\n");
    json_t *sim = run_json(ARGUMENTS("sim", path, "--json", "-p", "1,2", "--scale=1000000"));
    cr_expect_float_eq(number(sim, "work_ns") / 1.25e15, 1, 1e-6);
    cr_expect_float_eq(number(sim, "critical_path_ns") / 1e15, 1, 1e-6);
    const json_t *two = json_array_get(json_object_get(sim, "rows"), 1);
    cr_expect_float_eq(number(two, "speedup"), 1.25, 1e-6);
    json_decref(sim);
    unlink(path);
}

Test(command_sim, the_picture_is_well_formed)
{
    static const char *const lists[] = { "1,2,...,1024", "7", "64,1,3", "1" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        run_ok(ARGUMENTS("sim", small_graph(), "-p", lists[i], "--plot", "-"));
        cr_expect_null(xml_wrong(output.out), "%s: %s", lists[i], xml_wrong(output.out));
        cr_expect_eq(xml_count(output.out, "polyline"), 4u); /* two curves, two of the legend */
        cr_expect_not_null(strstr(output.out, "small.stg"));
        cr_expect_null(strstr(output.out, "nan"));
        cr_expect_null(strstr(output.out, "inf"));
    }
    char path[64];
    command_file(path, sizeof path, "");
    run_ok(ARGUMENTS("sim", small_graph(), "--plot", path));
    cr_expect_not_null(strstr(output.out, "processors  makespan us  speed-up"), "%s", output.out);
    char *picture = command_read(path);
    cr_expect_null(xml_wrong(picture));
    cr_expect_eq(xml_count(picture, "circle"), 11u);
    free(picture);
    unlink(path);
}

Test(command_sim, refuses_by_name)
{
    cr_expect_eq(command_run(ARGUMENTS("sim", small_graph(), "-p", "0"), &output), 2);
    cr_expect_eq(command_run(ARGUMENTS("sim", small_graph(), "-p", "1025"), &output), 2);
    cr_expect_eq(command_run(ARGUMENTS("sim", "no such file"), &output), 2);
    cr_expect_not_null(strstr(output.err, "no such file: No such file"), "%s", output.err);
}

/* ---- timeline */

static const struct {
    const char *mode, *schedule, *order;
} ways[] = {
    { "compiled", "static", "serial" },     { "compiled", "dataflow", "serial" },
    { "compiled", "auto", "serial" },       { "interpreted", "static", "serial" },
    { "compiled", "static", "pipelined" },  { "interpreted", "static", "pipelined" },
    { "compiled", "static", "concurrent" },
};

Test(command_timeline, a_bar_for_each_node_in_every_way)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_ok(ARGUMENTS("timeline", small_graph(), "-o", "-", "--scale=50", "--workers=3",
                         "--mode", ways[i].mode, "--schedule", ways[i].schedule, "--order",
                         ways[i].order));
        const char *wrong = xml_wrong(output.out);
        cr_expect_null(wrong, "way %zu: %s", i, wrong);
        cr_expect_not_null(strstr(output.out, ": 62 nodes ran in "), "way %zu", i);
        for (int t = 0; t < 62; t++) {
            char title[32];
            snprintf(title, sizeof title, "<title>task %d\n", t);
            cr_expect_not_null(strstr(output.out, title), "way %zu: task %d has no bar", i, t);
        }
        cr_expect_null(strstr(output.out, "nan"));
    }
}

/* The shares are of the lanes' time: together all of it. */
Test(command_timeline, shares_add_up)
{
    char path[] = "/tmp/rondo-timeline-XXXXXX.svg";
    int fd = mkstemps(path, 4);
    cr_assert(fd >= 0);
    close(fd);
    run_ok(ARGUMENTS("timeline", small_graph(), "-o", path, "--scale=200", "--workers=2"));
    double running, waiting, late, idle;
    const char *shares = strstr(output.out, "lanes ");
    cr_assert(shares != NULL, "%s", output.out);
    cr_assert_eq(sscanf(shares,
                        "lanes %lf %% running, %lf %% waiting for predecessors, %lf %% ready and "
                        "not begun, %lf %% idle",
                        &running, &waiting, &late, &idle),
                 4, "%s", shares);
    cr_expect_float_eq(running + waiting + late + idle, 100, 0.5, "%s", shares);
    cr_expect(running > 0);
    char *picture = command_read(path);
    cr_expect_null(xml_wrong(picture));
    free(picture);
    unlink(path);
}

Test(command_timeline, the_trace_is_of_one_replay)
{
    char path[] = "/tmp/rondo-timeline-XXXXXX.json";
    int fd = mkstemps(path, 5);
    cr_assert(fd >= 0);
    close(fd);
    run_ok(ARGUMENTS("timeline", small_graph(), "-o", path, "--scale=50"));
    json_error_t error;
    json_t *trace = json_load_file(path, 0, &error), *event;
    cr_assert(trace != NULL, "%s", error.text);
    size_t i, spans = 0;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) spans +=
        !strcmp(json_string_value(json_object_get(event, "ph")), "X");
    cr_expect_eq(spans, 62u);
    json_decref(trace);
    unlink(path);
}

Test(command_timeline, hostile_names_are_escaped)
{
    char path[64];
    command_file(path, sizeof path, hostile_workflow);
    run_ok(ARGUMENTS("timeline", path, "-o", "-"));
    cr_expect_null(xml_wrong(output.out), "%s", xml_wrong(output.out));
    cr_expect_not_null(strstr(output.out, "&lt;script&gt;alert(1)&lt;/script&gt;"), "%s",
                       output.out);
    cr_expect_null(strstr(output.out, "<script>"));
    run_ok(ARGUMENTS("sim", path, "--plot", "-"));
    cr_expect_null(xml_wrong(output.out), "%s", xml_wrong(output.out));
    unlink(path);
}

Test(command_timeline, refuses_by_name)
{
    cr_expect_eq(command_run(ARGUMENTS("timeline", small_graph()), &output), 2);
    cr_expect_not_null(strstr(output.err, "--output needs a name that ends in .svg or .json"));
    cr_expect_eq(command_run(ARGUMENTS("timeline", small_graph(), "-o", "x.png"), &output), 2);
    cr_expect_eq(command_run(ARGUMENTS("timeline", small_graph(), "-o", "/no/such/x.svg"), &output),
                 1);
    cr_expect_not_null(strstr(output.err, "/no/such/x.svg: No such file"), "%s", output.err);
}

/* ---- pages and completion */

/* A shell command's exit status; what it says goes to output.out. */
static int shell(const char *format, const char *a, const char *b)
{
    char line[8192];
    snprintf(line, sizeof line, format, a, b);
    FILE *pipe = popen(line, "r");
    cr_assert(pipe != NULL);
    output.out[fread(output.out, 1, sizeof output.out - 1, pipe)] = '\0';
    return pclose(pipe);
}

static void check_page(const char *folder, const char *name)
{
    if (!shell("command -v man >/dev/null && command -v groff >/dev/null", "", "")) {
        cr_expect_eq(shell("MANWIDTH=80 man --warnings -l %s/%s 2>&1 >/dev/null", folder, name), 0);
        cr_expect(!*output.out, "%s: %s", name, output.out);
    }
    /* Every long option that the command's help names. */
    if (!strchr(name, '-'))
        return;
    char command[64], path[4096];
    snprintf(command, sizeof command, "%s", name + strlen("rondo-"));
    command[strcspn(command, ".")] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *page = command_read(path);
    run_ok(ARGUMENTS(command, "--help"));
    const char *at = strstr(output.out, "\noptions:\n");
    cr_assert(at != NULL);
    unsigned found = 0;
    while ((at = strstr(at, "--")) && at < strstr(output.out, "\nexamples:\n")) {
        char option[64], escaped[80];
        size_t length = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz");
        snprintf(option, sizeof option, "%.*s", (int)length, at + 2);
        snprintf(escaped, sizeof escaped, "\\-\\-%s", option);
        cr_expect(!length || strstr(page, escaped), "%s lacks %s", name, option);
        found += length > 0;
        at += 2;
    }
    cr_expect_geq(found, 1u);
    free(page);
}

Test(command_pages, every_command_has_one_without_warnings)
{
    char folder[] = "/tmp/rondo-pages-XXXXXX", path[4096];
    cr_assert(mkdtemp(folder) != NULL);
    run_ok(ARGUMENTS("--generate", "man", folder));
    DIR *pages = opendir(folder);
    cr_assert(pages != NULL);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(pages));) {
        if (entry->d_name[0] == '.')
            continue;
        check_page(folder, entry->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
        count++;
    }
    closedir(pages);
    cr_expect_geq(count, 5u);
    rmdir(folder);
}

/* The words before the cursor, and what bash is offered; a word ends where bash's do. */
static const struct {
    const char *words, *offered, *not_offered;
} completions[] = {
    { "rondo ''", " info run ", "--json" },
    { "rondo ti", " timeline ", "info" },
    { "rondo --v", " --version ", "info" },
    { "rondo help s", " sim ", "info" },
    { "rondo sim --p", " --processors --plot ", "--handover" },
    { "rondo sim --processors ''", " ", "--" },
    { "rondo timeline --mode ''", " compiled interpreted ", "auto" },
    { "rondo timeline --schedule = d", " dataflow ", "static" },
    { "rondo timeline --order =", " serial pipelined concurrent ", "auto" },
    { "rondo timeline -m i", " interpreted ", "compiled" },
    { "rondo timeline -o /et", " /etc ", "timeline" },
    { "rondo run /et", " /etc ", "run" },
    { "rondo info ''", " ", "--json" },
    { "rondo info --j", " --json ", "--env" },
    { "rondo nothing ''", " ", "--" },
};

Test(command_pages, bash_completes)
{
    char path[64];
    if (shell("command -v bash >/dev/null", "", ""))
        return;
    command_file(path, sizeof path, "");
    run_ok(ARGUMENTS("--generate", "completion", path));
    cr_assert_eq(shell("bash -n %s 2>&1", path, ""), 0, "%s", output.out);
    for (size_t i = 0; i < sizeof completions / sizeof *completions; i++) {
        int status = shell("bash -c 'set -u; . %s; COMP_WORDS=('\"%s\"'); "
                           "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rondo; "
                           "echo \" ${COMPREPLY[*]} \"' 2>&1",
                           path, completions[i].words);
        cr_expect_eq(status, 0, "%s: %s", completions[i].words, output.out);
        cr_expect(strstr(output.out, completions[i].offered), "%s: offered '%s'",
                  completions[i].words, output.out);
        cr_expect(!strstr(output.out, completions[i].not_offered), "%s: offered '%s'",
                  completions[i].words, output.out);
    }
    unlink(path);
}
