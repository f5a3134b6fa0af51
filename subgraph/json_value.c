/* SPDX-License-Identifier: BSD-3-Clause */
/* Values out of objects of a file, each refused where it is not of its type or in its range. */
#include "subgraph/json_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *type_text(const struct rd_json *v)
{
    static const char *const texts[] = {
        [RD_JSON_NULL] = "null",        [RD_JSON_BOOL] = "true or false",
        [RD_JSON_INTEGER] = "a number", [RD_JSON_REAL] = "a number that is not whole",
        [RD_JSON_STRING] = "a string",  [RD_JSON_ARRAY] = "an array",
        [RD_JSON_TREE] = "an object",
    };
    return texts[rd_json_type_of(v)];
}

static rondo_status wrong_type(const struct rd_reader *r, const char *key, const struct rd_json *v,
                               const char *wanted)
{
    return rd_read_refuse(r, key, "%s where %s is expected", type_text(v), wanted);
}

/* ---- the nearest of some words */

/* How many characters to change, add and leave out (Levenshtein), of up to 31 each. */
static uint32_t apart(const char *a, const char *b)
{
    uint32_t row[32], i, j, was, next, n = 0;
    while (b[n] && n < 31)
        n++;
    for (j = 0; j <= n; j++)
        row[j] = j;
    for (i = 0; a[i] && i < 31; i++) {
        was = row[0]++;
        for (j = 1; j <= n; j++) {
            next = was + (a[i] != b[j - 1]);
            was = row[j];
            next = next < was + 1 ? next : was + 1;
            row[j] = next < row[j - 1] + 1 ? next : row[j - 1] + 1;
        }
    }
    return row[n];
}

static const char *nearest_key(const struct rd_json_keys *keys, uint32_t kind, const char *text)
{
    const char *best = NULL;
    uint32_t i, least = UINT32_MAX;
    for (i = 0; i < keys->count; i++)
        if (keys->keys[i].kinds >> kind & 1 && apart(text, keys->keys[i].key) < least) {
            best = keys->keys[i].key;
            least = apart(text, best);
        }
    return best;
}

static int has_key(const struct rd_json_keys *keys, uint32_t kind, const char *text)
{
    uint32_t i;
    for (i = 0; i < keys->count; i++)
        if (keys->keys[i].kinds >> kind & 1 && !strcmp(keys->keys[i].key, text))
            return 1;
    return 0;
}

rondo_status rd_read_unknown(const struct rd_reader *r, enum rd_json_object object, uint32_t kind,
                             const char *of, const char *key)
{
    return rd_read_refuse(r, NULL, "'%.60s' is no key of %s; '%s' is the nearest", key, of,
                          nearest_key(&rd_json_objects[object], kind, key));
}

rondo_status rd_read_keys(const struct rd_reader *r, const struct rd_json *tree,
                          enum rd_json_object object, uint32_t kind, const char *of)
{
    const struct rd_json_keys *keys = &rd_json_objects[object];
    const char *key;
    void *cursor = NULL;
    while ((key = rd_json_next_key(tree, &cursor)) != NULL)
        if (!has_key(keys, kind, key))
            return rd_read_unknown(r, object, kind, of, key);
    return RONDO_OK;
}

rondo_status rd_read_need(const struct rd_reader *r, const struct rd_json *tree, const char *key)
{
    return rd_json_get(tree, key) ? RONDO_OK : rd_read_refuse(r, NULL, "'%s' is missing", key);
}

/* ---- numbers */

/* What no signed number holds is written as text. */
static int digits_value(const char *text, uint64_t *value)
{
    uint64_t v = 0;
    if (!*text)
        return 0;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
            return 0;
    *value = v;
    return 1;
}

static rondo_status take_u64(const struct rd_reader *r, const struct rd_json *v, const char *key,
                             uint64_t most, uint64_t *value)
{
    enum rd_json_type type = rd_json_type_of(v);
    uint64_t n;
    if (type == RD_JSON_REAL)
        return rd_read_refuse(r, key, "%.17g is not a whole number", rd_json_real(v));
    if (type == RD_JSON_INTEGER && rd_json_integer(v) < 0)
        return rd_read_refuse(r, key, "%" PRId64 " is less than 0", rd_json_integer(v));
    if (type == RD_JSON_STRING && most > INT64_MAX) {
        if (!digits_value(rd_json_string(v), &n))
            return rd_read_refuse(r, key, "'%.40s' is no number of up to 64 bits",
                                  rd_json_string(v));
    } else if (type != RD_JSON_INTEGER) {
        return wrong_type(r, key, v, "a whole number");
    } else {
        n = (uint64_t)rd_json_integer(v);
    }
    if (n > most)
        return rd_read_refuse(r, key, "%" PRIu64 " is more than %" PRIu64, n, most);
    *value = n;
    return RONDO_OK;
}

rondo_status rd_read_u64(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         uint64_t most, uint64_t *value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    return v ? take_u64(r, v, key, most, value) : RONDO_OK;
}

rondo_status rd_read_u32(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         uint32_t *value)
{
    uint64_t wide = *value;
    rondo_status status = rd_read_u64(r, tree, key, UINT32_MAX, &wide);
    *value = (uint32_t)wide;
    return status;
}

rondo_status rd_read_i32(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         int32_t *value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    int64_t wide;
    if (!v)
        return RONDO_OK;
    if (rd_json_type_of(v) != RD_JSON_INTEGER)
        return wrong_type(r, key, v, "a whole number");
    wide = rd_json_integer(v);
    if (wide < INT32_MIN || wide > INT32_MAX)
        return rd_read_refuse(r, key, "%" PRId64 " is not within 32 bits", wide);
    *value = (int32_t)wide;
    return RONDO_OK;
}

rondo_status rd_read_real(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          double *value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    enum rd_json_type type = v ? rd_json_type_of(v) : RD_JSON_NULL;
    if (!v)
        return RONDO_OK;
    if (type != RD_JSON_INTEGER && type != RD_JSON_REAL)
        return wrong_type(r, key, v, "a number");
    *value = rd_json_real(v);
    return RONDO_OK;
}

rondo_status rd_read_bool(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          int *value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    if (v && rd_json_type_of(v) != RD_JSON_BOOL)
        return wrong_type(r, key, v, "true or false");
    if (v)
        *value = rd_json_bool(v);
    return RONDO_OK;
}

/* ---- strings and words */

rondo_status rd_read_text(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const char **value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    if (v && rd_json_type_of(v) != RD_JSON_STRING)
        return wrong_type(r, key, v, "a string");
    if (v)
        *value = rd_json_string(v);
    return RONDO_OK;
}

static rondo_status take_word(const struct rd_reader *r, const struct rd_json *v, const char *key,
                              const struct rd_json_word *words, uint32_t *value)
{
    const struct rd_json_word *word, *best = words;
    const char *text;
    if (rd_json_type_of(v) != RD_JSON_STRING)
        return wrong_type(r, key, v, "a string");
    text = rd_json_string(v);
    for (word = words; word->word; word++) {
        if (!strcmp(word->word, text)) {
            *value = word->value;
            return RONDO_OK;
        }
        if (apart(text, word->word) < apart(text, best->word))
            best = word;
    }
    return rd_read_refuse(r, key, "'%.60s' is none of its values; '%s' is the nearest", text,
                          best->word);
}

rondo_status rd_read_word(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json_word *words, uint32_t *value)
{
    const struct rd_json *v = rd_json_get(tree, key);
    return v ? take_word(r, v, key, words, value) : RONDO_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

rondo_status rd_read_hex(struct rd_reader *r, const struct rd_json *tree, const char *key,
                         int *given)
{
    const char *text = NULL;
    size_t n, i;
    rondo_status status = rd_read_text(r, tree, key, &text);
    *given = text != NULL;
    r->bytes.count = 0;
    if (status || !text)
        return status;
    n = strlen(text);
    if (n % 2)
        return rd_read_refuse(r, key, "%zu digits, two are a byte", n);
    if (!RD_READ_ROOM(r, bytes, n / 2))
        return rd_read_no_memory(r);
    for (i = 0; i < n; i += 2) {
        int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return rd_read_refuse(r, key, "'%.2s' at digit %zu is not hexadecimal", text + i, i);
        r->bytes.item[r->bytes.count++] = (unsigned char)(high << 4 | low);
    }
    return RONDO_OK;
}

/* ---- arrays and objects */

rondo_status rd_read_list(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json **list)
{
    const struct rd_json *v = *list = rd_json_get(tree, key);
    return v && rd_json_type_of(v) != RD_JSON_ARRAY ? wrong_type(r, key, v, "an array") : RONDO_OK;
}

rondo_status rd_read_tree(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json **value)
{
    const struct rd_json *v = *value = rd_json_get(tree, key);
    return v && rd_json_type_of(v) != RD_JSON_TREE ? wrong_type(r, key, v, "an object") : RONDO_OK;
}

/* The array's name with the element's number. */
static const char *element_key(char *text, size_t bytes, const char *key, size_t i)
{
    snprintf(text, bytes, "%s[%zu]", key, i);
    return text;
}
enum { KEY_BYTES = 48 };

rondo_status rd_read_element(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, uint64_t most, uint64_t *value)
{
    char text[KEY_BYTES];
    const struct rd_json *v = rd_json_at(list, i);
    if (rd_json_type_of(v) == RD_JSON_INTEGER && rd_json_integer(v) >= 0 &&
        (uint64_t)rd_json_integer(v) <= most) {
        *value = (uint64_t)rd_json_integer(v);
        return RONDO_OK;
    }
    return take_u64(r, v, element_key(text, sizeof text, key, i), most, value);
}

rondo_status rd_read_word_at(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, const struct rd_json_word *words, uint32_t *value)
{
    char text[KEY_BYTES];
    return take_word(r, rd_json_at(list, i), element_key(text, sizeof text, key, i), words, value);
}

rondo_status rd_read_tree_at(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, const struct rd_json **value)
{
    char text[KEY_BYTES];
    *value = rd_json_at(list, i);
    if (rd_json_type_of(*value) == RD_JSON_TREE)
        return RONDO_OK;
    return wrong_type(r, element_key(text, sizeof text, key, i), *value, "an object");
}

rondo_status rd_read_numbers(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                             uint32_t room, int64_t *value)
{
    const struct rd_json *list;
    uint64_t n = 0;
    rondo_status status = rd_read_list(r, tree, key, &list);
    size_t i, count = !status && list ? rd_json_count(list) : 0;
    if (count > room)
        return rd_read_refuse(r, key, "%zu numbers, not up to %u", count, room);
    for (i = 0; i < count && !status; i++) {
        status = rd_read_element(r, list, key, i, INT64_MAX, &n);
        value[i] = (int64_t)n;
    }
    return status;
}

rondo_status rd_read_region_of(struct rd_reader *r, const struct rd_json *tree,
                               rondo_region *region)
{
    rondo_status status = rd_read_keys(r, tree, RD_JSON_REGION, 0, "a region");
    memset(region, 0, sizeof *region);
    if (!status)
        status = rd_read_numbers(r, tree, "first", 3, region->first);
    if (!status)
        status = rd_read_numbers(r, tree, "count", 3, region->count);
    return status;
}

rondo_status rd_read_region(struct rd_reader *r, const struct rd_json *tree, const char *key,
                            rondo_region *region)
{
    const struct rd_json *v;
    rondo_status status = rd_read_tree(r, tree, key, &v);
    if (status || !v)
        return status;
    rd_read_enter(r, key, -1);
    status = rd_read_region_of(r, v, region);
    rd_read_leave(r);
    return status;
}

/* ---- slots and parameters, by number or name */

static rondo_status take_part(const struct rd_reader *r, const struct rd_json *v, const char *key,
                              enum rd_part part, uint64_t *id)
{
    const struct rd_subgraph *g = r->g;
    int slot = part == RD_PART_SLOT;
    const char *what = slot ? "slot" : "parameter";
    size_t count = slot ? g->slots.count : g->params.count;
    uint64_t index = 0;
    rondo_status status = RONDO_OK;
    if (rd_json_type_of(v) == RD_JSON_STRING) {
        index = slot ? rd_names_find(g, &r->slot_names, g->slots.item, sizeof *g->slots.item,
                                     rd_json_string(v))
                     : rd_names_find(g, &r->param_names, g->params.item, sizeof *g->params.item,
                                     rd_json_string(v));
        if (index == RD_NAME_SEVERAL)
            return rd_read_refuse(r, key, "several %ss are named '%.80s': say its number", what,
                                  rd_json_string(v));
        if (index == RD_NAME_NONE)
            return rd_read_refuse(r, key, "no %s%s is named '%.80s'", what,
                                  r->list[0] == 's' ? " before it" : "", rd_json_string(v));
    } else {
        status = take_u64(r, v, key, INT64_MAX, &index);
    }
    if (!status && index >= count)
        return rd_read_refuse(r, key, "%s %" PRIu64 " of %zu", what, index, count);
    if (!status)
        *id = rd_part_id(g->serial, part, (size_t)index);
    return status;
}

rondo_status rd_read_slot(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          rondo_slot *slot)
{
    const struct rd_json *v = rd_json_get(tree, key);
    return v ? take_part(r, v, key, RD_PART_SLOT, &slot->id) : RONDO_OK;
}

rondo_status rd_read_param(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                           rondo_param *param)
{
    const struct rd_json *v = rd_json_get(tree, key);
    return v ? take_part(r, v, key, RD_PART_PARAM, &param->id) : RONDO_OK;
}

rondo_status rd_read_param_at(const struct rd_reader *r, const struct rd_json *list,
                              const char *key, size_t i, rondo_param *param)
{
    char text[KEY_BYTES];
    return take_part(r, rd_json_at(list, i), element_key(text, sizeof text, key, i), RD_PART_PARAM,
                     &param->id);
}
