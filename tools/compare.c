/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo compare FILE`: every way of replaying a graph, by turns, in one table. */
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/table.h"
#include "tools/ways.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

/* A sample holds so many replays that it takes about this long, and enough for them to overlap. */
#define SAMPLE_NS 1000000u
enum { BATCH_MOST = 64, BATCH_LEAST = 8, TURNS_LEAST = 3, TURNS_MOST = 2000 };

struct settings {
    uint64_t workers, scale, seconds;
    const char *devices;
    int json;
};

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "seconds", 's', "S", "how long to measure (default 20)", CLI_NUMBER, FIELD(seconds), 1, 3600,
      NULL },
    { "workers", 'w', "N",
      "worker threads, one per CPU; more than there are CPUs share them (default: one per CPU)",
      CLI_NUMBER, FIELD(workers), 1, 1024, NULL },
    { "devices", 'd', "LIST", COMMAND_DEVICES_HELP, CLI_TEXT, FIELD(devices), 0, 0, NULL },
    { "scale", 0, "N",
      "of a .stg file, nanoseconds per unit of processing time; of the others, thousandths that "
      "times are multiplied by (default: 1000, or as much less as a replay needs to compute for "
      "5 ms at most)",
      CLI_NUMBER, FIELD(scale), 0, 1000000000, NULL },
    { "json", 0, NULL, "the result as JSON", CLI_FLAG, FIELD(json), 0, 0, NULL },
    { .name = NULL },
};

static const struct {
    const char *name;
    uint32_t mode, schedule, order;
} kinds[] = {
    { "in order, one thread", 0, 0, RONDO_SERIAL },
    { "interpreted", RONDO_INTERPRETED, 0, RONDO_SERIAL },
    { "compiled, static, serial", RONDO_COMPILED, RONDO_STATIC, RONDO_SERIAL },
    { "compiled, static, pipelined", RONDO_COMPILED, RONDO_STATIC, RONDO_PIPELINED },
    { "compiled, dataflow, serial", RONDO_COMPILED, RONDO_DATAFLOW, RONDO_SERIAL },
    { "compiled, dataflow, pipelined", RONDO_COMPILED, RONDO_DATAFLOW, RONDO_PIPELINED },
    { "compiled, auto, serial", RONDO_COMPILED, RONDO_SCHEDULE_AUTO, RONDO_SERIAL },
    { "compiled, auto, pipelined", RONDO_COMPILED, RONDO_SCHEDULE_AUTO, RONDO_PIPELINED },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- measuring */

/* A recording that is refused in any way is refused in the interpreted one, with the reason. */
static int open_ways(struct ways *ways, const struct settings *s, const char *path)
{
    int status =
        ways_open(ways, &command_compare, path, s->workers, s->devices, s->scale, TURNS_MOST);
    for (int i = 0; i < KINDS && !status; i++) {
        status = ways_add(ways, kinds[i].name, kinds[i].mode, kinds[i].schedule, kinds[i].order);
        if (!status && kinds[i].mode == RONDO_INTERPRETED && *ways->way[i].skipped) {
            fprintf(stderr, "%s: %s\n", path, ways->way[i].skipped);
            status = EXIT_BAD_INPUT;
        }
    }
    return status;
}

/* As many replays for each way, by what one in order takes: of samples of unlike lengths the
 * shorter ones would have the luckier minimum. */
static int choose_batch(struct ways *ways)
{
    uint64_t ns = 0;
    int status = ways_replay(ways, &ways->way[0], 1, 1, &ns);
    uint64_t batch = SAMPLE_NS / (ns ? ns : 1);
    batch = batch > BATCH_MOST ? BATCH_MOST : batch < BATCH_LEAST ? BATCH_LEAST : batch;
    for (int i = 0; i < ways->count; i++)
        ways->way[i].batch = batch;
    return status;
}

/* A replay before the sample warms up, and gives the workers of the way before the time to go to
 * sleep. */
static int turn(struct ways *ways, int keep)
{
    int status = 0;
    for (int i = 0; i < ways->count && !status; i++) {
        uint64_t ns;
        struct way *way = &ways->way[i];
        if (*way->skipped)
            continue;
        status = ways_replay(ways, way, 1, 1, &ns);
        if (!status)
            status = keep ? ways_sample(ways, way) : ways_replay(ways, way, 1, way->batch, &ns);
    }
    return status;
}

/* The first eighth of the time is not counted: what chooses a schedule by trying has chosen then.
 */
static int measure(struct ways *ways, const struct settings *s)
{
    uint64_t begin = ways_now_ns(), budget = s->seconds * 1000000000u, spent = 0;
    int status = choose_batch(ways), turns = 0;
    while (!status && turns < TURNS_MOST && (spent < budget || turns < TURNS_LEAST)) {
        int keep = spent >= budget / 8;
        cli_progress("comparing, ms", (spent < budget ? spent : budget - 1) / 1000000,
                     budget / 1000000);
        status = turn(ways, keep);
        turns += keep;
        spent = ways_now_ns() - begin;
    }
    cli_progress("comparing, ms", budget / 1000000, budget / 1000000);
    return status ? status : ways_end(ways);
}

/* ---- results */

static int best_of(const struct ways *ways)
{
    int best = -1;
    for (int i = 0; i < ways->count; i++)
        if (!*ways->way[i].skipped &&
            (best < 0 || ways_min_us(&ways->way[i]) < ways_min_us(&ways->way[best])))
            best = i;
    return best;
}

static void add_row(struct table *table, const struct way *way, const struct way *best)
{
    table_add(table, "%s", way->name);
    if (*way->skipped) {
        for (int i = 1; i < table->columns; i++)
            table_add(table, i == table->columns - 1 ? "" : "-");
        return;
    }
    table_add(table, "%.1f", ways_min_us(way));
    table_add(table, "%.1f", ways_median_us(way));
    table_add(table, "%.2f", ways_min_us(way) / ways_min_us(best));
    if (way->mode == RONDO_COMPILED)
        table_add(table, "%" PRIu32, way->counts.lanes);
    else
        table_add(table, "-");
    table_add(table, "%s", way == best ? "*" : "");
}

static void report(const struct ways *ways)
{
    static const char *const head[] = { "way", "min us", "median us", "of best", "lanes", "" };
    enum { COLUMNS = sizeof head / sizeof head[0] };
    int best = best_of(ways);
    struct table table = { .columns = COLUMNS, .marked = best + 1 };
    ways_print_head(ways);
    printf(", %" PRIu32 " processor%s, %" PRIu64 " turns\n\n", ways->processors,
           ways->processors == 1 ? "" : "s", ways->way[best].samples);
    for (int i = 0; i < COLUMNS; i++)
        table_add(&table, "%s", head[i]);
    for (int i = 0; i < ways->count; i++)
        add_row(&table, &ways->way[i], &ways->way[best]);
    table_print(&table, stdout);
    printf("\n* the best by its minimum; per replay, checked: %" PRIu64 " replays\n",
           ways_replays(ways));
    ways_print_notes(ways);
}

static json_t *row_json(const struct ways *ways, int i, int best)
{
    static const char *const names[][3] = { { "auto", "static", "dataflow" } };
    const struct way *way = &ways->way[i];
    const char *mode = !way->mode                       ? "in order"
                       : way->mode == RONDO_INTERPRETED ? "interpreted"
                                                        : "compiled";
    json_t *row =
        json_pack("{s:s, s:s, s:s}", "name", way->name, "mode", mode, "order", ways_order(way));
    json_t *more = *way->skipped
                       ? json_pack("{s:s}", "skipped", way->skipped)
                       : json_pack("{s:f, s:f, s:f, s:b, s:I, s:I}", "min_ns",
                                   ways_min_us(way) * 1e3, "median_ns", ways_median_us(way) * 1e3,
                                   "of_best", ways_min_us(way) / ways_min_us(&ways->way[best]),
                                   "best", i == best, "replays_per_sample", (json_int_t)way->batch,
                                   "lanes", (json_int_t)way->counts.lanes);
    int failed = !row || !more || json_object_update(row, more) ||
                 (way->mode == RONDO_COMPILED &&
                  json_object_set_new(row, "schedule", json_string(names[0][way->schedule])));
    json_decref(more);
    if (!failed)
        return row;
    json_decref(row);
    return NULL;
}

static json_t *to_json(const struct ways *ways)
{
    int best = best_of(ways);
    json_t *root = ways_head_json(ways), *rows = json_array();
    int failed = !root || !rows;
    for (int i = 0; i < ways->count && !failed; i++)
        failed = json_array_append_new(rows, row_json(ways, i, best));
    if (!failed)
        failed =
            json_object_set(root, "rows", rows) ||
            json_object_set_new(root, "turns", json_integer((json_int_t)ways->way[best].samples)) ||
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
    struct settings s = { .scale = WAYS_SCALE_AUTO, .seconds = 20 };
    struct ways ways = { 0 };
    const char *path;
    int status = cli_parse(&command_compare, argc, argv, &s, &path);
    if (status >= 0)
        return status;
    status = open_ways(&ways, &s, path);
    if (!status)
        status = measure(&ways, &s);
    if (!status && s.json)
        status = json_print(&command_compare, to_json(&ways));
    else if (!status)
        report(&ways);
    ways_close(&ways);
    return status;
}

static const char *const examples[] = {
    "rondo compare examples/graphs/small.stg",
    "which mode, schedule and order suit this graph on this machine",
    "rondo compare --seconds=5 --json examples/graphs/small.stg",
    "a shorter look, for a program to read",
    NULL,
};

const struct cli_command command_compare = {
    .name = "compare",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "replay a graph from a file in every way, and mark the best",
    .text =
        "Replays the graph in FILE (of any format that `rondo run` reads) in order on one "
        "thread, interpreted, and compiled with every schedule, serial and pipelined. The ways "
        "take turns, so that a machine whose speed changes is unfair to none; every replay is "
        "checked.\n"
        "\n"
        "Of best: a way's minimum divided by that of the best one. Times are those of a batch of "
        "at least 8 replays in one call, divided by their number. The auto schedule chooses among "
        "the others "
        "by trying them in the first eighth of the time, which does not count.",
    .examples = examples,
    .options = options,
    .run = run_command,
};
