/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans JSON without building anything: brackets, commas, colons and strings are counted, whatever
 * else the text holds. */
#include "tools/json_scan.h"

#include <string.h>

/* What Jansson allocates for a value of each kind, malloc's own share included. */
enum {
    OBJECT_BYTES = 256,
    ARRAY_BYTES = 144,
    MEMBER_BYTES = 96,
    STRING_BYTES = 80,
    VALUE_BYTES = 48
};

/* One past the closing quote of the string that begins at `at`, or the end of the text. */
static size_t string_end(const char *text, size_t bytes, size_t at)
{
    for (at++; at < bytes && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at < bytes ? at + 1 : bytes;
}

static int is_key(const char *text, size_t bytes, size_t at)
{
    while (at < bytes && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at < bytes && text[at] == ':';
}

static void look_at_key(struct json_scan *scan, const char *string, size_t length)
{
    scan->has_workflow |= length == 10 && !memcmp(string, "\"workflow\"", 10);
    scan->has_rondo |= length == 7 && !memcmp(string, "\"rondo\"", 7);
}

struct json_scan json_scan(const char *text, size_t bytes)
{
    struct json_scan scan = { VALUE_BYTES, 0, 0 };
    uint64_t depth = 0;
    for (size_t at = 0; at < bytes;) {
        size_t begin = at++;
        switch (text[begin]) {
        case '"':
            at = string_end(text, bytes, begin);
            scan.tree_bytes += STRING_BYTES + (at - begin);
            if (depth == 1 && is_key(text, bytes, at))
                look_at_key(&scan, text + begin, at - begin);
            break;
        case '{': scan.tree_bytes += OBJECT_BYTES, depth++; break;
        case '[': scan.tree_bytes += ARRAY_BYTES, depth++; break;
        case '}':
        case ']': depth -= depth > 0; break;
        case ',': scan.tree_bytes += VALUE_BYTES; break;
        case ':': scan.tree_bytes += MEMBER_BYTES; break;
        default: break;
        }
    }
    return scan;
}
