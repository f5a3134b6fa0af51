/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo run FILE.stg`: options, the reading of the file, and the table. */
#include "tools/run.h"
#include "tools/commands.h"
#include "tools/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = { "interpreted", "compiled", "both", NULL };
static const char *const orders[] = { "serial", "pipelined", NULL };

/* A replay that computes longer than this was hardly meant. */
#define MAX_REPLAY_S 60u

#define FIELD(field) offsetof(struct run_settings, field)

static const struct cli_option options[] = {
    { "workers", 'w', "N",
      "worker threads, one per CPU; more than there are CPUs share them (default: one per CPU)",
      CLI_NUMBER, FIELD(workers), 1, 1024, NULL },
    { "scale", 0, "NS", "nanoseconds per unit of processing time (default 1000)", CLI_NUMBER,
      FIELD(scale_ns), 0, 1000000000, NULL },
    { "repeat", 'r', "R", "samples per row of the table (default 20)", CLI_NUMBER, FIELD(repeat), 1,
      100000, NULL },
    { "mode", 'm', "MODE", "interpreted, compiled, or both (the default)", CLI_CHOICE, FIELD(mode),
      0, 0, modes },
    { "order", 0, "ORDER",
      "serial (the default), or pipelined: replays overlap, times are those of a batch of 8 "
      "divided by 8",
      CLI_CHOICE, FIELD(order), 0, 0, orders },
    { .name = NULL },
};

/* Returns an exit status, or -1: go on. */
static int read_file(struct run *run)
{
    const char *path = run->settings.path;
    struct stg_error error;
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return EXIT_BAD_INPUT;
    }
    enum stg_status status = stg_read(file, &run->graph, &error);
    fclose(file);
    if (status) {
        fprintf(stderr, "%s:%zu: %s\n", path, error.line, error.reason);
        return status == STG_NO_MEMORY ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
    }
    if (stg_measure(&run->graph, &run->extent)) {
        fprintf(stderr, "rondo run: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    if (run->settings.scale_ns &&
        run->extent.serial > MAX_REPLAY_S * 1000000000ull / run->settings.scale_ns) {
        fprintf(stderr,
                "%s: a replay would compute for %.0f s, more than %u s: give a smaller --scale\n",
                path, (double)run->extent.serial * (double)run->settings.scale_ns * 1e-9,
                MAX_REPLAY_S);
        return EXIT_BAD_INPUT;
    }
    return -1;
}

/* ---- the table */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void add_row(struct table *table, const struct run *run, struct run_row *row,
                    double in_order)
{
    uint64_t repeat = run->settings.repeat;
    qsort(row->ns, repeat, sizeof *row->ns, compare);
    double makespan = (double)row->ns[0], processors = run->counts.processors;
    double scale = (double)run->settings.scale_ns;
    double critical = (double)run->extent.critical * scale;
    double shared = (double)run->extent.serial * scale / processors;
    /* Overlapping replays are not held back by one replay's critical path. */
    double bound = shared > critical || run->settings.order == ORDER_PIPELINED ? shared : critical;

    table_add(table, "%s", row->name);
    table_add(table, "%.1f", makespan * 1e-3);
    table_add(table, "%.1f", (double)row->ns[repeat / 2] * 1e-3);
    if (row->mode) {
        table_add(table, "%.2f", in_order / makespan);
        table_add(table, "%.0f %%", 100 * in_order / makespan / processors);
        table_add(table, "%.0f %%", 100 * bound / makespan);
    } else {
        for (int i = 0; i < 3; i++)
            table_add(table, "-");
    }
    table_add(table, "%.1f", (double)row->checks_ns / run->graph.task_count);
    if (row->mode == RONDO_COMPILED) {
        table_add(table, "%" PRIu32, run->counts.lanes);
        table_add(table, "%" PRIu64 " of %" PRIu64, run->counts.waits, run->counts.edges);
    } else {
        table_add(table, "-");
        table_add(table, "-");
    }
}

static void report(struct run *run)
{
    static const char *const head[] = { "mode",        "min us",     "median us",
                                        "speed-up",    "efficiency", "of bound",
                                        "overhead ns", "lanes",      "waits of edges" };
    enum { COLUMNS = sizeof head / sizeof head[0] };
    struct table table = { .columns = COLUMNS };
    double scale = (double)run->settings.scale_ns * 1e-3;
    printf("%s: %" PRIu32 " tasks, %" PRIu32 " edges, critical path %.1f us, serial sum %.1f us\n",
           run->settings.path, run->graph.task_count, run->graph.predecessor_count,
           (double)run->extent.critical * scale, (double)run->extent.serial * scale);
    printf("%" PRIu64 " ns per unit, %s order, %" PRIu32 " processor%s used, %" PRIu64
           " samples per row\n\n",
           run->settings.scale_ns, orders[run->settings.order], run->counts.processors,
           run->counts.processors == 1 ? "" : "s", run->settings.repeat);
    for (int i = 0; i < COLUMNS; i++)
        table_add(&table, "%s", head[i]);
    double in_order = 0;
    for (int i = 0; i < run->row_count; i++) {
        add_row(&table, run, &run->rows[i], in_order);
        if (!run->rows[i].mode)
            in_order = (double)run->rows[i].ns[0];
    }
    table_print(&table, stdout);
    printf("\nchecked: each of %" PRIu32 " tasks ran once in each of %" PRIu64
           " replays, after its predecessors\n",
           run->graph.task_count, run->replays);
}

static int run_command(int argc, char **argv)
{
    struct run run = { .settings = { .scale_ns = 1000, .repeat = 20, .mode = MODE_BOTH } };
    int status = cli_parse(&command_run, argc, argv, &run.settings, &run.settings.path);
    if (status < 0)
        status = read_file(&run);
    if (status < 0) {
        status = run_open(&run) || run_measure(&run) ? EXIT_RUN_FAILED : EXIT_DONE;
        if (status == EXIT_DONE)
            report(&run);
    }
    run_close(&run);
    return status;
}

static const char *const examples[] = {
    "rondo run examples/graphs/small.stg",
    "all modes, on all CPUs",
    NULL,
};

const struct cli_command command_run = {
    .name = "run",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "replay a task graph from a file, in both modes, and time it",
    .text =
        "Replays the task graph in FILE (Standard Task Graph format). Each task computes for its "
        "processing time and checks that it runs once per replay, after its predecessors.\n"
        "\n"
        "Speed-up: against the row `in order`, which calls the bodies on one thread. Of bound: the "
        "longer of the critical path and the serial sum over the processors, divided by the "
        "makespan. Overhead: of a replay whose bodies check and do not compute, time per node.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
