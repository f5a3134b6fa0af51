/* SPDX-License-Identifier: BSD-3-Clause */
/* The program rondo-bench as a shell sees it: exit statuses and messages, and that what it measures
 * runs as it should, which it checks itself before it measures. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Runs it; its exit status. `text` gets what it says, on both streams. */
static int run(const char *arguments, char *text, size_t room)
{
    char line[4400];
    const char *folder = getenv("RONDO_BINARY_DIR");
    cr_assert(folder != NULL, "RONDO_BINARY_DIR is not set: run the tests through ctest");
    snprintf(line, sizeof line, "%s/rondo-bench %s 2>&1", folder, arguments);
    FILE *pipe = popen(line, "r");
    cr_assert(pipe != NULL);
    text[fread(text, 1, room - 1, pipe)] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct {
    const char *arguments;
    int status;
    const char *text; /* a part of what it says */
} cases[] = {
    { "", 2, "usage: rondo-bench COMMAND" },
    { "--help", 0, "usage: rondo-bench COMMAND" },
    { "dance", 2, "dance: no such command" },
    { "overhead --help", 0, "--schedule NAME" },
    { "overhead --schedule fast", 2, "--schedule fast: not static, dataflow or auto" },
    { "overhead --pattern knot", 2, "--pattern knot: not a pattern of Task Bench" },
    { "overhead --pattern ,", 2, "names no pattern" },
    { "overhead --graph fft --width 7", 2, "a power of two" },
    { "overhead --body uneven", 2, "--body uneven: not empty, spin:NS or uneven:NS" },
    { "overhead --width 0", 2, "--width 0: not a number from 1" },
    { "overhead --impl nobody", 2, "--impl nobody: not an implementation that was built" },
    { "overhead 7", 2, "7: not an option" },
    { "metg --pattern stencil_1d,all", 2, "--pattern all: not a pattern of Task Bench" },
    { "metg --width 2 --mode compiled", 2, "no such option" },
    { "irregular --graph stencil", 2, "not one of those that are measured" },
    { "latency --period 100", 2, "--period 100: not a time" },
    { "latency --period 100us --impl loop", 2, "a period is for rondo and handwritten" },
    { "latency --submitters 3", 2, "--submitters 3: not a number from 1 to 2" },
    { "limit --help", 0, "--graph NAME" },
    { "device --help", 0, "--nodes N" },
    { "device --width 3", 2, "--width 3: 1, a chain, or 8" },
};

Test(bench, exit_statuses_and_messages)
{
    static char text[65536];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = run(cases[i].arguments, text, sizeof text);
        cr_expect(status == cases[i].status, "'%s': status %d: %s", cases[i].arguments, status,
                  text);
        cr_expect(strstr(text, cases[i].text) != NULL, "'%s': '%s'", cases[i].arguments, text);
    }
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Every pattern, by Rondo and by hand, in both orders; each is checked before it is measured. */
Test(bench, every_pattern_runs)
{
    static const char *const patterns[] = {
        "trivial",    "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft",
        "all_to_all", "nearest", "spread",     "random_nearest"
    };
    static char text[65536];
    char arguments[256];
    for (size_t i = 0; i < 2 * sizeof patterns / sizeof *patterns; i++) {
        snprintf(arguments, sizeof arguments,
                 "overhead --pattern %s --width %d --steps 12 --order %s --replays 5 --rounds 1 "
                 "--impl rondo,handwritten,loop,spin-barrier --format csv",
                 patterns[i / 2], i & 1 ? 2 : 5, (i + i / 2) & 1 ? "pipelined" : "serial");
        int status = run(arguments, text, sizeof text);
        cr_expect(status == 0 && lines_of(text) == 5, "'%s': status %d: %s", arguments, status,
                  text);
        cr_expect(strstr(text, patterns[i / 2]) != NULL, "'%s': %s", arguments, text);
    }
}

/* The columns that programs read. */
Test(bench, columns)
{
    static char text[65536];
    int status = run("overhead --graph chain --steps 10 --replays 5 --rounds 1 --format csv", text,
                     sizeof text);
    static const char columns[] =
        "impl,graph,width,steps,mode,schedule,order,workers,body_ns,nodes,edges,waits,"
        "ns_per_node_min,ns_per_node_median,instantiate_ns_per_node,plan_bytes_per_node\n"
        "rondo,chain,1,10,compiled,static,serial,1,0,10,9,0,";
    cr_expect(status == 0, "status %d: %s", status, text);
    cr_expect(strncmp(text, columns, strlen(columns)) == 0, "%s", text);
}

/* Every way of replaying kernels, checked before it is measured; or what is missing. */
Test(bench, devices)
{
    static char text[65536];
    static const char *const ways[] = { "rondo compiled", "rondo interpreted", "enqueues in order",
                                        "enqueues out of order" };
    for (int pipelined = 0; pipelined < 2; pipelined++) {
        int status = run(pipelined ? "device --nodes 9 --replays 2 --rounds 1 --format csv "
                                     "--order pipelined"
                                   : "device --nodes 1,9 --replays 2 --rounds 1 --format csv",
                         text, sizeof text);
        if (status == 1 && (strstr(text, "no device to measure on") ||
                            strstr(text, "built without OpenCL's headers")))
            continue;
        cr_expect(status == 0, "status %d: %s", status, text);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            cr_expect(strstr(text, ways[i]) != NULL, "no '%s': %s", ways[i], text);
    }
}
