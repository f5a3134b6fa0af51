/* SPDX-License-Identifier: BSD-3-Clause */
/* One JSON value at a time, from text to a tree: the wrapper of Jansson. Its memory is the C
 * library's. */
#ifndef RD_BASE_JSON_READ_H
#define RD_BASE_JSON_READ_H

#include <stddef.h>
#include <stdint.h>

struct rd_json; /* a value */
enum rd_json_type {
    RD_JSON_NULL,
    RD_JSON_BOOL,
    RD_JSON_INTEGER,
    RD_JSON_REAL,
    RD_JSON_STRING,
    RD_JSON_ARRAY,
    RD_JSON_TREE
};

struct rd_json_fault {
    int memory;            /* there was none */
    uint32_t line, column; /* from 1 on; in the text given */
    char text[160];
};

/* The value that the text is, and nothing else; NULL with *fault told: not JSON (RFC 8259), not
 * UTF-8, a key twice in an object, an integer beyond 64 bits. Freed by rd_json_free. */
struct rd_json *rd_json_parse(const char *text, size_t bytes, struct rd_json_fault *fault);
void rd_json_free(struct rd_json *value); /* may be NULL */

enum rd_json_type rd_json_type_of(const struct rd_json *value);
/* Of a value of that type. */
int rd_json_bool(const struct rd_json *value);
int64_t rd_json_integer(const struct rd_json *value);
double rd_json_real(const struct rd_json *value);        /* of an integer too */
const char *rd_json_string(const struct rd_json *value); /* holds no NUL */
size_t rd_json_count(const struct rd_json *array);
const struct rd_json *rd_json_at(const struct rd_json *array, size_t i);
const struct rd_json *rd_json_get(const struct rd_json *tree, const char *key); /* NULL: none */
/* The keys of a tree one by one, NULL at the end; *cursor is NULL at first. */
const char *rd_json_next_key(const struct rd_json *tree, void **cursor);

#endif
