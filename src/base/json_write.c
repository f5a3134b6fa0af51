/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing JSON: pieces, escapes, UTF-8. */
#include "src/base/json_write.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rd_json_flush(struct rd_json_out *o)
{
    o->text[o->used] = 0;
    if (o->used)
        o->write(o->context, o->text);
    o->used = 0;
}

static void wrote(struct rd_json_out *o, size_t bytes)
{
    o->used += bytes;
    if (o->used >= RD_JSON_PIECE)
        rd_json_flush(o);
}

void rd_json_put(struct rd_json_out *o, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(o->text + o->used, RD_JSON_LONGEST, format, args);
    va_end(args);
    wrote(o, n < 0 ? 0 : n < RD_JSON_LONGEST ? (size_t)n : RD_JSON_LONGEST - 1);
}

static void put_bytes(struct rd_json_out *o, const char *bytes, size_t count)
{
    size_t n;
    for (; count; bytes += n, count -= n) {
        n = count < RD_JSON_LONGEST ? count : RD_JSON_LONGEST - 1;
        memcpy(o->text + o->used, bytes, n);
        wrote(o, n);
    }
}

void rd_json_raw(struct rd_json_out *o, const char *text) { put_bytes(o, text, strlen(text)); }

/* How many bytes at `text` are one character of UTF-8 (RFC 3629); 0: they are none. */
static size_t utf8_length(const unsigned char *text)
{
    size_t n = text[0] < 0x80                       ? 1
               : text[0] >= 0xc2 && text[0] <= 0xdf ? 2
               : (text[0] & 0xf0) == 0xe0           ? 3
               : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0; /* longer than need be, a surrogate, past the last character */
    return n;
}

static int is_plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void rd_json_text(struct rd_json_out *o, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t n = 0;
        while (is_plain(at[n]))
            n++;
        put_bytes(o, (const char *)at, n);
        at += n;
        if (!*at)
            break;
        n = utf8_length(at);
        if (!n)
            rd_json_raw(o, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            rd_json_put(o, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            rd_json_put(o, "\\u%04x", *at);
        else
            put_bytes(o, (const char *)at, n);
        at += n ? n : 1;
    }
}

void rd_json_hex(struct rd_json_out *o, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    size_t i;
    for (i = 0; i < count; i++) {
        char two[2] = { digits[at[i] >> 4], digits[at[i] & 15] };
        put_bytes(o, two, sizeof two);
    }
}

int rd_json_is_exact(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n;
    for (; *at; at += n) {
        n = utf8_length(at);
        if (!n || (at[0] == 0xef && at[1] == 0xbf && at[2] == 0xbd))
            return 0;
    }
    return 1;
}
