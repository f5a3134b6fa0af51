/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace (Trace Event Format) as spans by lane. Events are read one by one, so that memory grows
 * with the spans and not with a tree of their text. */
#include "tools/timeline.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char strange[] = "the trace is not as this command knows traces";

struct reader {
    struct timeline *timeline;
    uint32_t lane_room, span_room;
};

static int grow(void **array, uint32_t *room, uint32_t count, size_t elem_bytes)
{
    if (count < *room)
        return 0;
    uint32_t more = *room ? *room * 2 : 64;
    void *grown = realloc(*array, more * elem_bytes);
    if (!grown)
        return -1;
    *array = grown;
    *room = more;
    return 0;
}

/* ---- events */

/* "exec 'name' track 1 lane 2 (cpu 3)" without the exec, whose name may hold anything. */
static void lane_name(const char *full, char *name, size_t bytes)
{
    const char *quote = strrchr(full, '\'');
    if (quote && quote[1] == ' ')
        full = quote + 2;
    snprintf(name, bytes, "%s", full);
}

static int take_lane(struct reader *r, uint64_t thread, const char *name)
{
    struct timeline *t = r->timeline;
    void *lanes = t->lane;
    int failed = grow(&lanes, &r->lane_room, t->lanes, sizeof *t->lane);
    t->lane = lanes;
    if (failed)
        return -1;
    struct timeline_lane *lane = &t->lane[t->lanes++];
    *lane = (struct timeline_lane){ .thread = thread };
    lane_name(name, lane->name, sizeof lane->name);
    lane->own_thread = !strstr(lane->name, "(cpu ");
    return 0;
}

static int take_span(struct reader *r, json_t *event, uint64_t thread, const char *name)
{
    struct timeline *t = r->timeline;
    void *spans = t->span;
    double at, took;
    json_int_t replay, node;
    if (json_unpack(event, "{s:F, s:F, s:{s:I, s:I}}", "ts", &at, "dur", &took, "args", "replay",
                    &replay, "node", &node))
        return -2;
    int failed = grow(&spans, &r->span_room, t->spans, sizeof *t->span);
    t->span = spans;
    char *copy = failed ? NULL : strdup(name);
    if (!copy)
        return -1;
    /* Lanes are told by their thread until all are known. */
    t->span[t->spans++] = (struct timeline_span){ .begin_us = at,
                                                  .end_us = at + took,
                                                  .lane = (uint32_t)thread,
                                                  .node = (uint32_t)node,
                                                  .replay = (uint64_t)replay,
                                                  .name = copy,
                                                  .waited_for = -1 };
    return 0;
}

/* Returns 0; -1: no memory; -2: not as it should be. */
static int take_event(struct reader *r, json_t *event)
{
    const char *name, *phase, *lane;
    json_int_t thread = 0;
    if (json_unpack(event, "{s:s, s:s, s?I}", "name", &name, "ph", &phase, "tid", &thread))
        return -2;
    if (!strcmp(phase, "X"))
        return take_span(r, event, (uint64_t)thread, name);
    if (!strcmp(phase, "M") && !strcmp(name, "thread_name")) {
        if (json_unpack(event, "{s:{s:s}}", "args", "name", &lane))
            return -2;
        return take_lane(r, (uint64_t)thread, lane);
    }
    return 0;
}

static int read_events(struct reader *r, const char *text, size_t bytes, char *why,
                       size_t why_bytes)
{
    const char *end = text + bytes, *at = strstr(text, "\"traceEvents\"");
    int status = at && (at = strchr(at, '[')) ? 0 : -2;
    for (at = at ? at + 1 : end; !status;) {
        json_error_t error;
        while (at < end && strchr(" \t\r\n,", *at))
            at++;
        if (at >= end || *at == ']')
            break;
        json_t *event = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &error);
        status = event ? take_event(r, event) : -2;
        at += event ? error.position : 0;
        json_decref(event);
    }
    if (status)
        snprintf(why, why_bytes, "%s", status == -1 ? "out of memory" : strange);
    return status ? -1 : 0;
}

/* ---- order */

/* By track and lane, as their names say; others by name. */
static int by_number(const void *a, const void *b)
{
    const struct timeline_lane *x = a, *y = b;
    unsigned long number[2][2];
    for (int i = 0; i < 2; i++) {
        const char *name = i ? y->name : x->name;
        const char *track = strstr(name, "track "), *lane = strstr(name, "lane ");
        number[i][0] = track ? strtoul(track + 6, NULL, 10) : 0;
        number[i][1] = lane ? strtoul(lane + 5, NULL, 10) : 0;
    }
    for (int i = 0; i < 2; i++)
        if (number[0][i] != number[1][i])
            return number[0][i] < number[1][i] ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_lane_and_time(const void *a, const void *b)
{
    const struct timeline_span *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

/* Spans come thread by thread, so each is looked for where the one before was found. */
static int find_lanes(struct timeline *t)
{
    uint32_t lane = 0, looked;
    for (uint32_t i = 0; i < t->spans; i++) {
        for (looked = 0; looked < t->lanes && t->lane[lane].thread != t->span[i].lane; looked++)
            lane = (lane + 1) % t->lanes;
        if (looked == t->lanes)
            return -1;
        t->span[i].lane = lane;
    }
    return 0;
}

/* The lanes that ran something, and their spans. Returns -1 where spans are of no lane. */
static int sort(struct timeline *t)
{
    uint32_t kept = 0, at = 0;
    if (t->lanes)
        qsort(t->lane, t->lanes, sizeof *t->lane, by_number);
    if (find_lanes(t))
        return -1;
    qsort(t->span, t->spans, sizeof *t->span, by_lane_and_time);
    for (uint32_t l = 0; l < t->lanes; l++) {
        struct timeline_lane lane = t->lane[l];
        lane.first = at;
        for (; at < t->spans && t->span[at].lane == l; at++)
            lane.count++;
        if (lane.count)
            t->lane[kept++] = lane;
    }
    t->lanes = kept;
    for (uint32_t l = 0; l < kept; l++)
        for (uint32_t i = 0; i < t->lane[l].count; i++)
            t->span[t->lane[l].first + i].lane = l;
    return 0;
}

/* ---- what was waited for */

struct ends {
    double *end_us; /* of a node in a replay; negative: it did not run */
    uint64_t first_replay, replays;
    uint32_t nodes;
};

static double *end_of(const struct ends *e, uint64_t replay, uint32_t node)
{
    if (node >= e->nodes || replay < e->first_replay || replay - e->first_replay >= e->replays)
        return NULL;
    return &e->end_us[(replay - e->first_replay) * e->nodes + node];
}

static int find_ends(struct ends *e, const struct timeline *t, const struct graph *g)
{
    uint64_t last = 0;
    *e = (struct ends){ .first_replay = UINT64_MAX, .nodes = g->nodes };
    for (uint32_t i = 0; i < t->spans; i++) {
        last = t->span[i].replay > last ? t->span[i].replay : last;
        if (t->span[i].replay < e->first_replay)
            e->first_replay = t->span[i].replay;
    }
    e->replays = t->spans ? last - e->first_replay + 1 : 0;
    if (e->replays > t->spans) /* replays that left no span at all */
        return -1;
    size_t count = (size_t)e->replays * e->nodes;
    e->end_us = malloc((count + 1) * sizeof *e->end_us);
    if (!e->end_us)
        return -1;
    for (size_t i = 0; i < count; i++)
        e->end_us[i] = -1;
    for (uint32_t i = 0; i < t->spans; i++) {
        double *end = end_of(e, t->span[i].replay, t->span[i].node);
        if (end && t->span[i].end_us > *end) /* the ranks of a team end one by one */
            *end = t->span[i].end_us;
    }
    return 0;
}

static void find_ready(struct timeline_span *span, const struct ends *e, const struct graph *g)
{
    span->ready_us = -1;
    span->added = span->node >= g->nodes;
    if (span->added)
        return;
    for (size_t i = g->first[span->node]; i < g->first[span->node + 1]; i++) {
        const struct graph_edge *edge = &g->edge[i];
        if (edge->distance > span->replay)
            continue;
        const double *end = end_of(e, span->replay - edge->distance, edge->from);
        if (end && *end > span->ready_us) {
            span->ready_us = *end;
            span->waited_for = edge->from;
        }
    }
}

int timeline_read(struct timeline *timeline, const char *text, size_t bytes,
                  const struct graph *graph, char *why, size_t why_bytes)
{
    struct reader reader = { .timeline = timeline };
    struct ends ends;
    *timeline = (struct timeline){ 0 };
    if (read_events(&reader, text, bytes, why, why_bytes))
        return -1;
    if (!timeline->spans || sort(timeline)) {
        snprintf(why, why_bytes, "%s",
                 timeline->spans ? strange : "no node ran in the replays traced");
        return -1;
    }
    if (find_ends(&ends, timeline, graph)) {
        snprintf(why, why_bytes, "out of memory");
        return -1;
    }
    for (uint32_t i = 0; i < timeline->spans; i++)
        find_ready(&timeline->span[i], &ends, graph);
    free(ends.end_us);
    return 0;
}

void timeline_free(struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->spans; i++)
        free(timeline->span[i].name);
    free(timeline->span);
    free(timeline->lane);
    *timeline = (struct timeline){ 0 };
}

/* ---- one replay */

/* The one in the middle, or next to it: conditions may leave replays without spans. */
static uint64_t middle_replay(const struct timeline *t)
{
    uint64_t least = UINT64_MAX, most = 0, middle, found = t->span[0].replay;
    for (uint32_t i = 0; i < t->spans; i++) {
        least = t->span[i].replay < least ? t->span[i].replay : least;
        most = t->span[i].replay > most ? t->span[i].replay : most;
    }
    middle = least + (most - least) / 2;
    for (uint32_t i = 0; i < t->spans; i++) {
        uint64_t here = t->span[i].replay;
        uint64_t far = here > middle ? here - middle : middle - here;
        if (far < (found > middle ? found - middle : middle - found))
            found = here;
    }
    return found;
}

void timeline_gap(const struct timeline *timeline, const struct timeline_view *view, uint32_t span,
                  double gap[3])
{
    const struct timeline_span *s = &timeline->span[span];
    gap[0] = view->begin_us;
    if (span > timeline->lane[s->lane].first && timeline->span[span - 1].end_us > gap[0])
        gap[0] = timeline->span[span - 1].end_us;
    gap[2] = s->begin_us < view->end_us ? s->begin_us : view->end_us;
    if (gap[2] < gap[0] || s->added)
        gap[2] = gap[0];
    gap[1] = s->ready_us > gap[0] ? s->ready_us : gap[0];
    if (gap[1] > gap[2])
        gap[1] = gap[2];
}

static double within(const struct timeline_view *view, double begin, double end)
{
    begin = begin > view->begin_us ? begin : view->begin_us;
    end = end < view->end_us ? end : view->end_us;
    return end > begin ? end - begin : 0;
}

void timeline_look(const struct timeline *timeline, struct timeline_view *view)
{
    double all, gap[3];
    *view = (struct timeline_view){ .replay = middle_replay(timeline), .begin_us = -1 };
    for (uint32_t i = 0; i < timeline->spans; i++) {
        const struct timeline_span *s = &timeline->span[i];
        if (s->replay != view->replay)
            continue;
        if (view->begin_us < 0 || s->begin_us < view->begin_us)
            view->begin_us = s->begin_us;
        if (s->end_us > view->end_us)
            view->end_us = s->end_us;
    }
    for (uint32_t i = 0; i < timeline->spans; i++) {
        const struct timeline_span *s = &timeline->span[i];
        view->busy += within(view, s->begin_us, s->end_us);
        if (!timeline->lane[s->lane].own_thread)
            view->running_us += within(view, s->begin_us, s->end_us);
        timeline_gap(timeline, view, i, gap);
        view->waiting += gap[1] - gap[0];
        view->late += gap[2] - gap[1];
    }
    all = (view->end_us - view->begin_us) * timeline->lanes;
    if (all > 0) {
        view->busy /= all;
        view->waiting /= all;
        view->late /= all;
    }
}
