/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JSON (RFC 8259), strictly: for tests of what writes it. */
#ifndef RD_TESTS_SUPPORT_JSON_H
#define RD_TESTS_SUPPORT_JSON_H

#include <stddef.h>

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    double number;
    char *text;         /* of a string, decoded; terminated */
    char *key;          /* of a member */
    struct json *first; /* of an array or object */
    struct json *next;
    size_t count;
};

/* NULL when it is not JSON; *error says why and where. Freed by json_free. */
struct json *json_read(const char *text, char *error, size_t error_bytes);
void json_free(struct json *value); /* may be NULL */
/* A member; NULL when there is none. */
const struct json *json_get(const struct json *object, const char *key);
/* The member's number or text; aborts when there is none of that type. */
double json_number(const struct json *object, const char *key);
const char *json_text(const struct json *object, const char *key);

#endif
