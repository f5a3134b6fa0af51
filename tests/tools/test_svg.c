/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writer of pictures makes of hostile texts. */
#include "tests/tools/xml.h"
#include "tools/svg.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define REPLACED "\xef\xbf\xbd"

static const struct {
    const char *text, *escaped;
} cases[] = {
    { "", "" },
    { "task 12", "task 12" },
    { "<script>alert('x')</script>", "&lt;script&gt;alert('x')&lt;/script&gt;" },
    { "a & b \"c\" ]]>", "a &amp; b &quot;c&quot; ]]&gt;" },
    { "\x01\x1b[31m", REPLACED REPLACED "[31m" },
    { "tab\tline\n", "tab\tline\n" },
    { "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
    { "\xff", REPLACED },
    { "\xc3", REPLACED },
    { "\xc3(", REPLACED "(" },
    { "\xe2\x82", REPLACED REPLACED },
    { "\x80", REPLACED },
    { "\xc0\x80", REPLACED REPLACED },                           /* a longer 0 */
    { "\xe0\x9f\xbf", REPLACED REPLACED REPLACED },              /* longer than need be */
    { "\xed\xa0\x80", REPLACED REPLACED REPLACED },              /* a surrogate */
    { "\xef\xbf\xbf", REPLACED REPLACED REPLACED },              /* U+FFFF is no character of XML */
    { "\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED }, /* past the last */
};

Test(svg, texts_are_escaped)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        svg_escape(file, cases[i].text);
        fclose(file);
        cr_expect_str_eq(text, cases[i].escaped, "case %zu", i);
        free(text);
    }
}

Test(svg, a_page_of_all_shapes_is_well_formed)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *hostile = cases[i].text;
        const double xy[] = { 1, 2, 3, 4.5 };
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        svg_begin(file, 100, 50, hostile);
        svg_rect(file, 1, 2, 3, 4, "red", hostile);
        svg_rect(file, 1, 2, 3, 4, "red", NULL);
        svg_circle(file, 1, 2, 3, "red", hostile);
        svg_line(file, 1, 2, 3, 4, "red", 1);
        svg_path(file, xy, 2, "red", 1, "4 3");
        svg_path(file, xy, 2, "red", 1, NULL);
        svg_text(file, 1, 2, SVG_RIGHT, 12, "red", hostile);
        svg_end(file);
        fclose(file);
        cr_expect_null(xml_wrong(text), "case %zu: %s", i, xml_wrong(text));
        cr_expect_eq(xml_count(text, "title"), 3);
        cr_expect_eq(xml_count(text, "rect"), 3);
        free(text);
    }
}

Test(svg, the_check_itself_finds_what_is_wrong)
{
    static const char *const wrong[] = {
        "<svg>",          "<svg></b>",       "<svg/><svg/>",    "<svg a=b/>", "<svg a=\"b/>",
        "<svg>&</svg>",   "<svg>\x01</svg>", "<svg>\xff</svg>", "text<",      "",
        "<svg a=\"<\"/>",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not_null(xml_wrong(wrong[i]), "case %zu", i);
    cr_expect_null(xml_wrong("<svg a=\"b\"><t>x &amp; y</t></svg>"));
}
