/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo run FILE`: replays a graph in one mode or both, and tells what a replay took. */
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/table.h"
#include "tools/ways.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_INTERPRETED, MODE_COMPILED, MODE_BOTH };
static const char *const modes[] = { "interpreted", "compiled", "both", NULL };
static const char *const orders[] = { "serial", "pipelined", "concurrent", NULL };
static const char *const schedules[] = { "auto", "static", "dataflow", NULL };

/* How many replays a sample holds where they overlap: the exec fills and drains once per sample. */
enum { BATCH = 8 };

struct settings {
    uint64_t workers, scale, repeat;
    const char *devices;
    int mode, order, schedule, json;
};

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "workers", 'w', "N",
      "worker threads, one per CPU; more than there are CPUs share them (default: one per CPU)",
      CLI_NUMBER, FIELD(workers), 1, 1024, NULL },
    { "devices", 'd', "LIST", COMMAND_DEVICES_HELP, CLI_TEXT, FIELD(devices), 0, 0, NULL },
    { "scale", 0, "N",
      "of a .stg file, nanoseconds per unit of processing time; of the others, thousandths that "
      "times are multiplied by (default: 1000, or as much less as a replay needs to compute for "
      "5 ms at most)",
      CLI_NUMBER, FIELD(scale), 0, 1000000000, NULL },
    { "repeat", 'r', "R", "samples per row of the table (default 20)", CLI_NUMBER, FIELD(repeat), 1,
      100000, NULL },
    { "mode", 'm', "MODE", "interpreted, compiled, or both (the default)", CLI_CHOICE, FIELD(mode),
      0, 0, modes },
    { "schedule", 's', "SCHEDULE",
      "of the compiled mode: static, dataflow, or auto (the default), which tries them", CLI_CHOICE,
      FIELD(schedule), 0, 0, schedules },
    { "order", 0, "ORDER",
      "serial (the default); pipelined or concurrent: replays overlap, times are those of a batch "
      "of 8 divided by 8",
      CLI_CHOICE, FIELD(order), 0, 0, orders },
    { "json", 0, NULL, "the result as JSON", CLI_FLAG, FIELD(json), 0, 0, NULL },
    { .name = NULL },
};

/* ---- measuring */

static int open_ways(struct ways *ways, const struct settings *s, const char *path)
{
    static const uint32_t schedule[] = { RONDO_SCHEDULE_AUTO, RONDO_STATIC, RONDO_DATAFLOW };
    static const uint32_t order[] = { RONDO_SERIAL, RONDO_PIPELINED, RONDO_CONCURRENT };
    int status = ways_open(ways, &command_run, path, s->workers, s->devices, s->scale, s->repeat);
    if (!status)
        status = ways_add(ways, "in order", 0, 0, RONDO_SERIAL);
    if (!status && s->mode != MODE_COMPILED)
        status = ways_add(ways, "interpreted", RONDO_INTERPRETED, 0, order[s->order]);
    if (!status && s->mode != MODE_INTERPRETED)
        status = ways_add(ways, "compiled", RONDO_COMPILED, schedule[s->schedule], order[s->order]);
    for (int i = ways->count - 1; i >= 0 && !status; i--)
        if (*ways->way[i].skipped) {
            fprintf(stderr, "%s: %s\n", path, ways->way[i].skipped);
            status = EXIT_BAD_INPUT;
        }
    return status;
}

/* One sample of a row: one batch without and one with work. The replay before them warms up, and
 * gives the workers of the row before the time to go to sleep. */
static int sample(struct ways *ways, struct way *way)
{
    uint64_t ns = 0;
    int status = ways_replay(ways, way, 1, 1, &ns);
    if (!status)
        status = ways_replay(ways, way, 0, way->batch, &ns);
    if (!status && ns < way->checks_ns)
        way->checks_ns = ns;
    return status ? status : ways_sample(ways, way);
}

static int measure(struct ways *ways, const struct settings *s)
{
    int status = 0;
    for (int i = 0; i < ways->count; i++)
        ways->way[i].batch = s->order ? BATCH : 1;
    for (uint64_t turn = 0; turn < s->repeat && !status; turn++) {
        cli_progress("replaying", turn, s->repeat);
        for (int i = 0; i < ways->count && !status; i++)
            status = sample(ways, &ways->way[i]);
    }
    cli_progress("replaying", s->repeat, s->repeat);
    return status ? status : ways_end(ways);
}

/* ---- results */

struct figures {
    double speedup, efficiency, of_bound, overhead_ns;
};

static struct figures figures_of(const struct ways *ways, const struct way *way)
{
    const struct graph *g = &ways->job.graph;
    double makespan = ways_min_us(way) * 1e3, in_order = ways_min_us(&ways->way[0]) * 1e3;
    double processors = way->counts.processors, shared = (g->work_ns - g->device_ns) / processors;
    /* Overlapping replays are not held back by one replay's critical path. */
    double bound = shared > g->critical_ns || way->order != RONDO_SERIAL ? shared : g->critical_ns;
    if (!way->mode)
        bound = 0;
    return (struct figures){ in_order / makespan, in_order / makespan / processors,
                             bound / makespan,
                             (double)way->checks_ns / (ways->job.tasks ? ways->job.tasks : 1) };
}

static void add_row(struct table *table, const struct ways *ways, const struct way *way)
{
    struct figures f = figures_of(ways, way);
    table_add(table, "%s", way->name);
    table_add(table, "%.1f", ways_min_us(way));
    table_add(table, "%.1f", ways_median_us(way));
    if (way->mode) {
        table_add(table, "%.2f", f.speedup);
        table_add(table, "%.0f %%", 100 * f.efficiency);
        table_add(table, "%.0f %%", 100 * f.of_bound);
    } else {
        for (int i = 0; i < 3; i++)
            table_add(table, "-");
    }
    table_add(table, "%.1f", f.overhead_ns);
    if (way->mode == RONDO_COMPILED) {
        table_add(table, "%" PRIu32, way->counts.lanes);
        table_add(table, "%" PRIu64 " of %" PRIu64, way->counts.waits, way->counts.edges);
    } else {
        table_add(table, "-");
        table_add(table, "-");
    }
}

static void report(const struct ways *ways, const struct settings *s)
{
    static const char *const head[] = { "mode",        "min us",     "median us",
                                        "speed-up",    "efficiency", "of bound",
                                        "overhead ns", "lanes",      "waits of edges" };
    enum { COLUMNS = sizeof head / sizeof head[0] };
    struct table table = { .columns = COLUMNS };
    uint32_t processors = ways->way[ways->count - 1].counts.processors;
    ways_print_head(ways);
    printf(", %s order, %" PRIu32 " processor%s used, %" PRIu64 " samples per row\n\n",
           orders[s->order], processors, processors == 1 ? "" : "s", s->repeat);
    for (int i = 0; i < COLUMNS; i++)
        table_add(&table, "%s", head[i]);
    for (int i = 0; i < ways->count; i++)
        add_row(&table, ways, &ways->way[i]);
    table_print(&table, stdout);
    printf("\nchecked: each of %" PRIu32 " tasks%s ran once in each of %" PRIu64
           " replays, after its predecessors\n",
           ways->job.always, ways->job.always < ways->job.tasks ? " without a condition" : "",
           ways_replays(ways));
    ways_print_notes(ways);
}

static json_t *row_json(const struct ways *ways, const struct way *way)
{
    struct figures f = figures_of(ways, way);
    json_t *row =
        json_pack("{s:s, s:f, s:f, s:f}", "name", way->name, "min_ns", ways_min_us(way) * 1e3,
                  "median_ns", ways_median_us(way) * 1e3, "overhead_ns_per_task", f.overhead_ns);
    if (!row || !way->mode)
        return row;
    json_t *more =
        json_pack("{s:f, s:f, s:f, s:I, s:I, s:I}", "speedup", f.speedup, "efficiency",
                  f.efficiency, "of_bound", f.of_bound, "lanes", (json_int_t)way->counts.lanes,
                  "waits", (json_int_t)way->counts.waits, "edges", (json_int_t)way->counts.edges);
    if (!more || json_object_update(row, more)) {
        json_decref(row);
        row = NULL;
    }
    json_decref(more);
    return row;
}

static json_t *to_json(const struct ways *ways, const struct settings *s)
{
    json_t *root = ways_head_json(ways), *rows = json_array();
    int failed = !root || !rows;
    for (int i = 0; i < ways->count && !failed; i++)
        failed = json_array_append_new(rows, row_json(ways, &ways->way[i]));
    if (!failed)
        failed = json_object_set(root, "rows", rows) ||
                 json_object_set_new(root, "order", json_string(orders[s->order])) ||
                 json_object_set_new(root, "schedule", json_string(schedules[s->schedule])) ||
                 json_object_set_new(root, "samples", json_integer((json_int_t)s->repeat)) ||
                 json_object_set_new(root, "replays_checked",
                                     json_integer((json_int_t)ways_replays(ways)));
    json_decref(rows);
    if (!failed)
        return root;
    json_decref(root);
    return NULL;
}

static int run_command(int argc, char **argv)
{
    struct settings s = { .scale = WAYS_SCALE_AUTO, .repeat = 20, .mode = MODE_BOTH };
    struct ways ways = { 0 };
    const char *path;
    int status = cli_parse(&command_run, argc, argv, &s, &path);
    if (status >= 0)
        return status;
    status = open_ways(&ways, &s, path);
    if (!status)
        status = measure(&ways, &s);
    if (!status && s.json)
        status = json_print(&command_run, to_json(&ways, &s));
    else if (!status)
        report(&ways, &s);
    ways_close(&ways);
    return status;
}

static const char *const examples[] = {
    "rondo run examples/graphs/small.stg",
    "both modes, on all CPUs",
    "rondo run --mode=compiled --schedule=dataflow --order=pipelined examples/graphs/small.stg",
    "one of them, replays overlapping",
    NULL,
};

const struct cli_command command_run = {
    .name = "run",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "replay a graph from a file, in both modes, and time it",
    .text =
        "Replays the graph in FILE: a Standard Task Graph file, a recorded workflow (WfFormat) or "
        "a recording of Rondo's own as JSON; which of them is told by what it holds. Each task "
        "computes for its time and checks that it runs once per replay, after its predecessors.\n"
        "\n"
        "What runs on devices needs --devices: kernels compute on memory of zeros, launches "
        "enqueue "
        "nothing.\n"
        "\n"
        "Speed-up: against the row `in order`, which calls the bodies on one thread. Of bound: the "
        "longer of the critical path and the serial sum over the processors, divided by the "
        "makespan. Overhead: of a replay whose bodies check and do not compute, time per task.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
