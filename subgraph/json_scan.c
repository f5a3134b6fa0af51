/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over JSON in one walk along the bytes, counting lines, depth and what a tree of it would
 * take. */
#include "subgraph/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a tree takes at most, blocks of the allocator and growth included. */
enum {
    TREE = 320,
    ARRAY = 176,
    MEMBER = 112,
    ELEMENT = 32,
    SCALAR = 48,
    STRING = 96,
    CHARACTER = 4
};

rondo_status rd_scan_refuse(const struct rd_scan *s, const char *format, ...)
{
    char why[RD_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return rd_error(RONDO_ERR_INVALID, "line %llu, column %llu: %s", (unsigned long long)s->line,
                    (unsigned long long)rd_scan_column(s), why);
}

static void new_line(struct rd_scan *s, const char *at)
{
    s->line++;
    s->line_begin = at + 1;
}

void rd_scan_space(struct rd_scan *s)
{
    for (; s->at < s->end; s->at++) {
        if (*s->at == '\n')
            new_line(s, s->at);
        else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r')
            return;
    }
}

rondo_status rd_scan_expect(struct rd_scan *s, char c)
{
    if (s->at == s->end)
        return rd_scan_refuse(s, "the text ends where '%c' is expected", c);
    if (*s->at == c) {
        s->at++;
        return RONDO_OK;
    }
    if (*s->at > 0x20 && *s->at < 0x7f)
        return rd_scan_refuse(s, "'%c' where '%c' is expected", *s->at, c);
    return rd_scan_refuse(s, "a byte 0x%02x where '%c' is expected", (unsigned char)*s->at, c);
}

/* Over a string, from its first quote. */
static rondo_status skip_string(struct rd_scan *s, uint64_t *memory)
{
    const struct rd_scan begin = *s;
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++) {
        if (*s->at == '\n')
            return rd_scan_refuse(s, "a line ends inside of a string");
        if (*s->at == '\\' && s->end - s->at > 1)
            s->at++;
    }
    if (s->at == s->end)
        return rd_scan_refuse(&begin, "a string without an end");
    s->at++;
    *memory += STRING + CHARACTER * (uint64_t)(s->at - begin.at);
    return RONDO_OK;
}

static int is_scalar(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static void skip_scalar(struct rd_scan *s, uint64_t *memory)
{
    const char *begin = s->at;
    while (s->at < s->end && is_scalar(*s->at))
        s->at++;
    *memory += SCALAR + CHARACTER * (uint64_t)(s->at - begin);
}

/* One step over what is neither string nor scalar. */
static rondo_status skip_mark(struct rd_scan *s, uint32_t *depth, uint64_t *memory)
{
    switch (*s->at) {
    case '{':
    case '[':
        *memory += *s->at == '{' ? TREE : ARRAY;
        if (++*depth > RD_SCAN_DEPTH)
            return rd_scan_refuse(s, "more than %d values in each other", RD_SCAN_DEPTH);
        break;
    case '}':
    case ']': --*depth; break;
    case ':': *memory += MEMBER; break;
    case ',': *memory += ELEMENT; break;
    case '\n': new_line(s, s->at); break;
    case ' ':
    case '\t':
    case '\r': break;
    default: return rd_scan_refuse(s, "a byte 0x%02x that begins no value", (unsigned char)*s->at);
    }
    s->at++;
    return RONDO_OK;
}

rondo_status rd_scan_skip(struct rd_scan *s, uint64_t most, struct rd_scan_value *value)
{
    uint64_t memory = 0;
    uint32_t depth = 0;
    rondo_status status = RONDO_OK;
    value->begin = *s;
    if (s->at == s->end)
        return rd_scan_refuse(s, "the text ends where a value is expected");
    if (strchr("}],:", *s->at) && *s->at)
        return rd_scan_refuse(s, "'%c' where a value is expected", *s->at);
    do {
        if (s->at == s->end)
            return rd_scan_refuse(&value->begin, "'%c' without its end", *value->begin.at);
        if (*s->at == '"')
            status = skip_string(s, &memory);
        else if (is_scalar(*s->at))
            skip_scalar(s, &memory);
        else
            status = skip_mark(s, &depth, &memory);
        if (!status && memory > most)
            return rd_scan_refuse(&value->begin, "a value that takes more than %u MiB to parse",
                                  (unsigned)(most >> 20));
    } while (!status && depth);
    value->end = s->at;
    return status;
}

int rd_scan_element(struct rd_scan *s, int *first, struct rd_scan_value *value,
                    rondo_status *status)
{
    *status = *first ? rd_scan_expect(s, '[') : RONDO_OK;
    rd_scan_space(s);
    if (!*status && s->at < s->end && *s->at == ']') {
        s->at++;
        return 0;
    }
    if (!*status && !*first)
        *status = rd_scan_expect(s, ',');
    *first = 0;
    rd_scan_space(s);
    if (!*status)
        *status = rd_scan_skip(s, RD_SCAN_MEMORY, value);
    return !*status;
}
