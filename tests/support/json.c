/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader of JSON by recursive descent. */
#include "tests/support/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 64 };

struct reader {
    const char *start, *at, *wrong;
    int depth;
};

static struct json *read_value(struct reader *r);

static void *refuse(struct reader *r, const char *wrong)
{
    if (!r->wrong)
        r->wrong = wrong;
    return NULL;
}

static void skip_space(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
        r->at++;
}

static struct json *make(enum json_type type)
{
    struct json *v = calloc(1, sizeof *v);
    if (!v)
        abort();
    v->type = type;
    return v;
}

static void put_utf8(char **out, unsigned code)
{
    unsigned char *o = (unsigned char *)*out;
    if (code < 0x80) {
        *o++ = (unsigned char)code;
    } else if (code < 0x800) {
        *o++ = (unsigned char)(0xc0 | code >> 6);
        *o++ = (unsigned char)(0x80 | (code & 0x3f));
    } else {
        *o++ = (unsigned char)(0xe0 | code >> 12);
        *o++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        *o++ = (unsigned char)(0x80 | (code & 0x3f));
    }
    *out = (char *)o;
}

static int read_escape(struct reader *r, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;
    unsigned code = 0;
    if (*r->at == 'u') {
        for (int i = 1; i <= 4; i++) {
            if (!isxdigit((unsigned char)r->at[i]))
                return 0;
            code = code << 4 |
                   (unsigned)(isdigit((unsigned char)r->at[i]) ? r->at[i] - '0'
                                                               : (r->at[i] | 32) - 'a' + 10);
        }
        r->at += 5;
        put_utf8(out, code);
        return 1;
    }
    found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found)
        return 0;
    *(*out)++ = to[found - from];
    r->at++;
    return 1;
}

/* A character of several bytes: its head says how many, the others are 10xxxxxx. */
static int read_utf8(struct reader *r, char **out)
{
    unsigned char head = (unsigned char)*r->at;
    int more = head >= 0xf0 && head <= 0xf4   ? 3
               : (head & 0xf0) == 0xe0        ? 2
               : head >= 0xc2 && head <= 0xdf ? 1
                                              : 0;
    if (!more)
        return 0;
    *(*out)++ = *r->at++;
    for (; more; more--) {
        if (((unsigned char)*r->at & 0xc0) != 0x80)
            return 0;
        *(*out)++ = *r->at++;
    }
    return 1;
}

static char *read_string(struct reader *r)
{
    char *text, *out;
    if (*r->at != '"')
        return refuse(r, "a string is missing");
    r->at++;
    text = out = malloc(strlen(r->at) + 1); /* decoding never makes it longer */
    if (!text)
        abort();
    while (*r->at != '"') {
        int ok = 1;
        if ((unsigned char)*r->at < 0x20)
            ok = 0;
        else if (*r->at == '\\')
            ok = (r->at++, read_escape(r, &out));
        else if ((unsigned char)*r->at < 0x80)
            *out++ = *r->at++;
        else
            ok = read_utf8(r, &out);
        if (!ok) {
            free(text);
            return refuse(r, "a string holds what it may not");
        }
    }
    r->at++;
    *out = 0;
    return text;
}

static int digits(struct reader *r)
{
    const char *first = r->at;
    while (isdigit((unsigned char)*r->at))
        r->at++;
    return r->at > first;
}

static struct json *read_number(struct reader *r)
{
    const char *first = r->at;
    struct json *v;
    r->at += *r->at == '-';
    if (*r->at == '0')
        r->at++;
    else if (!digits(r))
        return refuse(r, "a value is missing");
    if (*r->at == '.' && (r->at++, !digits(r)))
        return refuse(r, "digits are missing behind a point");
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        r->at += *r->at == '+' || *r->at == '-';
        if (!digits(r))
            return refuse(r, "an exponent has no digits");
    }
    v = make(JSON_NUMBER);
    v->number = strtod(first, NULL);
    return v;
}

/* Up to the closing bracket. */
static struct json *read_list(struct reader *r, enum json_type type, char close)
{
    struct json *list = make(type), **link = &list->first;
    r->at++;
    skip_space(r);
    while (*r->at != close || list->count) {
        char *key = NULL;
        skip_space(r);
        if (type == JSON_OBJECT) {
            key = read_string(r);
            skip_space(r);
            if (key && *r->at != ':')
                refuse(r, "a colon is missing");
            r->at += !r->wrong;
        }
        *link = r->wrong ? NULL : read_value(r);
        if (!*link) {
            free(key);
            json_free(list);
            return NULL;
        }
        (*link)->key = key;
        link = &(*link)->next;
        list->count++;
        skip_space(r);
        if (*r->at == close)
            break;
        if (*r->at++ != ',') {
            json_free(list);
            return refuse(r, "a comma is missing");
        }
    }
    r->at++;
    return list;
}

static struct json *read_word(struct reader *r)
{
    static const char *const words[] = { "null", "false", "true" };
    for (int i = 0; i < 3; i++)
        if (!strncmp(r->at, words[i], strlen(words[i]))) {
            r->at += strlen(words[i]);
            return make((enum json_type)i);
        }
    return read_number(r);
}

static struct json *read_value(struct reader *r)
{
    struct json *v;
    if (++r->depth > DEPTH_MOST)
        return refuse(r, "it is nested too deeply");
    skip_space(r);
    if (*r->at == '{') {
        v = read_list(r, JSON_OBJECT, '}');
    } else if (*r->at == '[') {
        v = read_list(r, JSON_ARRAY, ']');
    } else if (*r->at == '"') {
        char *text = read_string(r);
        v = text ? make(JSON_STRING) : NULL;
        if (v)
            v->text = text;
    } else {
        v = read_word(r);
    }
    r->depth--;
    return v;
}

struct json *json_read(const char *text, char *error, size_t error_bytes)
{
    struct reader r = { text, text, NULL, 0 };
    struct json *v = read_value(&r);
    if (v) {
        skip_space(&r);
        if (*r.at) {
            json_free(v);
            v = refuse(&r, "something follows the value");
        }
    }
    if (!v)
        snprintf(error, error_bytes, "%s at byte %zu: %.60s", r.wrong, (size_t)(r.at - text), r.at);
    return v;
}

void json_free(struct json *value)
{
    for (struct json *next; value; value = next) {
        next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
    }
}

const struct json *json_get(const struct json *object, const char *key)
{
    const struct json *v = object ? object->first : NULL;
    while (v && (!v->key || strcmp(v->key, key) != 0))
        v = v->next;
    return v;
}

double json_number(const struct json *object, const char *key)
{
    const struct json *v = json_get(object, key);
    if (!v || v->type != JSON_NUMBER) {
        fprintf(stderr, "member '%s' is no number\n", key);
        abort();
    }
    return v->number;
}

const char *json_text(const struct json *object, const char *key)
{
    const struct json *v = json_get(object, key);
    if (!v || v->type != JSON_STRING) {
        fprintf(stderr, "member '%s' is no string\n", key);
        abort();
    }
    return v->text;
}
