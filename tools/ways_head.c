/* SPDX-License-Identifier: BSD-3-Clause */
/* What is printed around a table of ways: the graph above it, notes below. */
#include "tools/ways.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static void print_scale(const struct ways *ways)
{
    int stg = !strcmp(ways->job.file.format, "stg");
    if (ways->times < 1)
        printf("scaled down %.4g times, so that a replay computes for 5 ms",
               (stg ? 1 : 1000 / (double)ways->scale) / ways->times);
    else if (stg)
        printf("%" PRIu64 " ns per unit", ways->scale);
    else if (ways->scale == 1000)
        printf("times as the file says");
    else
        printf("times x %.3f", (double)ways->scale / 1000);
}

void ways_print_head(const struct ways *ways)
{
    const struct graph *g = &ways->job.graph;
    char shown[512];
    file_printable(ways->path, shown, sizeof shown);
    printf("%s: %" PRIu32 " %s, %zu edges, critical path %.1f us, serial sum %.1f us\n", shown,
           g->nodes, ways->job.tasks == g->nodes ? "tasks" : "nodes", g->edges,
           g->critical_ns * 1e-3, g->work_ns * 1e-3);
    print_scale(ways);
}

void *ways_head_json(const struct ways *ways)
{
    const struct graph *g = &ways->job.graph;
    char shown[512];
    file_printable(ways->path, shown, sizeof shown);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "file", shown, "format",
                     ways->job.file.format, "nodes", (json_int_t)g->nodes, "tasks",
                     (json_int_t)ways->job.tasks, "edges", (json_int_t)g->edges, "carried_edges",
                     (json_int_t)g->carried, "critical_path_ns", g->critical_ns, "work_ns",
                     g->work_ns, "scale", (double)ways->scale * ways->times, "processors",
                     (json_int_t)ways->processors);
}

void ways_print_notes(const struct ways *ways)
{
    for (int i = 0; i < ways->count; i++)
        if (*ways->way[i].skipped)
            printf("%s: cannot be replayed so: %s\n", ways->way[i].name, ways->way[i].skipped);
    if (ways->job.graph.on_devices && ways->count > 1)
        printf("%s: without the %" PRIu32 " node%s on devices\n", ways->way[0].name,
               ways->job.graph.on_devices, ways->job.graph.on_devices > 1 ? "s" : "");
    if (ways->job.file.filled)
        printf("%" PRIu32 " slot%s that every replay must give got memory and zeros\n",
               ways->job.file.filled,
               ways->job.file.filled > 1 ? "s and parameters" : " or parameter");
    if (ways->job.file.counters)
        printf("%" PRIu32 " counter%s began at the greatest value: nobody raises %s here\n",
               ways->job.file.counters, ways->job.file.counters > 1 ? "s" : "",
               ways->job.file.counters > 1 ? "them" : "it");
}
