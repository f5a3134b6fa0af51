/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo timeline FILE`: traces replays of a graph, and shows the one in the middle. */
#include "tools/timeline.h"
#include "tools/commands.h"
#include "tools/ways.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Replays that overlap are traced eight at a time, and one in the middle is shown. Warm-up: that
 * the schedule `auto` has tried all it tries. Traces: fewer where they hold many spans. */
enum { BATCH = 8, WARM = 6, WARM_AUTO = 120, TRACES = 9, SPANS_MOST = 500000 };

static const char *const modes[] = { "compiled", "interpreted", NULL };
static const char *const orders[] = { "serial", "pipelined", "concurrent", NULL };
static const char *const schedules[] = { "static", "dataflow", "auto", NULL };
enum { SCHEDULE_AUTO = 2 };

struct settings {
    const char *output, *devices;
    uint64_t workers, scale, width;
    int mode, order, schedule;
};

struct text {
    char *text;
    size_t used, room;
    int failed;
};

struct trace {
    struct text text;
    uint64_t ns; /* per replay */
};

/* ---- tracing */

static void take_text(void *context, const char *piece)
{
    struct text *t = context;
    size_t bytes = strlen(piece), needed = t->used + bytes + 1;
    if (needed > t->room && !t->failed) {
        size_t room = needed > 2 * t->room ? needed : 2 * t->room;
        char *grown = realloc(t->text, room);
        t->failed = !grown;
        t->text = grown ? grown : t->text;
        t->room = grown ? room : t->room;
    }
    if (t->failed)
        return;
    memcpy(t->text + t->used, piece, bytes + 1);
    t->used += bytes;
}

static int trace_once(struct ways *ways, uint64_t batch, struct trace *trace)
{
    /* Per lane; nodes that Rondo adds, as for shares of a reduction, run beside those recorded. */
    uint64_t most = 4 * (ways->job.graph.nodes * batch + 256);
    if (rondo_trace_start(ways->runtime, most))
        return cli_fail(&command_timeline, EXIT_RUN_FAILED, "%s", rondo_error_message());
    int status = ways_replay(ways, &ways->way[0], 1, batch, &trace->ns);
    if (rondo_trace_stop(ways->runtime, take_text, &trace->text) && !status)
        status = cli_fail(&command_timeline, EXIT_RUN_FAILED, "%s", rondo_error_message());
    if (!status && trace->text.failed)
        status = cli_fail(&command_timeline, EXIT_RUN_FAILED, "out of memory");
    return status;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct trace *)a)->ns, y = ((const struct trace *)b)->ns;
    return (x > y) - (x < y);
}

/* Traces several times; the text of the trace whose replays took the median time is the caller's.
 */
static int trace_median(struct ways *ways, const struct settings *s, struct text *median)
{
    struct trace trace[TRACES] = { { .ns = 0 } };
    uint64_t batch = s->order ? BATCH : 1, spans = ways->job.graph.nodes * batch, ns;
    int traces = TRACES, status = 0;
    while (traces > 1 && spans * (uint64_t)traces > SPANS_MOST)
        traces -= 2;
    int warm = s->schedule == SCHEDULE_AUTO ? WARM_AUTO : WARM;
    for (int i = 0; i < warm && !status; i++) {
        cli_progress("warming up", (uint64_t)i, (uint64_t)warm);
        status = ways_replay(ways, &ways->way[0], 1, 1, &ns);
    }
    cli_progress("warming up", 1, 1);
    for (int i = 0; i < traces && !status; i++)
        status = trace_once(ways, batch, &trace[i]);
    if (!status)
        status = ways_end(ways);
    if (!status) {
        qsort(trace, (size_t)traces, sizeof *trace, compare);
        *median = trace[traces / 2].text;
        trace[traces / 2].text.text = NULL;
    }
    for (int i = 0; i < traces; i++)
        free(trace[i].text.text);
    return status;
}

/* ---- showing */

static void describe(const struct ways *ways, const struct timeline *timeline,
                     const struct timeline_view *view, char *text, size_t bytes)
{
    double idle = 1 - view->busy - view->waiting - view->late;
    uint32_t ran = 0;
    for (uint32_t i = 0; i < timeline->spans; i++)
        ran += timeline->span[i].replay == view->replay && !timeline->span[i].added;
    double took = view->end_us - view->begin_us, all = took * ways->processors;
    snprintf(text, bytes,
             "replay %" PRIu64 ": %" PRIu32 " nodes ran in %.1f us; %" PRIu32
             " processor%s %.1f %% busy; of the time of %" PRIu32
             " lane%s %.1f %% running, %.1f %% waiting for predecessors, %.1f %% ready and not "
             "begun, %.1f %% idle",
             view->replay, ran, took, ways->processors, ways->processors == 1 ? "" : "s",
             all > 0 ? 100 * view->running_us / all : 100, timeline->lanes,
             timeline->lanes == 1 ? "" : "s", 100 * view->busy, 100 * view->waiting,
             100 * view->late, idle > 0 ? 100 * idle : 0);
}

static int write_picture(const struct ways *ways, const struct settings *s,
                         const struct text *trace)
{
    struct timeline timeline;
    struct timeline_view view;
    const char *slash = strrchr(ways->path, '/');
    char why[256], caption[512], title[512];
    if (timeline_read(&timeline, trace->text, trace->used, &ways->job.graph, why, sizeof why)) {
        timeline_free(&timeline);
        return cli_fail(&command_timeline, EXIT_RUN_FAILED, "%s", why);
    }
    timeline_look(&timeline, &view);
    describe(ways, &timeline, &view, caption, sizeof caption);
    snprintf(title, sizeof title, "%.200s, %s, %s schedule, %s order",
             slash ? slash + 1 : ways->path, modes[s->mode], schedules[s->schedule],
             orders[s->order]);
    FILE *file = cli_output(&command_timeline, s->output);
    int status = EXIT_RUN_FAILED;
    if (file) {
        timeline_draw(&timeline, &view, &ways->job.graph, title, caption, (double)s->width, file);
        status = cli_output_end(&command_timeline, s->output, file);
    }
    if (!status && strcmp(s->output, "-")) {
        file_printable(ways->path, title, sizeof title);
        printf("%s: %s\n", title, caption);
    }
    timeline_free(&timeline);
    return status;
}

static int write_trace(const struct settings *s, const struct text *trace)
{
    FILE *file = cli_output(&command_timeline, s->output);
    if (!file)
        return EXIT_RUN_FAILED;
    fwrite(trace->text, 1, trace->used, file);
    return cli_output_end(&command_timeline, s->output, file);
}

/* ---- the command */

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && !strcmp(text + length - bytes, end);
}

static int show(struct ways *ways, const struct settings *s)
{
    static const uint32_t mode[] = { RONDO_COMPILED, RONDO_INTERPRETED };
    static const uint32_t schedule[] = { RONDO_STATIC, RONDO_DATAFLOW, RONDO_SCHEDULE_AUTO };
    static const uint32_t order[] = { RONDO_SERIAL, RONDO_PIPELINED, RONDO_CONCURRENT };
    struct text trace = { .text = NULL };
    int status =
        ways_open(ways, &command_timeline, ways->path, s->workers, s->devices, s->scale, 1);
    if (!status)
        status = ways_add(ways, "replay", mode[s->mode], schedule[s->schedule], order[s->order]);
    if (!status && *ways->way[0].skipped) {
        fprintf(stderr, "%s: %s\n", ways->path, ways->way[0].skipped);
        status = EXIT_BAD_INPUT;
    }
    if (!status)
        status = trace_median(ways, s, &trace);
    if (!status)
        status =
            ends_with(s->output, ".json") ? write_trace(s, &trace) : write_picture(ways, s, &trace);
    free(trace.text);
    return status;
}

static int run(int argc, char **argv)
{
    struct settings s = { .scale = WAYS_SCALE_AUTO, .width = 1200 };
    struct ways ways = { 0 };
    const char *path;
    int status = cli_parse(&command_timeline, argc, argv, &s, &path);
    if (status >= 0)
        return status;
    if (!s.output ||
        (strcmp(s.output, "-") && !ends_with(s.output, ".svg") && !ends_with(s.output, ".json")))
        return cli_fail(&command_timeline, EXIT_BAD_INPUT,
                        "--output needs a name that ends in .svg or .json, or -");
    ways.path = path;
    status = show(&ways, &s);
    ways_close(&ways);
    return status;
}

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "output", 'o', "FILE",
      "what to write: FILE.svg, the picture; FILE.json, the trace for Perfetto and "
      "chrome://tracing; -, the picture on standard output",
      CLI_FILE, FIELD(output), 0, 0, NULL },
    { "workers", 'w', "N",
      "worker threads, one per CPU; more than there are CPUs share them (default: one per CPU)",
      CLI_NUMBER, FIELD(workers), 1, 1024, NULL },
    { "devices", 'd', "LIST", COMMAND_DEVICES_HELP, CLI_TEXT, FIELD(devices), 0, 0, NULL },
    { "scale", 0, "N",
      "of a .stg file, nanoseconds per unit of processing time; of the others, thousandths that "
      "times are multiplied by (default: 1000, or as much less as a replay needs to compute for "
      "5 ms at most)",
      CLI_NUMBER, FIELD(scale), 0, 1000000000, NULL },
    { "mode", 'm', "MODE", "compiled (the default) or interpreted", CLI_CHOICE, FIELD(mode), 0, 0,
      modes },
    { "schedule", 's', "SCHEDULE",
      "of the compiled mode: static (the default), dataflow, or auto, which tries them first",
      CLI_CHOICE, FIELD(schedule), 0, 0, schedules },
    { "order", 0, "ORDER",
      "serial (the default); pipelined or concurrent: replays overlap, one of eight is shown, and "
      "what ran of others meanwhile",
      CLI_CHOICE, FIELD(order), 0, 0, orders },
    { "width", 0, "PX", "of the picture (default 1200)", CLI_NUMBER, FIELD(width), 400, 30000,
      NULL },
    { .name = NULL },
};

static const char *const examples[] = {
    "rondo timeline graph.stg -o replay.svg",
    "one replay, for a browser; names and times are shown under the pointer",
    "rondo timeline graph.stg --schedule=dataflow --order=pipelined -o replays.json",
    "a trace of eight overlapping replays, for ui.perfetto.dev",
    NULL,
};

const struct cli_command command_timeline = {
    .name = "timeline",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "draw one replay of a graph, lane by lane",
    .text = "Replays the graph in FILE, whose tasks compute for their times, a few times to warm "
            "up, then traces several replays and takes the one of median time. The picture has a "
            "row for each lane that ran something, a bar for each node, and between them what the "
            "lane did instead: it waits while a predecessor of its next node runs elsewhere; the "
            "node is ready and not begun while a hand-over takes its time, or the lane's processor "
            "runs another lane; or nothing is left to do.",
    .examples = examples,
    .options = options,
    .run = run,
};
