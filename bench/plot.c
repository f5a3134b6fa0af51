/* SPDX-License-Identifier: BSD-3-Clause */
/* Bar charts as SVG, written by hand. */
#include "bench/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 230, PANEL = 190, GAP = 20, ROW = 20, TOP = 60, BOTTOM = 20 };

/* Rondo stands out, the limits are dark, what others offer is light. */
static const char *colour_of(const char *label)
{
    if (strncmp(label, "rondo", 5) == 0)
        return "#c0392b";
    if (strncmp(label, "loop", 4) == 0 || strncmp(label, "handwritten", 11) == 0)
        return "#34495e";
    return "#95a5a6";
}

static void write_panel(FILE *out, unsigned at, const char *name, unsigned bars,
                        const char *const *bar, const double *value, double least, double most)
{
    int left = LABELS + (int)at * (PANEL + GAP);
    double scale = (PANEL - 50) / log(most / least);
    fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", left, TOP - 12, name);
    for (unsigned b = 0; b < bars; b++) {
        int y = TOP + (int)b * ROW;
        if (!(value[b] > 0))
            continue;
        double length = log(value[b] / least) * scale;
        fprintf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" fill=\"#555\">%.*f</text>\n",
                left, y, length, ROW - 5, colour_of(bar[b]), left + length + 4, y + ROW - 8,
                value[b] < 10 ? 1 : 0, value[b]);
    }
}

int plot_write(const char *path, const char *title, const char *const *panel, unsigned panels,
               const char *const *bar, unsigned bars, const double *value)
{
    double least = 1, most = 10;
    int width = LABELS + (int)panels * (PANEL + GAP), height = TOP + (int)bars * ROW + BOTTOM;
    FILE *out = fopen(path, "w");
    if (!out)
        return -1;
    for (unsigned i = 0; i < panels * bars; i++)
        if (value[i] > 0) {
            most = value[i] > most ? value[i] : most;
            least = value[i] < least ? value[i] : least;
        }
    least /= 2; /* the smallest has a bar too */
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"10\" y=\"22\" font-size=\"16\">%s</text>\n",
            width, height, title);
    for (unsigned b = 0; b < bars; b++)
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LABELS - 8,
                TOP + (int)b * ROW + ROW - 8, bar[b]);
    for (unsigned p = 0; p < panels; p++)
        write_panel(out, p, panel[p], bars, bar, value + (size_t)p * bars, least, most);
    fputs("</svg>\n", out);
    return fclose(out) == 0 ? 0 : -1;
}
