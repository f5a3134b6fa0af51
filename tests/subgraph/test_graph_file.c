/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph files: everything a recording can hold written, read and written again; the schema and the
 * page of the format; what the reader's callbacks are asked and what becomes of their answers. */
#include "subgraph/json.h"
#include "tests/support/graph_full.h"
#include "tests/support/graph_text.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rondo_runtime rt;
static rondo_counter counter[2];

static void open_all(void)
{
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = "0,0" }, &rt), RONDO_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_counter_create(rt, 0, &counter[i]), RONDO_OK);
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rondo_counter_destroy(counter[i]), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert(!s.subgraphs && !s.buffers && !s.execs && !s.bytes,
              "%llu subgraphs, %llu buffers, %llu bytes", (unsigned long long)s.subgraphs,
              (unsigned long long)s.buffers, (unsigned long long)s.bytes);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static rondo_subgraph read_text(const char *text, const rondo_read_options *o)
{
    rondo_subgraph g = { 0 };
    cr_assert_eq(rondo_subgraph_read_json(rt, text, strlen(text), o, &g), RONDO_OK, "%s",
                 rondo_error_message());
    return g;
}

/* ---- the schema: what the writer writes and the reader knows are its properties, each */

static json_t *schema;
static uint64_t emitted[RD_JSON_OBJECTS]; /* bits by key of the table */

static char *source_file(const char *name)
{
    const char *folder = getenv("RONDO_SOURCE_DIR");
    char path[1024];
    FILE *f;
    char *text = calloc(1, 1 << 20);
    (void)snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
    f = fopen(path, "r");
    cr_assert(f && text, "%s cannot be read", path);
    cr_assert(fread(text, 1, (1 << 20) - 1, f) > 0);
    (void)fclose(f);
    return text;
}

static int type_is(const char *type, const json_t *v)
{
    if (!strcmp(type, "object"))
        return json_is_object(v);
    if (!strcmp(type, "array"))
        return json_is_array(v);
    if (!strcmp(type, "string"))
        return json_is_string(v);
    if (!strcmp(type, "boolean"))
        return json_is_boolean(v);
    if (!strcmp(type, "integer"))
        return json_is_integer(v);
    cr_assert_str_eq(type, "number");
    return json_is_number(v);
}

static void check_type(const json_t *types, const json_t *v, const char *where)
{
    int right = json_is_string(types) && type_is(json_string_value(types), v);
    for (size_t i = 0; i < json_array_size(types); i++)
        right |= type_is(json_string_value(json_array_get(types, i)), v);
    cr_assert(right, "%s is of another type", where);
}

static void note_key(enum rd_json_object object, const char *key)
{
    const struct rd_json_keys *keys = &rd_json_objects[object];
    for (uint32_t i = 0; i < keys->count; i++)
        if (!strcmp(keys->keys[i].key, key))
            emitted[object] |= 1ull << i;
}

static void validate(const json_t *s, const json_t *v, const char *where);

static void check_members(const json_t *s, const json_t *v, const char *name)
{
    const char *key;
    json_t *member;
    size_t i;
    const json_t *required = json_object_get(s, "required");
    enum rd_json_object object = 0;
    while (object < RD_JSON_OBJECTS && strcmp(rd_json_objects[object].name, name) != 0)
        object++;
    cr_assert(object < RD_JSON_OBJECTS, "%s is none of the format's objects", name);
    for (i = 0; i < json_array_size(required); i++)
        cr_assert(json_object_get(v, json_string_value(json_array_get(required, i))),
                  "%s is missing in a %s", json_string_value(json_array_get(required, i)), name);
    json_object_foreach((json_t *)(uintptr_t)v, key, member)
    {
        const json_t *of = json_object_get(json_object_get(s, "properties"), key);
        cr_assert(of, "%s of a %s is not in the schema", key, name);
        note_key(object, key);
        validate(of, member, key);
    }
}

/* The keywords that the schema uses, and no others. */
static void validate(const json_t *s, const json_t *v, const char *where)
{
    const char *keyword, *name = "file";
    json_t *is;
    size_t i;
    const json_t *ref = json_object_get(s, "$ref");
    if (ref) {
        name = strrchr(json_string_value(ref), '/') + 1;
        s = json_object_get(json_object_get(schema, "$defs"), name);
        cr_assert(s, "no definition of %s", name);
    }
    json_object_foreach((json_t *)(uintptr_t)s, keyword, is)
    {
        if (!strcmp(keyword, "type"))
            check_type(is, v, where);
        else if (!strcmp(keyword, "properties"))
            check_members(s, v, name);
        else if (!strcmp(keyword, "minimum"))
            cr_assert(!json_is_number(v) || json_number_value(v) >= json_number_value(is), "%s",
                      where);
        else if (!strcmp(keyword, "additionalProperties"))
            cr_assert(json_is_false(is));
        else if (!strcmp(keyword, "enum")) {
            int among = 0;
            for (i = 0; i < json_array_size(is); i++)
                among |= json_equal(json_array_get(is, i), v);
            cr_assert(among, "%s has none of its values", where);
        } else if (!strcmp(keyword, "items")) {
            for (i = 0; i < json_array_size(v); i++)
                validate(is, json_array_get(v, i), where);
        } else {
            cr_assert(!strcmp(keyword, "required") || !strcmp(keyword, "$schema") ||
                          !strcmp(keyword, "title") || !strcmp(keyword, "$defs"),
                      "keyword %s is not checked", keyword);
        }
    }
}

static void read_schema(void)
{
    char *text = source_file("docs/graph-file.schema.json");
    json_error_t e;
    schema = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    cr_assert(schema, "line %d: %s", e.line, e.text);
    free(text);
}

static void validate_text(const char *text)
{
    json_error_t e;
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    cr_assert(v, "line %d: %s", e.line, e.text);
    validate(schema, v, "the file");
    json_decref(v);
}

Test(graph_file, everything_and_its_schema)
{
    struct graph_text t = { NULL, 0, 0 };
    const char *wrong;
    rondo_subgraph g, few;
    open_all();
    read_schema();
    g = graph_full(rt, counter);
    wrong = graph_text_round_trip(rt, g, counter, &t);
    cr_assert(!wrong, "%s", wrong ? wrong : "");
    validate_text(t.text);
    few = read_text("{\"rondo\":1,\"edges_explicit\":true,\"nodes\":[{}]}", NULL);
    cr_assert_eq(graph_text_of(few, &t), RONDO_OK);
    cr_assert_str_eq(
        t.text,
        "{\n\"rondo\": 1,\n\"edges_explicit\": true,\n\"nodes\": [\n{\"kind\": \"task\"}\n]\n}\n");
    validate_text(t.text);
    for (uint32_t o = 0; o < RD_JSON_OBJECTS; o++) {
        const struct rd_json_keys *keys = &rd_json_objects[o];
        const json_t *s =
            o ? json_object_get(json_object_get(schema, "$defs"), keys->name) : schema;
        const json_t *properties = json_object_get(s, "properties");
        cr_assert_eq(json_object_size(properties), keys->count, "%s", keys->name);
        for (uint32_t i = 0; i < keys->count; i++) {
            cr_assert(json_object_get(properties, keys->keys[i].key), "%s of a %s",
                      keys->keys[i].key, keys->name);
            cr_assert(emitted[o] >> i & 1, "%s of a %s was not written", keys->keys[i].key,
                      keys->name);
        }
    }
    json_decref(schema);
    free(t.text);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(few), RONDO_OK);
    close_all();
}

/* The page's example is what the writer would write. */
Test(graph_file, the_page)
{
    struct graph_text t = { NULL, 0, 0 };
    rondo_subgraph g;
    char *page = source_file("docs/graph-file.md"), *begin, *end;
    open_all();
    read_schema();
    begin = strstr(page, "```json\n");
    cr_assert(begin);
    begin += 8;
    end = strstr(begin, "```\n");
    cr_assert(end);
    *end = 0;
    validate_text(begin);
    g = read_text(begin, NULL);
    cr_assert_eq(graph_text_of(g, &t), RONDO_OK);
    cr_assert_str_eq(t.text, begin);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    json_decref(schema);
    free(page);
    free(t.text);
    close_all();
}

/* ---- callbacks */

static const char *const small =
    "{\"rondo\": 1, \"name\": \"small\",\n"
    " \"edges\": [],\n"
    " \"nodes\": [\n"
    "  {\"name\": \"add\", \"arg\": \"05000000\", \"tag\": 9, \"accesses\": [\n"
    "    {\"slot\": \"sum\", \"mode\": \"read_write\"}], \"after\": [], \"on\": 1,\n"
    "    \"priority\": 3, \"cost_ns\": 1.5, \"chunk\": {\"first\": [1], \"count\": [2]},\n"
    "    \"when\": [{\"every\": 1}]},\n"
    "  {\"kind\": \"call\", \"name\": \"count\"},\n"
    "  {\"kind\": \"signal\", \"counter\": 1, \"step\": 1, \"first\": \"1\"},\n"
    "  {\"kind\": \"signal\", \"counter\": 1, \"step\": 1},\n"
    "  {\"kind\": \"signal\", \"counter\": 0}],\n"
    " \"slots\": [{\"name\": \"sum\", \"kind\": \"fixed\", \"buffer\": 1},\n"
    "            {\"kind\": \"ring\", \"buffers\": [1, 0]}],\n"
    " \"buffers\": [{\"shape\": {\"elem_bytes\": 8, \"extent\": [2]}},\n"
    "              {\"name\": \"given\", \"shape\": {\"elem_bytes\": 4, \"extent\": [2, 2]}}]}";

struct answers {
    rondo_status task, buffer, counter; /* what they return */
    rondo_buffer given;
    uint32_t tasks, buffers, counters, calls, released;
    int32_t sum[4];
};

static int add(rondo_task *self, const void *arg)
{
    int32_t *sum = rondo_task_write(self, 0);
    sum[3] += *(const int32_t *)arg + (int32_t)rondo_task_chunk(self)->count[0];
    return 0;
}
static void count_call(void *context) { ((struct answers *)context)->calls++; }
static void release(void *context) { ((struct answers *)context)->released++; }

static rondo_status task_of(void *context, uint32_t node, rondo_task_desc *d,
                            void (**call)(void *context))
{
    struct answers *a = context;
    cr_assert_eq(node, a->tasks);
    a->tasks++;
    d->context = a;
    if (node == 1) {
        cr_assert_str_eq(d->name, "count");
        *call = count_call;
        return RONDO_OK;
    }
    cr_assert_str_eq(d->name, "add");
    cr_assert_eq(d->arg_bytes, 4);
    cr_assert_eq(d->tag, 9);
    cr_assert_eq(d->on, RONDO_CPU(1));
    cr_assert_eq(d->priority, 3);
    cr_assert_eq(d->cost_ns, 1.5);
    cr_assert_eq(d->access_count, 1);
    cr_assert_eq(d->accesses[0].mode, RONDO_READ_WRITE);
    cr_assert_eq(d->when.every, 1);
    d->fn = add;
    d->release = release;
    return a->task;
}

static rondo_status buffer_of(void *context, const char *name, uint32_t number,
                              const rondo_shape *shape, rondo_buffer *buffer)
{
    struct answers *a = context;
    cr_assert_eq(number, a->buffers);
    a->buffers++;
    cr_assert_str_eq(name, number ? "given" : "buffer");
    cr_assert_eq(shape->extent[0], 2);
    cr_assert_eq(shape->pitch_bytes[0], number ? 8 : 16);
    if (number)
        *buffer = a->given;
    return a->buffer;
}

static rondo_status counter_of(void *context, uint32_t number, rondo_counter *c)
{
    struct answers *a = context;
    a->counters++;
    *c = counter[number];
    return a->counter;
}

static rondo_read_options asking(struct answers *a)
{
    return (rondo_read_options){ task_of, buffer_of, counter_of, a, 0, 0 };
}

/* Names that a file cannot hold become the same one, so what has them is told by number. */
Test(graph_file, names_that_are_no_text)
{
    static const char *const names[] = { "\xff", "\xc0\x80", "\xef\xbf\xbd", "", "a", "a" };
    struct graph_text t = { NULL, 0, 0 }, again = { NULL, 0, 0 };
    rondo_subgraph g, h;
    open_all();
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "\x80" }, &g), RONDO_OK);
    for (int i = 0; i < 6; i++) {
        rondo_slot slot = rondo_subgraph_slot(
            g, &(rondo_slot_desc){ .name = names[i], .shape = { 8, { 4 }, { 0 } } });
        rondo_access access = rondo_write(slot, rondo_whole());
        cr_assert(rondo_record_task(g, &(rondo_task_desc){ .fn = add,
                                                           .name = names[i],
                                                           .accesses = &access,
                                                           .access_count = 1 })
                      .id);
    }
    cr_assert_eq(graph_text_of(g, &t), RONDO_OK);
    cr_assert(strstr(t.text, "\"slot\": 2"), "%s", t.text);
    cr_assert(strstr(t.text, "\"slot\": \"\""), "%s", t.text);
    h = read_text(t.text, NULL);
    cr_assert_eq(graph_text_of(h, &again), RONDO_OK);
    cr_assert_str_eq(again.text, t.text);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(h), RONDO_OK);
    free(t.text);
    free(again.text);
    close_all();
}

Test(graph_file, callbacks_and_a_replay)
{
    struct answers a = { 0 };
    const rondo_read_options o = asking(&a);
    rondo_subgraph g;
    rondo_exec x;
    uint64_t value;
    open_all();
    cr_assert_eq(
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 4, { 4 }, { 0 } }, .host = a.sum },
                            &a.given),
        RONDO_OK);
    g = read_text(small, &o);
    cr_assert(a.tasks == 2 && a.buffers == 2 && a.counters == 2, "%u, %u, %u", a.tasks, a.buffers,
              a.counters);
    cr_assert_eq(rondo_buffer_destroy(a.given), RONDO_OK);
    cr_assert_eq(rondo_instantiate(g, NULL, &x), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_replay(x, &(rondo_replay_args){ .count = 3 }, NULL), RONDO_OK);
    cr_assert_eq(rondo_exec_wait(x, NULL), RONDO_OK);
    cr_assert_eq(a.sum[3], 3 * 7);
    cr_assert_eq(a.calls, 3);
    cr_assert_eq(rondo_counter_value(counter[1], &value), RONDO_OK);
    cr_assert_eq(value, 3);
    cr_assert_eq(rondo_exec_destroy(x), RONDO_OK);
    close_all();
    cr_assert_eq(a.released, 1);
}

Test(graph_file, callbacks_that_fail)
{
    static const char *const says[] = { "callback `task` returns", "callback `buffer` returns",
                                        "callback `counter` returns", "buffer" };
    open_all();
    for (int i = 0; i < 4; i++) {
        struct answers a = { 0 };
        rondo_read_options o = asking(&a);
        rondo_subgraph g = { 77 };
        rondo_status status;
        *(i == 0 ? &a.task : i == 1 ? &a.buffer : &a.counter) = i < 3 ? RONDO_ERR_SYSTEM : RONDO_OK;
        if (i == 3)
            a.given.id = 12345; /* no buffer */
        status = rondo_subgraph_read_json(rt, small, strlen(small), &o, &g);
        cr_assert(i < 3 ? status == RONDO_ERR_SYSTEM
                        : status == RONDO_ERR_STALE || status == RONDO_ERR_INVALID,
                  "%d: %d: %s", i, status, rondo_error_message());
        cr_assert(strstr(rondo_error_message(), says[i]), "%s", rondo_error_message());
        cr_assert_eq(g.id, 77);
        /* Given with RONDO_OK it is released, and not otherwise. */
        cr_assert_eq(a.released, i == 2);
    }
    close_all();
}

/* A task that its builder refuses: the context was given, and is released. */
static rondo_status refuse_task(void *context, uint32_t node, rondo_task_desc *d,
                                void (**call)(void *context))
{
    (void)node;
    (void)call;
    d->context = context;
    d->release = release;
    d->team = 3; /* of a task that is no team */
    return RONDO_OK;
}

Test(graph_file, what_is_given_is_released)
{
    struct answers a = { 0 };
    const rondo_read_options o = { .task = refuse_task, .context = &a };
    const char *text = "{\"rondo\": 1, \"nodes\": [{\"name\": \"n\"}]}";
    rondo_subgraph g;
    open_all();
    cr_assert_eq(rondo_subgraph_read_json(rt, text, strlen(text), &o, &g), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "line 1: nodes[0]: node 'n': team is 3 without RONDO_HOSTED or RONDO_SPMD");
    cr_assert_eq(a.released, 1);
    close_all();
}

/* Memory that nobody gives: parts of one memory are one, and live as long as an exec. */
Test(graph_file, parts_of_a_memory)
{
    const char *text =
        "{\"rondo\": 1, \"buffers\": ["
        "{\"shape\": {\"elem_bytes\": 8, \"extent\": [4]}, \"memory\": 0, \"offset\": 16},"
        "{\"shape\": {\"elem_bytes\": 8, \"extent\": [4]}, \"memory\": 0}],"
        "\"slots\": [{\"name\": \"a\", \"kind\": \"fixed\", \"buffer\": 0},"
        "{\"name\": \"b\", \"kind\": \"fixed\", \"buffer\": 1}],"
        "\"nodes\": [{\"kind\": \"fill\", \"to\": {\"slot\": \"a\"}, \"value\": "
        "\"0100000000000000\"},"
        "{\"name\": \"r\", \"accesses\": [{\"slot\": \"b\", \"mode\": \"read\", "
        "\"region\": {\"first\": [2]}}]},"
        "{\"name\": \"s\", \"accesses\": [{\"slot\": \"b\", \"mode\": \"read\", "
        "\"region\": {\"first\": [0], \"count\": [2]}}]}]}";
    struct graph_text t = { NULL, 0, 0 };
    rondo_subgraph g;
    rondo_exec x;
    open_all();
    g = read_text(text, NULL);
    cr_assert_eq(graph_text_seen(g, &t), RONDO_OK);
    cr_assert(strstr(t.text, "edge 0 to 1 in 0 by access"), "%s", t.text);
    cr_assert(!strstr(t.text, "edge 0 to 2"), "%s", t.text);
    cr_assert_eq(rondo_instantiate(g, NULL, &x), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    cr_assert_eq(rondo_replay(x, NULL, NULL), RONDO_OK);
    cr_assert_eq(rondo_exec_wait(x, NULL), RONDO_OK);
    cr_assert_eq(rondo_exec_destroy(x), RONDO_OK);
    free(t.text);
    close_all();
}
