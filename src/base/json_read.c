/* SPDX-License-Identifier: BSD-3-Clause */
/* Jansson, and nothing else of it is seen outside of this file. */
#include "src/base/json_read.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A struct rd_json is a json_t. */
static const json_t *inner(const struct rd_json *value) { return (const json_t *)value; }

struct rd_json *rd_json_parse(const char *text, size_t bytes, struct rd_json_fault *fault)
{
    json_error_t error;
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value) {
        fault->memory = json_error_code(&error) == json_error_out_of_memory;
        fault->line = error.line > 0 ? (uint32_t)error.line : 1;
        fault->column = error.column > 0 ? (uint32_t)error.column : 1;
        snprintf(fault->text, sizeof fault->text, "%.*s", (int)sizeof fault->text - 1, error.text);
    }
    return (struct rd_json *)value;
}

void rd_json_free(struct rd_json *value) { json_decref((json_t *)value); }

enum rd_json_type rd_json_type_of(const struct rd_json *value)
{
    switch (json_typeof(inner(value))) {
    case JSON_OBJECT: return RD_JSON_TREE;
    case JSON_ARRAY: return RD_JSON_ARRAY;
    case JSON_STRING: return RD_JSON_STRING;
    case JSON_INTEGER: return RD_JSON_INTEGER;
    case JSON_REAL: return RD_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return RD_JSON_BOOL;
    default: return RD_JSON_NULL;
    }
}

int rd_json_bool(const struct rd_json *value) { return json_is_true(inner(value)); }
int64_t rd_json_integer(const struct rd_json *value) { return json_integer_value(inner(value)); }
double rd_json_real(const struct rd_json *value) { return json_number_value(inner(value)); }
const char *rd_json_string(const struct rd_json *value) { return json_string_value(inner(value)); }
size_t rd_json_count(const struct rd_json *array) { return json_array_size(inner(array)); }

const struct rd_json *rd_json_at(const struct rd_json *array, size_t i)
{
    return (const struct rd_json *)json_array_get(inner(array), i);
}

const struct rd_json *rd_json_get(const struct rd_json *tree, const char *key)
{
    return (const struct rd_json *)json_object_get(inner(tree), key);
}

const char *rd_json_next_key(const struct rd_json *tree, void **cursor)
{
    json_t *object = (json_t *)(uintptr_t)tree; /* the iterator asks for one it may change */
    *cursor = *cursor ? json_object_iter_next(object, *cursor) : json_object_iter(object);
    return *cursor ? json_object_iter_key(*cursor) : NULL;
}
