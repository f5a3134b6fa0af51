/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo sim FILE`: what a graph would take on other numbers of processors. */
#include "tools/sim.h"
#include "tools/commands.h"
#include "tools/graph.h"
#include "tools/json.h"
#include "tools/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Costs of nodes are kept in 32 bits of nanoseconds. Larger ones, as those of recorded workflows,
 * are made smaller alike, and the times that come out are made as much larger. */
#define MOST_COST_NS 4e9

struct settings {
    struct cli_numbers processors;
    uint64_t handover_ns, scale; /* handover_ns UINT64_MAX: as on this machine */
    const char *plot;
    int json;
};

struct model {
    rondo_runtime runtime;
    struct file_graph file;
    struct graph graph;
    double factor; /* by which costs were made smaller */
};

double sim_speedup(const struct sim *sim, const struct sim_row *row)
{
    return row->makespan_ns > 0 ? sim->work_ns / row->makespan_ns : 1;
}

/* ---- reading */

static double greatest_cost(const struct graph *graph)
{
    double most = 0;
    for (uint32_t v = 0; v < graph->nodes; v++)
        if (graph->node[v].cost_ns > most)
            most = graph->node[v].cost_ns;
    return most;
}

static void forget(struct model *model)
{
    if (model->file.subgraph.id)
        (void)rondo_subgraph_destroy(model->file.subgraph);
    graph_free(&model->graph);
    model->file = (struct file_graph){ 0 };
}

/* Nothing is run, but a recording has no task without a function. */
static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_status give_body(void *context, uint32_t number, rondo_task_desc *desc)
{
    (void)context;
    (void)number;
    desc->fn = nothing;
    return RONDO_OK;
}

static int record(struct model *model, const struct file *file, uint64_t scale)
{
    static const struct file_bodies bodies = { give_body, NULL };
    struct file_options options = { .scale = scale, .times = 1 };
    int status = graph_record(file, model->runtime, &options, &bodies, &model->file, &model->graph);
    if (status)
        return status;
    model->factor = greatest_cost(&model->graph) / MOST_COST_NS;
    if (model->factor <= 1) {
        model->factor = 1;
        return 0;
    }
    forget(model);
    options.times = 1 / model->factor;
    return graph_record(file, model->runtime, &options, &bodies, &model->file, &model->graph);
}

static int open_model(struct model *model, const char *path, uint64_t scale)
{
    struct file *file = NULL;
    int status = file_open(path, &file);
    if (!status && rondo_runtime_open(NULL, &model->runtime))
        status = cli_fail(&command_sim, EXIT_RUN_FAILED, "%s", rondo_error_message());
    if (!status)
        status = record(model, file, scale);
    file_close(file);
    return status;
}

static void close_model(struct model *model)
{
    forget(model);
    if (model->runtime.id)
        (void)rondo_runtime_close(model->runtime);
}

/* ---- simulating */

/* What a hand-over costs on this machine; on one with a single CPU there is none to measure, and a
 * few hundred nanoseconds are usual. */
static int take_handover(struct sim *sim, const struct model *model, uint64_t given)
{
    enum { USUAL_NS = 250 };
    rondo_machine machine;
    sim->handover_ns = (double)given;
    if (given != UINT64_MAX)
        return 0;
    if (rondo_runtime_machine(model->runtime, &machine))
        return cli_fail(&command_sim, EXIT_RUN_FAILED, "%s", rondo_error_message());
    sim->handover_ns = machine.handover_ns ? machine.handover_ns : USUAL_NS;
    return 0;
}

static rondo_simulate_options options_of(const struct sim *sim, const struct model *model,
                                         uint64_t processors)
{
    int64_t handover = (int64_t)(sim->handover_ns / model->factor + 0.5);
    /* Only a recording leaves costs open; in other files 0 is 0, and beside seconds all is. */
    int open = !strcmp(model->file.format, "rondo") && model->factor <= 1;
    return (rondo_simulate_options){
        .processors = (uint32_t)processors,
        .handover_ns = handover ? handover : -1,
        .unknown_cost_ns = open ? 0 : 1,
    };
}

/* How much of the work is the processors': what is on devices is not. */
static double host_share(const struct graph *g)
{
    if (g->work_ns > 0)
        return 1 - g->device_ns / g->work_ns;
    return g->nodes ? 1 - (double)g->on_devices / g->nodes : 1;
}

static int simulate_row(struct sim *sim, const struct model *model, uint64_t processors)
{
    struct sim_row *row = &sim->row[sim->count++];
    rondo_simulate_options options = options_of(sim, model, processors);
    rondo_simulation found;
    char shown[512];
    rondo_status status = rondo_simulate(model->file.subgraph, &options, &found);
    *row = (struct sim_row){ .processors = processors };
    if (!status) {
        sim->work_ns = (double)found.work_ns * model->factor;
        sim->critical_ns = (double)found.critical_path_ns * model->factor;
        row->makespan_ns = (double)found.makespan_ns * model->factor;
        row->bound_ns = sim->work_ns * host_share(&model->graph) / (double)processors;
        if (row->bound_ns < sim->critical_ns)
            row->bound_ns = sim->critical_ns;
        row->handovers = found.handovers;
        row->lanes = found.lanes;
        row->used = found.processors;
        return 0;
    }
    file_printable(rondo_error_message(), shown, sizeof shown);
    if (status != RONDO_ERR_INVALID || !(row->refused = strdup(shown)))
        return cli_fail(&command_sim, EXIT_RUN_FAILED, "%s", shown);
    return 0;
}

/* A recording that is refused everywhere is bad; one that is refused here and there, as with fewer
 * processors than a node asks for, has rows that say so. */
static int simulate(struct sim *sim, const struct model *model, const struct settings *settings)
{
    const struct cli_numbers *processors = &settings->processors;
    uint32_t refused = 0;
    int status = take_handover(sim, model, settings->handover_ns);
    sim->nodes = model->graph.nodes;
    sim->edges = model->graph.edges - model->graph.carried;
    for (uint32_t i = 0; i < processors->count && !status; i++) {
        cli_progress("simulating", i, processors->count);
        status = simulate_row(sim, model, processors->value[i]);
        refused += !status && sim->row[i].refused;
    }
    cli_progress("simulating", 1, 1);
    if (status || refused < processors->count)
        return status;
    fprintf(stderr, "%s: %s\n", sim->path, sim->row[0].refused);
    return EXIT_BAD_INPUT;
}

/* ---- as text */

struct unit {
    const char *name;
    double ns;
};

/* In which the longest time has up to four digits before the point. */
static struct unit unit_for(double ns)
{
    static const struct unit units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    int i = 0;
    while (i < 3 && ns >= 1e4 * units[i].ns)
        i++;
    return units[i];
}

static void add_row(struct table *table, const struct sim *sim, const struct sim_row *row,
                    const struct unit *unit)
{
    table_add(table, "%" PRIu64, row->processors);
    if (row->refused) {
        for (int i = 0; i < 7; i++)
            table_add(table, "-");
        return;
    }
    double speedup = sim_speedup(sim, row);
    table_add(table, "%.1f", row->makespan_ns / unit->ns);
    table_add(table, "%.2f", speedup);
    table_add(table, "%.*f %%", speedup < 0.1 * (double)row->processors,
              100 * speedup / (double)row->processors);
    table_add(table, "%.1f", row->bound_ns / unit->ns);
    table_add(table, "%.0f %%",
              row->makespan_ns > 0 ? 100 * row->bound_ns / row->makespan_ns : 100);
    table_add(table, "%" PRIu32, row->lanes);
    table_add(table, "%" PRIu64, row->handovers);
}

static void report(const struct sim *sim)
{
    static const char *const head[] = { "processors", "makespan %s", "speed-up", "efficiency",
                                        "bound %s",   "of bound",    "lanes",    "hand-overs" };
    enum { COLUMNS = sizeof head / sizeof head[0] };
    struct table table = { .columns = COLUMNS };
    struct unit unit = unit_for(sim->work_ns);
    int refused = 0;
    char name[256], text[64];
    file_printable(sim->path, name, sizeof name);
    printf("%s: %" PRIu32 " nodes, %zu edges, critical path %.1f %s, serial sum %.1f %s; "
           "a hand-over costs %.0f ns\n\n",
           name, sim->nodes, sim->edges, sim->critical_ns / unit.ns, unit.name,
           sim->work_ns / unit.ns, unit.name, sim->handover_ns);
    for (int i = 0; i < COLUMNS; i++) {
        const char *hole = strstr(head[i], "%s");
        snprintf(text, sizeof text, "%.*s%s", hole ? (int)(hole - head[i]) : 60, head[i],
                 hole ? unit.name : "");
        table_add(&table, "%s", text);
    }
    for (uint32_t i = 0; i < sim->count; i++)
        add_row(&table, sim, &sim->row[i], &unit);
    table_print(&table, stdout);
    for (uint32_t i = 0; i < sim->count; i++)
        if (sim->row[i].refused)
            printf("%s%" PRIu64 ": %s\n", refused++ ? "" : "\n", sim->row[i].processors,
                   sim->row[i].refused);
    if (sim->critical_ns > 0)
        printf("\nno number of processors gives a speed-up above %.2f\n",
               sim->work_ns / sim->critical_ns);
}

/* ---- as JSON */

static json_t *json_row(const struct sim *sim, const struct sim_row *row)
{
    if (row->refused)
        return json_pack("{s:I, s:o}", "processors", (json_int_t)row->processors, "refused",
                         json_text(row->refused));
    double speedup = sim_speedup(sim, row);
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "processors",
                     (json_int_t)row->processors, "makespan_ns", row->makespan_ns, "speedup",
                     speedup, "efficiency", speedup / (double)row->processors, "bound_ns",
                     row->bound_ns, "of_bound",
                     row->makespan_ns > 0 ? row->bound_ns / row->makespan_ns : 1, "lanes",
                     (json_int_t)row->lanes, "handovers", (json_int_t)row->handovers,
                     "processors_used", (json_int_t)row->used);
}

static json_t *to_json(const struct sim *sim)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < sim->count; i++)
        if (json_array_append_new(rows, json_row(sim, &sim->row[i]))) {
            json_decref(rows);
            return NULL;
        }
    return json_pack("{s:o, s:I, s:I, s:f, s:f, s:f, s:o}", "file", json_text(sim->path), "nodes",
                     (json_int_t)sim->nodes, "edges", (json_int_t)sim->edges, "critical_path_ns",
                     sim->critical_ns, "work_ns", sim->work_ns, "handover_ns", sim->handover_ns,
                     "rows", rows);
}

/* ---- the command */

static int show(const struct sim *sim, const struct settings *settings)
{
    int status = EXIT_DONE;
    if (settings->plot) {
        FILE *file = cli_output(&command_sim, settings->plot);
        if (!file)
            return EXIT_RUN_FAILED;
        sim_plot(sim, file);
        status = cli_output_end(&command_sim, settings->plot, file);
    }
    if (status || (settings->plot && !strcmp(settings->plot, "-")))
        return status;
    return settings->json ? json_print(&command_sim, to_json(sim)) : (report(sim), EXIT_DONE);
}

static int run(int argc, char **argv)
{
    struct settings settings = { .handover_ns = UINT64_MAX, .scale = 1000 };
    struct model model = { .factor = 1 };
    struct sim sim = { 0 };
    for (uint64_t p = 1; p <= 1024; p *= 2)
        settings.processors.value[settings.processors.count++] = p;
    int status = cli_parse(&command_sim, argc, argv, &settings, &sim.path);
    if (status >= 0)
        return status;
    status = open_model(&model, sim.path, settings.scale);
    if (!status)
        status = simulate(&sim, &model, &settings);
    if (!status)
        status = show(&sim, &settings);
    for (uint32_t i = 0; i < sim.count; i++)
        free((void *)(uintptr_t)sim.row[i].refused);
    close_model(&model);
    return status;
}

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "processors", 'p', "LIST",
      "numbers of processors, from 1 to 1024: 1,2,4 or 1-8 or, doubling, 1,2,...,1024 (the "
      "default)",
      CLI_NUMBERS, FIELD(processors), 1, 1024, NULL },
    { "handover", 0, "NS",
      "nanoseconds that a dependence between two processors takes; 0: nothing (default: what it "
      "takes on this machine, measured)",
      CLI_NUMBER, FIELD(handover_ns), 0, 1000000000, NULL },
    { "scale", 0, "N",
      "of a .stg file, nanoseconds per unit of processing time; of the others, thousandths that "
      "times are multiplied by (default 1000)",
      CLI_NUMBER, FIELD(scale), 0, 1000000000, NULL },
    { "plot", 0, "FILE",
      "also draws speed-up over processors, and the bound, as SVG; - for standard output, instead "
      "of the table",
      CLI_FILE, FIELD(plot), 0, 0, NULL },
    { "json", 0, NULL, "the table as JSON, all times in nanoseconds", CLI_FLAG, FIELD(json), 0, 0,
      NULL },
    { .name = NULL },
};

static const char *const examples[] = {
    "rondo sim graph.stg",
    "on 1, 2, 4, ... 1024 processors",
    "rondo sim graph.stg --processors 1-16 --handover 0 --plot speedup.svg",
    "on each number up to 16, if hand-overs were free, with a picture",
    NULL,
};

const struct cli_command command_sim = {
    .name = "sim",
    .operands = "FILE",
    .operand_count = 1,
    .summary = "say what a graph would take on other numbers of processors",
    .text = "Places the nodes of the graph as instantiation would, on each of the numbers of "
            "processors asked for, and plays one replay in time: nothing is run, and the machine "
            "need not have so many. Costs are those of the file; a node of a recording without one "
            "counts as the library assumes.\n"
            "\n"
            "Speed-up: the serial sum of all costs divided by the makespan. Efficiency: that, "
            "divided by the processors. Bound: no schedule is shorter, the longer of the critical "
            "path and the serial sum over the processors. Of bound: the bound divided by the "
            "makespan. Hand-overs: edges between nodes on different processors.",
    .examples = examples,
    .options = options,
    .run = run,
};
