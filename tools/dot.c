/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo dot FILE`: a graph in Graphviz's language. */
#include "tools/commands.h"
#include "tools/file.h"
#include "tools/output.h"

#include <stddef.h>

struct settings {
    const char *output;
};

static const struct cli_option options[] = {
    { "output", 'o', "OUT", "the file to write (default -: standard output)", CLI_FILE,
      offsetof(struct settings, output), 0, 0, NULL },
    { .name = NULL },
};

static int write_graph(rondo_subgraph subgraph, const char *path)
{
    struct output output;
    int status = output_begin(&output, &command_dot, path);
    if (!status && rondo_subgraph_write_dot(subgraph, output_put, output.file))
        status = cli_fail(&command_dot, EXIT_RUN_FAILED, "%s", rondo_error_message());
    return output_end(&output, status);
}

static int run_command(int argc, char **argv)
{
    struct settings s = { "-" };
    const char *path;
    rondo_runtime runtime;
    struct file_graph graph;
    int status = cli_parse(&command_dot, argc, argv, &s, &path);
    if (status >= 0)
        return status;
    if (rondo_runtime_open(NULL, &runtime))
        return cli_fail(&command_dot, EXIT_RUN_FAILED, "%s", rondo_error_message());
    status = file_load(path, runtime, NULL, NULL, &graph);
    if (!status) {
        status = write_graph(graph.subgraph, s.output);
        (void)rondo_subgraph_destroy(graph.subgraph);
    }
    (void)rondo_runtime_close(runtime);
    return status;
}

static const char *const examples[] = {
    "rondo dot examples/graphs/small.stg | dot -Tsvg >small.svg",
    "a picture of the graph",
    NULL,
};

const struct cli_command command_dot = {
    .name = "dot",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "write a graph in Graphviz's language",
    .text = "Writes the graph in FILE (of any format that `rondo run` reads) for Graphviz's dot. "
            "Edges given by hand are solid; inferred ones show the slot that they come from, and "
            "carried ones are dashed, with the number of replays that they reach over.\n"
            "\n"
            "OUT appears when it is whole, or not at all.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
