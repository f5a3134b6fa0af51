/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo check FILE`: what is wrong with a graph and how to mend it, and what could be better. */
#include "tools/commands.h"
#include "tools/hints.h"
#include "tools/json.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *devices;
    int json;
};

static const struct cli_option options[] = {
    { "devices", 'd', "LIST", COMMAND_DEVICES_HELP, CLI_TEXT, offsetof(struct settings, devices), 0,
      0, NULL },
    { "json", 0, NULL, "the result as JSON", CLI_FLAG, offsetof(struct settings, json), 0, 0,
      NULL },
    { .name = NULL },
};

struct check {
    const char *path;
    rondo_runtime runtime;
    struct file_graph file;
    struct graph graph;
    char wrong[320]; /* "": nothing */
    int not_tried;   /* there are no devices for it: no exec was made */
    const char *mend;
    struct hints hints;
};

/* ---- what is wrong */

/* By the words of instantiation's message, whose other words say where. */
static const char *mend_of(const char *message)
{
    static const struct {
        const char *words, *mend;
    } mends[] = {
        { "cycle: ", "take one of these edges away, or carry it over a replay (distance 1)" },
        { "has no nodes", "record a task at least" },
        { " later, ", "give an edge of that distance from the first to the second, or a path of "
                      "edges; or let Rondo infer edges (no RONDO_EDGES_EXPLICIT)" },
        { "are not ordered by edges", "give an edge between the two, or a path of edges; or let "
                                      "Rondo infer edges (no RONDO_EDGES_EXPLICIT)" },
        { "RONDO_TEMPORARY", "write the slot before, in an earlier node; or make it RONDO_ZEROED" },
        { "the runtime has opened", "open a device for it (--devices, RONDO_DEVICES, "
                                    "rondo_runtime_options.devices), or name another" },
        { "RONDO_CPU(", "leave the processor open (RONDO_ANY_CPU), or use a machine or a runtime "
                        "with more of them" },
    };
    for (size_t i = 0; i < sizeof mends / sizeof mends[0]; i++)
        if (strstr(message, mends[i].words))
            return mends[i].mend;
    return NULL;
}

static void take_handover(void *context, const char *text)
{
    const char *found = strstr(text, "hand-over ");
    if (found)
        (void)sscanf(found, "hand-over %lf ns", (double *)context);
}

/* Where there are no devices for a graph that wants some, all is looked at but what kernels are. */
static int look_without_devices(struct check *c)
{
    rondo_simulation simulation;
    rondo_status status =
        rondo_simulate(c->file.subgraph, &(rondo_simulate_options){ .processors = 1 }, &simulation);
    c->not_tried = 1;
    if (status && status != RONDO_ERR_INVALID)
        return cli_fail(&command_check, EXIT_RUN_FAILED, "%s", rondo_error_message());
    if (status) {
        c->mend = mend_of(rondo_error_message());
        file_printable(rondo_error_message(), c->wrong, sizeof c->wrong);
    }
    return 0;
}

/* Instantiation checks all there is to check. Pipelined: also what replays do to each other. */
static int instantiate(struct check *c, double *handover_ns)
{
    rondo_exec exec;
    rondo_status status = rondo_instantiate(
        c->file.subgraph, &(rondo_instantiate_options){ .order = RONDO_PIPELINED }, &exec);
    if (status == RONDO_ERR_INVALID &&
        strstr(rondo_error_message(), "the runtime has opened no devices"))
        return look_without_devices(c);
    if (status == RONDO_ERR_INVALID) {
        c->mend = mend_of(rondo_error_message());
        file_printable(rondo_error_message(), c->wrong, sizeof c->wrong);
        return 0;
    }
    if (!status)
        status = rondo_exec_describe(exec, take_handover, handover_ns);
    if (status)
        return cli_fail(&command_check, EXIT_RUN_FAILED, "%s", rondo_error_message());
    (void)rondo_exec_destroy(exec);
    return 0;
}

static int check(struct check *c)
{
    struct file *file;
    struct file_options file_options = { .scale = 1000 };
    double handover_ns = 0;
    int status = file_open(c->path, &file);
    if (status)
        return status;
    status = graph_record(file, c->runtime, &file_options, NULL, &c->file, &c->graph);
    file_close(file);
    if (!status)
        status = instantiate(c, &handover_ns);
    if (!status && !*c->wrong && hints_find(&c->hints, &c->graph, &c->file, handover_ns))
        status = cli_fail(&command_check, EXIT_RUN_FAILED, "out of memory");
    return status;
}

/* ---- results */

static void report(const struct check *c)
{
    const struct graph *g = &c->graph;
    char shown[512];
    file_printable(c->path, shown, sizeof shown);
    if (*c->wrong) {
        fprintf(stderr, "%s: %serror:%s %s\n", shown, cli_colour(stderr, CLI_RED),
                cli_colour(stderr, CLI_PLAIN), c->wrong);
        if (c->mend)
            fprintf(stderr, "  mend: %s\n", c->mend);
        return;
    }
    printf("%s: %s, %" PRIu32 " nodes, %zu edges, %zu of them carried: %sfine%s\n", shown,
           c->file.format, g->nodes, g->edges, g->carried, cli_colour(stdout, CLI_GREEN),
           cli_colour(stdout, CLI_PLAIN));
    if (g->work_ns > 0)
        printf("work %.1f us, critical path %.1f us: at most %.2f times faster than in order\n",
               g->work_ns * 1e-3, g->critical_ns * 1e-3, g->work_ns / g->critical_ns);
    if (c->not_tried)
        printf("not tried: %" PRIu32 " node%s on devices, and none was opened; --devices opens "
               "some\n",
               g->on_devices, g->on_devices == 1 ? " is" : "s are");
    for (int i = 0; i < c->hints.count; i++)
        printf("hint: %s\n", c->hints.hint[i].text);
}

static json_t *hints_json(const struct hints *hints)
{
    json_t *list = json_array();
    for (int i = 0; list && i < hints->count; i++)
        if (json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "kind", hints->hint[i].kind,
                                                  "count", (json_int_t)hints->hint[i].number,
                                                  "text", hints->hint[i].text))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *to_json(const struct check *c)
{
    const struct graph *g = &c->graph;
    char shown[512];
    file_printable(c->path, shown, sizeof shown);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:I, s:b, s:b, s:s*, s:s*, s:o}", "file",
                     shown, "format", c->file.format, "nodes", (json_int_t)g->nodes, "edges",
                     (json_int_t)g->edges, "carried_edges", (json_int_t)g->carried, "work_ns",
                     g->work_ns, "critical_path_ns", g->critical_ns, "on_devices",
                     (json_int_t)g->on_devices, "tried", !c->not_tried, "fine", !*c->wrong, "error",
                     *c->wrong ? c->wrong : NULL, "mend", c->mend, "hints", hints_json(&c->hints));
}

static int run_command(int argc, char **argv)
{
    struct settings s = { 0 };
    struct check c = { 0 };
    int status = cli_parse(&command_check, argc, argv, &s, &c.path);
    if (status >= 0)
        return status;
    rondo_status opened =
        rondo_runtime_open(&(rondo_runtime_options){ .devices = s.devices }, &c.runtime);
    if (opened)
        return cli_fail(&command_check,
                        opened == RONDO_ERR_INVALID ? EXIT_BAD_INPUT : EXIT_RUN_FAILED, "%s",
                        rondo_error_message());
    status = check(&c);
    if (!status && s.json)
        status = json_print(&command_check, to_json(&c));
    else if (!status)
        report(&c);
    graph_free(&c.graph);
    if (c.file.subgraph.id)
        (void)rondo_subgraph_destroy(c.file.subgraph);
    (void)rondo_runtime_close(c.runtime);
    return !status && *c.wrong ? EXIT_BAD_INPUT : status;
}

static const char *const examples[] = {
    "rondo check examples/graphs/small.stg",
    "what could be better about this graph",
    NULL,
};

const struct cli_command command_check = {
    .name = "check",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "tell what is wrong with a graph, and what could be better",
    .text =
        "Reads the graph in FILE (of any format that `rondo run` reads) and makes an exec of it "
        "without running it. An error names nodes, slots and values and says how to mend it. "
        "Hints are no errors: edges that others imply, nodes too short to be worth a hand-over "
        "between processors, a critical path that leaves nothing to gain, names that repeat. "
        "Whether kernels compile is found with --devices only.\n"
        "\n"
        "The exit status is 0 for a graph that is fine, whatever the hints, and 2 for one that "
        "is not.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
