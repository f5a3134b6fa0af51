/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of a replay: a row per lane, a bar per node, and what is between the bars. */
#include "tools/svg.h"
#include "tools/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RIGHT = 24, TOP = 92, ROW = 34, BAR = 26, BOTTOM = 48, LETTER = 7 };
/* Narrower gaps are not drawn; bars that are narrower are drawn as wide. */
#define LEAST_PX 0.2

#define WAITING "#fad7a0"
#define LATE    "#f1948a"
#define IDLE    "#f2f3f4"
#define OTHERS  "#ccd1d1"

struct drawing {
    FILE *file;
    const struct timeline *timeline;
    const struct timeline_view *view;
    const struct graph *graph;
    double left, width; /* of the rows */
    int families;       /* names differ in more than their numbers */
};

static double at(const struct drawing *d, double us)
{
    double span = d->view->end_us - d->view->begin_us;
    double part = span > 0 ? (us - d->view->begin_us) / span : 0;
    return d->left + d->width * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static double row_at(uint32_t lane) { return TOP + (double)lane * ROW; }

/* ---- colours: one for names that differ only in numbers; where all do, neighbours differ */

static uint32_t family(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        if (*name < '0' || *name > '9')
            hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static const char *colour(const struct drawing *d, const struct timeline_span *span)
{
    static const char *const palette[] = { "#2e86c1", "#239b56", "#8e44ad", "#b9770e", "#117a65",
                                           "#c0392b", "#5d6d7e", "#6c3483", "#1f618d", "#7d6608" };
    enum { COLOURS = sizeof palette / sizeof *palette };
    if (span->replay != d->view->replay)
        return OTHERS;
    return palette[(d->families ? family(span->name) >> 8 : span->node) % COLOURS];
}

static int has_families(const struct timeline *t)
{
    for (uint32_t i = 1; i < t->spans; i++)
        if (family(t->span[i].name) != family(t->span[0].name))
            return 1;
    return 0;
}

/* ---- rows */

static const char *name_of(const struct drawing *d, int64_t node)
{
    return node >= 0 && node < d->graph->nodes ? d->graph->node[node].name : "";
}

/* The name, or the number that it ends with, where there is room. */
static const char *label_for(const char *name, double width)
{
    const char *end = name + strlen(name), *number = end;
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    if (width >= (double)(LETTER * (end - name) + 4))
        return name;
    return number < end && width >= (double)(LETTER * (end - number) + 4) ? number : NULL;
}

static void draw_bar(const struct drawing *d, const struct timeline_span *s)
{
    double x = at(d, s->begin_us), width = at(d, s->end_us) - x, y = row_at(s->lane);
    char hint[512];
    int used = snprintf(hint, sizeof hint, "%.100s\nreplay %" PRIu64 ", %s\n%.3f us, from %.3f on",
                        s->name, s->replay, d->timeline->lane[s->lane].name,
                        s->end_us - s->begin_us, s->begin_us - d->view->begin_us);
    if (s->waited_for >= 0)
        snprintf(hint + used, sizeof hint - (size_t)used, "\nbegun %.3f us after '%.100s' ended",
                 s->begin_us - s->ready_us, name_of(d, s->waited_for));
    if (s->end_us <= d->view->begin_us || s->begin_us >= d->view->end_us)
        return;
    svg_rect(d->file, x, y, width > LEAST_PX ? width : LEAST_PX, BAR, colour(d, s), hint);
    const char *label = label_for(s->name, width);
    if (s->replay == d->view->replay && label)
        svg_text(d->file, x + width / 2, y + BAR / 2.0 + 4, SVG_MIDDLE, 11, "white", label);
}

static void draw_gap(const struct drawing *d, uint32_t span)
{
    const struct timeline_span *s = &d->timeline->span[span];
    double gap[3], x[3];
    char hint[256];
    timeline_gap(d->timeline, d->view, span, gap);
    for (int i = 0; i < 3; i++)
        x[i] = at(d, gap[i]);
    if (x[1] - x[0] > LEAST_PX) {
        snprintf(hint, sizeof hint, "waits %.3f us\n'%.100s' needs '%.100s'", gap[1] - gap[0],
                 s->name, name_of(d, s->waited_for));
        svg_rect(d->file, x[0], row_at(s->lane), x[1] - x[0], BAR, WAITING, hint);
    }
    if (x[2] - x[1] > LEAST_PX) {
        snprintf(hint, sizeof hint, "'%.100s' is ready for %.3f us and not begun", s->name,
                 gap[2] - gap[1]);
        svg_rect(d->file, x[1], row_at(s->lane), x[2] - x[1], BAR, LATE, hint);
    }
}

static void draw_lane(const struct drawing *d, uint32_t lane)
{
    const struct timeline_lane *l = &d->timeline->lane[lane];
    svg_text(d->file, d->left - 8, row_at(lane) + BAR / 2.0 + 4, SVG_RIGHT, 12, "#222", l->name);
    svg_rect(d->file, d->left, row_at(lane), d->width, BAR, IDLE, NULL);
    for (uint32_t i = l->first; i < l->first + l->count; i++) {
        draw_gap(d, i);
        draw_bar(d, &d->timeline->span[i]);
    }
}

/* ---- around them */

/* 1, 2 or 5 times a power of ten, about a tenth of the view. */
static double step_of(double span)
{
    double power = pow(10, floor(log10(span / 10))), part = span / 10 / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static void draw_axis(const struct drawing *d, double height)
{
    double span = d->view->end_us - d->view->begin_us, bottom = height - BOTTOM;
    const char *unit = span < 1e4 ? "us" : span < 1e7 ? "ms" : "s";
    double scale = span < 1e4 ? 1 : span < 1e7 ? 1e3 : 1e6;
    char text[32];
    if (!(span > 0))
        return;
    double step = step_of(span);
    for (int i = 0; i * step <= span * (1 + 1e-9); i++) {
        double x = at(d, d->view->begin_us + i * step);
        svg_line(d->file, x, TOP - 6, x, bottom, "#d5d8dc", 0.5);
        snprintf(text, sizeof text, "%.6g", i * step / scale);
        svg_text(d->file, x, bottom + 16, SVG_MIDDLE, 11, "#444", text);
    }
    svg_line(d->file, d->left, bottom, d->left + d->width, bottom, "#444", 1);
    svg_text(d->file, d->left + d->width, bottom + 34, SVG_RIGHT, 12, "#222", unit);
}

static void draw_legend(const struct drawing *d, double y)
{
    static const struct {
        const char *colour, *text;
    } item[] = { { WAITING, "waits for a predecessor" },
                 { LATE, "ready and not begun: hand-over, or the processor is elsewhere" },
                 { IDLE, "idle" },
                 { OTHERS, "another replay" } };
    double x = 16;
    int others = 0;
    for (uint32_t i = 0; i < d->timeline->spans; i++)
        others |= d->timeline->span[i].replay != d->view->replay;
    for (int i = 0; i < 3 + others; i++) {
        svg_rect(d->file, x, y - 10, 12, 12, item[i].colour, NULL);
        svg_text(d->file, x + 18, y, SVG_LEFT, 12, "#444", item[i].text);
        x += 40 + (double)(LETTER * strlen(item[i].text));
    }
}

void timeline_draw(const struct timeline *timeline, const struct timeline_view *view,
                   const struct graph *graph, const char *title, const char *caption, double width,
                   FILE *file)
{
    size_t longest = 8;
    double height = row_at(timeline->lanes) + BOTTOM;
    for (uint32_t l = 0; l < timeline->lanes; l++)
        if (strlen(timeline->lane[l].name) > longest)
            longest = strlen(timeline->lane[l].name);
    struct drawing d = { .file = file, .timeline = timeline, .view = view, .graph = graph };
    d.left = 24 + (double)(LETTER * longest);
    d.width = width - d.left - RIGHT;
    d.families = has_families(timeline);
    svg_begin(file, width, height, title);
    svg_text(file, 16, 26, SVG_LEFT, 16, "#222", title);
    svg_text(file, 16, 48, SVG_LEFT, 13, "#222", caption);
    draw_legend(&d, 70);
    draw_axis(&d, height);
    for (uint32_t lane = 0; lane < timeline->lanes; lane++)
        draw_lane(&d, lane);
    svg_end(file);
}
