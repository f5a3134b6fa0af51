/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes Standard Task Graph files. */
#include "tools/stg_write.h"
#include "tools/stg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- what the format can hold */

static int hold_node(const struct graph *g, uint32_t v, double unit_ns, char *why, size_t why_bytes)
{
    static const char *const kinds[] = { "task", "call",   "copy",   "fill",  "allreduce",
                                         "wait", "signal", "kernel", "launch" };
    const struct graph_node *n = &g->node[v];
    char shown[100];
    file_printable(n->name, shown, sizeof shown);
    if (n->kind != RONDO_NODE_TASK)
        snprintf(why, why_bytes, "node '%s' is a %s: the format has tasks only", shown,
                 n->kind <= RONDO_NODE_LAUNCH ? kinds[n->kind] : "node of another kind");
    else if (n->conditional)
        snprintf(why, why_bytes, "node '%s' runs under a condition: the format has none", shown);
    else if (n->flags & ~(uint32_t)RONDO_NO_ACCESS)
        snprintf(why, why_bytes, "node '%s' is more than a plain task: the format has no flags",
                 shown);
    else if (n->cost_ns / unit_ns > STG_MAX_TIME)
        snprintf(why, why_bytes,
                 "node '%s' takes %.0f units of %.0f ns, more than %u: give a greater --scale",
                 shown, n->cost_ns / unit_ns, unit_ns, STG_MAX_TIME);
    else
        return 0;
    return -1;
}

/* Which of the ends of the order are dummy tasks; at least one task is none. */
struct dummies {
    uint32_t begins, ends;
};

static struct dummies dummies_of(const struct graph *g)
{
    const struct graph_node *top = &g->node[g->order[0]],
                            *bottom = &g->node[g->order[g->nodes - 1]];
    struct dummies d = { 0, 0 };
    d.begins = g->nodes > 1 && top->cost_ns <= 0 && !top->tag;
    d.ends = g->nodes > 1 + d.begins && bottom->cost_ns <= 0;
    return d;
}

static int too_many(const struct graph *g)
{
    struct dummies d = dummies_of(g);
    return g->nodes - d.begins - d.ends > STG_MAX_TASKS || g->edges > STG_MAX_PREDECESSORS;
}

int stg_holds(const struct graph *g, double unit_ns, char *why, size_t why_bytes)
{
    for (uint32_t v = 0; v < g->nodes; v++)
        if (hold_node(g, v, unit_ns, why, why_bytes))
            return -1;
    for (size_t i = 0; i < g->edges; i++) {
        const struct graph_edge *e = &g->edge[i];
        if (!e->distance)
            continue;
        char from[80], to[80];
        file_printable(g->node[e->from].name, from, sizeof from);
        file_printable(g->node[e->to].name, to, sizeof to);
        snprintf(why, why_bytes,
                 "the edge from '%s' to '%s' is carried over %" PRIu32
                 " replay%s: the format has edges within one only",
                 from, to, e->distance, e->distance > 1 ? "s" : "");
        return -1;
    }
    const char *what = !g->nodes     ? "it has no nodes"
                       : !g->order   ? "its nodes wait for each other"
                       : too_many(g) ? "it has more tasks or edges than the format may have"
                                     : NULL;
    if (what)
        snprintf(why, why_bytes, "%s", what);
    return what ? -1 : 0;
}

/* ---- the file */

struct writer {
    const struct graph *graph;
    double unit_ns;
    FILE *file;
    uint32_t *number;  /* of each node */
    uint8_t *has_next; /* successors */
    int64_t rounded;
};

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Returns how many there are without repetitions. */
static uint32_t sort(uint32_t *numbers, uint32_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(numbers, count, sizeof *numbers, compare);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    return kept;
}

static void write_line(struct writer *w, uint32_t number, double cost_ns, uint32_t *predecessors,
                       uint32_t count)
{
    double units = cost_ns / w->unit_ns, whole = round(units);
    w->rounded += fabs(units - whole) > 1e-6 * (units + 1);
    count = sort(predecessors, count);
    fprintf(w->file, "%5" PRIu32 " %5.0f %5" PRIu32, number, whole, count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(w->file, " %5" PRIu32, predecessors[i]);
    fputc('\n', w->file);
}

static void write_node(struct writer *w, uint32_t v, uint32_t *predecessors)
{
    const struct graph *g = w->graph;
    uint32_t count = 0;
    for (size_t i = g->first[v]; i < g->first[v + 1]; i++)
        predecessors[count++] = w->number[g->edge[i].from];
    write_line(w, w->number[v], g->node[v].cost_ns, predecessors, count);
}

/* The dummy at the end, where the graph has none: behind all that nothing follows. */
static void write_end(struct writer *w, uint32_t number, uint32_t *predecessors)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < w->graph->nodes; v++)
        if (!w->has_next[v])
            predecessors[count++] = w->number[v];
    write_line(w, number, 0, predecessors, count);
}

static void write_all(struct writer *w, uint32_t *predecessors)
{
    const struct graph *g = w->graph;
    uint32_t n = g->nodes;
    struct dummies d = dummies_of(g);
    for (size_t i = 0; i < g->edges; i++)
        w->has_next[g->edge[i].from] = 1;
    uint32_t first = d.begins ? 0 : 1;
    for (uint32_t k = 0; k < n; k++)
        w->number[g->order[k]] = first + k;
    fprintf(w->file, "%5" PRIu32 "\n", n - d.begins - d.ends);
    for (uint32_t k = 0; k < n; k++)
        write_node(w, g->order[k], predecessors);
    if (!d.ends)
        write_end(w, first + n, predecessors);
}

int64_t stg_write(const struct graph *g, double unit_ns, FILE *file)
{
    size_t n = (size_t)g->nodes + 1;
    struct writer w = { g, unit_ns, file, calloc(n, sizeof *w.number), calloc(n, 1), 0 };
    uint32_t *predecessors = calloc(n + g->inner_most, sizeof *predecessors);
    int failed = !w.number || !w.has_next || !predecessors;
    if (!failed)
        write_all(&w, predecessors);
    free(w.number);
    free(w.has_next);
    free(predecessors);
    return failed ? -1 : w.rounded;
}
