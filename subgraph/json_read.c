/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a recording from JSON (docs/graph-file.md): finds the lists of the file, parses their
 * elements one at a time in an order in which what is referred to comes first, and says where what
 * it refuses stands. */
#include "subgraph/json_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const uint64_t most_text = 1ull << 30;

/* ---- messages */

static void say_where(const struct rd_reader *r, const char *name, const char *key, char *text,
                      size_t bytes)
{
    size_t n;
    uint32_t i;
    snprintf(text, bytes, "line %" PRIu64, r->line);
    n = strlen(text);
    if (r->list)
        snprintf(text + n, bytes - n, name ? ": %s[%" PRIu64 "] '%.60s'" : ": %s[%" PRIu64 "]",
                 r->list, r->index, name);
    for (i = 0; i < r->depth; i++) {
        n = strlen(text);
        snprintf(text + n, bytes - n, "%s%s", i ? "." : ": ", r->path[i].key);
        n = strlen(text);
        if (r->path[i].index >= 0)
            snprintf(text + n, bytes - n, "[%" PRId64 "]", r->path[i].index);
    }
    n = strlen(text);
    if (key)
        snprintf(text + n, bytes - n, "%s%s", r->depth ? "." : ": ", key);
}
enum { WHERE_BYTES = 256 };

rondo_status rd_read_refuse(const struct rd_reader *r, const char *key, const char *format, ...)
{
    char where[WHERE_BYTES], why[RD_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    say_where(r, r->name, key, where, sizeof where);
    return rd_error(RONDO_ERR_INVALID, "%s: %s", where, why);
}

rondo_status rd_read_told(const struct rd_reader *r, rondo_status status)
{
    char where[WHERE_BYTES], why[RD_MESSAGE_BYTES];
    if (!status)
        return status;
    snprintf(why, sizeof why, "%s", rd_error_text());
    say_where(r, NULL, NULL, where, sizeof where); /* a builder names the part itself */
    return rd_error(status, "%s: %s", where, why);
}

rondo_status rd_read_stopped(const struct rd_reader *r, const char *callback, rondo_status status)
{
    char where[WHERE_BYTES];
    say_where(r, r->name, NULL, where, sizeof where);
    return rd_error(status, "%s: the callback `%s` returns '%s'", where, callback,
                    rondo_status_string(status));
}

rondo_status rd_read_no_memory(const struct rd_reader *r)
{
    return rd_read_told(r, rd_error(RONDO_ERR_MEMORY, "no memory to read more"));
}

rondo_status rd_read_spend(struct rd_reader *r, const char *key, uint64_t bytes)
{
    if (bytes <= r->most_bytes - r->spent) {
        r->spent += bytes;
        return RONDO_OK;
    }
    return rd_read_refuse(r, key,
                          "%" PRIu64 " bytes of buffers and parameters, and %" PRIu64
                          " before, are more than %" PRIu64 " (most_buffer_bytes)",
                          bytes, r->spent, r->most_bytes);
}

/* ---- the file */

enum part { RONDO, NAME, EDGES_EXPLICIT, BUFFERS, SLOTS, PARAMS, IMAGES, NODES, EDGES, PARTS };

static rondo_status parse(const struct rd_reader *r, const struct rd_scan_value *v,
                          struct rd_json **tree)
{
    struct rd_json_fault fault;
    struct rd_scan at = v->begin;
    *tree = rd_json_parse(at.at, (size_t)(v->end - at.at), &fault);
    if (*tree)
        return RONDO_OK;
    if (fault.memory)
        return rd_read_no_memory(r);
    /* Its own first line begins where the value does. */
    return rd_error(
        RONDO_ERR_INVALID, "line %" PRIu64 ", column %" PRIu64 ": %s", at.line + fault.line - 1,
        fault.line == 1 ? rd_scan_column(&at) + fault.column - 1 : fault.column, fault.text);
}

/* Which part a key names. */
static rondo_status find_part(struct rd_reader *r, const struct rd_scan_value *key, uint32_t *part)
{
    const struct rd_json_keys *keys = &rd_json_objects[RD_JSON_FILE];
    struct rd_json *text;
    rondo_status status = parse(r, key, &text);
    if (status)
        return status;
    for (*part = 0; *part < PARTS; ++*part)
        if (!strcmp(keys->keys[*part].key, rd_json_string(text)))
            break;
    if (*part == PARTS)
        status = rd_read_unknown(r, RD_JSON_FILE, 0, "a graph file", rd_json_string(text));
    else if (r->part[*part].end)
        status = rd_scan_refuse(&key->begin, "'%s' for the second time", rd_json_string(text));
    rd_json_free(text);
    return status;
}

/* "key": value. */
static rondo_status scan_member(struct rd_reader *r, struct rd_scan *s)
{
    struct rd_scan_value key, value;
    uint32_t part = PARTS;
    rondo_status status;
    if (s->at < s->end && *s->at != '"')
        return rd_scan_expect(s, '"');
    status = rd_scan_skip(s, RD_SCAN_MEMORY, &key);
    r->line = s->line;
    if (!status)
        status = find_part(r, &key, &part);
    rd_scan_space(s);
    if (!status)
        status = rd_scan_expect(s, ':');
    rd_scan_space(s);
    /* Lists are parsed element by element. */
    if (!status)
        status = rd_scan_skip(s, part >= BUFFERS ? UINT64_MAX : RD_SCAN_MEMORY, &value);
    if (!status)
        r->part[part] = value;
    return status;
}

static rondo_status scan_file(struct rd_reader *r, struct rd_scan *s)
{
    rondo_status status;
    int more = 1;
    rd_scan_space(s);
    status = rd_scan_expect(s, '{');
    rd_scan_space(s);
    if (!status && s->at < s->end && *s->at == '}')
        more = 0;
    while (!status && more) {
        status = scan_member(r, s);
        rd_scan_space(s);
        more = s->at < s->end && *s->at == ',';
        if (!status && more) {
            s->at++;
            rd_scan_space(s);
        }
    }
    if (!status)
        status = rd_scan_expect(s, '}');
    rd_scan_space(s);
    if (!status && s->at < s->end)
        status = rd_scan_refuse(s, "something behind the end");
    return status;
}

/* ---- what is no list */

/* The value as the only member of a tree would be read: NULL where the file lacks it. */
static rondo_status part_tree(struct rd_reader *r, enum part part, struct rd_json **tree)
{
    *tree = NULL;
    if (!r->part[part].end)
        return RONDO_OK;
    r->line = r->part[part].begin.line;
    return parse(r, &r->part[part], tree);
}

static rondo_status check_version(struct rd_reader *r)
{
    struct rd_json *v;
    rondo_status status = part_tree(r, RONDO, &v);
    r->line = v ? r->line : 1;
    if (!status && !v)
        status = rd_read_refuse(r, NULL, "'rondo' is missing: a graph file has \"rondo\": %d",
                                RD_JSON_VERSION);
    if (!status && (rd_json_type_of(v) != RD_JSON_INTEGER || rd_json_integer(v) != RD_JSON_VERSION))
        status = rd_read_refuse(r, "rondo", "this library reads version %d", RD_JSON_VERSION);
    rd_json_free(v);
    return status;
}

static rondo_status make_subgraph(struct rd_reader *r, struct rd_runtime *rt)
{
    struct rd_json *name, *explicit_edges = NULL;
    rondo_subgraph_desc d = { NULL, 0 };
    rondo_status status = part_tree(r, NAME, &name);
    if (!status && name && rd_json_type_of(name) != RD_JSON_STRING)
        status = rd_read_refuse(r, "name", "a string is expected");
    if (!status)
        status = part_tree(r, EDGES_EXPLICIT, &explicit_edges);
    if (!status && explicit_edges && rd_json_type_of(explicit_edges) != RD_JSON_BOOL)
        status = rd_read_refuse(r, "edges_explicit", "true or false is expected");
    if (!status) {
        d.name = name ? rd_json_string(name) : NULL;
        d.flags = explicit_edges && rd_json_bool(explicit_edges) ? RONDO_EDGES_EXPLICIT : 0;
        status = rd_subgraph_new(rt, &d, &r->g);
    }
    rd_json_free(name);
    rd_json_free(explicit_edges);
    return status;
}

/* ---- lists */

static rondo_status check_limits(const struct rd_reader *r)
{
    const struct rd_subgraph *g = r->g;
    const struct {
        const char *what;
        size_t count;
    } pools[] = {
        { "buffers", r->buffers.count },     { "slots", g->slots.count },
        { "parameters", g->params.count },   { "nodes", g->nodes.count },
        { "edges by hand", g->edges.count }, { "accesses", g->accesses.count },
        { "boxes", g->boxes.count },         { "uses of parameters", g->param_uses.count },
        { "patches", g->patches.count },     { "conditions", g->whens.count },
        { "images", r->images.count },       { "arguments of kernels", g->kernel_args.count },
    };
    size_t i;
    for (i = 0; i < sizeof pools / sizeof *pools; i++)
        if (pools[i].count > r->most)
            return rd_read_refuse(r, NULL, "%zu %s are more than %" PRIu64 " (most_nodes)",
                                  pools[i].count, pools[i].what, r->most);
    return RONDO_OK;
}

static rondo_status read_one(struct rd_reader *r, const struct rd_scan_value *v,
                             rondo_status (*read)(struct rd_reader *r, const struct rd_json *tree))
{
    struct rd_json *tree;
    rondo_status status;
    r->line = v->begin.line;
    r->name = NULL;
    r->depth = 0;
    status = parse(r, v, &tree);
    if (status)
        return status;
    if (rd_json_type_of(tree) != RD_JSON_TREE)
        status = rd_read_refuse(r, NULL, "an object is expected");
    if (!status)
        status = read(r, tree);
    if (!status)
        status = check_limits(r);
    r->name = NULL; /* it may be of the tree */
    rd_json_free(tree);
    return status;
}

static rondo_status read_list(struct rd_reader *r, enum part part,
                              rondo_status (*read)(struct rd_reader *r, const struct rd_json *tree))
{
    struct rd_scan s = r->part[part].begin;
    struct rd_scan_value v;
    rondo_status status = RONDO_OK;
    int first = 1;
    if (!r->part[part].end)
        return RONDO_OK;
    s.end = r->part[part].end;
    r->list = rd_json_objects[RD_JSON_FILE].keys[part].key;
    if (*s.at != '[')
        return rd_scan_refuse(&s, "'%s' is no array", r->list);
    for (r->index = 0; rd_scan_element(&s, &first, &v, &status); r->index++) {
        status = read_one(r, &v, read);
        if (status)
            return status;
    }
    r->list = NULL;
    return status;
}

static rondo_status read_edge(struct rd_reader *r, const struct rd_json *tree)
{
    uint64_t from = 0, to = 0;
    uint32_t distance = 0;
    rondo_node ends[2];
    struct rd_subgraph *g = r->g;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_EDGE, 0, "an edge");
    if (!status)
        status = rd_read_need(r, tree, "from");
    if (!status)
        status = rd_read_need(r, tree, "to");
    if (!status)
        status = rd_read_u64(r, tree, "from", INT64_MAX, &from);
    if (!status)
        status = rd_read_u64(r, tree, "to", INT64_MAX, &to);
    if (!status)
        status = rd_read_u32(r, tree, "distance", &distance);
    if (!status && (from >= g->nodes.count || to >= g->nodes.count))
        status =
            rd_read_refuse(r, from >= g->nodes.count ? "from" : "to", "node %" PRIu64 " of %zu",
                           from >= g->nodes.count ? from : to, g->nodes.count);
    if (status)
        return status;
    ends[0].id = rd_part_id(g->serial, RD_PART_NODE, (size_t)from);
    ends[1].id = rd_part_id(g->serial, RD_PART_NODE, (size_t)to);
    return rd_read_told(r, rd_record_edge(g, ends[0], ends[1], distance));
}

static rondo_status read_lists(struct rd_reader *r)
{
    rondo_status status = read_list(r, BUFFERS, rd_read_buffer_part);
    if (!status)
        status = rd_read_buffers_made(r);
    if (!status)
        status = read_list(r, SLOTS, rd_read_slot_part);
    if (!status)
        status = read_list(r, PARAMS, rd_read_param_part);
    if (!status)
        status = read_list(r, IMAGES, rd_read_image_part);
    if (!status)
        status = read_list(r, NODES, rd_read_node_part);
    return status ? status : read_list(r, EDGES, read_edge);
}

/* ---- the reader as a whole */

#define FREE_POOL(r, pool) \
    rd_free_array((r)->a, (r)->pool.item, (r)->pool.capacity, sizeof *(r)->pool.item)

static void reader_free(struct rd_reader *r)
{
    size_t i;
    for (i = 0; i < r->buffers.count; i++)
        if (r->buffers.item[i].buffer)
            rd_buffer_unref(r->buffers.item[i].buffer);
    FREE_POOL(r, buffers);
    FREE_POOL(r, counters);
    FREE_POOL(r, ring);
    FREE_POOL(r, accesses);
    FREE_POOL(r, boxes_of);
    FREE_POOL(r, boxes);
    FREE_POOL(r, params);
    FREE_POOL(r, patches);
    FREE_POOL(r, after);
    FREE_POOL(r, whens);
    FREE_POOL(r, bytes);
    FREE_POOL(r, images);
    FREE_POOL(r, args);
    FREE_POOL(r, values);
    if (r->g) {
        rd_names_free(r->g, &r->slot_names);
        rd_names_free(r->g, &r->param_names);
    }
}

static void reader_begin(struct rd_reader *r, struct rd_runtime *rt,
                         const rondo_read_options *options)
{
    memset(r, 0, sizeof *r);
    r->a = &rt->alloc;
    r->options = options;
    r->most_bytes = options->most_buffer_bytes ? options->most_buffer_bytes : 1u << 30;
    r->most = options->most_nodes ? options->most_nodes : 4000000;
    r->line = 1;
}

rondo_status rd_subgraph_read_json(struct rd_runtime *rt, const char *text, size_t bytes,
                                   const rondo_read_options *options, struct rd_subgraph **subgraph)
{
    struct rd_reader r;
    struct rd_scan s = { text, text + bytes, text, 1 };
    rondo_status status;
    if (bytes > most_text)
        return rd_error(RONDO_ERR_INVALID, "a text of %zu bytes is more than %" PRIu64, bytes,
                        most_text);
    reader_begin(&r, rt, options);
    rd_runtime_ref(rt); /* the recording's, so that the caller keeps its own until success */
    status = scan_file(&r, &s);
    if (!status)
        status = check_version(&r);
    if (!status)
        status = make_subgraph(&r, rt);
    if (!r.g)
        rd_runtime_unref(rt);
    if (!status)
        status = read_lists(&r);
    if (!status)
        status = rd_subgraph_publish(r.g);
    reader_free(&r);
    if (status) {
        if (r.g)
            rd_subgraph_unref(r.g);
        return status;
    }
    rd_runtime_unref(rt);
    *subgraph = r.g;
    return RONDO_OK;
}
