/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for what makes a graph slower, or harder to read, than it need be. */
#include "tools/hints.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A graph that no machine makes so much faster is hardly worth one with several processors. */
#define LEAST_PARALLELISM 1.25

static void add(struct hints *hints, const char *kind, uint64_t number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(struct hints *hints, const char *kind, uint64_t number, const char *format, ...)
{
    struct hint *hint = &hints->hint[hints->count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hint->text, sizeof hint->text, format, arguments);
    va_end(arguments);
    hint->kind = kind;
    hint->number = number;
}

static void look_at_edges(struct hints *hints, const struct graph *g)
{
    size_t redundant = graph_redundant(g), inner = g->edges - g->carried;
    if (redundant == SIZE_MAX)
        add(hints, "edges_not_looked_at", 0,
            "too many edges to tell in a short time which of them others imply");
    else if (redundant)
        add(hints, "redundant_edges", redundant,
            "%zu of %zu edges within a replay are implied by paths of others: the compiled modes "
            "drop them, the interpreted one counts each of them",
            redundant, inner);
}

/* Dummy tasks of a .stg file have no time by its rules. */
static int is_dummy(const struct graph *g, const struct file_graph *file, uint32_t v)
{
    return !strcmp(file->format, "stg") && ((!v && !g->node[v].tag) || v == g->nodes - 1);
}

static void look_at_costs(struct hints *hints, const struct graph *g, const struct file_graph *file,
                          double handover_ns)
{
    uint32_t tasks = 0, without = 0, small = 0, example[2] = { 0, 0 };
    char shown[80];
    for (uint32_t v = 0; v < g->nodes; v++) {
        const struct graph_node *n = &g->node[v];
        if (n->kind != RONDO_NODE_TASK || is_dummy(g, file, v))
            continue;
        tasks++;
        if (n->cost_ns <= 0 && !without++)
            example[0] = v;
        if (n->cost_ns > 0 && n->cost_ns < handover_ns && !small++)
            example[1] = v;
    }
    file_printable(without ? g->node[example[0]].name : "", shown, sizeof shown);
    if (without)
        add(hints, "tasks_without_cost", without,
            "%" PRIu32 " of %" PRIu32 " tasks say no cost (the first: '%s'): they are placed as if "
            "all took the same; give cost_ns, or instantiate with `profile`",
            without, tasks, shown);
    file_printable(small ? g->node[example[1]].name : "", shown, sizeof shown);
    if (small)
        add(hints, "tasks_below_handover", small,
            "%" PRIu32 " of %" PRIu32 " tasks take less than the %.0f ns of a hand-over between "
            "processors (the first: '%s', %.0f ns): tasks that do more pay better",
            small, tasks, handover_ns, shown, g->node[example[1]].cost_ns);
}

static void look_at_path(struct hints *hints, const struct graph *g)
{
    if (g->critical_ns > 0 && g->work_ns / g->critical_ns < LEAST_PARALLELISM)
        add(hints, "little_parallelism", 0,
            "the critical path is %.0f %% of the work: no number of processors makes a serial "
            "replay more than %.2f times faster%s",
            100 * g->critical_ns / g->work_ns, g->work_ns / g->critical_ns,
            g->carried ? "" : "; pipelined replays may overlap");
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int look_at_names(struct hints *hints, const struct graph *g)
{
    const char **names = calloc(g->nodes ? g->nodes : 1, sizeof *names);
    const char *example = "";
    uint32_t repeated = 0;
    char shown[80];
    if (!names)
        return -1;
    for (uint32_t v = 0; v < g->nodes; v++)
        names[v] = g->node[v].name;
    if (g->nodes)
        qsort(names, g->nodes, sizeof *names, compare);
    for (uint32_t i = 1; i < g->nodes; i++)
        if (!strcmp(names[i], names[i - 1]) && (i == 1 || strcmp(names[i], names[i - 2]) != 0) &&
            !repeated++)
            example = names[i];
    file_printable(example, shown, sizeof shown);
    free(names);
    if (repeated)
        add(hints, "names_repeat", repeated,
            "%" PRIu32 " name%s of several nodes, as '%s': errors and traces name nodes", repeated,
            repeated > 1 ? "s are" : " is", shown);
    return 0;
}

int hints_find(struct hints *hints, const struct graph *graph, const struct file_graph *file,
               double handover_ns)
{
    hints->count = 0;
    look_at_edges(hints, graph);
    look_at_costs(hints, graph, file, handover_ns);
    look_at_path(hints, graph);
    if (file->counters)
        add(hints, "counters", file->counters,
            "%" PRIu32 " counter%s waited for or raised: `rondo run` has no one who raises them "
            "and lets no wait wait",
            file->counters, file->counters > 1 ? "s are" : " is");
    return look_at_names(hints, graph);
}
