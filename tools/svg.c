/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/svg.h"

/* How many bytes at `text` are one character of UTF-8 (RFC 3629) that XML 1.0 allows; 0: they are
 * none. */
static size_t character(const unsigned char *text)
{
    static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = text[0] < 0x80             ? 1
                   : (text[0] & 0xe0) == 0xc0 ? 2
                   : (text[0] & 0xf0) == 0xe0 ? 3
                   : (text[0] & 0xf8) == 0xf0 ? 4
                                              : 0;
    unsigned long code = bytes > 1 ? text[0] & (0x7fu >> bytes) : text[0];
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (!bytes || code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ||
        code == 0xfffe || code == 0xffff)
        return 0;
    return code >= 0x20 || code == '\t' || code == '\n' ? bytes : 0;
}

void svg_escape(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t bytes = character(at);
        if (!bytes)
            fputs("\xef\xbf\xbd", file);
        else if (*at == '&')
            fputs("&amp;", file);
        else if (*at == '<')
            fputs("&lt;", file);
        else if (*at == '>')
            fputs("&gt;", file);
        else if (*at == '"')
            fputs("&quot;", file);
        else
            fwrite(at, 1, bytes, file);
        at += bytes ? bytes : 1;
    }
}

void svg_begin(FILE *file, double width, double height, const char *title)
{
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\">\n<title>",
            width, height, width, height);
    svg_escape(file, title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", file);
}

void svg_end(FILE *file) { fputs("</svg>\n", file); }

static void end_shape(FILE *file, const char *name, const char *hint)
{
    if (!hint) {
        fputs("/>\n", file);
        return;
    }
    fputs("><title>", file);
    svg_escape(file, hint);
    fprintf(file, "</title></%s>\n", name);
}

void svg_rect(FILE *file, double x, double y, double width, double height, const char *fill,
              const char *hint)
{
    fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y,
            width, height, fill);
    end_shape(file, "rect", hint);
}

void svg_circle(FILE *file, double x, double y, double radius, const char *fill, const char *hint)
{
    fprintf(file, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\"", x, y, radius, fill);
    end_shape(file, "circle", hint);
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *stroke,
              double width)
{
    fprintf(file,
            "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" "
            "stroke-width=\"%.2f\"/>\n",
            x1, y1, x2, y2, stroke, width);
}

void svg_path(FILE *file, const double *xy, size_t count, const char *stroke, double width,
              const char *dash)
{
    fputs("<polyline points=\"", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s%.2f,%.2f", i ? " " : "", xy[2 * i], xy[2 * i + 1]);
    fprintf(file, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.2f\"", stroke, width);
    if (dash)
        fprintf(file, " stroke-dasharray=\"%s\"", dash);
    fputs("/>\n", file);
}

void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, double size, const char *fill,
              const char *text)
{
    static const char *const anchors[] = { "start", "middle", "end" };
    fprintf(file, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" font-size=\"%.1f\" fill=\"%s\">",
            x, y, anchors[anchor], size, fill);
    svg_escape(file, text);
    fputs("</text>\n", file);
}
