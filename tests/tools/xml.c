/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/tools/xml.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH = 32, NAME = 32 };

struct reader {
    const char *at;
    char open[DEPTH][NAME];
    int depth, roots;
    const char *wrong;
};

static int fail(struct reader *r, const char *what)
{
    static char text[160];
    snprintf(text, sizeof text, "%s at '%.40s'", what, r->at);
    r->wrong = text;
    return -1;
}

static int name(struct reader *r, char *to)
{
    size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:_");
    if (!n || n >= NAME)
        return fail(r, "no name");
    memcpy(to, r->at, n);
    to[n] = '\0';
    r->at += n;
    return 0;
}

/* One character or entity of text; `stop` ends it. Bytes above 0x7f must be UTF-8. */
static int character(struct reader *r)
{
    static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;" };
    unsigned char c = (unsigned char)*r->at;
    size_t more = c < 0x80 ? 0 : (c & 0xe0) == 0xc0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : 3;
    if (c == '&') {
        for (int i = 0; i < 5; i++)
            if (!strncmp(r->at, entities[i], strlen(entities[i]))) {
                r->at += strlen(entities[i]);
                return 0;
            }
        return fail(r, "no entity");
    }
    if (c == '<' || (c < 0x20 && c != '\t' && c != '\n' && c != '\r'))
        return fail(r, "a character that may not be");
    if (c >= 0x80 && (c < 0xc2 || c > 0xf4))
        return fail(r, "no UTF-8");
    for (r->at++; more; more--, r->at++)
        if (((unsigned char)*r->at & 0xc0) != 0x80)
            return fail(r, "no UTF-8");
    return 0;
}

static int attributes(struct reader *r)
{
    char key[NAME];
    while (*r->at == ' ') {
        while (*r->at == ' ')
            r->at++;
        if (strchr("/>?", *r->at))
            break;
        if (name(r, key))
            return -1;
        if (strncmp(r->at, "=\"", 2))
            return fail(r, "an attribute without value");
        for (r->at += 2; *r->at != '"';)
            if (!*r->at || character(r))
                return *r->at ? -1 : fail(r, "an open value");
        r->at++;
    }
    return 0;
}

static int close_tag(struct reader *r)
{
    char closed[NAME];
    r->at += 2;
    if (name(r, closed))
        return -1;
    if (*r->at != '>' || !r->depth || strcmp(r->open[r->depth - 1], closed))
        return fail(r, "a tag that closes another");
    r->depth--;
    r->at++;
    return 0;
}

static int open_tag(struct reader *r)
{
    if (r->depth == DEPTH)
        return fail(r, "too deep");
    r->at++;
    if (name(r, r->open[r->depth]) || attributes(r))
        return -1;
    r->roots += !r->depth;
    if (!strncmp(r->at, "/>", 2)) {
        r->at += 2;
        return 0;
    }
    if (*r->at != '>')
        return fail(r, "an open tag");
    r->depth++;
    r->at++;
    return 0;
}

const char *xml_wrong(const char *text)
{
    struct reader r = { .at = text };
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    if (!strncmp(text, head, strlen(head)))
        r.at += strlen(head);
    while (*r.at) {
        int bad = !strncmp(r.at, "</", 2) ? close_tag(&r)
                  : *r.at == '<'          ? open_tag(&r)
                                          : character(&r);
        if (bad)
            return r.wrong;
    }
    return r.depth ? "tags are not closed" : r.roots != 1 ? "not one root" : NULL;
}

unsigned xml_count(const char *text, const char *element)
{
    unsigned count = 0;
    size_t length = strlen(element);
    while ((text = strchr(text, '<'))) {
        text++;
        count += !strncmp(text, element, length) && strchr(" >/", text[length]);
    }
    return count;
}
