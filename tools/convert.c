/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo convert IN OUT`: a graph file in another format. */
#include "tools/commands.h"
#include "tools/graph.h"
#include "tools/output.h"
#include "tools/stg_write.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { TO_STG, TO_JSON, TO_DOT, FORMATS };
static const char *const formats[] = { "stg", "json", "dot", NULL };

struct settings {
    int to; /* FORMATS: by the name of OUT */
    uint64_t scale;
};

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "to", 't', "FORMAT", "stg, json or dot (default: by the end of OUT's name)", CLI_CHOICE,
      FIELD(to), 0, 0, formats },
    { "scale", 0, "N",
      "nanoseconds per unit of a .stg file, read or written; else thousandths that the times read "
      "are multiplied by (default 1000)",
      CLI_NUMBER, FIELD(scale), 1, 1000000000, NULL },
    { .name = NULL },
};

static int choose_format(struct settings *s, const char *out)
{
    const char *end = strrchr(out, '.');
    for (int i = 0; s->to == FORMATS && end && i < FORMATS; i++)
        if (!strcmp(end + 1, formats[i]))
            s->to = i;
    if (s->to < FORMATS)
        return 0;
    return cli_fail(&command_convert, EXIT_BAD_INPUT,
                    "'%s' ends in none of .stg, .json, .dot: --to tells the format", out);
}

static int write_stg(const struct graph *graph, const struct settings *s, FILE *file)
{
    int64_t rounded = stg_write(graph, (double)s->scale, file);
    if (rounded < 0)
        return cli_fail(&command_convert, EXIT_RUN_FAILED, "out of memory");
    if (rounded)
        cli_fail(&command_convert, 0,
                 "%" PRId64 " times were rounded to whole units of %" PRIu64
                 " ns: a smaller --scale keeps more of them",
                 rounded, s->scale);
    return 0;
}

static int write_graph(const struct file_graph *file, const struct graph *graph,
                       const struct settings *s, const char *out)
{
    struct output output;
    rondo_status status = RONDO_OK;
    int exit_status = output_begin(&output, &command_convert, out);
    if (exit_status)
        return exit_status;
    if (s->to == TO_STG)
        exit_status = write_stg(graph, s, output.file);
    else if (s->to == TO_DOT)
        status = rondo_subgraph_write_dot(file->subgraph, output_put, output.file);
    else
        status = rondo_subgraph_write_json(file->subgraph, output_put, output.file);
    if (status)
        exit_status = cli_fail(&command_convert, EXIT_RUN_FAILED, "%s", rondo_error_message());
    return output_end(&output, exit_status);
}

/* A recording keeps costs of up to 2^32 ns. */
static rondo_status count_long(void *context, uint32_t number, rondo_task_desc *desc)
{
    (void)number;
    *(uint32_t *)context += desc->cost_ns > UINT32_MAX;
    return RONDO_OK;
}

static int convert(rondo_runtime runtime, const struct settings *s, const char *in, const char *out)
{
    char why[320];
    struct file *file;
    struct file_graph recorded;
    struct graph graph = { 0 };
    uint32_t too_long = 0;
    int status = file_open(in, &file);
    if (status)
        return status;
    /* Where a .stg file is written, --scale says what a unit of it is. */
    struct file_options reading = { .scale =
                                        file_is_stg(file) || s->to != TO_STG ? s->scale : 1000 };
    struct file_bodies bodies = { count_long, &too_long };
    if (s->to == TO_STG)
        status = graph_record(file, runtime, &reading, NULL, &recorded, &graph);
    else
        status = file_record(file, runtime, &reading, &bodies, &recorded);
    file_close(file);
    if (status)
        return status;
    if (s->to == TO_STG && stg_holds(&graph, (double)s->scale, why, sizeof why))
        status =
            cli_fail(&command_convert, EXIT_BAD_INPUT, "%s: no .stg file can hold it: %s", in, why);
    if (s->to == TO_JSON && too_long)
        cli_fail(&command_convert, 0,
                 "%s: %" PRIu32 " times of more than 4.29 s became 4.29 s, the most that a "
                 "recording keeps: a smaller --scale keeps them",
                 in, too_long);
    if (!status)
        status = write_graph(&recorded, &graph, s, out);
    (void)rondo_subgraph_destroy(recorded.subgraph);
    graph_free(&graph);
    return status;
}

static int run_command(int argc, char **argv)
{
    struct settings s = { .to = FORMATS, .scale = 1000 };
    const char *paths[2];
    rondo_runtime runtime;
    int status = cli_parse(&command_convert, argc, argv, &s, paths);
    if (status >= 0)
        return status;
    if ((status = choose_format(&s, paths[1])))
        return status;
    if (rondo_runtime_open(NULL, &runtime))
        return cli_fail(&command_convert, EXIT_RUN_FAILED, "%s", rondo_error_message());
    status = convert(runtime, &s, paths[0], paths[1]);
    (void)rondo_runtime_close(runtime);
    return status;
}

static const char *const examples[] = {
    "rondo convert examples/graphs/small.stg small.json",
    "a recording of Rondo's, for rondo_subgraph_read_json",
    "rondo convert small.json - --to=stg",
    "back, on standard output",
    NULL,
};

const struct cli_command command_convert = {
    .name = "convert",
    .operands = "IN OUT",
    .operand_count = 2,
    .summary = "write a graph file in another format",
    .text = "Reads IN (of any format that `rondo run` reads) and writes OUT: .json is a recording "
            "of Rondo's own and keeps everything, .dot is Graphviz's language, and .stg a Standard "
            "Task Graph, which holds tasks, their times and edges within a replay: a graph with "
            "anything else is refused. Either may be `-`.\n"
            "\n"
            "OUT appears when it is whole, or not at all.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
