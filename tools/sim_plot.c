/* SPDX-License-Identifier: BSD-3-Clause */
/* Speed-up over processors, both axes logarithmic, beside the bound that no schedule exceeds. */
#include "tools/sim.h"
#include "tools/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 480, LEFT = 64, RIGHT = 24, TOP = 56, BOTTOM = 52 };

/* Of either axis: 2^least to 2^most, whole powers of two. */
struct range {
    int least, most;
};

struct plot {
    FILE *file;
    struct range x, y;
};

static double at_x(const struct plot *plot, double processors)
{
    double part = (log2(processors) - plot->x.least) / (plot->x.most - plot->x.least);
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct plot *plot, double speedup)
{
    double part = (log2(speedup) - plot->y.least) / (plot->y.most - plot->y.least);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void widen(struct range *range, double value)
{
    double power = log2(value);
    if (floor(power) < range->least)
        range->least = (int)floor(power);
    if (ceil(power) > range->most)
        range->most = (int)ceil(power);
}

static double bound_of(const struct sim *sim, const struct sim_row *row)
{
    return row->bound_ns > 0 ? sim->work_ns / row->bound_ns : (double)row->processors;
}

static void find_ranges(struct plot *plot, const struct sim_row *row, uint32_t count,
                        const struct sim *sim)
{
    plot->x = plot->y = (struct range){ 0, 1 };
    for (uint32_t i = 0; i < count; i++) {
        widen(&plot->x, (double)row[i].processors);
        widen(&plot->y, sim_speedup(sim, &row[i]));
        widen(&plot->y, bound_of(sim, &row[i]));
    }
}

static void axes(const struct plot *plot)
{
    char text[32];
    for (int p = plot->x.least; p <= plot->x.most; p++) {
        double x = at_x(plot, exp2(p));
        svg_line(plot->file, x, TOP, x, HEIGHT - BOTTOM, "#e4e4e4", 1);
        snprintf(text, sizeof text, "%g", exp2(p));
        svg_text(plot->file, x, HEIGHT - BOTTOM + 18, SVG_MIDDLE, 12, "#444", text);
    }
    for (int p = plot->y.least; p <= plot->y.most; p++) {
        double y = at_y(plot, exp2(p));
        svg_line(plot->file, LEFT, y, WIDTH - RIGHT, y, "#e4e4e4", 1);
        snprintf(text, sizeof text, "%g", exp2(p));
        svg_text(plot->file, LEFT - 8, y + 4, SVG_RIGHT, 12, "#444", text);
    }
    svg_line(plot->file, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#444", 1);
    svg_line(plot->file, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "#444", 1);
    svg_text(plot->file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, SVG_MIDDLE, 13, "#222",
             "processors");
    svg_text(plot->file, 12, TOP - 12, SVG_LEFT, 13, "#222", "speed-up");
}

static void curves(const struct plot *plot, const struct sim *sim, const struct sim_row *row,
                   uint32_t count)
{
    double speedup[2 * CLI_NUMBERS_MOST], bound[2 * CLI_NUMBERS_MOST];
    for (uint32_t i = 0; i < count; i++) {
        speedup[2 * i] = bound[2 * i] = at_x(plot, (double)row[i].processors);
        speedup[2 * i + 1] = at_y(plot, sim_speedup(sim, &row[i]));
        bound[2 * i + 1] = at_y(plot, bound_of(sim, &row[i]));
    }
    svg_path(plot->file, bound, count, "#7f8c8d", 1.5, "6 4");
    svg_path(plot->file, speedup, count, "#c0392b", 2, NULL);
    for (uint32_t i = 0; i < count; i++) {
        char hint[160];
        snprintf(hint, sizeof hint,
                 "%" PRIu64 " processors: speed-up %.2f of at most %.2f, makespan %.3f us",
                 row[i].processors, sim_speedup(sim, &row[i]), bound_of(sim, &row[i]),
                 row[i].makespan_ns * 1e-3);
        svg_circle(plot->file, speedup[2 * i], speedup[2 * i + 1], 4, "#c0392b", hint);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct sim_row *)a)->processors,
             y = ((const struct sim_row *)b)->processors;
    return (x > y) - (x < y);
}

/* The rows that have a speed-up, by rising processors. */
static uint32_t drawn(const struct sim *sim, struct sim_row *row)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim->count; i++)
        if (!sim->row[i].refused)
            row[count++] = sim->row[i];
    qsort(row, count, sizeof *row, compare);
    return count;
}

static void legend(FILE *file, double y, const char *stroke, const char *dash, const char *text)
{
    const double left = WIDTH - RIGHT - 320;
    double line[] = { left, y, left + 32, y };
    svg_path(file, line, 2, stroke, 2, dash);
    svg_text(file, left + 40, y + 4, SVG_LEFT, 12, "#222", text);
}

void sim_plot(const struct sim *sim, FILE *file)
{
    struct sim_row row[CLI_NUMBERS_MOST];
    struct plot plot = { .file = file };
    const char *slash = strrchr(sim->path, '/');
    char title[512];
    uint32_t count = drawn(sim, row);
    find_ranges(&plot, row, count, sim);
    snprintf(title, sizeof title, "%.200s: %" PRIu32 " nodes, a hand-over costs %.0f ns",
             slash ? slash + 1 : sim->path, sim->nodes, sim->handover_ns);
    svg_begin(file, WIDTH, HEIGHT, title);
    svg_text(file, WIDTH / 2.0, 24, SVG_MIDDLE, 15, "#222", title);
    axes(&plot);
    curves(&plot, sim, row, count);
    legend(file, HEIGHT - BOTTOM - 36, "#c0392b", NULL, "simulated");
    legend(file, HEIGHT - BOTTOM - 18, "#7f8c8d", "6 4",
           "bound: critical path, or work over processors");
    svg_end(file);
}
